package ops

import (
	"testing"

	"github.com/stretchr/testify/require"

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
	require.ErrorContains(t, RegisterSchedule("opstest-big", "", ask("again", true)), `for key "opstest-big": there is one already`)
	require.ErrorContains(t, RegisterSchedule("", "matmul", ask("", true)), "want a key of targets")
	require.ErrorContains(t, RegisterSchedule("cpu", "conv", nil), "and a function")

	y := Relu(Matmul(placeholder("X", 4, 4), placeholder("W", 4, 4), "M"), "R")
	_, err := Schedule(newTarget(t, map[string]any{"kind": "c", "keys": []any{"opstest-small", "opstest-big", "cpu"}}), y)
	require.NoError(t, err)
	require.Equal(t, []string{"small matmul M R", "small M R", "big matmul M R"}, asked)
	asked = nil
	_, err = Schedule(newTarget(t, map[string]any{"kind": "c", "keys": []any{"opstest-big", "opstest-small", "cpu"}}), Relu(placeholder("X", 4), "R"))
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
	require.ErrorContains(t, err, `ops: schedule of tensor M (matmul) for key "opstest-bad": te: parallel of tensor R: the axis is nil`)
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
