//go:build cgo

package ops

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/te"
	"tvmgo/tir"
)

// TestAnySize computes operators with variable sizes: each is compiled once, and called with sizes 0, 1, odd and large.
func TestAnySize(t *testing.T) {
	n, m := te.Var("n"), te.Var("m")
	p := func(t tir.Type, name string, s ...tir.Expr) *te.Tensor { return te.Placeholder(s, t, name) }
	x, y, row := p(tir.Float32, "X", n, m), p(tir.Float32, "Y", m, n), p(tir.Float32, "R", m)
	image := p(tir.Float32, "I", n, tir.I32(2), m, m)
	filters := p(tir.Float32, "F", tir.I32(3), tir.I32(2), tir.I32(3), tir.I32(3))
	index := p(tir.Int32, "J", n)
	sum := func(v []float64) (r float64) {
		for _, e := range v {
			r += e
		}
		return r
	}
	type symbolic struct {
		name string
		out  *te.Tensor
		ins  []*te.Tensor
		want func(in []*nd) *nd
		tol  float64
	}
	window := Window{Kernel: [2]int{2, 3}, Strides: [2]int{2, 2}, Pads: [4]int{1, 1, 0, 1}, Ceil: true}
	tests := []symbolic{
		{"add", Add(x, row, "Z"), []*te.Tensor{x, row}, func(in []*nd) *nd {
			return each(tir.Float32, in[0].shape, func(i []int) float64 { return in[0].at(i...) + in[1].at(i[1]) })
		}, 0},
		{"matmul", Matmul(x, y, "Z"), []*te.Tensor{x, y}, func(in []*nd) *nd {
			return each(tir.Float32, []int{in[0].shape[0], in[0].shape[0]}, func(i []int) (r float64) {
				for k := range in[0].shape[1] {
					r += in[0].at(i[0], k) * in[1].at(k, i[1])
				}
				return r
			})
		}, 0},
		{"softmax", Softmax(x, "Z", 0), []*te.Tensor{x}, func(in []*nd) *nd {
			return perRow(in[0], 0, softmaxOf(false))
		}, 1e-6},
		{"layernorm", LayerNorm(x, row, nil, "Z", 1, 1), []*te.Tensor{x, row}, func(in []*nd) *nd {
			return perRow(in[0], 1, func(v []float64) []float64 {
				mean, s, out := sum(v)/float64(len(v)), 0.0, make([]float64, len(v))
				for _, e := range v {
					s += (e - mean) * (e - mean) / float64(len(v))
				}
				for k, e := range v {
					out[k] = (e - mean) / math.Sqrt(s+1) * in[1].v[k]
				}
				return out
			})
		}, 1e-5},
		{"sum", Sum(x, "Z", []int{0}, false), []*te.Tensor{x}, func(in []*nd) *nd {
			return folded(in[0], tir.Float32, []int{0}, false, sum)
		}, 0},
		{"mean", Mean(x, "Z", nil, true), []*te.Tensor{x}, func(in []*nd) *nd {
			return folded(in[0], tir.Float32, nil, true, func(v []float64) float64 { return sum(v) / float64(len(v)) })
		}, 1e-6},
		{"max", Max(x, "Z", []int{1}, false), []*te.Tensor{x}, func(in []*nd) *nd {
			return folded(in[0], tir.Float32, []int{1}, false, nanOr(math.Max, math.Inf(-1)))
		}, 0},
		{"conv", Relu(Conv2D(image, filters, "C", 2, 1), "Z"), []*te.Tensor{image, filters}, func(in []*nd) *nd {
			size := 0
			if s := in[0].shape[2]; s > 0 {
				size = (s-1)/2 + 1
			}
			return each(tir.Float32, []int{in[0].shape[0], 3, size, size}, func(i []int) (r float64) {
				for c := range 2 {
					for p := range 3 {
						for q := range 3 {
							e, _ := pixelAt(in[0], i[0], c, i[2]*2+p-1, i[3]*2+q-1)
							r += e * in[1].at(i[1], c, p, q)
						}
					}
				}
				return max(r, 0)
			})
		}, 0},
		{"average", AvgPool2D(image, "Z", window), []*te.Tensor{image}, func(in []*nd) *nd {
			size := func(n, pads, k int) int {
				left := n + pads - k
				if left < -1 {
					return 0
				}
				out := (left+1)/2 + 1
				if (out-1)*2 >= n+1 {
					out--
				}
				return out
			}
			s := in[0].shape
			return each(tir.Float32, []int{s[0], 2, size(s[2], 1, 2), size(s[3], 2, 3)}, func(i []int) float64 {
				var v []float64
				for p := range 2 {
					for q := range 3 {
						if e, ok := pixelAt(in[0], i[0], i[1], i[2]*2+p-1, i[3]*2+q-1); ok {
							v = append(v, e)
						}
					}
				}
				return sum(v) / math.Max(1, float64(len(v)))
			})
		}, 1e-6},
		{"concat", Concat("Z", 1, x, Exp(x, "E")), []*te.Tensor{x}, func(in []*nd) *nd {
			w := in[0].shape[1]
			return each(tir.Float32, []int{in[0].shape[0], 2 * w}, func(i []int) float64 {
				if i[1] < w {
					return in[0].at(i...)
				}
				return math.Exp(in[0].at(i[0], i[1]-w))
			})
		}, 1e-6},
		{"slice", Slice(x, "Z", Range{1, 2, ToEnd, 3}), []*te.Tensor{x}, func(in []*nd) *nd {
			return each(tir.Float32, []int{in[0].shape[0], max(0, in[0].shape[1]) / 3}, func(i []int) float64 {
				return in[0].at(i[0], 2+3*i[1])
			})
		}, 0},
		{"slices", OpenSlice(Slice(x, "S", Range{1, -2, ToStart, -1}), "Z", OpenRange{Axis: 0, Begin: tir.I32(-3),
			End: tir.Sub(n, tir.I32(1))}), []*te.Tensor{x}, func(in []*nd) *nd {
			s := in[0].shape
			first := max(0, s[0]-3)
			return each(tir.Float32, []int{max(0, s[0]-1-first), max(0, s[1]-1)}, func(i []int) float64 {
				return in[0].at(first+i[0], s[1]-2-i[1])
			})
		}, 0},
		{"repeats", Repeat(Tile(x, "T", tir.I32(1), m), "Z", 0, n), []*te.Tensor{x}, func(in []*nd) *nd {
			s := in[0].shape
			return each(tir.Float32, []int{s[0] * s[0], s[1] * s[1]}, func(i []int) float64 {
				return in[0].at(i[0]/s[0], i[1]%s[1])
			})
		}, 0},
		{"moved", Trilu(Reverse(BroadcastTo(row, "B", n, tir.I32(1)), "Y"), "Z", tir.I32(1), true), []*te.Tensor{x, row},
			func(in []*nd) *nd {
				s := in[0].shape
				return each(tir.Float32, s, func(i []int) float64 { return in[1].at(s[1]-1-i[1]) * truth(i[1] > i[0]) })
			}, 0},
		{"scatter", ScatterND(x, ExpandDims(index, "K", 1), x, "Z", AddTo), []*te.Tensor{x, index}, func(in []*nd) *nd {
			s := in[0].shape
			want := &nd{tir.Float32, s, slices.Clone(in[0].v)}
			eachIndex(s, func(i []int) {
				row := int(in[1].v[i[0]])
				if row < 0 {
					row += s[0]
				}
				if row >= 0 && row < s[0] {
					want.v[row*s[1]+i[1]] += in[0].at(i...)
				}
			})
			return want
		}, 0},
		{"cumsum", CumSum(x, "Z", 1, Backward()), []*te.Tensor{x}, func(in []*nd) *nd {
			return alongAxis(in[0], tir.Float32, 1, func(row []float64) []float64 {
				out := make([]float64, len(row))
				for k := range row {
					out[k] = sum(row[k:])
				}
				return out
			})
		}, 0},
		{"sort", Sort(x, "Z", 0, true), []*te.Tensor{x}, func(in []*nd) *nd {
			return alongAxis(in[0], tir.Float32, 0, func(row []float64) (out []float64) {
				for _, k := range ordered(row, true) {
					out = append(out, row[k])
				}
				return out
			})
		}, 0},
		{"nonzero", Nonzero(x, "Z")[1], []*te.Tensor{x}, func(in []*nd) *nd {
			found := 0.0
			for _, v := range in[0].v {
				found += truth(v != 0)
			}
			return &nd{tir.Int64, []int{}, []float64{found}}
		}, 0},
		{"einsum", Einsum("Z", "ij,kj->ik", x, x), []*te.Tensor{x}, func(in []*nd) *nd {
			return einsumOf("ij,kj->ik", tir.Float32, in[0], in[0])
		}, 0},
		{"logsumexp", LogSumExp(x, "Z", []int{0}, false), []*te.Tensor{x}, func(in []*nd) *nd {
			return folded(in[0], tir.Float32, []int{0}, false, func(v []float64) (r float64) {
				for _, e := range v {
					r += math.Exp(e)
				}
				return math.Log(r)
			})
		}, 1e-6},
		{"take", Take(x, index, "Z", 1, Clamp), []*te.Tensor{x, index}, func(in []*nd) *nd {
			s := in[0].shape
			return each(tir.Float32, []int{s[0], s[0]}, func(i []int) float64 {
				if s[1] == 0 {
					return 0
				}
				return in[0].at(i[0], min(max(int(in[1].v[i[1]]), 0), s[1]-1))
			})
		}, 0},
		{"flatten", Flatten(image, "Z", 1), []*te.Tensor{image}, func(in []*nd) *nd {
			return &nd{tir.Float32, []int{in[0].shape[0], 2 * in[0].shape[2] * in[0].shape[3]}, in[0].v}
		}, 0},
	}
	var funcs []*tir.PrimFunc
	for k, c := range tests {
		require.NoError(t, c.out.Err(), c.name)
		s, err := Schedule(newTarget(t, "c"), c.out)
		require.NoError(t, err, c.name)
		var args []any
		for _, x := range append(append([]*te.Tensor{}, c.ins...), c.out) {
			args = append(args, x)
		}
		m, err := te.Lower(s, args, fmt.Sprintf("f%d", k))
		require.NoError(t, err, c.name)
		require.NoError(t, tir.Check(m), c.name)
		funcs = append(funcs, m.Funcs[0])
	}
	mod := must.Get(tir.NewModule(funcs...))(t)
	lib := must.Open(codegen.Build(mod, newTarget(t, "c")))(t)
	for k, c := range tests {
		f, err := lib.Function(fmt.Sprintf("f%d", k))
		require.NoError(t, err, c.name)
		for _, size := range [][2]int{{3, 5}, {1, 1}, {0, 4}, {4, 0}, {37, 33}} {
			var ins []*nd
			var args []any
			var held []*runtime.Tensor
			for _, x := range c.ins {
				shape := []int{}
				for _, d := range x.ProducerShape() {
					switch d {
					case tir.Expr(n):
						shape = append(shape, size[0])
					case tir.Expr(m):
						shape = append(shape, size[1])
					default:
						shape = append(shape, int(d.(*tir.IntImm).Value))
					}
				}
				ins = append(ins, sample(x.ProducerDType(), shape...))
			}
			want := c.want(ins)
			var out *runtime.Tensor
			array := memory(t, &nd{want.t, want.shape, make([]float64, len(want.v))}, false)
			for i, a := range append(ins, nil) {
				b := array
				if i < len(ins) {
					b = memory(t, a, false)
				}
				base, x := device(t, b)
				held, args, out = append(held, base, x), append(args, x), base
			}
			_, err := f.Call(args...)
			require.NoError(t, err, "%s of %v", c.name, size)
			if len(array.Data) > 0 {
				require.NoError(t, out.CopyToBytes(array.Data))
			}
			(&opCase{name: fmt.Sprintf("%s of %v", c.name, size), want: want, tol: c.tol}).check(t, "in C", array)
			for _, x := range held {
				require.NoError(t, x.Close())
			}
		}
		f.Close()
	}
}

func pixelAt(x *nd, n, c, h, w int) (float64, bool) { return pixel(x, false, n, c, h, w) }
