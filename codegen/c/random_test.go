//go:build cgo

package c_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/tir"
)

var elementTypes = []tir.Type{tir.Bool, tir.Int8, tir.Int16, tir.Int32, tir.Int64, tir.UInt8, tir.UInt16, tir.UInt32,
	tir.UInt64,
	tir.Float16, tir.BFloat16, tir.Float32, tir.Float64}

const elements = 48

// program builds expressions that are defined, and whose float results are unique.
type program struct {
	*rand.Rand
	inputs []*tir.Buffer
	i      *tir.Var
	lanes  int
	lets   []*tir.Var
}

func (p *program) typ() tir.Type { return elementTypes[p.IntN(len(elementTypes))] }

// index returns the position at which a vector, or an element, is read.
func (p *program) index() tir.Expr {
	base := tir.Mul(p.i, tir.I32(int32(p.lanes)))
	if p.lanes == 1 {
		switch p.IntN(3) {
		case 0:
			return tir.FloorMod(tir.Add(base, tir.I32(int32(p.IntN(100)))), tir.I32(elements))
		case 1:
			return tir.Sub(tir.I32(elements-1), base)
		}
		return base
	}
	switch p.IntN(4) {
	case 0:
		return &tir.Ramp{Base: tir.I32(elements - 1), Stride: tir.I32(-1), Lanes: p.lanes}
	case 1:
		return tir.FloorMod(tir.Mul(&tir.Ramp{Base: base, Stride: tir.I32(3), Lanes: p.lanes}, tir.I32(5)), tir.I32(elements))
	}
	return &tir.Ramp{Base: base, Stride: tir.I32(1), Lanes: p.lanes}
}

// wide returns a type with the lanes of the program.
func (p *program) wide(t tir.Type) tir.Type { return tir.Vector(t, p.lanes) }

func (p *program) spread(e tir.Expr) tir.Expr {
	if p.lanes == 1 {
		return e
	}
	return &tir.Broadcast{Value: e, Lanes: p.lanes}
}

func (p *program) leaf(t tir.Type) tir.Expr {
	if p.IntN(4) == 0 {
		switch {
		case tir.IsBool(t):
			return p.spread(tir.BoolConst(p.IntN(2) == 0))
		case tir.IsFloat(t):
			return p.spread(tir.Const(t, []float64{0, 0.5, -1.25, 3, 1e-4, 100}[p.IntN(6)]))
		case tir.IsSigned(t):
			return p.spread(tir.IntConst(t, int64(p.IntN(17)-8)))
		}
		return p.spread(tir.IntConst(t, int64(p.IntN(9))))
	}
	for _, v := range p.lets {
		if v.Type == p.wide(t) && p.IntN(2) == 0 {
			return v
		}
	}
	for k, e := range elementTypes {
		if e == t {
			return tir.BufferAt(p.inputs[k], p.index())
		}
	}
	panic(t)
}

func (p *program) expr(t tir.Type, depth int) tir.Expr {
	if depth == 0 {
		return p.leaf(t)
	}
	sub := func() tir.Expr { return p.expr(t, depth-1) }
	switch p.IntN(9) {
	case 0:
		return p.leaf(t)
	case 1:
		return p.cast(t, depth-1)
	case 2:
		return tir.NewSelect(p.expr(tir.Bool, depth-1), sub(), sub())
	case 3:
		v := tir.NewVar("let", p.wide(t))
		value := sub()
		p.lets = append(p.lets, v)
		body := sub()
		p.lets = p.lets[:len(p.lets)-1]
		return &tir.Let{Var: v, Value: value, Body: body}
	case 4:
		if p.lanes == 1 {
			return tir.NewCall(tir.CallIntrinsic, t, "if_then_else", p.expr(tir.Bool, depth-1), sub(), sub())
		}
	}
	switch {
	case tir.IsBool(t):
		of := p.typ()
		if tir.IsBool(of) && p.IntN(2) == 0 {
			return tir.NewBinary(tir.OpEQ+tir.BinaryOp(p.IntN(2)), sub(), sub())
		}
		if tir.IsBool(of) {
			return [](func() tir.Expr){
				func() tir.Expr { return tir.And(sub(), sub()) }, func() tir.Expr { return tir.Or(sub(), sub()) },
				func() tir.Expr { return tir.NewNot(sub()) }}[p.IntN(3)]()
		}
		return tir.NewBinary(tir.OpEQ+tir.BinaryOp(p.IntN(6)), p.expr(of, depth-1), p.expr(of, depth-1))
	case tir.IsFloat(t):
		switch p.IntN(4) {
		case 0:
			return tir.Intrin([]string{"floor", "ceil", "trunc", "round", "nearbyint", "fabs"}[p.IntN(6)], sub())
		case 1:
			return tir.Intrin("sqrt", tir.Intrin("fabs", sub()))
		}
		return tir.NewBinary([]tir.BinaryOp{tir.OpAdd, tir.OpSub, tir.OpMul, tir.OpDiv, tir.OpMin, tir.OpMax, tir.OpMod,
			tir.OpFloorMod, tir.OpFloorDiv}[p.IntN(9)], sub(), sub())
	}
	switch p.IntN(6) {
	case 0:
		divisor := int64(p.IntN(5) + 2)
		if tir.IsSigned(t) && p.IntN(2) == 0 {
			divisor = -divisor
		}
		return tir.NewBinary([]tir.BinaryOp{tir.OpDiv, tir.OpMod, tir.OpFloorDiv, tir.OpFloorMod}[p.IntN(4)], sub(),
			p.spread(tir.IntConst(t, divisor)))
	case 1:
		return tir.Intrin([]string{"bitwise_and", "bitwise_or", "bitwise_xor"}[p.IntN(3)], sub(), sub())
	case 2:
		return tir.Intrin([]string{"bitwise_not", "popcount", "clz"}[p.IntN(3)], sub())
	case 3:
		return tir.Intrin([]string{"shift_left", "shift_right"}[p.IntN(2)], sub(),
			p.spread(tir.IntConst(t, int64(p.IntN(5)))))
	}
	return tir.NewBinary([]tir.BinaryOp{tir.OpAdd, tir.OpSub, tir.OpMul, tir.OpMin, tir.OpMax}[p.IntN(5)], sub(), sub())
}

