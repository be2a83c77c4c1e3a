package ops

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
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
