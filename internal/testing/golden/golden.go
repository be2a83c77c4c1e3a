// Package golden compares results of tests with files in the repository. `go test PACKAGE -update` rewrites the files;
// review the difference before you commit it.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
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

// Near compares a text with a file as Text does, except for numbers that vary: the first group of each match of varies
// may differ from the file by at most slack.
func Near(t testing.TB, path, got string, varies *regexp.Regexp, slack int) {
	t.Helper()
	if !*update {
		got = settled(string(must.Get(os.ReadFile(path))(t)), got, varies, slack)
	}
	Text(t, path, got)
}

// settled returns got with the numbers of want in place of those that are within slack of them.
func settled(want, got string, varies *regexp.Regexp, slack int) string {
	wants, gots := varies.FindAllStringSubmatch(want, -1), varies.FindAllStringSubmatchIndex(got, -1)
	var b strings.Builder
	end := 0
	for i := range min(len(wants), len(gots)) {
		number := got[gots[i][2]:gots[i][3]]
		w, err := strconv.Atoi(strings.TrimSpace(wants[i][1]))
		g, err2 := strconv.Atoi(strings.TrimSpace(number))
		if err == nil && err2 == nil && max(w-g, g-w) <= slack {
			number = wants[i][1]
		}
		b.WriteString(got[end:gots[i][2]] + number)
		end = gots[i][3]
	}
	return b.String() + got[end:]
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
