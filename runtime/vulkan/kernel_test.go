package vulkan_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/runtime"
)

var (
	memory = dlpack.Handle
	one    = runtime.Dim3{1}
)

// types are the kernels of the shaders in testdata, by file.
var types = map[string][]runtime.KernelType{
	"add":      {{Name: "add", Args: []dlpack.DataType{memory, memory, memory, dlpack.Int32}}},
	"reduce":   {{Name: "reduce", Args: []dlpack.DataType{memory, memory}}},
	"subgroup": {{Name: "reduce_subgroup", Args: []dlpack.DataType{memory, memory}}},
	"stencil":  {{Name: "stencil", Args: []dlpack.DataType{memory, memory, dlpack.Int32, dlpack.Int32, dlpack.Float32}}},
	"scalars":  {{Name: "scalars", Args: twenty()}},
	"pushed":   {{Name: "scalars", Args: twenty()}},
	"half":     {{Name: "half_scale", Args: []dlpack.DataType{memory, dlpack.Float32}}},
	"sizeid":   {{Name: "number", Args: []dlpack.DataType{memory}}},
	"alias":    {{Name: "next", Args: []dlpack.DataType{memory, memory}}},
	"types": {{Name: "types", Args: []dlpack.DataType{memory, dlpack.Int64, dlpack.Int32, dlpack.UInt32, dlpack.Float64,
		dlpack.Float32}}},
	"floats": {{Name: "scaled", Args: []dlpack.DataType{memory, memory}}, {Name: "gathered",
		Args: []dlpack.DataType{memory, memory}}},
	"two": {{Name: "step", Args: []dlpack.DataType{memory, dlpack.UInt32, dlpack.UInt32}}, {Name: "swap",
		Args: []dlpack.DataType{memory, memory}}},
}

// twenty is a buffer and 20 scalars, ints and floats in turn.
func twenty() []dlpack.DataType {
	list := []dlpack.DataType{memory}
	for range 10 {
		list = append(list, dlpack.Int32, dlpack.Float32)
	}
	return list
}

// present are the devices that tests run on.
func present() []dlpack.Device { return []dlpack.Device{first, second} }

func words(t testing.TB, file string) []byte {
	t.Helper()
	code, err := os.ReadFile(filepath.Join("testdata", file+".spv"))
	require.NoError(t, err)
	return code
}

