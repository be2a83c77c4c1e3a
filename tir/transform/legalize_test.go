package transform_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

func narrow(code uint8, bits int) tir.Type { return tir.Type{Code: code, Bits: uint8(bits), Lanes: 1} }

var (
	int4, uint4 = narrow(dlpack.CodeInt, 4), narrow(dlpack.CodeUInt, 4)
	int2, uint2 = narrow(dlpack.CodeInt, 2), narrow(dlpack.CodeUInt, 2)
	int1, uint1 = narrow(dlpack.CodeInt, 1), narrow(dlpack.CodeUInt, 1)

	narrowTypes = []tir.Type{int4, uint4, int2, uint2, int1, uint1, narrow(dlpack.CodeFloat8E3M4, 8),
		narrow(dlpack.CodeFloat8E4M3, 8), narrow(dlpack.CodeFloat8E4M3B11FNUZ, 8),
		narrow(dlpack.CodeFloat8E4M3FN, 8), narrow(dlpack.CodeFloat8E4M3FNUZ, 8), narrow(dlpack.CodeFloat8E5M2, 8),
		narrow(dlpack.CodeFloat8E5M2FNUZ, 8),
		narrow(dlpack.CodeFloat8E8M0FNU, 8), narrow(dlpack.CodeFloat6E2M3FN, 6), narrow(dlpack.CodeFloat6E3M2FN, 6),
		narrow(dlpack.CodeFloat4E2M1FN, 4)}
	wideTypes = []tir.Type{tir.Bool, tir.Int8, tir.Int32, tir.Int64, tir.UInt64, tir.Float16, tir.BFloat16,
		tir.Float32, tir.Float64}
)

const narrowElements = 12

// narrowProgram builds expressions of narrow types that are defined and have a single correct result.
type narrowProgram struct {
	*rand.Rand
	inputs map[tir.Type]*tir.Buffer
	i      *tir.Var
	lanes  int
	lets   []*tir.Var
	short  bool // programs that a C compiler compiles quickly
}

func (p *narrowProgram) typ() tir.Type {
	if p.IntN(4) == 0 {
		return wideTypes[p.IntN(len(wideTypes))]
	}
	return narrowTypes[p.IntN(len(narrowTypes))]
}

func (p *narrowProgram) spread(e tir.Expr) tir.Expr {
	if p.lanes == 1 {
		return e
	}
	return &tir.Broadcast{Value: e, Lanes: p.lanes}
}

func (p *narrowProgram) index() tir.Expr {
	if p.lanes == 1 {
		return tir.FloorMod(tir.Add(p.i, tir.I32(int32(p.IntN(20)))), tir.I32(narrowElements))
	}
	stride := []int32{1, 1, 2, -1}[p.IntN(4)]
	base := tir.Expr(tir.Mul(p.i, tir.I32(int32(p.lanes))))
	if stride != 1 {
		base = tir.I32(map[int32]int32{2: 1, -1: narrowElements - 1}[stride])
	}
	return &tir.Ramp{Base: base, Stride: tir.I32(stride), Lanes: p.lanes}
}

func (p *narrowProgram) leaf(t tir.Type) tir.Expr {
	if p.IntN(5) == 0 {
		switch {
		case tir.IsBool(t):
			return p.spread(tir.BoolConst(p.IntN(2) == 0))
		case t.Code == dlpack.CodeFloat8E8M0FNU:
			return p.spread(tir.Const(t, []float64{0.25, 1, 8}[p.IntN(3)]))
		case tir.IsFloat(t):
			return p.spread(tir.Const(t, []float64{0, 0.5, -1.5, 3}[p.IntN(4)]))
		}
		return p.spread(&tir.IntImm{Type: t, Value: 0})
	}
	for _, v := range p.lets {
		if v.Type == tir.Vector(t, p.lanes) && p.IntN(2) == 0 {
			return v
		}
	}
	return tir.BufferAt(p.inputs[t], p.index())
}

