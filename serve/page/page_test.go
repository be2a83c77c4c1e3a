package page_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/serve/page"
)

// get answers a request.
func get(method, path string, header ...string) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	page.Handler().ServeHTTP(w, r)
	return w.Result()
}

func TestHandler_Files(t *testing.T) {
	types := map[string]string{".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
		".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	tags := map[string]bool{}
	for _, entry := range must.Get(os.ReadDir("assets"))(t) {
		path := "/page/" + entry.Name()
		if entry.Name() == "index.html" {
			path = "/"
		}
		require.True(t, page.Owns(path))
		want := must.Get(os.ReadFile(filepath.Join("assets", entry.Name())))(t)
		answer := get("GET", path)
		require.Equal(t, 200, answer.StatusCode, path)
		require.Equal(t, string(want), string(must.Get(io.ReadAll(answer.Body))(t)), path)
		require.Equal(t, types[filepath.Ext(entry.Name())], answer.Header.Get("Content-Type"), path)

		tag := answer.Header.Get("ETag")
		require.Regexp(t, `^"[\w-]{16}"$`, tag, path)
		require.False(t, tags[tag], "every content has its own tag")
		tags[tag] = true
		same := get("GET", path, "If-None-Match", tag)
		require.Equal(t, 304, same.StatusCode, path)
		require.Empty(t, must.Get(io.ReadAll(same.Body))(t), path)
		require.Equal(t, 200, get("GET", path, "If-None-Match", `"other"`).StatusCode, path)

		head := get("HEAD", path)
		require.Equal(t, 200, head.StatusCode, path)
		require.Equal(t, int64(len(want)), head.ContentLength, path)
		require.Empty(t, must.Get(io.ReadAll(head.Body))(t), path)
	}
	require.Greater(t, len(tags), 5)
}

// Errors have the headers, too: a browser shows their texts.
func TestHandler_Headers(t *testing.T) {
	for _, c := range []struct {
		method, path string
		status       int
		text         string
	}{
		{"GET", "/", 200, "<!doctype html>"},
		{"GET", "/page/app.js", 200, "import"},
		{"GET", "/page/", 404, `the page has no file "/page/": open /`},
		{"GET", "/page/index.html", 404, "the page has no file"},
		{"GET", "/page/../page.go", 404, "the page has no file"},
		{"GET", "/page/<b>", 404, `the page has no file "/page/<b>"`},
		{"GET", "/other", 404, "the page has no file"},
		{"POST", "/", 405, "POST /: the page is only read: use GET"},
		{"DELETE", "/page/app.js", 405, "DELETE /page/app.js: the page is only read"},
	} {
		answer := get(c.method, c.path)
		require.Equal(t, c.status, answer.StatusCode, c.path)
		require.Contains(t, string(must.Get(io.ReadAll(answer.Body))(t)), c.text)
		h := answer.Header
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), c.path)
		require.Equal(t, "no-referrer", h.Get("Referrer-Policy"), c.path)
		require.Equal(t, "same-origin", h.Get("Cross-Origin-Opener-Policy"), c.path)
		require.Equal(t, "same-origin", h.Get("Cross-Origin-Resource-Policy"), c.path)
		policy := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
			"form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
			require.Contains(t, policy, part, c.path)
		}
		for _, part := range []string{"unsafe", "http", "*", "data:", "blob:"} {
			require.NotContains(t, policy, part, c.path)
		}
		if c.status == 200 {
			require.Equal(t, "no-cache", h.Get("Cache-Control"), c.path)
		} else {
			require.Equal(t, "text/plain; charset=utf-8", h.Get("Content-Type"), c.path)
		}
		if c.status == 405 {
			require.Equal(t, "GET, HEAD", h.Get("Allow"))
		}
	}
}

func TestOwns(t *testing.T) {
	for path, want := range map[string]bool{"/": true, "/page/app.js": true, "/page/": true, "/page": false, "": false,
		"/v2": false, "/v2/status": false, "/metrics": false, "/pages/x": false, "/v2/page/app.js": false} {
		require.Equal(t, want, page.Owns(path), path)
	}
}

// Everything that the files name is one of them, or of the server's: nothing is elsewhere, and no script is inline.
func TestAssets_NameOnlyTheServer(t *testing.T) {
	index := string(must.Get(os.ReadFile("assets/index.html"))(t))
	links := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(index, -1)
	require.Greater(t, len(links), 3)
	for _, link := range links {
		if file, below := strings.CutPrefix(link[1], "page/"); below {
			require.FileExists(t, filepath.Join("assets", file))
		} else {
			require.Regexp(t, `^(#[a-z]+|v2/status)$`, link[1])
		}
	}
	require.NotRegexp(t, `<script(>|[^>]*>[^<])| style=| on[a-z]+=`, index)
	for _, entry := range must.Get(os.ReadDir("assets"))(t) {
		text := string(must.Get(os.ReadFile(filepath.Join("assets", entry.Name())))(t))
		text = strings.ReplaceAll(text, "http://www.w3.org/2000/svg", "")
		require.NotRegexp(t, `//[a-z]+\.|@import|\burl\(`, text, entry.Name())
		require.NotRegexp(t, `innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser`, text)
		for _, from := range regexp.MustCompile(`from "\./([^"]*)"`).FindAllStringSubmatch(text, -1) {
			require.FileExists(t, filepath.Join("assets", from[1]))
		}
	}
}
