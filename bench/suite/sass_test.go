package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/codegen"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/nvrtctest"
	"tvmgo/internal/testing/spirvtest"
	"tvmgo/target"
	"tvmgo/tir"
)

// machineCode returns the machine code of each kernel of functions, by its name, for an architecture of CUDA.
func machineCode(t *testing.T, arch string, functions ...*tir.PrimFunc) map[string]string {
	t.Helper()
	built := must.Open(codegen.Build(must.Get(tir.NewModule(functions...))(t), cudaTarget(t, arch)))(t)
	imports := must.Get(built.Imports())(t)
	require.Len(t, imports, 1)
	defer imports[0].Close()
	module := must.Get(blob.ParseDeviceModule(must.Get(imports[0].SaveToBinary())(t), blob.Modern))(t)
	require.Equal(t, "cubin", module.Format)
	code := map[string]string{}
	for _, section := range strings.Split(nvrtctest.Disassemble(t, module.Data), ".section\t.text.")[1:] {
		name, text, _ := strings.Cut(section, ",")
		code[name] = text
	}
	return code
}

func cudaTarget(t *testing.T, arch string) *target.Target {
	t.Helper()
	nvrtctest.Need(t)
	return must.Get(target.New(map[string]any{"kind": "cuda", "arch": arch, "code-format": "cubin", "host": "c"}))(t)
}

// At least nine of ten instructions of the inner loops of peak kernels are multiply-adds, and no register is spilled.
func TestPeak_MachineCode(t *testing.T) {
	for _, arch := range []string{"sm_75", "sm_80", "sm_90"} {
		var functions []*tir.PrimFunc
		kernels := map[string]*peakKernel{}
		for _, of := range peakTypes {
			for _, width := range []int{1, 4} {
				p := peakKernelFor(cudaTarget(t, arch), of.t, width, false)
				f := must.Get(p.program())(t).Funcs[0]
				f.Name = fmt.Sprintf("peak_%s_%d", of.clpeak, width)
				functions, kernels[f.Name+"_kernel"] = append(functions, f), p
			}
		}
		p := peakKernelFor(cudaTarget(t, arch), tir.Int32, 1, false)
		p.madd = dot
		f := must.Get(p.program())(t).Funcs[0]
		f.Name = "peak_dot"
		functions, kernels["peak_dot_kernel"] = append(functions, f), p
		code := machineCode(t, arch, functions...)
		for name, p := range kernels {
			loops := nvrtctest.InnermostLoops(code[name])
			require.Len(t, loops, 1, name)
			instruction := map[tir.Type]string{tir.Float32: "FFMA", tir.Float64: "DFMA", tir.Int32: "IMAD",
				tir.Float16: "HFMA2"}[p.t]
			if p.madd == dot {
				instruction = "IDP"
			}
			each := 1
			if p.t == tir.Float16 {
				each = 2
			}
			n, all := loops[0].Count(instruction), len(loops[0])
			t.Logf("%s: %s: %d of %d instructions are %s", arch, name, n, all, instruction)
			require.Equal(t, p.chains*p.width*p.unroll*len(period), n*each, loops[0])
			require.GreaterOrEqual(t, float64(n), 0.9*float64(all), loops[0])
			require.NotContains(t, code[name], "STL", "spills")
		}
	}
}

// The inner loops of products of small matrices have nothing but those, and the loop's own instructions.
func TestMatrix_MachineCode(t *testing.T) {
	for _, arch := range []string{"sm_75", "sm_80", "sm_90"} {
		to := cudaTarget(t, arch)
		var functions []*tir.PrimFunc
		kernels := map[string]*matrixKernel{}
		for i, p := range matrixPeaks {
			k, why := p.kernelFor(to)
			if arch == "sm_75" && (p.operand == tir.BFloat16 || p.operand == tir.Float32) {
				require.Contains(t, why, "from sm_80 on")
				continue
			}
			require.Empty(t, why)
			f := must.Get(k.program())(t).Funcs[0]
			f.Name = fmt.Sprintf("peak_%d", i)
			functions, kernels[f.Name+"_kernel"] = append(functions, f), k
		}
		code := machineCode(t, arch, functions...)
		for name, k := range kernels {
			loops := nvrtctest.InnermostLoops(code[name])
			require.Len(t, loops, 1, name)
			n, all := loops[0].Count("HMMA")+loops[0].Count("IMMA"), len(loops[0])
			t.Logf("%s: %s of %s: %d of %d instructions are products", arch, name, k.operand, n, all)
			require.Zero(t, n%(2*unrolledPairs*k.chains), loops[0])
			require.Positive(t, n, loops[0])
			require.GreaterOrEqual(t, float64(n), 0.9*float64(all), loops[0])
			require.NotContains(t, code[name], "STL", "spills")
		}
	}
}

// The kernels of cooperative matrices are valid; no device of the tests has such matrices.
func TestMatrix_SPIRV(t *testing.T) {
	to := must.Get(target.New(`{"kind": "vulkan", "host": "c", "max_spirv_version": 67072, "thread_warp_size": 32, ` +
		`"supports_float16": true, "supports_16bit_buffer": true, "supports_int16": true, "supports_bfloat16": true, ` +
		`"supports_cooperative_matrix": true, "max_threads_per_block": 1024, "max_num_threads": 1024}`))(t)
	n := 0
	for _, p := range matrixPeaks {
		k, why := p.kernelFor(to)
		if why != "" {
			continue
		}
		n++
		built := must.Open(codegen.Build(must.Get(k.program())(t), to))(t)
		kernels := must.Get(built.Imports())(t)[0]
		defer kernels.Close()
		spirvtest.ValidateModule(t, kernels)
		code := must.Get(kernels.GetSource("spvasm"))(t)
		require.Equal(t, 2*unrolledPairs*k.chains, strings.Count(code, "OpCooperativeMatrixMulAddKHR"), p.name)
	}
	require.Positive(t, n)
	_, why := matrixPeaks[0].kernelFor(must.Get(target.New("vulkan"))(t))
	require.Contains(t, why, "VK_KHR_cooperative_matrix")
	_, why = matrixPeaks[0].kernelFor(must.Get(target.New("opencl"))(t))
	require.Contains(t, why, "opencl has no products of matrices")
}
