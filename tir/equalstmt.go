package tir

import (
	"maps"
	"math"
	"reflect"
	"slices"

	"tvmgo/target"
)

func (c *comparer) stmt(l, r Stmt) bool {
	if isNil(l) || isNil(r) || reflect.TypeOf(l) != reflect.TypeOf(r) {
		return isNil(l) && isNil(r) || c.differ("%s is not %s", nodeName(l), nodeName(r))
	}
	if isForeign(l) {
		return c.differ("%T is no statement", l)
	}
	if c.deeper(l, r, func() bool { return c.stmtParts(l, r) }) {
		return true
	}
	if s, ok := stmtStep(l); ok {
		return c.step(s)
	}
	return false
}

// stmtParts compares statements of the same sort.
func (c *comparer) stmtParts(l, r Stmt) bool {
	switch l := l.(type) {
	case *BufferStore:
		r := r.(*BufferStore)
		return c.buffer(l.Buffer, r.Buffer) && c.exprs("indices", l.Indices, r.Indices) && c.in(at("value"), c.expr(l.Value, r.Value))
	case *For:
		return c.loop(l, r.(*For))
	case *While:
		r := r.(*While)
		return c.in(at("cond"), c.expr(l.Cond, r.Cond)) && c.in(at("body"), c.stmt(l.Body, r.Body))
	case *If:
		r := r.(*If)
		return c.in(at("cond"), c.expr(l.Cond, r.Cond)) && c.in(at("then"), c.stmt(l.Then, r.Then)) && c.in(at("else"), c.stmt(l.Else, r.Else))
	case *LetStmt:
		r := r.(*LetStmt)
		return c.let(l.Var, r.Var, l.Value, r.Value, func() bool { return c.stmt(l.Body, r.Body) })
	case *Assert:
		r := r.(*Assert)
		if l.Kind != r.Kind || l.Message != r.Message {
			return c.differ("assertion %q, %q is not %q, %q", l.Kind, l.Message, r.Kind, r.Message)
		}
		return c.in(at("cond"), c.expr(l.Cond, r.Cond))
	case *Alloc:
		r := r.(*Alloc)
		undone := len(c.undo)
		c.enter()
		if !c.in(at("buffer"), c.bindBuffer(l.Buffer, r.Buffer)) || !c.in(at("body"), c.stmt(l.Body, r.Body)) {
			return false
		}
		c.close(undone)
		return true
	case *AttrStmt:
		r := r.(*AttrStmt)
		if l.Key != r.Key {
			return c.differ("attribute %q is not %q", l.Key, r.Key)
		}
		if v, w := l.view(), r.view(); v != nil && w != nil {
			undone := len(c.undo)
			c.enter()
			if !c.in(at("node"), c.variable(v.Data, w.Data)) || !c.in(at("node"), c.bindBuffer(v, w)) || !c.in(at("value"), c.expr(l.Value, r.Value)) || !c.in(at("body"), c.stmt(l.Body, r.Body)) {
				return false
			}
			c.close(undone)
			return true
		}
		return c.in(at("node"), c.spokenOf(l.Node, r.Node)) && c.in(at("value"), c.expr(l.Value, r.Value)) && c.in(at("body"), c.stmt(l.Body, r.Body))
	case *Seq:
		r := r.(*Seq)
		if len(l.Stmts) != len(r.Stmts) {
			return c.differ("%d statements are not %d", len(l.Stmts), len(r.Stmts))
		}
		for i := range l.Stmts {
			if !c.stmt(l.Stmts[i], r.Stmts[i]) {
				return c.step(atIndex("", i))
			}
		}
		return true
	case *Evaluate:
		return c.in(at("value"), c.expr(l.Value, r.(*Evaluate).Value))
	}
	return c.differ("%T is no statement", l)
}

func (c *comparer) loop(l, r *For) bool {
	if l.Kind != r.Kind || l.Thread != r.Thread {
		return c.differ("loop %s %q is not %s %q", l.Kind, l.Thread, r.Kind, r.Thread)
	}
	if !c.in(at("min"), c.expr(l.Min, r.Min)) || !c.in(at("extent"), c.expr(l.Extent, r.Extent)) || !c.attrs("annotations", l.Annotations, r.Annotations) {
		return false
	}
	undone := len(c.undo)
	c.enter()
	if !c.in(at("var"), c.bindVars(l.Var, r.Var)) || !c.in(at("body"), c.stmt(l.Body, r.Body)) {
		return false
	}
	c.close(undone)
	return true
}

// spokenOf compares what attributes speak of.
func (c *comparer) spokenOf(l, r any) bool {
	switch l := l.(type) {
	case nil:
		return r == nil || c.differ("no node is not %T", r)
	case *Var, *Buffer, *IterVar:
		return c.any(l, r)
	}
	return reflect.DeepEqual(l, r) || c.differ("%T is not the same %T", l, r)
}

