package fakecuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
)

// program compiles the cases in testdata with a driver, with a sanitizer's flags if any are given.
func program(t *testing.T, flags ...string) (path string, env []string) {
	t.Helper()
	library, kernels := Build(t, Flags(flags...)), Kernels(t)
	dir := t.TempDir()
	path = filepath.Join(dir, "check")
	files := must.Get(filepath.Glob("testdata/*.c"))(t)
	args := append([]string{"-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o", path},
		flags...)
	args = append(append(args, files...), library, "-Wl,-rpath,"+filepath.Dir(library), "-lpthread", "-ldl")
	out, err := exec.Command("cc", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path, append(os.Environ(), "FAKECUDA_KERNELS="+kernels, "FAKECUDA_LOG="+filepath.Join(dir, "log"))
}

func cases(t *testing.T, flags ...string) {
	path, env := program(t, flags...)
	list := exec.Command(path)
	list.Env = env
	names := must.Get(list.Output())(t)
	for _, name := range strings.Fields(string(names)) {
		if strings.HasPrefix(name, "image_") {
			continue // needs an image as its argument
		}
		if slices.Contains(flags, "-fsanitize=thread") && slices.Contains(racing, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c := exec.Command("timeout", "-s", "ABRT", "60", path, name, "kernels/standard.ptx")
			c.Env = env
			out, err := c.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Empty(t, string(out))
		})
	}
}

func TestDriver(t *testing.T) { cases(t) }

// What a program has not released is reported when it ends.
func TestDriver_LeaksAtExit(t *testing.T) {
	path, env := program(t)
	log := filepath.Join(t.TempDir(), "log")
	c := exec.Command(path, "a_device_is_lost", "kernels/standard.ptx")
	c.Env = append(env, "FAKECUDA_LOG="+log, "FAKECUDA_LEAKS=1")
	require.NoError(t, c.Run())
	require.Equal(t, "fakecuda: left at the end of the process:\nmodule 1\n\n", string(must.Get(os.ReadFile(log))(t)))
}

func TestDriver_ThreadSanitizer(t *testing.T) {
	machine.NeedNative(t, "the thread sanitizer does not work under qemu-user")
	cases(t, "-fsanitize=thread")
}

// racing lists the cases in which streams access the same bytes without an order, to test that this is reported. The
// thread sanitizer reports it too.
var racing = []string{"unordered_streams_are_reported", "an_event_orders_only_what_was_before_it",
	"readers_need_no_order",
	"the_default_stream_orders_blocking_streams"}

// The driver keeps destroyed handles, which is not a leak of the tests.
func TestDriver_AddressSanitizer(t *testing.T) {
	machine.NeedNative(t, "the address sanitizer runs out of addresses under qemu-user")
	t.Setenv("ASAN_OPTIONS", "detect_leaks=0")
	cases(t, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
}
