package compare

import (
	"math"
	"reflect"
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/internal/scopes"
)

// deeper hashes a node that has parts, and adds the hash. A node that was hashed before within the same scopes is not
// hashed again.
func (h *hasher) deeper(node any, parts func()) {
	for _, level := range [2]int{-1, len(h.Open)} {
		if f, ok := h.memo[hashedAt{node, level}]; ok {
			if f.open {
				h.sum.add(hashEndless)
				return
			}
			if h.Holds(f.Stamp) {
				h.binds = h.binds || level >= 0
				h.sum.add(uint64(f.sum))
				return
			}
		}
	}
	if h.depth == scopes.MaxDepth {
		h.sum.add(hashEndless)
		return
	}
	outer, around, binds := h.sum, h.Used, h.binds
	h.sum, h.Used, h.binds = 0, 0, false
	h.depth++
	being := hashedAt{node, -1}
	h.memo[being] = hashed{open: true}
	parts()
	if h.binds {
		delete(h.memo, being)
		being.level = len(h.Open)
	}
	h.memo[being] = hashed{Stamp: h.Stamp(), sum: h.sum}
	h.depth--
	outer.add(uint64(h.sum))
	h.sum, h.Used, h.binds = outer, h.Used|around, h.binds || binds
}

func (h *hasher) exprs(all []tir.Expr) {
	h.sum.add(uint64(len(all)))
	for _, e := range all {
		h.expr(e)
	}
}

func (h *hasher) expr(e tir.Expr) { h.node(e) }

// node hashes an expression or a statement.
func (h *hasher) node(node any) {
	t := tir.TypeOf(node)
	switch {
	case tir.IsNil(node):
		h.sum.add(hashNil)
		return
	case t == nil:
		h.sum.add(hashOther)
		return
	}
	switch n := node.(type) {
	case *tir.Var:
		h.sum.addText(t.Name)
		h.variable(n)
	case *tir.IntImm, *tir.FloatImm, *tir.StringImm, *tir.Bad:
		h.fields(t, n)
	default:
		h.deeper(n, func() { h.fields(t, n) })
	}
}

// fields hashes the fields of a node. Fields in the scope of what the node binds come last, after it is bound.
func (h *hasher) fields(t *tir.NodeType, node any) {
	h.sum.addText(t.Name)
	if a, ok := node.(*tir.AttrStmt); ok && a.ViewBuffer() != nil {
		h.sum.addText(a.Key)
		h.within(func() {
			h.bindBuffer(a.ViewBuffer())
			h.node(a.Value)
			h.node(a.Body)
		})
		return
	}
	binds := false
	for i := range t.Fields {
		if f := &t.Fields[i]; f.Binds {
			binds = true
		} else if !f.Scoped {
			h.field(f, node)
		}
	}
	if !binds {
		return
	}
	h.within(func() {
		for i := range t.Fields {
			if f := &t.Fields[i]; f.Binds {
				h.field(f, node)
			}
		}
		for i := range t.Fields {
			if f := &t.Fields[i]; f.Scoped {
				h.field(f, node)
			}
		}
	})
}

// field hashes one field of a node.
func (h *hasher) field(f *tir.Field, node any) {
	switch x := f.In(node).(type) {
	case *tir.Expr:
		h.node(*x)
	case *[]tir.Expr:
		h.exprs(*x)
	case *tir.Stmt:
		h.node(*x)
	case *[]tir.Stmt:
		h.sum.add(uint64(len(*x)))
		for _, s := range *x {
			h.node(s)
		}
	case **tir.Var:
		if f.Binds {
			h.bindVar(*x)
		} else {
			h.variable(*x)
		}
	case **tir.Buffer:
		if f.Binds {
			h.bindBuffer(*x)
		} else {
			h.buffer(*x)
		}
	case *tir.Producer:
		if tir.UsableProducer(*x) {
			h.sum.addType((*x).ProducerDType())
			h.same(*x)
		}
	case **tir.Combiner:
		h.combiner(*x)
	case *[]*tir.IterVar:
		h.axes(*x)
	case *any:
		h.reference(*x)
	case *map[string]any:
		h.attrs(*x)
	case *tir.Type:
		h.sum.addType(*x)
	case *error:
		h.sum.addText(node.(*tir.Bad).Text())
	default: // numbers, texts, and names of operations and kinds
		h.value(reflect.ValueOf(x).Elem())
	}
}

func (h *hasher) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Uint8:
		h.sum.add(v.Uint())
	case reflect.Int, reflect.Int64:
		h.sum.add(uint64(v.Int()))
	case reflect.Float64:
		h.sum.add(math.Float64bits(v.Float()))
	case reflect.String:
		h.sum.addText(v.String())
	case reflect.Slice:
		h.sum.add(uint64(v.Len()))
		for i := range v.Len() {
			h.value(v.Index(i))
		}
	default:
		panic("compare: a field of a node is of Go type " + v.Type().String())
	}
}

// reference hashes the node that an attribute refers to.
func (h *hasher) reference(node any) {
	switch n := node.(type) {
	case *tir.Var:
		h.variable(n)
	case *tir.Buffer:
		h.buffer(n)
	case *tir.IterVar:
		h.iter(n)
	default:
		h.sum.add(hashOther)
	}
}

func (h *hasher) combiner(c *tir.Combiner) {
	if c == nil {
		h.sum.add(hashNil)
		return
	}
	h.exprs(c.Identity)
	h.within(func() {
		h.sum.add(uint64(len(c.Left)))
		for _, v := range append(slices.Clone(c.Left), c.Right...) {
			h.bindVar(v)
		}
		h.exprs(c.Results)
	})
}

// axes hashes the axes that a reduction binds; each can refer to those before it.
func (h *hasher) axes(all []*tir.IterVar) {
	h.sum.add(uint64(len(all)))
	for _, a := range all {
		if a == nil {
			h.sum.add(hashNil)
			continue
		}
		h.iterParts(a)
		h.bindVar(a.Var)
	}
}

// iter hashes a reference to an axis.
func (h *hasher) iter(a *tir.IterVar) {
	if a == nil {
		h.sum.add(hashNil)
		return
	}
	h.iterParts(a)
	h.variable(a.Var)
}

func (h *hasher) iterParts(a *tir.IterVar) {
	h.sum.add(uint64(a.Kind))
	h.sum.addText(a.Thread)
	h.expr(a.Min)
	h.expr(a.Extent)
}
