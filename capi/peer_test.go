package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
)

// wheels installs Apache TVM's wheels if they are missing.
var wheels = sync.OnceValue(func() error {
	if out, err := exec.Command("sh", filepath.Join("..", "build", "scripts", "deps.sh")).CombinedOutput(); err != nil {
		return fmt.Errorf("no Python with Apache TVM's wheels: build/scripts/deps.sh: %w\n%s", err, out)
	}
	return nil
})

// withPython returns the interpreter that has Apache TVM's wheels, and the environment that it needs in the lab.
func withPython(t *testing.T, l *lab) (python string, env []string) {
	t.Helper()
	if err := wheels(); err != nil {
		if os.Getenv("CI") == "" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	venv := filepath.Join(l.root, "build", ".cache", "venv")
	machine.Need(t, filepath.Join(venv, "bin", "python"))
	if l.hide == nil {
		return filepath.Join(venv, "bin", "python"), nil
	}
	return l.path("venv", "bin", "python"), []string{"VENV=" + venv}
}

// Two runtimes in one process, in every order: each file works with both, and each error stays with its runtime.
func TestPeer(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	python, env := withPython(t, l)
	files := []string{l.modern("multi_c"), l.modern("multi_llvm"), l.modern("multi_c_now")}
	const private = "TVMGO_PRIVATE_LOAD=1"
	for order, environments := range map[string][]string{
		"peer-then-ours":      {"", "LD_BIND_NOW=1"},
		"peer-then-ours-load": {"", "LD_BIND_NOW=1"},
		"ours-then-peer":      {"", "LD_BIND_NOW=1"},
		// a module that was loaded before Apache TVM's runtime is only safe as a private copy
		"ours-load-then-peer": {private, private + " LD_BIND_NOW=1"},
		"churn":               {"", "LD_BIND_NOW=1"},
	} {
		for _, extra := range environments {
			t.Run(strings.TrimSpace(order+" "+extra), func(t *testing.T) {
				env := append(strings.Fields(extra), env...)
				args := append([]string{python, "-B", l.path("src", "peer_test.py"), order, l.library()}, files...)
				l.runOK(t, env, args...)
			})
		}
	}
}

// JSON texts have the same values and errors as in Apache TVM's wheel.
func TestPeer_JSON(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	python, env := withPython(t, l)
	l.runOK(t, env, python, "-B", l.path("src", "pyhost", "json_peer.py"), l.library())
}

// Built-in functions are described as in Apache TVM. Types and functions of targets are registered on first use, unless
// another library has registered them.
func TestPeer_Registry(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	python, env := withPython(t, l)
	for _, order := range []string{"first-use", "by-type", "foreign-types", "foreign-function", "layout-only"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			l.runOK(t, env, python, "-B", l.path("src", "pyhost", "registry_peer.py"), l.library(), order)
		})
	}
}

// The tests above detect runtimes that are mixed up. This is the one way to do so, and the reason for
// TVMGO_PRIVATE_LOAD.
func TestPeer_LaterImportOfSharedFileIsSeen(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	python, env := withPython(t, l)
	r := l.run(t, env, python, "-B", l.path("src", "peer_test.py"), "ours-load-then-peer", l.library(),
		l.modern("multi_c"))
	require.False(t, r.ok, "a file that was mapped before Apache TVM is now safe without a copy: update README")
}
