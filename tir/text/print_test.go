package text

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/tir"
	"tvmgo/tir/json"
)

func TestPrint_Constants(t *testing.T) {
	for _, c := range []struct {
		e    tir.Expr
		want string
	}{
		{tir.I32(math.MinInt32), "-2147483648"},
		{&tir.IntImm{Type: tir.Int32, Value: math.MaxInt32 + 1}, "int32(2147483648)"},
		{&tir.IntImm{Type: tir.Int32, Value: math.MinInt32 - 1}, "int32(-2147483649)"},
		{tir.I64(math.MinInt64), "int64(-9223372036854775808)"},
		{&tir.IntImm{Type: tir.UInt64, Value: -1}, "uint64(18446744073709551615)"},
		{tir.BoolConst(true), "true"},
		{tir.F32(0.1), "0.1"},
		{&tir.FloatImm{Type: tir.Float32, Value: 0.1}, "float32(0.1)"},
		{tir.F32(1), "1.0"},
		{tir.F32(1e20), "1e+20"},
		{tir.F32(float32(math.Copysign(0, -1))), "-0.0"},
		{tir.F32(1e-45), "1e-45"},
		{tir.F64(5e-324), "float64(5e-324)"},
		{tir.F32(float32(math.Inf(-1))), "-inf"},
		{tir.F64(math.NaN()), "float64(nan)"},
		{&tir.FloatImm{Type: tir.Float32, Value: math.Float64frombits(0xfff8000000000000)}, "nan(0xfff8000000000000)"},
		{tir.Text("a \"b\"\n\xff"), `"a \"b\"\n\xff"`},
		{tir.NewVar("for", tir.Int32), `$"for"`},
		{tir.NewVar("int32", tir.Int32), `$"int32"`},
		{tir.NewVar("i1", tir.Int32), "i1"},
		{tir.NewVar("i.outer", tir.Int32), "i.outer"},
		{tir.NewVar("i..x", tir.Int32), `$"i..x"`},
	} {
		require.Equal(t, c.want, Print(c.e))
	}
}

// Of two things of one name the second has another, even where that is somebody's name; what is bound twice has two
// names.
func TestPrint_Names(t *testing.T) {
	i, j, k := tir.NewVar("i", tir.Int32), tir.NewVar("i", tir.Int32), tir.NewVar("i_1", tir.Int32)
	require.Equal(t, "i + i_1 + i_1_1 + i", Print(tir.Add(tir.Add(tir.Add(i, j), k), i)))
	require.Equal(t, "i_1 + i + i_2", Print(tir.Add(tir.Add(k, i), j)))

	loop := &tir.For{Var: i, Min: tir.I32(0), Extent: tir.I32(3), Body: &tir.Evaluate{Value: i}}
	b := tir.NewBuffer("B", tir.Int8)
	alloc := &tir.Alloc{Buffer: b, Body: &tir.BufferStore{Buffer: b, Value: tir.IntConst(tir.Int8, 1), Indices: nil}}
	f := &tir.PrimFunc{Name: "f", Result: tir.Void, Body: tir.Sequence(loop, loop, alloc, alloc)}
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
	m := must.Get(Parse(want))(t)
	require.Equal(t, want, m.String())
}

// A buffer that nothing allocates is declared where it is first used, and known from there on; so are a function's free
// variables at its head.
func TestPrint_Declares(t *testing.T) {
	data, n := tir.NewVar("p", tir.Handle), tir.NewVar("n", tir.Int32)
	b := &tir.Buffer{Name: "B", Data: data, DType: tir.Float32, Shape: []tir.Expr{n}, Strides: []tir.Expr{tir.I32(2)},
		Offset: tir.I32(1), Scope: "shared", Alignment: 64}
	store := &tir.BufferStore{Buffer: b, Value: tir.F32(0), Indices: []tir.Expr{tir.I32(0)}}
	cond := tir.EQ(tir.BufferAt(b, tir.I32(0)), tir.F32(1))
	f := &tir.PrimFunc{Name: "f", Params: []*tir.Var{data}, Result: tir.Void, Body: tir.Sequence(
		&tir.If{Cond: tir.BoolConst(true), Then: &tir.Evaluate{Value: tir.I32(1)}, Else: &tir.If{Cond: cond, Then: store}},
		&tir.AttrStmt{Key: "k", Node: b, Value: n, Body: store})}
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
	roundTrip(t, "declares", &tir.IRModule{Funcs: []*tir.PrimFunc{f}})
	require.Equal(t, "attr \"k\" buffer B = n\nB[0] = 0.0", Print(f.Body.(*tir.Seq).Stmts[1]),
		"a part alone declares nothing")
	require.Equal(t, `buffer B: float32[n], data p: handle, strides [2], offset 1, scope "shared", align 64`, Print(b))
}

// One buffer that two parameters stand for stays one.
func TestPrint_SharedBuffer(t *testing.T) {
	a, b := tir.NewVar("a", tir.Handle), tir.NewVar("b", tir.Handle)
	buf := tir.NewBuffer("A", tir.Float32, tir.I32(4))
	f := &tir.PrimFunc{Name: "f", Params: []*tir.Var{a, b}, Buffers: map[*tir.Var]*tir.Buffer{a: buf, b: buf},
		Result: tir.Void, Body: &tir.Seq{}}
	require.Equal(t, "func f(a: handle, b: handle) {\n  buffer A: float32[4], param a\n  buffer A, param b\n}\n", Print(f))
	roundTrip(t, "shared", &tir.IRModule{Funcs: []*tir.PrimFunc{f}})
}

