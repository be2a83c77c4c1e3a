package tir_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirnodes"
	. "tvmgo/tir"
	"tvmgo/tir/compare"
)

// everyType is one of each sort of type, for tables over pairs.
var everyType = []Type{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float16, BFloat16, Float32, Float64,
	dlpack.Float8E4M3FN,
	dlpack.Float8E5M2, Bool, Handle, Void, Vector(Int32, 4), Vector(Int64, 4), Vector(Float32, 4), Vector(Float32, 8),
	Vector(Bool, 4),
	{Code: dlpack.CodeComplex, Bits: 64, Lanes: 1}, {Code: dlpack.CodeInt, Bits: 24, Lanes: 1}, {Code: dlpack.CodeFloat,
		Bits: 32, Lanes: 2000}}

// strange are the types that no expression has.
func strange(t Type) bool { return t.Code == dlpack.CodeComplex || t.Bits == 24 || t.Lanes > 1024 }

// matched are the rules by which operands that are no constants get one type, written down on their own: one lane goes
// with many; of two ints of one signedness, or two floats of one code, the wider one is it.
func matched(x, y Type) (Type, bool) {
	if strange(x) || strange(y) || x == Void || y == Void {
		return Void, false
	}
	if x.Lanes != y.Lanes && x.Lanes != 1 && y.Lanes != 1 {
		return Void, false
	}
	lanes := max(x.Lanes, y.Lanes)
	x.Lanes, y.Lanes = lanes, lanes
	if x == y {
		return x, true
	}
	numbers := x.Code != dlpack.CodeBool && x.Code != dlpack.CodeHandle
	if x.Code != y.Code || !numbers {
		return Void, false
	}
	if x.Bits < y.Bits {
		return y, true
	}
	return x, true
}

// takes reports whether an operation takes operands of a type.
func takes(op BinaryOp, t Type) bool {
	switch {
	case op == OpAnd || op == OpOr:
		return t.Code == dlpack.CodeBool
	case op == OpEQ || op == OpNE:
		return t.Code != dlpack.CodeHandle || t.Lanes == 1
	}
	return t.Code != dlpack.CodeBool && t.Code != dlpack.CodeHandle
}

func TestNewBinary_AllPairs(t *testing.T) {
	made := 0
	for _, x := range everyType {
		for _, y := range everyType {
			for op := range NumBinaryOps {
				a, b := NewVar("a", x), NewVar("b", y)
				e := NewBinary(op, a, b)
				what := fmt.Sprintf("%s of %s and %s", op, TypeName(x), TypeName(y))
				want, ok := matched(x, y)
				if !ok || !takes(op, want) {
					require.IsType(t, &Bad{}, e, what)
					continue
				}
				made++
				require.IsType(t, &Binary{}, e, what)
				bin := e.(*Binary)
				require.Equal(t, []Type{want, want}, []Type{bin.A.DType(), bin.B.DType()}, what)
				require.Same(t, a, innermost(bin.A), what)
				require.Same(t, b, innermost(bin.B), what)
				if op >= OpEQ {
					want = Type{Code: dlpack.CodeBool, Bits: 8, Lanes: want.Lanes}
				}
				require.Equal(t, want, e.DType(), what)
				require.NoError(t, checkOver([]*Var{a, b}, e), what)
			}
		}
	}
	require.Greater(t, made, 500)
}

// innermost is what casts and broadcasts are of.
func innermost(e Expr) Expr {
	for {
		switch x := e.(type) {
		case *Cast:
			e = x.Value
		case *Broadcast:
			e = x.Value
		default:
			return e
		}
	}
}

// checkOver checks an expression of variables, which Let defines by calls: parameters are scalars.
func checkOver(vars []*Var, e Expr) error {
	for _, v := range vars {
		e = &Let{Var: v, Value: &Call{CallExtern, "f", v.Type, nil}, Body: e}
	}
	return CheckFunc(&PrimFunc{Name: "f", Result: Void, Body: &Evaluate{e}})
}

func TestNewSelect_AllPairs(t *testing.T) {
	for _, x := range everyType {
		for _, y := range everyType {
			for _, lanes := range []int{1, 4} {
				c, a, b := NewVar("c", Vector(Bool, lanes)), NewVar("a", x), NewVar("b", y)
				e := NewSelect(c, a, b)
				want, ok := matched(x, y)
				if ok && want.Lanes == 1 {
					want.Lanes = uint16(lanes)
				}
				if !ok || lanes == 4 && want.Lanes != 4 || want.Code == dlpack.CodeHandle && want.Lanes > 1 {
					require.IsType(t, &Bad{}, e, "%d %s %s", lanes, x, y)
					continue
				}
				require.Equal(t, want, e.DType(), "%d %s %s", lanes, x, y)
				require.NoError(t, checkOver([]*Var{c, a, b}, e))
			}
		}
	}
	require.IsType(t, &Bad{}, NewSelect(I32(1), I32(1), I32(1)))
}

