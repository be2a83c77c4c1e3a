//go:build linux

package atomicfile

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/unfinished"
)

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func content(t *testing.T, path ...string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(filepath.Join(path...)))(t))
}

func permissions(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info := must.Get(os.Stat(path))(t)
	return info.Mode().Perm()
}

// ways are the two kinds of files before Commit. Create uses the second if the file system does not support the first.
var ways = map[string]func(path string, perm fs.FileMode) (*File, error){
	"without a name": func(path string, perm fs.FileMode) (*File, error) { return Create(path, perm, FollowLinks) },
	"hidden":         createHidden,
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, text := range []string{"new", "replaced"} {
		require.NoError(t, Write(path, []byte(text), 0o666, FollowLinks))
		require.Equal(t, text, content(t, path))
		require.Equal(t, []string{"f"}, names(t, dir))
	}
	long := filepath.Join(dir, strings.Repeat("n", 255)) // the maximal length of a name
	for range 2 {
		require.NoError(t, Write(long, nil, 0o666, FollowLinks))
	}
	file := must.Get(createHidden(long, 0o666))(t)
	require.NoError(t, file.Commit())
}

// No other process sees a file before Commit, and killing this process leaves none behind.
func TestCreate_HasNoName(t *testing.T) {
	dir := t.TempDir()
	f := must.Get(Create(filepath.Join(dir, "f"), 0o666, FollowLinks))(t)
	must.Get(f.WriteString("half"))(t)
	if f.temp != "" {
		t.Skip("this file system has no files without a name")
	}
	require.Empty(t, names(t, dir))
	f.Discard()
	require.Empty(t, names(t, dir))
}

func TestCommit(t *testing.T) {
	for way, create := range ways {
		for _, old := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, old file %v", way, old), func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "f")
				if old {
					require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
				}
				f := must.Get(create(path, 0o666))(t)
				require.Equal(t, path, f.Path())
				must.Get(f.WriteString("new"))(t)
				require.NoError(t, f.Chmod(0o604))
				if old {
					require.Equal(t, "old", content(t, path))
				} else {
					require.NoFileExists(t, path)
				}
				require.NoError(t, f.Finish())
				require.NoError(t, f.Commit())
				f.Discard() // no effect after Commit
				require.Equal(t, []string{"f"}, names(t, dir))
				require.Equal(t, "new", content(t, path))
				require.EqualValues(t, 0o604, permissions(t, path))
				require.ErrorIs(t, f.File.Close(), fs.ErrClosed)
			})
		}
	}
}

// The umask applies to the permissions, also to 0; those of the old file do not matter.
func TestCreate_Permissions(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	for way, create := range ways {
		for perm, want := range map[fs.FileMode]fs.FileMode{0o666: 0o640, 0o600: 0o600, 0o777: 0o750, 0o404: 0o400, 0: 0} {
			path := filepath.Join(t.TempDir(), "f")
			for range 2 {
				f := must.Get(create(path, perm))(t)
				require.NoError(t, f.Commit())
				require.Equal(t, want, permissions(t, path), "%s, %o", way, perm)
				require.NoError(t, os.Chmod(path, 0o777))
			}
		}
	}
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, Write(path, nil, 0o606, ReplaceLinks))
	require.EqualValues(t, 0o600, permissions(t, path))
}

func TestDiscard(t *testing.T) {
	for way, create := range ways {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
		f := must.Get(create(path, 0o666))(t)
		f.Discard()
		require.ErrorIs(t, f.File.Close(), fs.ErrClosed, way)
		require.Equal(t, []string{"f"}, names(t, dir), way)
		require.Equal(t, "old", content(t, path))
	}
}

// Finish closes a hidden file, because the file system may then report an earlier write error; nameless files stay
// open.
func TestFinish(t *testing.T) {
	dir := t.TempDir()
	f := must.Get(createHidden(filepath.Join(dir, "f"), 0o666))(t)
	for range 2 {
		require.NoError(t, f.Finish())
		require.ErrorIs(t, must.Fail(f.WriteString("late")), fs.ErrClosed)
	}
	require.NoFileExists(t, filepath.Join(dir, "f"))

	f = must.Get(createHidden(filepath.Join(dir, "f"), 0o666))(t)
	require.NoError(t, syscall.Close(int(f.Fd()))) // so that close fails
	require.Equal(t, syscall.EBADF, f.Commit())
	require.NoFileExists(t, filepath.Join(dir, "f"))
}

