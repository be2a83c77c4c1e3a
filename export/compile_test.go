package export_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// compileC compiles a C source with the system's compiler.
func compileC(t testing.TB, source, output string, args ...string) {
	t.Helper()
	compileWith(t, needs(t, "cc", "C is compiled"), source, output, args...)
}

func compileWith(t testing.TB, cc, source, output string, args ...string) {
	t.Helper()
	cmd := exec.Command(cc, append([]string{"-x", "c", "-", "-o", output, "-x", "none"}, args...)...)
	cmd.Stdin = strings.NewReader(source)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
