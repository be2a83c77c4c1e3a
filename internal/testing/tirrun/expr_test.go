package tirrun

import (
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	. "tvmgo/tir"
)

func eval(t testing.TB, e Expr, vars map[*Var]any) any {
	return must.Get(Eval(e, vars))(t)
}

// edges returns the special values of an integer type, and some others.
func edges[T int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64]() []T {
	all := []T{0, 1, 2, 3, 7, 13, 100, 127, ^T(0), ^T(0) - 1, ^T(0) / 2, ^T(0)/2 + 1}
	least := T(1)
	for least<<1 != 0 {
		least <<= 1
	}
	return append(all, least, least-1, least+1, ^T(6), ^T(2))
}

// intOperations compares all operations on integers of a type with Go's.
func intOperations[T int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64](t *testing.T, dt Type) {
	box := func(v T) any {
		if IsSigned(dt) {
			return int64(v)
		}
		return uint64(v)
	}
	a, b := NewVar("a", dt), NewVar("b", dt)
	floor := func(x, y T) (q, r T) {
		q, r = x/y, x%y
		if r != 0 && (r < 0) != (y < 0) {
			q, r = q-1, r+y
		}
		return q, r
	}
	wide := uint64(1)<<(dt.Bits-1)<<1 - 1
	ops := []struct {
		e    Expr
		want func(x, y T) any
	}{
		{Add(a, b), func(x, y T) any { return box(x + y) }},
		{Sub(a, b), func(x, y T) any { return box(x - y) }},
		{Mul(a, b), func(x, y T) any { return box(x * y) }},
		{Min(a, b), func(x, y T) any { return box(min(x, y)) }},
		{Max(a, b), func(x, y T) any { return box(max(x, y)) }},
		{EQ(a, b), func(x, y T) any { return x == y }},
		{NE(a, b), func(x, y T) any { return x != y }},
		{LT(a, b), func(x, y T) any { return x < y }},
		{LE(a, b), func(x, y T) any { return x <= y }},
		{GT(a, b), func(x, y T) any { return x > y }},
		{GE(a, b), func(x, y T) any { return x >= y }},
		{Intrin("bitwise_and", a, b), func(x, y T) any { return box(x & y) }},
		{Intrin("bitwise_or", a, b), func(x, y T) any { return box(x | y) }},
		{Intrin("bitwise_xor", a, b), func(x, y T) any { return box(x ^ y) }},
		{Intrin("bitwise_not", a), func(x, y T) any { return box(^x) }},
		{Intrin("popcount", a), func(x, y T) any { return box(T(bits.OnesCount64(uint64(x) & wide))) }},
		{Intrin("clz", a), func(x, y T) any { return box(T(bits.LeadingZeros64(uint64(x)&wide)) - 64 + T(dt.Bits)) }},
		{Intrin("abs", a), func(x, y T) any {
			if x < 0 {
				return box(-x)
			}
			return box(x)
		}},
		{NewSelect(LT(a, b), a, b), func(x, y T) any { return box(min(x, y)) }},
		{NewCast(Bool, a), func(x, y T) any { return x != 0 }},
		{NewCast(Int8, a), func(x, y T) any { return int64(int8(x)) }},
		{NewCast(UInt16, a), func(x, y T) any { return uint64(uint16(x)) }},
		{NewCast(Int64, a), func(x, y T) any { return int64(x) }},
		{NewCast(UInt64, a), func(x, y T) any { return uint64(x) }},
		{NewCast(Float32, a), func(x, y T) any { return float64(float32(x)) }},
		{NewCast(Float64, a), func(x, y T) any { return float64(x) }},
		{&Let{Var: NewVar("unused", Int32), Value: I32(1), Body: b}, func(x, y T) any { return box(y) }},
	}
	divisions := []struct {
		e    Expr
		want func(x, y T) any
	}{
		{Div(a, b), func(x, y T) any { return box(x / y) }},
		{Mod(a, b), func(x, y T) any { return box(x % y) }},
		{FloorDiv(a, b), func(x, y T) any { q, _ := floor(x, y); return box(q) }},
		{FloorMod(a, b), func(x, y T) any { _, r := floor(x, y); return box(r) }},
	}
	shifts := []struct {
		e    Expr
		want func(x T, by int) any
	}{
		{Intrin("shift_left", a, b), func(x T, by int) any { return box(x << by) }},
		{Intrin("shift_right", a, b), func(x T, by int) any { return box(x >> by) }},
	}
	for _, x := range edges[T]() {
		for _, y := range edges[T]() {
			vars := map[*Var]any{a: x, b: y}
			for _, op := range ops {
				require.Equal(t, op.want(x, y), eval(t, op.e, vars), "%T: %v %v", op.e, x, y)
			}
			for _, op := range divisions {
				got, err := Eval(op.e, vars)
				if y == 0 {
					require.ErrorIs(t, err, ErrArithmetic)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, op.want(x, y), got, "%v: %v %v", op.e.(*Binary).Op, x, y)
			}
			for _, op := range shifts {
				got, err := Eval(op.e, vars)
				if y < 0 || uint64(y) >= uint64(dt.Bits) {
					require.ErrorIs(t, err, ErrArithmetic)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, op.want(x, int(y)), got)
			}
		}
	}
}

