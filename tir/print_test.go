package tir

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrint_Constants(t *testing.T) {
	for _, c := range []struct {
		e    Expr
		want string
	}{
		{I32(math.MinInt32), "-2147483648"},
		{&IntImm{Int32, math.MaxInt32 + 1}, "int32(2147483648)"},
		{&IntImm{Int32, math.MinInt32 - 1}, "int32(-2147483649)"},
		{I64(math.MinInt64), "int64(-9223372036854775808)"},
		{&IntImm{UInt64, -1}, "uint64(18446744073709551615)"},
		{BoolConst(true), "true"},
		{F32(0.1), "0.1"},
		{&FloatImm{Float32, 0.1}, "float32(0.1)"},
		{F32(1), "1.0"},
		{F32(1e20), "1e+20"},
		{F32(float32(math.Copysign(0, -1))), "-0.0"},
		{F32(1e-45), "1e-45"},
		{F64(5e-324), "float64(5e-324)"},
		{F32(float32(math.Inf(-1))), "-inf"},
		{F64(math.NaN()), "float64(nan)"},
		{&FloatImm{Float32, math.Float64frombits(0xfff8000000000000)}, "nan(0xfff8000000000000)"},
		{Text("a \"b\"\n\xff"), `"a \"b\"\n\xff"`},
		{NewVar("for", Int32), `$"for"`},
		{NewVar("int32", Int32), `$"int32"`},
		{NewVar("i1", Int32), "i1"},
		{NewVar("i.outer", Int32), "i.outer"},
		{NewVar("i..x", Int32), `$"i..x"`},
	} {
		require.Equal(t, c.want, Print(c.e))
	}
}

// Of two things of one name the second has another, even where that is somebody's name; what is bound twice has two names.
func TestPrint_Names(t *testing.T) {
	i, j, k := NewVar("i", Int32), NewVar("i", Int32), NewVar("i_1", Int32)
	require.Equal(t, "i + i_1 + i_1_1 + i", Print(Add(Add(Add(i, j), k), i)))
	require.Equal(t, "i_1 + i + i_2", Print(Add(Add(k, i), j)))

	loop := &For{Var: i, Min: I32(0), Extent: I32(3), Body: &Evaluate{i}}
	b := NewBuffer("B", Int8)
	alloc := &Alloc{b, &BufferStore{b, IntConst(Int8, 1), nil}}
	f := &PrimFunc{Name: "f", Result: Void, Body: Sequence(loop, loop, alloc, alloc)}
	want := `func f() {
  for i in range(3) {
    eval i
  }
  for i_1 in range(3) {
    eval i_1
  }
  alloc B: int8[] {
    B[] = int8(1)
  }
  alloc B_1: int8[]
  B_1[] = int8(1)
}
`
	require.Equal(t, want, f.String())
	m, err := Parse(want)
	require.NoError(t, err)
	require.Equal(t, want, m.String())
}

// A buffer that nothing allocates is declared where it is first used, and known from there on; so are a function's free variables at its head.
func TestPrint_Declares(t *testing.T) {
	data, n := NewVar("p", Handle), NewVar("n", Int32)
	b := &Buffer{Name: "B", Data: data, DType: Float32, Shape: []Expr{n}, Strides: []Expr{I32(2)}, Offset: I32(1), Scope: "shared", Alignment: 64}
	store := &BufferStore{b, F32(0), []Expr{I32(0)}}
	cond := EQ(BufferAt(b, I32(0)), F32(1))
	f := &PrimFunc{Name: "f", Params: []*Var{data}, Result: Void, Body: Sequence(
		&If{Cond: BoolConst(true), Then: &Evaluate{I32(1)}, Else: &If{Cond: cond, Then: store}},
		&AttrStmt{Key: "k", Node: b, Value: n, Body: store})}
	want := `func f(p: handle) {
  var n: int32
  if true {
    eval 1
  } else {
    buffer B: float32[n], data p, strides [2], offset 1, scope "shared", align 64
    if B[0] == 1.0 {
      B[0] = 0.0
    }
  }
  attr "k" buffer B = n
  B[0] = 0.0
}
`
	require.Equal(t, want, f.String())
	roundTrip(t, "declares", &IRModule{Funcs: []*PrimFunc{f}})
	require.Equal(t, "attr \"k\" buffer B = n\nB[0] = 0.0", Print(f.Body.(*Seq).Stmts[1]), "a part alone declares nothing")
	require.Equal(t, `buffer B: float32[n], data p: handle, strides [2], offset 1, scope "shared", align 64`, Print(b))
}

