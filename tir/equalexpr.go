package tir

import (
	"math"
	"reflect"
	"slices"
)

// deeper runs a comparison of parts one level down.
func (c *comparer) deeper(l, r any, parts func() bool) bool {
	key := [2]any{l, r}
	if f, ok := c.memo[key]; ok && (f.open || c.holds(f.stamp)) {
		return true
	}
	if c.depth == maxDepth {
		return c.differ("nested more than %d deep: not compared", maxDepth)
	}
	outer := c.used
	c.used = 0
	c.depth++
	c.memo[key] = compared{open: true}
	if !parts() {
		return false
	}
	c.memo[key] = compared{stamp: c.stamp()}
	c.depth--
	c.used |= outer
	return true
}

func (c *comparer) exprs(name string, l, r []Expr) bool {
	if len(l) != len(r) {
		c.differ("%d are not %d", len(l), len(r))
		return c.step(at(name))
	}
	for i := range l {
		if !c.expr(l[i], r[i]) {
			return c.step(atIndex(name, i))
		}
	}
	return true
}

func (c *comparer) expr(l, r Expr) bool {
	if isNil(l) || isNil(r) || reflect.TypeOf(l) != reflect.TypeOf(r) {
		return isNil(l) && isNil(r) || c.differ("%s is not %s", nodeName(l), nodeName(r))
	}
	if isForeign(l) {
		return c.differ("%T is no expression", l)
	}
	switch l := l.(type) {
	case *Var:
		return c.variable(l, r.(*Var))
	case *IntImm:
		r := r.(*IntImm)
		if l.Type != r.Type || l.Value != r.Value {
			return c.differ("constant %d of type %s is not %d of type %s", l.Value, l.Type, r.Value, r.Type)
		}
		return true
	case *FloatImm:
		r := r.(*FloatImm)
		if l.Type != r.Type || math.Float64bits(l.Value) != math.Float64bits(r.Value) {
			return c.differ("constant %v of type %s is not %v of type %s", l.Value, l.Type, r.Value, r.Type)
		}
		return true
	case *StringImm:
		r := r.(*StringImm)
		return l.Value == r.Value || c.differ("text %q is not %q", l.Value, r.Value)
	case *Bad:
		a, b := errorText(l.Err), errorText(r.(*Bad).Err)
		return a == b || c.differ("error %q is not %q", a, b)
	}
	return c.deeper(l, r, func() bool { return c.exprParts(l, r) })
}

// exprParts compares expressions of the same sort that have parts.
func (c *comparer) exprParts(l, r Expr) bool {
	switch l := l.(type) {
	case *Binary:
		if r := r.(*Binary); l.Op != r.Op {
			return c.differ("operation %s is not %s", l.Op, r.Op)
		}
	case *Cast:
		if r := r.(*Cast); l.Type != r.Type {
			return c.differ("cast to %s is not to %s", l.Type, r.Type)
		}
	case *BufferLoad:
		if !c.buffer(l.Buffer, r.(*BufferLoad).Buffer) {
			return false
		}
	case *ProducerLoad:
		if !c.producer(l.Producer, r.(*ProducerLoad).Producer) {
			return false
		}
	case *Ramp:
		if r := r.(*Ramp); l.Lanes != r.Lanes {
			return c.differ("ramp of %d lanes is not of %d", l.Lanes, r.Lanes)
		}
	case *Broadcast:
		if r := r.(*Broadcast); l.Lanes != r.Lanes {
			return c.differ("broadcast of %d lanes is not of %d", l.Lanes, r.Lanes)
		}
	case *Shuffle:
		if r := r.(*Shuffle); !slices.Equal(l.Indices, r.Indices) {
			return c.differ("shuffle by %v is not by %v", l.Indices, r.Indices)
		}
	case *Let:
		return c.let(l.Var, r.(*Let).Var, l.Value, r.(*Let).Value, func() bool { return c.expr(l.Body, r.(*Let).Body) })
	case *Call:
		if r := r.(*Call); l.Kind != r.Kind || l.Name != r.Name || l.Type != r.Type {
			return c.differ("call of %s %s of type %s is not of %s %s of type %s", l.Kind, l.Name, l.Type, r.Kind, r.Name, r.Type)
		}
	case *Reduce:
		return c.reduce(l, r.(*Reduce))
	}
	a, b := ExprParts(l), ExprParts(r)
	if len(a) != len(b) {
		return c.differ("%s of %d parts is not of %d", nodeName(l), len(a), len(b))
	}
	for i := range a {
		if !c.expr(a[i], b[i]) {
			return c.step(partStep(l, i))
		}
	}
	return true
}

