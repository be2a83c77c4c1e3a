package tir

import "unsafe"

// eachPart calls visit for the expressions and statements that a node consists of, in evaluation order, with the field
// that contains the part and the part's index there, -1 if the field is not a list. It skips optional parts that are
// nil.
func eachPart(node any, visit func(f *Field, index int, part any)) {
	t := TypeOf(node)
	if t == nil {
		return
	}
	p := address(node)
	for i := range t.parts {
		f := &t.parts[i]
		switch f.part {
		case partExpr:
			if e := *f.expr(p); e != nil || !f.Optional {
				visit(f, -1, e)
			}
		case partExprs:
			for k, e := range *f.exprs(p) {
				visit(f, k, e)
			}
		case partStmt:
			if s := *f.stmt(p); s != nil || !f.Optional {
				visit(f, -1, s)
			}
		case partStmts:
			for k, s := range *f.stmts(p) {
				visit(f, k, s)
			}
		}
	}
}

// Parts returns the expressions and the statements that a node consists of, in evaluation order.
func Parts(node any) (exprs []Expr, stmts []Stmt) {
	eachPart(node, func(_ *Field, _ int, part any) {
		switch p := part.(type) {
		case Expr:
			exprs = append(exprs, p)
		case Stmt:
			stmts = append(stmts, p)
		}
	})
	return exprs, stmts
}

// Opaque reports whether passes know no more of a node than its fields: see [NodeType.Opaque].
func Opaque(node any) bool {
	t := TypeOf(node)
	return t == nil || t.Opaque
}

// Bound returns the variables and the buffers that a node defines. It returns the address of an allocated buffer with
// the variables, too.
func Bound(node any) (vars []*Var, buffers []*Buffer) {
	t := TypeOf(node)
	if t == nil || len(t.names) == 0 {
		return nil, nil
	}
	p := address(node)
	for i := range t.names {
		f := &t.names[i]
		if !f.Binds {
			continue
		}
		switch at := unsafe.Add(p, f.offset); f.part {
		case nameVar:
			vars = append(vars, *(**Var)(at))
		case nameBuffer:
			if b := *(**Buffer)(at); b != nil {
				vars, buffers = append(vars, b.Data), append(buffers, b)
			}
		case nameAxes:
			for _, x := range *(*[]*IterVar)(at) {
				if x != nil {
					vars = append(vars, x.Var)
				}
			}
		}
	}
	return vars, buffers
}

// Named returns the variables and the buffers that the fields of a node name, other than in its parts, and that it
// does not define. Optional ones that are nil are left out.
func Named(node any) (vars []*Var, buffers []*Buffer) {
	t := TypeOf(node)
	if t == nil || len(t.names) == 0 {
		return nil, nil
	}
	p := address(node)
	for i := range t.names {
		f := &t.names[i]
		if f.Binds {
			continue
		}
		switch at := unsafe.Add(p, f.offset); f.part {
		case nameVar:
			if v := *(**Var)(at); v != nil || !f.Optional {
				vars = append(vars, v)
			}
		case nameBuffer:
			if b := *(**Buffer)(at); b != nil || !f.Optional {
				buffers = append(buffers, b)
			}
		case nameAxes:
			for _, x := range *(*[]*IterVar)(at) {
				if x != nil {
					vars = append(vars, x.Var)
				}
			}
		case nameAny:
			switch x := (*(*any)(at)).(type) {
			case *Var:
				vars = append(vars, x)
			case *Buffer:
				buffers = append(buffers, x)
			case *IterVar:
				if x != nil {
					vars = append(vars, x.Var)
				}
			}
		}
	}
	return vars, buffers
}

// Renamed returns an expression or a statement whose fields name, and define, other variables and buffers: those that
// the functions return for them. Its parts stay as they are.
func Renamed(node any, toVar func(*Var) *Var, toBuffer func(*Buffer) *Buffer) any {
	t := TypeOf(node)
	if t == nil || len(t.names) == 0 {
		return node
	}
	n := t.New()
	p := address(n)
	t.copyFields(p, address(node))
	variable := func(at unsafe.Pointer) {
		if v := (**Var)(at); *v != nil {
			*v = toVar(*v)
		}
	}
	buffer := func(at unsafe.Pointer) {
		if b := (**Buffer)(at); *b != nil {
			*b = toBuffer(*b)
		}
	}
	axis := func(x *IterVar) *IterVar {
		if x == nil {
			return nil
		}
		c := *x
		c.Var = toVar(x.Var)
		return &c
	}
	for i := range t.names {
		switch at := unsafe.Add(p, t.names[i].offset); t.names[i].part {
		case nameVar:
			variable(at)
		case nameBuffer:
			buffer(at)
		case nameAxes:
			all := append([]*IterVar{}, *(*[]*IterVar)(at)...)
			for k, x := range all {
				all[k] = axis(x)
			}
			*(*[]*IterVar)(at) = all
		case nameAny:
			switch x := (*(*any)(at)).(type) {
			case *Var:
				*(*any)(at) = toVar(x)
			case *Buffer:
				*(*any)(at) = toBuffer(x)
			case *IterVar:
				*(*any)(at) = axis(x)
			}
		}
	}
	return n
}

// Replaced returns an expression or a statement that names other variables: those that values has in the place of its
// own. Where that is no variable, a let around the node gives a new variable the value.
func Replaced(node any, values map[*Var]Expr) any {
	vars, _ := Named(node)
	some := false
	for _, v := range vars {
		some = some || values[v] != nil
	}
	if !some {
		return node
	}
	type let struct {
		v     *Var
		value Expr
	}
	var lets []let
	node = Renamed(node, func(v *Var) *Var {
		switch to := values[v].(type) {
		case nil:
			return v
		case *Var:
			return to
		default:
			lets = append(lets, let{NewVar(v.Name, v.Type), to})
			return lets[len(lets)-1].v
		}
	}, func(b *Buffer) *Buffer { return b })
	for _, l := range lets {
		if s, ok := node.(Stmt); ok {
			node = &LetStmt{Var: l.v, Value: l.value, Body: s}
		} else {
			node = &Let{Var: l.v, Value: l.value, Body: node.(Expr)}
		}
	}
	return node
}