func made(t testing.TB, code []byte, kernels ...runtime.KernelType) *runtime.Module {
	t.Helper()
	m, err := runtime.NewDeviceModule("vulkan", "spv", code, kernels...)
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

func kernelOf(t testing.TB, m *runtime.Module, name string) *runtime.Kernel {
	t.Helper()
	k, err := m.Kernel(name)
	require.NoError(t, err)
	t.Cleanup(func() { k.Close() })
	return k
}

// shader is a kernel of a file of testdata; the first, unless a name is given.
func shader(t testing.TB, file string, name ...string) *runtime.Kernel {
	t.Helper()
	m := made(t, words(t, file), types[file]...)
	if len(name) > 0 {
		return kernelOf(t, m, name[0])
	}
	return kernelOf(t, m, types[file][0].Name)
}

func array[T dlpack.Scalar](t testing.TB, dev dlpack.Device, data []T) *runtime.Tensor {
	t.Helper()
	x, err := runtime.NewTensor(dlpack.DataTypeOf[T](), []int64{int64(len(data))}, dev)
	require.NoError(t, err)
	t.Cleanup(func() { x.Close() })
	require.NoError(t, runtime.CopyFrom(x, data))
	return x
}

func values[T dlpack.Scalar](t testing.TB, x *runtime.Tensor) []T {
	t.Helper()
	got, err := runtime.ToSlice[T](x)
	require.NoError(t, err)
	return got
}

func numbers(n int, f func(i int) float32) []float32 {
	data := make([]float32, n)
	for i := range data {
		data[i] = f(i)
	}
	return data
}

func counted(i int) float32 { return float32(i%1000) + 0.25 }

func newStream(t testing.TB, dev dlpack.Device) *runtime.Stream {
	t.Helper()
	s, err := runtime.NewStream(dev)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func TestKernel_Add(t *testing.T) {
	need(t)
	noLeaks(t)
	const n = 1000
	k := shader(t, "add")
	for _, dev := range present() {
		for _, s := range []*runtime.Stream{nil, newStream(t, dev)} {
			a, b := array(t, dev, numbers(n, counted)), array(t, dev, numbers(n, func(i int) float32 { return float32(3 * i) }))
			c := array(t, dev, make([]float32, n))
			require.NoError(t, k.Launch(s, runtime.Dim3{(n + 63) / 64}, runtime.Dim3{64}, a, b, c, n-1))
			if s != nil {
				require.NoError(t, s.Sync(t.Context()))
			}
			want := numbers(n, func(i int) float32 { return counted(i) + float32(3*i) })
			want[n-1] = 0 // beyond the scalar
			require.Equal(t, want, values[float32](t, c))
		}
	}
}

func TestKernel_Reduce(t *testing.T) {
	need(t)
	noLeaks(t)
	for file, size := range map[string]int{"reduce": 256, "subgroup": 64} {
		const blocks = 37
		k := shader(t, file)
		for _, dev := range present() {
			// sums are whole numbers: the order does not matter
			data := numbers(blocks*size, func(i int) float32 { return float32(i % 113) })
			x, sums := array(t, dev, data), array(t, dev, make([]float32, blocks))
			err := k.Launch(nil, runtime.Dim3{blocks}, runtime.Dim3{size}, x, sums)
			if file == "subgroup" && err != nil && os.Getenv("CI") == "" {
				requireError(t, err, runtime.ErrNotSupported, "subgroup operations")
				continue
			}
			require.NoError(t, err)
			want := make([]float32, blocks)
			for i, v := range data {
				want[i/size] += v
			}
			require.Equal(t, want, values[float32](t, sums), file)
		}
	}
}

func TestKernel_Stencil(t *testing.T) {
	need(t)
	noLeaks(t)
	const w, h, centre = 53, 29, -4
	k := shader(t, "stencil")
	in := numbers(w*h, counted)
	at := func(x, y int) float32 {
		if x < 0 || y < 0 || x >= w || y >= h {
			return 0
		}
		return in[y*w+x]
	}
	want := make([]float32, w*h)
	for y := range h {
		for x := range w {
			want[y*w+x] = at(x, y)*centre + at(x-1, y) + at(x+1, y) + at(x, y-1) + at(x, y+1)
		}
	}
	for _, dev := range present() {
		from, to := array(t, dev, in), array(t, dev, make([]float32, w*h))
		require.NoError(t, k.Launch(nil, runtime.Dim3{(w + 7) / 8, (h + 7) / 8}, runtime.Dim3{8, 8}, from, to, w, h, centre))
		require.InDeltaSlice(t, want, values[float32](t, to), 1e-2)
	}
}

// twentyValues are scalars for the shaders that take 20, and what these make of them.
func twentyValues(from int) (args []any, sum float32) {
	for i := range 20 {
		v := from + i
		if i%2 == 0 {
			args = append(args, v)
		} else {
			args = append(args, float32(v)+0.5)
			sum += 0.5 * float32(i+1)
		}
		sum += float32(v * (i + 1))
	}
	return args, sum
}

// More scalars than push constants hold come in a uniform buffer, of which each launch has a piece of its own.
func TestKernel_ScalarsInAUniformBuffer(t *testing.T) {
	need(t)
	noLeaks(t)
	k := shader(t, "scalars")
	for _, dev := range present() {
		const launches = 1500 // more than one piece of memory for them holds
		var outs []*runtime.Tensor
		var want []float32
		for range launches {
			outs = append(outs, array(t, dev, make([]float32, 8)))
		}
		for i, x := range outs { // all of them queued before any is looked at
			args, sum := twentyValues(i)
			require.NoError(t, k.Launch(nil, runtime.Dim3{2}, runtime.Dim3{4}, append([]any{x}, args...)...))
			want = append(want, sum)
		}
		for i, x := range outs {
			require.Equal(t, slices.Repeat([]float32{want[i]}, 8), values[float32](t, x), "launch %d", i)
		}
	}
}

// The same scalars as push constants are more than a device has to take: an error with both numbers, where it takes
// fewer.
func TestKernel_TooManyPushConstants(t *testing.T) {
	need(t)
	noLeaks(t)
	k := shader(t, "pushed")
	x := array(t, first, make([]float32, 4))
	args, sum := twentyValues(1)
	err := k.Launch(nil, one, runtime.Dim3{4}, append([]any{x}, args...)...)
	if err == nil { // a device with more than 128 bytes
		require.Equal(t, slices.Repeat([]float32{sum}, 4), values[float32](t, x))
		return
	}
	requireError(t, err, runtime.ErrNotSupported, "kernel scalars has 20 scalars, 160 bytes of push constants; vulkan:0 (",
		" has 128: ", "uniform buffer")
}

func TestKernel_Halves(t *testing.T) {
	need(t)
	noLeaks(t)
	k := shader(t, "half")
	for _, dev := range present() {
		x, err := runtime.NewTensor(dlpack.Float16, []int64{32}, dev)
		require.NoError(t, err)
		defer x.Close()
		host, err := runtime.NewTensor(dlpack.Float16, []int64{32}, runtime.CPU)
		require.NoError(t, err)
		defer host.Close()
		bits, err := host.View(dlpack.UInt16, []int64{32}, nil, 0)
		require.NoError(t, err)
		defer bits.Close()
		data := make([]uint16, 32)
		for i := range data {
			data[i] = uint16(i+1) << 10 & 0x7800 // powers of four, and zero
		}
		require.NoError(t, runtime.CopyFrom(bits, data))
		require.NoError(t, x.CopyFromTensor(host, nil))
		err = k.Launch(nil, runtime.Dim3{2}, runtime.Dim3{16}, x, 0.5)
		if err != nil && os.Getenv("CI") == "" {
			requireError(t, err, runtime.ErrNotSupported, "storageBuffer16BitAccess")
			continue
		}
		require.NoError(t, err)
		require.NoError(t, host.CopyFromTensor(x, nil))
		for i, v := range data {
			if v != 0 {
				data[i] = v - 1<<10 // half as much
			}
		}
		require.Equal(t, data, values[uint16](t, bits))
	}
}

func TestKernel_TypesOfArguments(t *testing.T) {
	need(t)
	noLeaks(t)
	k := shader(t, "types")
	for _, dev := range present() {
		x := array(t, dev, make([]float64, 5))
		require.NoError(t, k.Launch(nil, one, one, x, int64(1)<<40, -7, uint32(4000000000), 0.1, 3))
		require.Equal(t, []float64{1 << 40, -7, 4000000000, 0.1, 3}, values[float64](t, x))
	}
}

// Each of a thousand dispatches sees what the one before wrote; in other streams too.
func TestKernel_DependentDispatches(t *testing.T) {
	need(t)
	noLeaks(t)
	const n, steps = 4096, 1000
	m := made(t, words(t, "two"), types["two"]...)
	step, swap := kernelOf(t, m, "step"), kernelOf(t, m, "swap")
	for _, s := range []*runtime.Stream{nil, newStream(t, first)} {
		want, other := make([]uint32, n), make([]uint32, n)
		for i := range want {
			want[i], other[i] = uint32(i), uint32(7*i)
		}
		x, y := array(t, first, want), array(t, first, other)
		for i := range steps {
			require.NoError(t, step.Launch(s, runtime.Dim3{n / 64}, runtime.Dim3{64}, x, uint32(1664525), uint32(i)))
			require.NoError(t, swap.Launch(s, runtime.Dim3{n / 64}, runtime.Dim3{64}, x, y))
			for j := range want {
				want[j] = want[j]*1664525 + uint32(i)
			}
			want, other = other, want
		}
		if s != nil {
			require.NoError(t, s.Sync(t.Context()))
		}
		require.Equal(t, want, values[uint32](t, x))
		require.Equal(t, other, values[uint32](t, y))
	}
}

// The same of numbers that are added up, in buffers that validation watches.
func TestKernel_DependentSums(t *testing.T) {
	need(t)
	noLeaks(t)
	add := shader(t, "add")
	for _, dev := range present() {
		x, sum := array(t, dev, numbers(64, func(i int) float32 { return float32(i) })), array(t, dev, make([]float32, 64))
		for range 1000 {
			require.NoError(t, add.Launch(nil, one, runtime.Dim3{64}, x, sum, sum, 64))
		}
		require.Equal(t, numbers(64, func(i int) float32 { return float32(1000 * i) }), values[float32](t, sum))
	}
}

// Kernels that touch other arrays, or other parts of one, need not wait for each other, and end right.
func TestKernel_PartOfAnArray(t *testing.T) {
	need(t)
	noLeaks(t)
	k := shader(t, "add")
	for _, dev := range present() {
		x := array(t, dev, numbers(512, counted))
		view := func(at int64) *runtime.Tensor {
			v, err := x.View(dlpack.Float32, []int64{64}, nil, 4*at)
			require.NoError(t, err)
			t.Cleanup(func() { v.Close() })
			return v
		}
		want := numbers(512, counted)
		for i := range int64(4) {
			require.NoError(t, k.Launch(nil, one, runtime.Dim3{64}, view(64*i), view(64*(i+1)), view(64*(7-i)), 64))
			for j := range int64(64) {
				want[64*(7-i)+j] = want[64*i+j] + want[64*(i+1)+j]
			}
		}
		require.Equal(t, want, values[float32](t, x))
		// The end of an array, and nothing of it anywhere, are parts, too.
		for _, c := range []struct{ at, n int64 }{{512 - 4, 4}, {0, 0}, {1, 0}, {512, 0}} {
			v, err := x.View(dlpack.Float32, []int64{c.n}, nil, 4*c.at)
			require.NoError(t, err)
			defer v.Close()
			require.NoError(t, k.Launch(nil, one, runtime.Dim3{64}, v, v, v, c.n))
			for i := c.at; i < c.at+c.n; i++ {
				want[i] *= 2
			}
			require.Equal(t, want, values[float32](t, x), "%v", c)
		}
		bits, err := x.View(dlpack.ClassicBool, []int64{1024}, nil, 1024)
		require.NoError(t, err)
		defer bits.Close()
		require.NoError(t, k.Launch(nil, one, runtime.Dim3{64}, bits, bits, bits, 64),
			"numbers of less than a byte have one each")
		for i := 256; i < 256+64; i++ {
			want[i] *= 2
		}
		require.Equal(t, want, values[float32](t, x))
		odd := view(1)
		requireError(t, k.Launch(nil, one, runtime.Dim3{64}, odd, x, x, 8), runtime.ErrInvalidArgument,
			"kernel add: argument 0 begins 4 bytes into its memory of 2048", "a multiple of", "copy it")
	}
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
	long := array(t, first, make([]float32, 64)) // that says of itself that it has more than its memory
	managed, err := long.ToDLPackLegacy()
	require.NoError(t, err)
	**(**int64)(unsafe.Add(managed, 24)) = 65
	claims, err := runtime.FromDLPackLegacy(managed)
	require.NoError(t, err)
	requireError(t, add.Launch(nil, one, block, x, claims, x, 1), bad, "kernel add: argument 1 is an array of 260 bytes "+
		"that begins 0 bytes into its memory of 256: it ends beyond")
	require.NoError(t, claims.Close())
	managed, err = x.ToDLPackLegacy()
	require.NoError(t, err)
	step := uint64(128) // a multiple of every device's alignment here, inside the memory; the 256 bytes behind it are not
	*(*uint64)(unsafe.Add(managed, 40)) = step
	behind, err := runtime.FromDLPackLegacy(managed)
	require.NoError(t, err)
	requireError(t, add.Launch(nil, one, block, x, behind, x, 1), bad, "kernel add: argument 1 is an array of 256 bytes "+
		"that begins 128 bytes into its memory of 256: it ends beyond")
	require.NoError(t, behind.Close())
	freed := array(t, first, make([]float32, 64))
	address := freed.Data()
	data := runtime.Ptr(*(*unsafe.Pointer)(unsafe.Pointer(&address))) // a handle, not memory of Go
	require.NoError(t, freed.Close())
	if os.Getenv("TVMGO_VALIDATE") == "" { // which keeps what was freed for a while
		requireError(t, add.Launch(nil, one, block, x, x, data, 1), bad,
			"is not memory of vulkan: it was made elsewhere, or freed")
	}
	onHost := newStream(t, runtime.CPU)
	requireError(t, add.Launch(onHost, one, block, x, x, x, 1), bad, "the stream is one of cpu")

	// Sizes.
	requireError(t, add.Launch(nil, runtime.Dim3{2}, runtime.Dim3{32}, x, x, x, 1), bad,
		"kernel add with grid [2, 1, 1] and block [32, 1, 1] on vulkan:0: the shader's blocks are [64, 1, 1]")
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
	require.NoError(t, add.Launch(nil, one, block, x, x, x, 1), "the device works on")

	m := made(t, words(t, "add"), types["add"]...)
	ones := array(t, first, slices.Repeat([]float32{1}, 64))
	gputest.EmptyGrid(t, m, "add", ones, 64, ones, ones, 64)
	f, err := m.Function("add")
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Call(x, x, x, 1)
	requireError(t, err, bad, "kernel add takes 10 values, 4 arguments and 6 numbers for blockIdx.x")
	_, err = m.Kernel("sub")
	requireError(t, err, runtime.ErrNotFound, "sub")
	require.NoError(t, add.Close())
	requireError(t, add.Launch(nil, one, block, x, x, x, 1), runtime.ErrClosed)
}

// An array that is larger than what one descriptor reaches is refused; a launch never sees a part of it.
func TestKernel_LargeArray(t *testing.T) {
	need(t)
	noLeaks(t)
	const n = 128<<20 + 16 // bytes; devices have to take as much in one array, and lavapipe takes no more
	x, err := runtime.NewTensor(dlpack.UInt8, []int64{n}, first)
	require.NoError(t, err)
	defer x.Close()
	small := array(t, first, make([]uint32, 64))
	err = shader(t, "two", "swap").Launch(nil, one, runtime.Dim3{64}, small, x)
	if err == nil { // a device that takes more
		return
	}
	requireError(t, err, runtime.ErrInvalidArgument, "kernel swap: argument 1 has 134217744 bytes; kernels on vulkan:0 (",
		"take at most 134217728 in one array: split it")
	part, err := x.View(dlpack.UInt32, []int64{64}, nil, 0)
	require.NoError(t, err)
	defer part.Close()
	step := shader(t, "two", "step")
	require.NoError(t, step.Launch(nil, one, runtime.Dim3{64}, part, 0, 5), "as the error says")
	require.Equal(t, slices.Repeat([]uint32{5}, 64), values[uint32](t, part))
}

// with is a module that declares a capability more.
func with(code []byte, capability uint32) []byte {
	out := binary.LittleEndian.AppendUint32(slices.Clone(code[:20]), 2<<16|17)
	return append(binary.LittleEndian.AppendUint32(out, capability), code[20:]...)
}

// patched is a module with a word changed; the word must be there once.
func patched(t *testing.T, code []byte, at int, from, to uint32) []byte {
	t.Helper()
	out := slices.Clone(code)
	require.Equal(t, from, binary.LittleEndian.Uint32(out[at:]))
	binary.LittleEndian.PutUint32(out[at:], to)
	return out
}

// find is where a run of words begins in a module.
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

// What is wrong with a shader is said when the module is made, or at the kernel's first launch, each time.
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
			"kernel sub is not in the shader; its entry points for computing are: add"},
		{"spv", add[:len(add)-2], types["add"][0], runtime.ErrCorruptModule, "it is no SPIR-V"},
		{"spirv", add[:len(add)-8], types["add"][0], runtime.ErrCorruptModule, "the SPIR-V is damaged at byte"},
		{"", append([]byte("spir"), add[4:]...), types["add"][0], runtime.ErrCorruptModule,
			"it begins with 0x72697073, not 0x07230203"},
		{"cl", add, types["add"][0], runtime.ErrNotSupported, `code of the format "cl"`},
		{"spv", add, runtime.KernelType{Name: "add", Args: []dlpack.DataType{dlpack.Int32, memory}}, runtime.ErrCorruptModule,
			"kernel add: argument 1 is memory and comes behind a number: on Vulkan all memory comes first"},
		{"spv", add, runtime.KernelType{Name: "add", DynamicShared: true}, runtime.ErrNotSupported,
			"on Vulkan there are blockIdx.x"},
		{"spv", add, runtime.KernelType{Name: "add", Args: []dlpack.DataType{dlpack.Float16}}, runtime.ErrNotSupported,
			"argument 0 is of type float16"},
	} {
		_, err := runtime.NewDeviceModule("vulkan", c.format, c.code, c.kernel)
		requireError(t, err, c.kind, c.want)
	}
	size := find(t, add, 6<<16|16) // the size of its blocks
	stencil := words(t, "stencil")
	moved := func(code []byte, from, to uint32) []byte { // a member of a block
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
		{with(add, 6), types["add"][0], runtime.ErrNotSupported, []string{"kernel add needs OpenCL (capability Kernel)"}},
		{with(add, 4999), types["add"][0], runtime.ErrNotSupported,
			[]string{"needs something that this runtime does not enable (capability 4999)"}},
		{patched(t, add, 4, 0x10000, 0x10900), types["add"][0], runtime.ErrNotSupported,
			[]string{"kernel add is SPIR-V 1.9; vulkan:0 (", "takes up to 1."}},
		{add, runtime.KernelType{Name: "add", Args: append([]dlpack.DataType{memory}, oneArg...)}, runtime.ErrCorruptModule,
			[]string{"kernel add: the shader uses binding 2, a storage buffer, but the kernel has 2 buffers, bindings 0 to 1"}},
		{add, runtime.KernelType{Name: "add", Args: oneArg}, runtime.ErrCorruptModule,
			[]string{"but the kernel has one buffer, binding 0"}},
		{add, runtime.KernelType{Name: "add", Args: []dlpack.DataType{memory, memory, memory}}, runtime.ErrCorruptModule,
			[]string{"kernel add: the shader reads 4 bytes of scalars, but the kernel has 0 of them, 0 bytes"}},
		{words(t, "scalars"), runtime.KernelType{Name: "scalars", Args: twenty()[:20]}, runtime.ErrCorruptModule,
			[]string{"reads 156 bytes of scalars, but the kernel has 19 of them, 152 bytes"}},
		{patched(t, add, size+12, 64, 1<<20), types["add"][0], runtime.ErrInvalidArgument,
			[]string{"kernel add has blocks of [1048576 1 1]; on vulkan:0 (", "threadIdx.x is at most"}},
		{patched(t, add, size+16, 1, 1000), types["add"][0], runtime.ErrInvalidArgument,
			[]string{"kernel add has blocks of [64 1000 1], 64000 work items; vulkan:0 (", ") has at most"}},
		{patched(t, add, size+12, 64, 0), types["add"][0], runtime.ErrCorruptModule,
			[]string{"kernel add has blocks of [0 1 1]: its shader must say how many work items"}},
		{patched(t, patched(t, add, size+12, 64, 1<<16), size+16, 1, 1<<16), types["add"][0], runtime.ErrInvalidArgument,
			[]string{"kernel add has blocks of [65536 65536 1]; on vulkan:0 ("}},
		{moved(stencil, 8, 4), types["stencil"][0], runtime.ErrCorruptModule,
			[]string{"kernel stencil: the shader reads an integer of 32 bits at byte 4 of its scalars; each of them begins at " +
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
			[]string{"kernel reduce uses 4194304 bytes of shared memory in each block; vulkan:0 ("}},
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

// bindings is a shader that writes its number into each of its buffers.
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

// A kernel has as many arrays as the device's shaders see, and no more.
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

// A buffer may have two variables in a shader: that one of them is never written does not say it of the buffer.
func TestKernel_TwoVariablesForABuffer(t *testing.T) {
	need(t)
	noLeaks(t)
	k := shader(t, "alias")
	for _, dev := range present() {
		x, y := array(t, dev, make([]uint32, 64)), array(t, dev, make([]uint32, 64))
		for range 100 { // validation sees it when one does not wait for the other
			require.NoError(t, k.Launch(nil, one, runtime.Dim3{64}, x, y))
			require.NoError(t, k.Launch(nil, one, runtime.Dim3{64}, y, x))
		}
		require.Equal(t, slices.Repeat([]uint32{199}, 64), values[uint32](t, x))
	}
}

// Blocks may have their size from constants, also from some that are computed; where the device can't have that, it is
// said.
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
		"the shader's blocks are [8, 1, 1]")
	passes(t, "TVMGO_VULKAN_LIBRARY="+shim(t), "SHIM_NO_MAINTENANCE4=1")
}

