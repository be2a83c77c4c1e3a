package gpu_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// rowOperators are the operators that reduce rows and use the results, with elementwise tensors before and after. The
// rows are along the last dimension, or along axis.
var rowOperators = map[string]func(x, g *te.Tensor, axis int) *te.Tensor{
	"softmax":    func(x, _ *te.Tensor, axis int) *te.Tensor { return ops.Softmax(x, "y", axis) },
	"logsoftmax": func(x, _ *te.Tensor, axis int) *te.Tensor { return ops.LogSoftmax(x, "y", axis) },
	"masked softmax": func(x, _ *te.Tensor, axis int) *te.Tensor {
		masked := ops.Map(x, "masked", func(e tir.Expr) tir.Expr {
			return tir.NewSelect(tir.GT(e, tir.F32(-1)), tir.Mul(e, tir.F32(0.5)), tir.F32(-100))
		})
		return ops.Relu(ops.Softmax(masked, "y", axis), "r")
	},
	"softmax of gelu": func(x, _ *te.Tensor, axis int) *te.Tensor { return ops.Softmax(ops.Gelu(x, "g"), "y", axis) },
	"softmax of gelu of sums": func(x, g *te.Tensor, axis int) *te.Tensor { // gelu follows the sums, and precedes softmax
		k := te.ReduceAxis(tir.I32(0), g.ProducerShape()[0], "k")
		sums := te.Compute(x.ProducerShape(), "sums", func(i ...tir.Expr) tir.Expr {
			return te.Sum(tir.Mul(x.At(i...), g.At(k.Var)), k)
		})
		return ops.Softmax(ops.Gelu(sums, "g"), "y", axis)
	},
	"layernorm": func(x, g *te.Tensor, _ int) *te.Tensor { return ops.LayerNorm(x, g, g, "y", 1, 1e-3) },
	"layernorm of a sum": func(x, g *te.Tensor, _ int) *te.Tensor {
		return ops.Silu(ops.LayerNorm(ops.Add(x, ops.Add(x, g, "b"), "a"), g, nil, "y", 1, 1e-3), "s")
	},
	"rmsnorm":  func(x, g *te.Tensor, _ int) *te.Tensor { return ops.RMSNorm(x, g, "y", 1, 1e-3) },
	"variance": func(x, _ *te.Tensor, axis int) *te.Tensor { return ops.Variance(x, "y", []int{axis}, false) },
}

// rowTargets have different kernels: of warps with shuffles, of threads without, with few threads, and of a CPU.
var rowTargets = []string{ofGPU, "opencl", "opencl -max_num_threads=4 -max_threads_per_block=4", ofCPU,
	"vulkan -device_type=cpu"}

// computed interprets a program for a device, or without a target one with serial loops.
func computed(t *testing.T, m *tir.IRModule, to *target.Target, given []any) []float64 {
	t.Helper()
	warp := int64(1)
	if to != nil {
		for _, pass := range []transform.Pass{transform.VerifyMemory, transform.ThreadSync, transform.VerifyLimits} {
			m = must.Get(pass(m, to))(t)
		}
		warp, _ = to.Attrs()["thread_warp_size"].(int64)
	}
	p := must.Get(tirrun.Compile(m, tirrun.Options{Seed: 1, Warp: int(max(1, warp))}))(t)
	_, err := p.Call("f", given...)
	require.NoError(t, err, text.Print(m))
	return must.Get(tirrun.Values[float64](given[len(given)-1].(*tirrun.Array)))(t)
}

// rowArguments are tensors for an operator, with their contents.
func rowArguments(t *testing.T, shape []int32) (x, g *te.Tensor, data func(y *te.Tensor) []any) {
	last := shape[len(shape)-1]
	x, g = te.Placeholder(te.Dims(shape...), tir.Float32, "x"), te.Placeholder(te.Dims(last), tir.Float32, "g")
	return x, g, func(y *te.Tensor) []any {
		var given []any
		for _, a := range []*te.Tensor{x, g, y} {
			var dims []int64
			n := int64(1)
			for _, d := range a.ProducerShape() {
				dims = append(dims, d.(*tir.IntImm).Value)
				n *= dims[len(dims)-1]
			}
			values := make([]float64, n)
			for i := range values {
				values[i] = math.Sin(float64(i*7))*4 + 1
			}
			given = append(given, must.Get(tirrun.From(tir.Float32, values, dims...))(t))
		}
		return given
	}
}

