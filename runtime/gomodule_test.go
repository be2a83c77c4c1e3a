package runtime_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestModule_OfGo(t *testing.T) {
	noLeaks(t)
	var closed atomic.Int64
	m, err := runtime.NewModule("mine", runtime.Runnable, &goModule{
		functions: map[string]runtime.PackedFunc{"twice": func(args ...any) (any, error) {
			return 2 * args[0].(int64),
				nil
		}},
		closed: func() { closed.Add(1) }})
	require.NoError(t, err)
	require.Equal(t, "mine", m.Kind())
	require.Equal(t, runtime.Runnable, m.Properties())
	require.Equal(t, []string{"twice"}, m.Functions())
	require.Equal(t, int64(6), call(t, function(t, m, "twice"), 3))
	requireError(t, must.Fail(m.Function("thrice")), runtime.ErrNotFound, "twice")
	require.NoError(t, m.Close())
	require.Equal(t, int64(1), closed.Load())

	requireError(t, must.Fail(runtime.NewModule("", 0, &goModule{})), runtime.ErrInvalidArgument, "the kind is empty")
	_, err = runtime.NewModule("mine", 0, nil)
	requireError(t, err, runtime.ErrInvalidArgument, "the implementation is nil")
	requireError(t, must.Fail(runtime.NewModule("mi\x00ne", 0, &goModule{})), runtime.ErrInvalidArgument)
}

// misbehaving is a module whose every method panics.
type misbehaving struct{ runtime.ModuleImpl }

func TestModule_OfGoThatPanics(t *testing.T) {
	noLeaks(t)
	m := must.Get(runtime.NewModule("bad", 0, misbehaving{}))(t)
	requireError(t, must.Fail(m.Function("x")), runtime.ErrFailed, "panic")
	require.Empty(t, m.Functions())
	requireError(t, must.Fail(m.GetSource("")), runtime.ErrFailed, "panic")
	requireError(t, must.Fail(m.SaveToBinary()), runtime.ErrFailed, "panic")
	requireError(t, m.SaveToFile("x", ""), runtime.ErrFailed, "panic")
	require.NoError(t, m.Close(), "a destructor cannot report an error")
}

func TestModule_ImportsMustNotCycle(t *testing.T) {
	noLeaks(t)
	var mods [3]*runtime.Module
	for i := range mods {
		m := must.Get(runtime.NewModule(fmt.Sprint("m", i), 0, &goModule{}))(t)
		defer m.Close()
		mods[i] = m
	}
	require.ErrorContains(t, mods[0].Import(mods[0]), "imports itself")
	require.NoError(t, mods[0].Import(mods[1]))
	require.NoError(t, mods[1].Import(mods[2]))
	require.ErrorContains(t, mods[2].Import(mods[0]), "Cyclic")
	require.ErrorContains(t, mods[1].Import(mods[0]), "Cyclic")
	require.NoError(t, mods[0].Import(mods[2]), "a diamond is not a cycle")
	deps := must.Get(mods[0].Imports())(t)
	require.Len(t, deps, 2)
	for _, d := range deps {
		d.Close()
	}
}

// A module may close its objects, and import another module, while it is freed.
func TestModule_ClearImportsLetsThemDie(t *testing.T) {
	noLeaks(t)
	m := must.Open(runtime.NewModule("parent", 0, &goModule{}))(t)
	other := must.Open(runtime.NewModule("other", 0, &goModule{}))(t)
	closed := make(chan error, 1)
	dep := must.Get(runtime.NewModule("dep", 0, &goModule{closed: func() { closed <- m.Import(other) }}))(t)
	require.NoError(t, m.Import(dep))
	require.NoError(t, dep.Close())
	require.Empty(t, closed)
	call(t, global(t, "ffi.ModuleClearImports"), m)
	require.NoError(t, <-closed)
	deps := must.Get(m.Imports())(t)
	require.Len(t, deps, 1)
	require.Equal(t, "other", deps[0].Kind())
	require.NoError(t, deps[0].Close())
}

// The functions of every kind of module, and of its imports: from Go, and from C under the names of both generations.
func TestModule_ListsFunctions(t *testing.T) {
	system, err := runtime.SystemLib("") // lives as long as the process
	require.NoError(t, err)
	noLeaks(t)
	t.Cleanup(func() { system.Close() })
	list := func(m *runtime.Module) (own, all []string) {
		for _, name := range []string{"ffi.ModuleListFunctions", "runtime.ModuleListFunctions"} {
			texts := func(args ...any) []string {
				out := []string{}
				for _, s := range call(t, global(t, name), args...).([]any) {
					out = append(out, s.(string))
				}
				return out
			}
			own, all = texts(m), texts(m, true)
			require.Equal(t, own, texts(m, false))
			require.ElementsMatch(t, own, m.Functions(), name)
			require.ElementsMatch(t, all, m.AllFunctions(), name)
		}
		return own, all
	}
	host := modules.Load(t, multiC)
	library := []string{"addone", "matmul", "softmax", "vadd", "wsfunc"}
	own, all := list(host)
	require.Equal(t, library, own)
	require.Equal(t, library, all)

	device := must.Open(runtime.NewDeviceSource("opencl", &blob.DeviceModule{Format: "cl", Data: []byte("kernel"),
		Functions: []blob.Function{{Key: "vadd", FunctionInfo: blob.FunctionInfo{Name: "vadd"}},
			{Key: "k", FunctionInfo: blob.FunctionInfo{Name: "k"}}}}))(t)
	constants := must.Open(runtime.NewConstants(someConstants()))(t)
	source := must.Open(runtime.NewCSource("int s;", "c", []string{"s"}, nil))(t)
	mine := must.Open(runtime.NewModule("mine", runtime.Runnable,
		&goModule{functions: map[string]runtime.PackedFunc{"g": func(...any) (any, error) { return nil, nil }}}))(t)
	root := modules.Load(t, artifacts+"classic/multi_llvm.so", runtime.PrivateCopy())
	for m, want := range map[*runtime.Module][]string{device: {"k", "vadd"}, constants: {"f"}, source: {"s"},
		mine: {"g"}} {
		own, all := list(m)
		require.ElementsMatch(t, want, own, m.Kind())
		require.Equal(t, want, all, m.Kind())
		require.NoError(t, root.Import(m))
	}
	require.NoError(t, device.Import(host))
	own, all = list(root)
	require.Subset(t, own, []string{"addone", "vadd"})
	require.NotContains(t, own, "k")
	require.Subset(t, all, append([]string{"f", "g", "k", "s"}, library...))
	require.IsIncreasing(t, all, "sorted, without duplicates")
	list(system)
}
