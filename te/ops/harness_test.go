//go:build cgo

package ops

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/spirvtest"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

func TestMain(m *testing.M) { spirvtest.Main(m) }

func placeholder(name string, sizes ...int32) *te.Tensor {
	return te.Placeholder(te.Dims(sizes...), tir.Float32, name)
}

// nd is an array of numbers with a shape, as references use it.
type nd struct {
	t     tir.Type
	shape []int
	v     []float64
}

func count(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// filled makes an array from a function of the position, rounded to the type.
func filled(t tir.Type, shape []int, f func(i int) float64) *nd {
	a := &nd{t, shape, make([]float64, count(shape))}
	for i := range a.v {
		a.v[i] = rounded16(t, f(i))
	}
	return a
}

// rounded16 rounds a value to a type.
func rounded16(t tir.Type, v float64) float64 {
	switch {
	case t == tir.Float32:
		return float64(float32(v))
	case t == tir.Float64:
		return v
	case t == tir.Bool:
		if v != 0 {
			return 1
		}
		return 0
	case tir.IsFloat(t) && !math.IsNaN(v) && !math.IsInf(v, 0):
		digits := map[tir.Type]int{tir.Float16: 11, tir.BFloat16: 8}[t]
		_, e := math.Frexp(v)
		unit := math.Ldexp(1, e-digits)
		if t == tir.Float16 {
			unit = math.Max(unit, math.Ldexp(1, -24))
		}
		if v = math.RoundToEven(v/unit) * unit; t == tir.Float16 && math.Abs(v) > 65504 {
			v = math.Inf(int(math.Copysign(1, v)))
		}
		return v
	case t == tir.Int64 && v >= 1<<63, t == tir.UInt64 && v >= 1<<64: // the greatest value, which float64 lacks
		return v
	case tir.IsInt(t):
		n := int64(v)
		if t == tir.UInt64 && v >= 1<<63 {
			n = int64(uint64(v))
		}
		return wrapped(t, n)
	}
	return v
}

// wrapped reduces an integer to the bits of a type.
func wrapped(t tir.Type, n int64) float64 {
	switch t {
	case tir.Int8:
		return float64(int8(n))
	case tir.Int16:
		return float64(int16(n))
	case tir.Int32:
		return float64(int32(n))
	case tir.UInt8:
		return float64(uint8(n))
	case tir.UInt16:
		return float64(uint16(n))
	case tir.UInt32:
		return float64(uint32(n))
	case tir.UInt64:
		return float64(uint64(n))
	}
	return float64(n)
}

// sample returns small numbers with exact sums, of both signs if the type has them.
func sample(t tir.Type, shape ...int) *nd {
	return filled(t, shape, func(i int) float64 {
		v := float64((i*7+3)%11) - 5
		switch {
		case t == tir.Bool:
			return float64((i*7 + 3) % 11 % 2)
		case tir.IsFloat(t):
			return v / 2
		case !tir.IsSigned(t):
			return v + 5
		}
		return v
	})
}

// at returns the element at indices.
func (a *nd) at(i ...int) float64 { return a.v[a.position(i)] }

func (a *nd) position(i []int) int {
	n := 0
	for d, x := range i {
		n = n*a.shape[d] + x
	}
	return n
}

// each computes a result for all indices of a shape.
func each(t tir.Type, shape []int, f func(i []int) float64) *nd {
	a := &nd{t, shape, make([]float64, count(shape))}
	for n := range a.v {
		i, rest := make([]int, len(shape)), n
		for d := len(shape) - 1; d >= 0; d-- {
			i[d], rest = rest%shape[d], rest/shape[d]
		}
		a.v[n] = f(i)
	}
	return a
}

// opCase is an operator with inputs and the expected result.
type opCase struct {
	name string
	ins  []*nd
	make func(x []*te.Tensor) *te.Tensor
	want *nd
	tol  float64 // tolerance, relative for values beyond 1; 0: exact
	wide int     // bit set of the inputs with sizes of type int64
}

func (c *opCase) placeholders() []*te.Tensor {
	var all []*te.Tensor
	for n, a := range c.ins {
		shape := dims(a.shape)
		for d, size := range a.shape {
			if c.wide>>n&1 != 0 {
				shape[d] = tir.I64(int64(size))
			}
		}
		all = append(all, te.Placeholder(shape, a.t, fmt.Sprintf("x%d", n)))
	}
	return all
}

func dims(shape []int) []tir.Expr {
	s := make([]int32, len(shape))
	for d, n := range shape {
		s[d] = int32(n)
	}
	return te.Dims(s...)
}

// lowered lowers the case to a function: with serial loops, with its schedule, or with its schedule for views.
func (c *opCase) lowered(t *testing.T, name string, scheduled, strided bool) *tir.PrimFunc {
	t.Helper()
	x := c.placeholders()
	out := c.make(x)
	require.NoError(t, out.Err(), c.name)
	require.Equal(t, c.want.t, out.ProducerDType(), c.name)
	require.Len(t, out.ProducerShape(), len(c.want.shape), c.name)
	for d, n := range out.ProducerShape() {
		require.True(t, isConst(n, int64(c.want.shape[d])), "%s: dimension %d is %s, want %d", c.name, d, text.Print(n),
			c.want.shape[d])
	}
	s, err := te.NewSchedule(out)
	require.NoError(t, err, c.name)
	if scheduled {
		s, err = Schedule(newTarget(t, "c"), out)
		require.NoError(t, err, c.name)
	}
	var args []any
	for _, x := range append(x, out) {
		if strided {
			args = append(args, te.Strided(x))
		} else {
			args = append(args, x)
		}
	}
	m, err := te.Lower(s, args, name)
	require.NoError(t, err, c.name)
	require.NoError(t, tir.Check(m), c.name)
	return m.Funcs[0]
}

// memory returns the bytes of an argument, and its strides and offset in elements: compact, or every second element in
// another order at an offset.
func memory(t *testing.T, a *nd, view bool) *tirrun.Array {
	t.Helper()
	shape := make([]int64, len(a.shape))
	for d, n := range a.shape {
		shape[d] = int64(n)
	}
	compact := must.Get(tirrun.From(a.t, a.v, shape...))(t)
	if !view || a.t.Bits < 8 {
		return compact
	}
	const offset = 3
	strides, step := make([]int64, len(shape)), int64(2)
	for d := range shape { // the first dimension is the contiguous one
		strides[d] = step
		step *= max(shape[d], 1)
	}
	size := int(a.t.Bits) / 8
	out := &tirrun.Array{DType: a.t, Shape: shape, Strides: strides, Offset: offset,
		Data: make([]byte, (int(step)+offset+1)*size)}
	for n := range a.v {
		rest, at := n, int64(offset)
		for d := len(shape) - 1; d >= 0; d-- {
			at += int64(rest) % shape[d] * strides[d]
			rest /= int(shape[d])
		}
		copy(out.Data[int(at)*size:], compact.Data[n*size:][:size])
	}
	return out
}

// check compares a result.
func (c *opCase) check(t *testing.T, how string, got *tirrun.Array) {
	t.Helper()
	v := must.Get(tirrun.Values[float64](got))(t)
	require.Len(t, v, len(c.want.v), "%s, %s", c.name, how)
	for i, want := range c.want.v {
		same := v[i] == want && (!isSmall(c.want.t) || math.Signbit(v[i]) == math.Signbit(want)) ||
			v[i] != v[i] && want != want
		if !same && c.tol > 0 {
			same = math.Abs(v[i]-want) <= c.tol*math.Max(1, math.Abs(want))
		}
		if !same {
			require.Failf(t, "wrong number", "%s, %s: element %d is %v, want %v\ngot  %v\nwant %v", c.name, how, i,
				v[i], want, clipped(v), clipped(c.want.v))
		}
	}
}

func clipped(v []float64) []float64 { return v[:min(len(v), 40)] }

// runCases computes each case with the interpreter, with sizes of one of three types, and two of three cases with
// compiled C, in one library: one with compact tensors, and one with views. If everyCase is set, all cases run with all
// types, and in C with compact tensors and with views.
func runCases(t *testing.T, cases []opCase) {
	t.Helper()
	type built struct {
		c    *opCase
		view bool
		f    *tir.PrimFunc
	}
	var all []built
	var funcs []*tir.PrimFunc
	for n := range cases {
		c := &cases[n]
		// the interpreter, with serial loops; sizes of type int64 in no input, in the first, and in the others
		wides := []int{0, 1, 6}
		if os.Getenv(everyCase) == "" {
			wides = wides[n%3 : n%3+1]
		}
		for _, c.wide = range wides {
			plain := c.lowered(t, "plain", false, false)
			var args []any
			for _, a := range c.ins {
				args = append(args, memory(t, a, false))
			}
			out := memory(t, &nd{c.want.t, c.want.shape, make([]float64, len(c.want.v))}, false)
			m := must.Get(tir.NewModule(plain))(t)
			require.NoError(t, tirrun.Run(m, "plain", append(slices.Clone(args), out)...), c.name)
			c.check(t, fmt.Sprintf("interpreted, %d", c.wide), out)
		}
		c.wide = 0
		for _, view := range []bool{false, true} {
			compiled := n%3 == 0 && !view || n%3 == 1 && view // compiling takes most of the time
			if !compiled && len(cases) > 1 && os.Getenv(everyCase) == "" {
				continue
			}
			b := built{c, view, c.lowered(t, fmt.Sprintf("f%d_%v", n, view), true, view)}
			all, funcs = append(all, b), append(funcs, b.f)
		}
	}
	m := must.Get(tir.NewModule(funcs...))(t)
	lib := must.Get(codegen.Build(m, newTarget(t, "c")))(t)
	defer lib.Close()
	for _, b := range all {
		f, err := lib.Function(b.f.Name)
		require.NoError(t, err, b.c.name)
		var args []any
		var arrays []*tirrun.Array
		var tensors []*runtime.Tensor
		for _, a := range append(slices.Clone(b.c.ins), &nd{b.c.want.t, b.c.want.shape, make([]float64, len(b.c.want.v))}) {
			array := memory(t, a, b.view)
			base, x := device(t, array)
			arrays, tensors, args = append(arrays, array), append(tensors, base), append(args, x)
		}
		_, err = f.Call(args...)
		require.NoError(t, err, b.c.name)
		f.Close()
		out := arrays[len(arrays)-1]
		if len(out.Data) > 0 {
			require.NoError(t, tensors[len(tensors)-1].CopyToBytes(out.Data))
		}
		b.c.check(t, fmt.Sprintf("in C, of views: %v", b.view), out)
		for i, x := range args {
			require.NoError(t, x.(*runtime.Tensor).Close())
			require.NoError(t, tensors[i].Close())
		}
	}
}

// device makes a tensor of the runtime from an array, with the memory that it is a view of.
func device(t *testing.T, a *tirrun.Array) (base, x *runtime.Tensor) {
	t.Helper()
	base = must.Get(runtime.NewTensor(dlpack.UInt8, []int64{int64(len(a.Data))}, runtime.CPU))(t)
	if len(a.Data) > 0 {
		require.NoError(t, base.CopyFromBytes(a.Data))
	}
	x = must.Get(base.View(a.DType, a.Shape, a.Strides, a.Offset*int64(a.DType.Bits)/8))(t)
	return base, x
}

var (
	floatTypes = []tir.Type{tir.Float16, tir.BFloat16, tir.Float32, tir.Float64}
	intTypes   = []tir.Type{tir.Int8, tir.Int16, tir.Int32, tir.Int64, tir.UInt8, tir.UInt16, tir.UInt32, tir.UInt64}
	allNumbers = append(slices.Clone(floatTypes), intTypes...)
)

// tolerance returns the accuracy of the functions of a type.
func tolerance(t tir.Type) float64 {
	switch t {
	case tir.Float16:
		return 1e-3
	case tir.BFloat16:
		return 8e-3
	case tir.Float32:
		return 2e-6
	case tir.Float64:
		return 1e-13
	}
	return 0
}
