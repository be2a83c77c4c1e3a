//go:build cgo

package ops

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/te"
	"tvmgo/tir"
)

// Kernels for tensors without elements are not launched, which a driver would reject, and sums of nothing are 0: for
// sizes that the program has, and for those that a call chooses.
func TestZeroSize_OnDevices(t *testing.T) {
	none, empty, five := sample(tir.Float32, 0, 5), sample(tir.Float32, 5, 0), sample(tir.Float32, 5)
	zeros := func(shape ...int) *nd { return filled(tir.Float32, shape, func(int) float64 { return 0 }) }
	cases := []opCase{
		{name: "relu", ins: []*nd{none}, want: zeros(0, 5), make: func(x []*te.Tensor) *te.Tensor { return Relu(x[0], "Y") }},
		{name: "add", ins: []*nd{none, five}, want: zeros(0, 5), make: func(x []*te.Tensor) *te.Tensor {
			return Add(x[0], x[1], "Y")
		}},
		{name: "transpose", ins: []*nd{none}, want: zeros(5, 0), make: func(x []*te.Tensor) *te.Tensor {
			return Transpose(x[0], "Y")
		}},
		{name: "no rows", ins: []*nd{none}, want: zeros(0), make: func(x []*te.Tensor) *te.Tensor {
			return Sum(x[0], "Y", []int{1}, false)
		}},
		{name: "rows of nothing", ins: []*nd{empty}, want: zeros(5), make: func(x []*te.Tensor) *te.Tensor {
			return Sum(x[0], "Y", []int{1}, false)
		}},
		{name: "sum of nothing", ins: []*nd{none}, want: zeros(), make: func(x []*te.Tensor) *te.Tensor {
			return Sum(x[0], "Y", nil, false)
		}},
		{name: "softmax", ins: []*nd{none}, want: zeros(0, 5), make: func(x []*te.Tensor) *te.Tensor {
			return Softmax(x[0], "Y")
		}},
		{name: "matmul of nothing", ins: []*nd{empty, none}, want: zeros(5, 5), make: func(x []*te.Tensor) *te.Tensor {
			return Matmul(x[0], x[1], "Y")
		}},
		{name: "matmul without rows", ins: []*nd{none, sample(tir.Float32, 5, 4)}, want: zeros(0, 4),
			make: func(x []*te.Tensor) *te.Tensor { return Matmul(x[0], x[1], "Y") }},
	}
	for _, kind := range []dlpack.DeviceType{dlpack.OpenCL, dlpack.Vulkan, dlpack.CUDA} {
		t.Run(kind.String(), func(t *testing.T) {
			for _, to := range deviceTargets(t, kind)[:1] {
				runOnDevice(t, cases, to)

				n := te.Var("n")
				x := te.Placeholder([]tir.Expr{n, tir.I32(3)}, tir.Float32, "x")
				for _, y := range []*te.Tensor{Relu(x, "y"), Transpose(x, "y"), Sum(x, "y", []int{1}, false)} {
					s := must.Get(Schedule(to, y))(t)
					m := must.Get(codegen.Build(must.Get(te.Lower(s, []any{x, y}, "f"))(t), to))(t)
					f := must.Get(m.Function("f"))(t)
					dev := dlpack.Device{Type: kind}
					shape := make([]int64, len(y.ProducerShape()))
					for d, size := range y.ProducerShape() {
						if c, ok := size.(*tir.IntImm); ok {
							shape[d] = c.Value
						}
					}
					a := must.Get(runtime.NewTensor(dlpack.Float32, []int64{0, 3}, dev))(t)
					b := must.Get(runtime.NewTensor(dlpack.Float32, shape, dev))(t)
					_, err := f.Call(a, b)
					require.NoError(t, err)
					require.NoError(t, a.Close())
					require.NoError(t, b.Close())
					f.Close()
					require.NoError(t, m.Close())
				}
			}
		})
	}
}

// The fake driver counts the operations of streams: a call whose result has no elements adds none, and any other adds
// one, its kernel.
func TestZeroSize_LaunchesNothing(t *testing.T) {
	driver := cudarun.Use(t)
	to := deviceTargets(t, dlpack.CUDA)[0]
	dev := dlpack.Device{Type: dlpack.CUDA}
	executed := func(call func()) int64 {
		require.NoError(t, runtime.SyncDevice(context.Background(), dev))
		before := driver.Executed()
		call()
		require.NoError(t, runtime.SyncDevice(context.Background(), dev))
		return driver.Executed() - before
	}
	idle := executed(func() {}) // to wait for the device is an operation
	n := te.Var("n")
	for _, rows := range []tir.Expr{n, tir.I32(0)} {
		x := te.Placeholder([]tir.Expr{rows, tir.I32(5)}, tir.Float32, "x")
		w := te.Placeholder(te.Dims(5, 4), tir.Float32, "w")
		for _, c := range []struct {
			y     *te.Tensor
			shape func(rows int64) []int64
			in    []any
		}{
			{Relu(x, "y"), func(rows int64) []int64 { return []int64{rows, 5} }, []any{x}},
			{Transpose(x, "y"), func(rows int64) []int64 { return []int64{5, rows} }, []any{x}},
			{Sum(x, "y", []int{1}, false), func(rows int64) []int64 { return []int64{rows} }, []any{x}},
			{Softmax(x, "y"), func(rows int64) []int64 { return []int64{rows, 5} }, []any{x}},
			{Matmul(x, w, "y"), func(rows int64) []int64 { return []int64{rows, 4} }, []any{x, w}},
		} {
			s := must.Get(Schedule(to, c.y))(t)
			m := must.Get(codegen.Build(must.Get(te.Lower(s, append(c.in, c.y), "f"))(t), to))(t)
			f := must.Get(m.Function("f"))(t)
			for _, size := range []int64{0, 3} {
				if size > 0 && rows != tir.Expr(n) {
					continue
				}
				args := []any{must.Get(runtime.NewTensor(dlpack.Float32, []int64{size, 5}, dev))(t)}
				if len(c.in) > 1 {
					args = append(args, must.Get(runtime.NewTensor(dlpack.Float32, []int64{5, 4}, dev))(t))
				}
				args = append(args, must.Get(runtime.NewTensor(dlpack.Float32, c.shape(size), dev))(t))
				count := executed(func() {
					_, err := f.Call(args...)
					require.NoError(t, err)
				})
				require.Equal(t, min(size, 1), count-idle, "%d rows of\n%v", size, m)
				for _, a := range args {
					require.NoError(t, a.(*runtime.Tensor).Close())
				}
			}
			f.Close()
			require.NoError(t, m.Close())
		}
	}
}
