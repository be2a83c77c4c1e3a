package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// moreTLS lets a process open both libraries: ld.so's usual reserve for the variables of threads is enough for one, and
// a second dlopen fails with "cannot allocate memory in static TLS block".
const moreTLS = "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384"

// Of two libraries in one process, the second refuses to work, and says so.
func TestSecondLibrary(t *testing.T) {
	l := newLab(t)
	whole, small := l.library(), l.path("lib", runtimeLibrary)
	tree := install(t)
	rpath := "-Wl,-rpath," + l.path("lib")
	opens := l.compile(t, "second_opens", "second_test.c")
	wholeLinked := l.compile(t, "second_whole", "second_test.c", append([]string{"-Wl,--no-as-needed"}, l.linked()...)...)
	smallLinked := l.compile(t, "second_small", "second_test.c", "-Wl,--no-as-needed", "-L"+l.path("lib"),
		"-ltvmgo_runtime", rpath)
	static := l.compile(t, "second_static", "second_test.c", "-rdynamic", "-Wl,--gc-sections", "-Wl,--whole-archive",
		tree+"/lib/libtvmgo_runtime.a", "-Wl,--no-whole-archive", "-lpthread", "-ldl", "-lm")
	for _, c := range [][]string{
		{opens, whole, small}, {opens, small, whole}, {wholeLinked, "-", small}, {smallLinked, "-", whole},
		{static, "-", whole}, {static, "-", small},
	} {
		r := l.run(t, []string{moreTLS}, c...)
		require.True(t, r.ok, "%v\n%s", c, r.out)
	}
	// The same library twice is one library.
	r := l.run(t, []string{moreTLS}, opens, whole, whole)
	require.False(t, r.ok)
	require.Contains(t, r.out, "== -1")
}
