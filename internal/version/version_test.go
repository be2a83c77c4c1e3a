package version

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// make, pkg-config and CMake read the version from the same file.
func TestNumber(t *testing.T) {
	require.Regexp(t, `^[0-9]+\.[0-9]+\.[0-9]+$`, Number())
	require.Equal(t, "tvmgo "+Number(), Builder())
	makefile := must.Get(os.ReadFile("../../Makefile"))(t)
	require.Contains(t, string(makefile), "\nVERSION := $(shell cat internal/version/VERSION)\n")
}
