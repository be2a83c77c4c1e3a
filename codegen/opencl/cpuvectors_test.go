package opencl_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

const shifted = `
func shifted(a: handle, b: handle, c: handle, d: handle) {
  buffer A: T[40], param a
  buffer B: T[40], param b
  buffer C: bool[40], param c
  buffer D: bool[40], param d
  thread bx in range(1), thread "blockIdx.x" {
    thread t in range(1), thread "threadIdx.x" {
      alloc S: T[40], scope "shared"
      S[ramp(1, 1, 16)] = A[ramp(3, 1, 16)]
      eval storage_sync[void]("shared")
      B[ramp(5, 1, 16)] = S[ramp(1, 1, 16)]
      B[ramp(22, 1, 4)] = A[ramp(7, 1, 4)]
      D[ramp(3, 1, 8)] = C[ramp(1, 1, 8)]
    }
  }
}
`

// On a CPU, vectors at any element are accessed by pointers, in global and in shared memory; other devices use vload.
func TestCPUVectors(t *testing.T) {
	dev := dlpack.Device{Type: dlpack.OpenCL}
	for typ, name := range map[tir.Type]string{tir.Float32: "float", tir.Int8: "char", tir.UInt16: "ushort",
		tir.Int64: "long", tir.Float64: "double"} {
		m := must.Get(text.Parse(strings.ReplaceAll(shifted, "T[40]", typ.String()+"[40]")))(t)
		plain := must.Get(codegen.Build(m, must.Get(target.New("opencl -extensions=cl_khr_fp64"))(t)))(t)
		defer plain.Close()
		require.NotContains(t, openCLText(t, plain), "tvmgo_load")
		if !runtime.DeviceExists(dev) {
			gputest.Missing(t, dlpack.OpenCL, "there is no device")
		}
		config := must.Get(runtime.DetectTarget(dev))(t)
		lib := must.Get(codegen.Build(m, config))(t)
		defer lib.Close()
		code := openCLText(t, lib)
		require.Contains(t, code, "tvmgo_load_"+name+"16(&A[3])")
		require.Contains(t, code, "vload8(0, &C[1])") // bools
		a, b := make([]float64, 40), make([]float64, 40)
		for i := range a {
			a[i] = float64(i + 1)
		}
		in := must.Get(tirrun.From(typ, a, 40))(t)
		x := must.Open(runtime.NewTensor(dlpack.DataType(typ), []int64{40}, dev))(t)
		y := must.Open(runtime.NewTensor(dlpack.DataType(typ), []int64{40}, dev))(t)
		c := must.Open(runtime.NewTensor(dlpack.Bool, []int64{40}, dev))(t)
		d := must.Open(runtime.NewTensor(dlpack.Bool, []int64{40}, dev))(t)
		require.NoError(t, x.CopyFromBytes(in.Data))
		require.NoError(t, y.CopyFromBytes(make([]byte, len(in.Data))))
		must.Get(gputest.Function(t, lib, "shifted").Call(x, y, c, d))(t)
		out := must.Get(tirrun.New(typ, 40))(t)
		require.NoError(t, y.CopyToBytes(out.Data))
		for i := range b {
			switch {
			case i >= 5 && i < 21:
				b[i] = a[i-2]
			case i >= 22 && i < 26:
				b[i] = a[i-15]
			}
		}
		require.Equal(t, b, must.Get(tirrun.Values[float64](out))(t), name)
	}
}

func openCLText(t *testing.T, m *runtime.Module) string {
	t.Helper()
	imports := must.Get(m.Imports())(t)
	return must.Get(imports[0].GetSource("cl"))(t)
}

