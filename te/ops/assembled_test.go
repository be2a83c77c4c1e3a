//go:build cgo

package ops

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/codegen"
	"tvmgo/internal/cudaimage"
	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/nvrtctest"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
)

// gpuGenerations are the architectures that kernels are assembled for.
var gpuGenerations = []string{"sm_60", "sm_75", "sm_80", "sm_90", "sm_100", "sm_120"}

// testedGenerations are all of them if every case runs or golden files are written. Otherwise they are the oldest one,
// which needs its own NVRTC, and the one that has the most of its own instructions.
func testedGenerations() []string {
	if os.Getenv(everyCase) != "" || golden.Updating() {
		return gpuGenerations
	}
	return []string{"sm_60", "sm_90"}
}

// assembled returns the kernels of a program in the cubin for a target.
func assembled(t *testing.T, to *target.Target, funcs ...*tir.PrimFunc) (code []byte, kernels []cudaimage.Kernel) {
	t.Helper()
	built := must.Get(codegen.Build(must.Get(tir.NewModule(funcs...))(t), to))(t)
	defer built.Close()
	imports := must.Get(built.Imports())(t)
	require.Len(t, imports, 1)
	defer imports[0].Close()
	module := must.Get(blob.ParseDeviceModule(must.Get(imports[0].SaveToBinary())(t), blob.Modern))(t)
	require.Equal(t, "cubin", module.Format)
	info := must.Get(cudaimage.Describe(module.Data))(t)
	require.Equal(t, must.Get(target.Get[string](to, "arch"))(t), info.For())
	return module.Data, info.Parts[0].Kernels
}

func cubinTarget(t *testing.T, arch string) *target.Target {
	nvrtctest.Need(t)
	return must.Get(target.New(map[string]any{"kind": "cuda", "arch": arch, "code-format": "cubin", "host": "c"}))(t)
}

// NVRTC and ptxas accept the default schedules of the cases for every generation of GPUs: a part of the cases and of
// the generations in the normal run, all of them if everyCase is set.
func TestAssembledOnDevices(t *testing.T) {
	for _, arch := range testedGenerations() {
		t.Run(arch, func(t *testing.T) {
			to := cubinTarget(t, arch)
			var funcs []*tir.PrimFunc
			for _, name := range slices.Sorted(maps.Keys(values)) {
				for i, c := range sampled(t, values[name](), 1) {
					funcs = append(funcs, loweredCase(t, &c, to, fmt.Sprintf("case_%s_%d", name, i),
						func(*te.Tensor) *Config { return nil }))
				}
			}
			for part := range slices.Chunk(funcs, 50) {
				assembled(t, to, part...)
			}
		})
	}
}

// Of the inner loop of the matrix product of float32, at least 85 % of the instructions are multiplications with
// additions; 80 % if tiles do not divide the matrices, so that loads are guarded. A load of 16 bytes from shared memory
// is enough for 16 of them, no register is spilled, and a multiprocessor can run two blocks at once. A few of
// NVRTC's runs split a load or two.
func TestMatmul_InnerLoop(t *testing.T) {
	to := cubinTarget(t, "sm_90")
	for size, least := range map[int32]float64{4096: 0.85, 1000: 0.8} {
		out, ins := matrixProduct(tir.Float32, size, size, size)()
		m := must.Get(te.Lower(must.Get(Schedule(to, out))(t), []any{ins[0], ins[1], out}, "f"))(t)
		code, kernels := assembled(t, to, m.Funcs...)
		var most nvrtctest.Loop
		for _, l := range nvrtctest.InnermostLoops(nvrtctest.Disassemble(t, code)) {
			if l.Count("FFMA") > most.Count("FFMA") {
				most = l
			}
		}
		share := float64(most.Count("FFMA")) / float64(len(most))
		t.Logf("%d: %d of %d instructions are FFMA: %.3f", size, most.Count("FFMA"), len(most), share)
		require.GreaterOrEqual(t, share, least, "%v", most)
		if size == 4096 {
			require.LessOrEqual(t, most.Count("LDS")-most.Count("LDS.128"), 2, "%v", most)
			require.LessOrEqual(t, 16*most.Count("LDS.128"), most.Count("FFMA"), "%v", most)
			require.Zero(t, kernels[0].Resources.Local)
			require.LessOrEqual(t, kernels[0].Resources.Registers, 128)
		}
	}
}

// In the main loop of the products of float16 on tensor cores, a warp computes 64 × 64 results: each 16 × 16 products
// along the sum take 32 instructions of tensor cores, and 8 loads of fragments.
func TestTensorCores_InnerLoop(t *testing.T) {
	for _, arch := range []string{"sm_80", "sm_90"} {
		to := cubinTarget(t, arch)
		x, y := te.Placeholder(te.Dims(4096, 4096), tir.Float16, "X"), te.Placeholder(te.Dims(4096, 4096), tir.Float16, "Y")
		out := Matmul(x, y, "Z", AccumulateIn(tir.Float32))
		m := must.Get(te.Lower(must.Get(Schedule(to, out))(t), []any{x, y, out}, "f"))(t)
		code, kernels := assembled(t, to, m.Funcs...)
		var most nvrtctest.Loop
		for _, l := range nvrtctest.InnermostLoops(nvrtctest.Disassemble(t, code)) {
			if l.Count("HMMA") > most.Count("HMMA") {
				most = l
			}
		}
		products, loads := most.Count("HMMA"), most.Count("LDSM")
		t.Logf("%s: %d instructions, %d HMMA, %d LDSM, %d LDGSTS; %d registers", arch, len(most), products, loads,
			most.Count("LDGSTS"), kernels[0].Resources.Registers)
		require.Equal(t, 64, products, most) // of two parts of a step
		require.Equal(t, 16, loads, most)
		require.Equal(t, 8, most.Count("LDGSTS"), most)
		require.Less(t, len(most), 3*products+16, most)
		require.Zero(t, kernels[0].Resources.Local)
	}
}
