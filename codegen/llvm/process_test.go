package llvm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// roleVariable makes a process of this test program the second process of a test.
const roleVariable = "TVMGO_LLVM_TEST_ROLE"

// child builds add, calls it and prints the result.
func child(role string) int {
	m, err := text.Parse(addProgram)
	if err == nil {
		var t *target.Target
		if t, err = target.New("llvm"); err == nil {
			err = callOnce(m, t)
		}
	}
	if err != nil {
		os.Stderr.WriteString(role + ": " + err.Error() + "\n")
		return 1
	}
	return 0
}

func callOnce(m *tir.IRModule, t *target.Target) error {
	b, err := codegen.Build(m, t)
	if err != nil {
		return err
	}
	defer b.Close()
	f, err := b.Function("add")
	if err != nil {
		return err
	}
	defer f.Close()
	x, err := runtime.FromSlice([]float32{1, 2, 3})
	if err != nil {
		return err
	}
	defer x.Close()
	_, err = f.Call(x, x, x)
	return err
}

func process(t testing.TB, env ...string) *exec.Cmd {
	t.Helper()
	self := must.Get(os.Executable())(t)
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), roleVariable+"=child"), env...)
	return cmd
}

func kept(t testing.TB, cache string) []string {
	t.Helper()
	return must.Get(filepath.Glob(filepath.Join(cache, "llvm", "*")))(t)
}

// Several processes that start with an empty cache all get the function, and leave one library.
func TestCache_ManyProcesses(t *testing.T) {
	needClang(t)
	cache := t.TempDir()
	var all []*exec.Cmd
	for range 4 {
		cmd := process(t, "TVMGO_CACHE_DIR="+cache)
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		all = append(all, cmd)
	}
	for _, cmd := range all {
		require.NoError(t, cmd.Wait())
	}
	require.Len(t, kept(t, cache), 1)
}

// loggingClang is a clang that logs its compilations and links.
func loggingClang(t testing.TB) (path string, runs func() int) {
	t.Helper()
	needClang(t)
	log := filepath.Join(t.TempDir(), "log")
	path = script(t, "clang", `case " $* " in *" -std=gnu11 "*|*" -shared "*) echo run >>`+log+`;; esac
exec clang "$@"
`)
	return path, func() int {
		b, _ := os.ReadFile(log)
		return strings.Count(string(b), "run")
	}
}

func TestCache_CompilesOnce(t *testing.T) {
	t.Setenv("TVMGO_CACHE_DIR", t.TempDir())
	path, runs := loggingClang(t)
	t.Setenv("TVMGO_CLANG", path)
	requireAdds(t, built(t, parsed(t, addProgram), "llvm"))
	once := runs()
	require.Positive(t, once)
	requireAdds(t, built(t, parsed(t, addProgram), "llvm"))
	require.Equal(t, once, runs(), "the same program")
	requireAdds(t, built(t, parsed(t, addProgram+dotProgram), "llvm"))
	require.Equal(t, 2*once, runs(), "another program")
	requireAdds(t, built(t, parsed(t, addProgram), "llvm -opt-level=1"))
	require.Equal(t, 3*once, runs(), "another target")
	objects := must.Get(filepath.Glob(filepath.Join(os.Getenv("TVMGO_CACHE_DIR"), "objects", "*")))(t)
	require.NotEmpty(t, objects)
	for _, path := range append(kept(t, os.Getenv("TVMGO_CACHE_DIR")), objects...) {
		require.NoError(t, os.Truncate(path, 1000))
	}
	requireAdds(t, built(t, parsed(t, addProgram), "llvm"))
	require.Equal(t, 4*once, runs(), "the file was damaged")
	t.Setenv("TVMGO_CLANG", script(t, "clang", "# another one\nexec "+path+" \"$@\"\n"))
	requireAdds(t, built(t, parsed(t, addProgram), "llvm"))
	require.Equal(t, 5*once, runs(), "another compiler")
}

// A process that is killed while it compiles leaves nothing that the next one could mistake for a library.
func TestCache_KilledWhileCompiling(t *testing.T) {
	needClang(t)
	cache := t.TempDir()
	fifo := filepath.Join(t.TempDir(), "reached")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for _, stage := range []string{"-std=gnu11", "-shared"} { // of the compiler and of the linker
		slow := script(t, "clang", `case " $* " in *" `+stage+` "*) echo $$ >`+fifo+`; exec sleep 600;; esac
exec clang "$@"
`)
		cmd := process(t, "TVMGO_CACHE_DIR="+cache, "TVMGO_CLANG="+slow)
		require.NoError(t, cmd.Start())
		reached, err := os.ReadFile(fifo) // waits for the stage
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		out, err := exec.Command("kill", "-9", strings.TrimSpace(string(reached))).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Empty(t, kept(t, cache), stage)
		all := must.Get(filepath.Glob(filepath.Join(cache, "*")))(t)
		require.Subset(t, []string{filepath.Join(cache, "llvm"), filepath.Join(cache, "objects")}, all)
	}
	cmd := process(t, "TVMGO_CACHE_DIR="+cache)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Run())
	require.Len(t, kept(t, cache), 1)
}
