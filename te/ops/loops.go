package ops

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/tir"
)

// The functions of this file make the statements of operators that are no formulas. Loops over elements that do not
// depend on each other are parallel: schedules run them by the threads of the target.

// parallel is a loop over all indices of a shape, whose iterations do not depend on each other.
func parallel(shape []tir.Expr, body func(i []tir.Expr) tir.Stmt) tir.Stmt {
	all := product(shape)
	t := tir.Int64
	if n, ok := constSize(all); ok && n < 1<<30 {
		t = tir.Int32
	}
	all = simplified(tir.NewCast(t, all))
	v := tir.NewVar("i", t)
	at := reshaped(shape, []tir.Expr{all}, []tir.Expr{v})
	return &tir.For{Kind: tir.Parallel, Var: v, Min: tir.IntConst(t, 0), Extent: all, Body: named("i", at, body)}
}

// named binds expressions to variables, so that they are computed once.
func named(name string, all []tir.Expr, body func(i []tir.Expr) tir.Stmt) tir.Stmt {
	vars := make([]tir.Expr, len(all))
	var bound []*tir.Var
	for d, e := range all {
		if _, ok := constSize(e); ok {
			vars[d] = e
			bound = append(bound, nil)
			continue
		}
		v := tir.NewVar(name, e.DType())
		vars[d], bound = v, append(bound, v)
	}
	s := body(vars)
	for d := len(all) - 1; d >= 0; d-- {
		if bound[d] != nil {
			s = &tir.LetStmt{Var: bound[d], Value: all[d], Body: s}
		}
	}
	return s
}

// let binds one expression to a variable.
func let(name string, e tir.Expr, body func(v tir.Expr) tir.Stmt) tir.Stmt {
	return named(name, []tir.Expr{e}, func(v []tir.Expr) tir.Stmt { return body(v[0]) })
}

// serial is a loop over the indices below n, one after the other.
func serial(n tir.Expr, name string, body func(i tir.Expr) tir.Stmt) tir.Stmt {
	v := tir.NewVar(name, n.DType())
	return &tir.For{Var: v, Min: tir.IntConst(v.Type, 0), Extent: n, Body: body(v)}
}

// nested is a nest of serial loops over all indices of a shape.
func nested(shape []tir.Expr, name string, body func(i []tir.Expr) tir.Stmt) tir.Stmt {
	if len(shape) == 0 {
		return body(nil)
	}
	return serial(shape[0], name, func(i tir.Expr) tir.Stmt {
		return nested(shape[1:], name, func(rest []tir.Expr) tir.Stmt { return body(append([]tir.Expr{i}, rest...)) })
	})
}

// when is a statement that is executed where all conditions hold.
func when(conds []tir.Expr, then tir.Stmt) tir.Stmt {
	if len(conds) == 0 {
		return then
	}
	return &tir.If{Cond: holds(conds), Then: then}
}

func store(b *tir.Buffer, value tir.Expr, i ...tir.Expr) tir.Stmt {
	return &tir.BufferStore{Buffer: b, Value: value, Indices: i}
}

// cell is a variable that statements change.
type cell struct{ b *tir.Buffer }

// cells makes variables for the statement that body returns.
func cells(types []tir.Type, name string, body func(c []cell) tir.Stmt) tir.Stmt {
	all := make([]cell, len(types))
	for i, t := range types {
		all[i] = cell{tir.NewBuffer(name, t, tir.I32(1))}
		all[i].b.Scope = "local"
	}
	s := body(all)
	for i := len(all) - 1; i >= 0; i-- {
		s = &tir.Alloc{Buffer: all[i].b, Body: s}
	}
	return s
}

func (c cell) get() tir.Expr { return tir.BufferAt(c.b, tir.I32(0)) }

func (c cell) set(e tir.Expr) tir.Stmt { return store(c.b, e, tir.I32(0)) }

// inserted returns indices with one more at dimension d.
func inserted(i []tir.Expr, d int, x tir.Expr) []tir.Expr {
	return append(append(append([]tir.Expr{}, i[:d]...), x), i[d:]...)
}

// without returns a list without element d.
func without(all []tir.Expr, d int) []tir.Expr {
	return append(append([]tir.Expr{}, all[:d]...), all[d+1:]...)
}

// copied stores all elements of one buffer to another one of the same shape.
func copied(to, from *tir.Buffer) tir.Stmt {
	return parallel(to.Shape, func(i []tir.Expr) tir.Stmt { return store(to, tir.BufferAt(from, i...), i...) })
}

// statement makes the tensor of an operator that a statement computes.
func statement(kind, name string, shape []tir.Expr, t tir.Type, inputs []*te.Tensor,
	body func(ins []*tir.Buffer, out *tir.Buffer) tir.Stmt) *te.Tensor {
	out := te.Extern([]te.ExternResult{{Shape: shape, Type: t}}, inputs, name,
		func(ins, outs []*tir.Buffer) tir.Stmt { return body(ins, outs[0]) })[0]
	return by(out, &Operator{Kind: kind, Inputs: inputs})
}

// published returns tensors with the values of some results of an extern operation, so that its other results stay
// within the function. They are named name.v0, name.v1, ….
func published(name string, all ...*te.Tensor) []*te.Tensor {
	out := make([]*te.Tensor, len(all))
	for i, t := range all {
		out[i] = Map(t, fmt.Sprintf("%s.v%d", name, i), func(e tir.Expr) tir.Expr { return e })
	}
	return out
}

// within returns the conditions that an index of type int64 is within a size.
func within(i, size tir.Expr) []tir.Expr {
	n := tir.NewCast(tir.Int64, size)
	return []tir.Expr{tir.GE(i, tir.I64(0)), tir.LT(i, n)}
}

// fromEnd returns an index in 64 bits; negative ones count from the end.
func fromEnd(i, size tir.Expr) tir.Expr {
	signed := tir.IsSigned(i.DType())
	if i = tir.NewCast(tir.Int64, i); !signed {
		return i
	}
	return tir.NewSelect(tir.LT(i, tir.I64(0)), tir.Add(i, tir.NewCast(tir.Int64, size)), i)
}

// mayExceed reports whether a size may be greater than another one.
func mayExceed(a, b tir.Expr) bool {
	x, known := constSize(a)
	y, sure := constSize(b)
	return !known || !sure || x > y
}
