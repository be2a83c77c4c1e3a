package needscgo_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// Without cgo the build fails first with what is missing.
func TestBuildWithoutCgo(t *testing.T) {
	cmd := exec.Command("go", "build", "tvmgo/runtime")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "tvmgo/runtime needs cgo: set CGO_ENABLED=1 and install a C compiler")
	require.NotContains(t, string(out), "undefined: AttrKind")
}
