package spirv

import (
	"slices"

	spv "tvmgo/internal/spirv"
	"tvmgo/tir"
)

// one returns the value of a scalar expression.
func (w *writer) one(e tir.Expr) id {
	if t := e.DType(); t.Lanes != 1 {
		w.fail("a value of type %s stands where one number is wanted", tir.TypeName(t))
		return 0
	}
	return w.value(e, -1)[0]
}

// value returns the lanes of an expression: all of them, or, if only is not negative, that lane alone. A scalar has one
// lane.
func (w *writer) value(e tir.Expr, only int) values {
	t := e.DType()
	if t.Lanes == 1 {
		only = -1
	}
	if w.err != nil {
		return make(values, w.count(t, only))
	}
	switch e := e.(type) {
	case *tir.Var:
		return w.variableValue(e, only)
	case *tir.IntImm:
		return values{w.number(w.scalar(e.Type), e.Value)}
	case *tir.FloatImm:
		return values{w.real(w.scalar(e.Type), e.Value)}
	}
	key := part{e, only}
	if v, ok := w.memo[key]; ok {
		return v
	}
	if v, ok := w.now[key]; ok {
		return v
	}
	v := w.compute(e, only)
	if w.err != nil || len(v) != w.count(t, only) {
		if t != tir.Void {
			w.fail("a value of type %s has %d lanes", t, len(v))
		}
		return make(values, w.count(t, only))
	}
	if w.reads(e) {
		w.now[key] = v
		w.nowLog = append(w.nowLog, key)
	} else {
		w.memo[key] = v
		w.memoLog = append(w.memoLog, key)
	}
	return v
}

// count is the number of lanes that value returns.
func (w *writer) count(t tir.Type, only int) int {
	if only >= 0 || t.Lanes < 1 {
		return 1
	}
	return int(t.Lanes)
}

// reads reports whether the value of an expression depends on memory or on the time of its computation.
func (w *writer) reads(e tir.Expr) bool {
	r, ok := w.reading[e]
	if ok {
		return r
	}
	switch e := e.(type) {
	case *tir.Var, *tir.IntImm, *tir.FloatImm:
		return false
	case *tir.BufferLoad:
		r = true
	case *tir.Call:
		in, known := tir.LookupIntrinsic(e.Name)
		r = e.Kind != tir.CallIntrinsic || !known || !in.Pure
	}
	if !r {
		r = slices.ContainsFunc(tir.ExprParts(e), w.reads)
	}
	w.reading[e] = r
	return r
}

// compute is value for an expression that was not computed yet.
func (w *writer) compute(e tir.Expr, only int) values {
	switch e := e.(type) {
	case *tir.Binary:
		if e.Op.IsLogical() {
			return w.logical(e, only)
		}
		if a, b, ok := narrowed(e); ok {
			return w.value(as(e.DType(), &tir.Binary{Op: e.Op, A: a, B: b}), only)
		}
		s := w.scalar(e.A.DType())
		nonNegative := w.unsignedDivision(e)
		return w.zip(only, e, func(x values) id { return w.binary(e.Op, s, x[0], x[1], nonNegative) }, e.A, e.B)
	case *tir.Not:
		return w.zip(only, e, func(x values) id { return w.op(spv.OpLogicalNot, w.m.boolean(), x[0]) }, e.A)
	case *tir.Select:
		return w.choose(e.DType(), e.Cond, e.Then, e.Else, only)
	case *tir.Cast:
		to, from := w.scalar(e.Type), w.scalar(e.Value.DType())
		return w.zip(only, e, func(x values) id { return w.cast(to, from, x[0]) }, e.Value)
	case *tir.BufferLoad:
		return w.load(e, only)
	case *tir.Ramp:
		return w.ramp(e, only)
	case *tir.Broadcast:
		x := w.one(e.Value)
		if only >= 0 {
			return values{x}
		}
		return slices.Repeat(values{x}, e.Lanes)
	case *tir.Shuffle:
		return w.shuffle(e, only)
	case *tir.Let:
		var out values
		w.within(func() {
			w.bind(e.Var, e.Value, only)
			out = w.value(e.Body, only)
		})
		return out
	case *tir.Call:
		return w.call(e, only)
	case *tir.StringImm:
		w.fail("text stands where a number is wanted")
	case *tir.Bad:
		w.fail("an expression could not be made: %w", e.Err)
	case *tir.ProducerLoad:
		w.fail("the tensor %s has no buffer: lower the tensor expression first", e.Producer.ProducerName())
	case *tir.Reduce:
		w.fail("a reduction remains: lower the tensor expression first")
	default:
		w.fail("SPIR-V has no expression %s: lower it before", tir.NodeName(e))
	}
	return nil
}

