package compare

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/tir"
)

// boundSample is a function with all that can be bound: parameters, a dimension of a parameter's buffer, loops, lets,
// and memory.
func boundSample(names func(string) string) *tir.PrimFunc {
	n, a, k := tir.NewVar(names("n"), tir.Int32), tir.NewVar(names("a"), tir.Handle), tir.NewVar(names("k"), tir.Int32)
	i, x, y := tir.NewVar(names("i"), tir.Int32), tir.NewVar(names("x"), tir.Int32), tir.NewVar(names("y"), tir.Float32)
	in, tmp := tir.NewBuffer(names("A"), tir.Float32, n, tir.I32(4)), tir.NewBuffer(names("T"), tir.Float32, tir.I32(4))
	tmp.Scope = "shared"
	return &tir.PrimFunc{
		Name: "main", Params: []*tir.Var{a, k}, Buffers: map[*tir.Var]*tir.Buffer{a: in}, Result: tir.Void,
		Attrs: map[string]any{"pi": 3.5, "on": true, "id": int64(3), "text": "x"},
		Body: &tir.For{Kind: tir.Serial, Var: i, Min: tir.I32(0), Extent: n, Annotations: map[string]any{"unroll": int64(2)},
			Body: &tir.Alloc{Buffer: tmp, Body: tir.Sequence(
				&tir.LetStmt{Var: x, Value: tir.Add(i, k), Body: &tir.BufferStore{Buffer: tmp, Value: &tir.Let{Var: y,
					Value: tir.F32(2), Body: tir.Mul(y, tir.BufferAt(in, i, x))}, Indices: []tir.Expr{tir.FloorMod(x, tir.I32(4))}}},
				&tir.Assert{Cond: tir.LT(i, n), Kind: "ValueError", Message: "i < n"},
				&tir.If{Cond: tir.GT(k, tir.I32(0)), Then: &tir.Evaluate{Value: tir.NewCall(tir.CallExtern, tir.Void, "f", tmp.Data,
					tir.Text("t"))}, Else: nil},
				&tir.AttrStmt{Key: "pragma", Node: i, Value: tir.I32(1), Body: &tir.BufferStore{Buffer: in, Value: tir.BufferAt(tmp,
					tir.I32(0)), Indices: []tir.Expr{i, tir.I32(0)}}},
			)}},
	}
}

func asIs(s string) string { return s }

func TestEqual_NamesDoNotCount(t *testing.T) {
	a, b := boundSample(asIs), boundSample(func(s string) string { return s + "_1" })
	require.Empty(t, Difference(a, b))
	require.True(t, Equal(a, b))
	require.Equal(t, Hash(a), Hash(b))
}

// reducerOf is a reduction with variables of its own.
func reducerOf(identity float32, swap bool) tir.Expr {
	l, r, k := tir.NewVar("l", tir.Float32), tir.NewVar("r", tir.Float32), tir.NewVar("k", tir.Int32)
	result := tir.Sub(l, r)
	if swap {
		result = tir.Sub(r, l)
	}
	return &tir.Reduce{Combiner: &tir.Combiner{Left: []*tir.Var{l}, Right: []*tir.Var{r}, Results: []tir.Expr{result},
		Identity: []tir.Expr{tir.F32(identity)}}, Sources: []tir.Expr{tir.NewCast(tir.Float32, k)},
		Axes: []*tir.IterVar{{Var: k, Min: tir.I32(0), Extent: tir.I32(8), Kind: tir.IterReduce, Thread: ""}},
		Cond: tir.LT(k, tir.I32(4)), Value: 0}
}