func TestNewCast_AllPairs(t *testing.T) {
	for _, x := range everyType {
		for _, y := range everyType {
			v := NewVar("v", x)
			e := NewCast(y, v)
			want := y
			if y.Lanes == 1 {
				want.Lanes = x.Lanes
			}
			fits := want.Lanes == x.Lanes && !strange(x) && !strange(want) && x != Void && want != Void
			isInt64 := func(t Type) bool { return t == Int64 || t == UInt64 }
			if x == Handle || want.Code == dlpack.CodeHandle {
				fits = fits && want.Lanes == 1 && (x == want || isInt64(x) || isInt64(want))
			}
			if !fits {
				require.IsType(t, &Bad{}, e, "%s to %s", x, y)
				continue
			}
			require.Equal(t, want, e.DType(), "%s to %s", x, y)
			if x == want {
				require.Same(t, v, e)
			}
			require.NoError(t, checkOver([]*Var{v}, e), "%s to %s", x, y)
		}
	}
}

func TestConstants_TakeTheOthersType(t *testing.T) {
	v := func(t Type) Expr { return NewVar("v", t) }
	big := &IntImm{UInt64, -1}
	for _, c := range []struct {
		a, b Expr
		want Type // Void: Bad
	}{
		{v(Int8), I32(127), Int8},
		{v(Int8), I32(128), Int32},
		{v(Int8), I32(-128), Int8},
		{v(UInt8), I32(255), UInt8},
		{v(UInt8), I32(-1), Void},
		{v(UInt8), I32(256), Void},
		{I64(1), v(Int32), Int32},
		{I64(1 << 40), v(Int32), Int64},
		{v(UInt64), I64(math.MaxInt64), UInt64},
		{v(UInt64), I64(-1), Void},
		{v(Float32), I32(1), Float32},
		{v(Float32), I32(1 << 24), Float32},
		{v(Float32), I32(1<<24 + 1), Void},
		{v(Float16), I32(2048), Float16},
		{v(Float16), I32(2049), Void},
		{v(Float16), I32(65536), Void},
		{v(Float32), F64(0.1), Float32},
		{v(Float32), F64(1e300), Float64},
		{v(Float32), F64(math.Inf(1)), Float32},
		{v(Int32), F32(1), Void},
		{v(Bool), I32(1), Void},
		{v(Int32), BoolConst(true), Void},
		{v(Handle), I64(0), Void},
		{v(Vector(Int8, 4)), I32(1), Vector(Int8, 4)},
		{v(Int8), &Broadcast{I32(1), 4}, Vector(Int8, 4)},
		{v(Vector(Float32, 4)), I32(1), Vector(Float32, 4)},
		{v(Int8), big, Void},
		{v(Float64), big, Void},
		{v(Float64), &IntImm{UInt64, math.MinInt64}, Float64},
		{v(UInt64), big, UInt64},
		{I64(1), I32(1), Int64}, // of two constants the narrower becomes the wider
		{I32(1), I64(1), Int64},
		{F64(1), F32(1), Float64},
		{F32(1), I32(1), Float32},
		{I64(1), F32(1), Float32},
	} {
		for _, e := range []Expr{NewBinary(OpEQ, c.a, c.b), NewBinary(OpEQ, c.b, c.a)} {
			what := fmt.Sprintf("%v and %v", c.a, c.b)
			if c.want == Void {
				require.IsType(t, &Bad{}, e, what)
				continue
			}
			require.IsType(t, &Binary{}, e, what)
			require.Equal(t, c.want, e.(*Binary).A.DType(), what)
			require.Equal(t, c.want, e.(*Binary).B.DType(), what)
		}
	}
	e := NewBinary(OpLT, v(Float64), &IntImm{UInt64, math.MinInt64}).(*Binary)
	require.Equal(t, &FloatImm{Float64, 1 << 63}, e.B, "a uint64 beyond int64 keeps its value")
}

