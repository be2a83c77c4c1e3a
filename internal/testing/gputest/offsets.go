package gputest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// PackedOffsets runs Offsets with the function add(a, b, c, n) of a packed module, which computes c = a + b.
func PackedOffsets(t *testing.T, m *runtime.Module, dev dlpack.Device) {
	t.Helper()
	add := Function(t, m, "add")
	Offsets(t, m, dev, "add", [3]string{"a", "b", "c"}, func(a, b, c *runtime.Tensor) error {
		_, err := add.Call(a, b, c, int(a.Shape()[0]))
		return err
	})
}

// Offsets calls add, which computes c = a + b, with tensors that begin inside of their buffers. Offsets that are
// multiples of the device's alignment must work, and other offsets must be errors. Errors contain the names of the
// function and of its arguments. m must import the module that has the function for the device's alignment.
func Offsets(t *testing.T, m *runtime.Module, dev dlpack.Device, function string, names [3]string, add func(a, b,
	c *runtime.Tensor) error) {
	t.Helper()
	imports, err := m.Imports()
	require.NoError(t, err)
	require.Len(t, imports, 1)
	defer imports[0].Close()
	ask := Function(t, imports[0], blob.OffsetAlignment(dev.Type.String()))
	v, err := ask.Call(dev.ID)
	require.NoError(t, err)
	align := v.(int64)
	require.Positive(t, align)
	_, err = ask.Call(12345)
	require.Error(t, err)
	_, err = ask.Call()
	require.ErrorContains(t, err, "the argument must be the number of a device")

	const n = 100
	const length = 4096
	start := func(by float32) []float32 {
		data := make([]float32, length)
		for i := range data {
			data[i] = by + float32(i)
		}
		return data
	}
	for _, at := range [][3]int64{{0, 0, 0}, {1, 0, 0}, {0, 2, 0}, {0, 0, 3}, {1, 2, 3}, {3, 3, 3}} {
		whole := [3]*runtime.Tensor{Tensor(t, dev, start(0)), Tensor(t, dev, start(0.5)), Tensor(t, dev, start(-1))}
		var views [3]*runtime.Tensor
		for i := range views {
			views[i], err = whole[i].View(dlpack.Float32, []int64{n}, nil, at[i]*align)
			require.NoError(t, err)
		}
		require.NoError(t, add(views[0], views[1], views[2]), "%v", at)
		for i := range views {
			require.NoError(t, views[i].Close(), "while the kernel may still run")
		}
		want := start(-1)
		for i := range int64(n) {
			want[at[2]*align/4+i] = float32(at[0]*align/4+i) + 0.5 + float32(at[1]*align/4+i)
		}
		require.Equal(t, want, Slice(t, whole[2]), "%v", at)
	}

	// Parts of one buffer that do not overlap.
	whole := Tensor(t, dev, start(0))
	step := (int64(n)*4 + align - 1) / align * align
	var parts [3]*runtime.Tensor
	for i := range parts {
		parts[i], err = whole.View(dlpack.Float32, []int64{n}, nil, int64(i)*step)
		require.NoError(t, err)
		defer parts[i].Close()
	}
	require.NoError(t, add(parts[0], parts[1], parts[2]))
	want := start(0)
	for i := range int64(n) {
		want[2*step/4+i] = float32(i) + float32(step/4+i)
	}
	require.Equal(t, want, Slice(t, whole))

	if align > 4 {
		for i := range 3 {
			args := [3]*runtime.Tensor{Tensor(t, dev, start(0)), Tensor(t, dev, start(0)), Tensor(t, dev, start(0))}
			result := args[2]
			args[i], err = args[i].View(dlpack.Float32, []int64{length / 2}, nil, align+4)
			require.NoError(t, err)
			defer args[i].Close()
			for k := range args {
				if k != i {
					args[k], err = args[k].View(dlpack.Float32, []int64{length / 2}, nil, 0)
					require.NoError(t, err)
					defer args[k].Close()
				}
			}
			require.ErrorContains(t, add(args[0], args[1], args[2]), fmt.Sprintf(
				"%s: argument %d (%s): the elements begin %d bytes into the device's memory, expected a multiple of %d on %v: "+
					"copy them",
				function, i, names[i], align+4, align, dev))
			require.Equal(t, start(0), Slice(t, result), "nothing was launched")
		}
	}
	empty := Tensor(t, dev, start(0))
	none, err := empty.View(dlpack.Float32, []int64{0}, nil, 4)
	require.NoError(t, err)
	defer none.Close()
	require.NoError(t, add(none, none, none), "an empty tensor may have any offset")
}
