package facts

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/codegen"
	_ "tvmgo/codegen/all"
	"tvmgo/dlpack"
	"tvmgo/internal/cudaimage"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/nvrtctest"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	tirtext "tvmgo/tir/text"
)

// program is B = A * A + A by 64 blocks of 256 threads, with shared memory of 1 KiB.
func program(t *testing.T) *tir.IRModule {
	t.Helper()
	return must.Get(tirtext.Parse(`func f(a: handle, b: handle) {
  buffer A: float32[16384], param a
  buffer B: float32[16384], param b
  thread bx in range(64), thread "blockIdx.x" {
    thread tx in range(256), thread "threadIdx.x" {
      alloc S: float32[256], scope "shared" {
        S[tx] = A[bx * 256 + tx]
        eval storage_sync[void]("shared")
        B[bx * 256 + tx] = S[255 - tx] * S[255 - tx] + S[tx]
      }
    }
  }
}
`))(t)
}

// built builds the program for a device, or for a target.
func built(t *testing.T, on *bench.Device, to string) (*runtime.Module, *target.Target) {
	t.Helper()
	t0, err := runtime.DetectTarget(on.Handle)
	if to != "" {
		t0, err = target.New(to)
	}
	require.NoError(t, err)
	return must.Open(codegen.Build(program(t), t0))(t), t0
}

// Estimates are exact for this program: each float is loaded once and stored once, and has a product and a sum.
// Without a size of warps, sectors are not known.
func requireEstimates(t *testing.T, f bench.Facts, warps bool) {
	t.Helper()
	known(t, row, f)
	if warps {
		require.Equal(t, 2*4*16384.0, f[EstimatedMoved])
	} else {
		require.Nil(t, f[EstimatedMoved])
	}
	require.Equal(t, 2*4*16384.0, f[EstimatedNeeded])
	require.Equal(t, 2*16384.0, f[EstimatedOps])
	require.Equal(t, 0.25, f[EstimatedIntensity])
	require.Equal(t, int64(256), f[ThreadsPerBlock])
	require.Equal(t, int64(64), f[BlockCount])
	require.Equal(t, 1, f[KernelCount])
	require.Equal(t, "f_kernel", f[KernelName])
}

// The instructions, threads and shared memory of a shader are those that spirv-dis shows.
func TestOfProgram_Vulkan(t *testing.T) {
	d := opened(t, dlpack.Vulkan)
	m, to := built(t, d, "")
	f := OfProgram(program(t), to, nil, m, d)
	requireEstimates(t, f, true)
	code := must.Get(m.KernelCode("f_kernel", dlpack.Vulkan))(t)
	path := filepath.Join(t.TempDir(), "f.spv")
	require.NoError(t, os.WriteFile(path, code.Data, 0o666))
	dis := output(t, "spirv-dis", path)
	require.Equal(t, "SPIR-V", f[InstructionsFrom])
	require.Equal(t, "SPIR-V", f[ResourcesFrom])
	require.Equal(t, int64(1024), f[SharedMemory])
	require.Regexp(t, `OpExecutionMode \S+ LocalSize 256 1 1|OpExecutionModeId \S+ LocalSizeId`, dis)
	count := func(op string) string { return strconv.Itoa(strings.Count(dis, " "+op+" ")) }
	require.Contains(t, ", "+f[InstructionMix].(string)+",", ", barrier "+count("OpControlBarrier")+",")
	require.Contains(t, ", "+f[InstructionMix].(string)+",", ", load shared ")
	require.Contains(t, ", "+f[InstructionMix].(string)+",", ", load global 1,")
	require.Contains(t, ", "+f[InstructionMix].(string)+",", ", store global 1,")
	sum := 0
	for _, part := range strings.Split(f[InstructionMix].(string), ", ") {
		sum += must.Get(strconv.Atoi(part[strings.LastIndex(part, " ")+1:]))(t)
	}
	require.Equal(t, sum, f[Instructions])
	_, body, _ := strings.Cut(dis, "OpFunction ")
	lines := regexp.MustCompile(`(?m)^.*Op\w+.*$`).FindAllString(body, -1)
	none := regexp.MustCompile(`Op(FunctionEnd|Label|Variable|SelectionMerge|LoopMerge|AccessChain|` +
		`InBoundsAccessChain|Undef)\b`)
	want := 0
	for _, line := range lines {
		if !none.MatchString(line) {
			want++
		}
	}
	require.Equal(t, want, f[Instructions])
}

