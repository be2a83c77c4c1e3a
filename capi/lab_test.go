package main_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
)

// lab is where the built library is tested: a folder outside of the source tree with copies of all that a test may use.
// Programs run in it with a minimal environment and, if this process may do so, with an empty file system mounted over
// the source tree.
type lab struct {
	dir  string
	root string   // the source tree
	dist string   // a copy of what make built
	hide []string // the prefix of every command
}

// path joins names to the lab's folder: lib, include (of dist), src, artifacts, bin.
func (l *lab) path(names ...string) string {
	return filepath.Join(append([]string{l.dir}, names...)...)
}

func (l *lab) library() string { return l.path("lib", "libtvmgo.so") }

// modern and classic name a module exported by Apache TVM. multi_c_now is multi_c linked with `-z now`.
func (l *lab) modern(name string) string  { return l.path("artifacts", "modern", name+".so") }
func (l *lab) classic(name string) string { return l.path("artifacts", "classic", name+".so") }

// computing returns the files with functions for the CPU, with inputs next to them.
func (l *lab) computing() []string {
	return []string{l.modern("addone_llvm"), l.modern("multi_llvm"), l.modern("multi_c"), l.modern("multi_c_now"),
		l.classic("addone_llvm"), l.classic("multi_llvm")}
}

var shared struct {
	once sync.Once
	lab  *lab
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.lab != nil {
		os.RemoveAll(shared.lab.dir)
		os.RemoveAll(shared.lab.dist)
	}
	os.Exit(code)
}

func newLab(t *testing.T) *lab {
	t.Helper()
	shared.once.Do(func() { shared.lab, shared.err = makeLab() })
	require.NoError(t, shared.err)
	return shared.lab
}

func makeLab() (*lab, error) {
	root, err := filepath.Abs("..")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tvmgo capi ") // paths may have spaces
	if err != nil {
		return nil, err
	}
	l := &lab{dir: dir, root: root}
	if err := l.findDist(); err != nil {
		return l, err
	}
	for to, from := range map[string]string{
		"lib":       filepath.Join(l.dist, "lib"),
		"include":   filepath.Join(l.dist, "include"),
		"src":       "testdata",
		"artifacts": filepath.Join(root, "testdata", "artifacts"),
	} {
		if err := copyTree(l.path(to), from); err != nil {
			return l, err
		}
	}
	for _, empty := range []string{"bin", "home", "venv"} {
		if err := os.Mkdir(l.path(empty), 0o755); err != nil {
			return l, err
		}
	}
	if err := copyBindNow(l.modern("multi_c_now"), l.modern("multi_c")); err != nil {
		return l, err
	}
	if err := copyCarrier(l.carrier(), l.modern("gpu_cuda")); err != nil {
		return l, err
	}
	l.hide = hideCommand(l)
	return l, nil
}

// findDist returns the output of make: a copy of $TVMGO_DIST, which other tests use at the same time, or a new one.
func (l *lab) findDist() (err error) {
	if l.dist, err = os.MkdirTemp("", "tvmgo-dist-"); err != nil {
		return err
	}
	if dist := os.Getenv("TVMGO_DIST"); dist != "" {
		if !filepath.IsAbs(dist) {
			dist = filepath.Join(l.root, dist)
		}
		return copyTree(l.dist, dist)
	}
	if out, err := l.make("dist"); err != nil {
		return fmt.Errorf("make dist: %w\n%s", err, out)
	}
	return nil
}

// make runs make in the source tree, for this dist.
func (l *lab) make(args ...string) ([]byte, error) {
	cmd := exec.Command("make", append([]string{"-s", "-C", l.root, "DIST=" + l.dist}, args...)...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MAKE") && !strings.HasPrefix(v, "MFLAGS=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	return cmd.CombinedOutput()
}

// copyTree copies files, and symbolic links as links.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		dst := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(dst, 0o755)
		case d.Type()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, dst)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(dst, data, 0o755)
	})
}

// hideCommand returns the prefix of a command that hides the source tree: empty if the system forbids it. The folder in
// VENV remains visible.
func hideCommand(l *lab) []string {
	const script = `if [ -n "$VENV" ]; then mount --bind "$VENV" "$1" || exit 125; fi
mount -t tmpfs none "$2" || exit 125
shift 2
exec "$@"`
	for _, flags := range []string{"-m", "-rm"} {
		hide := []string{"unshare", flags, "sh", "-c", script, "sh", l.path("venv"), l.root}
		probe := append(hide[:len(hide):len(hide)], "sh", "-c", `! test -e "$1" && test -r "$2"`, "sh",
			filepath.Join(l.root, "go.mod"), l.library())
		if exec.Command(probe[0], probe[1:]...).Run() == nil {
			return hide
		}
	}
	return nil
}

// compile builds bin/<program> of the C sources that match, against the copy of dist.
func (l *lab) compile(t *testing.T, program, sources string, flags ...string) string {
	t.Helper()
	src := must.Get(filepath.Glob(l.path("src", sources)))(t)
	require.NotEmpty(t, src)
	out := l.path("bin", program)
	args := append([]string{"cc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-I" + l.path("include"),
		"-o", out}, src...)
	r := l.run(t, nil, append(append(args, flags...), "-pthread")...)
	require.True(t, r.ok, r.out)
	return out
}

// linked returns the flags that link a program with the library.
func (l *lab) linked() []string {
	return []string{"-L" + l.path("lib"), "-ltvmgo", "-Wl,-rpath," + l.path("lib")}
}

type result struct {
	ok     bool
	out    string
	signal syscall.Signal // the signal that ended the program, or 0
}

// run runs a command in the lab. It skips the test if the command has a library for another architecture than this
// process: the libraries of Apache TVM are for x86-64.
func (l *lab) run(t *testing.T, env []string, args ...string) result {
	t.Helper()
	machine.Need(t, args...)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	args = append(l.hide[:len(l.hide):len(l.hide)], args...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = l.path("home")
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "LANG=C.UTF-8", "TVM_NUM_THREADS=2",
		"TVMGO_INCLUDE=" + l.path("include")}, append(machine.Env(), env...)...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	require.NoError(t, ctx.Err(), "%q does not terminate:\n%s", args, out)
	r := result{ok: err == nil, out: string(out)}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			r.signal = status.Signal()
		}
		r.out += "\n" + err.Error()
	} else if err != nil {
		require.NoError(t, err)
	}
	return r
}

// runOK runs a test program, which prints failures, and finally "ok".
func (l *lab) runOK(t *testing.T, env []string, args ...string) {
	t.Helper()
	r := l.run(t, env, args...)
	require.True(t, r.ok && strings.HasSuffix("\n"+r.out, "\nok\n"), "%q:\n%s", args, r.out)
}

// If this machine allows it, programs in the lab cannot use the source tree.
func TestLab_SourceTreeIsOutOfReach(t *testing.T) {
	l := newLab(t)
	if l.hide == nil {
		t.Skip("this process may not mount anything: the tests of the built library ran with the source tree in place")
	}
	require.False(t, l.run(t, nil, "test", "-e", filepath.Join(l.root, "go.mod")).ok)
	require.True(t, l.run(t, nil, "test", "-e", l.library()).ok)
}
