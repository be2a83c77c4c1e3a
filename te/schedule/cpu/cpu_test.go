//go:build cgo

package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/te/schedule"
	"tvmgo/te/schedule/cpu"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

func TestMain(m *testing.M) {
	os.Setenv("TVMGO_CACHE_DIR", "off") // always compile
	os.Exit(m.Run())
}

func newTarget(t *testing.T, x any) *target.Target {
	t.Helper()
	return must.Get(target.New(x))(t)
}

// fastCase is a tensor with its inputs and the tolerance of the result.
type fastCase struct {
	name string
	ins  []*te.Tensor
	out  *te.Tensor
	near float64
	slow bool // expects the default schedule
}

var machines = []cpu.SIMD{cpu.NewSIMD(64, 32), cpu.NewSIMD(32, 16), cpu.NewSIMD(16, 32), cpu.NewSIMD(16, 16)}

// TestFast_LikeUnscheduled compares schedules for vectors and threads with serial loops: once with the interpreter,
// which finds every index out of bounds, and once compiled. Sizes are random; those near tile sizes and tiny ones are
// more frequent.
func TestFast_LikeUnscheduled(t *testing.T) {
	seed := testseed.Of(t)
	r := rand.New(rand.NewPCG(seed, 0))
	near := func(n int) int { return max(1, n+r.IntN(5)-2) }
	odd := func() int {
		return []int{1, 2, 3, 13, 14, 16, 17, 28, 29, 31, 32, 33, near(14), near(28), near(32), near(64),
			1 + r.IntN(70)}[r.IntN(17)]
	}
	var cases []fastCase
	for _, typ := range []tir.Type{tir.Float32, tir.Float32, tir.Float64, tir.Int32} {
		for k := range 4 {
			cases = append(cases, matmulCase(typ, odd(), odd(), near(24), k, 1+r.IntN(3)))
		}
		cases = append(cases, matmulCase(typ, near(40), near(40), near(40), 0, 1))
	}
	cases = append(cases, matmulCase(tir.Float32, 0, 5, 9, 0, 1), matmulCase(tir.Float32, 5, 9, 0, 0, 1),
		matmulCase(tir.Float32, 40, 1, 300, 0, 1),
		matmulCase(tir.Float32, 1, 40, 300, 0, 1))
	for rows := 1; rows <= cpu.ThinRows; rows += 1 + r.IntN(3) {
		typ := []tir.Type{tir.Float32, tir.Float64, tir.Int32}[r.IntN(3)]
		thin := matmulCase(typ, rows, near(260), near(40), r.IntN(2), 1+r.IntN(3))
		thin.slow = false
		cases = append(cases, thin)
	}
	for k := range 10 {
		cases = append(cases, convCase(r, k))
	}
	for _, n := range []int{1, 7, 31, 32, 63, 64, 65, 128, 130, 131, near(200), near(300)} {
		rows := 1 + r.IntN(7)
		x := holder(tir.Float32, "X", rows, n)
		cases = append(cases, fastCase{fmt.Sprintf("softmax %d×%d", rows, n), []*te.Tensor{x}, ops.Softmax(x, "S"),
			1e-5, n < 128})
		x = holder(tir.Float32, "X", 2, rows, n)
		g, b := holder(tir.Float32, "G", n), holder(tir.Float32, "B", n)
		cases = append(cases, fastCase{fmt.Sprintf("layernorm 2×%d×%d", rows, n), []*te.Tensor{x, g, b},
			ops.LayerNorm(x, g, b, "N", 1, 1e-5), 1e-4, n < 128})
	}
	for _, n := range []int{64, 130, near(300)} {
		x, y := holder(tir.Float32, "X", 2, 3, n), holder(tir.Float32, "Y", n, 1)
		cases = append(cases, fastCase{fmt.Sprintf("sums of %d", n), []*te.Tensor{x}, ops.Sum(x, "S", []int{2}, false),
			0, false},
			fastCase{fmt.Sprintf("greatest of %d and relu", n), []*te.Tensor{x}, ops.Relu(ops.Max(x, "S", []int{-1}, true), "R"),
				0, false},
			fastCase{fmt.Sprintf("matrix of %d and vector", n), []*te.Tensor{x, y}, ops.Matmul(x, y, "M"), 0, false},
			fastCase{fmt.Sprintf("sums of columns of %d", n), []*te.Tensor{x}, ops.Sum(x, "S", []int{0}, false), 0, true})
	}
	x := holder(tir.Float32, "X", 200)
	cases = append(cases, fastCase{"softmax 200", []*te.Tensor{x}, ops.Softmax(x, "S"), 1e-5, false})
	for _, typ := range []tir.Type{tir.Float16, tir.BFloat16} {
		near := map[tir.Type]float64{tir.Float16: 2e-3, tir.BFloat16: 2e-2}[typ]
		x = holder(typ, "X", 3, 150)
		cases = append(cases, fastCase{fmt.Sprintf("softmax of %s", typ), []*te.Tensor{x}, ops.Softmax(x, "S"), near, false})
		x, w := holder(typ, "X", 1, 16, 14, 15), holder(typ, "W", 24, 16, 3, 3)
		cases = append(cases, fastCase{fmt.Sprintf("conv of %s", typ), []*te.Tensor{x, w}, ops.Conv2D(x, w, "C", 1, 1),
			near, false})
	}
	bytes, weights := holder(tir.Int8, "X", 1, 16, 14, 15), holder(tir.Int8, "W", 24, 16, 3, 3)
	cases = append(cases, fastCase{"conv of int8 in int32", []*te.Tensor{bytes, weights},
		ops.Conv2D(bytes, weights, "C", 1, 0, ops.ConvAccumulateIn(tir.Int32)), 0, false})
	x = holder(tir.Float32, "X", 3, 150)
	cases = append(cases, fastCase{"logsoftmax and relu", []*te.Tensor{x}, ops.Relu(ops.LogSoftmax(x, "S"), "R"),
		1e-5, false})
	likeUnscheduled(t, seed, cases)
}

