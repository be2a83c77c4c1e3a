package te

import (
	"fmt"
	"math"

	"tvmgo/tir"
)

// ReduceAxis makes an axis for reductions. It runs from least to least+extent-1.
func ReduceAxis(least, extent tir.Expr, name string) *tir.IterVar {
	t := tir.Int32
	if least != nil && extent != nil && (least.DType() == tir.Int64 || extent.DType() == tir.Int64) {
		t = tir.Int64
	}
	return &tir.IterVar{Var: tir.NewVar(name, t), Min: widen(least, t), Extent: widen(extent, t), Kind: tir.IterReduce}
}

// widen converts an integer expression to type t. It returns other expressions unchanged; their error is found later.
func widen(e tir.Expr, t tir.Type) tir.Expr {
	if e == nil || !tir.IsInt(e.DType()) || e.DType() == t {
		return e
	}
	if c, ok := e.(*tir.IntImm); ok {
		return tir.IntConst(t, c.Value)
	}
	return tir.NewCast(t, e)
}

// Reducer combines values one after another. It must be associative and commutative, because schedules change the
// order.
type Reducer struct {
	combine  func(left, right []tir.Expr) []tir.Expr
	identity func(types []tir.Type) []tir.Expr
}

// NewReducer makes a reducer. combine merges the values accumulated so far (left) with further ones (right); identity
// returns the initial values. Several values may be reduced together; then all lists have the same length.
func NewReducer(combine func(left, right []tir.Expr) []tir.Expr, identity func(types []tir.Type) []tir.Expr) *Reducer {
	return &Reducer{combine, identity}
}

// Over reduces sources over all points of axes. It returns one value per source: the results of ComputeMulti, or, for
// one source, the body of Compute.
func (r *Reducer) Over(sources []tir.Expr, axes ...*tir.IterVar) []tir.Expr {
	return r.OverWhere(nil, sources, axes...)
}

// OverWhere is Over, restricted to the points of axes where cond is true.
func (r *Reducer) OverWhere(cond tir.Expr, sources []tir.Expr, axes ...*tir.IterVar) []tir.Expr {
	out := make([]tir.Expr, max(1, len(sources)))
	comb, err := r.combiner(cond, sources, axes)
	for i := range out {
		if err != nil {
			out[i] = &tir.Bad{Err: fmt.Errorf("reduction: %w", err)}
		} else {
			out[i] = &tir.Reduce{Combiner: comb, Sources: sources, Axes: axes, Cond: cond, Value: i}
		}
	}
	return out
}

func (r *Reducer) combiner(cond tir.Expr, sources []tir.Expr, axes []*tir.IterVar) (*tir.Combiner, error) {
	if r == nil || r.combine == nil || r.identity == nil {
		return nil, fmt.Errorf("the reducer lacks a function: make it with NewReducer")
	}
	if err := checkReduced(cond, sources, axes); err != nil {
		return nil, err
	}
	c := &tir.Combiner{}
	var types []tir.Type
	var left, right []tir.Expr
	for _, x := range sources {
		t := x.DType()
		types = append(types, t)
		c.Left, c.Right = append(c.Left, tir.NewVar("x", t)), append(c.Right, tir.NewVar("y", t))
		left, right = append(left, c.Left[len(left)]), append(right, c.Right[len(right)])
	}
	c.Results, c.Identity = r.combine(left, right), r.identity(types)
	for what, list := range map[string][]tir.Expr{"results": c.Results, "identities": c.Identity} {
		if len(list) != len(sources) {
			return nil, fmt.Errorf("%d values are reduced, but the reducer returns %d %s", len(sources), len(list), what)
		}
	}
	for i, t := range types {
		for what, e := range map[string]tir.Expr{"result": c.Results[i], "identity": c.Identity[i]} {
			switch b, bad := e.(*tir.Bad); {
			case e == nil:
				return nil, fmt.Errorf("%s %d of the reducer is nil", what, i)
			case bad:
				return nil, b.Err
			case e.DType() != t:
				return nil, fmt.Errorf("%s %d of the reducer has type %s, and the value has type %s: cast it", what, i,
					e.DType(), t)
			case hasLoad(e):
				return nil, fmt.Errorf("%s %d of the reducer reads a tensor: it may only use its operands", what, i)
			}
		}
	}
	return c, nil
}

func checkReduced(cond tir.Expr, sources []tir.Expr, axes []*tir.IterVar) error {
	if len(sources) == 0 {
		return fmt.Errorf("there is nothing to reduce")
	}
	for i, x := range sources {
		if x == nil {
			return fmt.Errorf("value %d is nil", i)
		}
		if b, ok := x.(*tir.Bad); ok {
			return b.Err
		}
	}
	if b, ok := cond.(*tir.Bad); ok {
		return b.Err
	}
	if cond != nil && cond.DType() != tir.Bool {
		return fmt.Errorf("the condition has type %s: want bool", cond.DType())
	}
	if len(axes) == 0 {
		return fmt.Errorf("no axis is given: want one or more, made by ReduceAxis")
	}
	seen := map[*tir.Var]bool{}
	for i, a := range axes {
		if a == nil || a.Var == nil {
			return fmt.Errorf("axis %d is nil", i)
		}
		switch {
		case a.Kind != tir.IterReduce:
			return fmt.Errorf("axis %s has kind %s: want one made by ReduceAxis", a.Var.Name, a.Kind)
		case seen[a.Var]:
			return fmt.Errorf("axis %s is given twice", a.Var.Name)
		case a.Min != nil && hasLoad(a.Min):
			return fmt.Errorf("the start of axis %s reads a tensor: want constants and variables", a.Var.Name)
		case a.Min == nil || !isIndex(a.Min.DType()):
			if b, ok := a.Min.(*tir.Bad); ok {
				return b.Err
			}
			return fmt.Errorf("the start of axis %s is not of type int32 or int64", a.Var.Name)
		}
		if err := checkSize(a.Extent); err != nil {
			return fmt.Errorf("axis %s: %w", a.Var.Name, err)
		}
		seen[a.Var] = true
	}
	return nil
}

