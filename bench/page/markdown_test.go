package page_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/page"
)

func markdown(t *testing.T, r *bench.Report) string {
	var b bytes.Buffer
	require.NoError(t, page.Markdown(&b, r))
	return b.String()
}

func TestMarkdown_Golden(t *testing.T) {
	golden(t, "example.golden.md", []byte(markdown(t, example())))
	golden(t, "hostile.golden.md", []byte(markdown(t, hostile())))
}

var unescapedBar = regexp.MustCompile(`(^|[^\\])\|`)

// Every table has as many cells in each row as its head, a blank line before it, and no HTML but footnotes' numbers.
func TestMarkdown_TablesAreValid(t *testing.T) {
	tags := regexp.MustCompile(`</?sup>`)
	for name, r := range edges() {
		before, cells := "", 0
		for l := range strings.Lines(markdown(t, r)) {
			l = strings.TrimSuffix(l, "\n")
			require.NotContains(t, tags.ReplaceAllString(l, ""), "<", name)
			if n := len(unescapedBar.FindAllString(l, -1)); !strings.HasPrefix(l, "|") {
				require.Zero(t, n, "%s: %q", name, l)
				cells = 0
			} else if cells == 0 {
				require.Empty(t, before, "%s: %q", name, l)
				cells = n
			} else {
				require.Equal(t, cells, n, "%s: %q", name, l)
			}
			before = l
		}
	}
}
