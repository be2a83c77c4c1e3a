package outfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// number writes the number of the file.
func number(i int, w io.Writer) error {
	_, err := fmt.Fprint(w, i)
	return err
}

// What cannot be written is an error before any work is done, and nothing is left behind.
func TestNew(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{
		"-":                               "write -: standard output is for messages: name a file",
		dir:                               "it is a directory: name a file in it",
		os.DevNull:                        "write /dev/null: not a regular file: name one",
		filepath.Join(dir, "none", "one"): "none/one: there is no such folder: create it",
	} {
		require.ErrorContains(t, must.Fail(New([]string{filepath.Join(dir, "first"), name})), want)
	}
	kept := filepath.Join(dir, "kept")
	require.NoError(t, os.WriteFile(kept, []byte("old"), 0o644))
	must.Get(New([]string{kept, filepath.Join(dir, "new")}))(t)
	require.Equal(t, "old", string(must.Get(os.ReadFile(kept))(t)))
	require.Len(t, must.Get(os.ReadDir(dir))(t), 1)
}

// Files get their own contents. They appear together or not at all: an existing file keeps its contents.
func TestWriteEach(t *testing.T) {
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "one"), filepath.Join(dir, "two")}
	files := must.Get(New(paths))(t)
	require.NoError(t, files.WriteEach(number))
	for i, path := range paths {
		require.Equal(t, fmt.Sprint(i), string(must.Get(os.ReadFile(path))(t)))
	}
	err := files.WriteEach(func(i int, w io.Writer) error {
		if i == 1 {
			return errors.New("no more numbers")
		}
		return number(7, w)
	})
	require.ErrorContains(t, err, "two: no more numbers")
	require.Equal(t, "0", string(must.Get(os.ReadFile(paths[0]))(t)))
	require.Len(t, must.Get(os.ReadDir(dir))(t), len(paths))
}

// A folder that vanishes after New is an error, and the file beside it does not appear.
func TestWriteEach_FolderVanishes(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "sub", "two")
	require.NoError(t, os.Mkdir(filepath.Dir(two), 0o755))
	files := must.Get(New([]string{one, two}))(t)
	require.NoError(t, os.Remove(filepath.Dir(two)))
	require.ErrorContains(t, files.WriteEach(number), "two: there is no such folder")
	require.Empty(t, must.Get(os.ReadDir(dir))(t))
}

// If the path is a symbolic link, the file that it points to is replaced, and not the link.
func TestWriteEach_FollowsLinks(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(target, nil, 0o644))
	require.NoError(t, os.Symlink(target, link))
	files := must.Get(New([]string{link}))(t)
	require.NoError(t, files.WriteEach(number))
	info := must.Get(os.Lstat(link))(t)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	require.Equal(t, "0", string(must.Get(os.ReadFile(target))(t)))
	require.ErrorContains(t, must.Fail(New([]string{link, target})), "named twice")
}
