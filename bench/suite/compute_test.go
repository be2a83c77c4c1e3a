package suite

import (
	"context"
	"errors"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/tir"
)

// notHere are the cases of suite compute that the devices of tests cannot measure, with the reasons.
var notHere = map[dlpack.DeviceType]map[string]string{
	dlpack.CPU:    {"fp16-": "float32", "half_": "float32", "dotprod": "no dot products"},
	dlpack.OpenCL: {"fp16-": "float32", "half_": "float32", "dotprod": "no dot products"},
	dlpack.Vulkan: {"-vec8": "no vectors", "-vec16": "no vectors", "dotprod": "no dot products"},
}

// Each case of suite compute computes the right values on each device, in short launches.
func TestCompute_Values(t *testing.T) {
	for _, of := range []dlpack.DeviceType{dlpack.CPU, dlpack.OpenCL, dlpack.Vulkan} {
		t.Run(of.String(), func(t *testing.T) {
			on := testDevice(t, of)
			for _, p := range computePeaks() {
				w, err := p.open(t.Context(), on, time.Microsecond)
				if errors.Is(err, bench.ErrNotMeasured) {
					reason := ""
					for part, why := range notHere[of] {
						if strings.Contains(p.name, part) {
							reason += why
						}
					}
					require.NotEmpty(t, reason, "%s: %v", p.name, err)
					require.ErrorContains(t, err, reason)
					continue
				}
				require.NoError(t, err, p.name)
				how, err := w.Check(t.Context())
				require.NoError(t, err, p.name)
				require.Contains(t, how, "exact")
				took, err := w.Run(t.Context(), 2)
				require.NoError(t, err)
				require.Positive(t, took.Wall)
				require.Positive(t, w.Amount().Ops)
				require.NoError(t, w.Close())
			}
		})
	}
}

// A kernel that executes fewer or more steps than it should is wrong.
func TestCompute_WrongSteps(t *testing.T) {
	on := testDevice(t, dlpack.CPU)
	for _, name := range []string{"fp32-scalar", "fp64-vec4", "int32-vec4", "single_precision_compute/float2"} {
		all := computePeaks()
		p := all[slices.IndexFunc(all, func(p peak) bool { return p.name == name })]
		w, err := p.open(t.Context(), on, time.Microsecond)
		require.NoError(t, err)
		w.(*peakWork).of.(*peakKernel).periods++
		_, err = w.Check(t.Context())
		require.ErrorIs(t, err, bench.ErrWrongResult)
		require.ErrorContains(t, err, "result 0 is")
		w.(*peakWork).of.(*peakKernel).periods--
		_, err = w.Check(t.Context())
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
}

// CUDA's kernels compute the right values, in a few periods: each thread is executed on the CPU.
func TestCompute_ValuesOnCUDA(t *testing.T) {
	on := testDevice(t, dlpack.CUDA)
	for _, of := range peakTypes {
		for _, width := range []int{1, 2, 4} {
			p := peakKernelFor(must.Get(Target(on))(t), of.t, width, false)
			p.periods, p.unroll, p.threads = 2, 1, 32
			w := must.Open(openPeak(t.Context(), on, p, 2, 1))(t)
			must.Get(w.Check(t.Context()))(t)
		}
	}
	p := peakKernelFor(must.Get(Target(on))(t), tir.Int32, 1, false)
	p.periods, p.unroll, p.threads, p.madd = 2, 1, 32, dot
	w := must.Open(openPeak(t.Context(), on, p, 2, 1))(t)
	must.Get(w.Check(t.Context()))(t)
	require.Equal(t, 8*float64(p.chains*p.threads*2*16*w.Facts()["groups"].(int)), w.Amount().Ops)
}

// Products of small matrices have the right values on tensor cores, as the fake driver executes them.
func TestCompute_MatricesOnCUDA(t *testing.T) {
	on := testDevice(t, dlpack.CUDA)
	for _, p := range matrixPeaks {
		k, why := p.kernelFor(must.Get(Target(on))(t))
		require.Empty(t, why)
		k.pairs, k.warps, k.chains = 2*unrolledPairs, 2, 2
		w := must.Open(openPeak(t.Context(), on, k, 2, 1))(t)
		must.Get(w.Check(t.Context()))(t)
		require.Equal(t, float64(2*16*8*k.k*2*8*2*2*w.Facts()["groups"].(int)), w.Amount().Ops)
		k.pairs++
		_, err := w.Check(t.Context())
		require.ErrorIs(t, err, bench.ErrWrongResult)
	}
}

// The amount is exact, and a launch grows until it takes the time that is aimed for, or has as many groups as it can.
func TestCompute_SizesAdapt(t *testing.T) {
	on := testDevice(t, dlpack.CPU)
	for aim, want := range map[time.Duration]int{time.Nanosecond: 10, time.Hour: 65530} {
		p := &peakKernel{t: tir.Float32, width: 2, chains: 3, periods: 1, unroll: 1, madd: product}
		w := must.Open(openPeak(t.Context(), on, p, 10, aim))(t)
		require.Equal(t, want, w.Facts()["groups"])
		// A multiply-add is two operations, of each element of each chain.
		require.Equal(t, float64(want*2*2*3*16), w.Amount().Ops)
		must.Get(w.Check(t.Context()))(t)
	}
}

func TestCompute_Interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := computePeaks()[0].open(ctx, testDevice(t, dlpack.CPU), time.Second)
	require.ErrorIs(t, err, context.Canceled)
}

// Close frees all that a case has, at once and not when the collector runs: arrays of all sizes that were tried, too.
func TestCases_CloseFreesAll(t *testing.T) {
	on := testDevice(t, dlpack.CPU)
	memory := memoryKernels()[0]
	open := map[string]func() (bench.Work, error){
		"compute": func() (bench.Work, error) { return computePeaks()[0].open(t.Context(), on, time.Millisecond) },
		"memory":  func() (bench.Work, error) { return memory.open(on, &resources{}, 1<<20) },
	}
	settle()
	for name, f := range open {
		before := runtime.Live()
		w := must.Get(f())(t)
		must.Get(w.Check(t.Context()))(t)
		require.NoError(t, w.Close())
		require.Equal(t, before, runtime.Live(), name)
	}
}

// settle frees what earlier tests left to the collector.
func settle() {
	for range 3 {
		goruntime.GC()
		time.Sleep(time.Millisecond)
	}
}

// The limits that others cite are cases or families.
func TestLimits(t *testing.T) {
	var ids []string
	for _, k := range Compute() {
		ids = append(ids, k.ID(), k.Family)
	}
	for _, id := range []string{FP32, FP64, FP16, Int32, Int8Dotprod, FP16Matrix, FP16MatrixFP32, BF16Matrix, TF32Matrix,
		Int8Matrix} {
		require.Contains(t, ids, id)
	}
}
