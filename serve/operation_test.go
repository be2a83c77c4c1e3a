package serve

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A client that does not wait until a model is unloaded takes no answer from other clients.
func TestUnload_AnswersWhatWasAccepted(t *testing.T) {
	b := newBlocked()
	s, url := start(t, nil, b.before)
	var all sync.WaitGroup
	for x := range 3 {
		all.Go(func() {
			if got := post(t, url+infer, body(x)); got.status != http.StatusOK {
				t.Errorf("%d: %v", x, got)
			}
		})
	}
	<-b.called
	require.Eventually(t, func() bool { return s.Status().Models[0].Queue == 2 }, time.Minute, time.Millisecond)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	unloaded := make(chan error)
	go func() { unloaded <- s.Unload(gone, "affine") }()
	require.Eventually(t, func() bool { return s.Index(false)[0].State != stateReady }, time.Minute, time.Millisecond)
	require.Equal(t, http.StatusServiceUnavailable, post(t, url+infer, body(4)).status)
	close(b.free)
	all.Wait()
	require.ErrorIs(t, <-unloaded, context.Canceled)
	require.Equal(t, stateUnavailable, s.Index(false)[0].State)
	require.NoError(t, s.Unload(t.Context(), "affine"), "again")
	require.NoError(t, s.Load(t.Context(), "affine"))
	require.Equal(t, 4.0, post(t, url+infer, body(1)).first(t))
}

// deadlines is a response that remembers when it must be written.
type deadlines struct {
	*httptest.ResponseRecorder
	write time.Time
}

func (d *deadlines) SetReadDeadline(time.Time) error    { return nil }
func (d *deadlines) SetWriteDeadline(t time.Time) error { d.write = t; return nil }

// lateBody is the body of a request that calls a function before it is read.
type lateBody struct {
	*strings.Reader
	read func()
}

func (l *lateBody) Read(p []byte) (int, error) { l.read(); return l.Reader.Read(p) }

// The time to write a response is its own: that of an earlier request on the connection has no effect.
func TestLimits_TimeOfEachResponse(t *testing.T) {
	s, _ := start(t, nil)
	handler := s.Handler()
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{http.MethodGet, "/v2", "", http.StatusOK},
		{http.MethodGet, "/metrics", "", http.StatusOK},
		{http.MethodGet, "/v2/models/none", "", http.StatusNotFound},
		{http.MethodPost, infer, body(1), http.StatusOK},
		{http.MethodPost, infer, "{", http.StatusBadRequest},
	} {
		before := time.Now()
		w := &deadlines{httptest.NewRecorder(), before.Add(-time.Hour)} // of the request before it
		in := &lateBody{strings.NewReader(c.body), func() {
			require.Zero(t, w.write, "%s: a deadline while the request is read and computed", c.path)
		}}
		r := httptest.NewRequest(c.method, c.path, in)
		r.ContentLength = int64(len(c.body))
		handler.ServeHTTP(w, r)
		require.Equal(t, c.status, w.Code, c.path)
		require.False(t, w.write.Before(before.Add(defaultTime)), "%s: %v", c.path, w.write)
	}
}

// Folders without a library are served, as their models may come later, but not without a word.
func TestNew_EmptyFolder(t *testing.T) {
	var text bytes.Buffer
	dir := t.TempDir()
	s, url := start(t, func(o *Options) { o.Models, o.Logger = []string{dir}, slog.New(slog.NewTextHandler(&text, nil)) })
	require.Contains(t, text.String(), `level=WARN msg="there is no model: put a library into a folder that is served" `+
		"folders=["+dir+"] watched=false")
	require.NoError(t, os.Link(library, filepath.Join(dir, "affine.so")))
	require.NoError(t, s.Load(t.Context(), "affine"))
	require.Equal(t, 4.0, post(t, url+infer, body(1)).first(t))
}