// One buffer that two parameters stand for stays one.
func TestPrint_SharedBuffer(t *testing.T) {
	a, b := NewVar("a", Handle), NewVar("b", Handle)
	buf := NewBuffer("A", Float32, I32(4))
	f := &PrimFunc{Name: "f", Params: []*Var{a, b}, Buffers: map[*Var]*Buffer{a: buf, b: buf}, Result: Void, Body: &Seq{}}
	require.Equal(t, "func f(a: handle, b: handle) {\n  buffer A: float32[4], param a\n  buffer A, param b\n}\n", Print(f))
	roundTrip(t, "shared", &IRModule{Funcs: []*PrimFunc{f}})
}

// An address is written only where the text would not be read as the same without. Strides that are none are not nil.
func TestPrint_Addresses(t *testing.T) {
	b, c, d := NewBuffer("B", Int8), NewBuffer("B", Int8), NewBuffer("B", Int8)
	c.Data.Name, d.Data.Name = "B_1", "other"
	d.Strides = []Expr{}
	f := &PrimFunc{Name: "f", Result: Void, Body: &Alloc{b, &Alloc{c, &Alloc{d, &Evaluate{NewCall(CallExtern, Void, "g", d.Data)}}}}}
	want := `func f() {
  alloc B: int8[]
  alloc B_1: int8[]
  alloc B_2: int8[], data other: handle, strides []
  extern g(other)
}
`
	require.Equal(t, want, f.String())
	m := &IRModule{Funcs: []*PrimFunc{f}}
	roundTrip(t, "addresses", m)
	m, err := Parse(want)
	require.NoError(t, err)
	data, err := m.MarshalJSON()
	require.NoError(t, err)
	require.NoError(t, m.UnmarshalJSON(data))
	require.Equal(t, want, m.String())
}

type textProducer struct{}

func (textProducer) ProducerName() string  { return "T" }
func (textProducer) ProducerShape() []Expr { return []Expr{I32(4)} }
func (textProducer) ProducerDType() Type   { return Float32 }

// What no finished module has, and what is broken, has a text, too.
func TestPrint_Unfinished(t *testing.T) {
	x, y, k := NewVar("x", Float32), NewVar("y", Float32), NewVar("k", Int32)
	sum := &Reduce{&Combiner{[]*Var{x}, []*Var{y}, []Expr{Add(x, y)}, []Expr{F32(0)}}, []Expr{ProducerAt(textProducer{}, k)},
		[]*IterVar{{Var: k, Min: I32(0), Extent: I32(4), Kind: IterReduce}}, LT(k, I32(3)), 0}
	require.Equal(t, "reduce([tensor T[k]], over [k in range(4), kind reduce], by (x, y) => [x + y] from [0.0], where k < 3)[0]", Print(sum))
	require.Equal(t, "<bad: tir: oh>", Print(&Bad{errors.New("tir: oh")}))
	long := NewVar("n", Int64)
	require.Equal(t, "let n: int64 = 1\neval n", Print(&LetStmt{long, I32(1), &Evaluate{long}}), "types that differ are seen")
	require.Equal(t, "for n: int64 in range(0, count=int64(4)) {}", Print(&For{Var: long, Min: I32(0), Extent: I64(4)}))
	var none *Var
	for _, n := range []any{nil, 3, none, &Binary{}, &Binary{Op: 99, A: k, B: k}, &Select{}, &Cast{}, &BufferLoad{}, &ProducerLoad{}, &Ramp{}, &Broadcast{}, &Shuffle{},
		&Let{}, &Let{Value: &BufferLoad{}}, &Call{}, &Call{Name: "exp", Args: []Expr{&Binary{}}}, &Reduce{}, &Bad{}, &BufferStore{}, &For{}, &For{Min: &Select{}, Extent: &Not{}}, &While{},
		&If{}, &If{Else: &If{}}, &LetStmt{}, &Assert{}, &Alloc{}, &Alloc{Buffer: &Buffer{}}, &AttrStmt{}, &AttrStmt{Node: none}, &AttrStmt{Node: 3},
		&AttrStmt{Node: (*IterVar)(nil)}, &AttrStmt{Node: &IterVar{}}, &Seq{[]Stmt{nil}}, &Evaluate{}, &PrimFunc{}, &PrimFunc{Params: []*Var{nil}, Buffers: map[*Var]*Buffer{nil: nil, k: {}}},
		&IRModule{Funcs: []*PrimFunc{nil}, Attrs: map[string]any{"a": 3}}, (*IRModule)(nil), (*PrimFunc)(nil), &Buffer{}, (*Buffer)(nil), &IterVar{}, (*IterVar)(nil)} {
		require.NotPanics(t, func() { require.NotEmpty(t, Print(n), "%T", n) }, "%T", n)
		if s, ok := n.(Stmt); ok {
			require.NotPanics(t, func() { require.NotEmpty(t, Print(&PrimFunc{Body: s})) }, "%T", n)
		}
	}
}