func TestEqual_Expressions(t *testing.T) {
	x, y := tir.NewVar("x", tir.Int32), tir.NewVar("x", tir.Int32)
	b, b2 := tir.NewBuffer("b", tir.Float32, tir.I32(4)), tir.NewBuffer("b", tir.Float32, tir.I32(4))
	cuda := must.Get(target.New("cuda -arch=sm_90"))(t)
	cuda2 := must.Get(target.New("cuda -arch=sm_90"))(t)
	attrs := func(v any) *tir.PrimFunc { return &tir.PrimFunc{Name: "f", Attrs: map[string]any{"a": v}} }
	nan := math.Float64frombits(0x7ff8000000000001)
	for _, c := range []struct {
		name string
		a, b any
		diff string // "" for equal
	}{
		{"a variable is itself", x, x, ""},
		{"variables of one name", x, y, "variable x is not variable x"},
		{"a variable twice", tir.Add(x, x), tir.Add(x, y), "b: variable x is not variable x"},
		{"no number", tir.F64(nan), tir.F64(nan), ""},
		{"no number, as Go makes it", tir.F64(nan), tir.F64(math.NaN()), ""},
		{"no number of another payload", tir.F64(nan), tir.F64(math.Float64frombits(0x7ff8000000000002)),
			"value NaN is not NaN"},
		{"zeros", tir.F64(0), tir.F64(math.Copysign(0, -1)), "value 0 is not -0"},
		{"widths", tir.I32(1), tir.I64(1), "type int32 is not int64"},
		{"operations", tir.Add(x, tir.I32(1)), tir.Sub(x, tir.I32(1)), "op + is not -"},
		{"order", tir.Sub(x, tir.I32(1)), tir.Sub(tir.I32(1), x), "a: Var is not IntImm"},
		{"texts", tir.Text("a"), tir.Text("b"), `value "a" is not "b"`},
		{"errors", &tir.Bad{Err: errors.New("p")}, &tir.Bad{Err: errors.New("q")}, `err "p" is not "q"`},
		{"the same error", &tir.Bad{Err: errors.New("p")}, &tir.Bad{Err: errors.New("p")}, ""},
		{"buffers from outside", tir.BufferAt(b, x), tir.BufferAt(b2, x), "buffer b is not buffer b"},
		{"casts", &tir.Cast{Type: tir.Int8, Value: x}, &tir.Cast{Type: tir.Int16, Value: x}, "type int8 is not int16"},
		{"ramps", &tir.Ramp{Base: x, Stride: x, Lanes: 4}, &tir.Ramp{Base: x, Stride: x, Lanes: 8}, "lanes 4 is not 8"},
		{"strides", &tir.Ramp{Base: x, Stride: tir.I32(1), Lanes: 4}, &tir.Ramp{Base: x, Stride: tir.I32(2), Lanes: 4},
			"stride: value 1 is not 2"},
		{"broadcasts", &tir.Broadcast{Value: x, Lanes: 4}, &tir.Broadcast{Value: x, Lanes: 8}, "lanes 4 is not 8"},
		{"shuffles", &tir.Shuffle{Vectors: []tir.Expr{x}, Indices: []int{0}}, &tir.Shuffle{Vectors: []tir.Expr{x},
			Indices: []int{0, 0}}, "indices [0] is not [0 0]"},
		{"calls", tir.Intrin("exp", tir.F32(1)), tir.Intrin("log", tir.F32(1)), `name "exp" is not "log"`},
		{"arguments", tir.Intrin("exp", tir.F32(1)), tir.Intrin("exp", tir.F32(2)), "args[0]: value 1 is not 2"},
		{"numbers of arguments", tir.NewCall(tir.CallExtern, tir.Void, "f"), tir.NewCall(tir.CallExtern, tir.Void, "f", x),
			"args: 0 are not 1"},
		{"lets", &tir.Let{Var: x, Value: tir.I32(1), Body: x}, &tir.Let{Var: y, Value: tir.I32(1), Body: y}, ""},
		{"what a let is of", &tir.Let{Var: x, Value: tir.I32(1), Body: x}, &tir.Let{Var: y, Value: tir.I32(2), Body: y},
			"value: value 1 is not 2"},
		{"a let's value is outside of it", &tir.Let{Var: x, Value: x, Body: x}, &tir.Let{Var: y, Value: y, Body: y},
			"value: variable x is not variable x"},
		{"a let does not reach beyond", tir.Add(&tir.Let{Var: x, Value: tir.I32(1), Body: x}, x), tir.Add(&tir.Let{Var: y,
			Value: tir.I32(1), Body: y}, y), "b: variable x is not variable x"},
		{"bound here, from outside there", &tir.Let{Var: x, Value: tir.I32(1), Body: y}, &tir.Let{Var: y, Value: tir.I32(1),
			Body: y}, "body: variable x is not variable x"},
		{"reductions", reducerOf(0, false), reducerOf(0, false), ""},
		{"a reduction's identity", reducerOf(0, false), reducerOf(1, false), "combiner.identity[0]: value 0 is not 1"},
		{"a reduction's variables", reducerOf(0, false), reducerOf(0, true),
			"combiner.results[0].a: variable l is not variable r"},
		{"nil", nil, nil, ""},
		{"nil pointers", (*tir.Var)(nil), (*tir.Binary)(nil), ""},
		{"nil and not", (*tir.Var)(nil), x, "nil is not Var"},
		{"sorts of nodes", x, &tir.Evaluate{Value: x}, "Var is not Evaluate"},
		{"no nodes", 1, 1, "int is not a node of a program"},
		{"attributes of floats", attrs(nan), attrs(nan), ""},
		{"attributes of targets", attrs(cuda), attrs(cuda2), ""},
		{"attributes of types", attrs(int64(1)), attrs(1.0), "f.attrs[a]: 1 (int64) is not 1 (float64)"},
		{"no attributes", &tir.PrimFunc{Name: "f"}, &tir.PrimFunc{Name: "f", Attrs: map[string]any{}}, ""},
		{"an attribute more", &tir.PrimFunc{Name: "f"}, attrs(true), "f.attrs[a]: nothing is not true"},
		{"an attribute less", attrs(true), &tir.PrimFunc{Name: "f"}, "f.attrs[a]: true is missing"},
		{"modules", &tir.IRModule{Funcs: []*tir.PrimFunc{{Name: "f"}}}, &tir.IRModule{}, "1 functions are not 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.diff, Difference(c.a, c.b))
			require.Equal(t, c.diff == "", Equal(c.a, c.b))
			require.Equal(t, c.diff == "", Equal(c.b, c.a))
			if c.diff == "" {
				require.Equal(t, Hash(c.a), Hash(c.b))
			}
		})
	}
}

