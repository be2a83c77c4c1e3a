package relax

import (
	"fmt"

	"tvmgo/graph"
	"tvmgo/internal/relaxjson"
	"tvmgo/tir"
)

// expr converts an expression. binding is the variable whose value it is a part of, for errors.
func (i *importer) expr(s *scope, e relaxjson.Expr, binding string) value {
	if i.depth++; i.depth > maxDepth {
		fail("expressions and calls of functions are more than %d levels deep: recursion is not supported", maxDepth)
	}
	defer func() { i.depth-- }()
	switch e := e.(type) {
	case *relaxjson.Var:
		if v := s.find(e); v != nil {
			return v
		}
		if size, ok := e.Size.(*tir.Var); ok && s.sizeOf(size) != nil {
			return scalar{s.sizeOf(size)}
		}
		fail("variable %s is not defined before it is used", e.Name)
	case *relaxjson.Call:
		return i.call(s, e, binding)
	case *relaxjson.Tuple:
		return tuple(i.exprs(s, e.Fields, binding))
	case *relaxjson.Item:
		t, ok := i.expr(s, e.Tuple, binding).(tuple)
		if !ok || e.Index >= len(t) {
			fail("the value has no element %d", e.Index)
		}
		return t[e.Index]
	case *relaxjson.Constant:
		return i.constant(e)
	case *relaxjson.Shape:
		return s.sizesOf(e.Dims)
	case *relaxjson.Prim:
		return s.number(e.Value)
	case *relaxjson.Text:
		return text(e.Value)
	case *relaxjson.DataType:
		return e.Value
	case *relaxjson.If:
		return i.conditional(s, e, binding)
	case *relaxjson.Seq:
		return i.sequence(s, e, binding)
	case *relaxjson.Function:
		return &closure{e, s}
	case *relaxjson.Global:
		if f := i.functions[e.Name]; f != nil {
			return &closure{f, nil}
		}
		fail("function %s is not in the module as a Relax function", e.Name)
	}
	fail("%T is no value here", e)
	return nil
}

func (i *importer) exprs(s *scope, list []relaxjson.Expr, binding string) []value {
	out := make([]value, len(list))
	for k, e := range list {
		out[k] = i.expr(s, e, binding)
	}
	return out
}

// sequence converts bindings. Names that they define are known in the scope.
func (i *importer) sequence(s *scope, e *relaxjson.Seq, binding string) value {
	for _, b := range e.Blocks {
		for _, x := range b.Bindings {
			i.worked(1)
			check(i.binding(s, x)) // with its place
		}
	}
	return i.expr(s, e.Body, binding)
}

func (i *importer) binding(s *scope, x relaxjson.Binding) (err error) {
	defer catch(&err, func(err error) error { return at(place(s.function, x.Var.Name), err) })
	v := i.expr(s, x.Value, x.Var.Name)
	if x.Match != nil {
		v = i.accept(s, v, x.Match)
	}
	i.bind(s, x.Var, v)
	return nil
}

// call converts a call.
func (i *importer) call(s *scope, e *relaxjson.Call, binding string) value {
	i.worked(1)
	switch callee := e.Callee.(type) {
	case *relaxjson.Op:
		rule := rules[callee.Name]
		if rule == nil {
			panic(failure{placed{&UnsupportedError{[]UnsupportedCall{{s.function, binding, "operator " + callee.Name}}}}})
		}
		c := &call{importer: i, scope: s, expr: e, op: callee.Name,
			source: place(s.function, fmt.Sprintf("%s (%s)", binding, callee.Name))}
		if first := e.Args; len(first) > 0 && callee.Name == "relax.call_tir" || callee.Name == "relax.call_tir_with_grad" {
			c.in = append([]value{nil}, i.exprs(s, first[1:], binding)...)
		} else {
			c.in = i.exprs(s, e.Args, binding)
		}
		return rule(c)
	case *relaxjson.Extern:
		panic(failure{placed{&UnsupportedError{[]UnsupportedCall{{s.function, binding, external(callee)}}}}})
	}
	f, ok := i.expr(s, e.Callee, binding).(*closure)
	if !ok {
		fail("what is called is no function")
	}
	return i.inline(s, f, i.exprs(s, e.Args, binding))
}

// inline converts the body of a function for arguments.
func (i *importer) inline(s *scope, f *closure, args []value) value {
	if len(args) != len(f.fn.Params) {
		fail("the function has %d parameters, and %d arguments are given", len(f.fn.Params), len(args))
	}
	name := f.fn.Name
	if name == "" {
		name = s.function
	}
	inner := newScope(f.scope, s.fn, name)
	for k, p := range f.fn.Params {
		i.bind(inner, p, i.accept(inner, args[k], p.Type))
	}
	return i.expr(inner, f.fn.Body, "")
}

// conditional converts a choice: only one branch if the condition is known.
func (i *importer) conditional(s *scope, e *relaxjson.If, binding string) value {
	var cond *graph.Value
	switch c := i.expr(s, e.Cond, binding).(type) {
	case *graph.Value:
		cond = c
	case scalar:
		cond = i.tensor(s, c, tir.Bool)
	default:
		fail("the condition is %s: want a tensor of one truth value", kindOf(c))
	}
	if elems := cond.Elements(); len(elems) == 1 {
		if v, ok := tir.IntValue(elems[0]); ok {
			if v != 0 {
				return i.expr(newScope(s, s.fn, s.function), e.Then, binding)
			}
			return i.expr(newScope(s, s.fn, s.function), e.Else, binding)
		}
	}
	var bodies []*graph.Function
	var like value
	for k, branch := range []relaxjson.Expr{e.Then, e.Else} {
		fn := s.fn.Body([]string{"then", "else"}[k])
		v := i.expr(newScope(s, fn, s.function), branch, binding)
		list, ok := flatten(v)
		if !ok {
			fail("a branch is %s: %w", kindOf(v), errStructure)
		}
		fn.Return(list...)
		bodies = append(bodies, fn)
		if k == 0 {
			like = v
		}
	}
	outs := added(s.fn.AddIf(&graph.Node{Source: place(s.function, binding)}, cond, bodies[0], bodies[1]))
	return rebuilt(like, &outs)
}

// flatten lists the tensors of a value; ok is false if it has others.
func flatten(v value) (list []*graph.Value, ok bool) {
	switch v := v.(type) {
	case *graph.Value:
		return []*graph.Value{v}, true
	case tuple:
		for _, f := range v {
			inner, ok := flatten(f)
			if !ok {
				return nil, false
			}
			list = append(list, inner...)
		}
		return list, true
	}
	return nil, false
}

// rebuilt returns a value with the structure of another one, and tensors from a list.
func rebuilt(like value, from *[]*graph.Value) value {
	if t, ok := like.(tuple); ok {
		out := make(tuple, len(t))
		for k := range t {
			out[k] = rebuilt(t[k], from)
		}
		return out
	}
	v := (*from)[0]
	*from = (*from)[1:]
	return v
}

// tensors lists the tensors of a result; shapes and scalars become tensors of int64.
func (i *importer) tensors(s *scope, v value) []*graph.Value {
	switch v := v.(type) {
	case tuple:
		var list []*graph.Value
		for _, f := range v {
			list = append(list, i.tensors(s, f)...)
		}
		return list
	case *graph.Value:
		return []*graph.Value{v}
	case shape:
		return []*graph.Value{i.shapeTensor(s, v)}
	case scalar:
		return []*graph.Value{i.tensor(s, v, tir.Void)}
	}
	fail("the result is %s: %w", kindOf(v), errStructure)
	return nil
}
