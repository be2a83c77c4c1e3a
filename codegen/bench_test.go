package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/internal/testing/must"
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/transform"
)

// demo is relu(A·B + bias) with a fast schedule: register tiles, the sums of a tile in separate memory, packed columns
// and threads.
func demo(t testing.TB, rows, inner, cols int32) *tir.IRModule {
	t.Helper()
	args, k, product := layer(rows, inner, cols)
	out := args[3]
	s := must.Get(te.NewSchedule(out))(t)
	st := s.Stage(out)
	outer, tile, x, y := st.Tile(out.Axes()[0], out.Axes()[1], 6, 32)
	st.Parallel(outer)
	st.Unroll(x)
	st.Vectorize(y)
	sums := s.Stage(product)
	sums.SetScope("local")
	sums.ComputeAt(st, tile)
	_, four := sums.Split(k, 4)
	sums.Reorder(sums.Leaves()[2], four, product.Axes()[0], product.Axes()[1])
	sums.Unroll(four)
	sums.Unroll(product.Axes()[0])
	sums.Vectorize(product.Axes()[1])
	return must.Get(te.Lower(s, []any{args[0], args[1], args[2], out}, "dense"))(t)
}

// BenchmarkDemo_ToC measures the way from formulas to C, without the compiler: for sizes that the tiles divide, and for
// others.
func BenchmarkDemo_ToC(b *testing.B) {
	for name, n := range map[string]int32{"1024": 1024, "1000": 1000, "1536": 1536} {
		b.Run(name, func(b *testing.B) {
			size := 0
			for b.Loop() {
				m, err := transform.ForHost().Run(demo(b, n, n, n), nil)
				require.NoError(b, err)
				var e c.Emitter
				code, err := e.Emit(m, nil)
				require.NoError(b, err)
				size = len(code)
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}

// BenchmarkDemo_Passes measures each pass alone.
func BenchmarkDemo_Passes(b *testing.B) {
	m := demo(b, 1000, 1000, 1000)
	for _, pass := range []struct {
		name string
		do   transform.Pass
	}{{"Simplify", arith.Simplify}, {"LoopPartition", transform.LoopPartition}, {"Vectorize", transform.Vectorize},
		{"Unroll", transform.Unroll}} {
		b.Run(pass.name, func(b *testing.B) {
			for b.Loop() {
				_, err := pass.do(m, nil)
				require.NoError(b, err)
			}
		})
		var err error
		m, err = pass.do(m, nil)
		require.NoError(b, err)
	}
	b.Run("SimplifyAfter", func(b *testing.B) {
		for b.Loop() {
			_, err := arith.Simplify(m, nil)
			require.NoError(b, err)
		}
	})
}
