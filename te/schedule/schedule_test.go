package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

func newTarget(t *testing.T, x any) *target.Target {
	t.Helper()
	return must.Get(target.New(x))(t)
}

func placeholder(name string, sizes ...int32) *te.Tensor {
	return te.Placeholder(te.Dims(sizes...), tir.Float32, name)
}

// TestSchedule_Keys checks which of several schedulers is called.
func TestSchedule_Keys(t *testing.T) {
	var asked []string
	ask := func(name string, takes bool) ops.Scheduler {
		return func(g *ops.Group) (bool, error) {
			asked = append(asked, name+" "+g.Result.ProducerName()+" "+g.Root.ProducerName())
			return takes, nil
		}
	}
	require.NoError(t, ops.RegisterSchedule("opstest-small", "matmul", ask("small matmul", false)))
	require.NoError(t, ops.RegisterSchedule("opstest-small", "", ask("small", false)))
	require.NoError(t, ops.RegisterSchedule("opstest-big", "matmul", ask("big matmul", true)))
	require.NoError(t, ops.RegisterSchedule("opstest-big", "", ask("big", true)))
	require.ErrorContains(t, ops.RegisterSchedule("opstest-big", "", ask("again", true)),
		`for key "opstest-big": it is already registered`)
	require.ErrorContains(t, ops.RegisterSchedule("", "matmul", ask("", true)), "want a key of targets")
	require.ErrorContains(t, ops.RegisterSchedule("cpu", "conv", nil), "and a function")

	y := ops.Relu(ops.Matmul(placeholder("X", 4, 4), placeholder("W", 4, 4), "M"), "R")
	_, err := ops.Schedule(newTarget(t, map[string]any{"kind": "c", "keys": []any{"opstest-small", "opstest-big", "cpu"}}),
		y)
	require.NoError(t, err)
	require.Equal(t, []string{"small matmul M R", "small M R", "big matmul M R"}, asked)
	asked = nil
	_, err = ops.Schedule(newTarget(t, map[string]any{"kind": "c", "keys": []any{"opstest-big", "opstest-small", "cpu"}}),
		ops.Relu(placeholder("X", 4), "R"))
	require.NoError(t, err)
	require.Equal(t, []string{"big R R"}, asked)

	require.ErrorContains(t, must.Fail(ops.Schedule(nil, y)), "the target is nil")
	require.ErrorContains(t, must.Fail(ops.Schedule(newTarget(t, "c"), ops.Relu(nil, "R"))), "the tensor is nil")
	require.NoError(t, ops.RegisterSchedule("opstest-bad", "", func(g *ops.Group) (bool, error) {
		g.Schedule.Stage(g.Root).Parallel(nil)
		return true, nil
	}))
	_, err = ops.Schedule(newTarget(t, map[string]any{"kind": "c", "keys": []any{"opstest-bad"}}), y)
	require.ErrorContains(t, err,
		`ops: schedule of tensor M (matmul) for key "opstest-bad": te: parallel of tensor R: the axis is nil`)
}

// TestSchedule_Inlining inlines cheap tensors, but formulas do not grow without bound.
func TestSchedule_Inlining(t *testing.T) {
	x := placeholder("X", 4, 4)
	y := x
	for range 40 {
		y = ops.Add(y, y, "D")
	}
	s := must.Get(ops.Schedule(newTarget(t, "c"), y))(t)
	m := must.Get(te.Lower(s, []any{x, y}, "f"))(t)
	require.Less(t, len(text.Print(m)), 20000)
}

// TestSchedule_Plain checks the CPU schedules of some tensors.
func TestSchedule_Plain(t *testing.T) {
	x, w := placeholder("X", 256, 64), placeholder("W", 64, 256)
	text := func(ins []*te.Tensor, out *te.Tensor) string {
		s := must.Get(ops.Schedule(newTarget(t, "c"), out))(t)
		var args []any
		for _, y := range append(ins, out) {
			args = append(args, y)
		}
		m := must.Get(te.Lower(s, args, "f"))(t)
		return text.Print(m)
	}
	chain := text([]*te.Tensor{x}, ops.Add(ops.Relu(x, "R"), ops.Neg(x, "N"), "Y"))
	require.NotContains(t, chain, "alloc")
	require.Contains(t, chain, "parallel")
	require.Contains(t, chain, "vectorized")
	dense := text([]*te.Tensor{x, w}, ops.Relu(ops.Matmul(x, w, "M"), "R"))
	require.Contains(t, dense, "parallel")
	require.NotContains(t, dense, "alloc M: float32[256, 256]") // only a part of it, in an iteration of the parallel loop
	// tensors with several readers, and outputs, are computed separately
	product := ops.Matmul(x, w, "M")
	for _, outs := range [][]*te.Tensor{{ops.Relu(product, "R"), ops.Sum(product, "S", []int{0}, false)},
		{ops.Relu(product, "R"), product}} {
		s := must.Get(ops.Schedule(newTarget(t, "c"), outs...))(t)
		must.Get(te.Lower(s, []any{x, w, outs[0], outs[1]}, "f"))(t)
	}
	few := placeholder("X", 4)
	small := text([]*te.Tensor{few}, ops.Relu(few, "R"))
	require.NotContains(t, small, "parallel")
}
