package ops

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/tirrun"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
)

func newTarget(t *testing.T, x any) *target.Target {
	t.Helper()
	tg, err := target.New(x)
	require.NoError(t, err)
	return tg
}

// TestSchedule_Keys sees which of several schedulers is asked.
func TestSchedule_Keys(t *testing.T) {
	var asked []string
	ask := func(name string, takes bool) Scheduler {
		return func(g *Group) (bool, error) {
			asked = append(asked, name+" "+g.Result.ProducerName()+" "+g.Root.ProducerName())
			return takes, nil
		}
	}
	require.NoError(t, RegisterSchedule("opstest-small", "matmul", ask("small matmul", false)))
	require.NoError(t, RegisterSchedule("opstest-small", "", ask("small", false)))
	require.NoError(t, RegisterSchedule("opstest-big", "matmul", ask("big matmul", true)))
	require.NoError(t, RegisterSchedule("opstest-big", "", ask("big", true)))
	require.ErrorContains(t, RegisterSchedule("opstest-big", "", ask("again", true)),
		`for key "opstest-big": there is one already`)
	require.ErrorContains(t, RegisterSchedule("", "matmul", ask("", true)), "want a key of targets")
	require.ErrorContains(t, RegisterSchedule("cpu", "conv", nil), "and a function")

	y := Relu(Matmul(placeholder("X", 4, 4), placeholder("W", 4, 4), "M"), "R")
	_, err := Schedule(newTarget(t, map[string]any{"kind": "c", "keys": []any{"opstest-small", "opstest-big", "cpu"}}), y)
	require.NoError(t, err)
	require.Equal(t, []string{"small matmul M R", "small M R", "big matmul M R"}, asked)
	asked = nil
	_, err = Schedule(newTarget(t, map[string]any{"kind": "c", "keys": []any{"opstest-big", "opstest-small", "cpu"}}),
		Relu(placeholder("X", 4), "R"))
	require.NoError(t, err)
	require.Equal(t, []string{"big R R"}, asked)

	_, err = Schedule(nil, y)
	require.ErrorContains(t, err, "the target is nil")
	_, err = Schedule(newTarget(t, "c"), Relu(nil, "R"))
	require.ErrorContains(t, err, "the tensor is nil")
	require.NoError(t, RegisterSchedule("opstest-bad", "", func(g *Group) (bool, error) {
		g.Schedule.Stage(g.Root).Parallel(nil)
		return true, nil
	}))
	_, err = Schedule(newTarget(t, map[string]any{"kind": "c", "keys": []any{"opstest-bad"}}), y)
	require.ErrorContains(t, err,
		`ops: schedule of tensor M (matmul) for key "opstest-bad": te: parallel of tensor R: the axis is nil`)
}

// TestSchedule_Inlining lets what is cheap vanish, and nothing grow without end.
func TestSchedule_Inlining(t *testing.T) {
	x := placeholder("X", 4, 4)
	y := x
	for range 40 {
		y = Add(y, y, "D")
	}
	s, err := Schedule(newTarget(t, "c"), y)
	require.NoError(t, err)
	m, err := te.Lower(s, []any{x, y}, "f")
	require.NoError(t, err)
	require.Less(t, len(tir.Print(m)), 20000)
}

// network is operators one after the other: each sort of group, and what stands between.
func network(x, w, b, filters, gamma *te.Tensor) []*te.Tensor {
	conv := Relu(Conv2D(x, filters, "conv", 1, 1, Bias(b)), "relu")
	pool := AvgPool2D(conv, "pool", Window{Kernel: [2]int{2, 2}})
	dense := Matmul(Flatten(pool, "flat", 1), w, "dense")
	norm := LayerNorm(Gelu(dense, "gelu"), gamma, nil, "norm", 1, 1e-5)
	soft := Softmax(norm, "soft")
	return []*te.Tensor{soft, ArgMax(soft, "best", []int{1}, false), Sum(Square(norm, "square"), "energy", []int{1}, true)}
}

// TestSchedule_Network computes a network by the schedule of a CPU and by that of a device with threads, and compares
// it with serial loops.
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
		text := tir.Print(m)
		switch kind {
		case "opencl":
			require.Contains(t, text, "blockIdx.x", kind)
			require.NotContains(t, text, "parallel", kind)
		case "c", "llvm":
			require.NotContains(t, text, "blockIdx", kind)
		}
		require.NoError(t, tirrun.Run(m, "f", given...), kind)
		for n, a := range results[len(ins):] {
			v, err := tirrun.Values[float64](a)
			require.NoError(t, err)
			if kind == "" {
				want = append(want, v)
				continue
			}
			require.InDeltaSlice(t, want[n], v, 1e-5, "%s, result %d", kind, n)
		}
	}
	// a kernel has no threads for a tensor of no dimensions
	_, err := Schedule(newTarget(t, "opencl"), Sum(x, "total", nil, false))
	require.ErrorContains(t, err,
		`ops: schedule of tensor total (sum) for key "gpu": tensor total has no dimensions, `+
			`and a kernel needs one to give to threads: keep one of size 1`)
}

// TestSchedule_Plain sees what the schedule of CPUs makes of some tensors.
func TestSchedule_Plain(t *testing.T) {
	x, w := placeholder("X", 256, 64), placeholder("W", 64, 256)
	text := func(ins []*te.Tensor, out *te.Tensor) string {
		s, err := Schedule(newTarget(t, "c"), out)
		require.NoError(t, err)
		var args []any
		for _, y := range append(ins, out) {
			args = append(args, y)
		}
		m, err := te.Lower(s, args, "f")
		require.NoError(t, err)
		return tir.Print(m)
	}
	chain := text([]*te.Tensor{x}, Add(Relu(x, "R"), Neg(x, "N"), "Y"))
	require.NotContains(t, chain, "alloc")
	require.Contains(t, chain, "parallel")
	require.Contains(t, chain, "vectorized")
	dense := text([]*te.Tensor{x, w}, Relu(Matmul(x, w, "M"), "R"))
	require.Contains(t, dense, "parallel")
	require.NotContains(t, dense, "alloc M: float32[256, 256]") // but parts of it, in threads' turns
	// what others read as well is computed on its own, and so is what is an output itself
	product := Matmul(x, w, "M")
	for _, outs := range [][]*te.Tensor{{Relu(product, "R"), Sum(product, "S", []int{0}, false)},
		{Relu(product, "R"), product}} {
		s, err := Schedule(newTarget(t, "c"), outs...)
		require.NoError(t, err)
		_, err = te.Lower(s, []any{x, w, outs[0], outs[1]}, "f")
		require.NoError(t, err)
	}
	few := placeholder("X", 4)
	small := text([]*te.Tensor{few}, Relu(few, "R"))
	require.NotContains(t, small, "parallel")
}
