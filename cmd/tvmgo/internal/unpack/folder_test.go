package unpack

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

var anyLibrary = filepath.Join(artifacts, "classic/gpu_cuda.so")

func content(t *testing.T, path ...string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(filepath.Join(path...)))(t))
}

func TestUnpack_FoldersThatAreRefused(t *testing.T) {
	outer := t.TempDir()
	join := func(name string) string { return filepath.Join(outer, name) }
	require.NoError(t, os.WriteFile(join("file"), []byte("mine"), 0o644))
	require.NoError(t, os.Mkdir(join("full"), 0o755))
	require.NoError(t, os.WriteFile(join("full/.hidden"), nil, 0o644))
	require.NoError(t, os.Symlink("nowhere", join("dangling")))
	for _, c := range []struct {
		dir   string
		force bool
		want  string
	}{
		{join("none/out"), false, "there is no such folder: create the one around it"},
		{join("file"), false, "not a folder: choose a new or empty one"},
		{join("file"), true, "not a folder"},
		{join("dangling"), true, "a link to nothing"},
		{join("full"), false, `not empty (it has ".hidden"): choose a new or empty folder, or give --force`},
		{"/proc/tvmgo", false, "create the one around it"},
	} {
		_, err := Unpack(t.Context(), anyLibrary, c.dir, c.force)
		require.ErrorContains(t, err, "unpack to "+c.dir+": ")
		require.ErrorContains(t, err, c.want)
	}
	require.Equal(t, "mine", content(t, join("file")))
	require.Len(t, must.Get(os.ReadDir(join("full")))(t), 1)
	require.ErrorContains(t, must.Fail(Unpack(t.Context(), join("nothing.so"), join("new"), false)), "no such file")
	require.NoDirExists(t, join("new"), "a file that can't be read makes no folder")
}

func TestUnpack_ReadOnlyFolder(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("the superuser may write anywhere: run the tests as another user")
	}
	outer := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(outer, "out"), 0o755))
	require.NoError(t, os.Chmod(filepath.Join(outer, "out"), 0o555))
	require.NoError(t, os.Chmod(outer, 0o555))
	defer os.Chmod(outer, 0o755)
	for _, name := range []string{"out", "new"} {
		_, err := Unpack(t.Context(), anyLibrary, filepath.Join(outer, name), false)
		require.ErrorContains(t, err, "permission denied: choose a folder that you may write to")
	}
}

// An error about the folder names it once and has a remedy.
func TestFolder_Cures(t *testing.T) {
	f := &folder{path: "out"}
	for _, c := range []struct {
		cause error
		want  string
	}{
		{syscall.EACCES, "to out: permission denied: choose a folder that you may write to"},
		{syscall.EROFS, "to out: read-only file system: choose a folder that you may write to"},
		{syscall.ENOSPC, "to out: no space left on device: free some space or choose a folder on another disk"},
		{syscall.EIO, "to out: input/output error"},
	} {
		require.EqualError(t, f.failed(&fs.PathError{Op: "mkdir", Path: "out", Err: c.cause}), c.want)
	}
}

// With force, files with the same names are replaced, and links without being followed. Other files stay.
func TestUnpack_Force(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "out")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(outer, "precious"), []byte("mine"), 0o644))
	require.NoError(t, os.Symlink("../precious", filepath.Join(dir, TreeFile)))
	require.NoError(t, os.Symlink(filepath.Join(outer, "precious"), filepath.Join(dir, "1.cuda.ptx")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, BlobFile), make([]byte, 1<<20), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other"), []byte("stays"), 0o644))

	must.Get(Unpack(t.Context(), anyLibrary, dir, true))(t)
	require.Equal(t, "mine", content(t, outer, "precious"))
	require.Equal(t, "stays", content(t, dir, "other"))
	require.NoError(t, os.Remove(filepath.Join(dir, "other")))
	requireWhole(t, dir)

	_, err := Unpack(t.Context(), anyLibrary, dir, true) // over itself
	require.NoError(t, err)
	requireWhole(t, dir)
}

// Files that cannot be replaced are found before any is replaced.
func TestUnpack_ForceStopsBeforeItReplaces(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "1.cuda.ptx"), []byte("old"), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(dir, TreeFile), 0o755))
	_, err := Unpack(t.Context(), anyLibrary, dir, true)
	require.ErrorContains(t, err, "tree.json: a folder has the name of a file")
	require.Equal(t, "old", content(t, dir, "1.cuda.ptx"))
	require.NoError(t, os.Remove(filepath.Join(dir, TreeFile)))

	library := content(t, anyLibrary)
	require.NoError(t, os.WriteFile(filepath.Join(dir, BlobFile), []byte(library), 0o644))
	_, err = Unpack(t.Context(), filepath.Join(dir, BlobFile), dir, true)
	require.ErrorContains(t, err, "library.bin: it is the library that is unpacked")
	require.Equal(t, library, content(t, dir, BlobFile))
	require.Equal(t, "old", content(t, dir, "1.cuda.ptx"))
	require.Len(t, must.Get(os.ReadDir(dir))(t), 2, "nothing unfinished stays")
}

// A link to a folder is followed. If a file appears in the hidden folder, nothing is written through it.
func TestUnpack_LinkToFolder(t *testing.T) {
	outer := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(outer, "real"), 0o755))
	require.NoError(t, os.Symlink("real", filepath.Join(outer, "link")))
	must.Get(Unpack(t.Context(), anyLibrary, filepath.Join(outer, "link"), false))(t)
	requireWhole(t, filepath.Join(outer, "real"))
}

// If writing one of the files fails, the folder is unchanged.
func TestFolder_FailureLeavesNothing(t *testing.T) {
	for _, exists := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "out")
		if exists {
			require.NoError(t, os.Mkdir(dir, 0o755))
		}
		f := must.Get(openFolder(dir, false))(t)
		require.NoError(t, f.write("a", nil))
		require.ErrorContains(t, f.write("a", nil), "to "+dir+": a: file exists")
		f.close()
		if !exists {
			require.NoDirExists(t, dir)
			continue
		}
		require.Empty(t, must.Get(os.ReadDir(dir))(t))
	}
}

// If a file cannot be moved into the folder, those moved before it are removed.
func TestFolder_HalfPublished(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	f := must.Get(openFolder(dir, false))(t)
	require.NoError(t, f.write("a", nil))
	require.NoError(t, f.write("b", nil))
	hidden := must.Get(filepath.Glob(filepath.Join(dir, ".*", "b")))(t)
	require.Len(t, hidden, 1)
	require.NoError(t, os.Remove(hidden[0]))
	require.ErrorContains(t, f.publish(anyLibrary), "to "+dir+": b: ")
	f.close()
	require.NoDirExists(t, dir)
}
