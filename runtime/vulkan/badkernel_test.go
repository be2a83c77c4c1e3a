package vulkan_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/runtime"
)

// Twenty scalars exceed the push constants that a device must support. The error contains both sizes.
func TestKernel_TooManyPushConstants(t *testing.T) {
	need(t)
	noLeaks(t)
	k := shader(t, "pushed")
	x := array(t, first, make([]float32, 4))
	args, sum := twentyValues(1)
	err := k.Launch(nil, one, runtime.Dim3{4}, append([]any{x}, args...)...)
	if err == nil { // the device supports more than 128 bytes
		require.Equal(t, slices.Repeat([]float32{sum}, 4), values[float32](t, x))
		return
	}
	requireError(t, err, runtime.ErrNotSupported, "kernel scalars has 20 scalars, 160 bytes of push constants; vulkan:0 (",
		" has 128 bytes: ", "uniform buffer")
}

func TestKernel_BadCalls(t *testing.T) {
	need(t)
	noLeaks(t)
	add, typed := shader(t, "add"), shader(t, "types")
	x := array(t, first, make([]float32, 64))
	host := array(t, runtime.CPU, make([]float32, 64))
	bad := runtime.ErrInvalidArgument
	block := runtime.Dim3{64}
	requireError(t, add.Launch(nil, one, block, x, x, x), bad, "4 arguments are needed, 3 were given")
	requireError(t, add.Launch(nil, one, block, x, 5, x, 1), bad,
		"kernel add: argument 1 must be an array or its data, not int")
	requireError(t, add.Launch(nil, one, block, x, nil, x, 1), bad,
		"kernel add: argument 1 is NULL: memory of vulkan:0 is needed")
	requireError(t, add.Launch(nil, one, block, x, x, host, 1), bad,
		"argument 2 is an array of device type 1, the kernel runs on vulkan:0")
	requireError(t, add.Launch(nil, one, block, x, x, x, "a"), bad, "kernel add: argument 3 must be an integer")
	requireError(t, add.Launch(nil, one, block, x, x, x, 0.5), bad, "kernel add: argument 3 must be an integer, not float")
	requireError(t, add.Launch(nil, one, block, x, x, x, 1<<31), bad,
		"argument 3 is 2147483648, which does not fit into 32 bits")
	requireError(t, typed.Launch(nil, one, one, x, 1, 1, int64(1)<<32, 1, 1), bad, "argument 3 is 4294967296")
	requireError(t, add.Launch(nil, one, block, x, x, runtime.Ptr(unsafe.Pointer(new(int64))), 1), bad, "argument 2: 0x",
		"is not memory of vulkan")
	far := array(t, second, make([]float32, 64))
	requireError(t, add.Launch(newStream(t, first), one, block, x, far, x, 1), bad,
		"argument 1 is memory of vulkan:1, the kernel runs on vulkan:0: copy it there")
	long := array(t, first, make([]float32, 64)) // its shape is changed to exceed its memory
	managed, err := long.ToDLPackLegacy()
	require.NoError(t, err)
	**(**int64)(unsafe.Add(managed, 24)) = 65
	claims, err := runtime.FromDLPackLegacy(managed)
	require.NoError(t, err)
	requireError(t, add.Launch(nil, one, block, x, claims, x, 1), bad, "kernel add: argument 1 is an array of 260 bytes "+
		"that begins at byte 0 of an allocation of 256 bytes, and ends beyond it")
	require.NoError(t, claims.Close())
	managed, err = x.ToDLPackLegacy()
	require.NoError(t, err)
	step := uint64(128) // inside the memory and aligned on every device, but the array's 256 bytes end beyond the memory
	*(*uint64)(unsafe.Add(managed, 40)) = step
	behind, err := runtime.FromDLPackLegacy(managed)
	require.NoError(t, err)
	requireError(t, add.Launch(nil, one, block, x, behind, x, 1), bad, "kernel add: argument 1 is an array of 256 bytes "+
		"that begins at byte 128 of an allocation of 256 bytes, and ends beyond it")
	require.NoError(t, behind.Close())
	bits, err := x.View(dlpack.ClassicBool, []int64{8}, nil, 0) // the size of an array of bits is not checked
	require.NoError(t, err)
	managed, err = bits.ToDLPackLegacy()
	require.NoError(t, err)
	require.NoError(t, bits.Close())
	*(*uint64)(unsafe.Add(managed, 40)) = 256
	atEnd, err := runtime.FromDLPackLegacy(managed)
	require.NoError(t, err)
	requireError(t, add.Launch(nil, one, block, x, atEnd, x, 1), bad,
		"kernel add: argument 1 begins at byte 256 of an allocation of 256 bytes")
	require.NoError(t, atEnd.Close())
	freed := array(t, first, make([]float32, 64))
	address := freed.Data()
	data := runtime.Ptr(*(*unsafe.Pointer)(unsafe.Pointer(&address))) // a handle, not an address of Go memory
	require.NoError(t, freed.Close())
	if os.Getenv("TVMGO_VALIDATE") == "" { // validation delays the release of freed memory
		requireError(t, add.Launch(nil, one, block, x, x, data, 1), bad,
			"is not memory of vulkan: it was freed, or allocated elsewhere")
	}
	onHost := newStream(t, runtime.CPU)
	requireError(t, add.Launch(onHost, one, block, x, x, x, 1), bad, "the stream is one of cpu")

	// Sizes.
	requireError(t, add.Launch(nil, runtime.Dim3{2}, runtime.Dim3{32}, x, x, x, 1), bad,
		"kernel add with grid [2, 1, 1] and block [32, 1, 1] on vulkan:0: the block must be [64, 1, 1]")
	requireError(t, add.Launch(nil, runtime.Dim3{1, 1, 1 << 32}, block, x, x, x, 1), bad,
		"kernel add with grid [1, 1, 4294967296] and block [64, 1, 1] on vulkan:0: the limit of blockIdx.z is ")
	requireError(t, add.Launch(nil, runtime.Dim3{-1}, block, x, x, x, 1), bad, "negative: -1")
	for _, grid := range []runtime.Dim3{{1 << 32}, {1 << 62}, {1, 1 << 32}, {65536, 65536, 65536}} {
		requireError(t, add.Launch(nil, grid, block, x, x, x, 1), bad, "the limit of blockIdx.")
	}
	requireError(t, add.Launch(nil, runtime.Dim3{65535, 65535, 65535}, block, x, x, x, 1), bad,
		"at most 2^32-1 blocks there: split it")
	requireError(t, add.LaunchWith(nil, runtime.LaunchConfig{Block: block, SharedBytes: 8}, x, x, x, 1), bad,
		"SharedBytes is 8, but the kernel takes none")
	require.NoError(t, add.Launch(nil, one, block, x, x, x, 1), "the device still works")

	m := made(t, words(t, "add"), types["add"]...)
	ones := array(t, first, slices.Repeat([]float32{1}, 64))
	gputest.EmptyGrid(t, m, "add", ones, 64, ones, ones, 64)
	f, err := m.Function("add")
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Call(x, x, x, 1)
	requireError(t, err, bad, "kernel add takes 10 values, 4 arguments and 6 launch sizes: blockIdx.x")
	_, err = m.Kernel("sub")
	requireError(t, err, runtime.ErrNotFound, "sub")
	require.NoError(t, add.Close())
	requireError(t, add.Launch(nil, one, block, x, x, x, 1), runtime.ErrClosed)
}