// Kernels and functions work after their module and their arguments are closed.
func TestKernel_OutlivesItsModule(t *testing.T) {
	need(t)
	noLeaks(t)
	const n = 1 << 16
	sum := array(t, first, make([]float32, n))
	for range 4 {
		m, err := runtime.NewDeviceModule("vulkan", "", words(t, "add"), types["add"]...)
		require.NoError(t, err)
		k, err := m.Kernel("add")
		require.NoError(t, err)
		require.NoError(t, m.Close())
		for range 8 {
			x := array(t, first, numbers(n, func(int) float32 { return 1 }))
			require.NoError(t, k.Launch(nil, runtime.Dim3{n / 64}, runtime.Dim3{64}, x, sum, sum, n))
			require.NoError(t, x.Close(), "while it is queued")
		}
		require.NoError(t, k.Close(), "while it is queued")
	}
	require.Equal(t, numbers(n, func(int) float32 { return 32 }), values[float32](t, sum))
}

// A stream may lie where another lay before, and counts its work anew: it holds what it runs all the same.
func TestKernel_OutlivesItsModuleOnStreamsThatComeAndGo(t *testing.T) {
	need(t)
	noLeaks(t)
	const n = 1 << 20
	x := array(t, first, make([]uint32, n))
	for range 5 {
		m, err := runtime.NewDeviceModule("vulkan", "", words(t, "two"), types["two"]...)
		require.NoError(t, err)
		k, err := m.Kernel("step")
		require.NoError(t, err)
		require.NoError(t, m.Close())
		for i := range 4 {
			s, err := runtime.NewStream(first)
			require.NoError(t, err)
			require.NoError(t, k.Launch(s, runtime.Dim3{n / 64}, runtime.Dim3{64}, x, 1, 1))
			if i == 3 {
				require.NoError(t, k.Close(), "while it is queued")
			}
			require.NoError(t, s.Sync(t.Context()))
			require.NoError(t, s.Close())
		}
	}
	require.Equal(t, slices.Repeat([]uint32{20}, n), values[uint32](t, x))
}