// An address is written only where the text would not be read as the same without. Strides that are none are not nil.
func TestPrint_Addresses(t *testing.T) {
	b, c, d := tir.NewBuffer("B", tir.Int8), tir.NewBuffer("B", tir.Int8), tir.NewBuffer("B", tir.Int8)
	c.Data.Name, d.Data.Name = "B_1", "other"
	d.Strides = []tir.Expr{}
	f := &tir.PrimFunc{Name: "f", Result: tir.Void, Body: &tir.Alloc{Buffer: b, Body: &tir.Alloc{Buffer: c,
		Body: &tir.Alloc{Buffer: d, Body: &tir.Evaluate{Value: tir.NewCall(tir.CallExtern, tir.Void, "g", d.Data)}}}}}
	want := `func f() {
  alloc B: int8[]
  alloc B_1: int8[]
  alloc B_2: int8[], data other: handle, strides []
  extern g(other)
}
`
	require.Equal(t, want, f.String())
	m := &tir.IRModule{Funcs: []*tir.PrimFunc{f}}
	roundTrip(t, "addresses", m)
	m = must.Get(Parse(want))(t)
	data := must.Get(json.Marshal(m))(t)
	m = must.Get(json.Unmarshal(data))(t)
	require.Equal(t, want, m.String())
}

type textProducer struct{}

func (textProducer) ProducerName() string      { return "T" }
func (textProducer) ProducerShape() []tir.Expr { return []tir.Expr{tir.I32(4)} }
func (textProducer) ProducerDType() tir.Type   { return tir.Float32 }

// What no finished module has, and what is broken, has a text, too.
func TestPrint_Unfinished(t *testing.T) {
	x, y, k := tir.NewVar("x", tir.Float32), tir.NewVar("y", tir.Float32), tir.NewVar("k", tir.Int32)
	sum := &tir.Reduce{Combiner: &tir.Combiner{Left: []*tir.Var{x}, Right: []*tir.Var{y}, Results: []tir.Expr{tir.Add(x,
		y)}, Identity: []tir.Expr{tir.F32(0)}}, Sources: []tir.Expr{tir.ProducerAt(textProducer{}, k)},
		Axes: []*tir.IterVar{{Var: k, Min: tir.I32(0), Extent: tir.I32(4), Kind: tir.IterReduce}}, Cond: tir.LT(k,
			tir.I32(3)), Value: 0}
	require.Equal(t, "reduce([tensor T[k]], over [k in range(4), kind reduce], by (x, y) => [x + y] from [0.0], where k "+
		"< 3)[0]", Print(sum))
	require.Equal(t, "<bad: tir: oh>", Print(&tir.Bad{Err: errors.New("tir: oh")}))
	long := tir.NewVar("n", tir.Int64)
	require.Equal(t, "let n: int64 = 1\neval n", Print(&tir.LetStmt{Var: long, Value: tir.I32(1),
		Body: &tir.Evaluate{Value: long}}), "types that differ are seen")
	require.Equal(t, "for n: int64 in range(0, count=int64(4)) {}", Print(&tir.For{Var: long, Min: tir.I32(0),
		Extent: tir.I64(4)}))
	var none *tir.Var
	for _, n := range []any{nil, 3, none, &tir.Binary{}, &tir.Binary{Op: 99, A: k, B: k}, &tir.Select{}, &tir.Cast{},
		&tir.BufferLoad{}, &tir.ProducerLoad{}, &tir.Ramp{}, &tir.Broadcast{}, &tir.Shuffle{},
		&tir.Let{}, &tir.Let{Value: &tir.BufferLoad{}}, &tir.Call{}, &tir.Call{Name: "exp", Args: []tir.Expr{&tir.Binary{}}},
		&tir.Reduce{}, &tir.Bad{}, &tir.BufferStore{}, &tir.For{}, &tir.For{Min: &tir.Select{}, Extent: &tir.Not{}},
		&tir.While{},
		&tir.If{}, &tir.If{Else: &tir.If{}}, &tir.LetStmt{}, &tir.Assert{}, &tir.Alloc{}, &tir.Alloc{Buffer: &tir.Buffer{}},
		&tir.AttrStmt{}, &tir.AttrStmt{Node: none}, &tir.AttrStmt{Node: 3},
		&tir.AttrStmt{Node: (*tir.IterVar)(nil)}, &tir.AttrStmt{Node: &tir.IterVar{}}, &tir.Seq{Stmts: []tir.Stmt{nil}},
		&tir.Evaluate{}, &tir.PrimFunc{}, &tir.PrimFunc{Params: []*tir.Var{nil}, Buffers: map[*tir.Var]*tir.Buffer{nil: nil,
			k: {}}},
		&tir.IRModule{Funcs: []*tir.PrimFunc{nil}, Attrs: map[string]any{"a": 3}}, (*tir.IRModule)(nil),
		(*tir.PrimFunc)(nil), &tir.Buffer{}, (*tir.Buffer)(nil), &tir.IterVar{}, (*tir.IterVar)(nil)} {
		require.NotPanics(t, func() { require.NotEmpty(t, Print(n), "%T", n) }, "%T", n)
		if s, ok := n.(tir.Stmt); ok {
			require.NotPanics(t, func() { require.NotEmpty(t, Print(&tir.PrimFunc{Body: s})) }, "%T", n)
		}
	}
}