// An array that is larger than the range of a descriptor is an error; a launch never uses only a part of it.
func TestKernel_LargeArray(t *testing.T) {
	need(t)
	noLeaks(t)
	const n = 128<<20 + 16 // bytes; every device must support a range of 128 MiB, and lavapipe supports no larger one
	x, err := runtime.NewTensor(dlpack.UInt8, []int64{n}, first)
	require.NoError(t, err)
	defer x.Close()
	small := array(t, first, make([]uint32, 64))
	err = shader(t, "two", "swap").Launch(nil, one, runtime.Dim3{64}, small, x)
	if err == nil { // the device supports larger arrays
		return
	}
	requireError(t, err, runtime.ErrInvalidArgument, "kernel swap: argument 1 has 134217744 bytes; kernels on vulkan:0 (",
		"take at most 134217728 in one array: split it")
	part, err := x.View(dlpack.UInt32, []int64{64}, nil, 0)
	require.NoError(t, err)
	defer part.Close()
	step := shader(t, "two", "step")
	require.NoError(t, step.Launch(nil, one, runtime.Dim3{64}, part, 0, 5), "a part of the array, as the error advises")
	require.Equal(t, slices.Repeat([]uint32{5}, 64), values[uint32](t, part))
}

// with returns a module that declares one more capability.
func with(code []byte, capability uint32) []byte {
	out := binary.LittleEndian.AppendUint32(slices.Clone(code[:20]), 2<<16|17)
	return append(binary.LittleEndian.AppendUint32(out, capability), code[20:]...)
}

