//go:build cuda

package cuda_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

var (
	handle  = dlpack.Handle
	kernels = []runtime.KernelType{
		{Name: "scale", Args: []dlpack.DataType{handle, dlpack.Float32, dlpack.Int32}},
		{Name: "types", Args: []dlpack.DataType{handle, dlpack.Int64, dlpack.Int32, dlpack.UInt32, dlpack.Float64,
			dlpack.Float32}},
		{Name: "shape", Args: []dlpack.DataType{handle}},
		{Name: "shape_static", Args: []dlpack.DataType{handle}, DynamicShared: true},
		{Name: "few", Args: []dlpack.DataType{handle}},
	}
	one = runtime.Dim3{1}
)

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	return must.Get(os.ReadFile("testdata/" + name))(t)
}

// ptx returns a module with the tests' kernels.
func ptx(t testing.TB, kernels ...runtime.KernelType) *runtime.Module {
	t.Helper()
	return handMade(t, "ptx", testdata(t, "kernels.ptx"), kernels...)
}

func handMade(t testing.TB, format string, code []byte, kernels ...runtime.KernelType) *runtime.Module {
	t.Helper()
	return gputest.HandMade(t, "cuda", format, code, kernels...)
}

func empty(t testing.TB, dtype dlpack.DataType, shape []int64, dev dlpack.Device) *runtime.Tensor {
	t.Helper()
	return must.Open(runtime.NewTensor(dtype, shape, dev))(t)
}

func elements[T interface {
	float32 | float64 | int32 | uint64
}](t testing.TB, x *runtime.Tensor) []T {
	t.Helper()
	return must.Get(runtime.ToSlice[T](x))(t)
}

func TestKernel_Launch(t *testing.T) {
	need(t)
	leavesNothing(t)
	for format, code := range map[string]string{"ptx": "kernels.ptx", "cubin": "kernels.cubin",
		"fatbin": "kernels.fatbin"} {
		k := kernel(t, handMade(t, format, testdata(t, code), kernels...), "scale")
		for _, dev := range present() {
			for _, on := range []*runtime.Stream{nil, stream(t, dev)} {
				data := make([]float32, 64)
				for i := range data {
					data[i] = float32(i)
				}
				x := tensor(t, dev, data)
				require.NoError(t, k.Launch(on, runtime.Dim3{4}, runtime.Dim3{16}, x, 2.5, 60))
				if on != nil {
					require.NoError(t, on.Sync(t.Context()))
				}
				for i := range data[:60] {
					data[i] *= 2.5
				}
				require.Equal(t, data, slice(t, x), "%s on %v", format, dev)
			}
		}
	}
}

// The declared format of compiled code does not matter: TVM tags fat binaries as cubins.
func TestKernel_FormatIsTheImages(t *testing.T) {
	need(t)
	leavesNothing(t)
	for _, c := range [][2]string{{"cubin", "kernels.fatbin"}, {"ptx", "kernels.fatbin"}, {"cuda", "kernels.cubin"},
		{"cuda", "kernels.ptx"}, {"cubin", "kernels.ptx"}} {
		x := tensor(t, first, []float32{1, 2})
		require.NoError(t, kernel(t, handMade(t, c[0], testdata(t, c[1]), kernels...), "scale").Launch(nil, one,
			runtime.Dim3{2}, x, 3, 2))
		require.Equal(t, []float32{3, 6}, slice(t, x), c)
	}
}

func TestKernel_TypesOfArguments(t *testing.T) {
	need(t)
	leavesNothing(t)
	x := empty(t, dlpack.Float64, []int64{5}, first)
	require.NoError(t, kernel(t, ptx(t, kernels...), "types").Launch(nil, runtime.Dim3{}, runtime.Dim3{}, x,
		int64(1)<<40, -7, uint32(4000000000), 0.1, 3))
	require.Equal(t, []float64{1 << 40, -7, 4000000000, 0.1, 3}, elements[float64](t, x))
}

// For a view of an array, the kernel gets the address of its first element.
func TestKernel_PartOfAnArray(t *testing.T) {
	need(t)
	leavesNothing(t)
	x := tensor(t, first, []float32{1, 1, 1, 1, 1})
	part := must.Open(x.View(dlpack.Float32, []int64{3}, nil, 4))(t)
	require.NoError(t, kernel(t, ptx(t, kernels...), "scale").Launch(nil, runtime.Dim3{3}, one, part, 3, 3))
	require.Equal(t, []float32{1, 3, 3, 3, 1}, slice(t, x))
}