func TestEval_Ints(t *testing.T) {
	t.Run("int8", func(t *testing.T) { intOperations[int8](t, Int8) })
	t.Run("uint8", func(t *testing.T) { intOperations[uint8](t, UInt8) })
	t.Run("int16", func(t *testing.T) { intOperations[int16](t, Int16) })
	t.Run("uint16", func(t *testing.T) { intOperations[uint16](t, UInt16) })
	t.Run("int32", func(t *testing.T) { intOperations[int32](t, Int32) })
	t.Run("uint32", func(t *testing.T) { intOperations[uint32](t, UInt32) })
	t.Run("int64", func(t *testing.T) { intOperations[int64](t, Int64) })
	t.Run("uint64", func(t *testing.T) { intOperations[uint64](t, UInt64) })
}

// Integers of 4 bits behave as those of 8, modulo 16.
func TestEval_FourBits(t *testing.T) {
	int4, uint4 := Type{Code: Int8.Code, Bits: 4, Lanes: 1}, Type{Code: UInt8.Code, Bits: 4, Lanes: 1}
	a, b := NewVar("a", int4), NewVar("b", int4)
	c, d := NewVar("c", uint4), NewVar("d", uint4)
	for x := -8; x < 8; x++ {
		for y := -8; y < 8; y++ {
			vars := map[*Var]any{a: x, b: y, c: x & 15, d: y & 15}
			require.EqualValues(t, int8(x*y)<<4>>4, eval(t, Mul(a, b), vars))
			require.EqualValues(t, int8(x-y)<<4>>4, eval(t, Sub(a, b), vars))
			require.EqualValues(t, (x*y)&15, eval(t, Mul(c, d), vars))
			require.EqualValues(t, (x-y)&15, eval(t, Sub(c, d), vars))
			require.Equal(t, x&15 < y&15, eval(t, LT(c, d), vars))
			require.EqualValues(t, bits.LeadingZeros8(uint8(x&15))-4, eval(t, Intrin("clz", c), vars))
		}
	}
	require.ErrorContains(t, must.Fail(Eval(a, map[*Var]any{a: 8})), "want a value of type int4")
}

var floatEdges = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 7, -7.25, 1e-3, 123456.789,
	-1e10, 1e-40, 3e38, math.MaxFloat32,
	math.Inf(1), math.Inf(-1), math.NaN(), math.Pi, math.SmallestNonzeroFloat32, 16777216, 1e300, -1e-300}

func sameFloat(t *testing.T, want float64, got any, what ...any) {
	t.Helper()
	g := got.(float64)
	if math.IsNaN(want) && math.IsNaN(g) {
		return
	}
	require.Equal(t, math.Float64bits(want), math.Float64bits(g), append([]any{"want %v, got %v: %v %v %v", want, g},
		append(what, "", "", "")[:3]...)...)
}