// likeUnscheduled compares the schedules of cases with serial loops.
func likeUnscheduled(t *testing.T, seed uint64, cases []fastCase) {
	r := rand.New(rand.NewPCG(seed, 1<<32))
	var funcs []*tir.PrimFunc
	inputs := make([][]any, len(cases))
	want := make([][]float64, len(cases))
	for i, c := range cases {
		require.NoError(t, c.out.Err(), c.name)
		plain := must.Get(te.NewSchedule(c.out))(t)
		want[i], inputs[i] = c.interpret(t, plain, rand.New(rand.NewPCG(seed, uint64(i))))
		v := machines[r.IntN(len(machines))]
		s, fast := c.schedule(t, v)
		if !c.slow {
			require.True(t, fast, "%s: %v", c.name, v)
		}
		got, _ := c.interpret(t, s, rand.New(rand.NewPCG(seed, uint64(i))))
		c.compare(t, v, want[i], got)
		funcs = append(funcs, c.lower(t, s, fmt.Sprintf("f%d", i)).Funcs...)
	}
	m := must.Get(tir.NewModule(funcs...))(t)
	built := must.Open(codegen.Build(m, newTarget(t, "c -march=native")))(t)
	for i, c := range cases {
		f := must.Get(built.Function(fmt.Sprintf("f%d", i)))(t)
		var args []any
		for _, a := range inputs[i] {
			args = append(args, tensorOfArray(t, a.(*tirrun.Array)))
		}
		_, err := f.Call(args...)
		require.NoError(t, err, c.name)
		c.compare(t, cpu.SIMD{}, want[i], valuesOf(t, args[len(args)-1].(*runtime.Tensor),
			inputs[i][len(args)-1].(*tirrun.Array)))
		f.Close()
	}
}

func holder(t tir.Type, name string, sizes ...int) *te.Tensor {
	shape := make([]tir.Expr, len(sizes))
	for i, n := range sizes {
		shape[i] = tir.I32(int32(n))
	}
	return te.Placeholder(shape, t, name)
}

// matmulCase is a matrix product; the bits of kind select transposed operands, and batches with a bias.
func matmulCase(typ tir.Type, n, m, k, kind, batch int) fastCase {
	a, b := []int{n, k}, []int{k, m}
	var options []ops.MatmulOption
	if kind&1 != 0 {
		a, options = []int{k, n}, append(options, ops.TransposeX())
	}
	if kind&2 != 0 {
		b, options = []int{m, k}, append(options, ops.TransposeY())
	}
	if batch > 1 {
		a = append([]int{batch}, a...)
	}
	x, y := holder(typ, "X", a...), holder(typ, "Y", b...)
	out, ins := ops.Matmul(x, y, "M", options...), []*te.Tensor{x, y}
	if batch > 1 {
		bias := holder(typ, "bias", m)
		out, ins = ops.Relu(ops.Add(out, bias, "A"), "R"), append(ins, bias)
	}
	small := n < 2 || k < 2 || n*m*k < cpu.PackFrom || m < 8
	return fastCase{fmt.Sprintf("%s matmul %v·%v", typ, a, b), ins, out, 0, small}
}

