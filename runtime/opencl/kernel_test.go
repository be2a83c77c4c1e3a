//go:build opencl

package opencl_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/runtime"
)

const source = `
__kernel void scale(__global float* x, float by, int n) {
  int i = get_global_id(0) + get_global_id(1) * get_global_size(0) +
          get_global_id(2) * get_global_size(0) * get_global_size(1);
  if (i < n) x[i] *= by;
}
__kernel void types(__global double* out, long a, int b, uint c, double d, float e) {
  out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e;
}
__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void eight(__global float* x) {
  x[get_global_id(0)] = get_local_id(0);
}
`

var kernels = []runtime.KernelType{
	{Name: "scale", Args: []dlpack.DataType{dlpack.Handle, dlpack.Float32, dlpack.Int32}},
	{Name: "types", Args: []dlpack.DataType{dlpack.Handle, dlpack.Int64, dlpack.Int32, dlpack.UInt32, dlpack.Float64,
		dlpack.Float32}},
	{Name: "eight", Args: []dlpack.DataType{dlpack.Handle}},
}

func handMade(t testing.TB, code string, kernels ...runtime.KernelType) *runtime.Module {
	t.Helper()
	return gputest.HandMade(t, "opencl", "", []byte(code), kernels...)
}

func TestKernel_Launch(t *testing.T) {
	need(t)
	noLeaks(t)
	k := kernel(t, handMade(t, source, kernels...), "scale")
	for _, dev := range present() {
		s, err := runtime.NewStream(dev)
		require.NoError(t, err)
		for _, on := range []*runtime.Stream{nil, s} {
			for _, sizes := range [][2]runtime.Dim3{{{4}, {16}}, {{1, 2, 2}, {4, 2, 2}}, {{64}}} {
				data := make([]float32, 64)
				for i := range data {
					data[i] = float32(i)
				}
				x := tensor(t, dev, data)
				require.NoError(t, k.Launch(on, sizes[0], sizes[1], x, 2.5, 60))
				if on != nil {
					require.NoError(t, on.Sync(t.Context()))
				}
				for i := range data[:60] {
					data[i] *= 2.5
				}
				require.Equal(t, data, slice(t, x), "%v on %v", sizes, dev)
			}
		}
		require.NoError(t, s.Close())
	}
}

func TestKernel_TypesOfArguments(t *testing.T) {
	need(t)
	noLeaks(t)
	k := kernel(t, handMade(t, source, kernels...), "types")
	x, err := runtime.NewTensor(dlpack.Float64, []int64{5}, other())
	require.NoError(t, err)
	defer x.Close()
	require.NoError(t, k.Launch(nil, runtime.Dim3{}, runtime.Dim3{}, x, int64(1)<<40, -7, uint32(4000000000), 0.1, 3))
	got, err := runtime.ToSlice[float64](x)
	require.NoError(t, err)
	require.Equal(t, []float64{1 << 40, -7, 4000000000, 0.1, 3}, got)
}

// A view that begins inside an array's buffer is passed to the kernel as a sub-buffer.
func TestKernel_PartOfAnArray(t *testing.T) {
	need(t)
	noLeaks(t)
	k := kernel(t, handMade(t, source, kernels...), "scale")
	data := make([]float32, 128)
	for i := range data {
		data[i] = 1
	}
	x := tensor(t, first, data)
	part, err := x.View(dlpack.Float32, []int64{32}, nil, 64*4)
	require.NoError(t, err)
	defer part.Close()
	require.NoError(t, k.Launch(nil, runtime.Dim3{32}, runtime.Dim3{}, part, 3, 32))
	for i := range data[64:96] {
		data[64+i] = 3
	}
	require.Equal(t, data, slice(t, x))
	odd, err := x.View(dlpack.Float32, []int64{32}, nil, 4)
	require.NoError(t, err)
	defer odd.Close()
	requireError(t, k.Launch(nil, runtime.Dim3{32}, runtime.Dim3{}, odd, 3, 32), runtime.ErrInvalidArgument,
		"kernel scale: argument 0 begins at byte 4 of an allocation of 512 bytes", "multiple of 128")
	end, err := x.View(dlpack.Float32, []int64{0}, nil, 512)
	require.NoError(t, err)
	defer end.Close()
	requireError(t, k.Launch(nil, runtime.Dim3{32}, runtime.Dim3{}, end, 3, 32), runtime.ErrInvalidArgument,
		"kernel scale: argument 0 begins at byte 512 of an allocation of 512 bytes")
}

