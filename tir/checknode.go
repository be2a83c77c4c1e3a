package tir

import "tvmgo/tir/internal/path"

// ruled is a node that has a rule of its own beside those that follow from its description: rule returns what is wrong
// with a node whose expressions have the given types, in the order of [Parts].
type ruled interface{ rule(types []Type) error }

// described checks a node by its description: what it names is defined, its expressions have values, and what it
// defines is known in the parts that are in its scope. Statements in it, and all parts of an opaque node, may be
// executed or not.
func (c *checker) described(node any) (ok bool) {
	errors := len(c.errs)
	if Opaque(node) {
		c.guarded++
		defer func() { c.guarded-- }()
	}
	vars, buffers := Named(node)
	for _, v := range vars {
		c.variable(v)
	}
	for _, b := range buffers {
		c.buffer(b)
	}
	var types []Type
	parts := func(scoped bool) {
		n := 0
		eachPart(node, func(f *Field, index int, part any) {
			e, isExpr := part.(Expr)
			switch {
			case f.Scoped != scoped:
			case isExpr || f.part == partExpr || f.part == partExprs:
				for len(types) <= n {
					types = append(types, Void)
				}
				types[n], _ = c.part(stepTo(f, index), e)
			default:
				body, _ := part.(Stmt)
				c.behind(stepTo(f, index), body)
			}
			if isExpr {
				n++
			}
		})
	}
	parts(false)
	t := TypeOf(node)
	for i := range t.names {
		if t.names[i].Binds {
			c.inside()
			c.binds(node)
			parts(true)
			c.exit()
			break
		}
	}
	if r, is := node.(ruled); is && len(c.errs) == errors {
		c.failed(r.rule(types))
	}
	return len(c.errs) == errors
}

// binds defines what the fields of a node define.
func (c *checker) binds(node any) {
	t := TypeOf(node)
	for i := range t.names {
		f := &t.names[i]
		if !f.Binds {
			continue
		}
		c.push(path.At(f.Name))
		switch x := f.In(node).(type) {
		case **Var:
			c.bindVar(*x, node)
		case **Buffer:
			c.bindBuffer(*x, nil, node)
		case *[]*IterVar:
			for _, axis := range *x {
				if axis == nil {
					c.fail("an axis is nil")
					continue
				}
				c.part(path.At("min"), axis.Min)
				c.part(path.At("extent"), axis.Extent)
				c.bindVar(axis.Var, node)
			}
		}
		c.pop()
	}
}
