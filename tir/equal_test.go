package tir

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/target"
)

// boundSample is a function with all that can be bound: parameters, a dimension of a parameter's buffer, loops, lets, and memory.
func boundSample(names func(string) string) *PrimFunc {
	n, a, k := NewVar(names("n"), Int32), NewVar(names("a"), Handle), NewVar(names("k"), Int32)
	i, x, y := NewVar(names("i"), Int32), NewVar(names("x"), Int32), NewVar(names("y"), Float32)
	in, tmp := NewBuffer(names("A"), Float32, n, I32(4)), NewBuffer(names("T"), Float32, I32(4))
	tmp.Scope = "shared"
	return &PrimFunc{
		Name: "main", Params: []*Var{a, k}, Buffers: map[*Var]*Buffer{a: in}, Result: Void,
		Attrs: map[string]any{"pi": 3.5, "on": true, "id": int64(3), "text": "x"},
		Body: &For{Kind: Serial, Var: i, Min: I32(0), Extent: n, Annotations: map[string]any{"unroll": int64(2)}, Body: &Alloc{tmp, Sequence(
			&LetStmt{x, Add(i, k), &BufferStore{tmp, &Let{Var: y, Value: F32(2), Body: Mul(y, BufferAt(in, i, x))}, []Expr{FloorMod(x, I32(4))}}},
			&Assert{LT(i, n), "ValueError", "i < n"},
			&If{GT(k, I32(0)), &Evaluate{NewCall(CallExtern, Void, "f", tmp.Data, Text("t"))}, nil},
			&AttrStmt{"pragma", i, I32(1), &BufferStore{in, BufferAt(tmp, I32(0)), []Expr{i, I32(0)}}},
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
func reducerOf(identity float32, swap bool) Expr {
	l, r, k := NewVar("l", Float32), NewVar("r", Float32), NewVar("k", Int32)
	result := Sub(l, r)
	if swap {
		result = Sub(r, l)
	}
	return &Reduce{&Combiner{[]*Var{l}, []*Var{r}, []Expr{result}, []Expr{F32(identity)}}, []Expr{NewCast(Float32, k)},
		[]*IterVar{{k, I32(0), I32(8), IterReduce, ""}}, LT(k, I32(4)), 0}
}

func TestEqual_Expressions(t *testing.T) {
	x, y := NewVar("x", Int32), NewVar("x", Int32)
	b, b2 := NewBuffer("b", Float32, I32(4)), NewBuffer("b", Float32, I32(4))
	cuda, err := target.New("cuda -arch=sm_90")
	require.NoError(t, err)
	cuda2, err := target.New("cuda -arch=sm_90")
	require.NoError(t, err)
	attrs := func(v any) *PrimFunc { return &PrimFunc{Name: "f", Attrs: map[string]any{"a": v}} }
	nan := math.Float64frombits(0x7ff8000000000001)
	for _, c := range []struct {
		name string
		a, b any
		diff string // "" for equal
	}{
		{"a variable is itself", x, x, ""},
		{"variables of one name", x, y, "variable x is not variable x"},
		{"a variable twice", Add(x, x), Add(x, y), "b: variable x is not variable x"},
		{"no number", F64(nan), F64(nan), ""},
		{"no number, as Go makes it", F64(nan), F64(math.NaN()), ""},
		{"no number of another payload", F64(nan), F64(math.Float64frombits(0x7ff8000000000002)), "constant NaN of type float64 is not NaN of type float64"},
		{"zeros", F64(0), F64(math.Copysign(0, -1)), "constant 0 of type float64 is not -0 of type float64"},
		{"widths", I32(1), I64(1), "constant 1 of type int32 is not 1 of type int64"},
		{"operations", Add(x, I32(1)), Sub(x, I32(1)), "operation + is not -"},
		{"order", Sub(x, I32(1)), Sub(I32(1), x), "a: Var is not IntImm"},
		{"texts", Text("a"), Text("b"), `text "a" is not "b"`},
		{"errors", &Bad{errors.New("p")}, &Bad{errors.New("q")}, `error "p" is not "q"`},
		{"the same error", &Bad{errors.New("p")}, &Bad{errors.New("p")}, ""},
		{"buffers from outside", BufferAt(b, x), BufferAt(b2, x), "buffer b is not buffer b"},
		{"casts", &Cast{Int8, x}, &Cast{Int16, x}, "cast to int8 is not to int16"},
		{"ramps", &Ramp{x, x, 4}, &Ramp{x, x, 8}, "ramp of 4 lanes is not of 8"},
		{"strides", &Ramp{x, I32(1), 4}, &Ramp{x, I32(2), 4}, "stride: constant 1 of type int32 is not 2 of type int32"},
		{"broadcasts", &Broadcast{x, 4}, &Broadcast{x, 8}, "broadcast of 4 lanes is not of 8"},
		{"shuffles", &Shuffle{[]Expr{x}, []int{0}}, &Shuffle{[]Expr{x}, []int{0, 0}}, "shuffle by [0] is not by [0 0]"},
		{"calls", Intrin("exp", F32(1)), Intrin("log", F32(1)), "call of intrin exp of type float32 is not of intrin log of type float32"},
		{"arguments", Intrin("exp", F32(1)), Intrin("exp", F32(2)), "args[0]: constant 1 of type float32 is not 2 of type float32"},
		{"numbers of arguments", NewCall(CallExtern, Void, "f"), NewCall(CallExtern, Void, "f", x), "Call of 0 parts is not of 1"},
		{"lets", &Let{Var: x, Value: I32(1), Body: x}, &Let{Var: y, Value: I32(1), Body: y}, ""},
		{"what a let is of", &Let{Var: x, Value: I32(1), Body: x}, &Let{Var: y, Value: I32(2), Body: y}, "value: constant 1 of type int32 is not 2 of type int32"},
		{"a let's value is outside of it", &Let{Var: x, Value: x, Body: x}, &Let{Var: y, Value: y, Body: y}, "value: variable x is not variable x"},
		{"a let does not reach beyond", Add(&Let{Var: x, Value: I32(1), Body: x}, x), Add(&Let{Var: y, Value: I32(1), Body: y}, y), "b: variable x is not variable x"},
		{"bound here, from outside there", &Let{Var: x, Value: I32(1), Body: y}, &Let{Var: y, Value: I32(1), Body: y}, "body: variable x is not variable x"},
		{"reductions", reducerOf(0, false), reducerOf(0, false), ""},
		{"a reduction's identity", reducerOf(0, false), reducerOf(1, false), "combiner.identity[0]: constant 0 of type float32 is not 1 of type float32"},
		{"a reduction's variables", reducerOf(0, false), reducerOf(0, true), "combiner.results[0].a: variable l is not variable r"},
		{"nil", nil, nil, ""},
		{"nil pointers", (*Var)(nil), (*Binary)(nil), ""},
		{"nil and not", (*Var)(nil), x, "nil is not Var"},
		{"sorts of nodes", x, &Evaluate{x}, "Var is not Evaluate"},
		{"no nodes", 1, 1, "int is no node of a program"},
		{"attributes of floats", attrs(nan), attrs(nan), ""},
		{"attributes of targets", attrs(cuda), attrs(cuda2), ""},
		{"attributes of types", attrs(int64(1)), attrs(1.0), "f.attrs[a]: 1 (int64) is not 1 (float64)"},
		{"no attributes", &PrimFunc{Name: "f"}, &PrimFunc{Name: "f", Attrs: map[string]any{}}, ""},
		{"an attribute more", &PrimFunc{Name: "f"}, attrs(true), "f.attrs[a]: nothing is not true"},
		{"an attribute less", attrs(true), &PrimFunc{Name: "f"}, "f.attrs[a]: true is not there"},
		{"modules", &IRModule{Funcs: []*PrimFunc{{Name: "f"}}}, &IRModule{}, "1 functions are not 0"},
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
	alloc := b.Body.(*For).Body.(*Alloc)
	seq := *alloc.Body.(*Seq)
	seq.Stmts = append([]Stmt{}, seq.Stmts...)
	let := *seq.Stmts[0].(*LetStmt)
	let.Value = Sub(let.Value.(*Binary).A, let.Value.(*Binary).B)
	seq.Stmts[0] = &let
	loop := *b.Body.(*For)
	loop.Body = &Alloc{alloc.Buffer, &seq}
	b.Body = &loop
	require.Equal(t, "main.body.for(i).body.alloc(T).body[0].let(x).value: operation + is not -", Difference(a, b))
}

func TestEqualFree(t *testing.T) {
	x, y, u, v := NewVar("x", Int32), NewVar("y", Int32), NewVar("u", Int32), NewVar("v", Int32)
	b, c, d := NewBuffer("b", Float32, x), NewBuffer("c", Float32, u), NewBuffer("d", Float32, I32(4))
	require.True(t, EqualFree(Add(x, y), Add(u, v)))
	require.False(t, Equal(Add(x, y), Add(u, v)))
	require.Equal(t, Hash(Add(x, y)), Hash(Add(u, v)))
	require.False(t, EqualFree(Add(x, y), Add(u, u)), "two variables are not one")
	require.False(t, EqualFree(Add(x, x), Add(u, v)), "one variable is not two")
	require.NotEqual(t, Hash(Add(x, x)), Hash(Add(u, v)))
	require.NotEqual(t, Hash(Sub(Sub(x, y), x)), Hash(Sub(Sub(x, y), y)))
	require.False(t, EqualFree(x, NewVar("x", Int64)), "types count")
	require.True(t, EqualFree(BufferAt(b, x), BufferAt(c, u)))
	require.False(t, EqualFree(BufferAt(b, x), BufferAt(c, v)), "the index is the dimension")
	require.False(t, EqualFree(BufferAt(b, x), BufferAt(d, u)), "shapes count")
	require.Equal(t, Hash(BufferAt(b, x)), Hash(BufferAt(c, u)))
}

// Hash must not change from one process to the next: programs are stored under it.
func TestHash_Stable(t *testing.T) {
	require.Equal(t, "8fc95994b8a0e775", fmt.Sprintf("%016x", Hash(boundSample(asIs))))
	require.Equal(t, "80afb7d44e19dd1b", fmt.Sprintf("%016x", Hash(reducerOf(1, false))))
}
