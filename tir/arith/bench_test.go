package arith

import (
	"strings"
	"testing"

	"tvmgo/tir"
)

// BenchmarkSimplifyStmt simplifies the program of a split that does not divide the extent.
func BenchmarkSimplifyStmt(b *testing.B) {
	r := &reader{t: &testing.T{}, vars: map[string]*tir.Var{}, bufs: map[string]*tir.Buffer{}}
	s := r.statements(strings.Split(strings.TrimSpace(stmtRows[1].from), "\n"))
	for b.Loop() {
		NewAnalyzer().SimplifyStmt(s)
	}
}

// BenchmarkSimplifySum simplifies sums of 100 and of 1000 terms, to show how the time grows.
func BenchmarkSimplifySum(b *testing.B) {
	for name, n := range map[string]int{"100": 100, "1000": 1000} {
		b.Run(name, func(b *testing.B) {
			i := tir.NewVar("i", tir.Int32)
			var e tir.Expr = i
			for k := range n {
				e = &tir.Binary{Op: tir.OpAdd, A: e, B: tir.FloorDiv(tir.Add(i, tir.I32(int32(k))), tir.I32(7))}
			}
			for b.Loop() {
				NewAnalyzer().Simplify(e)
			}
		})
	}
}