// patched returns a module with the word at byte `at` changed, which must be `from`.
func patched(t *testing.T, code []byte, at int, from, to uint32) []byte {
	t.Helper()
	out := slices.Clone(code)
	require.Equal(t, from, binary.LittleEndian.Uint32(out[at:]))
	binary.LittleEndian.PutUint32(out[at:], to)
	return out
}

// find returns the position of a sequence of words in a module.
func find(t *testing.T, code []byte, run ...uint32) int {
	t.Helper()
	for at := 20; at+4*len(run) <= len(code); at += 4 {
		same := true
		for i, w := range run {
			same = same && binary.LittleEndian.Uint32(code[at+4*i:]) == w
		}
		if same {
			return at
		}
	}
	t.Fatalf("%v is not in the module", run)
	return 0
}

// An error in a shader is reported when the module is created, or at each launch of the kernel.
func TestKernel_BadShaders(t *testing.T) {
	need(t)
	noLeaks(t)
	x := array(t, first, make([]float32, 64))
	add := words(t, "add")
	oneArg := []dlpack.DataType{memory}
	for _, c := range []struct {
		format string
		code   []byte
		kernel runtime.KernelType
		kind   error
		want   string
	}{
		{"spv", add, runtime.KernelType{Name: "sub"}, runtime.ErrCorruptModule,
			"kernel sub is not in the shader, whose compute entry points are: add"},
		{"spv", add[:len(add)-2], types["add"][0], runtime.ErrCorruptModule, "the code is not SPIR-V"},
		{"spirv", add[:len(add)-8], types["add"][0], runtime.ErrCorruptModule, "the SPIR-V is damaged at byte"},
		{"", append([]byte("spir"), add[4:]...), types["add"][0], runtime.ErrCorruptModule,
			"it begins with 0x72697073, not 0x07230203"},
		{"cl", add, types["add"][0], runtime.ErrNotSupported, `code of the format "cl"`},
		{"spv", add, runtime.KernelType{Name: "add", Args: []dlpack.DataType{dlpack.Int32, memory}}, runtime.ErrCorruptModule,
			"kernel add: argument 1 is memory, but follows a scalar: on Vulkan, all memory arguments must come first"},
		{"spv", add, runtime.KernelType{Name: "add", DynamicShared: true}, runtime.ErrNotSupported,
			"Vulkan supports blockIdx.x"},
		{"spv", add, runtime.KernelType{Name: "add", Args: []dlpack.DataType{dlpack.Float16}}, runtime.ErrNotSupported,
			"argument 0 is of type float16"},
	} {
		_, err := runtime.NewDeviceModule("vulkan", c.format, c.code, c.kernel)
		requireError(t, err, c.kind, c.want)
	}
	size := find(t, add, 6<<16|16) // the execution mode LocalSize
	stencil := words(t, "stencil")
	moved := func(code []byte, from, to uint32) []byte { // changes the offset of a member of a block
		at := find(t, code, 5<<16|72)
		for binary.LittleEndian.Uint32(code[at+16:]) != from {
			at += 4 * int(binary.LittleEndian.Uint32(code[at:])>>16)
		}
		return patched(t, code, at+16, from, to)
	}
	typed := func(file string, i int, now dlpack.DataType) runtime.KernelType {
		k := types[file][0]
		k.Args = slices.Clone(k.Args)
		k.Args[i] = now
		return k
	}
	shared := words(t, "reduce")
	length := find(t, shared, 4<<16|43)
	for length < len(shared) && binary.LittleEndian.Uint32(shared[length+12:]) != 256 {
		length += 16
	}
	for _, c := range []struct {
		code   []byte
		kernel runtime.KernelType
		kind   error
		want   []string
	}{
		{with(add, 5357), types["add"][0], runtime.ErrNotSupported,
			[]string{"kernel add needs cooperativeMatrix (capability CooperativeMatrixNV), which vulkan:0 (", ") lacks"}},
		{with(add, 6022), types["add"][0], runtime.ErrNotSupported,
			[]string{"needs cooperativeMatrix (VK_KHR_cooperative_matrix) (capability CooperativeMatrixKHR), which vulkan:0 ("}},
		{with(add, 5116), types["add"][0], runtime.ErrNotSupported,
			[]string{"(capability BFloat16TypeKHR), which vulkan:0 ("}},
		{with(add, 6), types["add"][0], runtime.ErrNotSupported, []string{"kernel add needs OpenCL (capability Kernel)"}},
		{with(add, 4999), types["add"][0], runtime.ErrNotSupported,
			[]string{"needs a feature that this runtime does not enable (capability 4999)"}},
		{patched(t, add, 4, 0x10000, 0x10900), types["add"][0], runtime.ErrNotSupported,
			[]string{"kernel add is SPIR-V 1.9; vulkan:0 (", "supports versions up to 1."}},
		{add, runtime.KernelType{Name: "add", Args: append([]dlpack.DataType{memory}, oneArg...)}, runtime.ErrCorruptModule,
			[]string{"kernel add: the shader uses binding 2, a storage buffer, but the kernel has 2 buffers, bindings 0 to 1"}},
		{add, runtime.KernelType{Name: "add", Args: oneArg}, runtime.ErrCorruptModule,
			[]string{"but the kernel has one buffer, binding 0"}},
		{add, runtime.KernelType{Name: "add", Args: []dlpack.DataType{memory, memory, memory}}, runtime.ErrCorruptModule,
			[]string{"kernel add: the shader reads 4 bytes of scalars, but the kernel has 0 scalars, 0 bytes"}},
		{words(t, "scalars"), runtime.KernelType{Name: "scalars", Args: twenty()[:20]}, runtime.ErrCorruptModule,
			[]string{"reads 156 bytes of scalars, but the kernel has 19 scalars, 152 bytes"}},
		{patched(t, add, size+12, 64, 1<<20), types["add"][0], runtime.ErrInvalidArgument,
			[]string{"kernel add has blocks of [1048576 1 1]; on vulkan:0 (", "threadIdx.x is at most"}},
		{patched(t, add, size+16, 1, 1000), types["add"][0], runtime.ErrInvalidArgument,
			[]string{"kernel add has blocks of [64 1000 1], 64000 work-items; vulkan:0 (", ") has at most"}},
		{patched(t, add, size+12, 64, 0), types["add"][0], runtime.ErrCorruptModule,
			[]string{"kernel add has blocks of [0 1 1]: its shader must set their size (LocalSize)"}},
		{patched(t, patched(t, add, size+12, 64, 1<<16), size+16, 1, 1<<16), types["add"][0], runtime.ErrInvalidArgument,
			[]string{"kernel add has blocks of [65536 65536 1]; on vulkan:0 ("}},
		{moved(stencil, 8, 4), types["stencil"][0], runtime.ErrCorruptModule,
			[]string{"kernel stencil: the shader reads an integer of 32 bits at byte 4 of its scalars; each scalar begins at " +
				"a multiple of 8 bytes (in GLSL: layout(offset = 8))"}},
		{moved(words(t, "scalars"), 40, 44), types["scalars"][0], runtime.ErrCorruptModule,
			[]string{"at byte 44 of its scalars"}},
		{stencil, typed("stencil", 4, dlpack.Int32), runtime.ErrCorruptModule,
			[]string{"kernel stencil: the shader reads argument 4 as a float of 32 bits, but it is of type int32"}},
		{stencil, typed("stencil", 4, dlpack.Float64), runtime.ErrCorruptModule,
			[]string{"argument 4 as a float of 32 bits, but it is of type float64"}},
		{words(t, "types"), typed("types", 1, dlpack.Int32), runtime.ErrCorruptModule,
			[]string{"kernel types: the shader reads argument 1 as an integer of 64 bits, but it is of type int32"}},
		{words(t, "types"), typed("types", 4, dlpack.Float32), runtime.ErrCorruptModule,
			[]string{"argument 4 as a float of 64 bits, but it is of type float32"}},
		{patched(t, shared, length+12, 256, 1<<20), types["reduce"][0], runtime.ErrInvalidArgument,
			[]string{"kernel reduce uses 4194304 bytes of shared memory in each block, ", " more than vulkan:0 (",
				"max_shared_memory_per_block="}},
	} {
		k := kernelOf(t, made(t, c.code, c.kernel), c.kernel.Name)
		var args []any
		for _, a := range c.kernel.Args {
			if a == memory {
				args = append(args, x)
			} else {
				args = append(args, 1)
			}
		}
		for range 2 {
			requireError(t, k.Launch(nil, one, one, args...), c.kind, c.want...)
		}
	}
}

