// Package layout computes where the elements of a buffer lie in memory: its strides, the memory that it spans, and the
// position of an element. Positions and sizes count elements.
package layout

import (
	"fmt"

	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// Strides returns the distance in elements from one index of a buffer to the next, explicit or not.
func Strides(b *tir.Buffer) ([]tir.Expr, error) {
	if b.Strides != nil {
		if len(b.Strides) != len(b.Shape) {
			return nil, fmt.Errorf("buffer %s has %d dimensions and %d strides: give it one for each", b.Name,
				len(b.Shape), len(b.Strides))
		}
		return b.Strides, nil
	}
	out := make([]tir.Expr, len(b.Shape))
	var step tir.Expr = tir.I64(1)
	for d := len(out) - 1; d >= 0; d-- {
		out[d] = step
		if d > 0 {
			step = Product(step, b.Shape[d])
		}
	}
	return out, nil
}

// wide returns an integer in 64 bits.
func wide(e tir.Expr) tir.Expr {
	t := tir.Vector(tir.Int64, int(e.DType().Lanes))
	if c, ok := tir.IntValue(e); ok {
		return tir.I64(c)
	}
	if e.DType() == t {
		return e
	}
	return tir.NewCast(t, e)
}

// sumOf and productOf are sums and products in 64 bits, with trivial operands folded.
// Sum returns a + b in 64 bits, folded where a constant allows it.
func Sum(a, b tir.Expr) tir.Expr {
	x, okA := tir.IntValue(a)
	y, okB := tir.IntValue(b)
	switch {
	case okA && okB:
		return tir.I64(x + y)
	case okA && x == 0:
		return wide(b)
	case okB && y == 0:
		return wide(a)
	}
	return tir.Add(wide(a), wide(b))
}

// Product returns a·b in 64 bits, folded where a constant allows it.
func Product(a, b tir.Expr) tir.Expr {
	x, okA := tir.IntValue(a)
	y, okB := tir.IntValue(b)
	switch {
	case okA && okB:
		return tir.I64(x * y)
	case okA && x == 0, okB && y == 0:
		return tir.I64(0)
	case okA && x == 1:
		return wide(b)
	case okB && y == 1:
		return wide(a)
	}
	return tir.Mul(wide(a), wide(b))
}

// Size returns the number of elements from a buffer's address to the end of its last element; 0 for a buffer without
// elements, or, if that is known only at run time, some number that is not negative. The strides must not be negative.
func Size(b *tir.Buffer) (tir.Expr, error) {
	strides, err := Strides(b)
	if err != nil {
		return nil, err
	}
	var compact, last tir.Expr = tir.I64(1), tir.I64(1)
	if b.Offset != nil {
		last = Sum(last, b.Offset)
	}
	known := true
	for d, n := range b.Shape {
		size, isConst := tir.IntValue(n)
		step, constStep := tir.IntValue(strides[d])
		switch {
		case isConst && size == 0:
			return tir.I64(0), nil
		case isConst && size < 0:
			return nil, fmt.Errorf("buffer %s: shape[%d] is %d: want 0 or more", b.Name, d, size)
		case constStep && step < 0:
			return nil, fmt.Errorf("buffer %s: strides[%d] is %d: only strides that are not negative lead to one dimension: "+
				"let the buffer begin at its "+
				"lowest address, and turn the index around", b.Name, d, step)
		}
		known = known && isConst && constStep
		compact = Product(compact, n)
		last = Sum(last, Product(Sum(n, tir.I64(-1)), strides[d]))
	}
	switch {
	case b.Strides == nil && b.Offset == nil:
		return compact, nil
	case known && b.Offset == nil:
		return last, nil
	}
	if _, isConst := tir.IntValue(last); isConst {
		return last, nil
	}
	return tir.Max(last, tir.I64(0)), nil
}

// ConstantSize is Size if it is constant.
func ConstantSize(b *tir.Buffer) (int64, bool) {
	n, err := Size(b)
	if err != nil {
		return 0, false
	}
	if _, ok := tir.IntValue(n); !ok {
		n = arith.NewAnalyzer().Simplify(n)
	}
	return tir.IntValue(n)
}

// Element returns the position of the element at indices, counted in elements from the buffer's address. It is a vector
// if the last index is one. small means that it certainly fits 32 bits; then it has the widest type of the indices.
func Element(b *tir.Buffer, indices []tir.Expr, small bool) (tir.Expr, error) {
	strides, err := Strides(b)
	if err != nil {
		return nil, err
	}
	if len(indices) != len(b.Shape) {
		return nil, fmt.Errorf("buffer %s has %d dimensions, and %d indices", b.Name, len(b.Shape), len(indices))
	}
	t := tir.Int64
	if small {
		t = tir.Int32
		for _, x := range indices {
			if x.DType().Bits > 32 {
				t = tir.Int64
			}
		}
	}
	at := newIndexSum(t)
	if b.Offset != nil {
		at.add(b.Offset, tir.I64(1))
	}
	for d, x := range indices {
		if r, ok := x.(*tir.Ramp); ok && d == len(indices)-1 {
			return at.ramp(r, strides[d]), nil
		}
		at.add(x, strides[d])
	}
	return at.value(), nil
}

// indexSum is a sum of products of one integer type.
type indexSum struct {
	t     tir.Type
	parts []tir.Expr
	known int64
}

func newIndexSum(t tir.Type) *indexSum { return &indexSum{t: t} }

// as converts an integer to the type of the sum, keeping its lanes.
func (s *indexSum) as(e tir.Expr) tir.Expr {
	if c, ok := tir.IntValue(e); ok {
		return tir.IntConst(s.t, c)
	}
	if cast, ok := e.(*tir.Cast); ok && tir.Element(cast.Value.DType()) == s.t && cast.Type.Bits > s.t.Bits &&
		tir.IsInt(cast.Type) {
		return cast.Value // it was widened only for a multiplication
	}
	return tir.NewCast(tir.Vector(s.t, int(e.DType().Lanes)), e)
}

func (s *indexSum) product(a, b tir.Expr) tir.Expr {
	x, okA := tir.IntValue(a)
	y, okB := tir.IntValue(b)
	switch {
	case okA && okB:
		return tir.IntConst(s.t, x*y)
	case okA && x == 0, okB && y == 0:
		return tir.IntConst(s.t, 0)
	case okA && x == 1:
		return s.as(b)
	case okB && y == 1:
		return s.as(a)
	}
	return tir.Mul(s.as(a), s.as(b))
}

func (s *indexSum) add(x, stride tir.Expr) {
	p := s.product(x, stride)
	if c, ok := tir.IntValue(p); ok {
		s.known += c
		return
	}
	s.parts = append(s.parts, p)
}

func (s *indexSum) value() tir.Expr {
	if len(s.parts) == 0 {
		return tir.IntConst(s.t, s.known)
	}
	e := s.parts[0]
	for _, p := range s.parts[1:] {
		e = tir.Add(e, p)
	}
	if s.known != 0 {
		e = tir.Add(e, tir.IntConst(s.t, s.known))
	}
	return e
}

// ramp adds a ramp of indices. The sum stays a ramp, so that contiguous elements are recognized.
func (s *indexSum) ramp(r *tir.Ramp, stride tir.Expr) tir.Expr {
	s.add(r.Base, stride)
	return &tir.Ramp{Base: s.value(), Stride: s.product(r.Stride, stride), Lanes: r.Lanes}
}
