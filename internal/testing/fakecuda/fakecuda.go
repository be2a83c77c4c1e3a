package fakecuda

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/atomicfile"
	"tvmgo/internal/testing/must"
)

//go:embed *.h driver kernels
var sources embed.FS

// StandardPTX is an image with the kernels of kernels/standard.c, for sm_90, and a global of 16 bytes, counter.
//
//go:embed kernels/standard.ptx
var StandardPTX string

// HostImage returns an image, to be loaded like PTX, with the kernels of a library on the host: of its list
// fakecuda_kernel_list (fakecuda_kernel.h).
func HostImage(library string) []byte {
	return []byte("// fakecuda: kernels on the host: " + library + "\n.version 8.0\n.target sm_52\n.address_size 64\n")
}

// KernelHeader is fakecuda_kernel.h, for packages that compile kernels themselves.
//
//go:embed fakecuda_kernel.h
var KernelHeader string

// An Option changes how the driver is built.
type Option func(*options)

type options struct {
	without []string
	flags   []string
}

// Without hides names that an older driver lacks.
func Without(names ...string) Option {
	return func(o *options) { o.without = append(o.without, names...) }
}

// Flags adds flags for the C compiler, such as -fsanitize=thread.
func Flags(flags ...string) Option { return func(o *options) { o.flags = append(o.flags, flags...) } }

// Build compiles the driver and returns its path. Calls with equal options share one file, also across packages. The
// test fails if there is no C compiler.
func Build(t testing.TB, opts ...Option) string {
	t.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	sort.Strings(o.without)
	exports := "{ global: *; };\n"
	if len(o.without) > 0 {
		exports = "{ global: *; local: " + strings.Join(o.without, "; ") + "; };\n"
	}
	return library(t, "libfakecuda.so", "driver", nil, exports,
		append([]string{"-fvisibility=hidden", "-Wl,-Bsymbolic", "-Wl,-z,nodelete"}, o.flags...))
}

// Kernels compiles the kernels of this package (kernels/*.c), and the given C sources beside them, into the library
// that FAKECUDA_KERNELS names. A source includes fakecuda_kernel.h and describes each kernel with FAKECUDA_KERNEL.
func Kernels(t testing.TB, paths ...string) string {
	t.Helper()
	return library(t, "kernels.so", "kernels", paths, "", []string{"-fvisibility=hidden"})
}

// library compiles the C files of an embedded folder and other files. It writes the folder out, because the calling
// test may belong to another module that vendors this one.
func library(t testing.TB, name, folder string, others []string, exports string, flags []string) string {
	t.Helper()
	version, err := exec.Command("cc", "--version").Output()
	require.NoError(t, err, "a C compiler is needed: install gcc or clang")
	sum := sha256.New()
	sum.Write(version)
	sum.Write([]byte(exports + "\x00" + strings.Join(flags, "\x00")))
	texts := map[string][]byte{}
	require.NoError(t, fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || (!strings.HasPrefix(path, folder+"/") && filepath.Ext(path) != ".h") {
			return err
		}
		texts[path], err = sources.ReadFile(path)
		sum.Write([]byte(path + "\x00" + string(texts[path]) + "\x00"))
		return err
	}))
	for _, path := range others {
		text := must.Get(os.ReadFile(path))(t)
		sum.Write([]byte(path + "\x00" + string(text) + "\x00"))
	}
	dir := filepath.Join(cache(t), hex.EncodeToString(sum.Sum(nil)[:8]))
	built := filepath.Join(dir, name)
	if _, err := os.Stat(built); err == nil {
		return built
	}
	part := t.TempDir()
	args := []string{"-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", "-I" +
		part}
	args = append(args, flags...)
	for path, text := range texts {
		file := filepath.Join(part, filepath.FromSlash(path))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
		require.NoError(t, os.WriteFile(file, text, 0o666))
		if filepath.Ext(path) == ".c" {
			args = append(args, file)
		}
	}
	if exports != "" {
		file := filepath.Join(part, "exports.map")
		require.NoError(t, os.WriteFile(file, []byte(exports), 0o666))
		args = append(args, "-Wl,--version-script="+file)
	}
	args = append(append(args, others...), "-o", filepath.Join(part, name), "-lpthread", "-ldl", "-lm")
	out, err := exec.Command("cc", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	data := must.Get(os.ReadFile(filepath.Join(part, name)))(t)
	require.NoError(t, os.MkdirAll(dir, 0o777))
	require.NoError(t, atomicfile.Write(built, data, 0o777, atomicfile.ReplaceLinks)) // other tests may write it
	return built
}

// cache returns build/.cache/fakecuda of this module; outside this module, a folder of the test.
func cache(t testing.TB) string {
	t.Helper()
	root := must.Get(filepath.Abs("."))(t)
	for ; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(root, "build", ".cache", "fakecuda")
		}
		if root == filepath.Dir(root) {
			return t.TempDir()
		}
	}
}