// Kernels can use page-locked and managed memory.
func TestKernel_MemoryOfBoth(t *testing.T) {
	need(t)
	leavesNothing(t)
	k := kernel(t, ptx(t, kernels...), "scale")
	for _, typ := range []dlpack.DeviceType{dlpack.CUDAHost, dlpack.CUDAManaged} {
		x := tensor(t, dlpack.Device{Type: typ}, []float32{1, 2})
		require.NoError(t, k.Launch(nil, one, runtime.Dim3{2}, x, 3, 2))
		require.NoError(t, runtime.SyncDevice(t.Context(), first))
		require.Equal(t, []float32{3, 6}, slice(t, x), "%v", typ)
	}
}

// shapeOf launches a kernel that returns the sizes of its launch.
func shapeOf(t testing.TB, k *runtime.Kernel, c runtime.LaunchConfig) []int32 {
	t.Helper()
	out := empty(t, dlpack.Int32, []int64{10}, first)
	require.NoError(t, k.LaunchWith(nil, c, out))
	return elements[int32](t, out)
}

func TestKernel_Shapes(t *testing.T) {
	need(t)
	leavesNothing(t)
	args := []dlpack.DataType{handle}
	of := func(k runtime.KernelType) *runtime.Kernel { return kernel(t, ptx(t, k), k.Name) }
	plain := of(runtime.KernelType{Name: "shape", Args: args})
	require.Equal(t, []int32{4, 3, 2, 8, 4, 2, 1, 1, 1, 0},
		shapeOf(t, plain, runtime.LaunchConfig{Grid: runtime.Dim3{4, 3, 2}, Block: runtime.Dim3{8, 4, 2},
			Cluster: runtime.Dim3{1, 1, 1}}))
	shared := of(runtime.KernelType{Name: "shape", Args: args, DynamicShared: true})
	require.EqualValues(t, 0, shapeOf(t, shared, runtime.LaunchConfig{Block: one})[9])
	require.EqualValues(t, 40000, shapeOf(t, shared, runtime.LaunchConfig{Block: one, SharedBytes: 40000})[9])
	clusters := of(runtime.KernelType{Name: "shape", Args: args, Cluster: true, DynamicShared: true})
	require.Equal(t, []int32{8, 2, 1, 32, 1, 1, 4, 2, 1, 100}, shapeOf(t, clusters,
		runtime.LaunchConfig{Grid: runtime.Dim3{8, 2}, Block: runtime.Dim3{32}, Cluster: runtime.Dim3{4, 2},
			SharedBytes: 100}))
	require.Equal(t, []int32{16, 1, 1, 32, 1, 1, 16, 1, 1, 0}, shapeOf(t, clusters,
		runtime.LaunchConfig{Grid: runtime.Dim3{16}, Block: runtime.Dim3{32}, Cluster: runtime.Dim3{16}}),
		"a cluster of more than 8 blocks")
	require.EqualValues(t, 1, shapeOf(t, clusters, runtime.LaunchConfig{Grid: one, Block: one})[6],
		"a cluster of one block is the same as no cluster")
	all := of(runtime.KernelType{Name: "shape", Args: args, Cluster: true, DynamicShared: true, Programmatic: true})
	require.Equal(t, []int32{2, 1, 1, 1, 1, 1, 2, 1, 1, 50000}, shapeOf(t, all,
		runtime.LaunchConfig{Grid: runtime.Dim3{2}, Block: one, Cluster: runtime.Dim3{2}, SharedBytes: 50000}))
	cooperative := of(runtime.KernelType{Name: "shape", Args: args, Cooperative: true})
	require.EqualValues(t, 2, shapeOf(t, cooperative, runtime.LaunchConfig{Grid: runtime.Dim3{2}, Block: one})[0])
	err := cooperative.Launch(nil, runtime.Dim3{1 << 20}, runtime.Dim3{1024}, empty(t, dlpack.Int32, []int64{10}, first))
	require.ErrorContains(t, err, "COOPERATIVE_LAUNCH_TOO_LARGE", "the launch is cooperative")

	x := empty(t, dlpack.Int32, []int64{10}, first)
	bad := runtime.ErrInvalidArgument
	requireError(t, clusters.LaunchWith(nil, runtime.LaunchConfig{Grid: runtime.Dim3{7}, Block: one,
		Cluster: runtime.Dim3{2}}, x), bad,
		"kernel shape with grid [7, 1, 1] and block [1, 1, 1] on cuda:0, 0 bytes of shared memory: the grid is not a "+
			"multiple of the cluster of [2, 1, 1] blocks")
	requireError(t, plain.LaunchWith(nil, runtime.LaunchConfig{Cluster: runtime.Dim3{2}}, x), bad,
		"Cluster is [2 0 0], but the kernel has no clusters")
	requireError(t, plain.LaunchWith(nil, runtime.LaunchConfig{SharedBytes: 1}, x), bad,
		"SharedBytes is 1, but the kernel takes none")
	requireError(t, shared.LaunchWith(nil, runtime.LaunchConfig{SharedBytes: -1}, x), bad, "negative: -1")
}

