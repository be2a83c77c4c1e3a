package narrow

import (
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/layout"
)

// narrowStorage describes how a buffer of a narrow type is stored.
type narrowStorage struct {
	buffer *tir.Buffer
	bytes  *tir.Buffer // of uint8, over the same memory
	packed bool        // elements share bytes
}

// store determines how a buffer is stored; nil for a buffer whose type is not narrow. outside means that others access
// the memory.
func (l *legalizer) store(b *tir.Buffer, outside bool) *narrowStorage {
	if l.legal(b.DType) {
		return nil
	}
	if x := l.own[b.Data]; outside && x != nil {
		l.fail("buffer %s is a view of buffer %s of type %s: legalize types before memory is shared", b.Name, x.Name,
			x.DType)
	}
	n := &narrowStorage{buffer: b, packed: outside && tir.SharesBytes(b.DType)}
	if n.packed && b.DType.Lanes != 1 {
		l.fail("buffer %s has elements of type %s, of which several share a byte: give it another dimension instead "+
			"of lanes", b.Name, b.DType)
	}
	c := *b
	c.DType = tir.Vector(tir.UInt8, int(b.DType.Lanes))
	if outside {
		c.Name = b.Name + "_bytes"
	}
	if n.packed {
		count, err := layout.Size(b)
		if err != nil {
			l.fail("%w", err)
			count = tir.I64(0)
		}
		c.Shape = []tir.Expr{tir.FloorDiv(layout.Sum(layout.Product(count, tir.I64(int64(b.DType.Bits))), tir.I64(7)),
			tir.I64(8))}
		if k, ok := tir.IntValue(count); ok {
			c.Shape = []tir.Expr{tir.I64((k*int64(b.DType.Bits) + 7) / 8)}
		}
		c.Strides, c.Offset = nil, nil
	}
	if !outside && tir.SharesBytes(b.DType) {
		l.own[b.Data] = b
	}
	n.bytes = &c
	l.storage[b] = n
	return n
}

// code and value convert a value of a narrow type to its bits in a byte, and back.
func code(t tir.Type, e tir.Expr) tir.Expr {
	t = tir.Element(t)
	switch {
	case tir.IsFloat(t):
		e = narrowFloatOf(t).encode(e, realOf(t))
	default:
		e = bitsAnd(e, 1<<t.Bits-1)
	}
	return tir.NewCast(tir.Vector(tir.UInt8, int(e.DType().Lanes)), e)
}

func value(t tir.Type, bits tir.Expr) tir.Expr {
	t = tir.Element(t)
	lanes := int(bits.DType().Lanes)
	if tir.IsFloat(t) {
		r := realOf(t)
		return narrowFloatOf(t).decode(tir.NewCast(tir.Vector(r.bits, lanes), bits), r)
	}
	return wrapInt(t, tir.NewCast(wideType(tir.Vector(t, lanes)), bits))
}

// read returns an element of a buffer, or, with a vector for the last index, several.
func (l *legalizer) read(n *narrowStorage, indices []tir.Expr) tir.Expr {
	t := n.buffer.DType
	if !n.packed {
		return value(t, &tir.BufferLoad{Buffer: n.bytes, Indices: indices})
	}
	at, err := layout.Element(n.buffer, indices, false)
	if err != nil {
		l.fail("%w", err)
		return tir.I32(0)
	}
	return let("at", at, func(at tir.Expr) tir.Expr {
		first := bitAt(at, t)
		return value(t, bitsAnd(l.window(n, first), 1<<t.Bits-1))
	})
}

// bitAt returns the first bit of a packed element.
func bitAt(at tir.Expr, t tir.Type) tir.Expr { return tir.Mul(at, constantLike(at, int64(t.Bits))) }

func byteOf(bit tir.Expr) tir.Expr { return shiftRight(bit, 3) }

// within returns the position of a bit in its byte, as uint32.
func within(bit tir.Expr) tir.Expr {
	return tir.NewCast(tir.Vector(tir.UInt32, int(bit.DType().Lanes)), bitsAnd(bit, 7))
}

