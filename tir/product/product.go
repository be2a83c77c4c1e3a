// Package product recognizes matrix products in loops, so that a library can compute them.
package product

import (
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/compare"
)

// Product is a matrix product C = A·B that loops compute, once for each iteration of Batch.
type Product struct {
	M, N, K tir.Expr // C is M×N, A M×K, B K×N
	A, B, C Operand
	Batch   []*tir.For // loops without bodies, whose variables occur in the operands' indices
	// Conds must hold at run time for the loops to be this product: conditions on strides that are not known before.
	Conds []tir.Expr
}

// Operand is a matrix in a buffer.
type Operand struct {
	Buffer     *tir.Buffer
	First      []tir.Expr // the indices of its first element
	Transposed bool       // stored column by column
	Lead       tir.Expr   // elements from one row to the next; from one column to the next if transposed
}

// Of returns the matrix product that a function computes; false if it computes anything else.
func Of(f *tir.PrimFunc) (*Product, bool) {
	body := f.Body
	for {
		a, ok := body.(*tir.AttrStmt)
		if !ok {
			break
		}
		body = a.Body
	}
	p := Find(body)
	if p == nil || len(p.Conds) > 0 {
		return nil, false
	}
	for _, v := range f.Params {
		if f.Buffers[v] == p.C.Buffer {
			return p, true
		}
	}
	return nil, false
}

// Find recognizes loops that set each element of a buffer to zero, and add to it all products of a row and a
// column. Loops may be split evenly and reordered, and may be of any kind except those of a device. It returns nil for
// all other loops.
func Find(s tir.Stmt) *Product {
	common, s := loops(s)
	seq, ok := s.(*tir.Seq)
	if !ok || len(seq.Stmts) != 2 {
		return nil
	}
	first, init := storeUnder(seq.Stmts[0])
	inner, update := storeUnder(seq.Stmts[1])
	if init == nil || update == nil || init.Buffer != update.Buffer || !isZero(init.Value) {
		return nil
	}
	c := update.Buffer
	if t := c.DType; t != tir.Float32 && t != tir.Float64 || len(init.Indices) != len(c.Shape) ||
		len(update.Indices) != len(c.Shape) {
		return nil
	}
	a, b := addedProduct(update)
	if a == nil {
		return nil
	}
	for _, x := range []*tir.Buffer{a.Buffer, b.Buffer} {
		if x.DType != c.DType || x == c || x.Data == c.Data {
			return nil
		}
	}
	m := &match{extents: map[*tir.Var]tir.Expr{}}
	for _, list := range [][]*tir.For{common, first, inner} {
		for _, l := range list {
			if !m.addLoop(l) {
				return nil
			}
		}
	}
	if !m.sameElements(c, init, update, vars(common), vars(first), vars(inner)) {
		return nil
	}
	return m.product(a, b, c)
}

// loops removes the loops around a statement.
func loops(s tir.Stmt) (list []*tir.For, body tir.Stmt) {
	for {
		l, ok := s.(*tir.For)
		if !ok || l.Kind == tir.ThreadBind {
			return list, s
		}
		list, s = append(list, l), l.Body
	}
}

// storeUnder returns the store inside nested loops.
func storeUnder(s tir.Stmt) ([]*tir.For, *tir.BufferStore) {
	list, s := loops(s)
	store, _ := s.(*tir.BufferStore)
	return list, store
}

func vars(list []*tir.For) []*tir.Var {
	all := make([]*tir.Var, len(list))
	for i, l := range list {
		all[i] = l.Var
	}
	return all
}

func isZero(e tir.Expr) bool {
	c, ok := e.(*tir.FloatImm)
	return ok && c.Value == 0
}

// addedProduct returns the factors A and B of C[i] = C[i] + A·B.
func addedProduct(s *tir.BufferStore) (a, b *tir.BufferLoad) {
	sum, ok := s.Value.(*tir.Binary)
	if !ok || sum.Op != tir.OpAdd {
		return nil, nil
	}
	for _, order := range [][2]tir.Expr{{sum.A, sum.B}, {sum.B, sum.A}} {
		old, ok := order[0].(*tir.BufferLoad)
		if !ok || old.Buffer != s.Buffer || len(old.Indices) != len(s.Indices) {
			continue
		}
		same := true
		for d := range old.Indices {
			same = same && compare.Equal(old.Indices[d], s.Indices[d])
		}
		product, ok := order[1].(*tir.Binary)
		if !same || !ok || product.Op != tir.OpMul {
			continue
		}
		a, ok := product.A.(*tir.BufferLoad)
		b, both := product.B.(*tir.BufferLoad)
		if ok && both {
			return a, b
		}
	}
	return nil, nil
}

// match records what is known of the loops and of the dimensions of C.
type match struct {
	extents map[*tir.Var]tir.Expr
	dims    []form // indices of C in the accumulating loops
	reduced []*tir.Var
}