func checkRows(t *testing.T, name string, to *target.Target, config *ops.Config, shape []int32, axis int) {
	t.Helper()
	x, g, data := rowArguments(t, shape)
	y := rowOperators[name](x, g, axis)
	require.NoError(t, y.Err())
	args := []any{x, g, y}
	plain := must.Get(te.Lower(must.Get(te.NewSchedule(y))(t), args, "f"))(t)
	want := computed(t, plain, nil, data(y))
	s := must.Get(ops.ScheduleWith(to, config, y))(t)
	m := must.Get(te.Lower(s, args, "f"))(t)
	got := computed(t, m, to, data(y))
	for i := range want {
		if d := math.Abs(got[i] - want[i]); !(d <= 1e-4*max(1, math.Abs(want[i]))) {
			require.Failf(t, "wrong number", "%s of %v along %d for %s, %+v: element %d is %v, want %v\n%s", name, shape, axis,
				to, config.Rows, i, got[i], want[i], text.Print(m))
		}
	}
}

// Each operator runs in the interpreter with the schedules for several targets: rows of lengths around those of
// vectors, warps and blocks, and rows that are not contiguous.
func TestRows_Interpreted(t *testing.T) {
	for _, to := range rowTargets {
		made := must.Get(target.New(to))(t)
		for name := range rowOperators {
			for _, shape := range [][]int32{{1, 1}, {3, 2}, {5, 31}, {4, 32}, {3, 33}, {2, 130}, {7}} {
				checkRows(t, name, made, must.Get(ops.DefaultConfig(made))(t), shape, len(shape)-1)
			}
			if strings.Contains(name, "norm") {
				continue
			}
			for _, shape := range [][]int32{{31, 5}, {3, 40, 2}, {2, 1, 33, 1}} {
				checkRows(t, name, made, must.Get(ops.DefaultConfig(made))(t), shape, len(shape)-2)
			}
		}
	}
}

// Random parameters give the same results.
func TestRows_RandomConfigs(t *testing.T) {
	rng := testseed.Rand(t)
	power := func(most int) int { return 1 << rng.IntN(most+1) }
	for range 40 {
		to := must.Get(target.New([]string{ofGPU, "opencl", "opencl -device_type=cpu"}[rng.IntN(3)]))(t)
		c := must.Get(ops.DefaultConfig(to))(t)
		c.Rows.Threads, c.Rows.WarpRow, c.Rows.PerThread = power(7), 1+rng.IntN(200), 1+rng.IntN(20)
		c.Rows.Registers, c.Rows.VectorBytes = 1+rng.IntN(64), power(5)
		c.Rows.Columns = min(power(5), c.Rows.Threads)
		c.Rows.Shuffle, c.Rows.RowThreads = min(power(5), c.Rows.Shuffle), rng.IntN(4)
		require.NoError(t, c.Check(to))
		names := []string{"softmax", "logsoftmax", "masked softmax", "variance"}
		checkRows(t, names[rng.IntN(4)], to, c, []int32{1 + rng.Int32N(9), 1 + rng.Int32N(300)}, rng.IntN(2))
		checkRows(t, []string{"layernorm", "layernorm of a sum", "rmsnorm"}[rng.IntN(3)], to, c,
			[]int32{1 + rng.Int32N(9), 4 * (1 + rng.Int32N(80))}, 1)
	}
}