// let is a Let or a LetStmt.
func (c *comparer) let(l, r *Var, lv, rv Expr, body func() bool) bool {
	if !c.expr(lv, rv) {
		return c.step(at("value"))
	}
	undone := len(c.undo)
	c.enter()
	if !c.bindVars(l, r) {
		return c.step(at("var"))
	}
	if !body() {
		return c.step(at("body"))
	}
	c.close(undone)
	return true
}

func (c *comparer) reduce(l, r *Reduce) bool {
	if l.Value != r.Value || len(l.Axes) != len(r.Axes) || (l.Combiner == nil) != (r.Combiner == nil) {
		return c.differ("reduction of value %d over %d axes is not of value %d over %d", l.Value, len(l.Axes), r.Value, len(r.Axes))
	}
	if l.Combiner != nil && !c.combiner(l.Combiner, r.Combiner) {
		return c.step(at("combiner"))
	}
	undone := len(c.undo)
	c.enter()
	for i := range l.Axes {
		if !c.axis(l.Axes[i], r.Axes[i]) {
			return c.step(atIndex("axes", i))
		}
	}
	if !c.exprs("sources", l.Sources, r.Sources) || !c.in(at("cond"), c.expr(l.Cond, r.Cond)) {
		return false
	}
	c.close(undone)
	return true
}

// axis binds an axis after those before it.
func (c *comparer) axis(l, r *IterVar) bool {
	if l == nil || r == nil {
		return l == r || c.differ("an axis is nil, the other is not")
	}
	return c.iterParts(l, r) && c.in(at("var"), c.bindVars(l.Var, r.Var))
}

// iter is where an axis is spoken of.
func (c *comparer) iter(l, r *IterVar) bool {
	if l == nil || r == nil {
		return l == r || c.differ("an axis is nil, the other is not")
	}
	return c.iterParts(l, r) && c.in(at("var"), c.variable(l.Var, r.Var))
}

func (c *comparer) iterParts(l, r *IterVar) bool {
	if l.Kind != r.Kind || l.Thread != r.Thread {
		return c.differ("axis %s %q is not %s %q", l.Kind, l.Thread, r.Kind, r.Thread)
	}
	return c.in(at("min"), c.expr(l.Min, r.Min)) && c.in(at("extent"), c.expr(l.Extent, r.Extent))
}

func (c *comparer) combiner(l, r *Combiner) bool {
	if len(l.Left) != len(r.Left) || len(l.Right) != len(r.Right) {
		return c.differ("a combiner of %d and %d variables is not of %d and %d", len(l.Left), len(l.Right), len(r.Left), len(r.Right))
	}
	if !c.exprs("identity", l.Identity, r.Identity) {
		return false
	}
	undone := len(c.undo)
	c.enter()
	for i := range l.Left {
		if !c.bindVars(l.Left[i], r.Left[i]) {
			return c.step(atIndex("left", i))
		}
	}
	for i := range l.Right {
		if !c.bindVars(l.Right[i], r.Right[i]) {
			return c.step(atIndex("right", i))
		}
	}
	if !c.exprs("results", l.Results, r.Results) {
		return false
	}
	c.close(undone)
	return true
}

// errorText is what an error says; those that cannot say it are asked in vain.
func errorText(err error) (text string) {
	if err == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			text = "an error that cannot be read"
		}
	}()
	return err.Error()
}