// floats compares all operations on float32 or float64 with those of Go's type of the same width.
func floats[T float32 | float64](t *testing.T, dt Type) {
	a, b, c := NewVar("a", dt), NewVar("b", dt), NewVar("c", dt)
	f := func(v float64) T { return T(v) }
	ops := map[string]struct {
		e    Expr
		want func(x, y T) any
	}{
		"+": {Add(a, b), func(x, y T) any { return x + y }}, "-": {Sub(a, b), func(x, y T) any { return x - y }},
		"*": {Mul(a, b), func(x, y T) any { return x * y }}, "/": {Div(a, b), func(x, y T) any { return x / y }},
		"mod":      {Mod(a, b), func(x, y T) any { return f(math.Mod(float64(x), float64(y))) }},
		"floordiv": {FloorDiv(a, b), func(x, y T) any { return f(math.Floor(float64(x / y))) }},
		"min": {Min(a, b), func(x, y T) any {
			if x < y {
				return x
			}
			return y
		}},
		"max": {Max(a, b), func(x, y T) any {
			if x > y {
				return x
			}
			return y
		}},
		"==": {EQ(a, b), func(x, y T) any { return x == y }}, "!=": {NE(a, b), func(x, y T) any { return x != y }},
		"<": {LT(a, b), func(x, y T) any { return x < y }}, "<=": {LE(a, b), func(x, y T) any { return x <= y }},
		">": {GT(a, b), func(x, y T) any { return x > y }}, ">=": {GE(a, b), func(x, y T) any { return x >= y }},
		"negate": {Negate(a), func(x, y T) any { return -x }},
		"select": {NewSelect(LT(a, b), a, b), func(x, y T) any {
			if x < y {
				return x
			}
			return y
		}},
		"bool":     {NewCast(Bool, a), func(x, y T) any { return x != 0 }},
		"float32":  {NewCast(Float32, a), func(x, y T) any { return float32(x) }},
		"float64":  {NewCast(Float64, a), func(x, y T) any { return float64(x) }},
		"isnan":    {Intrin("isnan", a), func(x, y T) any { return x != x }},
		"isinf":    {Intrin("isinf", a), func(x, y T) any { return math.IsInf(float64(x), 0) }},
		"isfinite": {Intrin("isfinite", a), func(x, y T) any { return x-x == 0 }},
		"pow":      {Intrin("pow", a, b), func(x, y T) any { return f(math.Pow(float64(x), float64(y))) }},
		"fmod":     {Intrin("fmod", a, b), func(x, y T) any { return f(math.Mod(float64(x), float64(y))) }},
		"atan2":    {Intrin("atan2", a, b), func(x, y T) any { return f(math.Atan2(float64(x), float64(y))) }},
		"hypot":    {Intrin("hypot", a, b), func(x, y T) any { return f(math.Hypot(float64(x), float64(y))) }},
		"copysign": {Intrin("copysign", a, b), func(x, y T) any { return f(math.Copysign(float64(x), float64(y))) }},
		"fma":      {Intrin("fma", a, b, c), func(x, y T) any { return f(math.FMA(float64(x), float64(y), 1)) }},
	}
	for name, op := range ops {
		for _, x := range floatEdges {
			for _, y := range floatEdges {
				want := op.want(T(x), T(y))
				got := eval(t, op.e, map[*Var]any{a: x, b: y, c: 1})
				switch w := want.(type) {
				case bool:
					require.Equal(t, w, got, "%s %v %v", name, x, y)
				case float32:
					sameFloat(t, float64(w), got, name, x, y)
				case float64:
					sameFloat(t, w, got, name, x, y)
				}
			}
		}
	}
}

func TestEval_Floats(t *testing.T) {
	t.Run("float32", func(t *testing.T) { floats[float32](t, Float32) })
	t.Run("float64", func(t *testing.T) { floats[float64](t, Float64) })
}

// The remainder has the sign of the divisor, and completes a multiple of it.
func TestEval_FloorModOfFloats(t *testing.T) {
	for _, c := range [][3]float64{{7.5, 2, 1.5}, {-7.5, 2, 0.5}, {7.5, -2, -0.5}, {-7.5, -2, -1.5}, {6, 2, 0},
		{5, math.Inf(1), 5}} {
		require.Equal(t, c[2], eval(t, FloorMod(F32(float32(c[0])), F32(float32(c[1]))), nil))
	}
}

