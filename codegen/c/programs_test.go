package c_test

import (
	"testing"

	"tvmgo/internal/testing/must"
	"tvmgo/tir"
)

// The programs here are written by hand, as lowering would write them.

func module(t testing.TB, funcs ...*tir.PrimFunc) *tir.IRModule {
	t.Helper()
	return must.Get(tir.NewModule(funcs...))(t)
}

// tensors makes a function of tensors.
func tensors(name string, body tir.Stmt, buffers ...*tir.Buffer) *tir.PrimFunc {
	f := &tir.PrimFunc{Name: name, Body: body, Buffers: map[*tir.Var]*tir.Buffer{}, Result: tir.Void}
	for _, b := range buffers {
		h := tir.NewVar(b.Name+"_handle", tir.Handle)
		f.Params = append(f.Params, h)
		f.Buffers[h] = b
	}
	return f
}

func i64(name string) *tir.Var { return tir.NewVar(name, tir.Int64) }

func loop(kind tir.ForKind, v *tir.Var, extent tir.Expr, body tir.Stmt) tir.Stmt {
	return &tir.For{Kind: kind, Var: v, Min: tir.IntConst(v.Type, 0), Extent: extent, Body: body}
}

func store(b *tir.Buffer, value tir.Expr, indices ...tir.Expr) tir.Stmt {
	return &tir.BufferStore{Buffer: b, Value: value, Indices: indices}
}

func at(b *tir.Buffer, indices ...tir.Expr) tir.Expr { return tir.BufferAt(b, indices...) }

// vadd adds vectors of any length, by a loop of the given kind.
func vadd(name string, t tir.Type, kind tir.ForKind) *tir.PrimFunc {
	n, i := i64("n"), i64("i")
	a, b, c := tir.NewBuffer("A", t, n), tir.NewBuffer("B", t, n), tir.NewBuffer("C", t, n)
	return tensors(name, loop(kind, i, n, store(c, tir.Add(at(a, i), at(b, i)), i)), a, b, c)
}

// vaddVectors adds vectors of a number of lanes, and the remaining elements one by one.
func vaddVectors(name string, t tir.Type, lanes int) *tir.PrimFunc {
	n, i, j := i64("n"), i64("i"), i64("i")
	a, b, c := tir.NewBuffer("A", t, n), tir.NewBuffer("B", t, n), tir.NewBuffer("C", t, n)
	l := tir.I64(int64(lanes))
	r := &tir.Ramp{Base: tir.Mul(i, l), Stride: tir.I64(1), Lanes: lanes}
	body := loop(tir.Parallel, i, tir.FloorDiv(n, l), store(c, tir.Add(at(a, r), at(b, r)), r))
	rest := &tir.For{Var: j, Min: tir.Mul(tir.FloorDiv(n, l), l), Extent: tir.FloorMod(n, l),
		Body: store(c, tir.Add(at(a, j), at(b, j)), j)}
	return tensors(name, tir.Sequence(body, rest), a, b, c)
}

func matmul() *tir.PrimFunc {
	n, k, m := i64("n"), i64("k"), i64("m")
	a, b, c := tir.NewBuffer("A", tir.Float32, n, k), tir.NewBuffer("B", tir.Float32, k, m),
		tir.NewBuffer("C", tir.Float32, n, m)
	i, j, x := i64("i"), i64("j"), i64("x")
	acc := tir.NewBuffer("acc", tir.Float32, tir.I32(1))
	zero := tir.I32(0)
	inner := &tir.Alloc{Buffer: acc, Body: tir.Sequence(
		store(acc, tir.F32(0), zero),
		loop(tir.Serial, x, k, store(acc, tir.Add(at(acc, zero), tir.Mul(at(a, i, x), at(b, x, j))), zero)),
		store(c, at(acc, zero), i, j))}
	return tensors("matmul", loop(tir.Parallel, i, n, loop(tir.Serial, j, m, inner)), a, b, c)
}

// softmax of the rows, through scratch memory inside a parallel loop.
func softmax() *tir.PrimFunc {
	n, m := i64("n"), i64("m")
	a, b := tir.NewBuffer("A", tir.Float32, n, m), tir.NewBuffer("B", tir.Float32, n, m)
	e, s := tir.NewBuffer("e", tir.Float32, m), tir.NewBuffer("s", tir.Float32, tir.I32(2))
	i, j := i64("i"), i64("j")
	greatest, sum := tir.I32(0), tir.I32(1)
	each := func(body tir.Stmt) tir.Stmt { return loop(tir.Serial, j, m, body) }
	body := &tir.Alloc{Buffer: e, Body: &tir.Alloc{Buffer: s, Body: tir.Sequence(
		store(s, at(a, i, tir.I64(0)), greatest),
		each(store(s, tir.Max(at(s, greatest), at(a, i, j)), greatest)),
		store(s, tir.F32(0), sum),
		each(tir.Sequence(store(e, tir.Intrin("exp", tir.Sub(at(a, i, j), at(s, greatest))), j),
			store(s, tir.Add(at(s, sum), at(e, j)), sum))),
		each(store(b, tir.Div(at(e, j), at(s, sum)), i, j)))}}
	return tensors("softmax", loop(tir.Parallel, i, n, body), a, b)
}

