//go:build cgo

package c_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/tir"
)

// global registers a global function for one test.
func global(t *testing.T, name string, f runtime.PackedFunc) {
	t.Helper()
	g := must.Get(runtime.NewFunction(f))(t)
	defer g.Close()
	require.NoError(t, runtime.RegisterGlobal(name, g, true))
	t.Cleanup(func() { runtime.RemoveGlobal(name) })
}

func TestRun_PackedCalls(t *testing.T) {
	for _, classic := range []bool{false, true} {
		t.Run(fmt.Sprint("classic=", classic), func(t *testing.T) {
			var failAt atomic.Int64
			failAt.Store(-1)
			global(t, "test.check", func(args ...any) (any, error) {
				if len(args) != 6 || args[1] != 1.5 || args[3] != "te\"xt" || args[2] != true && args[2] != int64(1) {
					return nil, fmt.Errorf("called with %v", args)
				}
				x, ok := args[4].(*runtime.Tensor)
				if !ok || x.Shape()[0] != 4 {
					return nil, fmt.Errorf("called with %v", args)
				}
				if args[0] == failAt.Load() {
					return nil, errors.New("the check fails")
				}
				return "a result that is too long to be small", nil
			})
			value := any(10.5)
			global(t, "test.value", func(args ...any) (any, error) { return value, nil })
			m := loaded(t, c.Emitter{Classic: classic},
				module(t, scratch("scratch", tir.Serial), scratch("scratch_parallel", tir.Parallel)))
			for _, name := range []string{"scratch", "scratch_parallel"} {
				failAt.Store(-1)
				a := modules.Tensor(t, []float32{1, 2, 3, 4})
				must.Get(modules.Call(t, m, name, a))(t)
				require.Equal(t, []float32{10.5, 11.5, 12.5, 13.5}, modules.Slice[float32](t, a))

				failAt.Store(2)
				require.ErrorContains(t, must.Fail(modules.Call(t, m, name, a)), "the check fails")
				failAt.Store(-1)

				_, err := modules.Call(t, m, name, modules.Tensor(t, []float32{1, 2, -3, 4}))
				require.ErrorContains(t, err, name+": A is 100% negative")

				value = "text"
				_, err = modules.Call(t, m, name, a)
				require.ErrorContains(t, err, name+": the packed function test.value returned a string, expected float")
				value = 10.5
			}
			_, err := modules.Call(t, m, "scratch", modules.Tensor(t, []float32{}, 0))
			require.NoError(t, err, "of nothing")
			a := modules.Tensor(t, []float32{1, 200, -3, 4})
			_, err = modules.Call(t, m, "scratch", a)
			require.NoError(t, err, "it returns before it reaches -3")
			require.Equal(t, []float32{1, 200, -3, 4}, modules.Slice[float32](t, a))
		})
	}
}

func TestRun_PackedCallOfNothing(t *testing.T) {
	m := loaded(t, c.Emitter{}, module(t, scratch("scratch", tir.Serial)))
	require.ErrorContains(t, must.Fail(modules.Call(t, m, "scratch", modules.Tensor(t, []float32{1}))), "test.check")
}

// Scratch memory is freed on every path.
func TestRun_ScratchMemoryIsFreed(t *testing.T) {
	global(t, "test.check", func(args ...any) (any, error) {
		if args[0] == int64(2) {
			return nil, errors.New("no")
		}
		return nil, nil
	})
	global(t, "test.value", func(args ...any) (any, error) { return 1.0, nil })
	m := loaded(t, c.Emitter{}, module(t, scratch("scratch", tir.Serial)))
	for range 3 {
		require.Error(t, must.Fail(modules.Call(t, m, "scratch", modules.Tensor(t, []float32{1, 1, 1, 1}))))
	}
	s := must.Get(runtime.WorkspaceMemory(runtime.CPU))(t)
	require.Zero(t, s.InUse, "%+v", s)
}
