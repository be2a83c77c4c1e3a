// Package gputest has code that the tests of several devices use: tensors, modules and kernels that are closed when
// their test ends, and the modules that Apache TVM compiled, with their inputs and expected outputs.
package gputest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// Dir is the folder of the modules that Apache TVM compiled, relative to a folder below runtime.
const Dir = "../../testdata/artifacts/"

// Tensor returns a tensor of float32 with data. It is one-dimensional if no shape is given.
func Tensor(t testing.TB, dev dlpack.Device, data []float32, shape ...int64) *runtime.Tensor {
	t.Helper()
	if shape == nil {
		shape = []int64{int64(len(data))}
	}
	x := must.Open(runtime.NewTensor(dlpack.Float32, shape, dev))(t)
	require.NoError(t, runtime.CopyFrom(x, data))
	return x
}

// Slice returns the elements of a float32 tensor after all enqueued work is done.
func Slice(t testing.TB, x *runtime.Tensor) []float32 {
	t.Helper()
	return must.Get(runtime.ToSlice[float32](x))(t)
}

// Stream returns a new stream of a device.
func Stream(t testing.TB, dev dlpack.Device) *runtime.Stream {
	t.Helper()
	return must.Open(runtime.NewStream(dev))(t)
}

// Module loads a module from a file. It skips the test as machine.Need does.
func Module(t testing.TB, path string) *runtime.Module {
	t.Helper()
	machine.Need(t, path)
	return must.Open(runtime.Load(t.Context(), path))(t)
}

// HandMade returns a new module of a device kind with the given code.
func HandMade(t testing.TB, kind, format string, code []byte, kernels ...runtime.KernelType) *runtime.Module {
	t.Helper()
	return must.Open(runtime.NewDeviceModule(kind, format, code, kernels...))(t)
}

// Function returns a function of a module.
func Function(t testing.TB, m *runtime.Module, name string) *runtime.Function {
	t.Helper()
	return must.Open(m.Function(name))(t)
}

// Kernel returns a kernel of a module.
func Kernel(t testing.TB, m *runtime.Module, name string) *runtime.Kernel {
	t.Helper()
	return must.Open(m.Kernel(name))(t)
}

// RequireError checks that an error has a kind and contains each of the words.
func RequireError(t *testing.T, err error, kind error, words ...string) {
	t.Helper()
	require.Error(t, err)
	require.ErrorIs(t, err, kind, "%v", err)
	for _, w := range words {
		require.ErrorContains(t, err, w)
	}
}

// Names are the names of the functions in the compiled modules.
var Names = []string{"addone", "vadd", "matmul"}

// Call has the arguments and the expected result of a call of a compiled function.
type Call struct {
	Args []any
	Out  *runtime.Tensor
	Want []float32
}

// Example returns the arguments of a function as tensors of a device, and the result that TVM computed.
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

// Check compares the output with the result that TVM computed.
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

// RunAll runs every function of a compiled module on each device, on the default stream and on another stream.
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

// SaveAgain saves the kernels that a compiled module imports to bytes and to a file with a suffix, loads the file, and
// runs a kernel.
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

// EmptyGrid launches a kernel that writes to x with grids that contain no block. Such a launch runs nothing and is not
// an error. The kernel has six launch parameters: the sizes of the grid and of the block.
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
	require.Equal(t, before, Slice(t, x), "a grid without blocks launches nothing")
	require.NoError(t, k.Launch(nil, runtime.Dim3{1}, runtime.Dim3{block}, all...))
	require.NotEqual(t, before, Slice(t, x), "the device still works")
}
