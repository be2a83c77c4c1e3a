package arith

import (
	"math"
	"slices"
	"strconv"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// info holds the properties of an expression that do not depend on facts.
type info struct {
	t      tir.Type
	flags  uint8
	height int
}

const (
	hasEffect   = 1 << iota // a call with side effects
	readsMemory             // a load, whose value changes over time
	mayFail                 // a load, or a division by something that may be 0
	malformed               // not made by the functions of package tir, or too deep: never changed
)

// maxHeight limits the depth of expressions that are analyzed.
const maxHeight = 5000

func (a *Analyzer) info(e tir.Expr) info {
	if i, ok := a.infos[e]; ok {
		return i
	}
	if a.infoDepth > maxHeight {
		return info{tir.Void, malformed | hasEffect | readsMemory | mayFail, maxHeight + 1}
	}
	a.infoDepth++
	i := a.newInfo(e)
	a.infoDepth--
	if i.height > maxHeight {
		i.flags |= malformed
	}
	if i.flags&malformed != 0 {
		i.flags |= hasEffect | readsMemory | mayFail
	}
	a.infos[e] = i
	return i
}

func (a *Analyzer) newInfo(e tir.Expr) info {
	broken := info{tir.Void, malformed, 0}
	if isNil(e) {
		return broken
	}
	var parts []info
	out := info{}
	for _, p := range tir.ExprParts(e) {
		i := a.info(p)
		out.flags |= i.flags
		out.height = max(out.height, i.height+1)
		parts = append(parts, i)
	}
	if out.flags&malformed != 0 {
		return info{tir.Void, malformed, out.height}
	}
	ok := true
	switch e := e.(type) {
	case *tir.Binary:
		ok = parts[0].t == parts[1].t && e.Op <= tir.OpOr
		out.t = parts[0].t
		switch {
		case e.Op.IsComparison():
			out.t = tir.Vector(tir.Bool, int(out.t.Lanes))
		case e.Op.IsLogical():
			ok = ok && tir.IsBool(out.t)
		default:
			ok = ok && (tir.IsInt(out.t) || tir.IsFloat(out.t))
		}
		if e.Op >= tir.OpDiv && e.Op <= tir.OpFloorMod {
			if c, isConst := tir.IntValue(e.B); !isConst || c == 0 {
				out.flags |= mayFail
			}
		}
	case *tir.Not:
		out.t, ok = parts[0].t, tir.IsBool(parts[0].t)
	case *tir.Select:
		out.t, ok = parts[1].t, parts[1].t == parts[2].t && tir.IsBool(parts[0].t) && parts[0].t.Lanes == parts[1].t.Lanes
	case *tir.Cast:
		out.t, ok = e.Type, e.Type.Lanes == parts[0].t.Lanes
	case *tir.Ramp:
		out.t = tir.Vector(parts[0].t, e.Lanes)
		ok = parts[0].t == parts[1].t && parts[0].t.Lanes == 1 && tir.IsInt(parts[0].t) && e.Lanes >= 1 &&
			e.Lanes <= tir.MaxLanes
	case *tir.Broadcast:
		out.t, ok = tir.Vector(parts[0].t, e.Lanes), parts[0].t.Lanes == 1 && e.Lanes >= 1 && e.Lanes <= tir.MaxLanes
	case *tir.Shuffle:
		ok = len(parts) > 0
		if ok {
			out.t = tir.Vector(parts[0].t, len(e.Indices))
		}
	case *tir.Let:
		out.t, ok = parts[1].t, e.Var != nil && e.Var.Type == parts[0].t
	case *tir.BufferLoad:
		ok = e.Buffer != nil
		if ok {
			out.t = e.DType()
			out.flags |= readsMemory | mayFail
		}
	case *tir.Reduce:
		ok = e.Combiner != nil && e.Value >= 0 && e.Value < len(e.Sources)
		if ok {
			out.t = parts[e.Value].t
			out.flags |= readsMemory | mayFail
		}
	case *tir.Call:
		out.t = e.Type
		in, known := tir.LookupIntrinsic(e.Name)
		if e.Kind != tir.CallIntrinsic || !known || !in.Pure {
			out.flags |= hasEffect | readsMemory | mayFail
		} else if in.Args >= 0 && len(e.Args) != in.Args {
			ok = false
		}
	case *tir.ProducerLoad:
		ok = e.Producer != nil
		if ok {
			out.t = e.Producer.ProducerDType()
			out.flags |= readsMemory | mayFail
		}
	case *tir.Bad:
		ok = false
	default:
		if out.t = e.DType(); tir.Opaque(e) {
			out.flags |= hasEffect | readsMemory | mayFail
		}
	}
	if !ok {
		return info{tir.Void, malformed, out.height}
	}
	return out
}

func isNil(e tir.Expr) bool {
	if e == nil {
		return true
	}
	found := true
	tir.Walk(e, func(any) bool { found = false; return false })
	return found
}

// isIndex reports whether t is a scalar integer type whose arithmetic is assumed not to overflow.
func isIndex(t tir.Type) bool { return t == tir.Int32 || t == tir.Int64 }

func isConst(e tir.Expr, v int64) bool {
	c, ok := tir.IntValue(e)
	return ok && c == v
}

// typeRange returns the values that a type has.
func typeRange(t tir.Type) interval {
	switch {
	case tir.IsBool(t):
		return interval{0, 1}
	case !tir.IsInt(t) || t.Bits == 0 || t.Bits > 64:
		return everything
	case t.Code == dlpack.CodeUInt && t.Bits == 64:
		return interval{0, greatest}
	case t.Code == dlpack.CodeUInt:
		return interval{0, 1<<t.Bits - 1}
	}
	return interval{-1 << (t.Bits - 1), 1<<(t.Bits-1) - 1}
}

// makeInt makes a constant of a type that has its value.
func makeInt(t tir.Type, v int64) tir.Expr {
	var e tir.Expr = &tir.IntImm{Type: tir.Element(t), Value: v}
	if t.Lanes > 1 {
		e = &tir.Broadcast{Value: e, Lanes: int(t.Lanes)}
	}
	return e
}

func makeBool(v bool, t tir.Type) tir.Expr {
	n := int64(0)
	if v {
		n = 1
	}
	return makeInt(tir.Vector(tir.Bool, int(t.Lanes)), n)
}

// node identifies an expression: its kind, its attributes, and the ids of its operands.
type node struct {
	kind    string
	x, y, z int
	more    string
}

// id returns the id of an expression. Equal ids mean equal values. The id of a sum does not depend on the order of its
// terms.
func (a *Analyzer) id(e tir.Expr) int {
	if n, ok := a.ids[e]; ok {
		return n
	}
	i := a.info(e)
	if i.flags&hasEffect != 0 {
		a.lastID++
		return a.lastID
	}
	n := a.intern(a.key(e, i.t))
	a.ids[e] = n
	if a.exprs[n] == nil {
		a.exprs[n] = e
	}
	return n
}

// sameShape reports whether two expressions have the same structure; for deep ones it may return false.
func sameShape(x, y tir.Expr, depth int) bool {
	if x == y {
		return true
	}
	if depth > 64 {
		return false
	}
	switch x := x.(type) {
	case *tir.IntImm:
		y, ok := y.(*tir.IntImm)
		return ok && *x == *y
	case *tir.FloatImm:
		y, ok := y.(*tir.FloatImm)
		return ok && x.Type == y.Type && math.Float64bits(x.Value) == math.Float64bits(y.Value)
	case *tir.Binary:
		y, ok := y.(*tir.Binary)
		return ok && x.Op == y.Op && sameShape(x.A, y.A, depth+1) && sameShape(x.B, y.B, depth+1)
	case *tir.Not:
		y, ok := y.(*tir.Not)
		return ok && sameShape(x.A, y.A, depth+1)
	case *tir.Cast:
		y, ok := y.(*tir.Cast)
		return ok && x.Type == y.Type && sameShape(x.Value, y.Value, depth+1)
	case *tir.Select:
		y, ok := y.(*tir.Select)
		return ok && sameShape(x.Cond, y.Cond, depth+1) && sameShape(x.Then, y.Then, depth+1) &&
			sameShape(x.Else, y.Else, depth+1)
	case *tir.Ramp:
		y, ok := y.(*tir.Ramp)
		return ok && x.Lanes == y.Lanes && sameShape(x.Base, y.Base, depth+1) && sameShape(x.Stride, y.Stride, depth+1)
	case *tir.Broadcast:
		y, ok := y.(*tir.Broadcast)
		return ok && x.Lanes == y.Lanes && sameShape(x.Value, y.Value, depth+1)
	}
	return false
}

func (a *Analyzer) intern(key any) int {
	n, ok := a.keys[key]
	if !ok {
		a.lastID++
		n = a.lastID
		a.keys[key] = n
	}
	return n
}

func (a *Analyzer) key(e tir.Expr, t tir.Type) any {
	switch e := e.(type) {
	case *tir.Var:
		return e
	case *tir.IntImm:
		return *e
	case *tir.FloatImm:
		return node{"float", int(e.Type.Code)<<8 | int(e.Type.Bits), 0, 0, strconv.FormatUint(math.Float64bits(e.Value), 16)}
	case *tir.Binary:
		if isIndex(t) && e.Op <= tir.OpMul {
			return a.sumKey(e, t)
		}
		x, y := a.id(e.A), a.id(e.B)
		switch e.Op {
		case tir.OpMin, tir.OpMax, tir.OpEQ, tir.OpNE, tir.OpAnd, tir.OpOr:
			x, y = min(x, y), max(x, y)
		}
		return node{kind: "binary", x: int(e.Op), y: x, z: y}
	case *tir.Cast:
		return node{"cast", a.id(e.Value), 0, 0, e.Type.String()}
	}
	key := node{}
	switch e := e.(type) {
	case *tir.Not:
		key.kind = "not"
	case *tir.Select:
		key.kind = "select"
	case *tir.Ramp:
		key.kind, key.x = "ramp", e.Lanes
	case *tir.Broadcast:
		key.kind, key.x = "broadcast", e.Lanes
	case *tir.Let:
		key.kind, key.x = "let", a.id(e.Var)
	case *tir.BufferLoad:
		key.kind, key.x = "load", a.intern(e.Buffer)
	case *tir.Call:
		key.kind, key.more = "call", strconv.Itoa(int(e.Kind))+" "+strconv.Quote(e.Name)+" "+e.Type.String()
	case *tir.StringImm:
		key.kind, key.more = "text", e.Value
	default: // equal only to itself
		return e
	}
	for _, p := range tir.ExprParts(e) {
		key.more += " " + strconv.Itoa(a.id(p))
	}
	return key
}

func (a *Analyzer) sumKey(e tir.Expr, t tir.Type) any {
	s := a.sumOf(e, t)
	if len(s.terms) == 1 && s.c == 0 && s.terms[0].coef == 1 && !s.over {
		if b, isProduct := s.terms[0].atom.(*tir.Binary); isProduct && b.Op == tir.OpMul {
			return a.productKey(s.terms[0].atom)
		}
		if s.terms[0].atom != e {
			return a.alias(s.terms[0].atom)
		}
	}
	if s.over {
		return e
	}
	return node{kind: "sum", x: int(t.Bits), more: s.key()}
}

// key returns the same text for all sums with the same terms, in any order.
func (s sum) key() string {
	terms := slices.Clone(s.terms)
	slices.SortFunc(terms, func(x, y term) int { return x.id - y.id })
	key := make([]byte, 0, 64)
	for _, x := range terms {
		key = strconv.AppendInt(key, x.coef, 10)
		key = append(key, '*')
		key = strconv.AppendInt(key, int64(x.id), 10)
		key = append(key, ' ')
	}
	key = strconv.AppendInt(key, s.c, 10)
	return string(key)
}

// alias returns the key of an expression that already has an id.
func (a *Analyzer) alias(e tir.Expr) any {
	return a.key(e, a.info(e).t)
}

func (a *Analyzer) productKey(e tir.Expr) any {
	key := make([]byte, 0, 32)
	for _, f := range factors(e) {
		key = strconv.AppendInt(append(key, ' '), int64(a.id(f)), 10)
	}
	return node{kind: "product", more: string(key)}
}
