package compare

import (
	"math"
	"reflect"
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/internal/path"
	"tvmgo/tir/internal/scopes"
)

// deeper compares the parts of two nodes, one level deeper.
func (c *comparer) deeper(l, r any, parts func() bool) bool {
	key := [2]any{l, r}
	if f, ok := c.memo[key]; ok && (f.open || c.Holds(f.Stamp)) {
		return true
	}
	if c.depth == scopes.MaxDepth {
		return c.differ("nested more than %d deep: not compared", scopes.MaxDepth)
	}
	outer := c.Used
	c.Used = 0
	c.depth++
	c.memo[key] = compared{open: true}
	if !parts() {
		return false
	}
	c.memo[key] = compared{Stamp: c.Stamp()}
	c.depth--
	c.Used |= outer
	return true
}

func (c *comparer) exprs(name string, l, r []tir.Expr) bool {
	if len(l) != len(r) {
		c.differ("%d are not %d", len(l), len(r))
		return c.step(path.At(name))
	}
	for i := range l {
		if !c.expr(l[i], r[i]) {
			return c.step(path.AtIndex(name, i))
		}
	}
	return true
}

func (c *comparer) expr(l, r tir.Expr) bool { return c.node(l, r) }

// node compares expressions or statements.
func (c *comparer) node(l, r any) bool {
	t := tir.TypeOf(l)
	switch {
	case tir.IsNil(l) || tir.IsNil(r):
		return tir.IsNil(l) && tir.IsNil(r) || c.differ("%s is not %s", tir.NodeName(l), tir.NodeName(r))
	case t != tir.TypeOf(r):
		return c.differ("%s is not %s", tir.NodeName(l), tir.NodeName(r))
	case t == nil:
		return c.differ("%T is not a node", l)
	}
	switch l := l.(type) {
	case *tir.Var:
		return c.variable(l, r.(*tir.Var))
	case *tir.IntImm, *tir.FloatImm, *tir.StringImm, *tir.Bad:
		return c.fields(t, l, r)
	case tir.Stmt:
		if c.deeper(l, r, func() bool { return c.fields(t, l, r) }) {
			return true
		}
		if label := tir.StmtLabel(l); label != "" {
			return c.step(path.At(label))
		}
		return false
	}
	return c.deeper(l, r, func() bool { return c.fields(t, l, r) })
}

// fields compares the fields of two nodes of one type. Fields in the scope of what the node binds come last, after it
// is bound.
func (c *comparer) fields(t *tir.NodeType, l, r any) bool {
	if a, ok := l.(*tir.AttrStmt); ok && a.ViewBuffer() != nil && r.(*tir.AttrStmt).ViewBuffer() != nil {
		return c.view(a, r.(*tir.AttrStmt))
	}
	binds := false
	for i := range t.Fields {
		if f := &t.Fields[i]; f.Binds {
			binds = true
		} else if !f.Scoped && !c.field(f, l, r) {
			return false
		}
	}
	if !binds {
		return true
	}
	undone := len(c.undo)
	c.Enter()
	for i := range t.Fields {
		if f := &t.Fields[i]; f.Binds && !c.field(f, l, r) {
			return false
		}
	}
	for i := range t.Fields {
		if f := &t.Fields[i]; f.Scoped && !c.field(f, l, r) {
			return false
		}
	}
	c.close(undone)
	return true
}

