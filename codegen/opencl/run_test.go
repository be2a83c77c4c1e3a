//go:build opencl

package opencl_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/gputest"
	"tvmgo/internal/tirrun"
	"tvmgo/runtime"
	_ "tvmgo/runtime/opencl"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

func TestMain(m *testing.M) {
	if os.Getenv("POCL_DEVICES") == "" {
		os.Setenv("POCL_DEVICES", "pthread basic")
	}
	dir, err := os.MkdirTemp("", "opencl-cache")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("TVMGO_CACHE_DIR", dir)
	rc := m.Run()
	os.RemoveAll(dir)
	os.Exit(rc)
}

var devices = []dlpack.Device{{Type: dlpack.OpenCL}, {Type: dlpack.OpenCL, ID: 1}}

func need(t testing.TB) {
	t.Helper()
	if !runtime.DeviceExists(devices[1]) {
		gputest.Missing(t, dlpack.OpenCL, "there are no two OpenCL devices")
	}
}

// library builds a program, exports it and loads it again.
func library(t testing.TB, m *tir.IRModule) *runtime.Module {
	t.Helper()
	built, err := codegen.Build(m, clTarget(t))
	require.NoError(t, err)
	defer built.Close()
	require.Equal(t, "c", built.Kind())
	imports, err := built.Imports()
	require.NoError(t, err)
	require.Len(t, imports, 1)
	require.Equal(t, "opencl", imports[0].Kind())
	require.NoError(t, imports[0].Close())
	path := filepath.Join(t.TempDir(), "lib.so")
	require.NoError(t, export.Library(context.Background(), built, path))
	return gputest.Module(t, path)
}

// array is random numbers of a type; between -1 and 1, or small whole ones.
func array(t testing.TB, r *rand.Rand, typ tir.Type, shape ...int64) *tirrun.Array {
	t.Helper()
	n, err := dlpack.NumElements(shape)
	require.NoError(t, err)
	v := make([]float64, n)
	for i := range v {
		if v[i] = r.Float64()*2 - 1; !tir.IsFloat(typ) {
			v[i] = float64(r.IntN(200) - 100)
		}
		if tir.IsBool(typ) {
			v[i] = float64(r.IntN(2))
		}
	}
	a, err := tirrun.From(typ, v, shape...)
	require.NoError(t, err)
	return a
}

// onDevice copies an array to a device.
func onDevice(t testing.TB, a *tirrun.Array, dev dlpack.Device) *runtime.Tensor {
	t.Helper()
	x, err := runtime.NewTensor(dlpack.DataType(a.DType), a.Shape, dev)
	require.NoError(t, err)
	t.Cleanup(func() { x.Close() })
	require.NoError(t, x.CopyFromBytes(a.Data))
	return x
}

// interpreted is a program with its barriers: the detector of races looks on.
func interpreted(t testing.TB, m *tir.IRModule) *tirrun.Program {
	t.Helper()
	synced, err := transform.ThreadSync(m, nil)
	require.NoError(t, err)
	p, err := tirrun.Compile(synced, tirrun.Options{Seed: 7})
	require.NoError(t, err)
	return p
}

// compare runs a function on all devices and in the interpreter; the last array is the result.
func compare(t *testing.T, m *tir.IRModule, name string, within float64, args ...any) {
	t.Helper()
	need(t)
	lib := library(t, m)
	want := make([]any, len(args))
	var out *tirrun.Array
	last := 0
	for i, a := range args {
		if x, ok := a.(*tirrun.Array); ok {
			c := *x
			c.Data = append([]byte(nil), x.Data...)
			want[i], out, last = &c, &c, i
			continue
		}
		want[i] = a
	}
	_, err := interpreted(t, m).Call(name, want...)
	require.NoError(t, err)
	expected, err := tirrun.Values[float64](out)
	require.NoError(t, err)
	for _, dev := range devices {
		given := make([]any, len(args))
		for i, a := range args {
			if given[i] = a; i <= last {
				if x, ok := a.(*tirrun.Array); ok {
					given[i] = onDevice(t, x, dev)
				}
			}
		}
		f := gputest.Function(t, lib, name)
		_, err := f.Call(given...)
		require.NoError(t, err)
		got := *out
		got.Data = make([]byte, len(out.Data))
		require.NoError(t, given[last].(*runtime.Tensor).CopyToBytes(got.Data))
		values, err := tirrun.Values[float64](&got)
		require.NoError(t, err)
		for i := range expected {
			if math.Abs(values[i]-expected[i]) > within*(1+math.Abs(expected[i])) || math.IsNaN(values[i]) != math.IsNaN(expected[i]) {
				t.Fatalf("%s on %v: element %d is %v, expected %v", name, dev, i, values[i], expected[i])
			}
		}
	}
}

