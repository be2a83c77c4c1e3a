package arith_test

import (
	"fmt"

	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// The index of a loop that was split and fused again is that of the original loop, and the guard of the split is true.
func Example() {
	i, j := tir.NewVar("i", tir.Int32), tir.NewVar("j", tir.Int32)
	a := arith.NewAnalyzer()
	a.Bind(i, tir.I32(0), tir.I32(16))
	a.Bind(j, tir.I32(0), tir.I32(8))
	index := tir.Add(tir.Mul(i, tir.I32(8)), j)

	fmt.Println(a.Simplify(tir.FloorDiv(index, tir.I32(8))) == tir.Expr(i))
	fmt.Println(a.Simplify(tir.FloorMod(index, tir.I32(8))) == tir.Expr(j))
	fmt.Println(a.Prove(tir.LT(index, tir.I32(128))))
	fmt.Println(a.Bounds(index))
	a.With(tir.LT(i, tir.I32(4)), func() { fmt.Println(a.Prove(tir.LT(index, tir.I32(32)))) })
	fmt.Println(a.Prove(tir.LT(index, tir.I32(32))))
	// Output:
	// true
	// true
	// true
	// 0 127 true
	// true
	// false
}
