//go:build linux

package atomicfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

func newSet(t *testing.T, dir string) *Set {
	t.Helper()
	root := must.Open(os.OpenRoot(dir))(t)
	return must.Get(NewSet(root))(t)
}

func TestSet(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("old"), 0o600))
	require.NoError(t, os.WriteFile(other, []byte("mine"), 0o600))
	require.NoError(t, os.Symlink(other, filepath.Join(dir, "b")))
	s := newSet(t, dir)
	require.NoError(t, s.Write("b", [][]byte{[]byte("1"), []byte("2")}))
	require.NoError(t, s.Write("a", nil))
	require.Equal(t, []string{"b", "a"}, s.Names())
	require.Equal(t, "12", content(t, dir, s.stage, "b"))
	require.Equal(t, "old", content(t, dir, "a"))
	require.Empty(t, must.Get(s.Commit())(t))
	s.Discard()
	require.Equal(t, []string{"a", "b"}, names(t, dir))
	require.Equal(t, "12", content(t, dir, "b"))
	require.Empty(t, content(t, dir, "a"))
	require.Equal(t, "mine", content(t, other), "a link is replaced")
}

// A file is written once, and only inside the folder; without Commit it is removed.
func TestSet_Discard(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "out")
	require.NoError(t, os.Mkdir(dir, 0o755))
	s := newSet(t, dir)
	require.NoError(t, s.Write("a", nil))
	require.Equal(t, syscall.EEXIST, s.Write("a", nil))
	require.Error(t, s.Write("../b", nil))
	require.Error(t, s.Write("../../b", nil))
	require.Equal(t, []string{"a"}, s.Names())
	other := newSet(t, dir)
	require.Len(t, names(t, dir), 2)
	other.Discard()
	s.Discard()
	require.Empty(t, names(t, dir))
	require.Equal(t, []string{"out"}, names(t, outer))
}

// If a file cannot be moved to the folder, those moved before it are removed.
func TestSet_HalfCommitted(t *testing.T) {
	dir := t.TempDir()
	s := newSet(t, dir)
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, s.Write(name, nil))
	}
	require.NoError(t, s.root.Remove(s.stage+"/b"))
	failed, err := s.Commit()
	require.Equal(t, "b", failed)
	require.Equal(t, syscall.ENOENT, err)
	s.Discard()
	require.Empty(t, names(t, dir))
}

func TestNewSet_Fails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	require.NoError(t, os.Mkdir(dir, 0o755))
	root := must.Open(os.OpenRoot(dir))(t)

	// The hidden folder can be made but not opened: there is no free file descriptor.
	next := must.Get(os.Open(dir))(t)
	free := next.Fd()
	next.Close()
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	limit := syscall.Rlimit{Cur: uint64(free), Max: before.Max}
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	_, err := NewSet(root)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before))
	require.Equal(t, syscall.EMFILE, err)
	require.Empty(t, names(t, dir))

	require.NoError(t, os.Remove(dir))
	_, err = NewSet(root)
	require.Equal(t, syscall.ENOENT, err)
}