func (p *narrowProgram) expr(t tir.Type, depth int) tir.Expr {
	if depth == 0 {
		return p.leaf(t)
	}
	sub := func() tir.Expr { return p.expr(t, depth-1) }
	switch p.IntN(9) {
	case 0:
		return p.leaf(t)
	case 1:
		from := p.typ()
		e := p.expr(from, depth-1)
		if tir.IsFloat(from) && tir.IsInt(t) { // undefined for values out of range and for NaN
			if from.Code == dlpack.CodeFloat8E8M0FNU {
				return p.leaf(t)
			}
			least, most := 0.0, 1.0
			if tir.IsSigned(t) {
				least, most = -1, 0
			}
			e = tir.NewSelect(tir.EQ(e, e), tir.Max(tir.Min(e, p.spread(tir.Const(from, most))),
				p.spread(tir.Const(from, least))), p.spread(tir.Const(from, 0)))
		}
		return tir.NewCast(tir.Vector(t, p.lanes), e)
	case 2:
		return tir.NewSelect(p.expr(tir.Bool, depth-1), sub(), sub())
	case 3:
		v := tir.NewVar("let", tir.Vector(t, p.lanes))
		value := sub()
		p.lets = append(p.lets, v)
		body := sub()
		p.lets = p.lets[:len(p.lets)-1]
		return &tir.Let{Var: v, Value: value, Body: body}
	case 4:
		if p.lanes == 1 {
			return tir.NewCall(tir.CallIntrinsic, t, "if_then_else", p.expr(tir.Bool, depth-1), sub(), sub())
		}
	case 5:
		if t.Bits == 8 && tir.IsFloat(t) && p.lanes == 1 { // reinterpreted bits may be NaN
			return tir.NewCall(tir.CallIntrinsic, t, "reinterpret", tir.NewCall(tir.CallIntrinsic, tir.UInt8,
				"reinterpret", sub()))
		}
	}
	if tir.IsBool(t) {
		of := p.typ()
		if tir.IsBool(of) {
			return tir.And(sub(), tir.NewNot(sub()))
		}
		if tir.IsFloat(of) && p.IntN(3) == 0 {
			return tir.Intrin([]string{"isnan", "isinf", "isfinite"}[p.IntN(3)], p.expr(of, depth-1))
		}
		return tir.NewBinary(tir.OpEQ+tir.BinaryOp(p.IntN(6)), p.expr(of, depth-1), p.expr(of, depth-1))
	}
	if tir.IsFloat(t) {
		switch p.IntN(5) {
		case 0:
			return tir.Intrin([]string{"floor", "ceil", "trunc", "fabs", "nearbyint"}[p.IntN(5)], sub())
		case 1:
			return tir.Intrin("sqrt", tir.Intrin("fabs", sub()))
		case 2:
			if !transform.IsLegal(t) {
				return tir.Intrin("fma", sub(), sub(), sub())
			}
		}
		return tir.NewBinary([]tir.BinaryOp{tir.OpAdd, tir.OpSub, tir.OpMul, tir.OpDiv, tir.OpMin, tir.OpMax,
			tir.OpFloorDiv, tir.OpMod, tir.OpFloorMod}[p.IntN(9)], sub(), sub())
	}
	if transform.IsLegal(t) { // overflow is undefined
		return tir.NewBinary([]tir.BinaryOp{tir.OpMin, tir.OpMax}[p.IntN(2)], sub(), sub())
	}
	switch p.IntN(5) {
	case 0:
		if t.Bits == 4 {
			return tir.NewBinary([]tir.BinaryOp{tir.OpDiv, tir.OpMod, tir.OpFloorDiv, tir.OpFloorMod}[p.IntN(4)],
				sub(), p.spread(&tir.IntImm{Type: t, Value: int64(2 + p.IntN(4))}))
		}
	case 1:
		return tir.Intrin([]string{"bitwise_and", "bitwise_or", "bitwise_xor"}[p.IntN(3)], sub(), sub())
	case 2:
		return tir.Intrin([]string{"bitwise_not", "popcount", "clz", "abs"}[p.IntN(4)], sub())
	case 3:
		if t.Bits == 4 {
			return tir.Intrin([]string{"shift_left", "shift_right"}[p.IntN(2)], sub(),
				p.spread(&tir.IntImm{Type: t, Value: int64(p.IntN(4))}))
		}
	}
	return tir.NewBinary([]tir.BinaryOp{tir.OpAdd, tir.OpSub, tir.OpMul, tir.OpMin, tir.OpMax}[p.IntN(5)], sub(), sub())
}

