package runtime_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/runtime"
)

func TestModule_OfGo(t *testing.T) {
	noLeaks(t)
	var closed atomic.Int64
	m, err := runtime.NewModule("mine", runtime.Runnable, &goModule{
		functions: map[string]runtime.PackedFunc{"twice": func(args ...any) (any, error) { return 2 * args[0].(int64), nil }},
		closed:    func() { closed.Add(1) }})
	require.NoError(t, err)
	require.Equal(t, "mine", m.Kind())
	require.Equal(t, runtime.Runnable, m.Properties())
	require.Equal(t, []string{"twice"}, m.Functions())
	require.Equal(t, int64(6), call(t, function(t, m, "twice"), 3))
	_, err = m.Function("thrice")
	requireError(t, err, runtime.ErrNotFound, "twice")
	require.NoError(t, m.Close())
	require.Equal(t, int64(1), closed.Load())

	_, err = runtime.NewModule("", 0, &goModule{})
	requireError(t, err, runtime.ErrInvalidArgument, "the kind is empty")
	_, err = runtime.NewModule("mine", 0, nil)
	requireError(t, err, runtime.ErrInvalidArgument, "the implementation is nil")
	_, err = runtime.NewModule("mi\x00ne", 0, &goModule{})
	requireError(t, err, runtime.ErrInvalidArgument)
}

// misbehaving is a module whose every method panics.
type misbehaving struct{ runtime.ModuleImpl }

func TestModule_OfGoThatPanics(t *testing.T) {
	noLeaks(t)
	m, err := runtime.NewModule("bad", 0, misbehaving{})
	require.NoError(t, err)
	_, err = m.Function("x")
	requireError(t, err, runtime.ErrFailed, "panic")
	require.Empty(t, m.Functions())
	_, err = m.GetSource("")
	requireError(t, err, runtime.ErrFailed, "panic")
	_, err = m.SaveToBinary()
	requireError(t, err, runtime.ErrFailed, "panic")
	requireError(t, m.SaveToFile("x", ""), runtime.ErrFailed, "panic")
	require.NoError(t, m.Close(), "a destructor has nobody to tell")
}

func TestModule_ImportsMustNotCycle(t *testing.T) {
	noLeaks(t)
	var mods [3]*runtime.Module
	for i := range mods {
		m, err := runtime.NewModule(fmt.Sprint("m", i), 0, &goModule{})
		require.NoError(t, err)
		defer m.Close()
		mods[i] = m
	}
	require.ErrorContains(t, mods[0].Import(mods[0]), "imports itself")
	require.NoError(t, mods[0].Import(mods[1]))
	require.NoError(t, mods[1].Import(mods[2]))
	require.ErrorContains(t, mods[2].Import(mods[0]), "Cyclic")
	require.ErrorContains(t, mods[1].Import(mods[0]), "Cyclic")
	require.NoError(t, mods[0].Import(mods[2]), "a diamond is none")
	deps, err := mods[0].Imports()
	require.NoError(t, err)
	require.Len(t, deps, 2)
	for _, d := range deps {
		d.Close()
	}
}

// A module that closes what it holds, and imports elsewhere while it dies.
func TestModule_ClearImportsLetsThemDie(t *testing.T) {
	noLeaks(t)
	m, err := runtime.NewModule("parent", 0, &goModule{})
	require.NoError(t, err)
	defer m.Close()
	other, err := runtime.NewModule("other", 0, &goModule{})
	require.NoError(t, err)
	defer other.Close()
	closed := make(chan error, 1)
	dep, err := runtime.NewModule("dep", 0, &goModule{closed: func() { closed <- m.Import(other) }})
	require.NoError(t, err)
	require.NoError(t, m.Import(dep))
	require.NoError(t, dep.Close())
	require.Empty(t, closed)
	call(t, global(t, "ffi.ModuleClearImports"), m)
	require.NoError(t, <-closed)
	deps, err := m.Imports()
	require.NoError(t, err)
	require.Len(t, deps, 1)
	require.Equal(t, "other", deps[0].Kind())
	require.NoError(t, deps[0].Close())
}
