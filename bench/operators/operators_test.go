package operators

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

var cpu = dlpack.Device{Type: dlpack.CPU}

// small returns each kind of operator at small sizes that no tile divides.
func small() []*Operator {
	list := []*Operator{Add(1000), Sum(1003), Transpose(37, 50), Softmax(7, 100), LayerNorm(5, 70),
		Conv{2, 6, 9, 8, 5, 3, false}.Operator("conv-3x3"), Conv{2, 6, 9, 8, 5, 1, false}.Operator("conv-1x1"),
		Conv{2, 6, 9, 8, 6, 3, true}.Operator("conv-depthwise")}
	for _, t := range []tir.Type{tir.Float32, tir.Float16} {
		list = append(list, Matmul(40, t), Heads{2, 50, 16, false, t}.Operator("attention-"+short(t)),
			Heads{2, 50, 16, true, t}.Operator("attention-causal-"+short(t)))
	}
	return list
}

// built returns the arrays of an operator on the CPU, and a function of its kernel.
func built(t *testing.T, o *Operator) (*Arrays, *runtime.Function) {
	t.Helper()
	program := must.Get(o.Lower(must.Get(target.New("c"))(t)))(t)
	m := must.Open(codegen.Build(program, must.Get(target.New("c"))(t)))(t)
	return must.Open(NewArrays(o, cpu))(t), must.Open(m.Function(o.Function()))(t)
}

// Each operator of te/ops, executed on the CPU, has the values of its reference. A result with one wrong element, one
// element that is not written, or no result at all is found, wherever the element is.
func TestCheck_Operators(t *testing.T) {
	for _, o := range small() {
		t.Run(o.Name, func(t *testing.T) {
			a, f := built(t, o)
			out := a.all[len(a.all)-1]
			change := func(at int, value func(float64) float64) func() error {
				return func() error {
					if _, err := f.Call(a.Args()...); err != nil {
						return err
					}
					return set(out, at, value)
				}
			}
			same := func(v float64) float64 { return v }
			how, err := a.Check(t.Context(), change(0, same))
			require.NoError(t, err)
			require.Contains(t, how, "all elements")
			for _, at := range []int{0, int(out.Len()) / 3, int(out.Len()) - 1} {
				_, err = a.Check(t.Context(), change(at, func(v float64) float64 { return v + 0.5 + math.Abs(v)/4 }))
				require.ErrorIs(t, err, bench.ErrWrongResult, "element %d", at)
				require.ErrorContains(t, err, "want")
				_, err = a.Check(t.Context(), change(at, func(float64) float64 { return math.NaN() }))
				require.ErrorContains(t, err, "is NaN", "element %d", at)
			}
			_, err = a.Check(t.Context(), func() error { return nil })
			require.ErrorIs(t, err, bench.ErrWrongResult, "the result of the execution before stays")
			require.ErrorContains(t, err, "as before the execution")
		})
	}
}

// set changes an element of a tensor on the CPU.
func set(x *runtime.Tensor, at int, value func(float64) float64) error {
	if x.DType() == dlpack.Float16 {
		data, err := runtime.Elements[dlpack.Float16Bits](x)
		data[at] = dlpack.Float16Of(value(float64(data[at].Float32())))
		return err
	}
	data, err := runtime.Elements[float32](x)
	data[at] = float32(value(float64(data[at])))
	return err
}

// Mistakes of kernels that compute something else are found: operands exchanged, a transposed operand, half of a sum.
func TestCheck_Mistakes(t *testing.T) {
	exchange := func(a *Arrays) []any { return append([]any{a.all[1], a.all[0]}, a.Args()[2:]...) }
	for _, o := range []*Operator{Matmul(40, tir.Float32), Matmul(40, tir.Float16),
		Heads{2, 50, 16, false, tir.Float32}.Operator("attention")} {
		a, f := built(t, o)
		_, err := a.Check(t.Context(), func() error {
			_, err := f.Call(exchange(a)...)
			return err
		})
		require.ErrorIs(t, err, bench.ErrWrongResult, o.Name)
	}
	for name, execute := range map[string]func(x, y, z []float32){
		"the last element of the sum": func(x, y, z []float32) { multiply(x, y, z, 39, exactly, exactly) },
		"half of the sum":             func(x, y, z []float32) { multiply(x, y, z, 20, exactly, exactly) },
		"TensorFloat-32": func(x, y, z []float32) {
			multiply(x, y, z, 40, func(v float32) float32 {
				return math.Float32frombits((math.Float32bits(v) + 1<<12) &^ (1<<13 - 1))
			}, exactly)
		},
		"sums of float16": func(x, y, z []float32) {
			multiply(x, y, z, 40, exactly, func(v float32) float32 { return dlpack.Float16Of(float64(v)).Float32() })
		},
		"the transposed operand": func(x, y, z []float32) {
			other := make([]float32, len(y))
			for i := range y {
				other[i%40*40+i/40] = y[i]
			}
			multiply(x, other, z, 40, exactly, exactly)
		},
		"a tile at the neighboring position": func(x, y, z []float32) {
			multiply(x, y, z, 40, exactly, exactly)
			for i := 8; i < 16; i++ {
				copy(z[i*40+16:i*40+24], z[i*40+8:i*40+16])
			}
		},
		"two wrong elements with the same sum": func(x, y, z []float32) {
			multiply(x, y, z, 40, exactly, exactly)
			z[43]++
			z[50]--
		},
	} {
		err := checkProduct(t, tir.Float32, execute)
		require.ErrorIs(t, err, bench.ErrWrongResult, name)
	}
	require.NoError(t, checkProduct(t, tir.Float32, func(x, y, z []float32) { multiply(x, y, z, 40, exactly, exactly) }))
}

