package runtime_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestGlobal_RegisterOverrideRemove(t *testing.T) {
	noLeaks(t)
	const name = "tvmgo_test.global"
	one := goFunction(t, func(...any) (any, error) { return 1, nil })
	two := goFunction(t, func(...any) (any, error) { return 2, nil })
	require.NotContains(t, runtime.GlobalNames(), name)
	require.False(t, runtime.RemoveGlobal(name))
	require.NoError(t, runtime.RegisterGlobal(name, one, false))
	require.Contains(t, runtime.GlobalNames(), name)
	require.True(t, slices.IsSorted(runtime.GlobalNames()))

	requireError(t, runtime.RegisterGlobal(name, two, false), runtime.ErrFailed, name, "taken")
	first := global(t, name)
	require.Equal(t, int64(1), call(t, first))
	require.NoError(t, runtime.RegisterGlobal(name, two, true))
	require.Equal(t, int64(2), call(t, global(t, name)))
	require.True(t, runtime.RemoveGlobal(name))
	require.False(t, runtime.RemoveGlobal(name))
	require.Equal(t, int64(1), call(t, first), "a function that was looked up before keeps working")
	requireError(t, must.Fail(runtime.Global(name)), runtime.ErrNotFound, name)
}

func TestGlobal_TableKeepsItsOwnReference(t *testing.T) {
	noLeaks(t)
	const name = "tvmgo_test.kept"
	f := must.Get(runtime.NewFunction(func(...any) (any, error) { return "kept", nil }))(t)
	require.NoError(t, runtime.RegisterGlobal(name, f, false))
	require.NoError(t, f.Close())
	require.Equal(t, "kept", call(t, global(t, name)))
	require.True(t, runtime.RemoveGlobal(name))
}

func TestGlobal_Names(t *testing.T) {
	noLeaks(t)
	f := goFunction(t, func(...any) (any, error) { return nil, nil })
	requireError(t, runtime.RegisterGlobal("", f, true), runtime.ErrInvalidArgument, "empty")
	requireError(t, runtime.RegisterGlobal("zero\x00byte", f, true), runtime.ErrInvalidArgument, "zero byte")
	for _, name := range []string{"ä", "with space", strings.Repeat("long", 1000), "new\nline", "null"} {
		require.NoError(t, runtime.RegisterGlobal(name, f, false))
		require.Contains(t, runtime.GlobalNames(), name)
		require.True(t, runtime.RemoveGlobal(name))
	}
}

func TestGlobal_SuggestsTheNearestName(t *testing.T) {
	noLeaks(t)
	for name, near := range map[string]string{
		"runtime.NumThread":  "runtime.NumThreads",
		"runtime.numThreads": "runtime.NumThreads",
		"ffi.SystemLibb":     "ffi.SystemLib",
	} {
		requireError(t, must.Fail(runtime.Global(name)), runtime.ErrNotFound, fmt.Sprintf("did you mean %q?", near))
	}
	for _, name := range []string{"", "completely.different.name"} {
		_, err := runtime.Global(name)
		requireError(t, err, runtime.ErrNotFound)
		require.NotContains(t, err.Error(), "did you mean")
	}
}

func TestGlobal_FromManyGoroutines(t *testing.T) {
	noLeaks(t)
	const goroutines, rounds = 8, 50
	var wg sync.WaitGroup
	errs := make(chan error, goroutines)
	for g := range goroutines {
		wg.Go(func() {
			errs <- func() error {
				shared, own := "tvmgo_test.shared", fmt.Sprint("tvmgo_test.own", g)
				for i := range rounds {
					f, err := runtime.NewFunction(func(...any) (any, error) { return g*rounds + i, nil })
					if err != nil {
						return err
					}
					if err := errors.Join(runtime.RegisterGlobal(shared, f, true),
						runtime.RegisterGlobal(own, f, false)); err != nil {
						return err
					}
					f.Close()
					if s, err := runtime.Global(shared); err == nil { // another goroutine may have removed it
						if _, err := s.Call(); err != nil {
							return err
						}
						s.Close()
					}
					mine, err := runtime.Global(own)
					if err != nil {
						return err
					}
					v, err := mine.Call()
					mine.Close()
					if err != nil || v != int64(g*rounds+i) {
						return fmt.Errorf("own function gave %v, %v", v, err)
					}
					if !runtime.RemoveGlobal(own) {
						return errors.New("own function was not there")
					}
					runtime.RemoveGlobal(shared)
				}
				return nil
			}()
		})
	}
	wg.Wait()
	for range goroutines {
		require.NoError(t, <-errs)
	}
}

func TestNumThreads(t *testing.T) {
	n := runtime.NumThreads()
	require.Positive(t, n)
	require.NoError(t, runtime.SetNumThreads(3))
	require.Equal(t, 3, runtime.NumThreads())
	require.NoError(t, runtime.SetNumThreads(0))
	require.Equal(t, n, runtime.NumThreads())
	require.Error(t, runtime.SetNumThreads(-1))
	require.Equal(t, n, runtime.NumThreads())
}