// Many goroutines launch at once, on streams of their own and on one, while the collector runs all the time; each
// kernel is made once.
func TestKernel_ManyAtOnce(t *testing.T) {
	need(t)
	noLeaks(t)
	defer gputest.Collect()()
	var all sync.WaitGroup
	step, many := shader(t, "two"), shader(t, "scalars")
	errs := make([]error, 8)
	xs, sums := make([]*runtime.Tensor, len(errs)), make([]*runtime.Tensor, len(errs))
	args, sum := twentyValues(5)
	for i := range errs {
		dev := present()[i%len(present())]
		xs[i], sums[i] = array(t, dev, make([]uint32, 64)), array(t, dev, make([]float32, 4))
		var s *runtime.Stream
		if i%2 == 1 {
			s = newStream(t, dev)
		}
		all.Go(func() {
			for j := range 50 {
				if err := step.Launch(s, one, runtime.Dim3{64}, xs[i], 3, uint32(i)); err != nil {
					errs[i] = err
				}
				if err := many.Launch(s, one, runtime.Dim3{4}, append([]any{sums[i]}, args...)...); err != nil {
					errs[i] = err
				}
				if s != nil && j%20 == 0 {
					if err := s.Sync(t.Context()); err != nil {
						errs[i] = err
					}
				}
			}
			if s != nil {
				errs[i] = s.Sync(t.Context())
			}
		})
	}
	all.Wait()
	for i := range errs {
		require.NoError(t, errs[i])
		var want uint32
		for range 50 {
			want = want*3 + uint32(i)
		}
		require.Equal(t, slices.Repeat([]uint32{want}, 64), values[uint32](t, xs[i]))
		require.Equal(t, slices.Repeat([]float32{sum}, 4), values[float32](t, sums[i]))
	}
}