// function computes a value from all inputs, through allocated memory, and stores the elements in an order of its own.
func (p *narrowProgram) function(name string) *tir.PrimFunc {
	t := p.typ()
	p.i, p.lanes, p.inputs, p.lets = tir.NewVar("i", tir.Int32), []int{1, 1, 1, 2, 4}[p.IntN(5)],
		map[tir.Type]*tir.Buffer{}, nil
	f := &tir.PrimFunc{Name: name, Buffers: map[*tir.Var]*tir.Buffer{}, Result: tir.Void}
	param := func(b *tir.Buffer) {
		v := tir.NewVar(b.Name+"_tensor", tir.Handle)
		f.Params, f.Buffers[v] = append(f.Params, v), b
	}
	for _, e := range append(append([]tir.Type{}, narrowTypes...), wideTypes...) {
		b := tir.NewBuffer("in_"+e.String(), e, tir.I32(narrowElements))
		p.inputs[e] = b
		param(b)
	}
	out := tir.NewBuffer("out", t, tir.I32(narrowElements/4), tir.I32(4))
	param(out)
	tmp := tir.NewBuffer("tmp", t, tir.I32(narrowElements))
	j := tir.NewVar("j", tir.Int32)
	var at tir.Expr = p.i
	if p.lanes > 1 {
		at = &tir.Ramp{Base: tir.Mul(p.i, tir.I32(int32(p.lanes))), Stride: tir.I32(1), Lanes: p.lanes}
	}
	kind, depth := []tir.ForKind{tir.Serial, tir.Parallel, tir.Unrolled}, 3
	if p.short {
		kind[2], depth = tir.Serial, 2
	}
	if t.Bits < 8 && t != uint1 { // elements share bytes
		kind[1] = tir.Serial
	}
	compute := &tir.For{Kind: kind[p.IntN(3)], Var: p.i, Min: tir.I32(0),
		Extent: tir.I32(int32(narrowElements / p.lanes)),
		Body:   &tir.BufferStore{Buffer: tmp, Value: p.expr(t, depth), Indices: []tir.Expr{at}}}
	copied := &tir.For{Kind: kind[p.IntN(3)], Var: j, Min: tir.I32(0), Extent: tir.I32(narrowElements),
		Body: &tir.BufferStore{Buffer: out, Value: tir.BufferAt(tmp, tir.Sub(tir.I32(narrowElements-1), j)),
			Indices: []tir.Expr{tir.FloorMod(j, tir.I32(3)), tir.FloorDiv(j, tir.I32(3))}}}
	f.Body = &tir.Alloc{Buffer: tmp, Body: tir.Sequence(compute, copied)}
	if p.lanes > 1 && p.IntN(2) == 0 { // vectors in memory of the caller
		k := tir.NewVar("k", tir.Int32)
		f.Body = tir.Sequence(f.Body, &tir.For{Var: k, Min: tir.I32(0), Extent: tir.I32(narrowElements / 4),
			Body: &tir.BufferStore{Buffer: out,
				Value:   tir.BufferAt(out, k, &tir.Ramp{Base: tir.I32(3), Stride: tir.I32(-1), Lanes: 4}),
				Indices: []tir.Expr{k, &tir.Ramp{Base: tir.I32(0), Stride: tir.I32(1), Lanes: 4}}}})
	}
	return f
}

// narrowArguments returns random codes of the types.
func narrowArguments(t testing.TB, f *tir.PrimFunc, r *rand.Rand) []any {
	var args []any
	for _, v := range f.Params {
		b := f.Buffers[v]
		shape := make([]int64, len(b.Shape))
		for d, n := range b.Shape {
			shape[d] = n.(*tir.IntImm).Value
		}
		a := must.Get(tirrun.New(b.DType, shape...))(t)
		if b.Name != "out" && transform.IsLegal(b.DType) {
			values := make([]float64, narrowElements)
			for i := range values {
				values[i] = float64(r.IntN(25) - 12)
				if tir.IsFloat(b.DType) {
					values[i] *= math.Ldexp(r.Float64(), r.IntN(24)-12)
				}
				if tir.IsBool(b.DType) {
					values[i] = float64(r.IntN(2))
				}
			}
			a = must.Get(tirrun.From(b.DType, values, narrowElements))(t)
		} else {
			for i := range a.Data {
				a.Data[i] = byte(r.Uint32())
				if b.DType == uint1 {
					a.Data[i] &= 1
				}
			}
		}
		args = append(args, a)
	}
	return args
}

func cloned(args []any) (out []any) {
	for _, a := range args {
		c := *a.(*tirrun.Array)
		c.Data = append([]byte{}, c.Data...)
		out = append(out, &c)
	}
	return out
}

