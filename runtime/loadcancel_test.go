package runtime_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestLoad_CancelledContext(t *testing.T) {
	noLeaks(t)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, must.Fail(runtime.Load(cancelled, multiC)), context.Canceled)
	require.ErrorIs(t, must.Fail(runtime.LoadBytes(cancelled, readFile(t, multiC))), context.Canceled)
	require.ErrorIs(t, must.Fail(runtime.LoadFS(cancelled, os.DirFS(artifacts), "modern/multi_c.so")), context.Canceled)
}

// A module whose load was canceled is closed once it is loaded.
func TestLoad_CancelledWhileLoading(t *testing.T) {
	noLeaks(t)
	started, proceed := make(chan struct{}), make(chan struct{})
	kind := moduleKind(t, runtime.ModuleKind{Name: "tvmgo_test_slow",
		Load: func(p runtime.Payload) (runtime.ModuleImpl, error) {
			close(started)
			<-proceed
			return &goModule{}, nil
		}})
	lib := withBlob(t, probeSource, modernTree([]entry{{"_lib", nil}, {kind, []byte("x")}}, [][]int{{1}, nil}))
	cancellable, cancel := context.WithCancelCause(ctx)
	failed := make(chan error)
	go func() {
		_, err := runtime.LoadBytes(cancellable, lib)
		failed <- err
	}()
	<-started
	cancel(fmt.Errorf("not needed"))
	require.ErrorIs(t, <-failed, context.Canceled)
	clear(lib) // the load uses its own copy of the bytes
	close(proceed)
}

// goroutine returns the number of the current goroutine.
func goroutine() string {
	var b [64]byte
	return strings.Fields(string(b[:goruntime.Stack(b[:], false)]))[1]
}

// lateContext is done from the start, but the goroutine that made it sees this only from its second call of Err on.
// Other goroutines get the result of other.
type lateContext struct {
	context.Context
	caller string
	asked  bool // the caller has called Err
	other  func() error
}

func (c *lateContext) Err() error {
	if goroutine() != c.caller {
		return c.other()
	}
	if !c.asked {
		c.asked = true
		return nil
	}
	return c.Context.Err()
}

// Once the context is done, no code of the file runs, whether it was done before the call or right after it.
func TestLoad_CancelledRunsNothing(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	probe := must.Get(filepath.Abs(probeSource))(t)
	source := fmt.Sprintf(`#include <stdio.h>
#include "%s"
__attribute__((constructor)) static void start(void) { FILE* f = fopen("%s/ran", "w"); if (f != NULL) fclose(f); }
`, probe, dir)
	require.NoError(t, os.WriteFile(dir+"/start.c", []byte(source), 0o600))
	lib := buildC(t, dir+"/start.c")
	raw := readFile(t, lib)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for name, load := range map[string]func(context.Context) (*runtime.Module, error){
		"file":  func(c context.Context) (*runtime.Module, error) { return runtime.Load(c, lib) },
		"bytes": func(c context.Context) (*runtime.Module, error) { return runtime.LoadBytes(c, raw) },
	} {
		before := goruntime.NumGoroutine()
		late := &lateContext{Context: cancelled, caller: goroutine(), other: cancelled.Err}
		for _, c := range []context.Context{cancelled, late} {
			require.ErrorIs(t, must.Fail(load(c)), context.Canceled, name)
			leaks.Until(func() bool { return goruntime.NumGoroutine() <= before })
			require.NoFileExists(t, dir+"/ran", name)
		}
	}
	m := must.Get(runtime.Load(ctx, lib))(t)
	require.FileExists(t, dir+"/ran", "without cancellation the constructor runs")
	require.NoError(t, m.Close())
}

// After the call has returned, the caller may change the bytes, even if the load has not begun to read them.
func TestLoad_CancelledLeavesBytes(t *testing.T) {
	noLeaks(t)
	payloads := make(chan string, 1)
	kind := moduleKind(t, runtime.ModuleKind{Name: "tvmgo_test_bytes",
		Load: func(p runtime.Payload) (runtime.ModuleImpl, error) {
			payloads <- string(p.Data)
			return &goModule{}, nil
		}})
	lib := withBlob(t, probeSource, modernTree([]entry{{"_lib", nil}, {kind, []byte("x")}}, [][]int{{1}, nil}))
	done, cancel := context.WithCancel(ctx)
	cancel()
	proceed, before := make(chan struct{}), goruntime.NumGoroutine()
	late := &lateContext{Context: done, caller: goroutine(), other: func() error { <-proceed; return nil }}
	require.ErrorIs(t, must.Fail(runtime.LoadBytes(late, lib)), context.Canceled)
	clear(lib)
	close(proceed)
	for goruntime.NumGoroutine() > before {
		goruntime.Gosched()
	}
	select {
	case payload := <-payloads:
		require.Equal(t, "x", payload)
	default:
		t.Fatal("the load did not call the loader")
	}
}

// A module whose load was canceled is closed when it is loaded, not only when the garbage collector finds it.
func TestLoad_CancelledCloses(t *testing.T) {
	noLeaks(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	started, proceed, closed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	kind := moduleKind(t, runtime.ModuleKind{Name: "tvmgo_test_closed",
		Load: func(p runtime.Payload) (runtime.ModuleImpl, error) {
			close(started)
			<-proceed
			return &goModule{closed: func() { close(closed) }}, nil
		}})
	lib := withBlob(t, probeSource, modernTree([]entry{{"_lib", nil}, {kind, []byte("x")}}, [][]int{{1}, nil}))
	cancellable, cancel := context.WithCancel(ctx)
	failed := make(chan error)
	before := goruntime.NumGoroutine()
	go func() {
		_, err := runtime.LoadBytes(cancellable, lib)
		failed <- err
	}()
	<-started
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	close(proceed)
	for goruntime.NumGoroutine() > before {
		goruntime.Gosched()
	}
	select {
	case <-closed:
	default:
		t.Fatal("the module is open still")
	}
}