func TestKernel_BadCalls(t *testing.T) {
	needTwo(t)
	noLeaks(t)
	m := handMade(t, source, kernels...)
	scale, types, eight := kernel(t, m, "scale"), kernel(t, m, "types"), kernel(t, m, "eight")
	x, far := tensor(t, first, make([]float32, 64)), tensor(t, second, make([]float32, 64))
	host := tensor(t, runtime.CPU, make([]float32, 64))
	one := runtime.Dim3{1}
	bad := runtime.ErrInvalidArgument
	requireError(t, scale.Launch(nil, one, one, x, 1), bad, "3 arguments are needed, 2 were given")
	requireError(t, scale.Launch(nil, one, one, 5, 1, 1), bad,
		"kernel scale: argument 0 must be an array or its data, not int")
	requireError(t, scale.Launch(nil, one, one, nil, 1, 1), bad, "kernel scale: argument 0 is NULL")
	requireError(t, scale.Launch(nil, one, one, host, 1, 1), bad, "argument 0 is an array of device type 1")
	requireError(t, scale.Launch(nil, one, one, x, "a", 1), bad, "kernel scale: argument 1 must be a number")
	requireError(t, scale.Launch(nil, one, one, x, 1, 0.5), bad, "kernel scale: argument 2 must be an integer, not float")
	requireError(t, scale.Launch(nil, one, one, x, 1, 1<<31), bad,
		"argument 2 is 2147483648, which does not fit into 32 bits")
	requireError(t, types.Launch(nil, one, one, x, 1, 1, int64(1)<<32, 1, 1), bad, "argument 3 is 4294967296")
	requireError(t, scale.Launch(nil, one, one, runtime.Ptr(unsafe.Pointer(new(int64))), 1, 1), bad,
		"is not memory of opencl")
	s, err := runtime.NewStream(first)
	require.NoError(t, err)
	defer s.Close()
	requireError(t, scale.Launch(s, one, one, far, 1, 1), bad,
		"argument 0 is memory of opencl:1, the kernel runs on opencl:0")
	onHost, err := runtime.NewStream(runtime.CPU)
	require.NoError(t, err)
	defer onHost.Close()
	requireError(t, scale.Launch(onHost, one, one, x, 1, 1), bad, "the stream is one of cpu")

	// Sizes.
	requireError(t, scale.Launch(nil, runtime.Dim3{3}, runtime.Dim3{1 << 20}, x, 1, 1), bad,
		"kernel scale with grid [3, 1, 1] and block [1048576, 1, 1] on opencl:0", "the limit of threadIdx.x is 4096")
	requireError(t, scale.Launch(nil, one, runtime.Dim3{4096, 2}, x, 1, 1), bad,
		"the block has 8192 work-items; the limit of this kernel is 4096")
	requireError(t, scale.Launch(nil, runtime.Dim3{-1}, one, x, 1, 1), bad, "negative: -1")
	requireError(t, scale.Launch(nil, runtime.Dim3{1 << 62}, runtime.Dim3{16}, x, 1, 1), bad, "more than 2^64 work-items")
	for _, grid := range []runtime.Dim3{{1 << 32}, {1 << 62}, {1, 1 << 32}, {1, 1, 1 << 32}, {1 << 16, 1 << 16},
		{1 << 31, 2}, {1 << 22, 1 << 22, 1 << 22}} {
		err := scale.Launch(nil, grid, one, x, 1, 1)
		requireError(t, err, bad, "kernel scale with grid [")
		require.Regexp(t, "at most 2\\^32-1 blocks there: split it", err.Error(), "%v", grid)
	}
	requireError(t, scale.Launch(nil, runtime.Dim3{2}, runtime.Dim3{1 << 62}, x, 1, 1), bad,
		"the limit of threadIdx.x is 4096")
	requireError(t, scale.LaunchWith(nil, runtime.LaunchConfig{Cluster: runtime.Dim3{2}}, x, 1, 1), bad,
		"Cluster is [2 0 0], but the kernel has no clusters")
	requireError(t, scale.LaunchWith(nil, runtime.LaunchConfig{SharedBytes: 8}, x, 1, 1), bad,
		"SharedBytes is 8, but the kernel takes none")
	requireError(t, eight.Launch(nil, one, one, x), bad, "the source requires a block of [8, 1, 1]")
	gputest.EmptyGrid(t, m, "scale", tensor(t, first, []float32{1, 1}), 2, 5, 2)
	require.NoError(t, eight.Launch(nil, one, runtime.Dim3{8}, x), "the device still works")
	require.Equal(t, []float32{0, 1, 2, 3, 4, 5, 6, 7}, slice(t, x)[:8])

	f := function(t, m, "scale")
	_, err = f.Call(x, 1, 1)
	requireError(t, err, bad, "kernel scale takes 9 values, 3 arguments and 6 launch sizes: blockIdx.x")
	_, err = f.Call()
	requireError(t, err, bad, "0 were given")
	_, err = m.Kernel("scales")
	requireError(t, err, runtime.ErrNotFound, "scale")
	require.NoError(t, scale.Close())
	requireError(t, scale.Launch(nil, one, one, x, 1, 1), runtime.ErrClosed)
}