// zip computes each lane from the same lane of the operands; scalar operands count for all lanes.
func (w *writer) zip(only int, e tir.Expr, lane func(x values) id, operands ...tir.Expr) values {
	parts := make([]values, len(operands))
	for i, x := range operands {
		parts[i] = w.value(x, only)
	}
	out := make(values, w.count(e.DType(), only))
	x := make(values, len(operands))
	for l := range out {
		for i, p := range parts {
			x[i] = p[min(l, len(p)-1)]
		}
		if w.err == nil {
			out[l] = lane(x)
		}
	}
	return out
}

// narrowed returns the operands of a comparison, a minimum or a maximum of 64-bit integers in 32 bits if they were
// extended from these. Then it needs no 64-bit integers. It also avoids an error of Mesa 22.3: for the lesser one of an
// int32, extended to 64 bits, and a constant of 32 bits, llvmpipe always gives the constant; for the greater one, the
// int32.
func narrowed(e *tir.Binary) (a, b tir.Expr, ok bool) {
	if !e.Op.IsComparison() && !isLimit(e.Op) || e.A.DType() != tir.Int64 {
		return nil, nil, false
	}
	a, b = narrow(e.A), narrow(e.B)
	return a, b, a != nil && b != nil
}

func isLimit(op tir.BinaryOp) bool { return op == tir.OpMin || op == tir.OpMax }

// narrow returns the int32 from which an expression was extended; nil if there is none.
func narrow(e tir.Expr) tir.Expr {
	switch e := e.(type) {
	case *tir.Cast:
		if e.Value.DType() == tir.Int32 {
			return e.Value
		}
	case *tir.IntImm:
		if e.Value == int64(int32(e.Value)) {
			return &tir.IntImm{Type: tir.Int32, Value: e.Value}
		}
	case *tir.Binary:
		if isLimit(e.Op) {
			if a, b := narrow(e.A), narrow(e.B); a != nil && b != nil {
				return &tir.Binary{Op: e.Op, A: a, B: b}
			}
		}
	}
	return nil
}

// bind gives a variable a value.
func (w *writer) bind(v *tir.Var, value tir.Expr, only int) {
	if v.Type != value.DType() {
		w.fail("variable %s of type %s gets a value of type %s: cast it", v.Name, v.Type, value.DType())
		return
	}
	if v.Type.Lanes == 1 {
		only = -1
	}
	w.vars[v] = binding{w.value(value, only), only}
}

func (w *writer) variableValue(v *tir.Var, only int) values {
	b, ok := w.vars[v]
	switch {
	case !ok && tir.IsHandle(v.Type):
		w.fail("the address %s is used as a number", v.Name)
	case !ok:
		w.fail("variable %s has no value here: it is neither a parameter, nor bound by a loop or a let", v.Name)
	case only < 0 && b.only < 0:
		return b.lanes
	case b.only < 0:
		return b.lanes[only : only+1]
	case b.only == only:
		return b.lanes
	default:
		w.fail("variable %s has lane %d here, and lane %d is wanted", v.Name, b.only, only)
	}
	return make(values, w.count(v.Type, only))
}

