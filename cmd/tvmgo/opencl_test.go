//go:build cgo && opencl

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/arguments"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheelmodels"
)

// twoDevices is the environment in which PoCL has two devices and does not use caches of earlier runs.
func twoDevices(t *testing.T) []string {
	return []string{"POCL_DEVICES=pthread basic", "TVMGO_CACHE_DIR=" + t.TempDir()}
}

// needOpenCL skips a test if there are not two OpenCL devices. On CI it fails.
func needOpenCL(t *testing.T, env []string) {
	t.Helper()
	if f := doctor(t, env...)["opencl"]; len(f.Devices) < 2 {
		require.Empty(t, os.Getenv("CI"), f.Verdict)
		t.Skip("there are no two OpenCL devices: ", f.Verdict)
	}
}

func TestRun_OpenCL(t *testing.T) {
	env := twoDevices(t)
	needOpenCL(t, env)
	out := filepath.Join(t.TempDir(), "out.npy")
	for _, generation := range []string{"modern", "classic"} {
		file := filepath.Join(artifacts, generation, "gpu_opencl.so")
		for _, device := range []string{"opencl:0", "opencl:1"} {
			for function, like := range map[string]string{"addone": "float32[1001]", "vadd": "float32[1001]",
				"matmul": "float32[64,64]"} {
				args := append([]string{"run", file, function, "--device", device, "--out", out, "--like", like},
					inputsOf(t, function)...)
				status, stdout, stderr := builtWith(t, ".", env, args...)
				require.Zero(t, status, stderr)
				require.Contains(t, stdout, function+" of "+file+" ran on "+device)
				requireClose(t, floats(t, filepath.Join(artifacts, function+"_out.npy")), floats(t, out),
					file+" "+function+" "+device)
				require.NoError(t, os.Remove(out))
			}
		}
		status, _, stderr := builtWith(t, ".", env, append([]string{"run", file, "vadd", "--out", out, "--like",
			"float32[1001]"}, inputsOf(t, "vadd")...)...)
		require.Equal(t, 1, status)
		require.Contains(t, stderr, "device_type")
		status, _, stderr = builtWith(t, ".", env, "run", file, "vadd", "--device", "opencl:2")
		require.Equal(t, 1, status)
		require.Contains(t, stderr, "there is no device opencl:2: this machine has 2, from opencl:0 to opencl:1")
	}
}

// Each attribute that OpenCL devices have is shown for each device.
func TestDevices_OpenCL(t *testing.T) {
	env := twoDevices(t)
	needOpenCL(t, env)
	status, stdout, stderr := builtWith(t, ".", env, "devices", "--json")
	require.Zero(t, status, stderr)
	var report struct{ Devices []deviceRow }
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	status, text, _ := builtWith(t, ".", env, "devices")
	require.Zero(t, status)
	names := map[string]bool{}
	for _, row := range report.Devices {
		if row.Type != "opencl" {
			continue
		}
		require.True(t, row.Present)
		require.Contains(t, text, row.Device)
		require.Contains(t, text, row.Name)
		names[row.Name] = true
		for _, a := range []string{"max_threads_per_block", "warp_size", "max_shared_memory_per_block", "max_clock_rate",
			"multi_processor_count",
			"api_version", "total_global_memory"} {
			require.Positive(t, row.Attributes[a], a)
		}
		for _, a := range []string{"compute_version", "device_name", "driver_version", "max_thread_dimensions"} {
			require.NotEmpty(t, row.Attributes[a], a)
		}
	}
	require.Len(t, names, 2)
}