// Twenty thousand dispatches leave the process as large as those before them did.
func TestKernel_NoGrowth(t *testing.T) {
	need(t)
	noLeaks(t)
	step, many := shader(t, "two"), shader(t, "scalars")
	x, y := array(t, first, make([]uint32, 64)), array(t, first, make([]float32, 4))
	args, _ := twentyValues(0)
	run := func(rounds int) {
		for range rounds {
			for range 500 {
				require.NoError(t, step.Launch(nil, one, runtime.Dim3{64}, x, 1, 1))
				require.NoError(t, many.Launch(nil, one, runtime.Dim3{4}, append([]any{y}, args...)...))
			}
			values[uint32](t, x) // waits: what is queued takes memory while it is
		}
		goruntime.GC()
	}
	run(20)
	const most = 8 << 20
	runs, grown := 1, int64(most)
	// what leaks grows every time, the heaps of Go and of the driver now and then
	for ; grown >= most && runs < 6; runs++ {
		before := resident(t)
		run(20)
		grown = resident(t) - before
	}
	require.Less(t, grown, int64(most), "bytes that the process grew by")
	require.Equal(t, slices.Repeat([]uint32{uint32(runs) * 10000}, 64), values[uint32](t, x))
}

// resident is the memory of this process, in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var total, pages int64
	_, err = fmt.Sscan(string(text), &total, &pages)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}

func TestKernel_InfinityAndNaN(t *testing.T) {
	need(t)
	k := shader(t, "types")
	x := array(t, first, make([]float64, 5))
	require.NoError(t, k.Launch(nil, one, one, x, 0, 0, 0, math.Inf(1), math.NaN()))
	got := values[float64](t, x)
	require.True(t, math.IsInf(got[3], 1) && math.IsNaN(got[4]), "%v", got)
}