func TestDifference_Path(t *testing.T) {
	a, b := boundSample(asIs), boundSample(asIs)
	alloc := b.Body.(*tir.For).Body.(*tir.Alloc)
	seq := *alloc.Body.(*tir.Seq)
	seq.Stmts = append([]tir.Stmt{}, seq.Stmts...)
	let := *seq.Stmts[0].(*tir.LetStmt)
	let.Value = tir.Sub(let.Value.(*tir.Binary).A, let.Value.(*tir.Binary).B)
	seq.Stmts[0] = &let
	loop := *b.Body.(*tir.For)
	loop.Body = &tir.Alloc{Buffer: alloc.Buffer, Body: &seq}
	b.Body = &loop
	require.Equal(t, "main.body.for(i).body.alloc(T).body[0].let(x).value: op + is not -", Difference(a, b))
}

func TestEqualFree(t *testing.T) {
	x, y, u, v := tir.NewVar("x", tir.Int32), tir.NewVar("y", tir.Int32), tir.NewVar("u", tir.Int32), tir.NewVar("v",
		tir.Int32)
	b, c, d := tir.NewBuffer("b", tir.Float32, x), tir.NewBuffer("c", tir.Float32, u), tir.NewBuffer("d", tir.Float32,
		tir.I32(4))
	require.True(t, EqualFree(tir.Add(x, y), tir.Add(u, v)))
	require.False(t, Equal(tir.Add(x, y), tir.Add(u, v)))
	require.Equal(t, Hash(tir.Add(x, y)), Hash(tir.Add(u, v)))
	require.False(t, EqualFree(tir.Add(x, y), tir.Add(u, u)), "two variables are not one")
	require.False(t, EqualFree(tir.Add(x, x), tir.Add(u, v)), "one variable is not two")
	require.NotEqual(t, Hash(tir.Add(x, x)), Hash(tir.Add(u, v)))
	require.NotEqual(t, Hash(tir.Sub(tir.Sub(x, y), x)), Hash(tir.Sub(tir.Sub(x, y), y)))
	require.False(t, EqualFree(x, tir.NewVar("x", tir.Int64)), "types count")
	require.True(t, EqualFree(tir.BufferAt(b, x), tir.BufferAt(c, u)))
	require.False(t, EqualFree(tir.BufferAt(b, x), tir.BufferAt(c, v)), "the index is the dimension")
	require.False(t, EqualFree(tir.BufferAt(b, x), tir.BufferAt(d, u)), "shapes count")
	require.Equal(t, Hash(tir.BufferAt(b, x)), Hash(tir.BufferAt(c, u)))
}

// Hash must not change from one process to the next: programs are stored under it.
func TestHash_Stable(t *testing.T) {
	require.Equal(t, "6e49abbb8e4b94c1", fmt.Sprintf("%016x", Hash(boundSample(asIs))))
	require.Equal(t, "0185647e09a8f443", fmt.Sprintf("%016x", Hash(reducerOf(1, false))))
}
