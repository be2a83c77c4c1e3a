//go:build cuda

package bench

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/fakecuda"
	"tvmgo/internal/testing/must"
)

// cardResult is the output of the program bench/card.
type cardResult struct {
	Device        string  `json:"device"`
	Capability    string  `json:"compute_capability"`
	DriverVersion string  `json:"driver_version"`
	Peak          float64 `json:"peak_gb_per_s"`
	Rounds        int     `json:"rounds"`
	Quick         bool    `json:"quick"`
	Sizes         map[string]int64
	Rows          []cardRow
}

type cardRow struct {
	Name, Unit, Relation string
	Ours, Raw            *float64
	Ratio, Difference    *float64
	OursQuartiles        []float64 `json:"ours_quartiles"`
	Target               *float64
	Met                  *bool
	GBPerS               *float64 `json:"gb_per_s"`
	Share                *float64 `json:"share_of_peak"`
}

const cardArtifact = "../testdata/artifacts/classic/gpu_cuda.so"

// library returns the path of libtvmgo.so: the one that make test built, or else a new one.
func library(t *testing.T) string {
	if dist := os.Getenv("TVMGO_DIST"); dist != "" {
		return filepath.Join(dist, "lib", "libtvmgo.so")
	}
	path := filepath.Join(t.TempDir(), "libtvmgo.so")
	out, err := exec.Command("go", "build", "-tags", "cuda", "-buildmode=c-shared", "-o", path, "../capi").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// cardProgram compiles bench/card as build/scripts/gpu-bundle.sh does.
func cardProgram(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	lib := library(t)
	sources := must.Get(filepath.Glob("card/*.c"))(t)
	program := filepath.Join(t.TempDir(), "cuda_card")
	args := append([]string{"-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-I../build/include",
		"-I../include", "-o", program}, sources...)
	out, err := exec.Command("cc", append(args, lib, "-Wl,-rpath,"+filepath.Dir(lib), "-ldl", "-lm")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// The program measures all rows on the fake driver, and reports errors and wrong results.
func TestCard(t *testing.T) {
	program := cardProgram(t)
	log := filepath.Join(t.TempDir(), "driver.log")
	env := append(os.Environ(), "FAKECUDA_LOG="+log, "TVMGO_CUDA_LIBRARY="+fakecuda.Build(t),
		"FAKECUDA_KERNELS="+fakecuda.Kernels(t))
	run := func(env []string, args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}

	file := filepath.Join(t.TempDir(), "card.json")
	out, err := run(env, "--quick", "--json", file, "card", cardArtifact)
	require.NoError(t, err, "%s", out)
	require.Empty(t, out)
	text := must.Get(os.ReadFile(file))(t)
	var got cardResult
	require.NoError(t, json.Unmarshal(text, &got), "%s", text)
	require.Equal(t, "NVIDIA H200", got.Device)
	require.Equal(t, "9.0", got.Capability)
	require.Equal(t, "13.0", got.DriverVersion)
	require.InDelta(t, 4917, got.Peak, 1, "3201 MHz, 6144 bits")
	require.Equal(t, 2, got.Rounds)
	require.True(t, got.Quick)
	require.Len(t, got.Sizes, 5)
	var names, aimed []string
	for _, r := range got.Rows {
		names = append(names, r.Name)
		require.NotNil(t, r.Ours, r.Name)
		require.Positive(t, *r.Ours, r.Name)
		require.Len(t, r.OursQuartiles, 2, r.Name)
		require.LessOrEqual(t, r.OursQuartiles[0], *r.Ours, r.Name)
		require.GreaterOrEqual(t, r.OursQuartiles[1], *r.Ours, r.Name)
		require.Contains(t, []string{"ns", "us", "GB/s"}, r.Unit)
		require.Equal(t, r.Target == nil, r.Met == nil, r.Name)
		require.Equal(t, r.Target == nil, r.Relation == "record", r.Name)
		if r.Raw == nil {
			require.Equal(t, "workspace of 4 KiB, hit", r.Name)
			continue
		}
		value := r.Ratio
		if r.Relation == "difference at most" {
			value = r.Difference
			require.InDelta(t, *r.Ours-*r.Raw, *value, 1e-2**r.Ours, r.Name)
		} else {
			require.InEpsilon(t, *r.Ours / *r.Raw, *value, 1e-3, r.Name)
		}
		if r.Target != nil {
			aimed = append(aimed, r.Name)
			require.Equal(t, *r.Met, *value <= *r.Target != (r.Relation == "ratio at least"), r.Name)
		}
	}
	require.Equal(t, []string{"launch", "launch by the generated host function", "graph of dependent launches",
		"host to device, cuda_host", "host to device, pinned_alloc", "device to host, cuda_host",
		"device to host, pinned_alloc",
		"on the device, read and written", "stream-ordered allocation and free, 1 MiB", "workspace of 4 KiB, hit",
		"wait for an idle stream", "vadd, by the device's timer"}, names)
	require.Len(t, aimed, 7)
	last := got.Rows[len(got.Rows)-1]
	bytes := float64(3 * 4 * got.Sizes["vadd_elements"])
	require.InEpsilon(t, bytes/(*last.Ours*1e3), *last.GBPerS, 1e-3)
	require.InEpsilon(t, *last.GBPerS/got.Peak, *last.Share, 1e-3)
	require.NoFileExists(t, log, "misuse of the driver")

	// An error ends the program with a message.
	for _, c := range []struct {
		env  []string
		args []string
		want string
	}{
		{[]string{"TVMGO_CUDA_LIBRARY=/nowhere/libcuda.so.1"}, []string{"card", cardArtifact}, "CUDA is not usable"},
		{nil, []string{"--device", "7", "card", cardArtifact}, "there is no device cuda:7"},
		{nil, []string{"nowhere", cardArtifact}, "nowhere/kernels.ptx"},
		{nil, []string{"card", "nowhere.so"}, "nowhere.so"},
		{[]string{"FAKECUDA_KERNELS=" + wrongKernels(t)}, []string{"card", cardArtifact},
			"the first launch: the result is 3, not 1"},
	} {
		out, err := run(append(slices.Clone(env), c.env...), append([]string{"--quick"}, c.args...)...)
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, "%v", c.args)
		require.Equal(t, 1, exit.ExitCode(), "%s", out)
		require.Contains(t, out, c.want)
	}
	for _, args := range [][]string{{}, {"card"}, {"card", cardArtifact, "more"}, {"--rounds", "card"}, {"--rounds"},
		{"--json"}, {"--fast", "card", cardArtifact}} {
		out, err := run(env, args...)
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, "%v", args)
		require.Equal(t, 2, exit.ExitCode(), "%s", out)
		require.Contains(t, out, "usage: cuda_card")
	}
}

// wrongKernels are the kernels of the program, except that addone adds 3.
func wrongKernels(t *testing.T) string {
	source := filepath.Join(t.TempDir(), "wrong.c")
	require.NoError(t, os.WriteFile(source, []byte(`#include "fakecuda_kernel.h"
static size_t one(const fakecuda_launch *l) { (void)l; return 4; }
static int add3(const fakecuda_launch *l) {
  *FAKECUDA_ARG(l, 1, float *) = *FAKECUDA_ARG(l, 0, const float *) + 3;
  return 0;
}
FAKECUDA_KERNEL(wrong, .name = "addone_kernel", .run = add3, .max_threads = 256, .nparams = 3,
                .params = {{8, FAKECUDA_READS, one}, {8, FAKECUDA_WRITES, one}, {4, FAKECUDA_VALUE, NULL}})
`), 0o600))
	return fakecuda.Kernels(t, source)
}