func (m *match) addLoop(l *tir.For) bool {
	if zero, ok := tir.IntValue(l.Min); !ok || zero != 0 || m.extents[l.Var] != nil {
		return false
	}
	m.extents[l.Var] = l.Extent
	return true
}

// form is a sum of variables times numbers.
type form struct {
	coef map[*tir.Var]int64
	rest int64
}

func (f form) equal(g form) bool {
	if len(f.coef) != len(g.coef) {
		return false
	}
	for v, c := range f.coef {
		if g.coef[v] != c {
			return false
		}
	}
	return true
}

// linear returns an index as a form; false if it is not one. The variables are those of loops.
func (m *match) linear(e tir.Expr) (form, bool) {
	f := form{coef: map[*tir.Var]int64{}}
	ok := m.addLinear(&f, e, 1)
	for v, c := range f.coef {
		if c == 0 {
			delete(f.coef, v)
		}
	}
	return f, ok
}

func (m *match) addLinear(f *form, e tir.Expr, by int64) bool {
	const most = 1 << 40 // far below the limit at which numbers overflow
	if by > most || by < -most {
		return false
	}
	switch e := e.(type) {
	case *tir.IntImm:
		if e.Value > most/max(by, -by, 1) || e.Value < -most/max(by, -by, 1) {
			return false
		}
		f.rest += by * e.Value
		return true
	case *tir.Var:
		f.coef[e] += by
		return m.extents[e] != nil
	case *tir.Cast:
		return tir.IsInt(e.Type) && tir.IsInt(e.Value.DType()) && e.Type.Bits >= e.Value.DType().Bits &&
			m.addLinear(f, e.Value, by)
	case *tir.Binary:
		switch e.Op {
		case tir.OpAdd:
			return m.addLinear(f, e.A, by) && m.addLinear(f, e.B, by)
		case tir.OpSub:
			return m.addLinear(f, e.A, by) && m.addLinear(f, e.B, -by)
		case tir.OpMul:
			if c, ok := tir.IntValue(e.B); ok && c < most && c > -most {
				return m.addLinear(f, e.A, by*c)
			}
			if c, ok := tir.IntValue(e.A); ok && c < most && c > -most {
				return m.addLinear(f, e.B, by*c)
			}
		}
	}
	return false
}

// covers returns the number n of values of a form if it takes each of 0 to n-1 exactly once, as the digits of a number
// do; nil otherwise.
func (m *match) covers(f form) tir.Expr {
	if f.rest != 0 {
		return nil
	}
	type digit struct {
		coef   int64
		extent tir.Expr
	}
	var digits []digit
	for v, c := range f.coef {
		if n, ok := tir.IntValue(m.extents[v]); ok && n == 1 {
			continue
		}
		digits = append(digits, digit{c, m.extents[v]})
	}
	if len(digits) == 0 {
		return tir.I64(1)
	}
	slices.SortFunc(digits, func(a, b digit) int { return int(min(max(a.coef-b.coef, -1), 1)) })
	place := int64(1)
	for i, d := range digits {
		if d.coef != place {
			return nil
		}
		n, ok := tir.IntValue(d.extent)
		if !ok {
			if i == len(digits)-1 && place == 1 {
				return d.extent
			}
			return nil
		}
		place *= n
		if n <= 0 || place > 1<<40 {
			return nil
		}
	}
	return tir.I64(place)
}

// sameElements reports whether, within the common loops, both stores write the same elements of C, and together all of
// C. It records which loops run over the dimensions, and which over the sum.
func (m *match) sameElements(c *tir.Buffer, init, update *tir.BufferStore, common, first, inner []*tir.Var) bool {
	used := map[*tir.Var]bool{}
	for d, size := range c.Shape {
		set, ok := m.linear(init.Indices[d])
		added, both := m.linear(update.Indices[d])
		if !ok || !both || !sameSize(m.covers(set), size) || !sameSize(m.covers(added), size) {
			return false
		}
		for _, v := range common {
			if set.coef[v] != added.coef[v] {
				return false
			}
		}
		for v := range set.coef {
			if slices.Contains(inner, v) {
				return false
			}
		}
		for v := range added.coef {
			if used[v] || slices.Contains(first, v) {
				return false // the loop runs along a diagonal, or its position is unknown
			}
			used[v] = true
		}
		m.dims = append(m.dims, added)
	}
	for _, v := range common {
		if n, ok := tir.IntValue(m.extents[v]); !used[v] && !(ok && n == 1) {
			return false // it would add a product more than once
		}
	}
	for _, v := range inner {
		if !used[v] {
			m.reduced = append(m.reduced, v)
		}
	}
	return len(m.reduced) > 0
}

// sameSize reports whether two sizes are the same number, or the same expression.
func sameSize(a, b tir.Expr) bool {
	if a == nil || b == nil {
		return false
	}
	x, ok := tir.IntValue(a)
	if y, both := tir.IntValue(b); ok || both {
		return ok && both && x == y
	}
	return compare.Equal(a, b)
}