func random() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestRun_VectorsOfAnyLength(t *testing.T) {
	for _, typ := range []tir.Type{tir.Float32, tir.Float64, tir.Float16, tir.BFloat16, tir.Int8, tir.UInt16, tir.Int32, tir.Int64} {
		for _, n := range []int64{0, 1, 63, 64, 1000} {
			if n != 63 && typ != tir.Float32 {
				continue
			}
			t.Run(fmt.Sprintf("%s of %d", typ, n), func(t *testing.T) {
				r := random()
				var by any = 3
				if tir.IsFloat(typ) {
					by = 0.75
				}
				within := 0.0
				if typ == tir.Float32 || typ == tir.Float64 {
					within = 1e-6
				}
				out, err := tirrun.New(typ, n)
				require.NoError(t, err)
				compare(t, vadd(t, typ, 64), "vadd", within, array(t, r, typ, n), array(t, r, typ, n), out, by)
			})
		}
	}
}

func TestRun_TwoDimensions(t *testing.T) {
	for _, s := range [][2]int64{{5, 9}, {1, 1}, {4, 8}, {17, 3}} {
		out, err := tirrun.New(tir.Float32, s[:]...)
		require.NoError(t, err)
		r := random()
		compare(t, plane(t, int32(s[0]), int32(s[1])), "plane", 1e-5, array(t, r, tir.Float32, s[:]...), array(t, r, tir.Float32, s[:]...), out)
	}
}

func TestRun_SharedTiles(t *testing.T) {
	for _, typ := range []tir.Type{tir.Float32, tir.Float64, tir.Int32} {
		for _, s := range [][3]int64{{13, 11, 10}, {8, 4, 8}, {1, 1, 1}, {33, 40, 17}} {
			out, err := tirrun.New(typ, s[0], s[2])
			require.NoError(t, err)
			r := random()
			compare(t, tiles(t, int32(s[0]), int32(s[1]), int32(s[2]), typ), "tiles", 1e-5, array(t, r, typ, s[0], s[1]), array(t, r, typ, s[1], s[2]), out)
		}
	}
}

func TestRun_Softmax(t *testing.T) {
	for _, rows := range []int64{0, 1, 7} {
		out, err := tirrun.New(tir.Float32, rows, 37)
		require.NoError(t, err)
		compare(t, parsed(t, softmax), "softmax", 1e-5, array(t, random(), tir.Float32, rows, 37), out)
	}
}

// Two kernels, with memory of the device between them that the host allocates, and numbers of types that no kernel takes.
func TestRun_SeveralKernels(t *testing.T) {
	m := parsed(t, `
func chain(a: handle, b: handle, on: bool, shift: int8, big: uint64, scale: float16, times: int32) {
  var n: int64
  buffer A: float32[n], param a
  buffer B: float32[n], param b
  alloc T: float32[n]
  let blocks = floordiv(n + int64(15), int64(16))
  thread i in range(blocks), thread "blockIdx.x" {
    thread j in range(int64(16)), thread "threadIdx.x" {
      if i * int64(16) + j < n {
        T[i * int64(16) + j] = A[i * int64(16) + j] * cast(float32, scale) + cast(float32, shift)
      }
    }
  }
  for k in range(times) {
    thread i in range(n), thread "blockIdx.x" {
      if on {
        T[i] = T[i] + cast(float32, k)
      }
    }
  }
  thread i in range(n), thread "threadIdx.x" {
    B[i] = T[i] + cast(float32, floormod(big, uint64(1000)))
  }
}
`)
	for _, n := range []int64{0, 1, 100} {
		out, err := tirrun.New(tir.Float32, n)
		require.NoError(t, err)
		compare(t, m, "chain", 1e-6, array(t, random(), tir.Float32, n), out, true, -5, 7123, 0.333, 3)
	}
}

// Vectors of OpenCL, wider ones, and those of other widths, of all types.
func TestRun_Vectors(t *testing.T) {
	for _, typ := range []tir.Type{tir.Float32, tir.Float64, tir.Float16, tir.Int8, tir.UInt8, tir.Int16, tir.Int32, tir.UInt32, tir.Int64} {
		for _, lanes := range []int{2, 3, 4, 8, 16, 32, 20} {
			if lanes != 4 && typ != tir.Float32 && typ != tir.Int8 {
				continue
			}
			t.Run(fmt.Sprintf("%sx%d", typ, lanes), func(t *testing.T) {
				value := "max(X, Y) + select(X > Y && Y > C(3), X, Y * C(2))"
				if tir.IsFloat(typ) {
					value = "max(exp(X), Y) / C(2) + select(X > Y || X < C(-0.5), sqrt(fabs(X)), Y * C(2)) + sigmoid(Y)"
				}
				m := vectorized(t, value, typ, lanes)
				r := random()
				n := int64(5 * lanes)
				out, err := tirrun.New(typ, n)
				require.NoError(t, err)
				within := map[bool]float64{true: 1e-5}[tir.IsFloat(typ)]
				if typ == tir.Float16 {
					within = 2e-3
				}
				compare(t, m, "v", within, array(t, r, typ, n), array(t, r, typ, n), out)
			})
		}
	}
}

