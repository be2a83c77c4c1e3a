package main_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/fakecuda"
	"tvmgo/internal/testing/must"
)

// cuda returns an environment with the two cards of the fake driver. Misuse of the driver, and objects that a program
// leaves behind, fail the test.
func cuda(t *testing.T, l *lab) []string {
	t.Helper()
	dir := must.Get(os.MkdirTemp(l.path("home"), "cuda"))(t)
	copied := func(from, name string) string { // programs in the lab do not see the source tree
		data := must.Get(os.ReadFile(from))(t)
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o755))
		return path
	}
	log := filepath.Join(dir, "reports")
	t.Cleanup(func() {
		reports, err := os.ReadFile(log)
		if !os.IsNotExist(err) {
			require.NoError(t, err)
			require.Empty(t, string(reports), "misuse that the fake driver saw")
		}
	})
	return []string{"TVMGO_CUDA_LIBRARY=" + copied(fakecuda.Build(t), "libcuda.so.1"),
		"FAKECUDA_KERNELS=" + copied(fakecuda.Kernels(t), "kernels.so"),
		"FAKECUDA_LOG=" + log, "FAKECUDA_LEAKS=1", "TVMGO_CACHE_DIR=" + dir, "TVMGO_NVRTC=" + filepath.Join(dir, "none")}
}

// Every CUDA module has Apache TVM's output through both C ABIs and through C++, on each of two devices.
func TestArtifacts_CUDA(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	inC := l.compile(t, "gpu_artifact_cuda", "gpu_artifact_test.c", l.linked()...)
	inCPP := l.compileCPP(t, "hpp_cuda", "-std=c++17")
	functions := []string{"addone", "vadd", "matmul"}
	for _, file := range []string{l.modern("gpu_cuda_ptx"), l.classic("gpu_cuda")} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			env := cuda(t, l)
			for device := range 2 {
				id := strconv.Itoa(device)
				l.runOK(t, env, append([]string{inC, file, l.path("artifacts"), "2", id}, functions...)...)
				l.runOK(t, env, append([]string{inCPP, "--device", "cuda:" + id, file, l.path("artifacts")}, functions...)...)
			}
			l.runOK(t, append(env, "LD_BIND_NOW=1", "TVMGO_PRIVATE_LOAD=1"),
				append([]string{inC, file, l.path("artifacts"), "2", "1"}, functions...)...)
			l.runOK(t, append(env, "FAKECUDA_DELAY_US=200"), append([]string{inC, file, l.path("artifacts"), "2", "0"},
				functions...)...)
		})
	}
}

// CUDA through the device table, and modules of both generations through both C ABIs, with handlers, and in forked
// children.
func TestCUDA(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	program := l.compile(t, "gpu_test_cuda", "gpu_test.c", append(l.linked(), "-DCUDA")...)
	// validation keeps records
	t.Run("table", func(t *testing.T) { l.runOK(t, append(cuda(t, l), "FAKECUDA_LEAKS=0"), program, "table") })
	for _, file := range []string{l.modern("gpu_cuda_ptx"), l.classic("gpu_cuda")} {
		for _, what := range []string{"module", "signals", "defaults", "fork", "fork-meanwhile"} {
			t.Run(what+" "+filepath.Base(file), func(t *testing.T) {
				l.runOK(t, cuda(t, l), program, what, file, l.path("artifacts"))
			})
		}
	}
}

// If there is no driver, an unsuitable or an old one, or no card, the errors say so, and everything else works.
func TestCUDA_Absent(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	program := l.compile(t, "gpu_absent_test", "gpu_absent_test.c", l.linked()...)
	env := cuda(t, l)
	for _, c := range []struct{ variable, want string }{
		{"TVMGO_CUDA_LIBRARY=/nowhere/libcuda.so.1", "CUDA is not usable: /nowhere/libcuda.so.1: cannot open"},
		{"TVMGO_CUDA_LIBRARY=libm.so.6", "has no function cuInit"},
		{"FAKECUDA_DEVICES=0", "CUDA_ERROR_NO_DEVICE"},
		{"FAKECUDA_VERSION=10020", "10.2"},
	} {
		t.Run(c.variable, func(t *testing.T) {
			r := l.run(t, append(env, c.variable), program, "2", l.modern("multi_c"))
			require.True(t, r.ok, r.out)
			require.Contains(t, r.out, c.want)
		})
	}
	r := l.run(t, append(env, "FAKECUDA_LEAKS=0"), program, "2", l.modern("multi_c"))
	require.False(t, r.ok, "the program sees that there is a device: %s", r.out)
}

// Starting the driver does not change the host's signal handlers.
func TestSignals_CUDA(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	program := l.compile(t, "signals_cuda", "signals_test.c", "-ldl")
	args := []string{program, l.library(), l.modern("multi_c"), l.carrier()}
	args = args[:len(args):len(args)]
	for _, when := range []string{"driver", "defaults"} {
		t.Run(when, func(t *testing.T) { l.runOK(t, cuda(t, l), append(args, when, l.modern("gpu_cuda_ptx"))...) })
	}
	r := l.run(t, cuda(t, l), append(args, "none", strconv.Itoa(int(syscall.SIGTERM)), l.modern("gpu_cuda_ptx"))...)
	require.Equal(t, syscall.SIGTERM, r.signal, r.out)
}