// An operator is one kernel, which reads each element of its input once: by a warp with shuffles if the row is short,
// else by a block, and with vectors of 16 bytes.
func TestRows_Kernels(t *testing.T) {
	loads := regexp.MustCompile(`\bX\[`)
	for name, c := range map[string]struct {
		shape   []int32
		axis    int
		threads string
		lanes   int
	}{
		"short rows":         {[]int32{1 << 14, 64}, 1, `in range(16), thread "threadIdx.x"`, 4},
		"rows of a warp":     {[]int32{1 << 14, 1024}, 1, `in range(32), thread "threadIdx.x"`, 4},
		"odd rows":           {[]int32{1 << 14, 1023}, 1, `in range(32), thread "threadIdx.x"`, 1},
		"rows of a block":    {[]int32{1 << 12, 4096}, 1, `in range(256), thread "threadIdx.x"`, 4},
		"the longest rows":   {[]int32{128, 32768}, 1, `in range(1024), thread "threadIdx.x"`, 4},
		"columns":            {[]int32{512, 1 << 12}, 0, `in range(32), thread "threadIdx.x"`, 1},
		"a single row":       {[]int32{4096}, 0, `in range(256), thread "threadIdx.x"`, 4},
		"a dimension inside": {[]int32{16, 100, 64}, 1, `in range(8), thread "threadIdx.y"`, 1},
	} {
		x := array(tir.Float32, c.shape...)
		for _, op := range []string{"softmax", "logsoftmax", "masked softmax", "softmax of gelu", "variance"} {
			y := rowOperators[op](x, nil, c.axis)
			got := lowered(t, ofGPU, []*te.Tensor{y}, x)
			require.Equal(t, 1, strings.Count(got, `thread "blockIdx.x"`), "%s, %s\n%s", op, name, got)
			require.Contains(t, got, c.threads, "%s, %s", op, name)
			if op != "softmax of gelu" && op != "masked softmax" { // their formulas contain x several times
				require.Len(t, loads.FindAllString(got, -1), 1, "%s, %s\n%s", op, name, got)
			}
			if c.lanes > 1 {
				require.Regexp(t, fmt.Sprintf(`vectorized \S+ in range\(%d\) \{\s+(X|g|masked).local`, c.lanes), got,
					"%s, %s", op, name)
			}
		}
	}
}

// A normalization over dimensions of which the first has one element, and of each channel alone.
func TestRows_UnitDimensions(t *testing.T) {
	for _, to := range rowTargets {
		made := must.Get(target.New(to))(t)
		for _, op := range []func(x *te.Tensor) *te.Tensor{
			func(x *te.Tensor) *te.Tensor { return ops.LayerNorm(x, nil, nil, "y", 3, 1e-3) },
			func(x *te.Tensor) *te.Tensor { return ops.GroupNorm(x, nil, nil, "y", 1, 1e-3) },
			func(x *te.Tensor) *te.Tensor {
				return ops.GroupNorm(ops.Reshape(x, "r", te.Dims(1, 3, 11, 5)...), nil, nil, "y", 3, 1e-3)
			},
		} {
			x, _, data := rowArguments(t, []int32{3, 1, 11, 5})
			y := op(x)
			require.NoError(t, y.Err())
			given := func() []any { return slices.Delete(data(y), 1, 2) }
			want := computed(t, must.Get(te.Lower(must.Get(te.NewSchedule(y))(t), []any{x, y}, "f"))(t), nil, given())
			m := must.Get(te.Lower(must.Get(ops.Schedule(made, y))(t), []any{x, y}, "f"))(t)
			require.InDeltaSlice(t, want, computed(t, m, made, given()), 1e-4, text.Print(m))
		}
	}
}

// The groups of a single image, whose number the rows of a block do not divide.
func TestRows_GroupsOfOneImage(t *testing.T) {
	for _, to := range rowTargets {
		made := must.Get(target.New(to))(t)
		x, _, data := rowArguments(t, []int32{1, 55, 13, 5})
		y := ops.GroupNorm(x, nil, nil, "y", 5, 1e-3)
		given := func() []any { return slices.Delete(data(y), 1, 2) }
		want := computed(t, must.Get(te.Lower(must.Get(te.NewSchedule(y))(t), []any{x, y}, "f"))(t), nil, given())
		m := must.Get(te.Lower(must.Get(ops.Schedule(made, y))(t), []any{x, y}, "f"))(t)
		require.InDeltaSlice(t, want, computed(t, m, made, given()), 1e-4, text.Print(m))
	}
}

// Groups of channels without further dimensions, whose number threads do not divide.
func TestRows_GroupsOfChannels(t *testing.T) {
	for _, to := range rowTargets {
		made := must.Get(target.New(to))(t)
		for _, c := range [][3]int32{{6, 100, 4}, {3, 33, 3}, {2, 1000, 2}} {
			x, g, data := rowArguments(t, []int32{c[0], c[1]})
			y := ops.GroupNorm(x, g, g, "y", int(c[2]), 1e-3)
			want := computed(t, must.Get(te.Lower(must.Get(te.NewSchedule(y))(t), []any{x, g, y}, "f"))(t), nil, data(y))
			m := must.Get(te.Lower(must.Get(ops.Schedule(made, y))(t), []any{x, g, y}, "f"))(t)
			require.InDeltaSlice(t, want, computed(t, m, made, data(y)), 1e-4, text.Print(m))
		}
	}
}

