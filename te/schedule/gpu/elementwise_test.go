package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

const (
	ofGPU = "cuda -arch=sm_80"
	ofCPU = "opencl -device_type=cpu -max_num_threads=4096 -max_threads_per_block=4096"
)

// This package schedules for all kinds, whether or not this program could build for them.
func init() {
	for _, kind := range []string{"cuda", "vulkan"} {
		if err := target.SetAttr(kind, target.ColumnGenerator, true); err != nil {
			panic(err)
		}
	}
}

// lowered returns the text of the program for a target.
func lowered(t *testing.T, to string, outs []*te.Tensor, ins ...*te.Tensor) string {
	t.Helper()
	s := must.Get(ops.Schedule(must.Get(target.New(to))(t), outs...))(t)
	var args []any
	for _, x := range append(ins, outs...) {
		args = append(args, x)
	}
	return text.Print(must.Get(te.Lower(s, args, "f"))(t))
}

func array(typ tir.Type, sizes ...int32) *te.Tensor {
	return te.Placeholder(te.Dims(sizes...), typ, "X")
}

func symbolic(names ...string) *te.Tensor {
	var shape []tir.Expr
	for _, n := range names {
		shape = append(shape, te.Var(n))
	}
	return te.Placeholder(shape, tir.Float32, "X")
}

// Each case is an operator with the length of its vectors on a GPU, with 16 bytes, and on a CPU, with 64 bytes and at
// most 16 lanes. 1 stands for none.
func TestElementwise_Vectors(t *testing.T) {
	relu := func(x *te.Tensor) *te.Tensor { return ops.Relu(x, "y") }
	for name, c := range map[string]struct {
		x        *te.Tensor
		op       func(x *te.Tensor) *te.Tensor
		gpu, cpu int
	}{
		"float32":        {array(tir.Float32, 1024, 1024), relu, 4, 16},
		"float64":        {array(tir.Float64, 1024, 1024), relu, 2, 8},
		"float16":        {array(tir.Float16, 1024, 1024), relu, 8, 16},
		"int8":           {array(tir.Int8, 1024, 1024), relu, 16, 16},
		"odd size":       {array(tir.Float32, 1001, 1003), relu, 4, 16},
		"variable sizes": {symbolic("n", "m"), relu, 4, 16},
		"variable part of 3 elements": {array(tir.Float32, 3), func(x *te.Tensor) *te.Tensor {
			n := tir.NewVar("n", tir.Int32)
			return te.Compute([]tir.Expr{n}, "y", func(i ...tir.Expr) tir.Expr { return x.At(i...) })
		}, 2, 2},
		"few elements":  {array(tir.Float32, 300), relu, 1, 1},
		"no dimensions": {array(tir.Float32), relu, 1, 1},
		"to a wider type": {array(tir.Int8, 1024, 1024), func(x *te.Tensor) *te.Tensor {
			return ops.Cast(x, tir.Float32, "y")
		}, 4, 16},
		"broadcast": {array(tir.Float32, 1024, 1024), func(x *te.Tensor) *te.Tensor {
			return ops.Add(x, ops.Full(te.Dims(1024, 1), 1, tir.Float32, "one"), "y")
		}, 4, 16},
		"reshape": {array(tir.Float32, 1001, 1003), func(x *te.Tensor) *te.Tensor {
			return ops.Reshape(x, "y", te.Dims(1003, 1001)...)
		}, 4, 16},
		"slice": {array(tir.Float32, 1024, 1024), func(x *te.Tensor) *te.Tensor {
			return ops.Slice(x, "y", ops.Range{Axis: 1, Begin: 8, End: 1008})
		}, 4, 8},
		"slice of unaligned rows": {array(tir.Float32, 1024, 1024), func(x *te.Tensor) *te.Tensor {
			return ops.Slice(x, "y", ops.Range{Axis: 1, Begin: 3, End: 1019})
		}, 1, 8},
		"slice with steps": {array(tir.Float32, 1024, 1024), func(x *te.Tensor) *te.Tensor {
			return ops.Slice(x, "y", ops.Range{Axis: 1, End: ops.ToEnd, Step: 2})
		}, 1, 1},
		"concat": {array(tir.Float32, 1024, 1024), func(x *te.Tensor) *te.Tensor {
			return ops.Concat("y", 1, x, x)
		}, 4, 16},
		"concat, odd": {array(tir.Float32, 1024, 1023), func(x *te.Tensor) *te.Tensor {
			return ops.Concat("y", 1, x, x)
		}, 1, 2},
		"pad": {array(tir.Float32, 1024, 1024), func(x *te.Tensor) *te.Tensor {
			return ops.Pad(x, "y", []int{1, 4}, []int{1, 4})
		}, 4, 8},
		"rows of a table": {array(tir.Float32, 1024, 1024), rows, 4, 16},
		"pool, NHWC": {array(tir.Float32, 8, 64, 64, 64), func(x *te.Tensor) *te.Tensor {
			return ops.MaxPool2D(x, "y", ops.Window{Kernel: [2]int{2, 2}, Layout: "NHWC"})
		}, 4, 16},
		"pool, NCHW": {array(tir.Float32, 8, 64, 64, 64), func(x *te.Tensor) *te.Tensor {
			return ops.MaxPool2D(x, "y", ops.Window{Kernel: [2]int{2, 2}})
		}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			y := c.op(c.x)
			require.NoError(t, y.Err())
			for to, want := range map[string]int{ofGPU: c.gpu, ofCPU: c.cpu} {
				got := lowered(t, to, []*te.Tensor{y}, c.x)
				if want == 1 {
					require.NotContains(t, got, "vectorized", to)
				} else {
					require.Regexp(t, `vectorized \S+ in range\(`+text.Print(tir.I32(int32(want)))+`\)`, got, to)
				}
				require.Contains(t, got, `thread "threadIdx.x"`)
			}
		})
	}
}

func rows(x *te.Tensor) *te.Tensor {
	at := ops.Arange(0, 1000, 1, tir.Int32, "at")
	return ops.Take(x, at, "y", 0, ops.Clamp)
}

// A pooling accumulates in registers, and so does a sum with what follows it.
func TestElementwise_AccumulatesInRegisters(t *testing.T) {
	x := array(tir.Float32, 8, 64, 64, 64)
	y := ops.MaxPool2D(x, "y", ops.Window{Kernel: [2]int{2, 2}, Layout: "NHWC"})
	require.Contains(t, lowered(t, ofGPU, []*te.Tensor{y}, x), `alloc y.local: float32[1, 1, 1, 4], scope "local"`)
	y = ops.AvgPool2D(x, "y", ops.Window{Kernel: [2]int{2, 2}, Layout: "NHWC"})
	require.Contains(t, lowered(t, ofGPU, []*te.Tensor{y}, x), `alloc y.sum: float32[1, 1, 1, 4], scope "local"`)
}

// A grid that the device does not have becomes fewer blocks, each of which computes several tiles.
func TestElementwise_GridLimit(t *testing.T) {
	x := array(tir.Int8, 1<<15, 1<<15)
	got := lowered(t, "vulkan -max_num_threads=64 -max_threads_per_block=64", []*te.Tensor{ops.Relu(x, "y")}, x)
	require.Contains(t, got, `in range(52429), thread "blockIdx.x"`) // times 5

	// more elements than the index type has values: two dimensions of the grid
	x = array(tir.Int8, 1<<20, 1<<16)
	got = lowered(t, ofGPU, []*te.Tensor{ops.Relu(x, "y")}, x)
	require.Contains(t, got, `in range(65535), thread "blockIdx.y"`)
}
