//go:build cuda || opencl

package dl

import (
	"debug/elf"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// child runs one test of this binary in another process, in which no library is open.
func child(t *testing.T, name string, env ...string) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^"+name+"$", "-test.v")
	c.Env = append(append(os.Environ(), "TVMGO_DL_CHILD=1"), env...)
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	if strings.Contains(string(out), "--- SKIP: "+name) {
		t.Skipf("%s", out)
	}
	require.Contains(t, string(out), "--- PASS: "+name)
}

func inChild() bool { return os.Getenv("TVMGO_DL_CHILD") != "" }

// requireHidden checks that this binary is not linked with a library, and does not export functions with its names.
func requireHidden(t *testing.T, library, functions string) {
	t.Helper()
	f := must.Get(elf.Open(os.Args[0]))(t)
	defer f.Close()
	libs := must.Get(f.ImportedLibraries())(t)
	for _, l := range libs {
		require.NotContains(t, l, library)
	}
	names := must.Get(f.DynamicSymbols())(t)
	for _, n := range names {
		require.NotRegexp(t, functions, n.Name, "the functions of *_gen.c are hidden")
	}
}
