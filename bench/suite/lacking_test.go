package suite

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/internal/testing/must"
)

// named returns a case by its name.
func named(t *testing.T, id string) *bench.Case {
	t.Helper()
	cases, err := Select([]string{id}, Options{WithoutLimits: true})
	require.NoError(t, err)
	require.Len(t, cases, 1)
	return cases[0]
}

// The reason for arrays that do not fit names the memory, and what is needed and free.
func TestNeedMemory(t *testing.T) {
	const much = 1 << 50 // 1 PiB
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			on := testDevice(t, kind)
			require.NoError(t, needMemory(on, 1<<20, 1<<20))
			err := needMemory(on, 1<<20, much)
			require.ErrorIs(t, err, bench.ErrNotMeasured)
			require.Regexp(t, `^not measured: the memory of the host is too small: 1.0 PiB are needed, and this process `+
				`can allocate [0-9.]+ [GMK]iB$`, err.Error())
			err = needMemory(on, much, 0)
			require.ErrorIs(t, err, bench.ErrNotMeasured)
			if kind == dlpack.CPU {
				require.ErrorContains(t, err, "the memory of the host is too small: 1.0 PiB are needed")
				return
			}
			require.Regexp(t, `^not measured: the memory of `+on.Name+` is too small: 1.0 PiB are needed, and [0-9.]+ `+
				`[GM]iB of [0-9.]+ [GM]iB are free$`, err.Error())
		})
	}
}

// Memory that the driver does not allocate is a reason as well.
func TestCases_OutOfMemory(t *testing.T) {
	driver := cudarun.Use(t)
	on := &bench.Device{Name: "cuda:0", Handle: dlpack.Device{Type: dlpack.CUDA}}
	driver.Set(t, "memory", 1)
	t.Cleanup(func() { driver.Set(t, "memory", 256<<20) })
	// If another case uses the last byte just then, the device does not say what is free, and the driver fails instead.
	const small, full = "the memory of cuda:0 is too small: ", " are needed|CUDA_ERROR_OUT_OF_MEMORY"
	for id, want := range map[string]string{
		"launch/kernel_launch_latency":                           "CUDA_ERROR_OUT_OF_MEMORY",
		"launch/function_call":                                   "CUDA_ERROR_OUT_OF_MEMORY",
		"bandwidth/device_local_copy_64MiB":                      small + "128.0 MiB" + full,
		"bandwidth/host_to_device_bidirectional_memcpy_ce_64MiB": small + "192.0 MiB" + full,
	} {
		err := try(t.Context(), named(t, id), on)
		require.ErrorIs(t, err, bench.ErrNotMeasured, id)
		require.Regexp(t, want, err.Error(), id)
	}
}

// Without a C compiler, kernels are launched, but generated host functions are not called.
func TestLaunch_WithoutCompiler(t *testing.T) {
	t.Setenv("CC", "/nowhere/cc")
	t.Setenv("TVMGO_CLANG", "/nowhere/clang")
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			on := testDevice(t, kind)
			err := try(t.Context(), named(t, "launch/function_call"), on)
			require.ErrorIs(t, err, bench.ErrNotMeasured)
			require.ErrorContains(t, err, "generated host functions are compiled on this machine: the compiler "+
				`"/nowhere/cc" of the environment variable CC`)
			err = try(t.Context(), named(t, "launch/kernel_launch_latency"), on)
			switch kind {
			case dlpack.CPU:
				require.ErrorIs(t, err, bench.ErrNotMeasured)
			case dlpack.CUDA: // the fake driver compiles kernels by the C++ compiler
			default:
				require.NoError(t, err)
			}
		})
	}
}

// A context that has ended ends a sample, also in the middle of chains.
func TestLatency_Interrupted(t *testing.T) {
	on := testDevice(t, dlpack.OpenCL)
	for _, k := range Launch() {
		w, err := k.Variants[0].Open(t.Context(), on)
		if err != nil {
			require.ErrorIs(t, err, bench.ErrNotMeasured)
			continue
		}
		must.Get(w.Check(t.Context()))(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = w.Run(ctx, 1<<40)
		require.ErrorIs(t, err, context.Canceled, k.ID())
		ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
		_, err = w.Run(ctx, 1<<40)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded, k.ID())
		took := must.Get(w.Run(t.Context(), 1))(t)
		require.Positive(t, took.Wall, k.ID())
		require.Zero(t, took.Device, "%s: latencies have no time of the device", k.ID())
		require.NoError(t, w.Close())
	}
}
