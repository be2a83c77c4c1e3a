// Package golden compares results of tests with files in the repository. `go test PACKAGE -update` rewrites the files;
// review the difference before you commit it.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Updating reports whether the test runs with -update.
func Updating() bool { return *update }

// Text compares a text with a file, or rewrites the file.
func Text(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want := must.Get(os.ReadFile(path))(t)
	require.Equal(t, string(want), got, "%s: if this is meant, run the test with -update", path)
}

// Section compares a text with a part of a Markdown file, or rewrites it. The part is between the comments
// <!-- NAME, written by go test -update --> and <!-- NAME: end -->.
func Section(t testing.TB, path, name, got string) {
	t.Helper()
	file := must.Get(os.ReadFile(path))(t)
	begin, end := "<!-- "+name+", written by go test -update -->\n", "<!-- "+name+": end -->"
	head, rest, begun := strings.Cut(string(file), begin)
	_, tail, ended := strings.Cut(rest, end)
	require.True(t, begun && ended, "%s has no lines %q and %q", path, begin, end)
	Text(t, path, head+begin+"\n"+got+"\n"+end+tail)
}
