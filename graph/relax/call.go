package relax

import (
	"slices"

	"tvmgo/graph"
	"tvmgo/internal/relaxjson"
	"tvmgo/tir"
)

// call is a call of an operator that is converted. Rules read it and add nodes of package graph. They end by fail.
type call struct {
	*importer
	scope  *scope
	expr   *relaxjson.Call
	op     string
	source string
	in     []value
}

// rule converts a call of an operator.
type rule func(c *call) value

// rules are the operators that are read, by name.
var rules = map[string]rule{}

func add(op string, r rule) { rules["relax."+op] = r }

// node adds a node and returns its first result.
func (c *call) node(op string, attrs graph.Attrs, in ...*graph.Value) *graph.Value {
	return c.nodes(op, attrs, 1, in...)[0]
}

// nodes adds a node with n results.
func (c *call) nodes(op string, attrs graph.Attrs, n int, in ...*graph.Value) []*graph.Value {
	c.worked(n)
	outs := make([]*graph.Value, n)
	for k := range outs {
		outs[k] = &graph.Value{}
	}
	outs = added(c.scope.fn.AddNode(&graph.Node{Op: graph.LookupOp(op), Attrs: attrs, Inputs: slices.Clone(in),
		Outputs: outs, Source: c.source}, op))
	return slices.Clone(outs) // both lists are the node's
}

// list makes a constant of integers.
func (c *call) list(values ...int64) *graph.Value { return c.scope.fn.Ints("", values...) }

// number makes a constant of one number without dimensions.
func (c *call) number(t tir.Type, v float64) *graph.Value {
	out, err := c.scope.fn.Scalar(t, v)
	check(err)
	return out
}

// numbersOf makes a constant of numbers.
func (c *call) numbersOf(t tir.Type, dims []int64, elems []float64) *graph.Value {
	var data []byte
	for _, e := range elems {
		data = append(data, c.number(t, e).Const.Data...)
	}
	v, err := c.scope.fn.Const("", t, dims, data)
	check(err)
	return v
}

// has reports whether an argument is given.
func (c *call) has(k int) bool { return k < len(c.in) }

// arg returns an argument.
func (c *call) arg(k int) value {
	if !c.has(k) {
		fail("%d arguments are given: want at least %d", len(c.in), k+1)
	}
	return c.in[k]
}

// t returns an argument that is a tensor. A scalar becomes one of the type that the other argument has.
func (c *call) t(k int) *graph.Value {
	switch v := c.arg(k).(type) {
	case *graph.Value:
		return v
	case scalar:
		like := tir.Void
		for _, x := range c.in {
			if t, ok := x.(*graph.Value); ok {
				like = t.DType
				break
			}
		}
		return c.tensor(c.scope, v, like)
	}
	fail("argument %d is %s: want a tensor", k, kindOf(c.in[k]))
	return nil
}

// tensors returns an argument that is a tuple of tensors.
func (c *call) tuple(k int) []*graph.Value {
	if v, ok := c.arg(k).(tuple); ok {
		if list, ok := flatten(v); ok && len(list) == len(v) {
			return list
		}
	}
	fail("argument %d is %s: want a tuple of tensors", k, kindOf(c.in[k]))
	return nil
}

// shape returns an argument that is a shape, a tuple of integers, or a tensor of integers.
func (c *call) shape(k int) shape {
	switch v := c.arg(k).(type) {
	case shape:
		return v
	case tuple:
		out := make(shape, len(v))
		for d := range v {
			n, ok := v[d].(scalar)
			if !ok {
				fail("element %d of argument %d is %s: want an integer", d, k, kindOf(v[d]))
			}
			out[d] = graph.Size(n.expr)
		}
		return out
	case *graph.Value:
		return c.read(c.scope, v)
	}
	fail("argument %d is %s: want a shape", k, kindOf(c.in[k]))
	return nil
}

// ints returns an argument that is a shape of constants.
func (c *call) ints(k int) []int64 {
	var out []int64
	for _, e := range c.shape(k) {
		n, ok := tir.IntValue(e)
		if !ok {
			fail("argument %d is not made of constants", k)
		}
		out = append(out, n)
	}
	return out
}

// scalar returns an argument that is a scalar.
func (c *call) scalar(k int) tir.Expr {
	switch v := c.arg(k).(type) {
	case scalar:
		return v.expr
	case *graph.Value:
		if e := v.Elements(); len(e) == 1 {
			return e[0]
		}
	}
	fail("argument %d is %s: want a number that is known when the model is compiled", k, kindOf(c.in[k]))
	return nil
}

