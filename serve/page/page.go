package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed assets
var assets embed.FS

// dir is the path below which the page finds its files.
const dir = "/page/"

// types are the media types of the files, by the end of their names. Those of the system may be others.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// headers are those of every answer. The policy lets the page load and ask only what is its own server's, be in no
// frame, and make no HTML of texts.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'",
	"Cache-Control":                "no-cache", // ask each time whether it has changed
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
}

// file is a file of the page.
type file struct {
	name string
	data []byte
	tag  string // of this content, for the header ETag
}

// Owns reports whether Handler answers a path: / and those below /page/. They have no data of the server, so that a
// browser gets them without a token.
func Owns(path string) bool { return path == "/" || strings.HasPrefix(path, dir) }

// Handler answers GET and HEAD of the paths that the page owns; others are not found. It has no state, and any number
// of servers may mount it.
func Handler() http.Handler {
	files, err := load()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		f := files[r.URL.Path]
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		case f == nil:
			http.Error(w, fmt.Sprintf("the page has no file %q: open /", r.URL.Path), http.StatusNotFound)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, fmt.Sprintf("%s %s: the page is only read: use GET", r.Method, r.URL.Path),
				http.StatusMethodNotAllowed)
		default:
			w.Header().Set("Content-Type", types[path.Ext(f.name)])
			w.Header().Set("ETag", f.tag)
			http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(f.data))
		}
	})
}

// load returns the files by their paths.
func load() (map[string]*file, error) {
	list, err := assets.ReadDir("assets")
	if err != nil {
		return nil, fmt.Errorf("list the files of the page: %w", err)
	}
	files := map[string]*file{}
	for _, entry := range list {
		f := &file{name: entry.Name()}
		if f.data, err = assets.ReadFile("assets/" + f.name); err != nil {
			return nil, fmt.Errorf("read a file of the page: %w", err)
		}
		sum := sha256.Sum256(f.data)
		f.tag = `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
		at := dir + f.name
		if f.name == "index.html" {
			at = "/"
		}
		files[at] = f
	}
	return files, nil
}
