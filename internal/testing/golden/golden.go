// Package golden compares results of tests with files in the repository. `go test PACKAGE -update` writes the files
// anew; review the difference before you commit it.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Updating reports whether the test is run to write its files anew.
func Updating() bool { return *update }

// Text compares a text with the file at a path, or writes it there.
func Text(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "%s: if this is meant, run the test with -update", path)
}