func TestDoctor_OpenCL(t *testing.T) {
	env := twoDevices(t)
	needOpenCL(t, env)
	f := doctor(t, env...)["opencl"]
	require.True(t, f.Usable)
	require.Len(t, f.Devices, 2)
	require.Regexp(t, `/libOpenCL\.so`, f.Library)
	require.Len(t, f.Platforms, 1)
	require.Regexp(t, `^0: .+ \(OpenCL [123]\.[0-9]`, f.Platforms[0])
	for _, part := range append([]string{f.Library, "opencl:0 ", "opencl:1 "}, f.Platforms...) {
		require.Contains(t, f.Verdict, part)
	}
	require.Empty(t, f.LeftOut)

	// A driver that cannot be opened does not affect the others, and is named.
	vendors := t.TempDir()
	icds := must.Get(filepath.Glob("/etc/OpenCL/vendors/*.icd"))(t)
	for _, icd := range icds {
		require.NoError(t, os.Symlink(icd, filepath.Join(vendors, filepath.Base(icd))))
	}
	require.NoError(t, os.WriteFile(filepath.Join(vendors, "zz.icd"), []byte("libnone.so.1\n"), 0o644))
	f = doctor(t, append(env, "OCL_ICD_VENDORS="+vendors)...)["opencl"]
	require.True(t, f.Usable, f.Verdict)
	require.Len(t, f.LeftOut, 1)
	require.Contains(t, f.LeftOut[0], "zz.icd names a driver that cannot be opened: libnone.so.1: ")
	require.Contains(t, f.Verdict, "; not used: "+f.LeftOut[0])
}

// If OpenCL is not usable, doctor, devices and the errors of commands that need a device name the cause and the remedy.
func TestDoctor_WhatIsWrong(t *testing.T) {
	base := twoDevices(t)
	needOpenCL(t, base)
	vendors := func(icd ...string) string {
		dir := t.TempDir()
		for _, text := range icd {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "x.icd"), []byte(text), 0o644))
		}
		return "OCL_ICD_VENDORS=" + dir
	}
	notADriver := filepath.Join(t.TempDir(), "libtext.so")
	require.NoError(t, os.WriteFile(notADriver, []byte("no library"), 0o644))
	for name, c := range map[string]struct{ env, cause, cure string }{
		"no loader": {"TVMGO_OPENCL_LIBRARY=/no/such/libOpenCL.so", "/no/such/libOpenCL.so: cannot open",
			"install the OpenCL loader"},
		"not a loader": {"TVMGO_OPENCL_LIBRARY=libm.so.6", "has no function clGetPlatformIDs",
			"name the loader's file in TVMGO_OPENCL_LIBRARY"},
		"no driver": {vendors(), "finds no OpenCL driver: no file in ", "install a driver"},
		"driver missing": {vendors("/no/such/driver.so\n"),
			"x.icd names a driver that cannot be opened: /no/such/driver.so: cannot open", "install a driver"},
		"driver broken": {vendors(notADriver), "x.icd names a driver that cannot be opened: " + notADriver + ": ",
			"install a driver"},
		"not a driver": {vendors("libm.so.6"), "x.icd: the drivers named there have no platform", "install a driver"},
		"empty file":   {vendors(""), "x.icd does not name one library", "install a driver"},
		"no device":    {"POCL_DEVICES=", "reports no usable device: platform 0: ", "install a driver for the device"},
		"no such platform": {"TVMGO_OPENCL_PLATFORM=absent",
			`TVMGO_OPENCL_PLATFORM is "absent", which matches no platform`, "there are 0: "},
		"no such platforms": {"TVMGO_OPENCL_PLATFORM=7", `TVMGO_OPENCL_PLATFORM is "7"`, "there are 0: "},
	} {
		t.Run(name, func(t *testing.T) {
			env := append(base[:len(base):len(base)], c.env)
			found := doctor(t, env...)
			f := found["opencl"]
			require.True(t, f.Built)
			require.False(t, f.Usable)
			require.Contains(t, f.Verdict, c.cause)
			require.Contains(t, f.Verdict, c.cure)
			require.True(t, found["cpu"].Usable, "other devices still work")

			_, stdout, _ := builtWith(t, ".", env, "devices")
			require.Contains(t, stdout, "absent: "+f.Verdict)
			status, _, stderr := builtWith(t, ".", env, "run", artifacts+"/modern/gpu_opencl.so", "vadd", "--device", "opencl:0")
			require.Equal(t, 1, status)
			require.Contains(t, stderr, f.Verdict)
			require.Equal(t, 1, strings.Count(stderr, f.Verdict))
		})
	}
}

