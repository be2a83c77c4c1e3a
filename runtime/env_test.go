package runtime_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestEnv_ImportsThenGlobals(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			noLeaks(t)
			namedKind(t, nil)
			const name = "tvmgo_test.env"
			says := func(s string) *runtime.Function {
				return goFunction(t, func(...any) (any, error) { return int64(len(s)), nil })
			}
			require.NoError(t, runtime.RegisterGlobal(name, says("1"), false))
			defer runtime.RemoveGlobal(name)
			require.NoError(t, runtime.RegisterGlobal("who", says("global"), false))
			defer runtime.RemoveGlobal("who")

			m := loadBytes(t, withBlob(t, l.source, l.tree([]entry{lib(), l.of("a")}, [][]int{{1}, nil})))
			env := function(t, m, "env")
			require.Equal(t, "a", call(t, env, "who"), "an import has precedence over a global of its name")
			require.Equal(t, int64(1), call(t, env, name))
			_, err := env.Call("context")
			require.ErrorContains(t, err, "Cannot find function context", "not the functions of the library itself")
			require.ErrorContains(t, must.Fail(env.Call("tvmgo_test.nothing")), "tvmgo_test.nothing")

			// A found function is kept as long as the module, even if the name changes its meaning.
			require.NoError(t, runtime.RegisterGlobal(name, says("22"), true))
			require.Equal(t, int64(1), call(t, env, name))
			require.True(t, runtime.RemoveGlobal(name))
			require.Equal(t, int64(1), call(t, env, name))
		})
	}
}

func TestEnv_WithoutImports(t *testing.T) {
	noLeaks(t)
	for _, source := range []string{probeSource, classicSource} {
		env := function(t, modules.Load(t, buildC(t, source)), "env")
		require.ErrorContains(t, must.Fail(env.Call("tvmgo_test.nothing")), "tvmgo_test.nothing")
		require.EqualValues(t, runtime.NumThreads(), call(t, env, "runtime.NumThreads"))
	}
}

// A global function that is one of the module's own does not keep the module alive through its cache.
func TestEnv_GlobalOfTheModuleItself(t *testing.T) {
	noLeaks(t)
	m := modules.Load(t, buildC(t, probeSource))
	const name = "tvmgo_test.own"
	require.NoError(t, runtime.RegisterGlobal(name, function(t, m, "count"), false))
	defer runtime.RemoveGlobal(name)
	require.NotZero(t, call(t, function(t, m, "env"), name))
}

func TestEnv_ManyGoroutinesLookUp(t *testing.T) {
	noLeaks(t)
	namedKind(t, nil)
	m := loadBytes(t, withBlob(t, probeSource, modernTree([]entry{lib(), of("a"), of("b")}, [][]int{{1, 2}, nil, nil})))
	env := function(t, m, "env")
	errs := make(chan error, 16)
	for g := range cap(errs) {
		go func() {
			want := string("ab"[g%2])
			got, err := env.Call(want)
			if err == nil && got != want {
				err = fmt.Errorf("got %v", got)
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
}

// The context slot holds the library's own module, wherever it is in the tree (docs/abi.md C.4).
func TestContextSlot(t *testing.T) {
	for _, l := range layouts {
		for _, c := range []struct {
			name     string
			entries  []entry
			children [][]int
			sees     string // the module whose "who" the library finds; "" if none
		}{
			{"library is the root", []entry{lib(), l.of("a")}, [][]int{{1}, nil}, "a"},
			{"library below the root", []entry{l.of("r"), lib(), l.of("a")}, [][]int{{1, 2}, {2}, nil}, "a"},
			{"library is the last", []entry{l.of("r"), l.of("a"), lib()}, [][]int{{1, 2}, nil, nil}, ""},
			{"no library in the tree", []entry{l.of("r"), l.of("a")}, [][]int{{1}, nil}, "none"},
			{"no tree", []entry{l.of("a"), l.of("b")}, nil, "a"},
		} {
			if c.children == nil && l.name == "modern" {
				continue // a modern blob always has a tree
			}
			t.Run(l.name+"/"+c.name, func(t *testing.T) {
				noLeaks(t)
				namedKind(t, nil)
				m := loadBytes(t, withBlob(t, l.source, l.tree(c.entries, c.children)))
				if c.sees == "none" {
					requireError(t, must.Fail(m.Function("context")), runtime.ErrNotFound)
					require.Equal(t, "r", call(t, function(t, m, "who")))
					return
				}
				require.NotZero(t, call(t, function(t, m, "context")))
				who, err := function(t, m, "env").Call("who")
				if c.sees == "" {
					require.ErrorContains(t, err, "Cannot find function who")
					return
				}
				require.NoError(t, err)
				require.Equal(t, c.sees, who)
			})
		}
	}
}

// Two loads of one file are two modules: each finds its own imports.
func TestContextSlot_TwoLoadsOfOneFile(t *testing.T) {
	noLeaks(t)
	path := buildC(t, probeSource)
	const name = "tvmgo_test.import"
	var mods [2]*runtime.Module
	for i := range mods {
		mods[i] = modules.Load(t, path)
		dep, err := runtime.NewModule("dep", 0, &goModule{functions: map[string]runtime.PackedFunc{
			name: func(...any) (any, error) { return int64(i), nil }}})
		require.NoError(t, err)
		require.NoError(t, mods[i].Import(dep))
		require.NoError(t, dep.Close())
	}
	require.NotEqual(t, call(t, function(t, mods[0], "context")), call(t, function(t, mods[1], "context")))
	for i, m := range mods {
		require.Equal(t, int64(i), call(t, function(t, m, "env"), name))
	}
	require.NoError(t, mods[0].Close())
	require.Equal(t, int64(1), call(t, function(t, mods[1], "env"), name))
}
