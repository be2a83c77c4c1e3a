package suite

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/operators"
	"tvmgo/blob"
	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/cudaimage"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/nvrtctest"
	"tvmgo/target"
	"tvmgo/tir"
)

// tiny returns each kind of operator at a small size.
func tiny() []*operators.Operator {
	return []*operators.Operator{operators.Add(1000), operators.Sum(1000), operators.Transpose(40, 50),
		operators.Softmax(8, 100), operators.LayerNorm(8, 100), operators.Matmul(32, tir.Float32),
		operators.Matmul(32, tir.Float16),
		operators.Conv{Batch: 1, Channels: 8, Height: 7, Width: 7, Out: 8, Kernel: 3}.Operator("conv2d-3x3"),
		operators.Conv{Batch: 1, Channels: 8, Height: 7, Width: 7, Out: 8, Kernel: 1}.Operator("conv2d-1x1"),
		operators.Conv{Batch: 1, Channels: 8, Height: 7, Width: 7, Kernel: 3, Depthwise: true}.Operator("conv2d-depthwise"),
		operators.Heads{Heads: 2, Tokens: 32, Size: 16, Type: tir.Float32}.Operator("attention-f32"),
		operators.Heads{Heads: 2, Tokens: 32, Size: 16, Type: tir.Float16, Causal: true}.Operator("attention-f16-causal")}
}

// Every operator is measured on every device, by ours and by the library of the device's vendor, after its result was
// compared with the reference.
func TestKernels(t *testing.T) {
	t.Setenv("CUBLAS_LIBRARY", "/no/such/libcublas.so")
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			on := testDevice(t, kind)
			gputest.NoLeaks(t, []dlpack.Device{on.Handle})
			report, err := bench.Run(t.Context(), quick, kernelsOf(tiny(), Options{}), []*bench.Device{on})
			require.NoError(t, err)
			variants := map[string]int{}
			for _, row := range report.Rows {
				variants[row.Variant]++
				if row.Variant == "cuBLAS" {
					require.Contains(t, row.Reason, "not measured: library not usable: there is no cuBLAS: install NVIDIA's CUDA")
					continue
				}
				if row.Status == bench.NotMeasured {
					require.Equal(t, "matmul-f16-32", row.Case)
					require.Contains(t, map[string]string{
						"OpenBLAS": "not measured: library not usable: OpenBLAS has no product of float16",
						"CLBlast": "not measured: library not usable: CLBlast has no float16 on " + on.Name +
							": the device lacks cl_khr_fp16"}[row.Variant], row.Reason)
					continue
				}
				require.Equal(t, bench.Measured, row.Status, "%s: %s", row.ID(), row.Reason)
				require.Contains(t, row.Checked, "all elements", row.ID())
				require.Positive(t, row.Amount.Bytes, row.ID())
			}
			require.Equal(t, len(tiny()), variants[""])
			for _, v := range vendors {
				want := 0
				if v.device == kind {
					want = 2
				}
				require.Equal(t, want, variants[v.name], v.name)
			}
		})
	}
}

// A library that is not installed is no failure; its row says how to install it.
func TestKernels_MissingLibrary(t *testing.T) {
	t.Setenv("OPENBLAS_LIBRARY", "/no/such/libopenblas.so")
	on := testDevice(t, dlpack.CPU)
	report, err := bench.Run(t.Context(), quick, kernelsOf([]*operators.Operator{operators.Matmul(32, tir.Float32)},
		Options{}), []*bench.Device{on})
	require.NoError(t, err)
	require.Len(t, report.Rows, 2)
	require.Equal(t, bench.Measured, report.Rows[0].Status)
	require.Equal(t, bench.NotMeasured, report.Rows[1].Status)
	require.Contains(t, report.Rows[1].Reason, "there is no OpenBLAS: install it (Debian: libopenblas0)")
}