// float returns an argument that is a constant number.
func (c *call) float(k int) float64 {
	switch e := c.scalar(k).(type) {
	case *tir.FloatImm:
		return e.Value
	case *tir.IntImm:
		return float64(e.Value)
	}
	fail("argument %d is no constant", k)
	return 0
}

// shapeTensor returns a tensor of int64 with sizes.
func (c *call) sizes(s shape) *graph.Value { return c.shapeTensor(c.scope, s) }

func (i *importer) shapeTensor(s *scope, sizes shape) *graph.Value {
	values := make([]int64, len(sizes))
	for d, e := range sizes {
		n, ok := tir.IntValue(e)
		if !ok {
			outs, err := s.fn.Add("sizes", graph.Attrs{"values": []tir.Expr(sizes)})
			check(err)
			return outs[0]
		}
		values[d] = n
	}
	return s.fn.Ints("", values...)
}

// tensor returns a tensor without dimensions of a type; Void: float32 or bool for such numbers, int64 for others.
func (i *importer) tensor(s *scope, v scalar, t tir.Type) *graph.Value {
	if t == tir.Void {
		if t = v.expr.DType(); tir.IsInt(t) {
			t = tir.Int64
		}
	}
	switch e := v.expr.(type) {
	case *tir.FloatImm:
		out, err := s.fn.Scalar(t, e.Value)
		check(err)
		return out
	case *tir.IntImm:
		if tir.IsInt(t) {
			out, err := s.fn.Const("", tir.Int64, []int64{}, s.fn.Ints("", e.Value).Const.Data)
			check(err)
			return i.cast(s, out, t)
		}
		out, err := s.fn.Scalar(t, float64(e.Value))
		check(err)
		return out
	}
	outs, err := s.fn.Add("squeeze", nil, i.shapeTensor(s, shape{graph.Size(v.expr)}))
	check(err)
	return i.cast(s, outs[0], t)
}

func (i *importer) cast(s *scope, v *graph.Value, t tir.Type) *graph.Value {
	if v.DType == t || t == tir.Void {
		return v
	}
	outs, err := s.fn.Add("cast", graph.Attrs{"to": t}, v)
	check(err)
	return outs[0]
}

// as returns a tensor with elements of a type; Void: of its own.
func (c *call) as(v *graph.Value, t tir.Type) *graph.Value { return c.cast(c.scope, v, t) }

func (i *importer) reshape(s *scope, v *graph.Value, to shape) *graph.Value {
	outs, err := s.fn.Add("reshape", graph.Attrs{"allowzero": int64(1)}, v, i.shapeTensor(s, to))
	check(err)
	return outs[0]
}

// reshaped returns a tensor with another shape.
func (c *call) reshaped(v *graph.Value, to shape) *graph.Value { return c.reshape(c.scope, v, to) }

// axis returns the dimension for an axis, which counts from the end if it is negative.
func axis(a int64, rank int) int {
	at := int(a)
	if at < 0 {
		at += rank
	}
	if at < 0 || at >= rank {
		fail("axis %d does not exist: there are %d dimensions", a, rank)
	}
	return at
}

func axes(list []int64, rank int) []int {
	out := make([]int, len(list))
	for k, a := range list {
		out[k] = axis(a, rank)
	}
	return out
}

// dtype returns an attribute that is a type; Void if it is not set.
func (c *call) dtype(name string) tir.Type {
	if !c.expr.Attrs.Has(name) {
		return tir.Void
	}
	t := c.expr.Attrs.DType(name)
	if t != tir.Void {
		elementType(t)
	}
	return t
}

// text returns an attribute that is text, or a default.
func (c *call) text(name, otherwise string) string {
	if !c.expr.Attrs.Has(name) {
		return otherwise
	}
	if s, ok := c.expr.Attrs.Value(name).(string); ok {
		return s
	}
	return otherwise
}

// int returns an attribute that is an integer, or a default.
func (c *call) int(name string, otherwise int64) int64 {
	if !c.expr.Attrs.Has(name) {
		return otherwise
	}
	return c.expr.Attrs.Int(name)
}

func (c *call) flag(name string) bool { return c.int(name, 0) != 0 }

// one returns an attribute that is an integer as an object; ok is false if it is null.
func (c *call) one(name string) (v int64, ok bool) {
	list := c.expr.Attrs.Ints(name)
	if len(list) != 1 {
		return 0, false
	}
	return list[0], true
}

// perm moves dimensions.
func (c *call) perm(v *graph.Value, perm []int64) *graph.Value {
	same := true
	for d, p := range perm {
		same = same && int64(d) == p
	}
	if same {
		return v
	}
	return c.node("transpose", graph.Attrs{"perm": perm}, v)
}
