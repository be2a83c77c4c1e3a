package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/inspect"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// One file has variants for every target, and gives the same results on every device of this machine.
func TestDeploy_EveryDevice(t *testing.T) {
	t.Setenv("POCL_DEVICES", "pthread basic")
	library := filepath.Join(t.TempDir(), "fat.so")
	require.NoError(t, build(t.Context(), defaultTargets(), library))
	report := must.Get(inspect.File(library))(t)
	for _, f := range report.Functions {
		if f.Name == "dense" || f.Name == "softmax" {
			require.Len(t, f.Variants, len(defaultTargets()), f.Name)
		}
	}
	var out bytes.Buffer
	require.NoError(t, runLibrary(t.Context(), library, &out))
	for _, d := range runtime.Devices() {
		if d.Err == nil && (d.Device == runtime.CPU || d.Device.Type.String() == "opencl") {
			require.Regexp(t, "(?m)^"+d.Device.String()+" +row 0: 0.13527 0.00396 0.00396 …, all 1650 elements as on the CPU$",
				out.String())
		}
	}
}

// A file without a variant for a device says so, and runs on the others.
func TestDeploy_NoVariant(t *testing.T) {
	library := filepath.Join(t.TempDir(), "fat.so")
	require.NoError(t, build(t.Context(), []string{"opencl", "cuda -arch=sm_80"}, library))
	var out bytes.Buffer
	require.NoError(t, runLibrary(t.Context(), library, &out))
	require.Contains(t, out.String(), "cpu:0      no variant: call function: dense: argument 0 (a): the tensor is on "+
		"cpu:0, and the file has dense for opencl, cuda (cuda -arch=sm_80): copy the tensor to a device of these, or build "+
		"dense for cpu, too")
}

// The C program compiles without warnings; make demo runs it.
func TestDeploy_CCompiles(t *testing.T) {
	said, err := exec.Command("cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-I../../include", "-c",
		"run/fat.c", "-o", filepath.Join(t.TempDir(), "fat.o")).CombinedOutput()
	require.NoError(t, err, string(said))
}

func TestDeploy_Refuses(t *testing.T) {
	for want, targets := range map[string][]string{"is in the list twice": {"c", "opencl", "c"},
		"no target kind": {"c", "opencx"}} {
		err := build(t.Context(), targets, filepath.Join(t.TempDir(), "fat.so"))
		require.ErrorContains(t, err, want, strings.Join(targets, ";"))
	}
	require.Error(t, runLibrary(t.Context(), filepath.Join(t.TempDir(), "absent.so"), &bytes.Buffer{}))
}
