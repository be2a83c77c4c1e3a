package relax

import (
	"tvmgo/graph"
	"tvmgo/internal/relaxjson"
	"tvmgo/tir"
)

func init() {
	add("call_tir", callTIR)
	add("call_tir_with_grad", callTIR)
}

// callTIR calls a PrimFunc of the module with tensors and sizes; the function gets the results as further arguments.
func callTIR(c *call) value {
	g, ok := c.expr.Args[0].(*relaxjson.Global)
	if !ok {
		fail("what is called is no function of the module")
	}
	fn := c.module.Loops.Func(g.Name)
	if fn == nil {
		fail("the module has no PrimFunc %q", g.Name)
	}
	var ins []*graph.Value
	var sizes []tir.Expr
	take := func(v value) {
		switch v := v.(type) {
		case *graph.Value:
			ins = append(ins, v)
		case scalar:
			sizes = append(sizes, graph.Size(v.expr))
		case shape:
			sizes = append(sizes, v...)
		default:
			fail("an argument of %s is %s: want tensors and integers", g.Name, kindOf(v))
		}
	}
	for _, v := range c.in[1:] {
		if list, ok := v.(tuple); ok {
			for _, x := range list {
				take(x)
			}
			continue
		}
		take(v)
	}
	var outs []*graph.Value
	if len(c.expr.TypeArgs) != 1 {
		fail("%d types of results are given: want one", len(c.expr.TypeArgs))
	}
	t := c.expr.TypeArgs[0]
	like := c.results(t, &outs)
	n := &graph.Node{Inputs: ins, Source: c.source}
	outs = added(c.scope.fn.AddKernel(n, &graph.Kernel{Func: tensorsFirst(fn), Sizes: sizes}, outs))
	return rebuilt(like, &outs)
}

// results makes values for the types of results.
func (c *call) results(t relaxjson.Type, outs *[]*graph.Value) value {
	switch t := t.(type) {
	case *relaxjson.TensorType:
		if t.Dims == nil || t.DType == tir.Void {
			fail("the type or the shape of a result is not known")
		}
		v := &graph.Value{DType: elementType(t.DType), Shape: c.scope.sizesOf(t.Dims)}
		*outs = append(*outs, v)
		return v
	case *relaxjson.TupleType:
		out := make(tuple, len(t.Fields))
		for k, f := range t.Fields {
			out[k] = c.results(f, outs)
		}
		return out
	}
	fail("a result is no tensor")
	return nil
}

// tensorsFirst returns a function whose parameters that are no tensors are the last ones, as graph.Kernel wants.
func tensorsFirst(fn *tir.PrimFunc) *tir.PrimFunc {
	out := *fn
	var tensors, others []*tir.Var
	for _, p := range fn.Params {
		if fn.Buffers[p] != nil {
			tensors = append(tensors, p)
		} else {
			others = append(others, p)
		}
	}
	out.Params = append(tensors, others...)
	out.Attrs = map[string]any{}
	for key, v := range fn.Attrs {
		if key != "target" { // the program says for what it is built
			out.Attrs[key] = v
		}
	}
	return &out
}
