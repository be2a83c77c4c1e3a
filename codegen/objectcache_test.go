package codegen_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/export"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
)

// Objects of a long program come from the cache as long as nothing changes on which they depend. A changed function
// compiles only its own unit again.
func TestObjects_DependOnEverything(t *testing.T) {
	t.Setenv("TVMGO_CACHE_DIR", t.TempDir())
	gcc := filepath.Join(t.TempDir(), "gcc")
	script := func(text string, args ...any) {
		require.NoError(t, os.WriteFile(gcc, []byte(fmt.Sprintf("#!/bin/sh\n"+text+"exec cc \"$@\"\n", args...)), 0o777))
	}
	script("")
	t.Setenv("CC", gcc)
	factor := 1
	compiled := func(target string, options ...export.Option) (anew, cached int) {
		program := manyScales(t, 250)
		if factor != 1 {
			program.Funcs[len(program.Funcs)-1] = scale(t, float32(factor)).Funcs[0]
		}
		var lock sync.Mutex
		report := export.Report(func(file string, _ time.Duration, hit bool) {
			lock.Lock()
			defer lock.Unlock()
			switch {
			case filepath.Ext(file) != ".o":
			case hit:
				cached++
			default:
				anew++
			}
		})
		path := filepath.Join(t.TempDir(), "many.so")
		require.NoError(t, export.Library(context.Background(), built(t, program, kind(t, target)), path,
			append(options, report, export.StaticCheck())...))
		return anew, cached
	}
	all, none := compiled("c")
	require.Greater(t, all, 1)
	require.Zero(t, none)
	again := func(what string, want int, target string, options ...export.Option) {
		t.Helper()
		anew, cached := compiled(target, options...)
		require.Equal(t, want, anew, what)
		require.Equal(t, all, anew+cached, what)
		anew, _ = compiled(target, options...)
		require.Zero(t, anew, "%s, once more", what)
	}
	again("nothing changed", 0, "c")
	again("another processor", all, "c -march="+machine.Oldest())
	again("a further flag", all, "c", export.Flags("-O1"))
	again("a compiler with other arguments", all, "c", export.Compiler(gcc, "-O3"))
	t.Setenv("CPATH", t.TempDir())
	again("other headers", all, "c")
	require.NoError(t, os.Unsetenv("CPATH"))
	again("as at first", 0, "c")
	script("# another version\n")
	again("another compiler at the same path", all, "c")
	later := must.Get(os.Stat(gcc))(t).ModTime().Add(time.Second)
	require.NoError(t, os.Chtimes(gcc, later, later))
	again("a compiler of the same size", all, "c")
	factor = 7
	anew, cached := compiled("c")
	require.Positive(t, anew)
	require.Positive(t, cached, "units of other functions are compiled again")
}
