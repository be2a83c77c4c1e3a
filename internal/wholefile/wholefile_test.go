package wholefile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, text := range []string{"new", "replaced"} {
		require.NoError(t, Write(path, []byte(text)))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(data))
		require.Equal(t, []string{"f"}, names(t, dir))
	}
	long := filepath.Join(dir, strings.Repeat("n", 255)) // as long as a name can be
	for range 2 {
		require.NoError(t, Write(long, nil))
	}
}

// Nobody sees a file before it is whole, not even who looks after this process was killed.
func TestCreate_HasNoName(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(filepath.Join(dir, "f"))
	require.NoError(t, err)
	_, err = f.WriteString("half")
	require.NoError(t, err)
	if f.temp != "" {
		t.Skip("this file system has no nameless files")
	}
	require.Empty(t, names(t, dir))
	f.Discard()
	require.Empty(t, names(t, dir))
}

// The other way, for file systems that have no nameless files, comes to the same.
func TestPublish_WithAName(t *testing.T) {
	for _, old := range []bool{false, true} {
		dir := t.TempDir()
		f := &File{path: filepath.Join(dir, "f")}
		if old {
			require.NoError(t, os.WriteFile(f.path, []byte("old"), 0o600))
		}
		var err error
		f.temp, err = beside(f.path, func(name string) error {
			f.File, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
			return err
		})
		require.NoError(t, err)
		require.NoError(t, f.Publish(0o640))
		require.Equal(t, []string{"f"}, names(t, dir))
		info, err := os.Stat(f.path)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o640), info.Mode().Perm())
	}
}

func TestPublish_Fails(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "folder", "in"), 0o755))
	require.Error(t, Write(filepath.Join(dir, "folder"), []byte("x")))
	require.Equal(t, []string{"folder"}, names(t, dir))
	require.ErrorIs(t, Write(filepath.Join(dir, "none", "f"), nil), fs.ErrNotExist)
}

// A link stays, and what it leads to is written; also through a link that leads to nothing yet.
func TestWrite_FollowsLinks(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	link, real := filepath.Join(dir, "link"), filepath.Join(other, "real")
	require.NoError(t, os.Symlink(real, link))
	for _, text := range []string{"made", "replaced"} {
		require.NoError(t, Write(link, []byte(text)))
		data, err := os.ReadFile(real)
		require.NoError(t, err)
		require.Equal(t, text, string(data))
		to, err := os.Readlink(link)
		require.NoError(t, err)
		require.Equal(t, real, to)
	}
}
