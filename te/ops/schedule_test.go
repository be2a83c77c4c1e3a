//go:build cgo

package ops

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

func newTarget(t *testing.T, x any) *target.Target {
	t.Helper()
	return must.Get(target.New(x))(t)
}

// network is a sequence of operators with every kind of group.
func network(x, w, b, filters, gamma *te.Tensor) []*te.Tensor {
	conv := Relu(Conv2D(x, filters, "conv", 1, 1, Bias(b)), "relu")
	pool := AvgPool2D(conv, "pool", Window{Kernel: [2]int{2, 2}})
	dense := Matmul(Flatten(pool, "flat", 1), w, "dense")
	norm := LayerNorm(Gelu(dense, "gelu"), gamma, nil, "norm", 1, 1e-5)
	soft := Softmax(norm, "soft")
	return []*te.Tensor{soft, ArgMax(soft, "best", []int{1}, false), Sum(Square(norm, "square"), "energy", []int{1}, true)}
}

// TestSchedule_Network computes a network with the schedules for a CPU and for a GPU, and compares the results with
// serial loops.
func TestSchedule_Network(t *testing.T) {
	x, w, b := placeholder("X", 2, 3, 8, 8), placeholder("W", 4*16, 10), placeholder("B", 4)
	filters, gamma := placeholder("F", 4, 3, 3, 3), placeholder("G", 10)
	outs := network(x, w, b, filters, gamma)
	ins := []*te.Tensor{x, w, b, filters, gamma}
	var want [][]float64
	for _, kind := range []string{"", "c", "llvm", "opencl"} {
		s, err := te.NewSchedule(outs...)
		require.NoError(t, err)
		if kind != "" {
			s, err = Schedule(newTarget(t, kind), outs...)
			require.NoError(t, err, kind)
		}
		var args, given []any
		var results []*tirrun.Array
		for _, y := range append(append([]*te.Tensor{}, ins...), outs...) {
			shape := []int{}
			for _, n := range y.ProducerShape() {
				shape = append(shape, int(n.(*tir.IntImm).Value))
			}
			a := memory(t, sample(y.ProducerDType(), shape...), false)
			args, given, results = append(args, y), append(given, a), append(results, a)
		}
		m, err := te.Lower(s, args, "f")
		require.NoError(t, err, kind)
		require.NoError(t, tir.Check(m), kind)
		text := text.Print(m)
		switch kind {
		case "opencl":
			require.Contains(t, text, "blockIdx.x", kind)
			require.NotContains(t, text, "parallel", kind)
		case "c", "llvm":
			require.NotContains(t, text, "blockIdx", kind)
		}
		for _, pass := range []transform.Pass{transform.SoftwarePipeline(transform.Language{}), transform.ThreadSync} {
			m = must.Get(pass(m, nil))(t)
		}
		require.NoError(t, tirrun.Run(m, "f", given...), kind)
		for n, a := range results[len(ins):] {
			v := must.Get(tirrun.Values[float64](a))(t)
			if kind == "" {
				want = append(want, v)
				continue
			}
			require.InDeltaSlice(t, want[n], v, 1e-5, "%s, result %d", kind, n)
		}
	}
}

// Parameters that do not fit are rejected, with the field and the limit; targets without parameters are rejected too.
func TestScheduleWith(t *testing.T) {
	x := placeholder("X", 1000)
	y := Relu(x, "y")
	to := newTarget(t, "opencl -max_threads_per_block=32")
	c := must.Get(DefaultConfig(to))(t)
	c.Elementwise.Threads = 16
	m := must.Get(te.Lower(must.Get(ScheduleWith(to, c, y))(t), []any{x, y}, "f"))(t)
	require.Contains(t, text.Print(m), `in range(16), thread "threadIdx.x"`)
	c.Elementwise.Threads = 64
	require.EqualError(t, must.Fail(ScheduleWith(to, c, y)), `ops: schedule with a config for kind "opencl": `+
		`Config.Elementwise.Threads is 64: want 1 to 32 (the target's max_threads_per_block)`)
	require.ErrorContains(t, must.Fail(ScheduleWith(to, nil, y)), "it is nil: start from ops.DefaultConfig")
	require.ErrorContains(t, must.Fail(ScheduleWith(newTarget(t, "c"), c, y)), `kind "c" runs on no device with threads`)
	require.ErrorContains(t, must.Fail(DefaultConfig(nil)), "the target is nil")
}
