//go:build !cuda

package daemon_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// addDevice adds a model on a device that fails, with the tag cuda. The rest of the load needs no tag; on CI, nothing
// is left out.
func (l *load) addDevice(t *testing.T, _ string) {
	require.Empty(t, os.Getenv("CI"), "a device that fails needs the tag cuda")
	t.Log("without the tag cuda, no device fails")
}
