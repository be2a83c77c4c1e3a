package graph_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/signing"
	"tvmgo/runtime"
)

// A graph in a JSON file needs a signature, and so does the library beside it.
func TestWithTrust_JSONFile(t *testing.T) {
	noLeaks(t)
	m := loadMLP(t)
	dir := t.TempDir()
	path, library := filepath.Join(dir, "m.json"), filepath.Join(dir, "m.so")
	require.NoError(t, os.WriteFile(path, []byte(call(t, m.Module, "get_graph_json").(string)), 0o644))
	require.NoError(t, os.WriteFile(library, must.Get(os.ReadFile(artifacts+"graph_mlp.so"))(t), 0o644))
	key := signing.NewKey(t)
	for _, missing := range []string{path, library} {
		err := must.Fail(runtime.Load(ctx, path, runtime.WithTrust(key.Public())))
		require.ErrorIs(t, err, runtime.ErrUntrusted)
		require.ErrorContains(t, err, "load graph "+path)
		require.ErrorContains(t, err, "it is not signed: there is no "+missing+".minisig")
		signing.Sign(t, key, missing)
	}
	require.Equal(t, "GraphExecutorFactory", modules.Load(t, path, runtime.WithTrust(key.Public())).Kind())
}