// PoCL ends the process if such a kernel is launched.
func TestKernel_TooMuchSharedMemory(t *testing.T) {
	need(t)
	noLeaks(t)
	limit, err := runtime.DeviceAttr(first, runtime.AttrMaxSharedMemoryPerBlock)
	require.NoError(t, err)
	x := tensor(t, first, make([]float32, 8))
	for _, c := range []struct {
		floats int64
		want   string
	}{
		{limit.(int64) / 4, ""},
		{limit.(int64)/4 + 4, fmt.Sprintf("kernel f uses %d bytes of shared memory in each block, 16 more than opencl:0 (",
			limit.(int64)+16)},
	} {
		code := fmt.Sprintf("__kernel void f(__global float* x) {\n  __local float s[%d];\n  int i = get_local_id(0);\n"+
			"  s[%[1]d - 1 - i] = i;\n  barrier(CLK_LOCAL_MEM_FENCE);\n  x[i] = s[%[1]d - 8 + i];\n}\n", c.floats)
		m := handMade(t, code, runtime.KernelType{Name: "f", Args: []dlpack.DataType{dlpack.Handle}})
		err := kernel(t, m, "f").Launch(nil, runtime.Dim3{1}, runtime.Dim3{8}, x)
		if c.want == "" {
			require.NoError(t, err)
			require.Equal(t, []float32{7, 6, 5, 4, 3, 2, 1, 0}, slice(t, x))
			continue
		}
		requireError(t, err, runtime.ErrInvalidArgument, c.want,
			fmt.Sprintf(") has (%d): use smaller tiles, or build for this target: max_shared_memory_per_block=%[1]d", limit))
	}
}

