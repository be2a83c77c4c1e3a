package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
)

// twoDevices are the CPU devices of PoCL, the OpenCL driver of the tests.
const twoDevices = "POCL_DEVICES=pthread basic"

// needOpenCL skips a test without PoCL; on CI the test fails.
func needOpenCL(t *testing.T) {
	t.Helper()
	machine.NeedNative(t, "the drivers of this machine are for x86-64")
	drivers, _ := filepath.Glob("/etc/OpenCL/vendors/pocl*.icd")
	if len(drivers) > 0 {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatal("PoCL is not installed")
	}
	t.Skip("PoCL is not installed: pocl-opencl-icd, ocl-icd-libopencl1")
}

// OpenCL through the device table, and modules of both generations through both C ABIs.
func TestOpenCL(t *testing.T) {
	t.Parallel()
	needOpenCL(t)
	l := newLab(t)
	program := l.compile(t, "opencl_test", "gpu_test.c", l.linked()...)
	env := []string{twoDevices}
	t.Run("table", func(t *testing.T) { l.runOK(t, env, program, "table") })
	for _, file := range []string{l.modern("gpu_opencl"), l.classic("gpu_opencl")} {
		for _, what := range []string{"module", "signals", "defaults", "fork", "fork-meanwhile"} {
			t.Run(what, func(t *testing.T) { l.runOK(t, env, program, what, file, l.path("artifacts")) })
		}
	}
}

// If there is no loader, driver or device, the errors say so, and everything else works.
func TestOpenCL_Absent(t *testing.T) {
	t.Parallel()
	needOpenCL(t)
	l := newLab(t)
	program := l.compile(t, "opencl_absent_test", "gpu_test.c", l.linked()...)
	for _, c := range []struct{ variable, want string }{
		{"TVMGO_OPENCL_LIBRARY=/nowhere/libOpenCL.so.1", "OpenCL is not usable: /nowhere/libOpenCL.so.1: cannot open"},
		{"TVMGO_OPENCL_LIBRARY=libm.so.6", "has no function clGetPlatformIDs"},
		{"OCL_ICD_VENDORS=/nowhere", "finds no OpenCL driver: no file in /nowhere names one (CL_PLATFORM_NOT_FOUND_KHR " +
			"(-1001)): install a driver"},
		{"POCL_DEVICES=none", "reports no usable device: platform 0: Portable Computing Language: " +
			"CL_DEVICE_NOT_FOUND (-1)"},
		{"TVMGO_OPENCL_PLATFORM=nvidia",
			`TVMGO_OPENCL_PLATFORM is "nvidia", which matches no platform: there are 0: Portable Computing Language`},
		{"TVMGO_OPENCL_PLATFORM=1", `TVMGO_OPENCL_PLATFORM is "1"`},
	} {
		t.Run(c.variable, func(t *testing.T) {
			r := l.run(t, []string{c.variable}, program, "absent")
			require.True(t, r.ok && strings.HasSuffix(r.out, "\nok\n"), r.out)
			require.Equal(t, 2, strings.Count(r.out, c.want), "every call reports the error:\n%s", r.out)
		})
	}
	for _, wanted := range []string{"0", "portable"} {
		l.runOK(t, []string{twoDevices, "TVMGO_OPENCL_PLATFORM=" + wanted}, program, "table")
	}
}
