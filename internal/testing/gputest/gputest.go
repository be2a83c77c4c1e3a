// Package gputest has the common code of the tests of devices: arrays, modules and kernels that are closed when their
// test ends, and Apache TVM's artifacts with their inputs and outputs.
package gputest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// Dir is the folder of the artifacts, seen from a folder below runtime.
const Dir = "../../testdata/artifacts/"

// Tensor is an array of float32 with data; one-dimensional where no shape is given.
func Tensor(t testing.TB, dev dlpack.Device, data []float32, shape ...int64) *runtime.Tensor {
	t.Helper()
	if shape == nil {
		shape = []int64{int64(len(data))}
	}
	x := must.Open(runtime.NewTensor(dlpack.Float32, shape, dev))(t)
	require.NoError(t, runtime.CopyFrom(x, data))
	return x
}

// Slice is what an array of float32 holds, once all that is queued is done.
func Slice(t testing.TB, x *runtime.Tensor) []float32 {
	t.Helper()
	return must.Get(runtime.ToSlice[float32](x))(t)
}

// Stream is a stream of a device.
func Stream(t testing.TB, dev dlpack.Device) *runtime.Stream {
	t.Helper()
	return must.Open(runtime.NewStream(dev))(t)
}

// Module is a file loaded.
func Module(t testing.TB, path string) *runtime.Module {
	t.Helper()
	return must.Open(runtime.Load(t.Context(), path))(t)
}

// HandMade is a module of a device kind made from code.
func HandMade(t testing.TB, kind, format string, code []byte, kernels ...runtime.KernelType) *runtime.Module {
	t.Helper()
	return must.Open(runtime.NewDeviceModule(kind, format, code, kernels...))(t)
}

// Function is a function of a module.
func Function(t testing.TB, m *runtime.Module, name string) *runtime.Function {
	t.Helper()
	return must.Open(m.Function(name))(t)
}

// Kernel is a kernel of a module.
func Kernel(t testing.TB, m *runtime.Module, name string) *runtime.Kernel {
	t.Helper()
	return must.Open(m.Kernel(name))(t)
}

// RequireError wants an error of a kind that says each of the words.
func RequireError(t *testing.T, err error, kind error, words ...string) {
	t.Helper()
	require.Error(t, err)
	require.ErrorIs(t, err, kind, "%v", err)
	for _, w := range words {
		require.ErrorContains(t, err, w)
	}
}

// Names are the functions of the artifacts.
var Names = []string{"addone", "vadd", "matmul"}

// Call is a call of a function of an artifact, on a device.
type Call struct {
	Args []any
	Out  *runtime.Tensor
	Want []float32
}

// Example has a function's arguments on a device, and what TVM computed.
func Example(t testing.TB, name string, dev dlpack.Device) Call {
	t.Helper()
	var c Call
	for _, in := range []string{"_in0.npy", "_in1.npy"} {
		if _, err := os.Stat(Dir + name + in); err == nil {
			data, shape := modules.NPY(t, Dir+name+in)
			c.Args = append(c.Args, Tensor(t, dev, data, shape...))
		}
	}
	want, shape := modules.NPY(t, Dir+name+"_out.npy")
	c.Want = want
	c.Out = Tensor(t, dev, make([]float32, len(want)), shape...)
	c.Args = append(c.Args, c.Out)
	return c
}

// Check compares the output with TVM's.
func (c Call) Check(t testing.TB) {
	t.Helper()
	require.InDeltaSlice(t, c.Want, Slice(t, c.Out), 1e-3)
}

// Close closes the arguments before the test ends.
func (c Call) Close() {
	for _, x := range c.Args {
		x.(*runtime.Tensor).Close()
	}
}

// RunAll runs every function of an artifact on devices, on the default stream and on another.
func RunAll(t *testing.T, m *runtime.Module, devices []dlpack.Device) {
	t.Helper()
	for _, dev := range devices {
		for _, name := range Names {
			t.Run(name+" on "+dev.String(), func(t *testing.T) {
				c := Example(t, name, dev)
				f := Function(t, m, name)
				must.Get(f.Call(c.Args...))(t)
				c.Check(t)
				s := Stream(t, dev)
				require.NoError(t, runtime.CopyFrom(c.Out, make([]float32, c.Out.Len())))
				must.Get(f.CallOn(s, c.Args...))(t)
				require.NoError(t, s.Sync(t.Context()))
				c.Check(t)
			})
		}
	}
}

// SaveAgain saves the kernels that an artifact imports, as bytes and as a file of a suffix, loads them and runs one.
func SaveAgain(t *testing.T, m *runtime.Module, kind, suffix string, dev dlpack.Device) {
	t.Helper()
	imports := must.Get(m.Imports())(t)
	require.Len(t, imports, 1)
	defer imports[0].Close()
	require.Equal(t, kind, imports[0].Kind())
	require.Equal(t, []string{"addone_kernel", "matmul_kernel", "vadd_kernel"}, imports[0].Functions())
	path := filepath.Join(t.TempDir(), "kernels."+suffix)
	require.NoError(t, imports[0].SaveToFile(path, ""))
	fromFile := Module(t, path)
	require.Equal(t, kind, fromFile.Kind())
	x, y := Tensor(t, dev, []float32{1, 2, 3}), Tensor(t, dev, make([]float32, 3))
	require.NoError(t, Kernel(t, fromFile, "addone_kernel").Launch(nil, runtime.Dim3{1}, runtime.Dim3{256}, x, y, 3))
	require.Equal(t, []float32{2, 3, 4}, Slice(t, y))
	saved := must.Get(imports[0].SaveToBinary())(t)
	again := must.Get(fromFile.SaveToBinary())(t)
	require.Equal(t, len(saved), len(again))
}

// EmptyGrid launches a kernel that writes x, with grids that have no block: nothing happens, and that is no
// error. The kernel takes the six sizes of grid and block.
func EmptyGrid(t *testing.T, m *runtime.Module, name string, x *runtime.Tensor, block int, args ...any) {
	t.Helper()
	k, f := Kernel(t, m, name), Function(t, m, name)
	before := Slice(t, x)
	all := append([]any{x}, args...)
	for _, grid := range []runtime.Dim3{{0, 1, 1}, {0, 0, 1}, {1, 0, 1}, {0, 1 << 40, 1}} {
		require.NoError(t, k.Launch(nil, grid, runtime.Dim3{block}, all...), "%v", grid)
		_, err := f.Call(append(all[:len(all):len(all)], grid[0], grid[1], grid[2], block, 1, 1)...)
		require.NoError(t, err, "%v", grid)
	}
	require.Equal(t, before, Slice(t, x), "a grid of no blocks launches nothing")
	require.NoError(t, k.Launch(nil, runtime.Dim3{1}, runtime.Dim3{block}, all...))
	require.NotEqual(t, before, Slice(t, x), "the device works on")
}
