package gpu_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// warpOnCPU is a driver on a CPU that runs threads as the lanes of vectors, with shuffles.
const warpOnCPU = "vulkan -device_type=cpu -thread_warp_size=4 -supported_subgroup_operations=255"

// productCase is a product of matrices: x [batch.., m, k] · y [batch.., k, n], either transposed.
type productCase struct {
	batchX, batchY         []int32
	m, n, k                int32
	turnX, turnY, epilogue bool
	symbolic               bool
	x, y, sum              tir.Type
}

func (c *productCase) String() string {
	return fmt.Sprintf("%v by %v, m %d, n %d, k %d, transposed %v %v, epilogue %v, symbolic %v, %s by %s in %s", c.batchX,
		c.batchY, c.m, c.n, c.k, c.turnX, c.turnY, c.epilogue, c.symbolic, c.x, c.y, c.sum)
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

func randomProduct(rng *rand.Rand) *productCase {
	size := func() int32 { return pick[int32](rng, 1, 2, 3, 4, 7, 8, 13, 16, 17, 24, 31, 32, 33, 40) }
	c := &productCase{m: size(), n: size(), k: pick[int32](rng, 0, 1, 2, 5, 8, 11, 16, 29, 32, 64),
		turnX: rng.IntN(2) == 0, turnY: rng.IntN(2) == 0, epilogue: rng.IntN(2) == 0, symbolic: rng.IntN(5) == 0}
	types := pick(rng, [3]tir.Type{tir.Float32, tir.Float32, tir.Float32}, [3]tir.Type{tir.Float64, tir.Float64,
		tir.Float64}, [3]tir.Type{tir.Int8, tir.Int8, tir.Int32}, [3]tir.Type{tir.UInt8, tir.Int8, tir.Int32},
		[3]tir.Type{tir.Float16, tir.Float16, tir.Float32}, [3]tir.Type{tir.BFloat16, tir.BFloat16, tir.Float32},
		[3]tir.Type{tir.Int64, tir.Int64, tir.Int64}, [3]tir.Type{tir.Int16, tir.Int16, tir.Int16})
	c.x, c.y, c.sum = types[0], types[1], types[2]
	batches := pick(rng, [2][]int32{}, [2][]int32{{2}, {2}}, [2][]int32{{3}, {}}, [2][]int32{{}, {2}},
		[2][]int32{{2, 1}, {1, 3}})
	c.batchX, c.batchY = batches[0], batches[1]
	return c
}

// randomMatmul changes a configuration at random.
func randomMatmul(rng *rand.Rand, c *ops.Config, warp int) {
	m := &c.Matmul
	m.ThreadM, m.ThreadN = pick(rng, 1, 2, 4, 8), pick(rng, 1, 2, 4, 8, 16)
	m.BlockM, m.BlockN = m.ThreadM*pick(rng, 1, 2, 4, 8), m.ThreadN*pick(rng, 1, 2, 4)
	m.BlockK, m.Stages = pick(rng, 1, 2, 4, 8, 16), pick(rng, 1, 2, 3)
	m.VectorBytes, m.Blocks, m.MinBlock = pick(rng, 1, 4, 8, 16, 64), pick(rng, 1, 4, 64), pick(rng, 1, 4, 64)
	m.Part, m.PanelBytes = pick(rng, 1, 4, 16, 100), pick(rng, 0, 100, 1<<18)
	if m.Shared = rng.IntN(2) == 0; !m.Shared {
		if m.BlockK = 1; warp > 1 {
			m.BlockN = warp * m.ThreadN
			m.BlockK = pick(rng, 1, warp)
		}
	}
}

// Products of matrices of all kinds are computed by the interpreter, with the default configuration and with random
// ones: blocks, threads, steps, stages, parts of sums and panels that divide no size.
func TestMatmul_RandomConfigs(t *testing.T) {
	rng := testseed.Rand(t)
	for n := range 48 {
		c := randomProduct(rng)
		text := pick(rng, ofGPU, "opencl", ofCPU, warpOnCPU)
		if n%4 == 0 { // the default configuration
			text = pick(rng, ofGPU, ofCPU, ofCPU)
		}
		to := must.Get(target.New(text))(t)
		config := must.Get(ops.DefaultConfig(to))(t)
		if n%4 > 0 {
			warp := 1
			if text == warpOnCPU {
				warp = 4
			}
			randomMatmul(rng, config, warp)
			require.NoError(t, config.Check(to))
		}
		checkProduct(t, to, config, c)
	}
}

func checkProduct(t *testing.T, to *target.Target, config *ops.Config, c *productCase) {
	t.Helper()
	shape := func(batch []int32, rows, cols int32, turned bool) (dims []int64) {
		for _, b := range batch {
			dims = append(dims, int64(b))
		}
		if turned {
			rows, cols = cols, rows
		}
		return append(dims, int64(rows), int64(cols))
	}
	sx, sy := shape(c.batchX, c.m, c.k, c.turnX), shape(c.batchY, c.k, c.n, c.turnY)
	size := map[int64]tir.Expr{}
	tensor := func(name string, dims []int64, of tir.Type) *te.Tensor {
		var all []tir.Expr
		for d, n := range dims {
			e := tir.Expr(tir.I32(int32(n)))
			if c.symbolic && d >= len(dims)-2 {
				if size[n] == nil {
					size[n] = te.Var(fmt.Sprintf("n%d", n))
				}
				e = size[n]
			}
			all = append(all, e)
		}
		return te.Placeholder(all, of, name)
	}
	x, y := tensor("X", sx, c.x), tensor("Y", sy, c.y)
	options := []ops.MatmulOption{ops.AccumulateIn(c.sum)}
	if c.turnX {
		options = append(options, ops.TransposeX())
	}
	if c.turnY {
		options = append(options, ops.TransposeY())
	}
	out := ops.Matmul(x, y, "Z", options...)
	if c.epilogue {
		out = ops.Map(out, "E", func(e tir.Expr) tir.Expr {
			return tir.Add(tir.Mul(e, tir.Const(c.sum, 2)), tir.Const(c.sum, 1))
		})
	}
	require.NoError(t, out.Err())
	s, err := ops.ScheduleWith(to, config, out)
	require.NoError(t, err, "%s: %+v", c, config.Matmul)
	m, err := te.Lower(s, []any{x, y, out}, "f")
	require.NoError(t, err, "%s: %+v", c, config.Matmul)
	for _, pass := range []transform.Pass{transform.VerifyMemory, transform.SoftwarePipeline(transform.Language{}),
		arith.Simplify, transform.ThreadSync, transform.VerifyLimits, transform.Vectorize, transform.Unroll} {
		m, err = pass(m, to)
		require.NoError(t, err, "%s: %+v", c, config.Matmul)
	}
	values := func(dims []int64, salt int) []float64 {
		all := make([]float64, elementsOf(dims))
		for i := range all {
			if all[i] = float64((i*7+salt)%5 - 2); !tir.IsSigned(c.x) {
				all[i] = float64((i*7 + salt) % 5)
			}
		}
		return all
	}
	vx, vy := values(sx, 1), values(sy, 2)
	var dims []int64
	for d := range max(len(c.batchX), len(c.batchY)) {
		n := int64(1)
		for _, b := range [][]int32{c.batchX, c.batchY} {
			if at := d - (max(len(c.batchX), len(c.batchY)) - len(b)); at >= 0 {
				n = max(n, int64(b[at]))
			}
		}
		dims = append(dims, n)
	}
	dims = append(dims, int64(c.m), int64(c.n))
	result := must.Get(tirrun.New(c.sum, dims...))(t)
	warp, _ := to.Attrs()["thread_warp_size"].(int64)
	p := must.Get(tirrun.Compile(m, tirrun.Options{Seed: 1, Warp: int(max(1, warp))}))(t)
	_, err = p.Call("f", must.Get(tirrun.From(c.x, vx, sx...))(t), must.Get(tirrun.From(c.y, vy, sy...))(t), result)
	require.NoError(t, err, "%s: %+v\n%s", c, config.Matmul, text.Print(m))
	got := must.Get(tirrun.Values[float64](result))(t)
	for i := range got {
		rest, at := int64(i), make([]int64, len(dims))
		for d := len(dims) - 1; d >= 0; d-- {
			at[d], rest = rest%dims[d], rest/dims[d]
		}
		element := func(v []float64, dims, at []int64, row, col int64, turned bool) float64 {
			if turned {
				row, col = col, row
			}
			index, n := int64(0), len(dims)-2
			for d := range n {
				k := int64(0)
				if dims[d] > 1 {
					k = at[len(at)-2-n+d]
				}
				index = index*dims[d] + k
			}
			return v[(index*dims[n]+row)*dims[n+1]+col]
		}
		want := 0.0
		for k := range int64(c.k) {
			want += element(vx, sx, at, at[len(at)-2], k, c.turnX) * element(vy, sy, at, k, at[len(at)-1], c.turnY)
		}
		if c.epilogue {
			want = 2*want + 1
		}
		require.Equal(t, want, got[i], "%s: %+v: element %v\n%s", c, config.Matmul, at, text.Print(m))
	}
}

func elementsOf(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}