// logical does not evaluate its second operand if the first decides.
func (w *writer) logical(e *tir.Binary, only int) values {
	t := w.m.boolean()
	op := uint16(spv.OpLogicalAnd)
	if e.Op == tir.OpOr {
		op = spv.OpLogicalOr
	}
	if w.safe(e.B) {
		return w.zip(only, e, func(x values) id { return w.op(op, t, x[0], x[1]) }, e.A, e.B)
	}
	a := w.value(e.A, only)
	out := make(values, len(a))
	for l := range a {
		cond, constant := a[l], w.m.truth(e.Op == tir.OpOr)
		second := func() values { return w.value(e.B, laneOf(l, only, len(a))) }
		decided := func() values { return values{constant} }
		if e.Op == tir.OpAnd {
			out[l] = w.selection(cond, []id{t}, second, decided)[0]
		} else {
			out[l] = w.selection(cond, []id{t}, decided, second)[0]
		}
	}
	return out
}

// laneOf is the lane to be computed for element l of n.
func laneOf(l, only, n int) int {
	if only >= 0 || n == 1 {
		return only
	}
	return l
}

// choose returns one of two values, and evaluates only that one.
func (w *writer) choose(t tir.Type, cond, then, other tir.Expr, only int) values {
	s := w.typeOf(w.scalar(t))
	if w.safe(then) && w.safe(other) {
		c := w.value(cond, only)
		a, b := w.value(then, only), w.value(other, only)
		out := make(values, len(a))
		for l := range out {
			if w.err == nil {
				out[l] = w.op(spv.OpSelect, s, c[min(l, len(c)-1)], a[l], b[l])
			}
		}
		return out
	}
	c := w.value(cond, only)
	if len(slices.Compact(slices.Clone(c))) == 1 { // the same condition for all lanes
		types := slices.Repeat([]id{s}, w.count(t, only))
		return w.selection(c[0], types, func() values { return w.value(then, only) },
			func() values { return w.value(other, only) })
	}
	out := make(values, len(c))
	for l := range c {
		out[l] = w.selection(c[l], []id{s}, func() values { return w.value(then, l) },
			func() values { return w.value(other, l) })[0]
	}
	return out
}

// maxSafe is the number of nodes up to which an expression is computed although it may not be wanted, instead of a
// branch around it.
const maxSafe = 8

// safe reports whether an expression may be computed in any case: it is short, and reads no memory.
func (w *writer) safe(e tir.Expr) bool {
	n := 0
	var count func(e tir.Expr) bool
	count = func(e tir.Expr) bool {
		if n++; n > maxSafe || w.reads(e) {
			return false
		}
		switch e := e.(type) {
		case *tir.Let:
			return false
		case *tir.Call:
			if e.Name != "likely" && e.Name != "reinterpret" && e.Name != "fabs" && tir.IsFloat(e.Type) {
				return false
			}
		}
		for _, p := range tir.ExprParts(e) {
			if !count(p) {
				return false
			}
		}
		return true
	}
	return count(e)
}

func (w *writer) ramp(e *tir.Ramp, only int) values {
	s := w.scalar(e.Base.DType())
	base, stride := w.one(e.Base), w.one(e.Stride)
	lane := func(l int) id {
		step := w.binary(tir.OpMul, s, stride, w.number(s, int64(l)), false)
		return w.binary(tir.OpAdd, s, base, step, false)
	}
	if only >= 0 {
		return values{lane(only)}
	}
	out := make(values, e.Lanes)
	for l := range out {
		out[l] = lane(l)
	}
	return out
}

func (w *writer) shuffle(e *tir.Shuffle, only int) values {
	pick := func(index int) id {
		for _, v := range e.Vectors {
			n := int(v.DType().Lanes)
			if index >= 0 && index < n {
				if n == 1 {
					return w.one(v)
				}
				return w.value(v, -1)[index]
			}
			index -= n
		}
		w.fail("a shuffle selects a lane that does not exist")
		return 0
	}
	if only >= 0 {
		return values{pick(e.Indices[only])}
	}
	out := make(values, len(e.Indices))
	for l, index := range e.Indices {
		out[l] = pick(index)
	}
	return out
}