// Functions of one float at known points, in three precisions.
func TestEval_Functions(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for name, pairs := range map[string][][2]float64{
		"exp": {{0, 1}, {1, math.E}, {-inf, 0}, {inf, inf}, {nan, nan}}, "exp2": {{3, 8}, {-1, 0.5}, {0.5, math.Sqrt2}},
		"exp10": {{2, 100}, {-1, 0.1}}, "log": {{1, 0}, {math.E, 1}, {0, -inf}, {-1, nan}}, "log2": {{8, 3}, {0.5, -1}},
		"log10": {{1000, 3}}, "log1p": {{0, 0}, {1, math.Ln2}, {-1, -inf}}, "sqrt": {{9, 3}, {2, math.Sqrt2}, {-1, nan}},
		"rsqrt": {{4, 0.5}, {0, inf}}, "sin": {{0, 0}, {1, 0.8414709848078965}}, "cos": {{0, 1}, {1, 0.5403023058681398}},
		"tan": {{1, 1.557407724654902}}, "asin": {{1, math.Pi / 2}, {2, nan}}, "acos": {{1, 0},
			{-1, math.Pi}}, "atan": {{1, math.Pi / 4}},
		"sinh": {{1, 1.1752011936438014}}, "cosh": {{1, 1.5430806348152437}}, "tanh": {{1, 0.7615941559557649}, {inf, 1}},
		"asinh": {{1, 0.881373587019543}}, "acosh": {{2, 1.3169578969248166}}, "atanh": {{0.5, 0.5493061443340548}},
		"erf": {{0, 0}, {1, 0.8427007929497149}, {-inf, -1}}, "floor": {{-1.5, -2}, {1.5, 1}}, "ceil": {{-1.5, -1}, {1.5, 2}},
		"trunc": {{-1.5, -1}, {1.5, 1}}, "round": {{2.5, 3}, {-2.5, -3}, {0.5, 1}, {1.25, 1}}, "nearbyint": {{2.5, 2},
			{-2.5, -2}, {3.5, 4}, {0.5, 0}},
		"sigmoid": {{0, 0.5}, {1, 0.7310585786300049}, {-inf, 0}}, "fabs": {{-3, 3}, {3, 3}, {-inf, inf}},
	} {
		for dt, slack := range map[Type]float64{Float64: 4e-16, Float32: 2e-7, Float16: 2e-3, BFloat16: 2e-2} {
			x := NewVar("x", dt)
			for _, p := range pairs {
				got := eval(t, Intrin(name, x), map[*Var]any{x: p[0]}).(float64)
				want := roundTo(dt, p[1])
				if math.IsNaN(want) || math.IsInf(want, 0) || want == 0 {
					sameFloatLoosely(t, want, got, name, dt, p[0])
				} else {
					require.InEpsilon(t, want, got, slack, "%s of %s %v", name, dt, p[0])
				}
				require.True(t, got != got || roundTo(dt, got) == got, "%s of %s gives %v, which is none", name, dt, got)
			}
		}
	}
	for _, i := range Intrinsics() { // all intrinsics are covered
		_, one := floats1[i.Name]
		_, two := floats2[i.Name]
		_, int1 := ints1[i.Name]
		_, int2 := ints2[i.Name]
		_, p := predicates[i.Name]
		other := map[string]bool{"fma": true, "likely": true, "reinterpret": true, "if_then_else": true, "storage_sync": true,
			"prefetch": true, "warp_shuffle": true, "warp_shuffle_xor": true, "warp_shuffle_down": true,
			"fragment_fill": true, "fragment_load": true, "fragment_mma": true, "fragment_store": true,
			"async_copy": true, "async_commit": true, "async_wait": true, "texture2d_load": true, "texture2d_store": true,
			"tvm_struct_get": true, "tvm_struct_set": true, "address_of": true, "ret": true, "ret_none": true,
			"check_index": true, "report_index": true, "clear_reports": true, "check_reports": true}[i.Name]
		require.True(t, one || two || int1 || int2 || p || other, "intrinsic %s", i.Name)
	}
}