// Threads compute long rows together on lavapipe, whose driver ends the loops of a thread after 65535 iterations.
func TestRows_LoopsOnLavapipe(t *testing.T) {
	to := must.Get(target.New("vulkan -device_type=cpu"))(t)
	serial := regexp.MustCompile(`\bfor \S+ in range\((\d{5,})\)`)
	for _, op := range []string{"softmax", "logsoftmax", "layernorm", "variance"} {
		for _, rows := range []int32{2, 100} {
			x, g, _ := rowArguments(t, []int32{rows, 99999})
			y := rowOperators[op](x, g, -1)
			m := must.Get(te.Lower(must.Get(ops.Schedule(to, y))(t), []any{x, g, y}, "f"))(t)
			require.NotRegexp(t, serial, text.Print(m), op)
		}
	}
}

// Shapes that no case lists, with constant and variable numbers of rows, lead to a schedule that lowers and computes
// the same.
func TestRows_RandomShapes(t *testing.T) {
	rng := testseed.Rand(t)
	for range 60 {
		to := must.Get(target.New(rowTargets[rng.IntN(len(rowTargets))]))(t)
		dims := make([]int64, 1+rng.IntN(4))
		axis := rng.IntN(len(dims))
		variable := make([]bool, len(dims))
		for d := range dims {
			dims[d] = 1 + rng.Int64N(9)
			variable[d] = rng.IntN(4) == 0
		}
		dims[axis] = 1 + rng.Int64N(70)
		variable[axis] = variable[axis] && rng.IntN(4) == 0
		var shape []tir.Expr
		for d, n := range dims {
			if shape = append(shape, tir.I32(int32(n))); variable[d] {
				shape[d] = te.Var(fmt.Sprintf("n%d", d))
			}
		}
		x := te.Placeholder(shape, tir.Float32, "x")
		norm := func(n int) func() *te.Tensor {
			return func() *te.Tensor { return ops.Relu(ops.LayerNorm(x, nil, nil, "y", n, 1e-3), "r") }
		}
		all := []func() *te.Tensor{
			func() *te.Tensor { return ops.Softmax(x, "y", axis) },
			func() *te.Tensor { return ops.LogSoftmax(ops.Add(x, x, "twice"), "y", axis) },
			func() *te.Tensor { return ops.Variance(x, "y", []int{axis, 0}[:1+min(axis, 1)], rng.IntN(2) == 0) },
			norm(1 + rng.IntN(len(dims))),
			func() *te.Tensor { return ops.Softmax(ops.Exp(x, "e"), "y", axis) },
		}
		if len(dims) > 1 && !variable[1] {
			groups := 1
			for g := range int(dims[1]) {
				if int(dims[1])%(g+1) == 0 && rng.IntN(2) == 0 {
					groups = g + 1
				}
			}
			all = append(all, func() *te.Tensor { return ops.GroupNorm(x, nil, nil, "y", groups, 1e-3) })
		}
		y := all[rng.IntN(len(all))]()
		require.NoError(t, y.Err())
		fits := func(e tir.Expr) int64 {
			if n, ok := e.(*tir.IntImm); ok {
				return n.Value
			}
			for d, v := range shape {
				if e == v {
					return dims[d]
				}
			}
			return 1
		}
		data := func() (given []any) {
			for _, a := range []*te.Tensor{x, y} {
				var own []int64
				n := int64(1)
				for _, e := range a.ProducerShape() {
					own = append(own, fits(e))
					n *= fits(e)
				}
				values := make([]float64, n)
				for i := range values {
					values[i] = math.Sin(float64(i * 5))
				}
				given = append(given, must.Get(tirrun.From(tir.Float32, values, own...))(t))
			}
			return given
		}
		plain := must.Get(te.Lower(must.Get(te.NewSchedule(y))(t), []any{x, y}, "f"))(t)
		want := computed(t, plain, nil, data())
		what := fmt.Sprintf("%v, variable %v, axis %d, %s, %s", dims, variable, axis, y.ProducerName(), to)
		s, err := ops.Schedule(to, y)
		require.NoError(t, err, what)
		m, err := te.Lower(s, []any{x, y}, "f")
		require.NoError(t, err, what)
		require.InDeltaSlice(t, want, computed(t, m, to, data()), 1e-4, "%s\n%s", what, text.Print(m))
	}
}