// Launches can use dynamic shared memory up to the device's limit, with sizes in any order.
func TestKernel_SharedMemory(t *testing.T) {
	need(t)
	leavesNothing(t)
	k := kernel(t, ptx(t, kernels...), "shape_static")
	for _, n := range []int{1000, 60000, 100000, 50000, 100000} {
		require.EqualValues(t, n, shapeOf(t, k, runtime.LaunchConfig{Block: one, SharedBytes: n})[9])
	}
	x := empty(t, dlpack.Int32, []int64{10}, first)
	requireError(t, k.LaunchWith(nil, runtime.LaunchConfig{Block: one, SharedBytes: 300000}, x),
		runtime.ErrInvalidArgument,
		"kernel shape_static with grid [1, 1, 1] and block [1, 1, 1] on cuda:0, 300000 bytes of shared memory: the limit is ",
		"and the kernel's static shared memory is 1024")
	if fake := steered(t); fake != nil {
		before := fake.Calls()
		require.NoError(t, k.LaunchWith(nil, runtime.LaunchConfig{Block: one, SharedBytes: 100000}, x))
		fake.FailAt(1, 999, "cuFuncSetAttribute")
		require.NoError(t, k.LaunchWith(nil, runtime.LaunchConfig{Block: one, SharedBytes: 100000}, x),
			"the limit is raised only once")
		require.Error(t, k.LaunchWith(nil, runtime.LaunchConfig{Block: one, SharedBytes: 100001}, x))
		require.NoError(t, k.LaunchWith(nil, runtime.LaunchConfig{Block: one, SharedBytes: 100001}, x), "the next try works")
		require.Greater(t, fake.Calls(), before)
		limit := 232448 - 1024
		require.EqualValues(t, limit, shapeOf(t, k, runtime.LaunchConfig{Block: one, SharedBytes: limit})[9])
		requireError(t, k.LaunchWith(nil, runtime.LaunchConfig{Block: one, SharedBytes: limit + 1}, x),
			runtime.ErrInvalidArgument, "the limit is 231424: the device has 232448")
	}
}

func TestKernel_BadCalls(t *testing.T) {
	need(t)
	leavesNothing(t)
	m := ptx(t, kernels...)
	scale, types, few := kernel(t, m, "scale"), kernel(t, m, "types"), kernel(t, m, "few")
	x := tensor(t, first, make([]float32, 64))
	host := tensor(t, runtime.CPU, make([]float32, 64))
	bad := runtime.ErrInvalidArgument
	requireError(t, scale.Launch(nil, one, one, x, 1), bad, "3 arguments are needed, 2 were given")
	requireError(t, scale.Launch(nil, one, one, 5, 1, 1), bad,
		"kernel scale: argument 0 must be an array or its data, not int")
	requireError(t, scale.Launch(nil, one, one, nil, 1, 1), bad,
		"kernel scale: argument 0 is NULL: memory of cuda:0 is needed")
	requireError(t, scale.Launch(nil, one, one, runtime.Ptr(nil), 1, 1), bad, "argument 0 is NULL")
	requireError(t, scale.Launch(nil, one, one, host, 1, 1), bad,
		"argument 0 is an array of device type 1, the kernel runs on cuda:0")
	requireError(t, scale.Launch(nil, one, one, x, "a", 1), bad, "kernel scale: argument 1 must be a number")
	requireError(t, scale.Launch(nil, one, one, x, 1, 0.5), bad, "kernel scale: argument 2 must be an integer, not float")
	requireError(t, scale.Launch(nil, one, one, x, 1, 1<<31), bad,
		"argument 2 is 2147483648, which does not fit into 32 bits")
	requireError(t, scale.Launch(nil, one, one, x, 1, -1<<31-1), bad,
		"argument 2 is -2147483649, which does not fit into 32 bits")
	requireError(t, types.Launch(nil, one, one, x, 1, 1, int64(1)<<32, 1, 1), bad, "argument 3 is 4294967296")
	if runtime.DeviceExists(second) {
		far := tensor(t, second, make([]float32, 64))
		requireError(t, scale.Launch(stream(t, first), one, one, far, 1, 1), bad,
			"argument 0 is an array of cuda:1, the kernel runs on cuda:0")
	}
	requireError(t, scale.Launch(stream(t, runtime.CPU), one, one, x, 1, 1), bad, "the stream is one of cpu")

	// Sizes.
	requireError(t, scale.Launch(nil, one, runtime.Dim3{1 << 20}, x, 1, 1), bad,
		"kernel scale with grid [1, 1, 1] and block [1048576, 1, 1] on cuda:0, 0 bytes of shared memory: the limit of "+
			"threadIdx.x is 1024")
	requireError(t, scale.Launch(nil, one, runtime.Dim3{1, 1, 65}, x, 1, 1), bad, "the limit of threadIdx.z is 64")
	requireError(t, scale.Launch(nil, one, runtime.Dim3{1024, 2}, x, 1, 1), bad,
		"the block has 2048 threads; the limit of this kernel is 1024")
	requireError(t, few.Launch(nil, one, runtime.Dim3{65}, x), bad,
		"the block has 65 threads; the limit of this kernel is 64 (of the device: 1024)")
	requireError(t, scale.Launch(nil, runtime.Dim3{1, 65536}, one, x, 1, 1), bad, "the limit of blockIdx.y is 65535")
	requireError(t, scale.Launch(nil, runtime.Dim3{-1}, one, x, 1, 1), bad, "negative: -1")
	requireError(t, scale.Launch(nil, runtime.Dim3{1 << 62}, one, x, 1, 1), bad, "the limit of blockIdx.x is 2147483647")
	gputest.EmptyGrid(t, m, "scale", tensor(t, first, []float32{1, 1}), 2, 5, 2)
	require.NoError(t, few.Launch(nil, one, runtime.Dim3{64}, x), "the device still works")
	require.Equal(t, float32(63), slice(t, x)[63])

	f := function(t, m, "scale")
	_, err := f.CallOn(stream(t, first), x, 1, 1)
	requireError(t, err, bad, "kernel scale takes 9 values, 3 arguments and 6 launch sizes: blockIdx.x")
	_, err = m.Kernel("scales")
	requireError(t, err, runtime.ErrNotFound, "scale")
	require.NoError(t, scale.Close())
	requireError(t, scale.Launch(nil, one, one, x, 1, 1), runtime.ErrClosed)
}

