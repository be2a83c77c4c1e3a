//go:build cuda

package cuda_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
)

// wantArch returns the architecture for the device's compute capability: sm_90a for "9.0", with the letter from 9.0 on.
func wantArch(t *testing.T) string {
	t.Helper()
	v := must.Get(runtime.DeviceAttr(first, runtime.AttrComputeVersion))(t)
	digits := strings.ReplaceAll(v.(string), ".", "")
	n := must.Get(strconv.Atoi(digits))(t)
	if n >= 90 {
		digits += "a"
	}
	return "sm_" + digits
}

func TestTarget_FromDevice(t *testing.T) {
	need(t)
	asked := gputest.FromDevice(t, "cuda", first, "arch", "mcpu")
	require.Equal(t, wantArch(t), asked.Attrs()["arch"])
	require.NotContains(t, asked.Attrs(), "mcpu")
	require.Empty(t, asked.Warnings())
	if fakeLibrary != "" { // an H200
		require.Equal(t, "sm_90a", asked.Attrs()["arch"])
		require.EqualValues(t, 49152, asked.Attrs()["max_shared_memory_per_block"])
		require.EqualValues(t, 65536, asked.Attrs()["registers_per_block"])
	}
	nvptx := must.Get(target.New("nvptx -from_device=0"))(t)
	require.Equal(t, wantArch(t), nvptx.Attrs()["mcpu"])
	given := must.Get(target.New("cuda -from_device=0 -arch=sm_80"))(t)
	require.Equal(t, "sm_80", given.Attrs()["arch"])
	require.Equal(t, asked.Attrs()["registers_per_block"], given.Attrs()["registers_per_block"])
	tagged := must.Get(target.New(`{"tag":"nvidia/nvidia-a100","from_device":0}`))(t)
	require.Equal(t, "sm_80", tagged.Attrs()["arch"]) // from the tag
}

func TestTarget_DriverFails(t *testing.T) {
	fake := needFake(t)
	_, err := target.New("cuda -from_device=0") // makes queries that happen only once
	require.NoError(t, err)
	defer fake.FailAt(0, 0)
	fake.FailAt(1, 2, "cuDeviceGetAttribute")
	_, err = target.New("cuda -from_device=0")
	require.ErrorIs(t, err, target.ErrDevice)
	require.ErrorContains(t, err, "target: $.from_device: cuda:0 does not report \"thread_warp_size\"")
	require.True(t, fake.Failed())
}

// askNobody creates targets in every way that does not query a device.
func askNobody(t *testing.T) {
	t.Helper()
	for _, x := range []any{"cuda", "nvptx", "cuda -arch=sm_80", "nvidia/nvidia-h100", "llvm",
		`{"kind":"cuda","from_device":-1}`,
		map[string]any{"kind": "composite", "devices": []any{"cuda", "llvm"}, "host": "llvm"}, "llvm -from_device=0"} {
		made := must.Get(target.New(x))(t)
		must.Get(target.New(made.JSON()))(t)
	}
}

func TestTarget_AsksNoDriver(t *testing.T) {
	fake := needFake(t)
	calls := func(f func()) int64 { before := fake.Calls(); f(); return fake.Calls() - before }
	ask := func() {
		must.Get(target.New("cuda -from_device=0"))(t)
	}
	ask()
	require.Zero(t, calls(func() { askNobody(t) }))
	require.Positive(t, calls(ask))
}

// A program that queries no device does not open the driver, even if the machine has a GPU.
func TestTarget_OpensNoDriver(t *testing.T) {
	mapped := func() bool {
		maps := must.Get(os.ReadFile("/proc/self/maps"))(t)
		return strings.Contains(string(maps), "libcuda.so") || fakeLibrary != "" && strings.Contains(string(maps),
			fakeLibrary)
	}
	if !inChild() {
		need(t)
		require.True(t, mapped())
		child(t, "TestTarget_OpensNoDriver", "FAKECUDA_LIBRARY="+fakeLibrary)
		return
	}
	require.False(t, mapped())
	askNobody(t)
	require.False(t, mapped())
}