// attrs compares what is said of functions and loops; no map is an empty one.
func (c *comparer) attrs(name string, l, r map[string]any) bool {
	for _, key := range slices.Sorted(maps.Keys(l)) {
		v, ok := r[key]
		if !ok {
			c.differ("%v is not there", l[key])
			return c.step(at(name + "[" + key + "]"))
		}
		if !sameAttr(l[key], v) {
			c.differ("%v (%T) is not %v (%T)", l[key], l[key], v, v)
			return c.step(at(name + "[" + key + "]"))
		}
	}
	if len(l) == len(r) {
		return true
	}
	for _, key := range slices.Sorted(maps.Keys(r)) {
		if _, ok := l[key]; !ok {
			c.differ("nothing is not %v", r[key])
			return c.step(at(name + "[" + key + "]"))
		}
	}
	return true
}

func sameAttr(l, r any) bool {
	switch l := l.(type) {
	case float64:
		r, ok := r.(float64)
		return ok && math.Float64bits(l) == math.Float64bits(r)
	case *target.Target:
		r, ok := r.(*target.Target)
		return ok && l.Equal(r)
	}
	return reflect.DeepEqual(l, r)
}

func (c *comparer) module(l, r *IRModule) bool {
	if l == nil || r == nil {
		return l == r || c.differ("a module is nil, the other is not")
	}
	if len(l.Funcs) != len(r.Funcs) {
		return c.differ("%d functions are not %d", len(l.Funcs), len(r.Funcs))
	}
	for i := range l.Funcs {
		if !c.function(l.Funcs[i], r.Funcs[i]) {
			return false
		}
	}
	return c.attrs("attrs", l.Attrs, r.Attrs)
}

func (c *comparer) function(l, r *PrimFunc) bool {
	if l == nil || r == nil {
		return l == r || c.differ("a function is nil, the other is not")
	}
	return c.in(at(l.Name), c.functionParts(l, r))
}

func (c *comparer) functionParts(l, r *PrimFunc) bool {
	switch {
	case l.Name != r.Name:
		return c.differ("function %s is not %s", l.Name, r.Name)
	case l.Result != r.Result:
		return c.differ("result %s is not %s", l.Result, r.Result)
	case len(l.Params) != len(r.Params):
		return c.differ("%d parameters are not %d", len(l.Params), len(r.Params))
	case len(l.Buffers) != len(r.Buffers):
		return c.differ("%d buffers are not %d", len(l.Buffers), len(r.Buffers))
	}
	if !c.attrs("attrs", l.Attrs, r.Attrs) {
		return false
	}
	undone := len(c.undo)
	c.enter()
	for i := range l.Params {
		if !c.bindVars(l.Params[i], r.Params[i]) {
			return c.step(atIndex("params", i))
		}
	}
	if !c.parameterBuffers(l, r) || !c.in(at("body"), c.stmt(l.Body, r.Body)) {
		return false
	}
	c.close(undone)
	return true
}

// parameterBuffers binds the buffers of parameters, after the sizes that they bring along: variables that are a dimension of theirs.
func (c *comparer) parameterBuffers(l, r *PrimFunc) bool {
	for i := range l.Params {
		a, b := l.Buffers[l.Params[i]], r.Buffers[r.Params[i]]
		if a == nil || b == nil {
			if a != b {
				c.differ("buffer %s is not buffer %s", bufferName(a), bufferName(b))
				return c.step(atIndex("params", i))
			}
			continue
		}
		x, y := ownSizes(a), ownSizes(b)
		for k := range min(len(x), len(y)) {
			if x[k] != nil && y[k] != nil && !c.bound(x[k], y[k]) && !c.bindVars(x[k], y[k]) {
				return c.step(at("buffer(" + a.Name + ")"))
			}
		}
	}
	for i := range l.Params {
		if a, b := l.Buffers[l.Params[i]], r.Buffers[r.Params[i]]; a != nil && !c.bound(a, b) && !c.bindBuffer(a, b) {
			return c.step(at("buffer(" + a.Name + ")"))
		} else if a != nil && !c.buffer(a, b) {
			return c.step(atIndex("params", i))
		}
	}
	for key, a := range l.Buffers { // of no parameter: that is for Check to say
		if !slices.Contains(l.Params, key) && r.Buffers[key] != a {
			return c.differ("buffer %s is not buffer %s", bufferName(a), bufferName(r.Buffers[key]))
		}
	}
	return true
}

// ownSizes are the variables that a parameter's buffer gives values to: dimensions, strides and the offset that are nothing but a
// variable. The others are nil.
func ownSizes(b *Buffer) []*Var {
	var all []*Var
	for _, e := range append(append(slices.Clone(b.Shape), b.Strides...), b.Offset) {
		v, _ := e.(*Var)
		all = append(all, v)
	}
	return all
}