func (l *legalizer) byteAt(n *narrowStorage, at tir.Expr) tir.Expr {
	return tir.NewCast(tir.Vector(tir.UInt32, int(at.DType().Lanes)),
		&tir.BufferLoad{Buffer: n.bytes, Indices: []tir.Expr{at}})
}

// window returns as many bits of memory as an element has, starting at a bit.
func (l *legalizer) window(n *narrowStorage, bit tir.Expr) tir.Expr {
	low := l.byteAt(n, byteOf(bit))
	if 8%n.buffer.DType.Bits != 0 { // an element may extend into the next byte, which then exists
		next := l.byteAt(n, tir.Add(byteOf(bit), constantLike(bit, 1)))
		goesOn := tir.GT(bitsAnd(bit, 7), constantLike(bit, int64(8-n.buffer.DType.Bits)))
		more := tir.NewCall(tir.CallIntrinsic, next.DType(), "if_then_else", goesOn, shiftLeft(next, 8),
			constantLike(next, 0))
		low = bitsOr(low, more)
	}
	return tir.Intrin("shift_right", low, within(bit))
}

// write stores a value.
func (l *legalizer) write(n *narrowStorage, indices []tir.Expr, v tir.Expr) tir.Stmt {
	t := n.buffer.DType
	bits := code(t, v)
	if !n.packed {
		return &tir.BufferStore{Buffer: n.bytes, Value: bits, Indices: indices}
	}
	if l.parallel {
		l.fail("buffer %s of type %s is written by threads of a device, and several of its elements share a byte: store "+
			"bytes, or run the loop on the host",
			n.buffer.Name, t)
	}
	at, err := layout.Element(n.buffer, indices, false)
	if err != nil {
		l.fail("%w", err)
		return &tir.Seq{}
	}
	all, where := tir.NewVar("bits", bits.DType()), tir.NewVar("at", at.DType())
	var body tir.Stmt
	if lanes := int(bits.DType().Lanes); lanes == 1 {
		body = l.put(n, where, all)
	} else { // sequentially: they share bytes
		list := make([]tir.Stmt, lanes)
		for k := range lanes {
			lane := func(e tir.Expr) tir.Expr { return &tir.Shuffle{Vectors: []tir.Expr{e}, Indices: []int{k}} }
			list[k] = l.put(n, lane(where), lane(all))
		}
		body = tir.Sequence(list...)
	}
	return &tir.LetStmt{Var: all, Value: bits, Body: &tir.LetStmt{Var: where, Value: at, Body: body}}
}

// put stores the bits of one packed element.
func (l *legalizer) put(n *narrowStorage, at, bits tir.Expr) tir.Stmt {
	width := int(n.buffer.DType.Bits)
	bit, shift := tir.NewVar("bit", at.DType()), tir.NewVar("shift", tir.UInt32)
	cover := func(index, mask, value tir.Expr) tir.Stmt {
		kept := tir.Intrin("bitwise_and", l.byteAt(n, index), tir.Intrin("bitwise_not", mask))
		return &tir.BufferStore{Buffer: n.bytes,
			Value:   tir.NewCast(tir.UInt8, bitsOr(kept, tir.Intrin("bitwise_and", value, mask))),
			Indices: []tir.Expr{index}}
	}
	mask := tir.Intrin("shift_left", tir.IntConst(tir.UInt32, 1<<width-1), shift)
	shifted := tir.Intrin("shift_left", tir.NewCast(tir.UInt32, bits), shift)
	list := []tir.Stmt{cover(byteOf(bit), mask, shifted)}
	if 8%width != 0 {
		list = append(list, &tir.If{Cond: tir.GT(shift, tir.IntConst(tir.UInt32, int64(8-width))),
			Then: cover(tir.Add(byteOf(bit), constantLike(bit, 1)), shiftRight(mask, 8), shiftRight(shifted, 8))})
	}
	return &tir.LetStmt{Var: bit, Value: bitAt(at, n.buffer.DType), Body: &tir.LetStmt{Var: shift, Value: within(bit),
		Body: tir.Sequence(slices.Clone(list)...)}}
}