func TestKernel_BadDescriptions(t *testing.T) {
	args := []dlpack.DataType{handle}
	for _, c := range []struct {
		format string
		kernel runtime.KernelType
		kind   error
		want   string
	}{
		{"ptx", runtime.KernelType{Name: "f", Args: []dlpack.DataType{dlpack.Float16}}, runtime.ErrNotSupported,
			"argument 0 is of type float16"},
		{"ptx", runtime.KernelType{Name: "f", Args: make([]dlpack.DataType, 300)}, runtime.ErrCorruptModule,
			"300 arguments, more than 256"},
		{"hsaco", runtime.KernelType{Name: "f", Args: args}, runtime.ErrNotSupported,
			`a module of kind "cuda" cannot have the format "hsaco"`},
	} {
		_, err := runtime.NewDeviceModule("cuda", c.format, []byte("x"), c.kernel)
		requireError(t, err, c.kind, c.want)
	}
	for _, c := range []struct {
		meta string
		kind error
		want string
	}{
		{`"launch_param_tags": ["vthread"]`, runtime.ErrNotSupported,
			`launch parameter "vthread": CUDA supports blockIdx.x`},
		{`"launch_param_tags": ["tir.nothing"]`, runtime.ErrNotSupported, `launch parameter "tir.nothing"`},
		{`"launch_param_tags": ["threadIdx.x", "threadIdx.x"]`, runtime.ErrCorruptModule, `"threadIdx.x" occurs twice`},
		{`"launch_param_tags": ["tir.use_cooperative_launch", "tirx.use_cooperative_launch"]`, runtime.ErrCorruptModule,
			`"tirx.use_cooperative_launch" occurs twice`},
		{`"launch_param_tags": ["tir.use_dyn_shared_memory", "threadIdx.x"]`, runtime.ErrCorruptModule,
			`"tir.use_dyn_shared_memory" must be the last`},
		{`"launch_param_tags": [], "arg_extra_tags": [2]`, runtime.ErrNotSupported, "argument 0 has the unknown tag 2"},
	} {
		_, err := withMeta(t, `{"shape": {"name": "shape", "arg_types": ["handle"], `+c.meta+`}}`)
		requireError(t, err, c.kind, c.want)
	}
}

