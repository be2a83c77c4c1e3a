package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// Kinds without a code generator are not scheduled, and the error lists the others. Kinds that programs declare, and
// kinds with a registered generator or scheduler, are allowed.
func TestSchedule_KindsWithoutGenerator(t *testing.T) {
	x := te.Placeholder(te.Dims(4), tir.Float32, "x")
	y := ops.Relu(x, "y")
	schedule := func(v any) error {
		made := must.Get(target.New(v))(t)
		_, err := ops.Schedule(made, y)
		return err
	}
	for _, v := range []any{"metal", "rocm -mcpu=gfx942", "webgpu"} {
		require.ErrorContains(t, schedule(v), "it has no code generator: schedule for one of c, ", v)
	}
	for _, v := range []any{"c", "llvm", "opencl", "vulkan", "cuda -arch=sm_80", "nvptx -mcpu=sm_80"} {
		require.NoError(t, schedule(v), v)
	}
	require.NoError(t, target.SetAttr("rocm", target.ColumnGenerator, true))
	require.NoError(t, schedule("rocm -mcpu=gfx942"))
	must.Get(target.RegisterKind("ownkind", dlpack.CPU))(t)
	require.NoError(t, schedule("ownkind"))
	require.NoError(t, ops.RegisterSchedule("hexagon", "", func(*ops.Group) (bool, error) { return false, nil }))
	require.NoError(t, schedule("hexagon"))
}