func sameFloatLoosely(t *testing.T, want, got float64, what ...any) {
	t.Helper()
	if math.IsNaN(want) {
		require.True(t, math.IsNaN(got), what...)
	} else if want == 0 {
		require.InDelta(t, 0, got, 1e-3, what...)
	} else {
		require.Equal(t, want, got, what...)
	}
}

// The result of every operation is a value of its type.
func TestEval_NarrowFloats(t *testing.T) {
	for _, dt := range []Type{Float16, BFloat16, {Code: 10, Bits: 8, Lanes: 1}, {Code: 12, Bits: 8, Lanes: 1},
		{Code: 17, Bits: 4, Lanes: 1}} {
		a, b := NewVar("a", dt), NewVar("b", dt)
		for op, e := range map[string]Expr{"+": Add(a, b), "-": Sub(a, b), "*": Mul(a, b), "/": Div(a, b)} {
			for _, x := range []float64{0.5, 1.5, 3, -2, 6} {
				for _, y := range []float64{0.5, 1.5, 3, -4} {
					exact := map[string]float64{"+": x + y, "-": x - y, "*": x * y, "/": x / y}[op]
					sameFloat(t, roundTo(dt, exact), eval(t, e, map[*Var]any{a: x, b: y}), op, x, y)
				}
			}
		}
	}
}

func TestEval_Vectors(t *testing.T) {
	i, x := NewVar("i", Vector(Int32, 4)), NewVar("x", Vector(Float32, 4))
	m := NewVar("m", Vector(Bool, 4))
	ramp := &Ramp{Base: I32(3), Stride: I32(-2), Lanes: 4}
	vars := map[*Var]any{i: []int32{1, 2, 0, 4}, x: []float32{1, 2, 3, 4.5}, m: []bool{true, false, true, false}}
	for _, c := range []struct {
		e    Expr
		want any
	}{
		{ramp, []int64{3, 1, -1, -3}},
		{&Broadcast{Value: F32(2.5), Lanes: 3}, []float64{2.5, 2.5, 2.5}},
		{Add(i, ramp), []int64{4, 3, -1, 1}},
		{Mul(x, F32(2)), []float64{2, 4, 6, 9}},
		{LT(i, ramp), []bool{true, false, false, false}},
		{LT(x, F32(3)), []bool{true, true, false, false}},
		{NewNot(m), []bool{false, true, false, true}},
		{NewSelect(m, i, ramp), []int64{1, 1, 0, -3}},
		{NewSelect(m, x, F32(0)), []float64{1, 0, 3, 0}},
		{NewCast(Int8, x), []int64{1, 2, 3, 4}},
		{NewCast(Float64, i), []float64{1, 2, 0, 4}},
		{NewCast(UInt8, ramp), []uint64{3, 1, 255, 253}},
		{NewCast(Float64, x), []float64{1, 2, 3, 4.5}},
		{Intrin("sqrt", Mul(x, x)), []float64{1, 2, 3, 4.5}},
		{Intrin("fma", x, x, x), []float64{2, 6, 12, 24.75}},
		{Intrin("pow", x, Const(Vector(Float32, 4), 2)), []float64{1, 4, 9, 20.25}},
		{Intrin("popcount", i), []int64{1, 1, 0, 1}},
		{Intrin("shift_left", i, i), []int64{2, 8, 0, 64}},
		{Intrin("isnan", x), []bool{false, false, false, false}},
		{&Shuffle{Vectors: []Expr{i, ramp}, Indices: []int{7, 0, 4}}, []int64{-3, 1, 3}},
		{&Shuffle{Vectors: []Expr{x, F32(9)}, Indices: []int{4, 3}}, []float64{9, 4.5}},
		{&Shuffle{Vectors: []Expr{x}, Indices: []int{3}}, 4.5},
		{Intrin("reinterpret", x), []float64{1, 2, 3, 4.5}},
		{NewCall(CallIntrinsic, Vector(UInt32, 4), "reinterpret", x), []uint64{0x3f800000, 0x40000000, 0x40400000,
			0x40900000}},
		{NewCall(CallIntrinsic, Vector(UInt64, 2), "reinterpret", i), []uint64{0x2_00000001, 0x4_00000000}},
		{&Let{Var: NewVar("v", Vector(Float32, 4)), Value: x, Body: x}, []float64{1, 2, 3, 4.5}},
		// Lanes that the first operand decides do not evaluate the division by 0.
		{And(NE(i, I32(0)), GT(Div(&Broadcast{Value: I32(4), Lanes: 4}, i), I32(1))), []bool{true, true, false, false}},
		{Or(EQ(i, I32(0)), GT(Div(&Broadcast{Value: I32(4), Lanes: 4}, i), I32(1))), []bool{true, true, true, false}},
		{NewCall(CallIntrinsic, Vector(Int32, 4), "if_then_else", NE(i, I32(0)), Div(&Broadcast{Value: I32(4), Lanes: 4}, i),
			ramp), []int64{4, 2, -1, 1}},
		{NewCall(CallIntrinsic, Vector(Float32, 4), "if_then_else", BoolConst(false), x, Mul(x, x)),
			[]float64{1, 4, 9, 20.25}},
	} {
		got, err := Eval(c.e, vars)
		require.NoError(t, err, "%T %+v", c.e, c.e)
		require.Equal(t, c.want, got, "%T %+v", c.e, c.e)
	}
	require.ErrorIs(t, must.Fail(Eval(Div(ramp, i), vars)), ErrArithmetic)
}