// After an error no file is left, and the error does not name a path.
func TestErrors(t *testing.T) {
	for way, create := range ways {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "folder", "in"), 0o755))
		f := must.Get(create(filepath.Join(dir, "folder"), 0o666))(t)
		err := f.Commit()
		require.Error(t, err)
		require.IsType(t, syscall.Errno(0), err, way)
		require.Equal(t, []string{"folder"}, names(t, dir), way)
		_, err = create(filepath.Join(dir, "none", "f"), 0o666)
		require.Equal(t, syscall.ENOENT, err, way)
		_, err = create(filepath.Join(dir, "zero\x00byte"), 0o666)
		if err == nil { // a nameless file fails when it gets its name
			err = f.Commit()
		}
		require.Error(t, err)
	}
	require.Equal(t, syscall.ENOENT, Write(filepath.Join(t.TempDir(), "none", "f"), nil, 0o666, FollowLinks))
	require.Equal(t, syscall.ENOENT, Write(filepath.Join(t.TempDir(), "none", "f"), nil, 0o666, ReplaceLinks))
}

func TestCause(t *testing.T) {
	_, path := os.Open("/none")
	link := os.Rename("/none", "/other")
	for _, err := range []error{path, link, fmt.Errorf("read: %w", path), syscall.ENOENT} {
		require.Equal(t, syscall.ENOENT, Cause(err))
	}
	require.NoError(t, Cause(nil))
	require.Equal(t, ErrFull, Cause(ErrFull))
}

// A link stays, and the file that it points to is written, even if that does not exist yet.
func TestWrite_FollowsLinks(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	link, real := filepath.Join(dir, "link"), filepath.Join(other, "real")
	require.NoError(t, os.Symlink(real, link))
	for _, text := range []string{"made", "replaced"} {
		require.NoError(t, Write(link, []byte(text), 0o666, FollowLinks))
		require.Equal(t, text, content(t, real))
		require.Equal(t, real, must.Get(os.Readlink(link))(t))
	}
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	require.ErrorContains(t, Write(filepath.Join(dir, "loop"), nil, 0o666, FollowLinks), "lead back to themselves")
}

func TestWrite_ReplacesLinks(t *testing.T) {
	for _, exists := range []bool{true, false} {
		dir := t.TempDir()
		link, real := filepath.Join(dir, "link"), filepath.Join(dir, "real")
		require.NoError(t, os.Symlink(real, link))
		if exists {
			require.NoError(t, os.WriteFile(real, []byte("mine"), 0o600))
		}
		require.NoError(t, Write(link, []byte("new"), 0o666, ReplaceLinks))
		info := must.Get(os.Lstat(link))(t)
		require.True(t, info.Mode().IsRegular())
		require.Equal(t, "new", content(t, link))
		if exists {
			require.Equal(t, "mine", content(t, real))
		} else {
			require.NoFileExists(t, real)
		}
	}
}

// The hidden name of another process is not used, and the number of attempts is limited.
func TestHidden_NamesAreTaken(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for i := range 1000 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf(".f.%d-%d", os.Getpid(), i)), []byte("other"), 0o600))
	}
	_, err := createHidden(path, 0o666)
	require.Equal(t, ErrFull, err)
	require.Len(t, names(t, dir), 1000)
	free := fmt.Sprintf(".f.%d-%d", os.Getpid(), 500)
	require.NoError(t, os.Remove(filepath.Join(dir, free)))
	f := must.Get(createHidden(path, 0o666))(t)
	require.Contains(t, names(t, dir), free)
	f.Discard()
	require.Len(t, names(t, dir), 999)
	require.Equal(t, "other", content(t, dir, fmt.Sprintf(".f.%d-0", os.Getpid())))
}

func TestShortened(t *testing.T) {
	require.Equal(t, "lib.so", shortened("lib.so"))
	long := shortened(strings.Repeat("a", 199) + strings.Repeat("ü", 50))
	require.Equal(t, strings.Repeat("a", 199), long, "no character is split")
}

// A process that ends early, as an interrupted command does, removes its hidden files and folders, and no others. The
// child process of this test does so.
func TestInterrupted(t *testing.T) {
	if dir := os.Getenv("TVMGO_TEST_INTERRUPTED"); dir != "" {
		path := filepath.Join(dir, "f")
		must.Get(createHidden(path, 0o666))(t)
		must.Get(Create(path, 0o666, FollowLinks))(t)
		f := must.Get(createHidden(path, 0o666))(t)
		temp := f.temp
		require.NoError(t, f.Commit())
		require.NoError(t, os.WriteFile(temp, nil, 0o600)) // now the file of another process

		root := must.Get(os.OpenRoot(dir))(t)
		s := must.Get(NewSet(root))(t)
		require.NoError(t, s.Write("in", nil))
		gone := must.Get(NewSet(root))(t)
		gone.Discard()
		require.NoError(t, os.Mkdir(gone.temp, 0o700))
		unfinished.End()
		os.Exit(0)
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestInterrupted$")
	cmd.Env = append(os.Environ(), "TVMGO_TEST_INTERRUPTED="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	pid := cmd.Process.Pid
	require.Equal(t, []string{fmt.Sprintf(".f.%d-1", pid), fmt.Sprintf(".set.%d-1", pid), "f"}, names(t, dir))
}
