package docs

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/page"
	"tvmgo/internal/testing/must"
)

// The README shows the newest result of `make bench-devices`, whose Markdown is that of its JSON.
func TestReadme_NewestResult(t *testing.T) {
	var newest, date string
	for _, path := range must.Get(filepath.Glob("../bench/results/*.json"))(t) {
		// <machine>-<date>.json; results of make bench begin with the date
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		if m := regexp.MustCompile(`^.+-(\d{4}-\d\d-\d\d)$`).FindStringSubmatch(name); m != nil && m[1] >= date {
			newest, date = name, m[1]
		}
	}
	require.NotEmpty(t, newest)
	readme := string(must.Get(os.ReadFile("../README.md"))(t))
	for _, extension := range []string{".md", ".svg"} {
		require.Contains(t, readme, "(bench/results/"+newest+extension+")")
	}
	file := must.Get(os.Open("../bench/results/" + newest + ".json"))(t)
	defer file.Close()
	report := must.Get(bench.Read(file))(t)
	require.Empty(t, report.Ended)
	require.NotEmpty(t, report.Rows)
	var want bytes.Buffer
	require.NoError(t, page.Markdown(&want, report))
	require.Equal(t, want.String(), string(must.Get(os.ReadFile("../bench/results/"+newest+".md"))(t)),
		"tvmgo bench --show bench/results/%s.json -o bench/results/%[1]s.md writes it", newest)
	picture := string(must.Get(os.ReadFile("../bench/results/" + newest + ".svg"))(t))
	require.Contains(t, picture, "<svg")
	require.Contains(t, picture, date)
}