// Logical operations and if_then_else evaluate only the operands that they need; Select evaluates all.
func TestEval_Lazy(t *testing.T) {
	zero := NewVar("zero", Int32)
	vars := map[*Var]any{zero: 0}
	fails := EQ(Div(I32(1), zero), I32(1))
	require.Equal(t, false, eval(t, And(BoolConst(false), fails), vars))
	require.Equal(t, true, eval(t, Or(BoolConst(true), fails), vars))
	require.Equal(t, int64(7), eval(t, NewCall(CallIntrinsic, Int32, "if_then_else", BoolConst(false), Div(I32(1), zero),
		I32(7)), vars))
	require.Equal(t, 7.0, eval(t, NewCall(CallIntrinsic, Float32, "if_then_else", BoolConst(true), F32(7),
		NewCast(Float32, Div(I32(1), zero))), vars))
	for _, e := range []Expr{And(BoolConst(true), fails), Or(BoolConst(false), fails),
		NewSelect(BoolConst(true), I32(7), Div(I32(1), zero))} {
		require.ErrorIs(t, must.Fail(Eval(e, vars)), ErrArithmetic)
	}
}

func TestEval_LetAndReinterpret(t *testing.T) {
	v, w := NewVar("v", Int32), NewVar("w", Float32)
	require.Equal(t, int64(49), eval(t, &Let{Var: v, Value: I32(7), Body: Mul(v, v)}, nil))
	require.Equal(t, 2.25, eval(t, &Let{Var: w, Value: F32(1.5), Body: Mul(w, w)}, nil))
	// The same node twice in one expression.
	let := &Let{Var: v, Value: I32(7), Body: Mul(v, v)}
	require.Equal(t, int64(98), eval(t, Add(let, let), nil))
	for _, x := range floatEdges {
		sameFloat(t, float64(float32(x)), eval(t, NewCall(CallIntrinsic, Float32, "reinterpret",
			NewCall(CallIntrinsic, UInt32, "reinterpret", w)), map[*Var]any{w: x}))
	}
	require.Equal(t, uint64(0x3c00), eval(t, NewCall(CallIntrinsic, UInt16, "reinterpret", Const(Float16, 1)), nil))
	require.Equal(t, int64(-1), eval(t, NewCall(CallIntrinsic, Int8, "reinterpret", Const(UInt8, 255)), nil))
	require.Equal(t, "text", eval(t, Text("text"), nil))
}