// withMeta loads the tests' kernels from a file with another description.
func withMeta(t testing.TB, functions string) (*runtime.Module, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "k.ptx"), testdata(t, "kernels.ptx"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "k.tvm_meta.json"),
		[]byte(`{"tvm_version": "0.1.0", "func_info": `+functions+`}`), 0o666))
	m, err := runtime.Load(t.Context(), filepath.Join(dir, "k.ptx"))
	if err == nil {
		t.Cleanup(func() { m.Close() })
	}
	return m, err
}

// Launch parameters with the prefix of newer files, in an unusual order.
func TestKernel_NewerTags(t *testing.T) {
	need(t)
	leavesNothing(t)
	m, err := withMeta(t,
		`{"k": {"name": "shape", "arg_types": ["handle"], "launch_param_tags": ["threadIdx.x", "clusterCtaIdx.x",
		"tirx.use_programtic_dependent_launch", "blockIdx.x", "preferredClusterCtaIdx.x", "tirx.use_dyn_shared_memory"]}}`)
	require.NoError(t, err)
	out := empty(t, dlpack.Int32, []int64{10}, first)
	f := function(t, m, "k")
	s := stream(t, first)
	must.Get(f.CallOn(s, out, 32, 2, 8, 1, 4096))(t)
	require.NoError(t, s.Sync(t.Context()))
	require.Equal(t, []int32{8, 1, 1, 32, 1, 1, 2, 1, 1, 4096}, elements[int32](t, out))
	_, err = f.CallOn(s, out, 32, 2, 8, 3, 0)
	requireError(t, err, runtime.ErrInvalidArgument,
		"the grid is not a multiple of the preferred cluster of [3, 1, 1] blocks")
	_, err = f.CallOn(s, out)
	requireError(t, err, runtime.ErrInvalidArgument, "launch sizes: threadIdx.x, clusterCtaIdx.x, blockIdx.x, "+
		"preferredClusterCtaIdx.x, bytes of shared memory; 1 were given")
	_, err = m.Kernel("k")
	requireError(t, err, runtime.ErrNotSupported, `takes "preferredClusterCtaIdx.x", which Launch cannot give`)
}

// A tensor map argument is a pointer to 128 bytes, which the kernel gets.
func TestKernel_TensorMap(t *testing.T) {
	need(t)
	leavesNothing(t)
	m, err := withMeta(t, `{"words": {"name": "words", "arg_types": ["handle", "handle"],
		"launch_param_tags": ["threadIdx.x"], "arg_extra_tags": [0, 1]}}`)
	require.NoError(t, err)
	f := function(t, m, "words")
	out := empty(t, dlpack.UInt64, []int64{16}, first)
	var want []uint64
	for i := range 16 {
		want = append(want, uint64(i)<<40+uint64(i))
	}
	s := stream(t, first)
	must.Get(f.CallOn(s, out, runtime.Ptr(unsafe.Pointer(&want[0])), 1))(t)
	require.NoError(t, s.Sync(t.Context()))
	require.Equal(t, want, elements[uint64](t, out))
	for _, wrong := range []any{nil, 5, out} {
		_, err = f.CallOn(s, out, wrong, 1)
		requireError(t, err, runtime.ErrInvalidArgument,
			"kernel words: argument 1 must be a pointer to a tensor map (a CUtensorMap of 128 bytes)")
	}
}

func TestKernel_GlobalBarrier(t *testing.T) {
	need(t)
	leavesNothing(t)
	m := ptx(t, runtime.KernelType{Name: "count", Args: []dlpack.DataType{handle}})
	prepare := function(t, m, "__tvm_prepare_global_barrier")
	out := empty(t, dlpack.Int32, []int64{1}, first)
	k := kernel(t, m, "count")
	require.NoError(t, m.Close())
	s := stream(t, first)
	for range 3 {
		require.Nil(t, must.Get(prepare.CallOn(s))(t))
		require.NoError(t, k.Launch(s, one, one, out))
		require.NoError(t, s.Sync(t.Context()))
		require.Equal(t, []int32{0}, elements[int32](t, out))
	}
	_, err := prepare.CallOn(s, 1)
	requireError(t, err, runtime.ErrInvalidArgument, "__tvm_prepare_global_barrier takes no arguments, 1 were given")
	if fake := steered(t); fake != nil {
		fake.FailAt(1, 999, "cuMemsetD32Async")
		require.ErrorContains(t, must.Fail(prepare.CallOn(s)), "set __tvm_global_barrier_state of the module on cuda:0")
		require.True(t, fake.Failed())
	}
	without := handMade(t, "ptx", []byte(strings.ReplaceAll(string(testdata(t, "kernels.ptx")),
		"__tvm_global_barrier_state", "another")), kernels...)
	_, err = without.Function("__tvm_prepare_global_barrier")
	requireError(t, err, runtime.ErrNotFound)
}
