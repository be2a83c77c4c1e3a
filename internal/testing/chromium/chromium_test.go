package chromium

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A page that does what it should not do is noticed.
func TestTab(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(`<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>T</title>
			<style>p { color: #777; background: #fff } @media (prefers-color-scheme: dark) { h1 { color: #fff } }</style>
			<h1>Title</h1><p>pale</p><button aria-label=" Name "></button>`))
	}))
	t.Cleanup(s.Close)
	b := Open(t, Start(t), s.URL, func(url string) bool { return strings.HasPrefix(url, s.URL) || url == "data:," },
		Scheme("dark"))
	b.Quiet("a good page")
	require.Equal(t, 3, Eval[int](b, `Promise.resolve(3)`))
	require.Equal(t, "rgb(255, 255, 255)", Eval[string](b, `getComputedStyle(document.querySelector("h1")).color`))
	require.Contains(t, b.Accessible(), Node{"button", "Name"})
	c := Contrasts(b)
	require.Equal(t, []string{"1.00 Title", "4.48 pale"}, c.Found)
	require.Equal(t, 2, c.Texts)

	for script, want := range map[string]string{
		`console.warn("x")`:          "console warning",
		`throw new Error("broken")`:  "broken",
		`fetch("/missing")`:          "log Failed to load resource: the server responded with a status of 404",
		`fetch("https://x.invalid")`: "request https://x.invalid/",
	} {
		Eval[any](b, `setTimeout(() => { `+script+` }), null`)
		all := ""
		for all == "" || !strings.Contains(all, want) {
			b.Await(`true`)
			all += strings.Join(b.Notes(), "\n")
		}
	}
}
