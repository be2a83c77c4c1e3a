package output

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain_WritesWhatIsStale(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) string {
		path = filepath.Join(root, path)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	same, other := write("same.h", "s"), write("other.h", "old")
	render := func(string) (map[string][]byte, error) {
		return map[string][]byte{"same.h": []byte("s"), "other.h": []byte("new"), "dir/more.go": []byte("m")}, nil
	}
	stale, err := Stale(root, render)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(root, "dir/more.go"), other}, stale)

	require.NoError(t, os.Chmod(same, 0o400)) // it is not written again
	Main("test", root, render)
	stale, err = Stale(root, render)
	require.NoError(t, err)
	require.Empty(t, stale)

	wrong := errors.New("wrong")
	_, err = Stale(root, func(string) (map[string][]byte, error) { return nil, wrong })
	require.ErrorIs(t, err, wrong)
}
