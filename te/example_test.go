package te_test

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// A vector is scaled in parallel, four elements at a time. If four does not divide its length, the rest is guarded.
func Example() {
	n := te.Var("n")
	a := te.Placeholder([]tir.Expr{n}, tir.Float32, "A")
	b := te.Compute([]tir.Expr{n}, "B", func(i ...tir.Expr) tir.Expr { return tir.Mul(a.At(i...), tir.F32(2)) })

	s, err := te.NewSchedule(b)
	if err != nil {
		fmt.Println(err)
		return
	}
	st := s.Stage(b)
	outer, inner := st.Split(b.Axes()[0], 4)
	st.Parallel(outer)
	st.Vectorize(inner)

	m, err := te.Lower(s, []any{a, b}, "scale")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(text.Print(m))
	// Output:
	// func scale(A_handle: handle, B_handle: handle) {
	//   var n: int32
	//   buffer A: float32[n], param A_handle
	//   buffer B: float32[n], param B_handle
	//   parallel i0.outer in range(floordiv(n + 3, 4)) {
	//     vectorized i0.inner in range(4) {
	//       if likely(i0.outer * 4 + i0.inner < n) {
	//         B[i0.outer * 4 + i0.inner] = A[i0.outer * 4 + i0.inner] * 2.0
	//       }
	//     }
	//   }
	// }
}

// A matrix product is computed in tiles of two by four. Each tile is accumulated in separate memory, and then written.
func Example_tiles() {
	a, b := te.Placeholder(te.Dims(8, 16), tir.Float32, "A"), te.Placeholder(te.Dims(16, 8), tir.Float32, "B")
	k := te.ReduceAxis(tir.I32(0), tir.I32(16), "k")
	c := te.Compute(te.Dims(8, 8), "C", func(i ...tir.Expr) tir.Expr {
		return te.Sum(tir.Mul(a.At(i[0], k.Var), b.At(k.Var, i[1])), k)
	})

	s, err := te.NewSchedule(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	sums := s.CacheWrite(c, "local")
	_, tile, _, _ := s.Stage(c).Tile(c.Axes()[0], c.Axes()[1], 2, 4)
	st := s.Stage(sums)
	st.ComputeAt(s.Stage(c), tile)
	st.Reorder(k, sums.Axes()[0], sums.Axes()[1])

	m, err := te.Lower(s, []any{a, b, c}, "matmul")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(text.Print(m))
	// Output:
	// func matmul(A_handle: handle, B_handle: handle, C_handle: handle) {
	//   buffer A: float32[8, 16], param A_handle
	//   buffer B: float32[16, 8], param B_handle
	//   buffer C: float32[8, 8], param C_handle
	//   for i0.outer in range(4) {
	//     for i1.outer in range(2) {
	//       alloc C.local: float32[2, 4], scope "local"
	//       for i0.init in range(2) {
	//         for i1.init in range(4) {
	//           C.local[i0.init, i1.init] = 0.0
	//         }
	//       }
	//       for k in range(16) {
	//         for i0 in range(2) {
	//           for i1 in range(4) {
	//             C.local[i0, i1] = C.local[i0, i1] + A[i0.outer * 2 + i0, k] * B[k, i1.outer * 4 + i1]
	//           }
	//         }
	//       }
	//       for i0.inner in range(2) {
	//         for i1.inner in range(4) {
	//           C[i0.outer * 2 + i0.inner, i1.outer * 4 + i1.inner] = C.local[i0.inner, i1.inner]
	//         }
	//       }
	//     }
	//   }
	// }
}

// A primitive that cannot be applied is an error. The first one is kept, and Lower returns it.
func Example_errors() {
	a := te.Placeholder(te.Dims(8, 16), tir.Float32, "A")
	k := te.ReduceAxis(tir.I32(0), tir.I32(16), "k")
	b := te.Compute(te.Dims(8), "B", func(i ...tir.Expr) tir.Expr { return te.Max(a.At(i[0], k.Var), k) })
	s, err := te.NewSchedule(b)
	if err != nil {
		fmt.Println(err)
		return
	}
	s.Stage(b).Parallel(k)
	_, err = te.Lower(s, []any{a, b}, "top")
	fmt.Println(err)
	// Output:
	// te: parallel of tensor B: axis k is a reduction axis, whose iterations depend on each other: take one of [i0]
}
