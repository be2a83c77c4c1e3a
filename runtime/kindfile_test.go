package runtime_test

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func entries(t testing.TB, dir string) (names []string) {
	t.Helper()
	list := must.Get(os.ReadDir(dir))(t)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// limitFiles makes writing fail for files that grow beyond n bytes, as on a full disk.
func limitFiles(t *testing.T, n uint64) (restore func()) {
	t.Helper()
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	signal.Ignore(syscall.SIGXFSZ)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: before.Max}))
	return func() {
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
		signal.Reset(syscall.SIGXFSZ)
	}
}

// If anything fails, the existing file is kept and no partial file is left. The test runs in a child process: the
// limit would also apply to the file in which go test records what a test reads.
func TestSaveToFile_AllOrNothing(t *testing.T) {
	machine.Need(t, multiC)
	const child = "TVMGO_TEST_LIMITED"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.v", "-test.run=^TestSaveToFile_AllOrNothing$")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestSaveToFile_AllOrNothing")
		return
	}
	noLeaks(t)
	dir := t.TempDir()
	m := staticLibrary(t, bytes.Repeat([]byte("x"), 1<<16))
	old := filepath.Join(dir, "m.o")
	writeFile(t, old, []byte("old"))
	restore := limitFiles(t, 1<<12)
	err := m.SaveToFile(old, "")
	kernels := imports(t, modules.Load(t, artifacts+"modern/gpu_cuda.so"))[0]
	other := kernels.SaveToFile(filepath.Join(dir, "k.cubin"), "")
	restore()
	requireError(t, err, runtime.ErrFailed, "save module", "m.o", "file too large")
	requireError(t, other, runtime.ErrFailed, "k.cubin")
	require.Equal(t, []string{"m.o"}, entries(t, dir))
	require.Equal(t, "old", string(readFile(t, old)))

	require.NoError(t, os.Chmod(old, 0o640))
	require.NoError(t, m.SaveToFile(old, ""))
	require.Equal(t, []string{"m.o"}, entries(t, dir))
	require.Len(t, readFile(t, old), 1<<16)
	info := must.Get(os.Stat(old))(t)
	require.EqualValues(t, 0o640, info.Mode().Perm(), "the permissions are kept")

	// If the description cannot be written, the code is not written either.
	require.NoError(t, os.Mkdir(filepath.Join(dir, "k.tvm_meta.json"), 0o755))
	open := len(entries(t, "/proc/self/fd"))
	requireError(t, kernels.SaveToFile(filepath.Join(dir, "k.cubin"), ""), runtime.ErrFailed, "k.tvm_meta.json",
		"is a directory")
	require.Len(t, entries(t, "/proc/self/fd"), open)
	require.Equal(t, []string{"k.tvm_meta.json", "m.o"}, entries(t, dir))
}

func TestSaveToFile_Refused(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	m := cSource(t, "int f;", "c", nil, nil)
	requireError(t, m.SaveToFile(filepath.Join(dir, "none", "m.c"), ""), runtime.ErrNotFound, "m.c",
		"is the folder there?")
	requireError(t, m.SaveToFile(filepath.Join(dir, "m.o"), ""), runtime.ErrNotSupported, "m.o", `"o"`,
		`a module of kind "c" is written as .c`)
	requireError(t, m.SaveToFile(filepath.Join(dir, "m"), ""), runtime.ErrNotSupported, "no suffix and no format given")
	requireError(t, m.SaveToFile(filepath.Join(dir, "m.c"), "ptx"), runtime.ErrNotSupported, `"ptx"`)
	requireError(t, m.SaveToFile("", "c"), runtime.ErrInvalidArgument, "the path is empty")
	long := strings.Repeat("n", 250) + ".c"
	require.NoError(t, m.SaveToFile(filepath.Join(dir, long), ""), "the longest name that a file can have")
	require.NoError(t, os.Remove(filepath.Join(dir, long)))
	requireError(t, m.SaveToFile(dir, "c"), runtime.ErrFailed, "is a directory")
	requireError(t, m.SaveToFile("/dev/full", "c"), runtime.ErrFailed, "/dev/full", "no space left", "free some space")
	info := must.Get(os.Stat("/dev/full"))(t)
	require.NotZero(t, info.Mode()&os.ModeDevice, "it is still the device")
	require.Empty(t, entries(t, dir))
	if os.Getuid() == 0 {
		t.Log("root can write to every folder, so /proc is used as a read-only one")
		require.Error(t, m.SaveToFile("/proc/m.c", ""))
	} else {
		require.NoError(t, os.Chmod(dir, 0o555))
		requireError(t, m.SaveToFile(filepath.Join(dir, "m.c"), ""), runtime.ErrFailed, "m.c", "permission denied",
			"may write to")
		require.NoError(t, os.Chmod(dir, 0o755))
	}
	require.NoError(t, m.SaveToFile(filepath.Join(dir, "m.c"), ""))
}

// A symbolic link is kept, and points to the new file.
func TestSaveToFile_ThroughLinks(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o755))
	writeFile(t, filepath.Join(dir, "real", "m.c"), nil)
	link := filepath.Join(dir, "m.c")
	require.NoError(t, os.Symlink(filepath.Join("real", "m.c"), link))
	require.NoError(t, cSource(t, "int f;", "c", nil, nil).SaveToFile(link, ""))
	info := must.Get(os.Lstat(link))(t)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	require.Equal(t, "int f;", string(readFile(t, filepath.Join(dir, "real", "m.c"))))
}

// A symbolic link to a file that does not exist yet is kept, too.
func TestSaveToFile_LinkToNothingYet(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	link := filepath.Join(dir, "m.c")
	require.NoError(t, os.Symlink("real.c", link))
	require.NoError(t, cSource(t, "int f;", "c", nil, nil).SaveToFile(link, ""))
	require.Equal(t, "int f;", string(readFile(t, filepath.Join(dir, "real.c"))))
	info := must.Get(os.Lstat(link))(t)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	loop := filepath.Join(dir, "loop.c")
	require.NoError(t, os.Symlink("loop.c", loop))
	require.ErrorContains(t, cSource(t, "int f;", "c", nil, nil).SaveToFile(loop, ""), "lead back to themselves")
}