// A vector that is assembled lane by lane is loaded by a function that exists, also if no buffer has its type.
func TestCPUVectors_Assembled(t *testing.T) {
	m := must.Get(text.Parse(`
func either(a: handle, b: handle) {
  buffer A: bool[8], param a
  buffer B: bool[8], param b
  thread t in range(1), thread "threadIdx.x" {
    B[ramp(0, 1, 8)] = A[ramp(0, 1, 8)] || B[ramp(0, 1, 8)]
  }
}
`))(t)
	dev := dlpack.Device{Type: dlpack.OpenCL}
	if !runtime.DeviceExists(dev) {
		gputest.Missing(t, dlpack.OpenCL, "there is no device")
	}
	lib := must.Get(codegen.Build(m, must.Get(runtime.DetectTarget(dev))(t)))(t)
	defer lib.Close()
	require.Contains(t, openCLText(t, lib), "tvmgo_load_char8(")
	x := must.Open(runtime.NewTensor(dlpack.Bool, []int64{8}, dev))(t)
	y := must.Open(runtime.NewTensor(dlpack.Bool, []int64{8}, dev))(t)
	require.NoError(t, x.CopyFromBytes([]byte{0, 1, 0, 0, 1, 1, 0, 1}))
	require.NoError(t, y.CopyFromBytes([]byte{0, 0, 1, 0, 1, 0, 0, 1}))
	must.Get(gputest.Function(t, lib, "either").Call(x, y))(t)
	out := make([]byte, 8)
	require.NoError(t, y.CopyToBytes(out))
	require.Equal(t, []byte{0, 1, 1, 0, 1, 1, 0, 1}, out)
}

// On a CPU, conversions between float16 and float32 are C's, and exact: for all numbers of float16, those of float32
// halfway between them, and the neighbours of these.
func TestCPUFloat16(t *testing.T) {
	dev := dlpack.Device{Type: dlpack.OpenCL}
	if !runtime.DeviceExists(dev) {
		gputest.Missing(t, dlpack.OpenCL, "there is no device")
	}
	m := must.Get(text.Parse(`
func halves(a: handle, b: handle, c: handle, d: handle) {
  buffer A: float32[458752], param a
  buffer B: float16[458752], param b
  buffer C: float16[458752], param c
  buffer D: float32[458752], param d
  thread block in range(1792), thread "blockIdx.x" {
    thread t in range(256), thread "threadIdx.x" {
      B[block * 256 + t] = cast(float16, A[block * 256 + t])
      D[block * 256 + t] = cast(float32, C[block * 256 + t])
    }
  }
}
`))(t)
	var a, d []float32
	var b, c []dlpack.Float16Bits
	for i := range 1 << 16 {
		half := dlpack.Float16Bits(i)
		x := half.Float32()
		middle := (x + dlpack.Float16Bits(i^1).Float32()) / 2
		for _, y := range []float32{x, math.Nextafter32(x, 0), math.Nextafter32(x, 1e38), middle,
			math.Nextafter32(middle, 0), math.Nextafter32(middle, 1e38), x * 1e5} {
			a, b = append(a, y), append(b, dlpack.Float16Of(float64(y)))
			c, d = append(c, half), append(d, x)
		}
	}
	lib := must.Get(codegen.Build(m, must.Get(runtime.DetectTarget(dev))(t)))(t)
	defer lib.Close()
	require.NotContains(t, openCLText(t, lib), "vload_half")
	empty := func(dt dlpack.DataType) *runtime.Tensor {
		return must.Open(runtime.NewTensor(dt, []int64{int64(len(a))}, dev))(t)
	}
	x, y, z, w := empty(dlpack.Float32), empty(dlpack.Float16), empty(dlpack.Float16), empty(dlpack.Float32)
	require.NoError(t, runtime.CopyFrom(x, a))
	require.NoError(t, runtime.CopyFrom(z, c))
	must.Get(gputest.Function(t, lib, "halves").Call(x, y, z, w))(t)
	halves, floats := must.Get(runtime.ToSlice[dlpack.Float16Bits](y))(t), must.Get(runtime.ToSlice[float32](w))(t)
	for i := range a {
		if x, y := halves[i].Float32(), b[i].Float32(); halves[i] != b[i] && (x == x || y == y) {
			require.Failf(t, "wrong float16", "of %g: %v, want %v", a[i], halves[i], b[i])
		}
		if floats[i] != d[i] && (floats[i] == floats[i] || d[i] == d[i]) {
			require.Failf(t, "wrong float32", "of %v: %g, want %g", c[i], floats[i], d[i])
		}
	}
}