func exactly(v float32) float32 { return v }

// multiply computes a product of matrices of 40 x 40 with the first elements of its sums. It rounds operands and sums.
func multiply(x, y, z []float32, sum int, operand, total func(float32) float32) {
	for i := range z {
		z[i] = 0
		for k := range sum {
			z[i] = total(z[i] + operand(x[i/40*40+k])*operand(y[k*40+i%40]))
		}
	}
}

func checkProduct(t *testing.T, of tir.Type, execute func(x, y, z []float32)) error {
	a := must.Open(NewArrays(Matmul(40, of), cpu))(t)
	_, err := a.Check(t.Context(), func() error {
		var all [3][]float32
		for i, x := range a.all {
			all[i] = must.Get(runtime.Elements[float32](x))(t)
		}
		execute(all[0], all[1], all[2])
		return nil
	})
	return err
}

// Sums of float16 in float16, instead of float32, exceed the tolerance.
func TestCheck_AccumulationInFloat16(t *testing.T) {
	a := must.Open(NewArrays(Matmul(256, tir.Float16), cpu))(t)
	half := func(v float32) float32 { return dlpack.Float16Of(float64(v)).Float32() }
	for _, c := range []struct {
		round func(float32) float32
		wrong bool
	}{{exactly, false}, {half, true}} {
		_, err := a.Check(t.Context(), func() error {
			x := must.Get(runtime.Elements[dlpack.Float16Bits](a.all[0]))(t)
			y := must.Get(runtime.Elements[dlpack.Float16Bits](a.all[1]))(t)
			z := must.Get(runtime.Elements[dlpack.Float16Bits](a.all[2]))(t)
			row := make([]float32, 256)
			for i := range 256 {
				clear(row)
				for k := range 256 {
					f := x[i*256+k].Float32()
					for j := range row {
						row[j] = c.round(row[j] + f*y[k*256+j].Float32())
					}
				}
				for j := range row {
					z[i*256+j] = dlpack.Float16Of(float64(row[j]))
				}
			}
			return nil
		})
		require.Equal(t, c.wrong, err != nil, "%v", err)
	}
}

// Operators whose elements are too many to be compared are compared in part: the first, the last and random ones, and
// all others are numbers. Whatever the part has, integers are exact in all elements.
func TestCheck_Part(t *testing.T) {
	o := Matmul(40, tir.Float32)
	o.rounded.cost = allOps
	a, f := built(t, o)
	how, err := a.Check(t.Context(), func() error { _, err := f.Call(a.Args()...); return err })
	require.NoError(t, err)
	require.Equal(t, "all elements exact, for integers; 1024 elements within a tolerance, reference in float64", how)
	o.exact = nil
	_, err = a.Check(t.Context(), func() error {
		if _, err := f.Call(a.Args()...); err != nil {
			return err
		}
		return set(a.all[2], 777, func(float64) float64 { return math.NaN() })
	})
	require.ErrorContains(t, err, "element [19, 17] of matmul-f32-40 is NaN")
}

func TestCheck_EndsWithItsContext(t *testing.T) {
	a, f := built(t, Matmul(40, tir.Float32))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := a.Check(ctx, func() error {
		_, err := f.Call(a.Args()...)
		cancel()
		return err
	})
	require.ErrorIs(t, err, context.Canceled)
}

// The inputs have no zero, both signs, and differ.
func TestInputs(t *testing.T) {
	for _, o := range []*Operator{Matmul(40, tir.Float32), Matmul(40, tir.Float16)} {
		for _, of := range []func(int) func(int) float64{o.integer, o.fraction} {
			for input := range 2 {
				positive, values := 0, map[float64]bool{}
				for at := range 10000 {
					v := of(input)(at)
					require.NotZero(t, v)
					if o.Type == tir.Float16 {
						require.Equal(t, v, float64(dlpack.Float16Of(v).Float32()))
					}
					require.Equal(t, v, float64(float32(v)))
					values[v] = true
					if v > 0 {
						positive++
					}
				}
				require.InDelta(t, 5000, positive, 300)
				require.GreaterOrEqual(t, len(values), 4)
			}
		}
	}
	for _, o := range All() {
		require.LessOrEqual(t, o.Shapes()[0].Bytes(), int64(1<<28), o.Name)
		require.Positive(t, o.Work, o.Name)
	}
}
