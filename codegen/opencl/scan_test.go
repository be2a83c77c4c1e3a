//go:build opencl

package opencl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// TestSchedule_Scans schedules scans for the CPU and for a device: one whose columns are independent, and a recurrent
// network, whose steps read the whole of the step before.
func TestSchedule_Scans(t *testing.T) {
	need(t)
	const steps, n = 5, 70
	x, w := te.Placeholder(te.Dims(steps, n), tir.Float32, "x"), te.Placeholder(te.Dims(n, n), tir.Float32, "w")
	one := te.Dims(1, n)
	before := func(s *te.Tensor, i, j tir.Expr) tir.Expr { return s.At(tir.Sub(i, tir.I32(1)), j) }
	scan := func(update func(s *te.Tensor) *te.Tensor) *te.Tensor {
		s := te.State(te.Dims(steps, n), tir.Float32, "s")
		first := te.Compute(one, "first", func(i ...tir.Expr) tir.Expr { return x.At(i...) })
		return te.Scan([]*te.Tensor{first}, []*te.Tensor{update(s)}, []*te.Tensor{s}, "scan")[0]
	}
	sums := scan(func(s *te.Tensor) *te.Tensor {
		return te.Compute(te.Dims(steps, n), "next", func(i ...tir.Expr) tir.Expr {
			return tir.Add(before(s, i[0], i[1]), x.At(i...))
		})
	})
	network := scan(func(s *te.Tensor) *te.Tensor {
		k := te.ReduceAxis(tir.I32(0), tir.I32(n), "k")
		product := te.Compute(te.Dims(steps, n), "product", func(i ...tir.Expr) tir.Expr {
			return te.Sum(tir.Mul(w.At(i[1], k.Var), before(s, i[0], k.Var)), k)
		})
		return te.Compute(te.Dims(steps, n), "next", func(i ...tir.Expr) tir.Expr {
			return tir.Max(tir.Add(product.At(i...), x.At(i...)), tir.F32(0))
		})
	})
	numbers := te.Placeholder(te.Dims(9), tir.Float32, "numbers")
	state := te.State(te.Dims(9), tir.Float32, "state")
	start := te.Compute(te.Dims(2), "start", func(i ...tir.Expr) tir.Expr { return numbers.At(i...) })
	next := te.Compute(te.Dims(9), "next", func(i ...tir.Expr) tir.Expr {
		return tir.Add(numbers.At(i...), state.At(tir.Sub(i[0], tir.I32(2))))
	})
	alternate := te.Scan([]*te.Tensor{start}, []*te.Tensor{next}, []*te.Tensor{state}, "alternate")[0]
	s := must.Get(ops.Schedule(clTarget(t), alternate))(t)
	out := must.Get(tirrun.From(tir.Float32, make([]float64, 9), 9))(t)
	harness.Compare(t, must.Get(te.Lower(s, []any{numbers, alternate}, "alternate"))(t), "alternate", 0,
		must.Get(tirrun.From(tir.Float32, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, 9))(t), out)

	values := make([]float32, steps*n)
	weights := make([]float32, n*n)
	for i := range values {
		values[i] = float32(i%7) - 3
	}
	for i := range weights {
		weights[i] = float32(i%5)/4 - 0.5
	}
	want := map[*te.Tensor][]float32{sums: make([]float32, steps*n), network: make([]float32, steps*n)}
	copy(want[sums], values[:n])
	copy(want[network], values[:n])
	for i := n; i < steps*n; i++ {
		want[sums][i] = want[sums][i-n] + values[i]
		sum := float32(0)
		for k := range n {
			sum += weights[i%n*n+k] * want[network][i/n*n-n+k]
		}
		want[network][i] = max(sum+values[i], 0)
	}
	for _, kind := range []string{"c", "opencl"} {
		to := must.Get(target.New(kind))(t)
		for _, result := range []*te.Tensor{sums, network} {
			s := must.Get(ops.Schedule(to, result))(t)
			m := must.Get(te.Lower(s, []any{x, w, result}, "scan"))(t)
			built := must.Open(codegen.Build(m, to))(t)
			d := dlpack.Device{Type: to.DeviceType()}
			var args []any
			for _, a := range []struct {
				v     []float32
				shape []int64
			}{{values, []int64{steps, n}}, {weights, []int64{n, n}}, {make([]float32, steps*n), []int64{steps, n}}} {
				dtype := dlpack.DataType{Code: dlpack.CodeFloat, Bits: 32, Lanes: 1}
				x := must.Open(runtime.NewTensor(dtype, a.shape, d))(t)
				require.NoError(t, runtime.CopyFrom(x, a.v))
				args = append(args, x)
			}
			_, err := must.Get(built.Function("scan"))(t).Call(args...)
			require.NoError(t, err)
			got := must.Get(runtime.ToSlice[float32](args[2].(*runtime.Tensor)))(t)
			require.Equal(t, want[result], got, kind)
		}
	}
}
