package c

import (
	"fmt"
	"strconv"
	"strings"

	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// Components is implemented by the Vectors of a language that loads and stores vectors as a whole, and computes their
// lanes one by one, such as CUDA C. Vectors in memory must be aligned: see [transform.Language.Widest].
type Components interface {
	Vectors
	// Lane returns one lane of a vector variable.
	Lane(t tir.Type, vector string, lane int) string
	// Widest returns how many elements of an access are accessed at once.
	Widest(b *tir.Buffer, indices []tir.Expr, m *arith.Multiples) int
	// Snippet returns the snippet that defines a vector type; "" for those of the language.
	Snippet(t tir.Type) string
	// Operator reports whether the language has an operation on vectors of a type.
	Operator(op tir.BinaryOp, t tir.Type) bool
}

// maxBundle is the largest number of lanes that are written out; more are computed in a loop.
const maxBundle = 16

// bundles reports whether vectors of a type are computed lane by lane, each written out.
func (w *writer) bundles(t tir.Type) bool {
	if t.Lanes < 2 || t.Lanes > maxBundle {
		return false
	}
	_, ok := w.hooks.Vectors.(Components)
	return ok
}

// bundle returns an expression as a vector of the language.
func (w *writer) bundle(e tir.Expr) code {
	t := e.DType()
	v := w.hooks.Vectors.(Components)
	w.vectorType(t)
	switch e := e.(type) {
	case *tir.Var:
		if !w.arrays[e] && w.vars[e] != "" {
			return atom(w.vars[e])
		}
	case *tir.BufferLoad:
		if w.isNative(t) && !tir.IsBool(t) && w.widest(e.Buffer, e.Indices) == int(t.Lanes) {
			return atom(v.Load(t, w.addressOfVector(e.Buffer, e.Indices)))
		}
	case *tir.Let:
		w.bind(e.Var, e.Value)
		return w.bundle(e.Body)
	case *tir.Binary:
		if w.isNative(t) && v.Operator(e.Op, t) {
			o := infix[e.Op]
			a, b := w.bundle(e.A), w.bundle(e.B)
			return code{a.in(o.prec) + " " + o.text + " " + b.in(o.prec+1), o.prec}
		}
	case *tir.Call:
		if w.choosesVector(e) {
			return w.vecChoose(t, e.Args[0], e.Args[1], e.Args[2])
		}
	}
	return atom(v.List(vectorOf(t), w.components(e)))
}

// addressOfVector returns the address of the first element of an access.
func (w *writer) addressOfVector(b *tir.Buffer, indices []tir.Expr) string {
	return "&" + w.pointer(b) + "[" + w.address(b, indices, "", true).text + "]"
}

// choosesVector reports whether a call chooses between vectors by one condition.
func (w *writer) choosesVector(e *tir.Call) bool {
	return e.Kind == tir.CallIntrinsic && e.Name == "if_then_else" && e.Args[0].DType().Lanes == 1 &&
		w.isNative(e.Type) && !tir.IsBool(e.Type) && tir.Contains(e, func(node any) bool {
		l, ok := node.(*tir.BufferLoad)
		return ok && l.DType().Lanes > 1 && w.widest(l.Buffer, l.Indices) > 1
	})
}

// components returns the lanes of a vector expression. Vectors that are loaded or computed as a whole are variables.
func (w *writer) components(e tir.Expr) []string {
	n := int(e.DType().Lanes)
	e = w.gather(e)
	all := make([]string, n)
	for i := range all {
		all[i] = w.lane(e, strconv.Itoa(i)).text
	}
	return all
}

// gather replaces the parts of a vector expression that are vectors of the language, and those that are equal in all
// lanes, by variables. Parts that might not be evaluated are left unchanged.
func (w *writer) gather(e tir.Expr) tir.Expr {
	v := w.hooks.Vectors.(Components)
	keep := func(name string, x tir.Expr) tir.Expr {
		if _, isVar := x.(*tir.Var); isVar || isConstant(x) {
			return x
		}
		k := tir.NewVar(name, x.DType())
		w.fn.used[k] = true
		w.bind(k, x)
		return k
	}
	m := tir.Mutator{}
	m.PreExpr = func(e tir.Expr) (tir.Expr, bool) {
		t := e.DType()
		switch e := e.(type) {
		case *tir.Broadcast:
			return &tir.Broadcast{Value: keep("scalar", e.Value), Lanes: e.Lanes}, true
		case *tir.Ramp:
			return &tir.Ramp{Base: keep("scalar", e.Base), Stride: keep("scalar", e.Stride), Lanes: e.Lanes}, true
		case *tir.BufferLoad:
			if t.Lanes < 2 {
				return e, true
			}
			if n := w.widest(e.Buffer, e.Indices); n > 1 {
				return w.loadWhole(e, n), true
			}
			return w.gatherIndices(e, &m), true
		case *tir.Let:
			w.bind(e.Var, e.Value)
			return m.MutateExpr(e.Body), true
		case *tir.Shuffle:
			return w.shuffled(e), true
		case *tir.Binary:
			if e.Op.IsLogical() {
				return e, true
			}
			if w.bundles(t) && w.isNative(t) && v.Operator(e.Op, t) {
				return keep("value", e), true
			}
		case *tir.Call:
			if w.bundles(t) && w.choosesVector(e) {
				return keep("chosen", e), true
			}
			return e, e.Kind == tir.CallIntrinsic && (e.Name == "if_then_else" || e.Name == "address_of")
		}
		return e, tir.Opaque(e)
	}
	return m.MutateExpr(e)
}

// widest returns how many elements of an access are accessed at once.
func (w *writer) widest(b *tir.Buffer, indices []tir.Expr) int {
	return w.hooks.Vectors.(Components).Widest(b, indices, &w.multiples)
}

// part returns the indices of a part of an access, of n lanes from a lane on.
func part(indices []tir.Expr, from, n int) []tir.Expr {
	last := len(indices) - 1
	r := indices[last].(*tir.Ramp)
	base := r.Base
	if from > 0 {
		base = tir.Add(base, tir.IntConst(base.DType(), int64(from)))
	}
	return append(append([]tir.Expr{}, indices[:last]...), &tir.Ramp{Base: base, Stride: r.Stride, Lanes: n})
}

// storedType returns the type of a vector in memory.
func storedType(t tir.Type, lanes int) tir.Type {
	if tir.IsBool(t) {
		return tir.Vector(tir.UInt8, lanes)
	}
	return tir.Vector(t, lanes)
}

// loadWhole loads a vector in memory into variables of n lanes each, and returns an expression of its lanes.
func (w *writer) loadWhole(e *tir.BufferLoad, n int) tir.Expr {
	t, v := e.DType(), w.hooks.Vectors.(Components)
	memory := storedType(t, n)
	var lanes []string
	for from := 0; from < int(t.Lanes); from += n {
		name := w.temp(e.Buffer.Name)
		vector := w.vectorType(memory)
		w.line("const %s %s = %s;", vector, name, v.Load(memory, w.addressOfVector(e.Buffer, part(e.Indices, from, n))))
		for k := range n {
			x := v.Lane(memory, name, k)
			if tir.IsBool(t) {
				x = "(" + x + " != 0)"
			}
			lanes = append(lanes, x)
		}
	}
	all := tir.NewVar(e.Buffer.Name, t)
	w.spreads[all] = lanes
	return all
}

// gatherIndices is gather for a load whose lanes are loaded one by one.
func (w *writer) gatherIndices(e *tir.BufferLoad, m *tir.Mutator) tir.Expr {
	indices := make([]tir.Expr, len(e.Indices))
	for i, x := range e.Indices {
		if indices[i] = x; x.DType().Lanes > 1 {
			if _, isRamp := x.(*tir.Ramp); !isRamp {
				indices[i] = m.MutateExpr(x)
			}
		}
	}
	return &tir.BufferLoad{Buffer: e.Buffer, Indices: indices}
}

// shuffled returns a variable with the lanes that a shuffle picks.
func (w *writer) shuffled(e *tir.Shuffle) tir.Expr {
	var all []string
	for _, x := range e.Vectors {
		if x.DType().Lanes == 1 {
			all = append(all, w.expr(x).in(precAtom))
			continue
		}
		all = append(all, w.components(x)...)
	}
	v := tir.NewVar("picked", e.DType())
	var picked []string
	for _, n := range e.Indices {
		if n < 0 || n >= len(all) {
			w.fail("a shuffle picks lane %d of %d", n, len(all))
			return v
		}
		picked = append(picked, "("+all[n]+")")
	}
	if len(picked) == 1 {
		w.line("const %s %s = %s;", w.valueType(v.Type), w.define(v), picked[0])
		return v
	}
	w.spreads[v] = picked
	return v
}

// storeBundle stores a vector: as whole vectors if they are aligned, otherwise its lanes, after all of them are
// computed.
func (w *writer) storeBundle(s *tir.BufferStore) {
	t, v := s.Value.DType(), w.hooks.Vectors.(Components)
	n := w.widest(s.Buffer, s.Indices)
	if n == int(t.Lanes) && !tir.IsBool(t) {
		value := w.bundle(s.Value)
		w.line("%s;", v.Store(t, w.addressOfVector(s.Buffer, s.Indices), value.text))
		return
	}
	var lanes []string
	if x, ok := s.Value.(*tir.Var); ok {
		for i := range int(t.Lanes) {
			lanes = append(lanes, w.variable(x, strconv.Itoa(i)).text)
		}
	} else if n == int(t.Lanes) {
		lanes = w.components(s.Value)
	} else {
		name := w.spread(s.Value)
		for i := range int(t.Lanes) {
			lanes = append(lanes, fmt.Sprintf("%s[%d]", name, i))
		}
	}
	if n > 1 {
		memory := storedType(t, n)
		w.vectorType(memory)
		for from := 0; from < len(lanes); from += n {
			w.line("%s;", v.Store(memory, w.addressOfVector(s.Buffer, part(s.Indices, from, n)),
				v.List(memory, lanes[from:from+n])))
		}
		return
	}
	for i, x := range lanes {
		w.line("%s = %s;", w.element(s.Buffer, s.Indices, strconv.Itoa(i)), w.stored(s.Buffer.DType, atom(x)))
	}
}

// spread computes all lanes of a vector into an array, and returns the array's name.
func (w *writer) spread(e tir.Expr) string {
	lanes := w.components(e)
	name := w.temp("value")
	w.line("const %s %s[%d] = {%s};", w.valueType(e.DType()), name, len(lanes), strings.Join(lanes, ", "))
	return name
}

// rampLane returns a lane whose number is constant of a ramp with a constant stride.
func (w *writer) rampLane(e *tir.Ramp, i string) (code, bool) {
	k, err := strconv.ParseInt(i, 10, 64)
	s, ok := e.Stride.(*tir.IntImm)
	if err != nil || !ok {
		return code{}, false
	}
	step := &tir.IntImm{Type: s.Type, Value: s.Value * k}
	if step.Value == 0 {
		return w.lane(e.Base, ""), true
	}
	if !(span{step.Value, step.Value}).within(spanOfType(s.Type)) {
		return code{}, false
	}
	if b, constant := e.Base.(*tir.IntImm); constant && b.Value == 0 {
		return w.lane(step, ""), true
	}
	return w.lane(tir.Add(e.Base, step), ""), true
}