// Invalid expressions are errors before anything is computed.
func TestEval_Refuses(t *testing.T) {
	v := NewVar("v", Int32)
	for text, e := range map[string]Expr{
		"has no value here":                v,
		"is invalid":                       Add(v, F32(1)),
		"lower the schedule":               &Reduce{Sources: []Expr{v}},
		"is nil":                           nil,
		"want numbers of the same":         &Binary{Op: OpAdd, A: I32(1), B: F32(1)},
		"does not exist":                   &Binary{Op: 99, A: I32(1), B: I32(1)},
		"addresses have no":                &Cast{Type: Int64, Value: Text("a")},
		"the lanes differ":                 &Cast{Type: Vector(Int64, 2), Value: I32(1)},
		"selects lane 3 of 1":              &Shuffle{Vectors: []Expr{I32(1)}, Indices: []int{3}},
		"shuffle of 0 vectors":             &Shuffle{},
		"ramp of 4 lanes":                  &Ramp{Base: F32(1), Stride: F32(1), Lanes: 4},
		"broadcast of":                     &Broadcast{Value: I32(1), Lanes: 5000},
		"intrinsic \"nix\" does not exist": &Call{Kind: CallIntrinsic, Name: "nix", Type: Int32},
		"takes 1 arguments":                &Call{Kind: CallIntrinsic, Name: "exp", Type: Float32},
		"argument 0 has type":              &Call{Kind: CallIntrinsic, Name: "exp", Type: Float32, Args: []Expr{F64(1)}},
		"does not take integers":           &Call{Kind: CallIntrinsic, Name: "exp", Type: Int32, Args: []Expr{I32(1)}},
		"does not take floats":             &Call{Kind: CallIntrinsic, Name: "clz", Type: Float32, Args: []Expr{F32(1)}},
		"part of an expression":            &Call{Kind: CallIntrinsic, Name: "ret", Type: Int32, Args: []Expr{I32(1)}},
		"types of the same size": &Call{Kind: CallIntrinsic, Name: "reinterpret", Type: Int64,
			Args: []Expr{I32(1)}},
		"select by":              &Select{Cond: BoolConst(true), Then: I32(1), Else: F32(1)},
		"want bool":              &Not{A: I32(1)},
		"module has none":        &Call{Kind: CallFunc, Name: "f", Type: Int32},
		"Options.Funcs has none": &Call{Kind: CallExtern, Name: "f", Type: Int32},
		"gets a value of type":   &Let{Var: v, Value: F32(1), Body: v},
		"inside its own scope":   &Let{Var: v, Value: I32(1), Body: &Let{Var: v, Value: I32(1), Body: v}},
		"neither allocated here": &BufferLoad{Buffer: NewBuffer("A", Int32)},
		"2 dimensions, and 1": &BufferLoad{Buffer: &Buffer{Name: "A", Data: NewVar("d", Handle), DType: Int32,
			Shape: []Expr{v, v}}, Indices: []Expr{I32(1)}},
	} {
		vars := map[*Var]any{}
		if l, ok := e.(*BufferLoad); ok && len(l.Buffer.Shape) > 0 {
			vars[l.Buffer.Data] = array(t, Int32, []int{1}, 1)
		}
		_, err := Eval(e, vars)
		var typed *Fault
		require.ErrorAs(t, err, &typed, text)
		require.ErrorContains(t, err, text)
		require.NotContains(t, err.Error(), "can't be understood", "%v", err)
	}
	for _, c := range []struct {
		t Type
		v any
	}{{Int8, 128}, {UInt8, -1}, {Int32, 1.5}, {Bool, 1}, {Float32, true}, {Int32, nil}, {Handle, 3}, {Vector(Int32, 2),
		1}, {UInt64, -1},
		{Int64, uint64(1 << 63)}, {Vector(Int8, 2), []int{1, 200}}, {Int32, "x"}} {
		x := NewVar("x", c.t)
		require.ErrorIs(t, must.Fail(Eval(x, map[*Var]any{x: c.v})), ErrArgument, "%s %v", c.t, c.v)
	}
}

func TestEval_Likely(t *testing.T) {
	for _, v := range []bool{true, false} {
		require.Equal(t, v, must.Get(Eval(Intrin("likely", BoolConst(v)), nil))(t))
	}
}
