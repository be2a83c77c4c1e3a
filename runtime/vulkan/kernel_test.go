package vulkan_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

var (
	memory = dlpack.Handle
	one    = runtime.Dim3{1}
)

// types has the kernels of each shader file in testdata.
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

// twenty returns the types of a buffer and 20 scalars, which are alternately int32 and float32.
func twenty() []dlpack.DataType {
	list := []dlpack.DataType{memory}
	for range 10 {
		list = append(list, dlpack.Int32, dlpack.Float32)
	}
	return list
}

// present returns the devices on which tests run.
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

// shader returns a kernel of a shader file in testdata: the first one, unless a name is given.
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
			want[n-1] = 0 // the scalar argument limits the kernel to n-1 elements
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
			// The sums are integers, so the order of additions does not matter.
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

// twentyValues returns arguments for the shaders that take 20 scalars, and the result that the shaders compute.
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

// Scalars that do not fit into push constants are passed in a uniform buffer, of which each launch has its own part.
func TestKernel_ScalarsInAUniformBuffer(t *testing.T) {
	need(t)
	noLeaks(t)
	k := shader(t, "scalars")
	for _, dev := range present() {
		const launches = 1500 // too many for the uniform buffer memory of one pool
		var outs []*runtime.Tensor
		var want []float32
		for range launches {
			outs = append(outs, array(t, dev, make([]float32, 8)))
		}
		for i, x := range outs { // enqueue all launches before reading a result
			args, sum := twentyValues(i)
			require.NoError(t, k.Launch(nil, runtime.Dim3{2}, runtime.Dim3{4}, append([]any{x}, args...)...))
			want = append(want, sum)
		}
		for i, x := range outs {
			require.Equal(t, slices.Repeat([]float32{want[i]}, 8), values[float32](t, x), "launch %d", i)
		}
	}
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
				data[i] = v - 1<<10 // half the value
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

// Each of a thousand dispatches reads the results of the previous one, on the default stream and on another stream.
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

// Small copies are in order with kernels, whether the stream is idle at the time or not.
func TestKernel_SmallCopiesInOrder(t *testing.T) {
	need(t)
	noLeaks(t)
	add := shader(t, "add")
	for _, dev := range present() {
		x, sum := array(t, dev, make([]float32, 64)), array(t, dev, make([]float32, 64))
		for round := range 100 {
			of := func(factor int) []float32 {
				return numbers(64, func(i int) float32 { return float32(factor * (i + round)) })
			}
			require.NoError(t, runtime.CopyFrom(x, of(1)))
			require.NoError(t, add.Launch(nil, one, runtime.Dim3{64}, x, x, sum, 64))
			if round%2 == 0 { // not what the kernel reads
				require.NoError(t, runtime.CopyFrom(x, of(5)))
			}
			require.Equal(t, of(2), values[float32](t, sum))
			require.Equal(t, of(5-round%2*4), values[float32](t, x))
			require.Equal(t, of(2), values[float32](t, sum)) // the stream is idle
		}
	}
}

// Each of a thousand dispatches adds to the sums of the previous one, in buffers that validation checks.
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

// Kernels can use different parts of the same array, also the end of an array and empty parts.
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
		// The last elements of an array, and empty parts at any offset.
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
			"elements of less than a byte count as one byte each")
		for i := 256; i < 256+64; i++ {
			want[i] *= 2
		}
		require.Equal(t, want, values[float32](t, x))
		odd := view(1)
		requireError(t, k.Launch(nil, one, runtime.Dim3{64}, odd, x, x, 8), runtime.ErrInvalidArgument,
			"kernel add: argument 0 begins at byte 4 of an allocation of 2048 bytes", "a multiple of", "copy it")
	}
}

func TestKernel_InfinityAndNaN(t *testing.T) {
	need(t)
	k := shader(t, "types")
	x := array(t, first, make([]float64, 5))
	require.NoError(t, k.Launch(nil, one, one, x, 0, 0, 0, math.Inf(1), math.NaN()))
	got := values[float64](t, x)
	require.True(t, math.IsInf(got[3], 1) && math.IsNaN(got[4]), "%v", got)
}
