//go:build cgo

package cpu_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// TestPastCaches computes results that are larger than the caches, which generated code stores past them: with rows
// that are aligned to vectors, and with others.
func TestPastCaches(t *testing.T) {
	for _, options := range vectorTargets() {
		t.Run(options, func(t *testing.T) {
			to := newTarget(t, options)
			for _, width := range []int{2048, 2075} {
				const height = 2056
				x := te.Placeholder(te.Dims(height, int32(width)), tir.Float32, "X")
				outs := []*te.Tensor{ops.Transpose(x, "T"), ops.Add(x, x, "A"), ops.Softmax(x, "S"),
					ops.Sum(x, "R", []int{1}, false)}
				var funcs []*tir.PrimFunc
				for _, out := range outs {
					s := must.Get(ops.Schedule(to, out))(t)
					funcs = append(funcs, must.Get(te.Lower(s, []any{x, out}, out.ProducerName()))(t).Funcs...)
				}
				built := must.Open(codegen.Build(must.Get(tir.NewModule(funcs...))(t), to))(t)
				source := must.Get(built.GetSource("c"))(t)
				require.GreaterOrEqual(t, strings.Count(source, "tvmgo_nontemporal"), 4)
				data := make([]float32, height*width)
				for i := range data {
					data[i] = float32(i%251) / 64
				}
				in := modules.Tensor(t, data, height, int64(width))
				call := func(name string, shape ...int64) []float32 {
					out := modules.Empty(t, dlpack.Float32, shape...)
					must.Get(modules.Call(t, built, name, in, out))(t)
					return modules.Slice[float32](t, out)
				}
				turned := call("T", int64(width), height)
				twice := call("A", height, int64(width))
				wrong := 0
				for i, v := range data {
					if turned[i%width*height+i/width] != v || twice[i] != 2*v {
						wrong++
					}
				}
				require.Zero(t, wrong)
				shares := call("S", height, int64(width))
				for i := range height {
					sum := 0.0
					for _, v := range shares[i*width : (i+1)*width] {
						sum += float64(v)
					}
					require.InDelta(t, 1, sum, 1e-5, "row %d", i)
				}
			}
		})
	}
}