// bindings returns a shader with n buffers, which writes 1000+i to buffer i.
func bindings(n uint32) []byte {
	const void, uint, fn, zero, array, block, buffer, element, main, label, some = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
	code := []uint32{0x07230203, 0x10300, 0, some + 3*n, 0}
	put := func(w ...uint32) { code = append(append(code, uint32(len(w))<<16|w[0]), w[1:]...) }
	put(17, 1)
	put(14, 0, 1)
	put(15, 5, main, 'f')
	put(16, main, 17, 1, 1, 1)
	put(71, array, 6, 4)
	put(71, block, 2)
	put(72, block, 0, 35, 0)
	for i := range n {
		put(71, some+i, 34, 0)
		put(71, some+i, 33, i)
	}
	put(19, void)
	put(21, uint, 32, 0)
	put(33, fn, void)
	put(43, uint, zero, 0)
	put(29, array, uint)
	put(30, block, array)
	put(32, buffer, 12, block)
	put(32, element, 12, uint)
	for i := range n {
		put(59, buffer, some+i, 12)
		put(43, uint, some+n+i, 1000+i)
	}
	put(54, void, main, 0, fn)
	put(248, label)
	for i := range n {
		put(65, element, some+2*n+i, some+i, zero, zero)
		put(62, some+2*n+i, some+n+i)
	}
	put(253)
	put(56)
	var b []byte
	for _, w := range code {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// A kernel may have as many arrays as the device's limit, and more are an error.
func TestKernel_ManyArrays(t *testing.T) {
	need(t)
	noLeaks(t)
	limit, err := runtime.TargetProperty(first, "max_per_stage_descriptor_storage_buffer")
	require.NoError(t, err)
	for n := 1; n <= 256; n += 15 {
		k := kernelOf(t, made(t, bindings(uint32(n)), runtime.KernelType{Name: "f",
			Args: slices.Repeat([]dlpack.DataType{memory}, n)}), "f")
		xs, args := make([]*runtime.Tensor, n), make([]any, n)
		for i := range args {
			xs[i] = array(t, first, []uint32{0})
			args[i] = xs[i]
		}
		err := k.Launch(nil, one, one, args...)
		if int64(n) > limit.(int64) {
			requireError(t, err, runtime.ErrInvalidArgument, fmt.Sprintf("kernel f takes %d arrays; on vulkan:0 (", n),
				fmt.Sprintf("a kernel has at most %d", limit))
			continue
		}
		require.NoError(t, err)
		for i, x := range xs {
			require.Equal(t, []uint32{uint32(1000 + i)}, values[uint32](t, x))
		}
	}
}

// A shader may have two variables for the same buffer. If one of them is read-only, the buffer may still be written.
func TestKernel_TwoVariablesForABuffer(t *testing.T) {
	need(t)
	noLeaks(t)
	k := shader(t, "alias")
	for _, dev := range present() {
		x, y := array(t, dev, make([]uint32, 64)), array(t, dev, make([]uint32, 64))
		for range 100 { // validation reports a launch that does not wait for the previous one
			require.NoError(t, k.Launch(nil, one, runtime.Dim3{64}, x, y))
			require.NoError(t, k.Launch(nil, one, runtime.Dim3{64}, y, x))
		}
		require.Equal(t, slices.Repeat([]uint32{199}, 64), values[uint32](t, x))
	}
}

// The size of blocks may be set by constants, also computed ones. A device without this feature returns an error.
func TestKernel_SizeByConstants(t *testing.T) {
	need(t)
	k := shader(t, "sizeid")
	x := array(t, first, make([]uint32, 16))
	err := k.Launch(nil, runtime.Dim3{2}, runtime.Dim3{8}, x)
	if inChild() || err != nil && os.Getenv("CI") == "" {
		requireError(t, err, runtime.ErrNotSupported,
			"kernel number needs maintenance4 (execution mode LocalSizeId), which vulkan:0 (", ") lacks")
		return
	}
	require.NoError(t, err)
	require.Equal(t, []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, values[uint32](t, x))
	requireError(t, k.Launch(nil, one, runtime.Dim3{4}, x), runtime.ErrInvalidArgument,
		"the block must be [8, 1, 1]")
	passes(t, "TVMGO_VULKAN_LIBRARY="+shim(t), "SHIM_NO=maintenance4")
}