// gather selects rows by int64 indices. Negative ones count from the end, and an index out of bounds is an error.
func gather() *tir.PrimFunc {
	n, m, k := i64("n"), i64("m"), i64("k")
	a, x, b := tir.NewBuffer("A", tir.Float32, n, m), tir.NewBuffer("index", tir.Int64, k),
		tir.NewBuffer("B", tir.Float32, k, m)
	i, j, row := i64("i"), i64("j"), i64("row")
	body := &tir.LetStmt{Var: row, Value: tir.NewSelect(tir.LT(at(x, i), tir.I64(0)), tir.Add(at(x, i), n), at(x, i)),
		Body: tir.Sequence(
			&tir.Assert{Cond: tir.And(tir.GE(row, tir.I64(0)), tir.LT(row, n)), Kind: "IndexError",
				Message: "a row is not within A"},
			loop(tir.Serial, j, m, store(b, at(a, row, j), i, j)))}
	return tensors("gather", loop(tir.Serial, i, k, body), a, x, b)
}

// less compares, with bools as results.
func less(lanes int) *tir.PrimFunc {
	n, i := i64("n"), i64("i")
	a, b, c := tir.NewBuffer("A", tir.Float32, n), tir.NewBuffer("B", tir.Float32, n), tir.NewBuffer("C", tir.Bool, n)
	if lanes == 1 {
		return tensors("less", loop(tir.Serial, i, n, store(c, tir.LT(at(a, i), at(b, i)), i)), a, b, c)
	}
	r := &tir.Ramp{Base: tir.Mul(i, tir.I64(int64(lanes))), Stride: tir.I64(1), Lanes: lanes}
	return tensors("less_vectors", loop(tir.Serial, i, tir.FloorDiv(n, tir.I64(int64(lanes))),
		store(c, tir.LT(at(a, r), at(b, r)), r)), a, b, c)
}

// twice calls another function of its module for each element.
func twice() []*tir.PrimFunc {
	x, n, i := tir.NewVar("x", tir.Float32), i64("n"), i64("i")
	double := &tir.PrimFunc{Name: "doubled", Params: []*tir.Var{x}, Result: tir.Float32,
		Body: &tir.Evaluate{Value: tir.NewCall(tir.CallIntrinsic, tir.Void, "ret", tir.Mul(x, tir.F32(2)))}}
	a, b := tir.NewBuffer("A", tir.Float32, n), tir.NewBuffer("B", tir.Float32, n)
	body := loop(tir.Parallel, i, n, store(b, tir.NewCall(tir.CallFunc, tir.Float32, "doubled", at(a, i)), i))
	return []*tir.PrimFunc{tensors("twice", body, a, b), double}
}

// scratch allocates memory inside the scope of other memory, with calls that may fail in both scopes.
func scratch(name string, kind tir.ForKind) *tir.PrimFunc {
	n, i, j := i64("n"), i64("i"), i64("j")
	a := tir.NewBuffer("A", tir.Float32, n)
	x, y := tir.NewBuffer("x", tir.Float32, n), tir.NewBuffer("y", tir.Float32, tir.Add(n, tir.I64(300)), tir.I64(2))
	f := tensors(name, nil, a)
	zero := tir.I64(0)
	check := tir.NewCall(tir.CallPacked, tir.Void, "test.check", i, tir.F32(1.5), tir.BoolConst(true), tir.Text("te\"xt"),
		f.Params[0], a.Data)
	value := tir.NewCall(tir.CallPacked, tir.Float32, "test.value", i)
	inner := []tir.Stmt{store(y, tir.NewCast(tir.Float32, i), zero, zero), &tir.Evaluate{Value: check}}
	if kind == tir.Serial {
		inner = append(inner, &tir.If{Cond: tir.GT(at(a, i), tir.F32(100)),
			Then: &tir.Evaluate{Value: tir.Intrin("ret_none")}})
	}
	inner = append(inner, &tir.Assert{Cond: tir.GE(at(a, i), tir.F32(0)), Kind: "ValueError",
		Message: "A is 100% negative"},
		store(x, tir.Add(at(y, zero, zero), value), i))
	f.Body = &tir.Alloc{Buffer: x, Body: tir.Sequence(
		loop(kind, i, n, &tir.Alloc{Buffer: y, Body: tir.Sequence(inner...)}),
		loop(tir.Serial, j, n, store(a, at(x, j), j)))}
	return f
}