// Rows that registers do not hold, and rows of unknown length, are read twice: in one kernel if there are many, else by
// several blocks.
func TestRows_Long(t *testing.T) {
	for _, to := range rowTargets[:3] {
		made := must.Get(target.New(to))(t)
		for name := range rowOperators {
			for _, few := range []bool{false, true} {
				c := must.Get(ops.DefaultConfig(made))(t)
				c.Rows.Registers, c.Rows.Threads, c.Rows.WarpRow = 2, min(8, c.Rows.Threads), 1
				c.Rows.Columns, c.Reduction.Part = min(4, c.Rows.Threads), 8
				if c.Reduction.Blocks = 1; few {
					c.Reduction.Blocks = 512
				}
				for _, n := range []int32{31, 32, 100, 251} {
					checkRows(t, name, made, c, []int32{3, n}, 1)
				}
				if !strings.Contains(name, "norm") {
					checkRows(t, name, made, c, []int32{70, 5}, 0)
				}
			}
		}
	}
}

// Many long rows take one kernel, few take kernels for parts of rows, for the whole rows, and for the elements. Each
// element is read twice.
func TestRows_LongKernels(t *testing.T) {
	for name, c := range map[string]struct {
		x       *te.Tensor
		kernels int
		vectors bool
	}{
		"many long rows":         {array(tir.Float32, 1<<12, 100000), 1, true},
		"few long rows":          {array(tir.Float32, 2, 1<<22), 3, true},
		"rows of unknown length": {symbolic("m", "n"), 1, false},
	} {
		for _, op := range []string{"softmax", "logsoftmax", "layernorm", "rmsnorm", "variance"} {
			g := te.Placeholder(c.x.ProducerShape()[1:], tir.Float32, "g")
			y := rowOperators[op](c.x, g, 1)
			require.NoError(t, y.Err())
			var args []*te.Tensor
			if args = append(args, c.x); strings.Contains(op, "norm") {
				args = append(args, g)
			}
			got := lowered(t, ofGPU, []*te.Tensor{y}, args...)
			kernels, reads := c.kernels, 2
			if op == "variance" {
				kernels, reads = (kernels+1)/2, 1
			}
			require.Equal(t, kernels, strings.Count(got, `thread "blockIdx.x"`), "%s, %s\n%s", op, name, got)
			loads := regexp.MustCompile(`\bX\[`).FindAllString(got, -1)
			if op != "rmsnorm" || c.vectors { // x·x
				require.LessOrEqual(t, len(loads), reads+1, "%s, %s\n%s", op, name, got)
			}
			if op != "variance" {
				require.Equal(t, c.vectors, strings.Contains(got, "vectorized"), "%s, %s\n%s", op, name, got)
			}
		}
	}
}

// A part of a row that a thread reads may be -inf alone.
func TestRows_LongInfinite(t *testing.T) {
	made := must.Get(target.New("opencl"))(t)
	c := must.Get(ops.DefaultConfig(made))(t)
	c.Rows.Registers, c.Rows.Threads, c.Rows.Columns, c.Rows.WarpRow, c.Reduction.Blocks = 1, 8, 8, 1, 1
	x := te.Placeholder(te.Dims(3, 24), tir.Float32, "x")
	y := ops.Softmax(x, "y")
	m := must.Get(te.Lower(must.Get(ops.ScheduleWith(made, c, y))(t), []any{x, y}, "f"))(t)
	values := make([]float64, 3*24)
	for i := range values {
		values[i] = math.Inf(-1)
		if i < 24 && i%8 == 3 {
			values[i] = -2
		}
		if i >= 48 {
			values[i] = -1e38
		}
	}
	given := []any{must.Get(tirrun.From(tir.Float32, values, 3, 24))(t), must.Get(tirrun.New(tir.Float32, 3, 24))(t)}
	got := computed(t, m, made, given)
	for i, v := range got {
		switch {
		case i < 24 && i%8 == 3:
			require.InDelta(t, 1.0/3, v, 1e-6)
		case i < 24:
			require.Zero(t, v)
		case i < 48:
			require.True(t, math.IsNaN(v), "all are -inf")
		default:
			require.InDelta(t, 1.0/24, v, 1e-6)
		}
	}
}

// Wider elements take more threads, not a second pass.
func TestRows_WideElements(t *testing.T) {
	for _, n := range []int32{1000, 1024, 16384} {
		x := array(tir.Float64, 1<<12, n)
		got := lowered(t, ofGPU, []*te.Tensor{ops.Softmax(x, "y")}, x)
		require.Equal(t, 1, strings.Count(got, "= X["), "%d\n%s", n, got)
	}
}