// convCase is a convolution with random sizes.
func convCase(r *rand.Rand, kind int) fastCase {
	pick := func(n ...int) int { return n[r.IntN(len(n))] }
	batch, c, o, size, kernel := pick(1, 2), pick(3, 16, 17), pick(8, 16, 33, 40), pick(5, 9, 14, 15, 20), pick(1, 3, 5)
	stride, padding := pick(1, 2), pick(0, 1, 2)
	xs, ws := []int{batch, c, size, size + 1}, []int{o, c, kernel, kernel}
	var options []ops.ConvOption
	if kind%3 == 1 {
		xs, ws = []int{batch, size, size + 1, c}, []int{kernel, kernel, c, o}
		options = append(options, ops.Layout("NHWC"))
	}
	x, w, b := holder(tir.Float32, "X", xs...), holder(tir.Float32, "W", ws...), holder(tir.Float32, "B", o)
	ins := []*te.Tensor{x, w}
	if kind%2 == 1 {
		options, ins = append(options, ops.Bias(b)), append(ins, b)
	}
	if kind%4 == 2 && kernel == 3 {
		options = append(options, ops.Dilations(1, 2))
	}
	y := ops.Conv2D(x, w, "C", stride, padding, options...)
	if kind%5 == 3 {
		y = ops.Relu(y, "R")
	}
	return fastCase{fmt.Sprintf("conv of %v and %v, stride %d, padding %d", xs, ws, stride, padding), ins, y, 0, true}
}

// schedule applies the schedule for a machine; it returns false if that is the default schedule.
func (c *fastCase) schedule(t *testing.T, v cpu.SIMD) (*te.Schedule, bool) {
	s := must.Get(te.NewSchedule(c.out))(t)
	all := true
	for _, g := range schedule.Groups(s, []*te.Tensor{c.out}) {
		g.Target = newTarget(t, "c")
		if !cpu.ScheduleFor(g, v) {
			all = false
			require.NoError(t, s.Err(), c.name)
			_, err := cpu.Schedule(g)
			require.NoError(t, err, c.name)
		}
	}
	require.NoError(t, s.Err(), c.name)
	return s, all
}

func (c *fastCase) lower(t *testing.T, s *te.Schedule, name string) *tir.IRModule {
	t.Helper()
	var args []any
	for _, a := range append(append([]*te.Tensor{}, c.ins...), c.out) {
		args = append(args, a)
	}
	m, err := te.Lower(s, args, name)
	require.NoError(t, err, c.name)
	require.NoError(t, tir.Check(m), c.name)
	return m
}

// interpret runs a schedule on small integers, whose sums of products are the same in any order.
func (c *fastCase) interpret(t *testing.T, s *te.Schedule, r *rand.Rand) ([]float64, []any) {
	t.Helper()
	var given []any
	for _, x := range append(append([]*te.Tensor{}, c.ins...), c.out) {
		n, shape := 1, []int64{}
		for _, d := range x.ProducerShape() {
			n *= int(d.(*tir.IntImm).Value)
			shape = append(shape, d.(*tir.IntImm).Value)
		}
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(r.IntN(9) - 4)
		}
		a := must.Get(tirrun.From(x.ProducerDType(), v, shape...))(t)
		given = append(given, a)
	}
	require.NoError(t, tirrun.Run(c.lower(t, s, "f"), "f", given...), c.name)
	return must.Get(tirrun.Values[float64](given[len(given)-1].(*tirrun.Array)))(t), given
}

func (c *fastCase) compare(t *testing.T, v cpu.SIMD, want, got []float64) {
	t.Helper()
	require.Len(t, got, len(want), c.name)
	for i := range want {
		if d := math.Abs(got[i] - want[i]); !(d <= c.near*max(1, math.Abs(want[i]))) {
			require.Fail(t, "wrong", "%s, %v: element %d is %v: want %v", c.name, v, i, got[i], want[i])
		}
	}
}

func tensorOfArray(t *testing.T, a *tirrun.Array) *runtime.Tensor {
	t.Helper()
	x := must.Open(runtime.NewTensor(a.DType, a.Shape, runtime.CPU))(t)
	if len(a.Data) > 0 {
		require.NoError(t, x.CopyFromBytes(a.Data))
	}
	return x
}

// valuesOf returns the elements of a tensor with the type and shape of an array.
func valuesOf(t *testing.T, x *runtime.Tensor, like *tirrun.Array) []float64 {
	t.Helper()
	a := *like
	a.Data = make([]byte, len(like.Data))
	if len(a.Data) > 0 {
		require.NoError(t, x.CopyToBytes(a.Data))
	}
	return must.Get(tirrun.Values[float64](&a))(t)
}

// Rows of an operator with InverseDivisor are multiplied by the inverse of their divisor; others are divided.
func TestRows_InverseDivisor(t *testing.T) {
	for _, inverse := range []bool{true, false} {
		x := holder(tir.Float32, "X", 4, 256)
		out := ops.Softmax(x, "S")
		if !inverse {
			o := *ops.OperatorOf(out)
			o.InverseDivisor = false
			out = schedule.By(out, &o)
		}
		s := must.Get(ops.Schedule(newTarget(t, "c"), out))(t)
		m := must.Get(te.Lower(s, []any{x, out}, "f"))(t)
		require.Equal(t, inverse, strings.Contains(text.Print(m), "inverse"))
	}
}