// sameNumbers compares arrays by their values; all NaNs are equal.
func sameNumbers(t *testing.T, want, got *tirrun.Array, about func() string) {
	t.Helper()
	x := must.Get(tirrun.Values[float64](want))(t)
	y := must.Get(tirrun.Values[float64](got))(t)
	for i := range x {
		if math.IsNaN(x[i]) && math.IsNaN(y[i]) || math.Float64bits(x[i]) == math.Float64bits(y[i]) {
			continue
		}
		require.Fail(t, "values differ", "element %d is %v, want %v\n%s", i, y[i], x[i], about())
	}
}

// Legalized programs compute what the interpreter computes for the narrow types.
func TestLegalizeTypes_Random(t *testing.T) {
	programs := 1500
	if testing.Short() {
		programs = 200
	}
	seed := testseed.Of(t)
	for k := range programs {
		p := &narrowProgram{Rand: rand.New(rand.NewPCG(seed, uint64(k)))}
		f := p.function(fmt.Sprintf("f%d", k))
		g := oneFunc(t, transform.LegalizeTypes, f)
		tir.Walk(g, func(node any) bool {
			if e, ok := node.(tir.Expr); ok {
				require.True(t, transform.IsLegal(e.DType()), "%s", e.DType())
			}
			return true
		})
		args := narrowArguments(t, f, p.Rand)
		again := cloned(args)
		for _, run := range []struct {
			f    *tir.PrimFunc
			args []any
		}{{f, args}, {g, again}} {
			c, err := tirrun.Compile(&tir.IRModule{Funcs: []*tir.PrimFunc{run.f}}, tirrun.Options{Seed: uint64(k)})
			require.NoError(t, err, text.Print(run.f))
			_, err = c.Call(f.Name, run.args...)
			require.NoError(t, err, text.Print(run.f))
		}
		last := len(args) - 1
		sameNumbers(t, args[last].(*tirrun.Array), again[last].(*tirrun.Array),
			func() string { return text.Print(f) + "\n" + text.Print(g) })
	}
}

// Every code of every narrow type can be stored and loaded, and values at and around the middle between two codes are
// rounded as the format specifies.
func TestLegalizeTypes_AllValues(t *testing.T) {
	for _, nt := range narrowTypes {
		if !tir.IsFloat(nt) {
			continue
		}
		for _, from := range []tir.Type{tir.Float32, tir.Float64, tir.Float16, tir.BFloat16} {
			codes := must.Get(tirrun.New(nt, 1<<nt.Bits))(t)
			for c := range 1 << nt.Bits {
				for b := range int(nt.Bits) {
					if c>>b&1 != 0 {
						codes.Data[(c*int(nt.Bits)+b)/8] |= 1 << ((c*int(nt.Bits) + b) % 8)
					}
				}
			}
			exact := must.Get(tirrun.Values[float64](codes))(t)
			values := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e-300, -1e-300,
				1e300, -1e300, math.MaxFloat32, 0x1p-149, 0x1p-127, 0x1p127}
			for _, x := range exact {
				for _, y := range exact {
					if next := math.Nextafter(x, y); math.Abs(x-y) > 0 && math.Abs(x-y) <= math.Abs(x)+1 {
						mid := (x + y) / 2
						values = append(values, mid, math.Nextafter(mid, 1e9),
							float64(math.Nextafter32(float32(mid), -1e9)), next)
					}
				}
			}
			n := int64(len(values))
			in, out := tir.NewBuffer("in", from, tir.I64(n)), tir.NewBuffer("out", nt, tir.I64(n))
			x, y, i := tir.NewVar("x", tir.Handle), tir.NewVar("y", tir.Handle), tir.NewVar("i", tir.Int64)
			f := &tir.PrimFunc{Name: "f", Params: []*tir.Var{x, y}, Buffers: map[*tir.Var]*tir.Buffer{x: in, y: out},
				Result: tir.Void,
				Body: &tir.For{Var: i, Min: tir.I64(0), Extent: tir.I64(n),
					Body: &tir.BufferStore{Buffer: out, Value: tir.NewCast(nt, tir.BufferAt(in, i)),
						Indices: []tir.Expr{i}}}}
			a := must.Get(tirrun.From(from, values, n))(t)
			var results []*tirrun.Array
			for _, g := range []*tir.PrimFunc{f, oneFunc(t, transform.LegalizeTypes, f)} {
				c := must.Get(tirrun.Compile(&tir.IRModule{Funcs: []*tir.PrimFunc{g}}, tirrun.Options{}))(t)
				b := must.Get(tirrun.New(nt, n))(t)
				must.Get(c.Call("f", a, b))(t)
				results = append(results, b)
			}
			sameNumbers(t, results[0], results[1], func() string { return nt.String() + " from " + from.String() })
		}
	}
}
