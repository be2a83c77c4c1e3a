package runtime_test

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// A library that registers itself does so once in a process, however often it is loaded and closed: its registrations
// remain, and its constructors would end the process if they ran again.
func TestCppKernel_RegistersOnce(t *testing.T) {
	for linking, flags := range cppLinkings(t) {
		t.Run(linking, func(t *testing.T) {
			path := cpp(t, "loaded", flags...)
			if !inOwnProcess(t) {
				return
			}
			first := must.Get(runtime.Load(ctx, path))(t)
			require.NoError(t, first.Close())
			noLeaks(t) // apart from what the library has registered
			for range 3 {
				for _, opts := range [][]runtime.LoadOption{nil, {runtime.PrivateCopy()}} {
					m := must.Get(runtime.Load(ctx, path, opts...))(t)
					f := must.Get(m.Function("six_times"))(t)
					require.Equal(t, int64(42), call(t, f, 7))
					require.NoError(t, f.Close())
					require.NoError(t, m.Close())
				}
			}
			require.Equal(t, int64(21), call(t, global(t, "tvmgo.test.triple"), 7), "the library's functions stay")
		})
	}
}

// If many threads load such a library at once, from its file and from its bytes, they share one library of each.
func TestCppKernel_RegistersOnceAmongThreads(t *testing.T) {
	path := cpp(t, "loaded")
	if !inOwnProcess(t) {
		return
	}
	start := make(chan struct{})
	modules := make([]*runtime.Module, 16)
	var done errgroup
	for i := range modules {
		done.Go(func() (err error) {
			<-start
			modules[i], err = runtime.Load(ctx, path)
			return err
		})
	}
	close(start)
	require.NoError(t, done.Wait())
	for _, m := range modules {
		f := must.Get(m.Function("six_times"))(t)
		require.Equal(t, int64(42), call(t, f, 7))
		require.NoError(t, f.Close())
		require.NoError(t, m.Close())
	}
}

func TestCppKernel_RegistersOnceFromBytes(t *testing.T) {
	path := cpp(t, "loaded")
	if !inOwnProcess(t) {
		return
	}
	data := must.Get(os.ReadFile(path))(t)
	var done errgroup
	for range 16 {
		done.Go(func() error {
			m, err := runtime.LoadBytes(ctx, data)
			if err != nil {
				return err
			}
			return m.Close()
		})
	}
	require.NoError(t, done.Wait())
	require.Equal(t, int64(21), call(t, global(t, "tvmgo.test.triple"), 7))
}

// A private copy is unmapped with its last reference, even if it has inline statics of C++: gcc binds those
// STB_GNU_UNIQUE, and glibc never unmaps a library of which it has bound such a name. A copy has its own.
func TestCppKernel_PrivateCopyIsUnmapped(t *testing.T) {
	for linking, flags := range cppLinkings(t) {
		path := cpp(t, "typed", flags...)
		if linking != "plain" {
			require.NotZero(t, uniqueSymbols(t, path), "the library must have unique symbols")
		}
		data := must.Get(os.ReadFile(path))(t)
		mapped := func() int { return strings.Count(readMaps(t), filepath.Base(path)) }
		before := mapped()
		for range 3 {
			m := must.Get(runtime.Load(ctx, path, runtime.PrivateCopy()))(t)
			other := must.Get(runtime.LoadBytes(ctx, data, runtime.Name(filepath.Base(path))))(t)
			for _, m := range []*runtime.Module{m, other} {
				f := must.Get(m.Function("add"))(t)
				require.Equal(t, int64(5), call(t, f, 2, 3))
				require.NoError(t, f.Close())
			}
			require.Greater(t, mapped(), before)
			require.NoError(t, m.Close())
			require.NoError(t, other.Close())
			require.Equal(t, before, mapped(), "linked with %s", linking)
		}
	}
}

func readMaps(t *testing.T) string {
	t.Helper()
	return string(must.Get(os.ReadFile("/proc/self/maps"))(t))
}

// uniqueSymbols counts the definitions that glibc binds once in a process.
func uniqueSymbols(t *testing.T, path string) (n int) {
	t.Helper()
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	symbols := must.Get(f.DynamicSymbols())(t)
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && elf.ST_BIND(s.Info) == 10 { // STB_GNU_UNIQUE
			n++
		}
	}
	return n
}

// errgroup runs functions and keeps their errors.
type errgroup struct {
	wait sync.WaitGroup
	mu   sync.Mutex
	errs []error
}

func (g *errgroup) Go(f func() error) {
	g.wait.Go(func() {
		if err := f(); err != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.errs = append(g.errs, err)
		}
	})
}

func (g *errgroup) Wait() error {
	g.wait.Wait()
	return errors.Join(g.errs...)
}