func TestKernel_BadSource(t *testing.T) {
	need(t)
	noLeaks(t)
	x := tensor(t, first, make([]float32, 8))
	one := runtime.Dim3{1}
	oneArg := []dlpack.DataType{dlpack.Handle}
	broken := handMade(t, "// first line\n__kernel void f(__global float* x) {\n  x[0] = undeclared;\n}\n",
		runtime.KernelType{Name: "f", Args: oneArg})
	for range 2 {
		err := kernel(t, broken, "f").Launch(nil, one, one, x)
		requireError(t, err, runtime.ErrFailed, "kernel f does not compile for opencl:0 (", "CL_BUILD_PROGRAM_FAILURE (-11)",
			":3:10: ", "undeclared")
	}
	lacking := handMade(t, "#pragma OPENCL EXTENSION cl_khr_byte_addressable_store : enable\n"+
		" # pragma OPENCL EXTENSION cl_test_numbers: enable\n__kernel void f(__global number* x) { x[0] = 0; }\n",
		runtime.KernelType{Name: "f", Args: oneArg})
	requireError(t, kernel(t, lacking, "f").Launch(nil, one, one, x), runtime.ErrFailed,
		", which lacks extension cl_test_numbers of OpenCL: run it on another device, or build it", "number")
	missing := handMade(t, source, runtime.KernelType{Name: "gone", Args: oneArg})
	requireError(t, kernel(t, missing, "gone").Launch(nil, one, one, x), runtime.ErrCorruptModule,
		"kernel gone is not in the source, which has: ", "scale")
	counts := handMade(t, source, runtime.KernelType{Name: "scale", Args: oneArg})
	requireError(t, kernel(t, counts, "scale").Launch(nil, one, one, x), runtime.ErrCorruptModule,
		"kernel scale has 3 arguments in its source, but 1 in its description")

	for _, c := range []struct {
		code   string
		kernel runtime.KernelType
		kind   error
		want   string
	}{
		{"x", runtime.KernelType{Name: "f", Args: []dlpack.DataType{dlpack.Float16}}, runtime.ErrNotSupported,
			"argument 0 is of type float16"},
		{"x", runtime.KernelType{Name: "f", Args: make([]dlpack.DataType, 300)}, runtime.ErrCorruptModule,
			"300 arguments, more than 256"},
		{"x", runtime.KernelType{Name: "f", DynamicShared: true}, runtime.ErrNotSupported,
			`launch parameter "tir.use_dyn_shared_memory": OpenCL supports blockIdx.x`},
		{"x", runtime.KernelType{Name: "f", Cluster: true}, runtime.ErrNotSupported,
			`launch parameter "clusterCtaIdx.x": OpenCL supports blockIdx.x`},
		{"x", runtime.KernelType{Name: "f", Cooperative: true}, runtime.ErrNotSupported,
			`launch parameter "tir.use_cooperative_launch": OpenCL supports`},
		{"x", runtime.KernelType{Name: "f", Programmatic: true}, runtime.ErrNotSupported,
			`launch parameter "tir.use_programtic_dependent_launch": OpenCL supports`},
		{"", runtime.KernelType{Name: "f"}, runtime.ErrInvalidArgument, "0 bytes of code"},
		{"x", runtime.KernelType{}, runtime.ErrInvalidArgument, "no name"},
		{"// Function: g\nx", runtime.KernelType{Name: "f"}, runtime.ErrCorruptModule, `no line "// Function: f"`},
		{"// Function: f\nx\n// Function: f\n", runtime.KernelType{Name: "f"}, runtime.ErrCorruptModule,
			`function "f" occurs twice`},
	} {
		_, err := runtime.NewDeviceModule("opencl", "", []byte(c.code), c.kernel)
		requireError(t, err, c.kind, c.want)
	}
	_, err := runtime.NewDeviceModule("opencl", "", []byte("x"))
	requireError(t, err, runtime.ErrInvalidArgument, "0 kernels")
	_, err = runtime.NewDeviceModule("nothing", "", []byte("x"), runtime.KernelType{Name: "f"})
	requireError(t, err, runtime.ErrNotSupported, `"nothing"`)
	binary, err := runtime.NewDeviceModule("opencl", "xclbin", []byte("no binary"), runtime.KernelType{Name: "f",
		Args: oneArg})
	require.NoError(t, err)
	defer binary.Close()
	requireError(t, kernel(t, binary, "f").Launch(nil, one, one, x), runtime.ErrCorruptModule,
		"opencl:0 (", "cannot load the module's binary (xclbin)", "CL_INVALID_BINARY")
}

// Kernels run after their module is closed, and launches complete after their arguments are closed.
func TestKernel_OutlivesItsModule(t *testing.T) {
	need(t)
	noLeaks(t)
	m, err := runtime.NewDeviceModule("opencl", "", []byte(source), kernels...)
	require.NoError(t, err)
	k := kernel(t, m, "scale")
	require.NoError(t, m.Close())
	sum := tensor(t, first, make([]float32, 1<<16))
	for range 8 {
		x := tensor(t, first, make([]float32, 1<<16))
		require.NoError(t, k.Launch(nil, runtime.Dim3{1 << 8}, runtime.Dim3{1 << 8}, x, 2, 1<<16))
		require.NoError(t, sum.CopyFromTensor(x, nil))
		require.NoError(t, x.Close(), "while the launch is enqueued")
	}
	require.Equal(t, make([]float32, 1<<16), slice(t, sum))
}

// A packed kernel accepts a tensor that begins inside its buffer, if the offset has the device's alignment.
func TestPacked_Offsets(t *testing.T) {
	needTwo(t)
	noLeaks(t)
	if !gputest.HasCompiler(t) {
		t.Skip("packing needs a C compiler")
	}
	dir := t.TempDir()
	code, library := filepath.Join(dir, "add.cl"), filepath.Join(dir, "add.so")
	require.NoError(t, os.WriteFile(code,
		[]byte(`__kernel void add(__global const float* a, __global const float* b, __global float* c, int n) {
  int i = get_global_id(0);
  if (i < n) c[i] = a[i] + b[i];
}
`), 0o600))
	require.NoError(t, pack.Library(t.Context(), pack.Kernels{Inputs: []pack.Input{{Path: code}},
		Functions: []pack.Function{{
			Signature: "add(a: const float32[n], b: const float32[n], c: out float32[n], n: int32) launch " +
				"blockIdx.x=ceildiv(n, 64), threadIdx.x=64"}}}, library))
	m := gputest.Module(t, library)
	for _, dev := range []dlpack.Device{first, second} {
		gputest.PackedOffsets(t, m, dev)
	}
}