// What the driver of OpenCL reports, and operators of the source.
func TestOfProgram_OpenCL(t *testing.T) {
	d := opened(t, dlpack.OpenCL)
	m, to := built(t, d, "")
	f := OfProgram(program(t), to, nil, m, d)
	requireEstimates(t, f, d.Facts[SubgroupSize] != nil)
	require.Equal(t, "driver", f[ResourcesFrom])
	require.GreaterOrEqual(t, f[SharedMemory], int64(1024))
	require.Positive(t, f[BlockMultiple])
	require.Positive(t, f[BlockLimit])
	require.Nil(t, f[Registers], "OpenCL does not report them")
	require.Equal(t, "OpenCL C", f[InstructionsFrom])
	require.Contains(t, f[InstructionMix], "barrier 1")
	require.Empty(t, OfModule(m, "g", d, runtime.LaunchConfig{}))
	require.Equal(t, f[SharedMemory], OfModule(m, "f", d, runtime.LaunchConfig{})[SharedMemory], "by the host's function")
}

// The registers and spills that NVIDIA's assembler reports, for generations of GPUs, and the mix of PTX.
func TestOfProgram_CUDA(t *testing.T) {
	nvrtctest.Need(t)
	on := &bench.Device{Name: "cuda:0", Handle: dlpack.Device{Type: dlpack.CUDA}, Facts: bench.Facts{}}
	for _, arch := range []string{"sm_75", "sm_80", "sm_90"} {
		m, to := built(t, on, "cuda -arch="+arch)
		f := OfProgram(program(t), to, nil, m, on)
		requireEstimates(t, f, true)
		code := must.Get(m.KernelCode("f_kernel", dlpack.CUDA))(t)
		require.Equal(t, "cubin", code.Format)
		info := must.Get(cudaimage.Describe(code.Data))(t)
		require.EqualValues(t, info.Parts[0].Kernels[0].Resources.Registers, f[Registers])
		require.Equal(t, "compiler", f[ResourcesFrom])
		require.Equal(t, int64(1024), f[SharedMemory])
		require.Equal(t, int64(0), f[Spills])
		require.Equal(t, 1.0, f[EstimatedOccupancy], "8 blocks (sm_75: 4) of 8 warps")
		require.Equal(t, "memory", f[EstimatedBound])
		require.Equal(t, "PTX by NVRTC", f[InstructionsFrom])
		for _, part := range []string{"load global 1", "store global 1", "barrier 1", "fma 1", "store shared 1",
			"load shared 2"} {
			require.Contains(t, ", "+f[InstructionMix].(string)+",", ", "+part+",")
		}
		// nvdisasm shows the same accesses in the machine code.
		sass := nvrtctest.Disassemble(t, code.Data)
		require.Len(t, regexp.MustCompile(`\bLDG\b`).FindAllString(sass, -1), 1)
		require.Len(t, regexp.MustCompile(`\bSTG\b`).FindAllString(sass, -1), 1)
		require.Len(t, regexp.MustCompile(`\bBAR\b`).FindAllString(sass, -1), 1)
		require.Len(t, regexp.MustCompile(`\bLDS\b`).FindAllString(sass, -1), 2)
	}
}

