package gpu_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/te/schedule/gpu"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// Each case is a reduction of a [5, n] or [n] tensor whose kernels are interpreted with the schedule for a target: for
// a GPU with shuffles, one without, and a driver on a CPU whose warps are vectors. Rows are short, long, divided
// between kernels, and not divided by any size of a schedule.
func TestReduction_Interpreted(t *testing.T) {
	for _, to := range []string{ofGPU, "opencl", "vulkan -device_type=cpu -thread_warp_size=8"} {
		for _, shape := range [][]int32{{5, 3}, {5, 77}, {77, 5}, {1, 1000}, {3000}, {2, 0}, {0, 3}, {1}, {40, 33}, {20000}} {
			for _, axes := range [][]int{nil, {0}, {len(shape) - 1}} {
				checkReduction(t, must.Get(target.New(to))(t), nil, shape, axes)
			}
		}
	}
}

// TestReduction_Configs interprets reductions with other parameters: parts, vectors and unrolled loops of lengths that
// the sizes do not divide, also where one kernel reduces parts.
func TestReduction_Configs(t *testing.T) {
	to := must.Get(target.New(ofGPU))(t)
	for n, r := range []gpu.Reduction{
		{Threads: 8, RowThreads: 8, PerThread: 3, VectorBytes: 16, Unroll: 3, Shuffle: 4, Adjacent: 32,
			Blocks: 1},
		{Threads: 64, RowThreads: 4, PerThread: 1, VectorBytes: 32, Unroll: 1, Shuffle: 1, Adjacent: 1,
			Blocks: 100, Part: 24},
		{Threads: 16, RowThreads: 1, PerThread: 5, VectorBytes: 8, Unroll: 5, Shuffle: 1, Adjacent: 256,
			Blocks: 9, Part: 10},
		{Threads: 1, RowThreads: 1, PerThread: 1, VectorBytes: 64, Unroll: 2, Shuffle: 1, Adjacent: 64,
			Blocks: 50, Part: 1},
	} {
		c := gpu.DefaultConfig(to)
		r.Part = max(1, r.Part)
		r.ColumnPart = r.Part
		c.Reduction = r
		for i, shape := range [][]int32{{5, 76}, {76, 8}, {33, 16}, {1003}, {3, 33}, {256, 4}} {
			for k, axes := range [][]int{nil, {0}, {len(shape) - 1}} {
				if (n+i+k)%2 == 0 {
					checkReduction(t, to, c, shape, axes)
				}
			}
		}
	}
}

func checkReduction(t *testing.T, to *target.Target, c *gpu.Config, shape []int32, axes []int) {
	t.Helper()
	if c == nil {
		c = gpu.DefaultConfig(to)
	}
	x := te.Placeholder(te.Dims(shape...), tir.Float32, "X")
	sum := ops.Sum(x, "sum", axes, false)
	scaled := ops.Map(ops.Max(x, "max", axes, false), "scaled", func(e tir.Expr) tir.Expr {
		return tir.Mul(e, tir.F32(2))
	})
	outs := []*te.Tensor{sum, scaled}
	empty := false
	size, results := int64(1), int64(1)
	var dims []int64
	for d, n := range shape {
		size *= int64(n)
		dims = append(dims, int64(n))
		empty = empty || n == 0
		if axes != nil && axes[0] != d {
			results *= int64(n)
		}
	}
	if !empty {
		outs = append(outs, ops.ArgMax(x, "where", axes, false))
	}
	s := must.Get(ops.ScheduleWith(to, c, outs...))(t)
	args := []any{x}
	for _, o := range outs {
		args = append(args, o)
	}
	m := must.Get(te.Lower(s, args, "f"))(t)
	for _, pass := range []transform.Pass{transform.VerifyMemory, transform.ThreadSync, transform.VerifyLimits} {
		m = must.Get(pass(m, to))(t)
	}
	values := make([]float64, size)
	for i := range values {
		values[i] = float64((i*37)%23 - 11)
	}
	given := []any{must.Get(tirrun.From(tir.Float32, values, dims...))(t)}
	for _, o := range outs {
		var own []int64
		for _, n := range o.ProducerShape() {
			own = append(own, n.(*tir.IntImm).Value)
		}
		given = append(given, must.Get(tirrun.New(o.ProducerDType(), own...))(t))
	}
	warp, _ := to.Attrs()["thread_warp_size"].(int64)
	p := must.Get(tirrun.Compile(m, tirrun.Options{Seed: 1, Warp: int(max(1, warp))}))(t)
	_, err := p.Call("f", given...)
	require.NoError(t, err, "%s, %v over %v\n%s", to, shape, axes, text.Print(m))
	wantSum, wantMax, wantAt := make([]float64, results), make([]float64, results), make([]float64, results)
	next := make([]int, results)
	for i := range wantMax {
		wantMax[i] = math.Inf(-1)
	}
	for i, v := range values {
		row := 0
		switch {
		case axes == nil || len(shape) == 1:
		case axes[0] == 0:
			row = i % int(shape[1])
		default:
			row = i / int(shape[1])
		}
		if v > wantMax[row] {
			wantMax[row], wantAt[row] = v, float64(next[row])
		}
		wantSum[row] += v
		next[row]++
	}
	for i := range wantMax {
		wantMax[i] *= 2
	}
	for i, want := range [][]float64{wantSum, wantMax, wantAt}[:len(outs)] {
		got := must.Get(tirrun.Values[float64](given[i+1].(*tirrun.Array)))(t)
		require.Equal(t, want, got, "%s: %s of %v over %v\n%s", to, outs[i].ProducerName(), shape, axes, text.Print(m))
	}
}

// A short row is computed by few threads, a long one by a block, and columns by neighbors; few long rows take two
// kernels, also a result without dimensions.
func TestReduction_Kernels(t *testing.T) {
	for name, c := range map[string]struct {
		shape   []int32
		axes    []int
		kernels int
		has     string
	}{
		"short rows":     {[]int32{1 << 16, 64}, []int{1}, 1, `in range(8), thread "threadIdx.x"`},
		"vectors":        {[]int32{1 << 16, 64}, []int{1}, 1, `vectorized i1 in range(4)`},
		"odd rows":       {[]int32{1 << 16, 65}, []int{1}, 1, `unrolled k1.outer.inner in range(3)`},
		"long rows":      {[]int32{1 << 12, 4096}, []int{1}, 1, `in range(256), thread "threadIdx.x"`},
		"columns":        {[]int32{256, 1 << 15}, []int{0}, 1, `in range(8), thread "threadIdx.x"`},
		"few long rows":  {[]int32{4, 1 << 20}, []int{1}, 2, `warp_shuffle_xor`},
		"everything":     {[]int32{1 << 12, 1 << 12}, nil, 2, `warp_shuffle_xor`},
		"few, but short": {[]int32{4, 128}, []int{1}, 1, `warp_shuffle_xor`},
	} {
		x := te.Placeholder(te.Dims(c.shape...), tir.Float32, "X")
		got := lowered(t, ofGPU, []*te.Tensor{ops.Sum(x, "y", c.axes, false)}, x)
		require.Equal(t, c.kernels, strings.Count(got, `thread "blockIdx.x"`), "%s\n%s", name, got)
		require.Contains(t, got, c.has, name)
	}
}
