//go:build linux

package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

func TestFollow(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755))
	absolute := filepath.Join(dir, "a", "b", "up")
	for link, to := range map[string]string{
		"short": "a/b", "a/b/up": "../file", "absolute": absolute, "loop": "pool", "pool": "loop",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	for _, there := range []bool{false, true} {
		if there {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "file"), nil, 0o600))
		}
		for path, want := range map[string]string{"a/file": "a/file", "short/up": "a/file", "absolute": "a/file"} {
			got := must.Get(Follow(filepath.Join(dir, path)))(t)
			require.Equal(t, filepath.Join(dir, want), got)
		}
	}
	for _, missing := range []string{"", "none", "none/x"} {
		require.Equal(t, missing, must.Get(Follow(missing))(t))
	}
	require.ErrorContains(t, must.Fail(Follow(filepath.Join(dir, "loop"))), "lead back to themselves")

	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	pipe := fmt.Sprintf("/proc/self/fd/%d", w.Fd())
	require.Equal(t, pipe, must.Get(Follow(pipe))(t))
}