// A result that is wrong is reported and not timed, by whichever variant.
func TestKernels_WrongResult(t *testing.T) {
	e := &estimates{longest: DefaultLongest, seconds: map[estimate]float64{}}
	k := &bench.Case{Suite: "kernels", Name: "product", Figure: bench.Flops}
	op := operators.Matmul(32, tir.Float32)
	k.Variants = append(k.Variants, e.variant("", op, openGenerated)...)
	k.Variants = append(k.Variants, e.variant("does nothing", op, func(context.Context, *bench.Device, *operators.Arrays,
		*resources) (func() error, bench.Facts, error) {
		return func() error { return nil }, nil, nil
	})...)
	k.Variants = append(k.Variants, e.variant("exchanges", op, func(ctx context.Context, on *bench.Device,
		a *operators.Arrays, r *resources) (func() error, bench.Facts, error) {
		x := a.Tensors()
		x[0], x[1] = x[1], x[0]
		call, known, err := openGenerated(ctx, on, a, r)
		x[0], x[1] = x[1], x[0]
		return call, known, err
	})...)
	for _, kind := range kinds {
		report, err := bench.Run(t.Context(), quick, []*bench.Case{k}, []*bench.Device{testDevice(t, kind)})
		require.NoError(t, err)
		require.Equal(t, bench.Measured, report.Rows[0].Status, report.Rows[0].Reason)
		for _, row := range report.Rows[1:] {
			require.Equal(t, bench.Wrong, row.Status, row.ID())
			require.Contains(t, row.Reason, "element [")
			require.Empty(t, row.Samples)
		}
	}
}

// The cases have the names that users know, each with its limits; Largest leaves out products.
func TestKernels_Names(t *testing.T) {
	var names []string
	for _, k := range Kernels(Options{Largest: 1024}) {
		names = append(names, k.Name)
		require.Equal(t, k.Name != "transpose", slices.Contains(k.Limits, FP32), k.Name) // which only moves
	}
	require.Equal(t, []string{"add", "reduction", "transpose", "softmax", "layernorm", "matmul-f32-512",
		"matmul-f32-1024", "matmul-f16-512", "matmul-f16-1024", "conv2d-resnet50-3x3", "conv2d-resnet50-1x1",
		"conv2d-mobilenetv2-depthwise", "attention-f32-gpt2", "attention-f32-gpt2-causal", "attention-f16-llama7b",
		"attention-f16-llama7b-causal"}, names)
	require.Len(t, Kernels(Options{}), len(names)+6)
}

// Kernels are compared with accesses that read as much for each byte that they write, and those of float16 with the
// fastest unit that computes with float16 or float32.
func TestKernels_Limits(t *testing.T) {
	copies, sums := []string{GlobalCopy}, []string{GlobalSum, GlobalCopy}
	reads := []string{GlobalRead, GlobalSum, GlobalCopy}
	half := []string{FP32, FP16, FP16MatrixFP32}
	want := map[string][]string{"add": append(sums, FP32), "reduction": append(reads, FP32), "transpose": copies,
		"softmax": append(copies, FP32), "layernorm": append(copies, FP32),
		"matmul-f32-512": append(sums, FP32), "matmul-f16-512": slices.Concat(sums, half),
		"attention-f16-llama7b": slices.Concat(sums, half), "conv2d-resnet50-3x3": append(copies, FP32),
		"conv2d-mobilenetv2-depthwise": append(copies, FP32), "conv2d-resnet50-1x1": append(sums, FP32)}
	for _, k := range Kernels(Options{}) {
		if limits := want[k.Name]; limits != nil {
			require.Equal(t, limits, k.Limits, k.Name)
			delete(want, k.Name)
		}
	}
	require.Empty(t, want)
}

