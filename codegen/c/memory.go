package c

import (
	"fmt"

	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// address returns the position of a buffer's element as an index from its address; for a vector of indices, that of
// lane i, or with rampBase that of the first lane.
func (w *writer) address(b *tir.Buffer, indices []tir.Expr, i string, rampBase bool) code {
	if b.DType.Lanes != 1 {
		w.fail("buffer %s has elements of type %s: give it another dimension instead of lanes", b.Name, b.DType)
		return atom("0")
	}
	if len(indices) != len(b.Shape) || b.Strides != nil && len(b.Strides) != len(b.Shape) {
		w.fail("buffer %s has %d dimensions, %d strides, and %d indices", b.Name, len(b.Shape), len(b.Strides), len(indices))
		return atom("0")
	}
	small := smallBuffer(b)
	one := func(d int) code {
		x := indices[d]
		if r, ok := x.(*tir.Ramp); ok && rampBase {
			x = r.Base
		}
		if w.beyond(x) {
			return w.in64(x)
		}
		if small && w.wide && !isConstant(x) && x.DType() == tir.Int32 {
			return w.wideIndex(x, i)
		}
		c := w.lane(x, i)
		if t := tir.Element(x.DType()); !small && t.Bits < 64 && !isConstant(x) {
			c = code{"(" + w.valueType(tir.Int64) + ")" + c.in(precUnary), precUnary}
		}
		return c
	}
	var sum code
	add := func(c code) {
		switch {
		case sum.text == "" || sum.text == "0":
			sum = c
		case c.text == "0":
		default:
			sum = code{sum.in(precAdd) + " + " + c.in(precMul), precAdd}
		}
	}
	times := func(c code, n tir.Expr) code {
		if k, ok := n.(*tir.IntImm); ok && k.Value == 1 || c.text == "0" {
			return c
		}
		return code{c.in(precMul) + " * " + w.lane(n, "").in(precUnary), precMul}
	}
	if b.Offset != nil {
		add(w.lane(b.Offset, ""))
	}
	if b.Strides != nil {
		for d := range indices {
			add(times(one(d), b.Strides[d]))
		}
	} else {
		var row code
		for d := range indices {
			c := one(d)
			switch {
			case d == 0 || row.text == "0":
				row = c
			default:
				row = times(row, b.Shape[d])
				if c.text != "0" {
					row = code{row.in(precAdd) + " + " + c.in(precMul), precAdd}
				}
			}
		}
		if len(indices) > 0 {
			add(row)
		}
	}
	if sum.text == "" {
		return atom("0")
	}
	return sum
}

// wideIndex returns an index in 64 bits, with 64-bit operands: then the compiler can compute one address for the common
// part of a statement, with constant offsets.
func (w *writer) wideIndex(e tir.Expr, i string) code {
	if b, ok := e.(*tir.Binary); ok && (b.Op == tir.OpAdd || b.Op == tir.OpSub || b.Op == tir.OpMul) {
		x, y := w.wideIndex(b.A, i), w.wideIndex(b.B, i)
		o := infix[b.Op]
		return code{x.in(o.prec) + " " + o.text + " " + y.in(o.prec+1), o.prec}
	}
	if isConstant(e) {
		return w.lane(e, i)
	}
	return code{"(" + w.valueType(tir.Int64) + ")" + w.lane(e, i).in(precUnary), precUnary}
}

// smallBuffer reports whether all indices of a buffer fit 32 bits.
func smallBuffer(b *tir.Buffer) bool {
	n, constant := constantCount(b)
	return constant && b.Offset == nil && n >= 0 && n < 1<<31
}

// pointer returns a buffer's address, as a pointer to the storage type of its elements.
func (w *writer) pointer(b *tir.Buffer) string {
	name, ok := w.vars[b.Data]
	if !ok {
		w.fail("buffer %s has no memory here: it is neither a parameter's, nor allocated around this", b.Name)
		return "NULL"
	}
	element := w.storageType(b.DType)
	if w.types[b.Data] == element {
		return name
	}
	if w.kernels {
		return fmt.Sprintf("((%s)%s)", w.pointerType(b), name)
	}
	return fmt.Sprintf("((%s*)%s)", w.aliasType(element), name)
}

// element returns one element of a buffer, in its storage type.
func (w *writer) element(b *tir.Buffer, indices []tir.Expr, i string) string {
	return w.pointer(b) + "[" + w.address(b, indices, i, false).text + "]"
}

func (w *writer) load(e *tir.BufferLoad, i string) code {
	w.valueType(e.Buffer.DType) // an error if the type is not supported
	x := atom(w.element(e.Buffer, e.Indices, i))
	switch t := e.Buffer.DType; {
	case tir.IsBool(t):
		return code{x.text + " != 0", precEqual}
	case w.isNarrow(t):
		w.snippet(narrowName(t))
		return atom("tvmgo_from_" + narrowName(t) + "(" + x.text + ")")
	}
	return x
}

// stored converts a value to its storage type.
func (w *writer) stored(t tir.Type, c code) string {
	if w.isNarrow(t) {
		w.snippet(narrowName(t))
		return "tvmgo_to_" + narrowName(t) + "(" + c.text + ")"
	}
	return c.text
}

func (w *writer) store(s *tir.BufferStore) {
	b, t := s.Buffer, s.Value.DType()
	lanes := int(lanesOf(s.Indices).Lanes)
	if tir.Element(t) != tir.Element(b.DType) || int(t.Lanes) != lanes {
		w.fail("a value of type %s is stored in buffer %s of type %s at %d indices: cast it, or broadcast it", t, b.Name,
			b.DType, lanes)
		return
	}
	if lanes == 1 {
		value := w.expr(s.Value)
		w.line("%s = %s;", w.element(b, s.Indices, ""), w.stored(b.DType, value))
		return
	}
	if w.bundles(t) {
		w.storeBundle(s)
		return
	}
	if w.isNative(t) && w.nativeTree(s.Value) && (w.hooks.Vectors == nil || arith.Contiguous(b, s.Indices)) {
		w.wide = w.hooks.Vectors == nil
		defer func() { w.wide = false }()
		value := w.vec(s.Value)
		if own, ok := w.own(t, b, s.Indices); ok {
			w.line("%s = %s;", own, value.text)
			return
		}
		if w.hooks.Vectors != nil {
			w.line("%s;", w.hooks.Vectors.Store(t, "&"+w.pointer(b)+"["+w.address(b, s.Indices, "", true).text+"]", value.text))
			return
		}
		if arith.Contiguous(b, s.Indices) {
			to := fmt.Sprintf("%s[%s]", w.pointer(b), w.address(b, s.Indices, "", true).text)
			if w.nonTemporal[b.Data] && lanes*int(t.Bits)/8 >= shortestNonTemporal {
				w.storePastCaches(t, to, value.text)
				return
			}
			w.line("*(%s*)&%s = %s;", w.memoryVector(t), to, value.text)
			return
		}
		name := w.temp("value")
		w.line("const %s %s = %s;", w.vectorType(t), name, value.text)
		w.scatter(s, t, name)
		return
	}
	if wide, ok := w.narrowed(s.Value); ok && arith.Contiguous(b, s.Indices) {
		w.storeHalves(s, wide)
		return
	}
	w.scatter(s, t, w.lanes(s.Value))
}

// scatter stores the lanes of a vector, or of an array.
func (w *writer) scatter(s *tir.BufferStore, t tir.Type, name string) {
	w.overLanes(t, func() {
		w.line("%s = %s;", w.element(s.Buffer, s.Indices, "lane"), w.stored(s.Buffer.DType, atom(name+"[lane]")))
	})
}

// overLanes writes a loop over the lanes of a type.
func (w *writer) overLanes(t tir.Type, write func()) {
	w.line("for (int lane = 0; lane < %d; ++lane) {", t.Lanes)
	w.indented(write)
	w.line("}")
}

// lanes computes all lanes of a vector into an array, and returns the array's name.
func (w *writer) lanes(e tir.Expr) string {
	t := e.DType()
	if v, ok := e.(*tir.Var); ok && w.arrays[v] {
		return w.vars[v]
	}
	if l, ok := e.(*tir.Let); ok { // evaluated once, not for each lane
		w.bind(l.Var, l.Value)
		return w.lanes(l.Body)
	}
	if w.bundles(t) {
		return w.spread(e)
	}
	e = w.hoist(e)
	name := w.temp("value")
	w.line("%s %s[%d];", w.valueType(t), name, t.Lanes)
	w.overLanes(t, func() {
		x := w.lane(e, "lane")
		w.line("%s[lane] = %s;", name, x.text)
	})
	return name
}

// hoist computes subexpressions that are equal in all lanes of a vector once, before the lanes. Branches that might not
// be evaluated are left unchanged.
func (w *writer) hoist(e tir.Expr) tir.Expr {
	keep := func(x tir.Expr) tir.Expr {
		if _, isVar := x.(*tir.Var); isVar || isConstant(x) {
			return x
		}
		v := tir.NewVar("scalar", x.DType())
		w.fn.used[v] = true
		w.bind(v, x)
		return v
	}
	m := tir.Mutator{PreExpr: func(e tir.Expr) (tir.Expr, bool) {
		switch e := e.(type) {
		case *tir.Broadcast:
			return &tir.Broadcast{Value: keep(e.Value), Lanes: e.Lanes}, true
		case *tir.Ramp:
			return &tir.Ramp{Base: keep(e.Base), Stride: keep(e.Stride), Lanes: e.Lanes}, true
		case *tir.Let:
			return e, true
		case *tir.Call:
			return e, e.Name == "if_then_else" && e.Kind == tir.CallIntrinsic
		case *tir.Binary:
			return e, e.Op.IsLogical()
		}
		return e, tir.Opaque(e)
	}}
	return m.MutateExpr(e)
}

// lanesOf returns the type of the last index.
func lanesOf(indices []tir.Expr) tir.Type {
	if len(indices) == 0 {
		return tir.Int32
	}
	return indices[len(indices)-1].DType()
}
