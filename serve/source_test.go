package serve

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/servetest"
)

// A folder with a name has one library, whose file may have any name, and another one after a new start or load.
func TestSource_NamedFolder(t *testing.T) {
	dir := t.TempDir()
	options := Options{Models: []string{"scores=" + dir}, Logger: slog.New(slog.DiscardHandler)}
	_, err := New(t.Context(), options)
	require.ErrorContains(t, err, `model "scores": `+dir+" has 0 libraries (.so, .tar, .o): want one")

	servetest.Affine(t, filepath.Join(dir, "model.so"), 3, 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.json"), []byte(`{"max_batch": 4}`), 0o600))
	s, url := start(t, func(o *Options) { o.Models = options.Models })
	require.Equal(t, 4.0, post(t, url+"/v2/models/scores/infer", body(1)).first(t))
	require.Equal(t, 404, get(t, url+"/v2/models/model").status)
	require.Equal(t, 4, s.all()[0].current.Load().options.MaxBatch)

	servetest.Affine(t, filepath.Join(dir, "second.so"), 5, 2)
	require.ErrorContains(t, s.Reload(t.Context()), `model "scores": `+dir+" has 2 libraries")
	require.Equal(t, 4.0, post(t, url+"/v2/models/scores/infer", body(1)).first(t))
	_, err = New(t.Context(), options)
	require.ErrorContains(t, err, "without scores=, each is a model")

	require.NoError(t, os.Remove(filepath.Join(dir, "model.so")))
	require.NoError(t, s.Reload(t.Context()))
	require.Equal(t, 7.0, post(t, url+"/v2/models/scores/infer", body(1)).first(t))
}
