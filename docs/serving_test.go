package docs

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// The guide to the server has each metric, flag, setting and path that the code has, and no other metric, flag or
// setting.
func TestServing_HasWhatThereIs(t *testing.T) {
	guide := string(must.Get(os.ReadFile("serving.md"))(t))
	find := func(text, pattern string) (found []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			found = append(found, m[1])
		}
		require.NotEmpty(t, found, pattern)
		slices.Sort(found)
		return slices.Compact(found)
	}
	_, table, _ := strings.Cut(guide, "| Setting |")
	table, _, _ = strings.Cut(table, "\n\n")
	var first string // column
	for row := range strings.SplitSeq(table, "\n|") {
		cell, _, _ := strings.Cut(row, "|")
		first += cell
	}
	for _, c := range []struct{ file, code, text, guide string }{
		{"../serve/metrics.go", `"(tvmgo_\w+)"`, guide, "`(tvmgo_\\w+)`"},
		{"../cmd/tvmgo/serve.go", `Var\(&[^,]+, "([a-z-]+)"`, guide, "`--([a-z-]+)"},
		{"../serve/options.go", `json:"(\w+)`, first, "`(\\w+)`"},
	} {
		code := string(must.Get(os.ReadFile(c.file))(t))
		require.Equal(t, find(code, c.code), find(c.text, c.guide), c.file)
	}
	handlers := string(must.Get(os.ReadFile("../serve/http.go"))(t))
	for _, path := range find(handlers, `"(?:GET|POST) (/[\w/{}]*[\w}])"`) {
		require.Contains(t, guide, strings.ReplaceAll(path, "{model}", "NAME"))
	}
	for _, path := range find(handlers, `model\+"(/\w+)"`) {
		require.Contains(t, guide, "/v2/models/NAME"+path)
	}
}