func TestConst_Limits(t *testing.T) {
	for _, c := range []struct {
		e    Expr
		want Expr // nil: Bad
	}{
		{IntConst(Int8, -128), &IntImm{Int8, -128}},
		{IntConst(Int8, -129), nil},
		{IntConst(UInt8, 255), &IntImm{UInt8, 255}},
		{IntConst(UInt8, -1), nil},
		{IntConst(Int64, math.MinInt64), &IntImm{Int64, math.MinInt64}},
		{IntConst(UInt64, math.MaxInt64), &IntImm{UInt64, math.MaxInt64}},
		{IntConst(UInt64, -1), nil},
		{IntConst(Bool, 1), &IntImm{Bool, 1}},
		{IntConst(Bool, 2), nil},
		{IntConst(Handle, 0), nil},
		{IntConst(Void, 0), nil},
		{IntConst(Float64, 1<<53+1), nil},
		{IntConst(Float64, math.MaxInt64), nil},
		{IntConst(Float64, math.MinInt64), &FloatImm{Float64, -1 << 63}},
		{IntConst(Vector(Int32, 4), 1), &Broadcast{&IntImm{Int32, 1}, 4}},
		{IntConst(Vector(Int32, 5000), 1), nil},
		{Const(Int32, 0.5), nil},
		{Const(Int32, math.NaN()), nil},
		{Const(Int32, math.Inf(1)), nil},
		{Const(Int64, -1<<63), &IntImm{Int64, math.MinInt64}},
		{Const(Int64, 1<<63), nil},
		{Const(UInt64, 1<<63), &IntImm{UInt64, math.MinInt64}},
		{Const(UInt64, 1<<64), nil},
		{Const(Float32, 0.1), &FloatImm{Float32, float64(float32(0.1))}},
		{Const(Float32, 1e300), nil},
		{Const(Float32, math.MaxFloat32), &FloatImm{Float32, math.MaxFloat32}},
		{Const(Float32, math.SmallestNonzeroFloat32), &FloatImm{Float32, math.SmallestNonzeroFloat32}},
		{Const(Float32, math.Inf(-1)), &FloatImm{Float32, math.Inf(-1)}},
		{Const(Float16, 65504), &FloatImm{Float16, 65504}},
		{Const(Float16, 65519), &FloatImm{Float16, 65504}},
		{Const(Float16, 65520), nil},
		{Const(Float16, 2049), &FloatImm{Float16, 2048}},
		{Const(Float16, 2051), &FloatImm{Float16, 2052}},
		{Const(Float16, 0x1p-24), &FloatImm{Float16, 0x1p-24}},
		{Const(BFloat16, 1.00390625), &FloatImm{BFloat16, 1}},
		{Const(BFloat16, 3.4e38), nil},
		{Const(dlpack.Float8E4M3FN, 448), &FloatImm{dlpack.Float8E4M3FN, 448}},
		{Const(dlpack.Float8E4M3FN, 480), nil},
		{Const(dlpack.Float8E4M3FN, math.Inf(1)), nil},
		{Const(dlpack.Float8E5M2, 57344), &FloatImm{dlpack.Float8E5M2, 57344}},
		{Const(dlpack.Float4E2M1FN, 5.1), &FloatImm{dlpack.Float4E2M1FN, 6}},
		{Const(dlpack.Float4E2M1FN, math.NaN()), nil},
		{Const(Type{Code: dlpack.CodeFloat8E8M0FNU, Bits: 8, Lanes: 1}, 0), nil},
		{Const(Type{Code: dlpack.CodeFloat8E8M0FNU, Bits: 8, Lanes: 1}, 0x1p-127),
			&FloatImm{Type{Code: dlpack.CodeFloat8E8M0FNU, Bits: 8, Lanes: 1}, 0x1p-127}},
		{Const(Type{Code: dlpack.CodeFloat8E4M3FN, Bits: 3, Lanes: 1}, 0), nil},
	} {
		if c.want == nil {
			require.IsType(t, &Bad{}, c.e)
			require.NotEmpty(t, c.e.(*Bad).Err.Error())
			continue
		}
		require.Equal(t, "", compare.Difference(c.want, c.e))
	}
}

// Rounding to float32 is what the language's conversion does.
func TestRoundFloat_Float32(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		v := math.Ldexp(r.Float64()*2-1, r.IntN(290)-155)
		want := float64(float32(v))
		got, ok := RoundFloat(Float32, v)
		require.Equal(t, !math.IsInf(want, 0), ok, v)
		if ok && math.Float64bits(want) != math.Float64bits(got) {
			require.Equal(t, want, got, v)
		}
	}
}

func TestNegate(t *testing.T) {
	x := NewVar("x", Float32)
	require.Equal(t, "", compare.Difference(Sub(F32(float32(math.Copysign(0, -1))), x), Negate(x)), "-0 - 0 is -0")
	i := NewVar("i", Vector(Int8, 4))
	require.Equal(t, "", compare.Difference(Sub(IntConst(Vector(Int8, 4), 0), i), Negate(i)))
	for _, e := range []Expr{Negate(nil), Negate((*Var)(nil)), Negate(Text("a")), Negate(BoolConst(true)),
		Negate(NewVar("h", Handle))} {
		require.IsType(t, &Bad{}, e)
	}
}