// vectorized is a kernel of 5 threads with a vector each: X and Y are neighbours of A and B.
func vectorized(t testing.TB, value string, typ tir.Type, lanes int) *tir.IRModule {
	t.Helper()
	n := 5 * lanes
	value = strings.ReplaceAll(value, "X", "A[t * L + i]")
	value = strings.ReplaceAll(value, "Y", "B[t * L + i]")
	value = strings.ReplaceAll(value, "C(", typ.String()+"(")
	if typ == tir.Bool {
		typ = tir.Bool
	}
	text := fmt.Sprintf(`
func v(a: handle, b: handle, c: handle) {
  buffer A: %[1]s[%[2]d], param a
  buffer B: %[1]s[%[2]d], param b
  buffer C: %[1]s[%[2]d], param c
  thread t in range(5), thread "threadIdx.x" {
    vectorized i in range(%[3]d) {
      C[t * L + i] = %[4]s
    }
  }
}
`, typ, n, lanes, value)
	return parsed(t, strings.ReplaceAll(text, "L", fmt.Sprint(lanes)))
}

// A function may be called as soon as it is built, too.
func TestRun_CalledAtOnce(t *testing.T) {
	need(t)
	gputest.NoLeaks(t, devices)
	m, err := codegen.Build(vadd(t, tir.Float32, 64), device(t, "opencl"))
	require.NoError(t, err)
	defer m.Close()
	f := gputest.Function(t, m, "vadd")
	for _, dev := range devices {
		a, b, c := gputest.Tensor(t, dev, []float32{1, 2, 3}), gputest.Tensor(t, dev, []float32{4, 5, 6}), gputest.Tensor(t, dev, make([]float32, 3))
		_, err = f.Call(a, b, c, 2.0)
		require.NoError(t, err)
		require.Equal(t, []float32{10, 14, 18}, gputest.Slice(t, c))
	}
}

// The host's code checks what it is given, before anything is launched.
func TestRun_BadArguments(t *testing.T) {
	need(t)
	lib := library(t, vadd(t, tir.Float32, 64))
	f := gputest.Function(t, lib, "vadd")
	zeros := func(dev dlpack.Device, n int) *runtime.Tensor { return gputest.Tensor(t, dev, make([]float32, n)) }
	a, c := zeros(devices[0], 8), zeros(devices[0], 8)
	part, err := zeros(devices[0], 128).View(dlpack.Float32, []int64{8}, nil, 256)
	require.NoError(t, err)
	defer part.Close()
	for want, args := range map[string][]any{
		"argument 1 (B): the tensor is on cpu:0, expected opencl:0: copy it":                           {a, zeros(runtime.CPU, 8), c, 1.0},
		"argument 0 (A): the tensor is on cpu:0, expected opencl: copy it":                             {zeros(runtime.CPU, 8), a, c, 1.0},
		"argument 2 (C): the tensor is on opencl:1, expected opencl:0":                                 {a, a, zeros(devices[1], 8), 1.0},
		"argument 1 (B): shape[0] is 7, expected n = 8 (argument 0 (A): shape[0])":                     {a, zeros(devices[0], 7), c, 1.0},
		"argument 1 (B): the elements begin 256 bytes into the device's memory, expected 0: copy them": {a, part, c, 1.0},
		"argument 3 (by): expected float32, got a tensor":                                              {a, a, c, c},
		"vadd: expected 4 arguments, got 3":                                                            {a, a, c},
	} {
		_, err := f.Call(args...)
		require.ErrorContains(t, err, want)
	}
}

// Kernels are launched by hand, too, through the module that the host's imports.
func TestRun_KernelByHand(t *testing.T) {
	need(t)
	lib := library(t, vadd(t, tir.Float32, 64))
	k := gputest.Kernel(t, lib, "vadd_kernel")
	a, b, c := gputest.Tensor(t, devices[0], []float32{1, 2, 3}), gputest.Tensor(t, devices[0], []float32{4, 5, 6}), gputest.Tensor(t, devices[0], make([]float32, 3))
	require.NoError(t, k.Launch(nil, runtime.Dim3{1}, runtime.Dim3{64}, a, b, c, 3, 2.0))
	require.Equal(t, []float32{10, 14, 18}, gputest.Slice(t, c))
}