// On the CPU nothing is known of a kernel; a program that cannot be explained has no facts, and no error.
func TestOfProgram_Nothing(t *testing.T) {
	on := &bench.Device{Handle: runtime.CPU}
	require.Empty(t, OfProgram(program(t), must.Get(target.New("c"))(t), nil, nil, on))
	require.Empty(t, OfProgram(program(t), nil, nil, nil, on))
	gpu := &bench.Device{Handle: dlpack.Device{Type: dlpack.Vulkan}}
	require.Empty(t, OfProgram(nil, must.Get(target.New("vulkan"))(t), nil, nil, gpu))
	without := OfProgram(program(t), must.Get(target.New("vulkan"))(t), nil, nil, gpu)
	requireEstimates(t, without, false)
	require.Nil(t, without[Instructions], "it was not built")
}

// A kernel by hand, without a program.
func TestOfModule_HandMade(t *testing.T) {
	d := opened(t, dlpack.OpenCL)
	m := must.Open(runtime.NewDeviceModule("opencl", "", []byte(`// a + b in a comment
__kernel void sum(__global const float* a, __global float* b, int n) {
  __local float s[64];
  int i = get_global_id(0) * 2 + 1; /* one product, one sum */
  s[get_local_id(0)] = fma(a[i], 2.0f, -1.0f);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n) b[i] = native_exp(s[63 - get_local_id(0)]);
}
__kernel void other(__global float* a) { a[0] = a[1] + a[2]; }
`), runtime.KernelType{Name: "sum", Args: []dlpack.DataType{dlpack.Handle, dlpack.Handle, dlpack.Int32}}))(t)
	f := OfModule(m, "sum", d, runtime.LaunchConfig{Block: runtime.Dim3{16, 4}})
	known(t, row, f)
	require.Equal(t, int64(64), f[ThreadsPerBlock])
	require.GreaterOrEqual(t, f[SharedMemory], int64(256))
	require.Equal(t, "arithmetic 3, array access 5, barrier 1, branch 1, fma 1, special 1", ordered(f[InstructionMix]))
	require.Equal(t, 12, f[Instructions])
}

// ordered returns a mix in the order of its classes.
func ordered(mix any) string {
	parts := strings.Split(mix.(string), ", ")
	var b bytes.Buffer
	for _, class := range []string{"arithmetic", "array access", "barrier", "branch", "fma", "special"} {
		for _, p := range parts {
			if strings.HasPrefix(p, class+" ") {
				b.WriteString(", " + p)
			}
		}
	}
	return strings.TrimPrefix(b.String(), ", ")
}

func TestSourceMix(t *testing.T) {
	require.Nil(t, sourceMix("__kernel void f() {}", "g"))
	require.Empty(t, sourceMix("kernel void f() {}", "f"))
	require.Equal(t, map[string]int{"arithmetic": 4, "array access": 2, "branch": 1, "vector load or store": 2,
		"atomic": 1},
		sourceMix(`
#define KERNEL __kernel void f(
__attribute__((noinline)) float g(float x) { return x * x; }
__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void f(__global float *x, __global int *n) {
  for (int i = 0; i < 4; ++i) { x[i] = -x[i + 1] / 3 - g(1); }
  vstore4(vload4(0, x) * 2, 0, x);
  atomic_add(n, -1);
}
__kernel void h(__global float *x) { x[0] += 1; }`, "f"))
}

// Facts that other packages of bench give by literal names are in the table.
func TestTable_HasEveryName(t *testing.T) {
	inFacts := regexp.MustCompile(`Facts\{"|(?:Known|[fF]acts|known)\["`)
	name := regexp.MustCompile(`"([a-zA-Z][^"]*)"(?:: |\])`)
	found := 0
	for _, path := range must.Get(filepath.Glob("../*/*.go"))(t) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "../page/") {
			continue
		}
		for line := range strings.Lines(string(must.Get(os.ReadFile(path))(t))) {
			if !inFacts.MatchString(line) {
				continue
			}
			for _, m := range name.FindAllStringSubmatch(line, -1) {
				found++
				require.NoError(t, Check(row, bench.Facts{m[1]: 1}), path)
			}
		}
	}
	require.Positive(t, found)
}