func hasLoad(e tir.Expr) bool {
	return tir.Contains(e, func(n any) bool {
		switch n.(type) {
		case *tir.ProducerLoad, *tir.BufferLoad, *tir.Reduce:
			return true
		}
		return false
	})
}

// binaryReducer makes a reducer of one value from a binary operation.
func binaryReducer(op tir.BinaryOp, identity func(tir.Type) tir.Expr) *Reducer {
	return NewReducer(func(l, r []tir.Expr) []tir.Expr { return []tir.Expr{tir.NewBinary(op, l[0], r[0])} },
		func(types []tir.Type) []tir.Expr { return []tir.Expr{identity(types[0])} })
}

var (
	sumReducer  = binaryReducer(tir.OpAdd, func(t tir.Type) tir.Expr { return tir.Const(t, 0) })
	prodReducer = binaryReducer(tir.OpMul, func(t tir.Type) tir.Expr { return tir.Const(t, 1) })
	maxReducer  = binaryReducer(tir.OpMax, least)
	minReducer  = binaryReducer(tir.OpMin, greatest)
)

// Sum is the sum over all points of axes; 0 for no points.
func Sum(e tir.Expr, axes ...*tir.IterVar) tir.Expr {
	return sumReducer.Over([]tir.Expr{e}, axes...)[0]
}

// Prod is the product over all points of axes; 1 for no points.
func Prod(e tir.Expr, axes ...*tir.IterVar) tir.Expr {
	return prodReducer.Over([]tir.Expr{e}, axes...)[0]
}

// Max is the greatest value over all points of axes; for no points the least value of the type.
func Max(e tir.Expr, axes ...*tir.IterVar) tir.Expr {
	return maxReducer.Over([]tir.Expr{e}, axes...)[0]
}

// Min is the least value over all points of axes; for no points the greatest value of the type.
func Min(e tir.Expr, axes ...*tir.IterVar) tir.Expr {
	return minReducer.Over([]tir.Expr{e}, axes...)[0]
}

// ArgMax returns two results for ComputeMulti: the position of the greatest value, and that value. Positions count from
// 0 over the points of axes, with the last axis fastest. If several values are equal, the position is that of the
// first. For no points it is the greatest value of the position's type.
func ArgMax(e tir.Expr, axes ...*tir.IterVar) []tir.Expr { return argReduce(tir.OpGT, least, e, axes) }

// ArgMin returns the position of the least value, and the value, as ArgMax does.
func ArgMin(e tir.Expr, axes ...*tir.IterVar) []tir.Expr {
	return argReduce(tir.OpLT, greatest, e, axes)
}

func argReduce(better tir.BinaryOp, start func(tir.Type) tir.Expr, e tir.Expr, axes []*tir.IterVar) []tir.Expr {
	if err := checkReduced(nil, []tir.Expr{e}, axes); err != nil {
		bad := &tir.Bad{Err: fmt.Errorf("reduction: %w", err)}
		return []tir.Expr{bad, bad}
	}
	position := tir.Sub(axes[0].Var, axes[0].Min)
	for _, a := range axes[1:] {
		position = tir.Add(tir.Mul(position, a.Extent), tir.Sub(a.Var, a.Min))
	}
	r := NewReducer(func(l, r []tir.Expr) []tir.Expr {
		keep := tir.Or(tir.NewBinary(better, l[1], r[1]), tir.And(tir.EQ(l[1], r[1]), tir.LE(l[0], r[0])))
		return []tir.Expr{tir.NewSelect(keep, l[0], r[0]), tir.NewSelect(keep, l[1], r[1])}
	}, func(types []tir.Type) []tir.Expr { return []tir.Expr{greatest(types[0]), start(types[1])} })
	return r.Over([]tir.Expr{newAnalyzer().Simplify(position), e}, axes...)
}

// least is the least value of a type.
func least(t tir.Type) tir.Expr {
	switch {
	case tir.IsFloat(t):
		return tir.Const(t, math.Inf(-1))
	case tir.IsSigned(t):
		return tir.IntConst(t, -1<<(t.Bits-1))
	}
	return tir.IntConst(t, 0)
}

// greatest is the greatest value of a type.
func greatest(t tir.Type) tir.Expr {
	switch {
	case tir.IsFloat(t):
		return tir.Const(t, math.Inf(1))
	case tir.IsSigned(t):
		return tir.IntConst(t, 1<<(t.Bits-1)-1)
	case t == tir.UInt64:
		return &tir.IntImm{Type: t, Value: -1}
	case tir.IsInt(t):
		return tir.IntConst(t, 1<<t.Bits-1)
	}
	return tir.Const(t, 1)
}