// A library packed from a kernel in C and one in OpenCL C runs and verifies its test vectors on the host and on both
// devices.
func TestPack_OpenCL(t *testing.T) {
	env := twoDevices(t)
	needOpenCL(t, env)
	dir := t.TempDir()
	inC, inCL, library, out := filepath.Join(dir, "k.c"), filepath.Join(dir, "k.cl"), filepath.Join(dir,
		"k.so"), filepath.Join(dir, "out.npy")
	require.NoError(t, os.WriteFile(inC,
		[]byte(`void add(const float* a, const float* b, int n, float* c) { for (int i = 0; i < n; i++) c[i] = a[i] + `+
			`b[i]; }`), 0o644))
	require.NoError(t, os.WriteFile(inCL, []byte(`__kernel void add(__global const float* a, __global const float* b,
		int n, __global float* c) {
  int i = get_global_id(0);
  if (i < n) c[i] = a[i] + b[i];
}`), 0o644))
	npy := func(name string) string {
		return must.Get(filepath.Abs(filepath.Join(artifacts, "vadd_"+name+".npy")))(t)
	}
	status, _, stderr := builtWith(t, dir, env, "pack", inC, inCL, "-o", library,
		"--func", "add(a: const float32[n], b: const float32[n], n: int32, c: out float32[n]) launch blockIdx.x=ceildiv(n, "+
			"64), threadIdx.x=64",
		"--test", npy("in0")+","+npy("in1")+",i:1001="+npy("out"))
	require.Zero(t, status, stderr)
	for _, device := range []string{"cpu:0", "opencl:0", "opencl:1"} {
		status, _, stderr := builtWith(t, dir, env, "run", library, "add", "--device", device, "--in", npy("in0"), "--in",
			npy("in1"),
			"--in", "i:1001", "--out", out, "--like", "float32[1001]")
		require.Zero(t, status, stderr)
		requireClose(t, floats(t, npy("out")), floats(t, out), device)
		require.NoError(t, os.Remove(out))
		status, stdout, stderr := builtWith(t, dir, env, "verify", library, "--device", device)
		require.Zero(t, status, stdout+stderr)
		require.Contains(t, stdout, "add")
	}
}

// Models run on the devices of --device, or on those that their kernels need; inputs are copied to them.
func TestRunModel_OpenCL(t *testing.T) {
	env := twoDevices(t)
	needOpenCL(t, env)
	ran := 0
	for _, m := range wheelmodels.Need(t) {
		if m.Way != "opencl" || len(m.Globals) > 0 || m.Devices[0] != "opencl" || m.Program == "heterogeneous" || ran == 2 {
			continue
		}
		c := &m.Cases[0]
		dir := t.TempDir()
		flags := &runFlags{}
		for i := range c.Inputs {
			require.True(t, flags.addValue(t, dir, parameterName(functionOf(&m, c.Function), i), &c.Inputs[i]))
		}
		var want []wheelmodels.Value
		require.True(t, flatten(&want, c.Output))
		for _, device := range []string{"", "opencl:1,cpu"} {
			args := []string{"run", m.Path, c.Function, "--device", device, "--repeat", "2",
				"--profile", filepath.Join(dir, "trace.json")}
			for _, in := range flags.in {
				args = append(args, "--in", in)
			}
			for i := range want {
				args = append(args, "--out", filepath.Join(dir, fmt.Sprintf("out%d.npy", i)))
			}
			status, stdout, stderr := builtWith(t, ".", env, args...)
			require.Zero(t, status, "%s: %s", m.Name, stderr)
			on, _, _ := strings.Cut(cmp.Or(device, "opencl:0"), ",")
			require.Contains(t, stdout, c.Function+" of "+m.Path+" ran on "+on+", cpu:0\n")
			require.Contains(t, stdout, " "+on+" ", "the table has times of the device: %s", stdout)
			for i := range want {
				got := must.Get(arguments.ReadNPY(filepath.Join(dir, fmt.Sprintf("out%d.npy", i))))(t)
				require.Equal(t, want[i].Tensor.Shape, got.Shape)
				require.Equal(t, want[i].Tensor.DType, got.DType)
				if got.DType == dlpack.Float32 {
					requireClose(t, asFloats(want[i].Tensor.Data), asFloats(got.Data), m.Name)
				} else {
					require.Equal(t, want[i].Tensor.Data, got.Data, m.Name)
				}
			}
		}
		ran++
	}
	require.Equal(t, 2, ran)
}
