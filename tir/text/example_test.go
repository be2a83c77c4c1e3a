package text_test

import (
	"fmt"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// A module written by hand. Line breaks and spaces are free, and constants take the type of the other operand.
func ExampleParse() {
	m, err := text.Parse(`
		func scale(A: handle, B: handle, n: int64) {   # n rows of four
		  buffer A: float32[n, 4], param A
		  buffer B: float32[n, 4], param B, align 64
		  parallel i in range(n) { vectorized j in range(4) {
		    B[i, j] = A[i, j] * 2 + select(i % 2 == 0, 1.0, 0.5)
		  }}
		}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(m)
	// Output:
	// func scale(A: handle, B: handle, n: int64) {
	//   buffer A: float32[n, 4], param A
	//   buffer B: float32[n, 4], param B, align 64
	//   parallel i in range(n) {
	//     vectorized j in range(4) {
	//       B[i, j] = A[i, j] * 2.0 + select(i % int64(2) == int64(0), 1.0, 0.5)
	//     }
	//   }
	// }
}

// Errors name the position and a similar name.
func ExampleParse_error() {
	_, err := text.Parse("func f(data: handle, count: int32) {\n  for i in range(cuont) {}\n}\n")
	fmt.Println(err)
	// Output:
	// tir: parse: line 2, column 18: there is no variable cuont; did you mean count?
}

// Variables with the same name are printed with a suffix.
func ExamplePrint() {
	i, j := tir.NewVar("i", tir.Int32), tir.NewVar("i", tir.Int32)
	a := tir.NewBuffer("A", tir.Float32, tir.I32(16), tir.I32(16))
	fmt.Println(text.Print(tir.Mul(tir.Add(tir.BufferAt(a, i, j), tir.F32(0.5)), tir.Intrin("exp", tir.BufferAt(a, j,
		i)))))
	// Output:
	// (A[i, i_1] + 0.5) * exp(A[i_1, i])
}

// An expression over the variables of a program.
func ExampleParseExpr() {
	n := tir.NewVar("n", tir.Int64)
	e, err := text.ParseExpr("(n + 15) / 16 * 16", text.Scope{Vars: []*tir.Var{n}})
	fmt.Println(text.Print(e), err)
	// Output:
	// (n + int64(15)) / int64(16) * int64(16) <nil>
}
