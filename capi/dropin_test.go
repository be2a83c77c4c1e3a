package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var dropIn struct {
	once sync.Once
	site string // the folder of the wheels, as seen in the lab
	err  error
}

// dropInPackage copies the Python package of the wheel apache-tvm-ffi into the lab, replaces its library by ours, and
// returns the folders to import the original and the copy from.
func dropInPackage(t *testing.T, l *lab) (wheel, ours string) {
	t.Helper()
	dropIn.once.Do(func() { dropIn.site, dropIn.err = copyPackage(l) })
	require.NoError(t, dropIn.err)
	return dropIn.site, l.path("dropin")
}

func copyPackage(l *lab) (string, error) {
	venv := filepath.Join(l.root, "build", ".cache", "venv")
	sites, err := filepath.Glob(filepath.Join(venv, "lib", "python*", "site-packages"))
	if err != nil || len(sites) != 1 {
		return "", os.ErrNotExist
	}
	seen := sites[0]
	if l.hide != nil {
		seen = l.path(strings.Replace(strings.TrimPrefix(sites[0], l.root+"/build/.cache"), "/venv", "venv", 1))
	}
	dir := l.path("dropin")
	if err := copyTree(filepath.Join(dir, "tvm_ffi"), filepath.Join(sites[0], "tvm_ffi")); err != nil {
		return "", err
	}
	// Without the wheel's metadata, in which the package would find its own library.
	for _, name := range []string{"numpy", "numpy.libs", "ml_dtypes", "typing_extensions.py"} {
		if err := os.Symlink(filepath.Join(seen, name), filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	library := filepath.Join(dir, "tvm_ffi", "lib", "libtvm_ffi.so")
	if err := os.Remove(library); err != nil {
		return "", err
	}
	data, err := os.ReadFile(l.library())
	if err != nil {
		return "", err
	}
	return seen, os.WriteFile(library, data, 0o755)
}

// The wheel's Python package prints the same with its own library and with ours, line by line.
func TestDropIn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	python, env := withPython(t, l)
	wheel, ours := dropInPackage(t, l)
	for topic, args := range map[string][]string{
		"containers": nil,
		"functions":  nil,
		"tensors":    {l.modern("multi_c"), l.modern("addone_llvm")},
		"classes":    nil,
		"structural": nil,
		"visit":      nil,
		"mutate":     nil,
	} {
		t.Run(topic, func(t *testing.T) {
			t.Parallel()
			says := func(site string) []string {
				library := filepath.Join(site, "tvm_ffi", "lib", "libtvm_ffi.so")
				command := append([]string{python, "-S", "-B", l.path("src", "dropin", "check.py"), topic, library}, args...)
				r := l.run(t, append([]string{"PYTHONPATH=" + site}, env...), command...)
				require.True(t, r.ok && strings.HasSuffix(r.out, "\nok\n"), "%s:\n%s", site, r.out)
				return strings.Split(r.out, "\n")
			}
			require.Equal(t, says(wheel), says(ours))
		})
	}
}
