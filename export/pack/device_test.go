package pack_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// fakeDevice is a device in host memory whose kernels record their launches.
type fakeDevice struct {
	mu     sync.Mutex
	spaces map[unsafe.Pointer][]byte
	log    []string // "set 1", "add_kernel"
	args   []any    // of the last launch
	infos  map[string]blob.FunctionInfo
	fail   error // of launches
}

func (d *fakeDevice) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, fmt.Sprintf(format, args...))
}

func (d *fakeDevice) SetDevice(id int) error {
	d.note("set %d", id)
	return nil
}

func (d *fakeDevice) Attr(id int, kind runtime.AttrKind) (any, error) {
	if kind == runtime.AttrExist {
		return int64(b2i(id < 2)), nil
	}
	return nil, nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (d *fakeDevice) AllocDataSpace(id int, nbytes, alignment uintptr, hint dlpack.DataType) (unsafe.Pointer, error) {
	space, err := syscall.Mmap(-1, 0, int(nbytes)+1, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spaces[unsafe.Pointer(&space[0])] = space
	return unsafe.Pointer(&space[0]), nil
}

func (d *fakeDevice) FreeDataSpace(id int, p unsafe.Pointer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	space := d.spaces[p]
	delete(d.spaces, p)
	return syscall.Munmap(space)
}

func (d *fakeDevice) CopyDataFromTo(from, to dlpack.Tensor, _ runtime.StreamHandle) error {
	return fmt.Errorf("nothing is copied here")
}
func (d *fakeDevice) StreamSync(int, runtime.StreamHandle) error { return nil }

// fakeModule is a module of a device kind that has a backend.
type fakeModule struct {
	runtime.ModuleBase
	device    *fakeDevice
	functions []blob.Function
}

func (m *fakeModule) Function(name string) (*runtime.Function, error) {
	for _, f := range m.functions {
		if f.Key == name {
			m.device.infos[name] = f.FunctionInfo
			return runtime.NewFunction(func(args ...any) (any, error) {
				m.device.note("%s", name)
				m.device.args = append([]any(nil), args...)
				return nil, m.device.fail
			})
		}
	}
	return nil, &runtime.Error{Kind: runtime.ErrNotFound, Code: "NotFoundError", Message: "no kernel " + name}
}

// fakes are the registered devices; modules of kind vulkan have no backend.
var fakes = sync.OnceValues(func() (map[dlpack.DeviceType]*fakeDevice, error) {
	all := map[dlpack.DeviceType]*fakeDevice{}
	for device, name := range map[dlpack.DeviceType]string{dlpack.CUDA: "cuda", dlpack.OpenCL: "opencl",
		dlpack.Vulkan: "vulkan"} {
		d := &fakeDevice{spaces: map[unsafe.Pointer][]byte{}, infos: map[string]blob.FunctionInfo{}}
		all[device] = d
		if err := runtime.RegisterDeviceAPI(runtime.DeviceSpec{Type: device, Name: name,
			New: func() (runtime.DeviceAPI, error) { return d, nil }}); err != nil {
			return nil, err
		}
		if device == dlpack.Vulkan {
			continue
		}
		err := runtime.RegisterModuleKind(runtime.ModuleKind{Name: name, Properties: runtime.Serializable | runtime.Runnable,
			Load: func(p runtime.Payload) (runtime.ModuleImpl, error) {
				m, err := blob.ParseDeviceModule(p.Data, blob.Modern)
				if err != nil {
					return nil, err
				}
				return &fakeModule{device: d, functions: m.Functions}, nil
			}})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
})

func fakeOf(t *testing.T, device dlpack.DeviceType) *fakeDevice {
	t.Helper()
	all := must.Get(fakes())(t)
	d := all[device]
	d.log, d.args, d.fail = nil, nil, nil
	return d
}

func onDevice(t *testing.T, dev dlpack.Device, dtype dlpack.DataType, shape ...int64) *runtime.Tensor {
	t.Helper()
	return must.Open(runtime.NewTensor(dtype, shape, dev))(t)
}

const (
	clSource = "__kernel void add(__global const float* a, __global const float* b, __global float* c, int n) {\n  int " +
		"i = get_global_id(0);\n  if (i < n) c[i] = a[i] + b[i];\n}\n"
	ptxSource = ".version 7.0\n.target sm_50\n.address_size 64\n// .entry commented(\n.visible .entry add(\n  .param " +
		".u64 a\n) { ret; }\n.entry hidden() { ret; }\n"
	cuSource = "extern \"C\" __global__ void add(const float* a, const float* b, float* c, int n) {}\nvoid helper() " +
		"{}\n__device__ void half() {}\n"
)

// spirv returns a module with entry points of these names, which read scalars from push constants or have no scalars.
func spirv(pushes bool, names ...string) string {
	if pushes {
		return spirvWith(9, names...)
	}
	return spirvWith(12, names...) // a storage buffer
}

// spirvWith returns a module whose entry points use one variable of a storage class.
func spirvWith(class uint32, names ...string) string {
	words := []uint32{0x07230203, 0x10000, 0, 100, 0, 3<<16 | 14, 0, 1}
	for i, name := range names {
		text := append([]byte(name), make([]byte, 4-len(name)%4)...)
		words = append(words, uint32(3+len(text)/4)<<16|15, 5, uint32(i+1))
		for ; len(text) > 0; text = text[4:] {
			words = append(words, binary.LittleEndian.Uint32(text))
		}
	}
	words = append(words, 4<<16|21, 48, 32, 1, 3<<16|30, 49, 48, 4<<16|32, 50, class, 49, 4<<16|59, 50, 51, class,
		2<<16|19, 52, 3<<16|33, 53, 52)
	for i := range names {
		words = append(words, 5<<16|54, 52, uint32(i+1), 0, 53, 2<<16|248, uint32(80+i), 4<<16|61, 49, uint32(60+i), 51,
			1<<16|253, 1<<16|56)
	}
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return string(b)
}

// TestLibrary_UnreadScalars tests shaders that declare push constants, but read none of them.
func TestLibrary_UnreadScalars(t *testing.T) {
	code := []byte(spirv(true, "add"))
	load := bytes.Index(code, []byte{61, 0, 4, 0})
	require.Positive(t, load)
	for i := range 4 { // OpNop instead of OpLoad
		copy(code[load+4*i:], []byte{0, 0, 1, 0})
	}
	m := must.Get(pack.Module(kernelsOf([]string{write(t, "k.spv", string(code))}, addSignature)))(t)
	require.NoError(t, m.Close())
	_, err := pack.Module(kernelsOf([]string{write(t, "k.spv", spirv(false, "add"))}, addSignature))
	require.ErrorContains(t, err, "neither push constants nor a uniform buffer")
}

func variants(t *testing.T) []string {
	t.Helper()
	return []string{"testdata/k.c", write(t, "k.cl", clSource), write(t, "k.ptx", ptxSource),
		write(t, "k.spv", spirv(true, "other", "add"))}
}

func TestLibrary_LaunchesDeviceKernels(t *testing.T) {
	cl, cuda := fakeOf(t, dlpack.OpenCL), fakeOf(t, dlpack.CUDA)
	m := modules.Load(t, packed(t, kernelsOf(variants(t), addSignature)))
	add := function(t, m, "add")

	dev := dlpack.Device{Type: dlpack.OpenCL, ID: 1}
	a, b, c := onDevice(t, dev, dlpack.Float32, 130), onDevice(t, dev, dlpack.Float32, 130),
		onDevice(t, dev, dlpack.Float32, 130)
	for range 2 { // looked up, and cached
		cl.log, cl.args = nil, nil
		must.Get(add.Call(a, b, c, 130))(t)
		require.Equal(t, []string{"set 1", "add"}, cl.log)
		require.Equal(t, []any{pointer(a), pointer(b), pointer(c), int64(130), int64(3), int64(64)}, cl.args)
	}
	require.Equal(t, blob.FunctionInfo{Name: "add", ArgTypes: []dlpack.DataType{dlpack.Handle, dlpack.Handle,
		dlpack.Handle, dlpack.Int32},
		LaunchParamTags: []string{"blockIdx.x", "threadIdx.x"}, ArgExtraTags: []int32{0, 0, 0, 0}}, cl.infos["add"])
	require.Empty(t, cuda.log)

	dev = dlpack.Device{Type: dlpack.CUDA}
	a, b, c = onDevice(t, dev, dlpack.Float32, 64), onDevice(t, dev, dlpack.Float32, 64),
		onDevice(t, dev, dlpack.Float32, 64)
	must.Get(add.Call(a, b, c, 64))(t)
	require.Equal(t, []string{"set 0", "add_cuda"}, cuda.log)
	require.Equal(t, "add", cuda.infos["add_cuda"].Name)
	require.Equal(t, []any{pointer(a), pointer(b), pointer(c), int64(64), int64(1), int64(64)}, cuda.args)

	cuda.fail = fmt.Errorf("the launch failed")
	require.ErrorContains(t, must.Fail(add.Call(a, b, c, 64)), "the launch failed")

	// the errors of modules that are only data name what is missing
	dev = dlpack.Device{Type: dlpack.Vulkan}
	a, b, c = onDevice(t, dev, dlpack.Float32, 64), onDevice(t, dev, dlpack.Float32, 64),
		onDevice(t, dev, dlpack.Float32, 64)
	_, err := add.Call(a, b, c, 64)
	require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
	require.ErrorContains(t, err, "import tvmgo/runtime/vulkan")
}

func pointer(x *runtime.Tensor) runtime.Ptr {
	address := x.Data()
	return *(*runtime.Ptr)(unsafe.Pointer(&address))
}

func TestLibrary_LaunchParameters(t *testing.T) {
	cl := fakeOf(t, dlpack.OpenCL)
	dev := dlpack.Device{Type: dlpack.OpenCL}
	source := write(t, "k.cl", "kernel void k(global float* a, long n, float f) {}")
	const signature = "%s=k(a: float32[rows, 8], n: int64, f: float32) launch %s"
	m := modules.Load(t, packed(t, kernelsOf([]string{source},
		fmt.Sprintf(signature, "given", "blockIdx.x, blockIdx.y, threadIdx.x, shared"),
		fmt.Sprintf(signature, "mixed", "blockIdx.x, blockIdx.y=rows*(n+1)-min(n, 3)%2, threadIdx.x, "+
			"tir.use_dyn_shared_memory=4*max(n, 2)/2"))))
	x := onDevice(t, dev, dlpack.Float32, 5, 8)
	for _, c := range []struct {
		function string
		args     []any
		want     []any
		failure  string
	}{
		{"given", []any{x, 7, 0.5, 1, 2, 3, 4}, []any{pointer(x), int64(7), 0.5, int64(1), int64(2), int64(3), int64(4)}, ""},
		{"given", []any{x, 7, 0.5, 0, 2, 3, 4}, []any{pointer(x), int64(7), 0.5, int64(0), int64(2), int64(3), int64(4)}, ""},
		{"mixed", []any{x, 7, 1, 9, 32}, []any{pointer(x), int64(7), 1.0, int64(9), int64(5*8 - 1), int64(32), int64(14)},
			""},
		{"mixed", []any{x, -1, 1, 9, 32}, []any{pointer(x), int64(-1), 1.0, int64(9), int64(1), int64(32), int64(4)}, ""},
		{"mixed", []any{x, 2, 1, 9}, nil, "mixed: expected 5 arguments, got 4: mixed(a: float32[rows, 8], n: int64, f: " +
			"float32, blockIdx.x, threadIdx.x)"},
		{"mixed", []any{x, 2, 1, 9, -1}, nil, "mixed: launch parameter threadIdx.x is -1, expected 0 to 4294967295"},
		{"mixed", []any{x, 2, 1, "nine", 1}, nil, "mixed: argument 3 (blockIdx.x): expected int64, got a string"},
		{"mixed", []any{x, int64(1) << 62, 1, 1, 1}, nil,
			"mixed: launch parameter blockIdx.y = rows*(n+1)-min(n, 3)%2: the " +
				"result does not fit 64 bits"},
		{"mixed", []any{x, -9, 1, 1, 1}, nil, "is -39, expected 0 to 4294967295"},
	} {
		cl.log, cl.args = nil, nil
		_, err := function(t, m, c.function).Call(c.args...)
		if c.failure != "" {
			require.ErrorContains(t, err, c.failure)
			require.Empty(t, cl.log)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, cl.args)
	}
}

func TestLibrary_NothingToLaunch(t *testing.T) {
	cl := fakeOf(t, dlpack.OpenCL)
	source := write(t, "k.cl", "kernel void k(global float* a, long n) {}")
	m := modules.Load(t, packed(t, kernelsOf([]string{source}, "k(a: float32[n], by: int64) launch blockIdx.x=ceildiv(n, "+
		"by), threadIdx.x=64")))
	k, empty := function(t, m, "k"), onDevice(t, dlpack.Device{Type: dlpack.OpenCL}, dlpack.Float32, 0)
	must.Get(k.Call(empty, 64))(t)
	require.Empty(t, cl.log)
	_, err := k.Call(empty, 0)
	require.ErrorContains(t, err, "k: launch parameter blockIdx.x = ceildiv(n, by): division by zero")
}

func TestLibrary_DeviceTensors(t *testing.T) {
	cl, cuda := fakeOf(t, dlpack.OpenCL), fakeOf(t, dlpack.CUDA)
	m := modules.Load(t, packed(t, kernelsOf([]string{write(t, "k.cl", "kernel void k(global float* a) {}"),
		write(t, "k.cu", "extern \"C\" { __global__ void k(float* a) {} }")}, "k(float32[4], handle) launch threadIdx.x=1")))
	k := function(t, m, "k")
	part := func(dev dlpack.Device) *runtime.Tensor {
		return must.Open(onDevice(t, dev, dlpack.Float32, 8).View(dlpack.Float32, []int64{4}, nil, 16))(t)
	}
	for _, c := range []struct {
		dev     dlpack.Device
		failure string
	}{
		{dlpack.Device{Type: dlpack.OpenCL},
			"k: argument 0: the elements begin 16 bytes into the device's memory, expected 0: " +
				"this runtime gives kernels on opencl:0 whole buffers only: copy them, or load the file with tvmgo's runtime"},
		{dlpack.Device{Type: dlpack.CUDA}, ""},
	} {
		x := part(c.dev)
		_, err := k.Call(x, x)
		if c.failure != "" {
			require.ErrorContains(t, err, c.failure)
			continue
		}
		require.NoError(t, err)
		p := runtime.Ptr(unsafe.Add(unsafe.Pointer(pointer(x)), 16))
		require.Equal(t, []any{p, p, int64(1)}, cuda.args)
	}
	require.Empty(t, cl.log)

	one, two := onDevice(t, dlpack.Device{Type: dlpack.CUDA}, dlpack.Float32, 4),
		onDevice(t, dlpack.Device{Type: dlpack.CUDA, ID: 1}, dlpack.Float32, 4)
	require.ErrorContains(t, must.Fail(k.Call(one, two)),
		"k: argument 1: the tensor is on cuda:1, expected cuda:0, the device of argument 0: copy it")
	_, err := k.Call(modules.Tensor(t, make([]float32, 4)), modules.Tensor(t, make([]float32, 4)))
	require.ErrorContains(t, err, "k: the tensors are on cpu:0, and the file has the function for cuda, opencl")
}

// The tree is as documented, and OpenCL's source has the line that its loaders require.
func TestModule_Tree(t *testing.T) {
	m := must.Open(pack.Module(kernelsOf(variants(t), addSignature)))(t)
	deps := must.Get(m.Imports())(t)
	var kinds []string
	for _, d := range deps {
		kinds = append(kinds, d.Kind())
		if d.Kind() == "opencl" {
			require.Equal(t, "// Function: add\n"+clSource, must.Get(d.GetSource(""))(t))
		}
		if d.Kind() == "vulkan" {
			data := must.Get(d.SaveToBinary())(t)
			v := must.Get(blob.ParseVulkanModule(data, blob.Modern))(t)
			require.Len(t, v.Shaders, 1)
			require.Equal(t, "add_vulkan", v.Shaders[0].Key)
			require.Zero(t, v.Shaders[0].Flag, "push constants")
		}
		d.Close()
	}
	require.Equal(t, []string{"c", "opencl", "cuda", "vulkan"}, kinds)
}

// Without push constants, scalars come from a uniform buffer.
func TestModule_VulkanScalars(t *testing.T) {
	uniform := spirvWith(2, "add")
	for file, flag := range map[string]uint32{spirv(true, "add"): 0, uniform: blob.ShaderUniformScalars} {
		m := must.Get(pack.Module(kernelsOf([]string{write(t, "k.spv", file)}, addSignature)))(t)
		defer m.Close()
		deps := must.Get(m.Imports())(t)
		defer deps[0].Close()
		data := must.Get(deps[0].SaveToBinary())(t)
		v := must.Get(blob.ParseVulkanModule(data, blob.Modern))(t)
		require.Equal(t, []blob.Shader{{Key: "add", Flag: flag, Code: []byte(file)}}, v.Shaders)
	}
}