func (p *program) cast(t tir.Type, depth int) tir.Expr {
	from := p.typ()
	e := p.expr(from, depth)
	return tir.NewCast(p.wide(t), e)
}

func (p *program) function(name string) *tir.PrimFunc {
	t := p.typ()
	out := tir.NewBuffer("out", t, tir.I32(elements))
	p.i, p.inputs, p.lanes = tir.NewVar("i", tir.Int32), nil, []int{1, 1, 2, 3, 4, 8, 16}[p.IntN(7)]
	for _, e := range elementTypes {
		p.inputs = append(p.inputs, tir.NewBuffer("in_"+e.String(), e, tir.I32(elements)))
	}
	var to tir.Expr = p.i
	if p.lanes > 1 {
		to = &tir.Ramp{Base: tir.Mul(p.i, tir.I32(int32(p.lanes))), Stride: tir.I32(1), Lanes: p.lanes}
	}
	kind := []tir.ForKind{tir.Serial, tir.Parallel, tir.Unrolled}[p.IntN(3)]
	body := loop(kind, p.i, tir.I32(int32(elements/p.lanes)), store(out, p.expr(t, 4), to))
	return tensors(name, body, append(p.inputs, out)...)
}

// Random programs compute what the interpreter computes.
func TestRandom_LikeInterpreter(t *testing.T) {
	const functions = 40
	seed := testseed.Of(t)
	p := &program{Rand: rand.New(rand.NewPCG(seed, seed))}
	var funcs []*tir.PrimFunc
	for k := range functions {
		funcs = append(funcs, p.function(fmt.Sprintf("f%d", k)))
	}
	m := module(t, funcs...)
	code := emit(t, c.Emitter{}, m)
	compile(t, "random", code, "-O0")
	l := loaded(t, c.Emitter{}, m)
	reference := must.Get(tirrun.Compile(m, tirrun.Options{}))(t)

	inputs := make([]*tirrun.Array, len(elementTypes))
	for k, e := range elementTypes {
		values := make([]float64, elements)
		for i := range values {
			values[i] = float64(p.IntN(41) - 20)
			if tir.IsFloat(e) {
				values[i] += p.Float64()
			} else if !tir.IsSigned(e) {
				values[i] = math.Abs(values[i])
			}
		}
		inputs[k] = must.Get(tirrun.From(e, values, elements))(t)
	}
	for _, f := range funcs {
		out := f.Buffers[f.Params[len(f.Params)-1]].DType
		want := must.Get(tirrun.New(out, elements))(t)
		got := modules.Empty(t, out, elements)
		args := []any{}
		tensors := []any{}
		for k, in := range inputs {
			x := modules.Empty(t, elementTypes[k], elements)
			require.NoError(t, x.CopyFromBytes(in.Data))
			args, tensors = append(args, in), append(tensors, x)
		}
		must.Get(reference.Call(f.Name, append(args, want)...))(t)
		must.Get(modules.Call(t, l, f.Name, append(tensors, got)...))(t)
		same(t, want, got, f.Name)
	}
}

// same compares elements; all NaNs are equal.
func same(t *testing.T, want *tirrun.Array, got *runtime.Tensor, name string) {
	t.Helper()
	b := make([]byte, len(want.Data))
	require.NoError(t, got.CopyToBytes(b))
	x := must.Get(tirrun.Values[float64](want))(t)
	y := must.Get(tirrun.Values[float64](&tirrun.Array{DType: want.DType, Shape: want.Shape, Data: b}))(t)
	for i := range x {
		if math.IsNaN(x[i]) && math.IsNaN(y[i]) {
			continue
		}
		if !tir.IsFloat(want.DType) {
			size := len(b) / len(x)
			require.Equal(t, want.Data[i*size:(i+1)*size], b[i*size:(i+1)*size], "%s: element %d: %v, want %v", name, i, y[i],
				x[i])
		}
		require.Equal(t, x[i], y[i], "%s: element %d", name, i)
	}
}
