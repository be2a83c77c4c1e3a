package main_test

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// openCL is the environment of a user's first run, with empty caches.
func openCL(t *testing.T, l *lab) []string {
	t.Helper()
	needOpenCL(t)
	cache := must.Get(os.MkdirTemp(l.path("home"), "cache"))(t)
	return []string{twoDevices, "POCL_CACHE_DIR=" + cache, "TVMGO_CACHE_DIR=" + cache}
}

// Every OpenCL module has Apache TVM's output through both C ABIs and through C++, on each of two devices.
func TestArtifacts_OpenCL(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	env := openCL(t, l)
	inC := l.compile(t, "gpu_artifact_test", "gpu_artifact_test.c", l.linked()...)
	inCPP := l.compileCPP(t, "hpp_opencl", "-std=c++17")
	functions := []string{"addone", "vadd", "matmul"}
	for _, file := range []string{l.modern("gpu_opencl"), l.classic("gpu_opencl")} {
		for device := range 2 {
			id := strconv.Itoa(device)
			l.runOK(t, env, append([]string{inC, file, l.path("artifacts"), "4", id}, functions...)...)
			l.runOK(t, env, append([]string{inCPP, "--device", "opencl:" + id, file, l.path("artifacts")}, functions...)...)
		}
		l.runOK(t, append(env, "LD_BIND_NOW=1", "TVMGO_PRIVATE_LOAD=1"),
			append([]string{inC, file, l.path("artifacts"), "4", "1"}, functions...)...)
	}
}

// Starting the driver and its compiler does not change the host's signal handlers, nor the defaults.
func TestSignals_OpenCL(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	program := l.compile(t, "signals_opencl", "signals_test.c", "-ldl")
	args := []string{program, l.library(), l.modern("multi_c"), l.carrier()}
	args = args[:len(args):len(args)]
	for _, when := range []string{"driver", "defaults"} {
		t.Run(when, func(t *testing.T) { l.runOK(t, openCL(t, l), append(args, when, l.modern("gpu_opencl"))...) })
	}
	t.Run("none", func(t *testing.T) {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGABRT,
			syscall.SIGSEGV} {
			r := l.run(t, openCL(t, l), append(args, "none", strconv.Itoa(int(s)), l.modern("gpu_opencl"))...)
			require.Equal(t, s, r.signal, "%v:\n%s", s, r.out)
		}
	})
}