// A product that would take too long is not measured, and the reason has the estimate, and how to measure it anyway.
// The estimate comes from a smaller product, which is executed once for all larger ones.
func TestKernels_Longest(t *testing.T) {
	on := &bench.Device{Name: "cpu", Handle: dlpack.Device{Type: dlpack.CPU}}
	large := []*operators.Operator{operators.Matmul(600, tir.Float32), operators.Matmul(700, tir.Float32)}
	probes := 0
	e := &estimates{longest: time.Nanosecond, seconds: map[estimate]float64{}}
	counting := func(ctx context.Context, on *bench.Device, a *operators.Arrays, r *resources) (func() error, bench.Facts,
		error) {
		probes++
		require.Equal(t, "matmul-f32-512", a.Operator.Name)
		return openGenerated(ctx, on, a, r)
	}
	for _, op := range large {
		_, err := e.variant("", op, counting)[0].Open(t.Context(), on)
		require.ErrorIs(t, err, bench.ErrNotMeasured)
		require.Regexp(t, `an execution would take about .*s, as smaller ones show, and the row .*s: more than the bound `+
			`of 1ns \(Options.Longest, tvmgo bench --longest\)`, err.Error())
	}
	require.Equal(t, 1, probes)
	e.seconds[estimate{"cpu", "", "matmul-f32-512"}] = 1e-10 // of one operation
	_, err := e.variant("", large[0], counting)[0].Open(t.Context(), on)
	require.ErrorContains(t, err, "an execution would take about 43ms, as smaller ones show, and the row 430ms")
}

// Arrays that do not fit are no failure: the reason names the memory, what is needed and what there is.
func TestKernels_Memory(t *testing.T) {
	open := func(kind dlpack.DeviceType, op *operators.Operator) error {
		_, err := kernelsOf([]*operators.Operator{op}, Options{})[0].Variants[0].Open(t.Context(), testDevice(t, kind))
		require.ErrorIs(t, err, bench.ErrNotMeasured)
		return err
	}
	huge := operators.Transpose(1<<20, 1<<20)
	require.ErrorContains(t, open(dlpack.CPU, huge), "the memory of the host is too small: ")
	require.ErrorContains(t, open(dlpack.Vulkan, operators.Matmul(8192, tir.Float32)),
		"an array of matmul-f32-8192 has 256.0 MiB, and a storage buffer of vulkan:0 at most 128.0 MiB "+
			"(max_storage_buffer_range)")
	cudarun.Use(t).Set(t, "memory", 100<<20)
	t.Cleanup(func() { cudarun.Use(t).Set(t, "memory", 256<<20) })
	require.ErrorContains(t, open(dlpack.CUDA, operators.Matmul(4096, tir.Float32)),
		"the memory of cuda:0 is too small: 192.0 MiB are needed, and ")
}

// Every operator at its full size is accepted by NVRTC and ptxas for three generations of GPUs; in the normal run, a
// part of the operators for one generation.
func TestKernels_Assemble(t *testing.T) {
	nvrtctest.Need(t)
	list, generations := operators.All(), []string{"sm_75", "sm_80", "sm_90"}
	if os.Getenv("TVMGO_TEST_ALL") == "" {
		list = []*operators.Operator{operators.Sum(32_000_000), operators.Matmul(4096, tir.Float16)}
		generations = generations[2:]
	}
	for _, arch := range generations {
		to := must.Get(target.New(map[string]any{"kind": "cuda", "arch": arch, "code-format": "cubin", "host": "c"}))(t)
		for _, op := range list {
			m := must.Get(codegen.Build(must.Get(op.Lower(to))(t), to))(t)
			imports := must.Get(m.Imports())(t)
			require.Len(t, imports, 1, op.Name)
			code := must.Get(blob.ParseDeviceModule(must.Get(imports[0].SaveToBinary())(t), blob.Modern))(t)
			require.Equal(t, "cubin", code.Format)
			info := must.Get(cudaimage.Describe(code.Data))(t)
			require.Equal(t, arch, info.For())
			require.NotEmpty(t, info.Parts[0].Kernels, op.Name)
			require.NoError(t, imports[0].Close())
			require.NoError(t, m.Close())
		}
	}
}
