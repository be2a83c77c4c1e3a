package main_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/golden"
)

var hostOnce sync.Once

// dlopenHost is the program dlopen_test.c, which is not linked with the library.
func dlopenHost(t *testing.T) string {
	t.Helper()
	l := newLab(t)
	hostOnce.Do(func() { l.compile(t, "dlopen_test", "dlopen_test.c", "-ldl") })
	return l.path("bin", "dlopen_test")
}

// The first call from C must not depend on the progress of Go's initialization, so each process makes only one.
func TestHost_FirstCallFindsEveryBuiltin(t *testing.T) {
	const processes = 20 // of each kind
	l, host := newLab(t), dlopenHost(t)
	var want []string
	for range processes {
		r := l.run(t, nil, host, l.library(), "globals", l.carrier())
		require.True(t, r.ok, r.out)
		names := strings.Fields(r.out)
		if want == nil {
			golden.Text(t, "testdata/globals.txt", strings.Join(names, "\n")+"\n")
			want = names
		}
		require.Equal(t, want, names)
	}
	for range processes {
		l.runOK(t, nil, append([]string{host, l.library(), "lookup"}, want...)...)
	}
}

// Functions about targets are not listed before the first use of one, and the first call finds each by its name.
func TestHost_FirstCallFindsTargets(t *testing.T) {
	t.Parallel()
	l, host := newLab(t), dlopenHost(t)
	require.NotContains(t, l.run(t, nil, host, l.library(), "globals", l.carrier()).out, "target.")
	for _, name := range []string{"target.Target", "target.TargetCurrent", "target.build.llvm"} {
		l.runOK(t, nil, host, l.library(), "lookup", name)
	}
}

func TestHost_OpensLibraryLocally(t *testing.T) {
	t.Parallel()
	l, host := newLab(t), dlopenHost(t)
	for _, file := range []string{l.modern("multi_c"), l.modern("multi_llvm"), l.classic("multi_llvm"),
		l.modern("multi_c_now")} {
		for _, env := range [][]string{nil, {"LD_BIND_NOW=1"}, {"TVMGO_PRIVATE_LOAD=1"}} {
			l.runOK(t, env, host, l.library(), "vadd", file)
		}
	}
}

func TestHost_LeavesWhileThreadsWork(t *testing.T) {
	t.Parallel()
	l, host := newLab(t), dlopenHost(t)
	for range 6 {
		for _, file := range []string{l.modern("multi_c"), l.classic("addone_llvm")} {
			r := l.run(t, nil, host, l.library(), "exit", file)
			require.True(t, r.ok, r.out)
		}
	}
}

func TestHammer(t *testing.T) {
	l := newLab(t)
	program := l.compile(t, "hammer_test", "hammer_test.c", l.linked()...)
	for _, env := range [][]string{nil, {"TVMGO_PRIVATE_LOAD=1"}} {
		l.runOK(t, env, append([]string{program, l.carrier()}, l.computing()...)...)
	}
}
