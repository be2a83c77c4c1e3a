//go:build cgo && cuda

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/fakecuda"
)

// fakeCUDA returns the environment in which the fake driver has two devices.
func fakeCUDA(t *testing.T) []string {
	return []string{"TVMGO_CUDA_LIBRARY=" + fakecuda.Build(t), "TVMGO_CACHE_DIR=" + t.TempDir()}
}

func TestDoctor_CUDA(t *testing.T) {
	env := fakeCUDA(t)
	found := doctor(t, env...)
	f := found["cuda"]
	require.True(t, f.Usable, f.Verdict)
	require.Len(t, f.Devices, 2)
	require.Equal(t, strings.TrimPrefix(env[0], "TVMGO_CUDA_LIBRARY="), f.Library)
	require.Equal(t, "13.0", f.Version)
	require.Equal(t, "usable: "+strings.Join(f.Devices, ", ")+"; opened "+f.Library+", the driver of CUDA 13.0", f.Verdict)
	require.NotContains(t, found, "cuda_host", "it is memory of cuda")
	require.NotContains(t, found, "cuda_managed", "it is memory of cuda")
}

// The attributes and properties of each device are shown; CUDA devices have more properties.
func TestDevices_CUDA(t *testing.T) {
	env := fakeCUDA(t)
	status, stdout, stderr := builtWith(t, ".", env, "devices", "--json")
	require.Zero(t, status, stderr)
	var report struct{ Devices []deviceRow }
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	status, text, _ := builtWith(t, ".", env, "devices")
	require.Zero(t, status)
	uuids := map[any]bool{}
	seen := map[string]int{}
	for _, row := range report.Devices {
		if !strings.HasPrefix(row.Type, "cuda") {
			continue
		}
		seen[row.Type]++
		require.True(t, row.Present, row.Reason)
		require.Contains(t, text, row.Device)
		require.Equal(t, "9.0", row.Attributes["compute_version"])
		require.Nil(t, row.Attributes["driver_version"])
		require.Equal(t, "sm_90", row.Properties["arch"])
		for _, p := range []string{"memory_clock_rate", "memory_bus_width", "max_shared_memory_per_block_optin",
			"max_threads_per_multi_processor"} {
			require.Positive(t, row.Properties[p], p)
		}
		require.Regexp(t, `^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, row.Properties["uuid"])
		require.Regexp(t, `^[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.0$`, row.Properties["pci_bus_id"])
		require.Contains(t, text, row.Properties["uuid"])
		uuids[row.Properties["uuid"]] = true
	}
	require.Equal(t, map[string]int{"cuda": 2, "cuda_host": 2, "cuda_managed": 2}, seen)
	require.Len(t, uuids, 2)
}

// If CUDA is not usable, doctor, devices and the errors of commands that need a device name the cause and the remedy.
func TestDoctor_WhatIsWrongWithCUDA(t *testing.T) {
	base := fakeCUDA(t)
	notALibrary := filepath.Join(t.TempDir(), "libtext.so")
	require.NoError(t, os.WriteFile(notALibrary, []byte("no library"), 0o644))
	for name, c := range map[string]struct {
		env         []string
		cause, cure string
	}{
		"no driver": {[]string{"TVMGO_CUDA_LIBRARY=/no/such/libcuda.so.1"}, "/no/such/libcuda.so.1: cannot open",
			"install NVIDIA's driver"},
		"not a library": {[]string{"TVMGO_CUDA_LIBRARY=" + notALibrary}, notALibrary, "install NVIDIA's driver"},
		"not a driver": {[]string{"TVMGO_CUDA_LIBRARY=libm.so.6"}, "has no function cuInit",
			"name the driver's library in TVMGO_CUDA_LIBRARY"},
		"no device": {[]string{"FAKECUDA_DEVICES=0"}, "(CUDA_ERROR_NO_DEVICE, 100)",
			"start a container with access to them"},
		"none visible": {[]string{"FAKECUDA_DEVICES=0", "CUDA_VISIBLE_DEVICES=7"}, "(CUDA_ERROR_NO_DEVICE, 100)",
			`CUDA_VISIBLE_DEVICES is "7": unset it`},
		"old driver": {[]string{"FAKECUDA_VERSION=10020"}, "is the driver of CUDA 10.2, but 11.0 is required",
			"update the NVIDIA driver"},
	} {
		t.Run(name, func(t *testing.T) {
			env := append(base[:len(base):len(base)], c.env...)
			found := doctor(t, env...)
			f := found["cuda"]
			require.True(t, f.Built)
			require.False(t, f.Usable, f.Verdict)
			require.Contains(t, f.Verdict, c.cause)
			require.Contains(t, f.Verdict, c.cure)
			require.True(t, found["cpu"].Usable, "other devices still work")

			_, stdout, _ := builtWith(t, ".", env, "devices")
			require.Contains(t, stdout, "absent: "+f.Verdict)
			status, _, stderr := builtWith(t, ".", env, "run", artifacts+"/modern/gpu_opencl.so", "vadd", "--device", "cuda:0")
			require.Equal(t, 1, status)
			require.Contains(t, stderr, f.Verdict)
			require.Equal(t, 1, strings.Count(stderr, f.Verdict))
		})
	}
}
