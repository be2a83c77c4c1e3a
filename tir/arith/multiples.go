package arith

import "tvmgo/tir"

// Multiples knows powers of two that divide integer expressions. Let binds variables; others may have any value.
type Multiples struct{ of map[*tir.Var]int64 }

// mostMultiple is the largest power of two that is of interest.
const mostMultiple = 1 << 12

// Let records the value of a variable.
func (m *Multiples) Let(v *tir.Var, value tir.Expr) {
	if !tir.IsInt(v.Type) || v.Type.Lanes != 1 {
		return
	}
	if m.of == nil {
		m.of = map[*tir.Var]int64{}
	}
	m.of[v] = m.Of(value)
}

// Of returns a power of two, at most 4096, that divides a scalar integer expression. Overflow does not matter: it
// keeps the last bits.
func (m *Multiples) Of(e tir.Expr) int64 {
	switch e := e.(type) {
	case *tir.IntImm:
		if e.Value == 0 {
			return mostMultiple
		}
		return min(e.Value&-e.Value, mostMultiple)
	case *tir.Var:
		return max(m.of[e], 1)
	case *tir.Cast:
		if tir.IsInt(e.Type) && tir.IsInt(e.Value.DType()) {
			return m.Of(e.Value)
		}
	case *tir.Select:
		return min(m.Of(e.Then), m.Of(e.Else))
	case *tir.Binary:
		if !tir.IsInt(e.A.DType()) {
			return 1
		}
		a, b := m.Of(e.A), m.Of(e.B)
		switch e.Op {
		case tir.OpAdd, tir.OpSub, tir.OpMin, tir.OpMax:
			return min(a, b)
		case tir.OpMul:
			return min(a*b, mostMultiple)
		case tir.OpFloorMod, tir.OpMod:
			return min(a, b)
		case tir.OpFloorDiv, tir.OpDiv:
			if d, ok := e.B.(*tir.IntImm); ok && d.Value > 0 && d.Value&(d.Value-1) == 0 && a%d.Value == 0 {
				return a / d.Value
			}
		}
	case *tir.Call:
		if e.Kind == tir.CallIntrinsic && e.Name == "likely" && len(e.Args) == 1 {
			return m.Of(e.Args[0])
		}
	}
	return 1
}

// Element returns a power of two that divides the position of the first element of an access to a buffer, counted from
// the buffer's address; the last index may be a vector of consecutive elements.
func (m *Multiples) Element(b *tir.Buffer, indices []tir.Expr) int64 {
	if len(indices) != len(b.Shape) || b.Strides != nil && len(b.Strides) != len(b.Shape) {
		return 1
	}
	all := int64(mostMultiple)
	if b.Offset != nil {
		all = m.Of(b.Offset)
	}
	step := int64(1)
	for d := len(indices) - 1; d >= 0; d-- {
		index := indices[d]
		if r, ok := index.(*tir.Ramp); ok {
			index = r.Base
		}
		if b.Strides != nil {
			step = m.Of(b.Strides[d])
		}
		all = min(all, m.Of(index)*step)
		if b.Strides == nil {
			step = min(step*m.Of(b.Shape[d]), mostMultiple)
		}
	}
	return all
}

// Contiguous reports whether the elements at a vector of indices are contiguous.
func Contiguous(b *tir.Buffer, indices []tir.Expr) bool {
	if len(indices) == 0 {
		return false
	}
	r, ok := indices[len(indices)-1].(*tir.Ramp)
	if !ok {
		return false
	}
	if s, ok := r.Stride.(*tir.IntImm); !ok || s.Value != 1 {
		return false
	}
	if b.Strides == nil {
		return true
	}
	last, ok := b.Strides[len(b.Strides)-1].(*tir.IntImm)
	return ok && last.Value == 1
}