// field compares one field of two nodes.
func (c *comparer) field(f *tir.Field, l, r any) bool {
	switch x, other := f.In(l), f.In(r); x := x.(type) {
	case *tir.Expr:
		return c.in(path.At(f.Name), c.node(*x, *other.(*tir.Expr)))
	case *[]tir.Expr:
		return c.exprs(f.Name, *x, *other.(*[]tir.Expr))
	case *tir.Stmt:
		return c.in(path.At(f.Name), c.node(*x, *other.(*tir.Stmt)))
	case *[]tir.Stmt:
		return c.stmts(*x, *other.(*[]tir.Stmt))
	case **tir.Var:
		if f.Binds {
			return c.in(path.At(f.Name), c.bindVars(*x, *other.(**tir.Var)))
		}
		return c.in(path.At(f.Name), c.variable(*x, *other.(**tir.Var)))
	case **tir.Buffer:
		if f.Binds {
			return c.in(path.At(f.Name), c.bindBuffer(*x, *other.(**tir.Buffer)))
		}
		return c.buffer(*x, *other.(**tir.Buffer))
	case *tir.Producer:
		return c.producer(*x, *other.(*tir.Producer))
	case **tir.Combiner:
		return c.in(path.At(f.Name), c.combiner(*x, *other.(**tir.Combiner)))
	case *[]*tir.IterVar:
		return c.axes(f.Name, *x, *other.(*[]*tir.IterVar))
	case *any:
		return c.in(path.At(f.Name), c.reference(*x, *other.(*any)))
	case *map[string]any:
		return c.attrs(f.Name, *x, *other.(*map[string]any))
	case *float64:
		y := *other.(*float64)
		return math.Float64bits(*x) == math.Float64bits(y) || c.differ("%s %v is not %v", f.Name, *x, y)
	case *string:
		y := *other.(*string)
		return *x == y || c.differ("%s %q is not %q", f.Name, *x, y)
	case *[]int:
		y := *other.(*[]int)
		return slices.Equal(*x, y) || c.differ("%s %v is not %v", f.Name, *x, y)
	case *error:
		a, b := l.(*tir.Bad).Text(), r.(*tir.Bad).Text()
		return a == b || c.differ("%s %q is not %q", f.Name, a, b)
	default: // types, numbers, and names of operations and kinds
		a, b := reflect.ValueOf(x).Elem().Interface(), reflect.ValueOf(other).Elem().Interface()
		return reflect.DeepEqual(a, b) || c.differ("%s %v is not %v", f.Name, a, b)
	}
}

func (c *comparer) stmts(l, r []tir.Stmt) bool {
	if len(l) != len(r) {
		return c.differ("%d statements are not %d", len(l), len(r))
	}
	for i := range l {
		if !c.node(l[i], r[i]) {
			return c.step(path.AtIndex("", i))
		}
	}
	return true
}

// view compares attributes that define a buffer, whose value and body are in the scope of the buffer.
func (c *comparer) view(l, r *tir.AttrStmt) bool {
	undone := len(c.undo)
	c.Enter()
	v, w := l.ViewBuffer(), r.ViewBuffer()
	if !c.in(path.At("node"), c.variable(v.Data, w.Data)) || !c.in(path.At("node"), c.bindBuffer(v, w)) ||
		!c.in(path.At("value"), c.node(l.Value, r.Value)) || !c.in(path.At("body"), c.node(l.Body, r.Body)) {
		return false
	}
	c.close(undone)
	return true
}

func (c *comparer) axes(name string, l, r []*tir.IterVar) bool {
	if len(l) != len(r) {
		return c.differ("%d axes are not %d", len(l), len(r))
	}
	for i := range l {
		if !c.axis(l[i], r[i]) {
			return c.step(path.AtIndex(name, i))
		}
	}
	return true
}

// axis compares and binds an axis, which can refer to the axes before it.
func (c *comparer) axis(l, r *tir.IterVar) bool {
	if l == nil || r == nil {
		return l == r || c.differ("an axis is nil, the other is not")
	}
	return c.iterParts(l, r) && c.in(path.At("var"), c.bindVars(l.Var, r.Var))
}

// iter compares references to axes.
func (c *comparer) iter(l, r *tir.IterVar) bool {
	if l == nil || r == nil {
		return l == r || c.differ("an axis is nil, the other is not")
	}
	return c.iterParts(l, r) && c.in(path.At("var"), c.variable(l.Var, r.Var))
}

func (c *comparer) iterParts(l, r *tir.IterVar) bool {
	if l.Kind != r.Kind || l.Thread != r.Thread {
		return c.differ("axis %s %q is not %s %q", l.Kind, l.Thread, r.Kind, r.Thread)
	}
	return c.in(path.At("min"), c.expr(l.Min, r.Min)) && c.in(path.At("extent"), c.expr(l.Extent, r.Extent))
}

func (c *comparer) combiner(l, r *tir.Combiner) bool {
	if l == nil || r == nil {
		return l == r || c.differ("a combiner is nil, the other is not")
	}
	if len(l.Left) != len(r.Left) || len(l.Right) != len(r.Right) {
		return c.differ("a combiner of %d and %d variables is not of %d and %d", len(l.Left), len(l.Right), len(r.Left),
			len(r.Right))
	}
	if !c.exprs("identity", l.Identity, r.Identity) {
		return false
	}
	undone := len(c.undo)
	c.Enter()
	for i := range l.Left {
		if !c.bindVars(l.Left[i], r.Left[i]) {
			return c.step(path.AtIndex("left", i))
		}
	}
	for i := range l.Right {
		if !c.bindVars(l.Right[i], r.Right[i]) {
			return c.step(path.AtIndex("right", i))
		}
	}
	if !c.exprs("results", l.Results, r.Results) {
		return false
	}
	c.close(undone)
	return true
}
