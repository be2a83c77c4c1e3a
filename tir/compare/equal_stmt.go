package compare

import (
	"maps"
	"math"
	"reflect"
	"slices"

	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/internal/path"
)

// reference compares the nodes that attributes refer to.
func (c *comparer) reference(l, r any) bool {
	switch l := l.(type) {
	case nil:
		return r == nil || c.differ("no node is not %T", r)
	case *tir.Var, *tir.Buffer, *tir.IterVar:
		return c.any(l, r)
	}
	return reflect.DeepEqual(l, r) || c.differ("%T is not the same %T", l, r)
}

// attrs compares attributes of functions and loops; a nil map equals an empty one.
func (c *comparer) attrs(name string, l, r map[string]any) bool {
	for _, key := range slices.Sorted(maps.Keys(l)) {
		v, ok := r[key]
		if !ok {
			c.differ("%v is missing", l[key])
			return c.step(path.At(name + "[" + key + "]"))
		}
		if !sameAttr(l[key], v) {
			c.differ("%v (%T) is not %v (%T)", l[key], l[key], v, v)
			return c.step(path.At(name + "[" + key + "]"))
		}
	}
	if len(l) == len(r) {
		return true
	}
	for _, key := range slices.Sorted(maps.Keys(r)) {
		if _, ok := l[key]; !ok {
			c.differ("nothing is not %v", r[key])
			return c.step(path.At(name + "[" + key + "]"))
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

func (c *comparer) module(l, r *tir.IRModule) bool {
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

func (c *comparer) function(l, r *tir.PrimFunc) bool {
	if l == nil || r == nil {
		return l == r || c.differ("a function is nil, the other is not")
	}
	return c.in(path.At(l.Name), c.functionParts(l, r))
}

func (c *comparer) functionParts(l, r *tir.PrimFunc) bool {
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
	c.Enter()
	for i := range l.Params {
		if !c.bindVars(l.Params[i], r.Params[i]) {
			return c.step(path.AtIndex("params", i))
		}
	}
	if !c.parameterBuffers(l, r) || !c.in(path.At("body"), c.node(l.Body, r.Body)) {
		return false
	}
	c.close(undone)
	return true
}

// parameterBuffers binds the buffers of parameters, and before them the variables that they define: those that are one
// of their dimensions.
func (c *comparer) parameterBuffers(l, r *tir.PrimFunc) bool {
	for i := range l.Params {
		a, b := l.Buffers[l.Params[i]], r.Buffers[r.Params[i]]
		if a == nil || b == nil {
			if a != b {
				c.differ("buffer %s is not buffer %s", tir.NameOf(a), tir.NameOf(b))
				return c.step(path.AtIndex("params", i))
			}
			continue
		}
		x, y := a.SizeVars(), b.SizeVars()
		for k := range min(len(x), len(y)) {
			if x[k] != nil && y[k] != nil && !c.bound(x[k], y[k]) && !c.bindVars(x[k], y[k]) {
				return c.step(path.At("buffer(" + a.Name + ")"))
			}
		}
	}
	for i := range l.Params {
		if a, b := l.Buffers[l.Params[i]], r.Buffers[r.Params[i]]; a != nil && !c.bound(a, b) && !c.bindBuffer(a, b) {
			return c.step(path.At("buffer(" + a.Name + ")"))
		} else if a != nil && !c.buffer(a, b) {
			return c.step(path.AtIndex("params", i))
		}
	}
	for key, a := range l.Buffers { // of no parameter, which is an error that Check reports
		if !slices.Contains(l.Params, key) && r.Buffers[key] != a {
			return c.differ("buffer %s is not buffer %s", tir.NameOf(a), tir.NameOf(r.Buffers[key]))
		}
	}
	return true
}