func TestBuild_NoValue(t *testing.T) {
	x, void := NewVar("x", Int32), NewCall(CallExtern, Void, "f")
	b := NewBuffer("b", Vector(Float32, 512), I32(4))
	for name, e := range map[string]Expr{
		"nil pointer":             Add((*IntImm)(nil), x),
		"no values":               EQ(void, void),
		"no value":                Add(void, x),
		"texts":                   EQ(Text("a"), Text("b")),
		"text as an int":          NewCast(Int64, Text("a")),
		"choice of texts":         NewSelect(BoolConst(true), Text("a"), Text("b")),
		"choice of no values":     NewSelect(BoolConst(true), void, void),
		"opposite of no value":    NewNot(void),
		"argument of no value":    NewCall(CallExtern, Int32, "f", void),
		"nil argument":            NewCall(CallExtern, Int32, "f", (*Var)(nil)),
		"isnan of ints":           Intrin("isnan", x),
		"likely of ints":          Intrin("likely", x),
		"reinterpret as narrower": NewCall(CallIntrinsic, Int8, "reinterpret", x),
		"text to an operation":    Intrin("reinterpret", Text("a")),
		"ret of another type":     NewCall(CallIntrinsic, Int8, "ret", x),
		"if_then_else of lanes":   Intrin("if_then_else", NewVar("c", Vector(Bool, 4)), x, x),
		"too many lanes in all":   BufferAt(b, &Ramp{I32(0), I32(1), 4}),
		"index by text":           BufferAt(b, Text("a")),
		"nil producer":            ProducerAt((*tirnodes.NoProducer)(nil)),
		"exists not":              NewBinary(NumBinaryOps, x, x),
	} {
		require.IsType(t, &Bad{}, e, name)
		require.NotContains(t, e.(*Bad).Err.Error(), "type ,", name)
	}
	require.Equal(t, Type{Code: dlpack.CodeInt, Bits: 32}, Vector(Int32, 65540), "no lanes by wrapping around")
}

// What lacks its parts has no type, and nothing is made of it.
func TestBuild_MissingParts(t *testing.T) {
	b, x := NewBuffer("b", Int32, I32(4)), NewVar("x", Int32)
	for _, e := range []Expr{(*Var)(nil), (*IntImm)(nil), (*FloatImm)(nil), (*Binary)(nil), (*Not)(nil), (*Select)(nil),
		(*Cast)(nil), (*BufferLoad)(nil),
		(*ProducerLoad)(nil), (*Ramp)(nil), (*Broadcast)(nil), (*Shuffle)(nil), (*Let)(nil), (*Call)(nil), (*Reduce)(nil),
		(*Bad)(nil),
		&Binary{}, &Not{}, &Select{}, &BufferLoad{}, &ProducerLoad{}, &Let{}, &Reduce{}, &Reduce{Value: -1}, &Shuffle{},
		&Not{A: (*Var)(nil)}} {
		require.Equal(t, Void, e.DType(), "%T", e)
		for _, made := range []Expr{Add(e, x), Add(x, e), EQ(e, e), NewNot(e), NewSelect(e, x, x), NewSelect(BoolConst(true),
			x, e), NewCast(Int64, e),
			BufferAt(b, e), Intrin("exp", e), NewCall(CallExtern, Int32, "f", e), Negate(e)} {
			require.IsType(t, &Bad{}, made, "%T", e)
		}
	}
	for _, e := range []Expr{&Ramp{}, &Broadcast{}, &Broadcast{Lanes: 4}, &Shuffle{Vectors: []Expr{nil}},
		&BufferLoad{Buffer: b, Indices: []Expr{nil}}} {
		require.NotPanics(t, func() { e.DType() })
	}
}

func TestNewModule(t *testing.T) {
	f := &PrimFunc{Name: "f"}
	for _, c := range []struct {
		funcs []*PrimFunc
		err   string
	}{
		{[]*PrimFunc{nil}, "a function is nil"},
		{[]*PrimFunc{{}}, "a function has no name"},
		{[]*PrimFunc{f, f}, `two functions are named "f": give one another name`},
	} {
		require.ErrorContains(t, must.Fail(NewModule(c.funcs...)), c.err)
	}
	m := must.Get(NewModule(f))(t)
	require.Same(t, f, m.Func("f"))
	require.Nil(t, m.Func("g"))
	require.Nil(t, (&IRModule{Funcs: []*PrimFunc{nil}}).Func("g"))
}
