//go:build cgo

package cpu_test

import (
	"fmt"
	"math"
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

// TestPositions searches rows of one chunk and of several for their best value: NaN, infinities of one sign, and values
// that stand at several positions.
func TestPositions(t *testing.T) {
	operators := map[string]func(*te.Tensor, string, []int, bool) *te.Tensor{"ArgMax": ops.ArgMax, "ArgMin": ops.ArgMin,
		"ArgMaxLast": ops.ArgMaxLast, "ArgMinLast": ops.ArgMinLast}
	position := func(row []float32, least, last bool) int64 {
		at := 0
		for i, v := range row {
			best := row[at]
			better := v > best
			if least {
				better = v < best
			}
			better = better || v != v && best == best
			same := v == best || v != v && best != best
			if best == best && better || last && same {
				at = i
			}
		}
		return int64(at)
	}
	for _, options := range vectorTargets() {
		for _, width := range []int{40, 512, 519, 1100, 1536} {
			t.Run(fmt.Sprint(options, width), func(t *testing.T) {
				nan, inf := float32(math.NaN()), float32(math.Inf(1))
				var rows [][]float32
				add := func(fill float32, special float32, at ...int) {
					row := make([]float32, width)
					for i := range row {
						if row[i] = fill; fill == 0 {
							row[i] = float32((i*37)%251) - 125
						}
					}
					for _, i := range at {
						row[(i+width)%width] = special
					}
					rows = append(rows, row)
				}
				add(0, 0)
				add(inf, 0)
				add(-inf, 0)
				add(nan, 0)
				add(0, nan, -1)
				add(0, nan, 3, 21)
				add(0, nan, 21, width/2, -2)
				add(0, 126, 5, 18, width/2, -3)
				add(0, -126, 7, 18, width/2, -1)
				add(-inf, -5, width/2+1)
				add(0, inf, width/2, -7)
				add(0, -inf, 0, -7)
				x := te.Placeholder(te.Dims(int32(len(rows)), int32(width)), tir.Float32, "X")
				to := newTarget(t, options)
				var funcs []*tir.PrimFunc
				for name, f := range operators {
					out := f(x, name, []int{1}, false)
					s := must.Get(ops.Schedule(to, out))(t)
					funcs = append(funcs, must.Get(te.Lower(s, []any{x, out}, name))(t).Funcs...)
				}
				built := must.Open(codegen.Build(must.Get(tir.NewModule(funcs...))(t), to))(t)
				var data []float32
				for _, row := range rows {
					data = append(data, row...)
				}
				in := modules.Tensor(t, data, int64(len(rows)), int64(width))
				for name := range operators {
					out := modules.Empty(t, dlpack.Int64, int64(len(rows)))
					must.Get(modules.Call(t, built, name, in, out))(t)
					for i, found := range modules.Slice[int64](t, out) {
						want := position(rows[i], name[3:6] == "Min", len(name) > 6)
						require.Equal(t, want, found, "%s of row %d", name, i)
					}
				}
			})
		}
	}
}
