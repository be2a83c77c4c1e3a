// Package alias lists the tensors of a function that must not overlap in memory.
package alias

import (
	"slices"
	"strings"

	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/compare"
	"tvmgo/tir/transform"
)

// Pair is two tensors of a function that must not share memory, because one of them is written. First and
// Second are indices of parameters; First is the lower one.
type Pair struct {
	First, Second int
	// Same reports whether one tensor may be passed for both, because each element is read before it is written.
	// Tensors that overlap only partly are never allowed.
	Same bool
	// FirstWritten and SecondWritten report which of the two is written.
	FirstWritten, SecondWritten bool
}

// Pairs lists the pairs of a function's tensors that must not overlap, in the order of its parameters. Tensors
// that are only read may overlap, and so may tensors that are read completely before anything is written. The reads and
// writes of functions of m that f calls are included; m may be nil. C functions and packed functions are assumed to
// read their arguments, unless [tir.AttrWrites] or the name of a cblas function specifies otherwise. The attribute
// [transform.AttrNoAlias] promises the compiler that no written tensor overlaps another one.
func Pairs(m *tir.IRModule, f *tir.PrimFunc) []Pair {
	if f == nil || f.Body == nil {
		return nil
	}
	c := newAliases(m, f, map[string]bool{})
	promised, _ := f.Attrs[transform.AttrNoAlias].(bool)
	var pairs []Pair
	for j := range f.Params {
		for i := range j {
			p := Pair{First: i, Second: j, FirstWritten: len(c.stores[i]) > 0, SecondWritten: len(c.stores[j]) > 0}
			if f.Buffers[f.Params[i]] == nil || f.Buffers[f.Params[j]] == nil || !p.FirstWritten && !p.SecondWritten {
				continue
			}
			rule := worst(c.rule(i, j), c.rule(j, i))
			if p.FirstWritten && p.SecondWritten || promised && c.used(i) && c.used(j) {
				rule = aliasNever
			}
			p.Same = rule == aliasSame
			if rule != aliasAny {
				pairs = append(pairs, p)
			}
		}
	}
	return pairs
}

// aliasRule describes how two tensors may share memory.
type aliasRule int

const (
	aliasAny aliasRule = iota
	aliasSame
	aliasNever
)

func worst(x, y aliasRule) aliasRule { return max(x, y) }

// maxAliasWork limits the number of statements around pairs of accesses that are compared. A function with more is
// assumed not to work in place.
const maxAliasWork = 1 << 20

// aliases finds where a function reads and writes its tensors.
type aliases struct {
	module  *tir.IRModule
	f       *tir.PrimFunc
	param   map[*tir.Var]int // index of a parameter, by its variable and by the address of its buffer
	loads   [][]access
	stores  [][]access
	own     map[*tir.Buffer]bool // buffers of parameters
	seen    map[tir.Expr]bool    // within one statement: shared expressions are visited once
	bound   map[*tir.Var]bool
	lets    map[*tir.Var]tir.Expr
	writes  map[*tir.Var]int // addresses that calls around the current node write
	path    *frame
	a       *arith.Analyzer
	calling map[string]bool
	budget  int
}

// access is one read or write in the program.
type access struct {
	buffer  *tir.Buffer
	indices []tir.Expr // nil: unknown
	path    *frame
}

// frame is a statement around an access: which part of the statement contains the access, and the next outer frame.
type frame struct {
	node  tir.Stmt
	part  int
	up    *frame
	depth int
}

func newAliases(m *tir.IRModule, f *tir.PrimFunc, calling map[string]bool) *aliases {
	c := &aliases{module: m, f: f, param: map[*tir.Var]int{}, own: map[*tir.Buffer]bool{},
		loads: make([][]access, len(f.Params)), stores: make([][]access, len(f.Params)),
		bound: map[*tir.Var]bool{}, lets: map[*tir.Var]tir.Expr{}, writes: map[*tir.Var]int{}, a: arith.NewAnalyzer(),
		calling: calling,
		budget:  maxAliasWork}
	for i, p := range f.Params {
		if b := f.Buffers[p]; b != nil && p != nil {
			c.param[p] = i
			c.param[b.Data] = i
			c.own[b] = true
		}
	}
	c.stmt(f.Body)
	return c
}

func (c *aliases) used(i int) bool { return len(c.loads[i])+len(c.stores[i]) > 0 }

// within walks through a part of a statement.
func (c *aliases) within(s tir.Stmt, part int, walk func()) {
	around := c.path
	c.path = &frame{s, part, around, around.level() + 1}
	walk()
	c.path = around
}

// level returns the number of frames.
func (f *frame) level() int {
	if f == nil {
		return 0
	}
	return f.depth
}

func (c *aliases) note(to [][]access, b *tir.Buffer, data *tir.Var, indices []tir.Expr) {
	if i, ok := c.param[data]; ok {
		to[i] = append(to[i], access{b, indices, c.path})
	}
}

func (c *aliases) stmt(s tir.Stmt) {
	c.seen = map[tir.Expr]bool{}
	switch s := s.(type) {
	case *tir.BufferStore:
		c.within(s, 0, func() {
			c.exprs(s.Value)
			c.exprs(s.Indices...)
		})
		c.within(s, 1, func() { c.note(c.stores, s.Buffer, s.Buffer.Data, c.indices(s.Indices)) })
	case *tir.For:
		c.exprs(s.Min, s.Extent)
		c.bound[s.Var] = true
		c.within(s, 0, func() { c.stmt(s.Body) })
	case *tir.While:
		c.within(s, 0, func() {
			c.exprs(s.Cond)
			c.stmt(s.Body)
		})
	case *tir.If:
		c.exprs(s.Cond)
		c.within(s, 0, func() { c.stmt(s.Then) })
		if s.Else != nil {
			c.within(s, 1, func() { c.stmt(s.Else) })
		}
	case *tir.LetStmt:
		c.exprs(s.Value)
		c.let(s.Var, s.Value)
		c.stmt(s.Body)
	case *tir.AttrStmt:
		c.exprs(s.Value)
		if b, ok := s.Node.(*tir.Buffer); ok && s.Key == tir.AttrWrites {
			c.writes[b.Data]++
			defer func() { c.writes[b.Data]-- }()
		}
		c.stmt(s.Body)
	case *tir.Seq:
		for i, x := range s.Stmts {
			c.within(s, i, func() { c.stmt(x) })
		}
	case *tir.Evaluate:
		c.within(s, 0, func() { c.exprs(s.Value) })
	default:
		c.within(s, 0, func() {
			c.other(s)
			exprs, inner := tir.Parts(s)
			c.exprs(exprs...)
			for _, x := range inner {
				c.stmt(x)
			}
		})
	}
}

// other records the effects of a node of another type: an opaque one may read and write all elements of all tensors.
func (c *aliases) other(node any) {
	vars, _ := tir.Bound(node)
	for _, v := range vars {
		c.bound[v] = true
	}
	if !tir.Opaque(node) {
		return
	}
	for i := range c.loads {
		c.loads[i] = append(c.loads[i], access{path: c.path})
		c.stores[i] = append(c.stores[i], access{path: c.path})
	}
}

// let replaces a variable by its value if the value is the same at all uses of the variable.
func (c *aliases) let(v *tir.Var, value tir.Expr) {
	c.bound[v] = true
	if !transform.MayChange(value, nil) {
		c.lets[v] = tir.Substitute(value, c.lets)
	}
}

func (c *aliases) indices(all []tir.Expr) []tir.Expr {
	out := make([]tir.Expr, len(all))
	for i, e := range all {
		if len(c.lets) > 0 {
			e = tir.Substitute(e, c.lets)
		}
		out[i] = c.a.Simplify(e)
	}
	return out
}

func (c *aliases) exprs(all ...tir.Expr) {
	for _, e := range all {
		if e != nil {
			c.expr(e)
		}
	}
}

func (c *aliases) expr(e tir.Expr) {
	if c.seen[e] {
		return
	}
	c.seen[e] = true
	switch e := e.(type) {
	case *tir.BufferLoad:
		c.note(c.loads, e.Buffer, e.Buffer.Data, c.indices(e.Indices))
	case *tir.Let:
		c.exprs(e.Value)
		c.let(e.Var, e.Value)
		c.exprs(e.Body)
		return
	case *tir.Call:
		c.call(e)
		return
	default:
		c.other(e)
	}
	c.exprs(tir.ExprParts(e)...)
}

// call records the effects of a call on the addresses that are passed to it.
func (c *aliases) call(e *tir.Call) {
	if tir.IsFragmentCall(e) && e.Name == "fragment_store" {
		if f, err := tir.DescribeFragmentCall(e); err == nil {
			c.note(c.stores, nil, f.Memory.Buffer.Data, nil)
		}
	}
	if e.Kind == tir.CallIntrinsic && e.Name != "address_of" {
		if e.Name != "tvm_struct_get" && e.Name != "prefetch" {
			c.exprs(e.Args...)
		}
		return
	}
	last := -1 // the last address
	for i, x := range e.Args {
		if addressIn(x) != nil {
			last = i
		}
	}
	for i, x := range e.Args {
		data := addressIn(x)
		if data == nil {
			c.exprs(x)
			continue
		}
		reads, writes := true, c.writes[data] > 0
		switch {
		case e.Kind == tir.CallFunc:
			reads, writes = c.callee(e.Name, i)
		case e.Kind == tir.CallExtern && strings.HasPrefix(e.Name, "cblas_"):
			writes = writes || i == last
		}
		if reads {
			c.note(c.loads, nil, data, nil)
		}
		if writes {
			c.note(c.stores, nil, data, nil)
		}
		if l, ok := x.(*tir.Call); ok && len(l.Args) == 1 {
			if load, ok := l.Args[0].(*tir.BufferLoad); ok {
				c.exprs(load.Indices...)
			}
		}
	}
}

// addressIn returns the address that an argument contains: of a buffer, or of one of its elements.
func addressIn(x tir.Expr) *tir.Var {
	switch x := x.(type) {
	case *tir.Var:
		if tir.IsHandle(x.Type) {
			return x
		}
	case *tir.Call:
		if x.Kind == tir.CallIntrinsic && x.Name == "address_of" && len(x.Args) == 1 {
			if l, ok := x.Args[0].(*tir.BufferLoad); ok {
				return l.Buffer.Data
			}
		}
	}
	return nil
}

// callee returns how a function of the module accesses its parameter i.
func (c *aliases) callee(name string, i int) (reads, writes bool) {
	if c.module == nil || c.calling[name] {
		return true, true
	}
	g := c.module.Func(name)
	if g == nil || g.Body == nil || i >= len(g.Params) || g.Buffers[g.Params[i]] == nil {
		return true, true
	}
	c.calling[name] = true
	defer delete(c.calling, name)
	inner := newAliases(c.module, g, c.calling)
	return len(inner.loads[i]) > 0, len(inner.stores[i]) > 0
}

// rule returns how the tensor of the stores may share memory with that of the loads.
func (c *aliases) rule(stored, loaded int) aliasRule {
	rule := aliasAny
	for _, s := range c.stores[stored] {
		for _, l := range c.loads[loaded] {
			if c.budget--; c.budget < 0 || rule == aliasNever {
				return aliasNever
			}
			rule = worst(rule, c.pair(s, l))
		}
	}
	return rule
}

// pair returns the rule for one store and one load.
func (c *aliases) pair(s, l access) aliasRule {
	around, other := s.path, l.path
	var own, its *frame // the outermost statements that are around only one of them
	threads := false
	for around != other {
		if around.level() >= other.level() {
			own, around = around, around.up
			threads = threads || bindsThreads(own.node)
		} else {
			its, other = other, other.up
			threads = threads || bindsThreads(its.node)
		}
		c.budget--
	}
	var loops []*tir.For // around both, outermost first
	common := false
	for f := around; f != nil; f = f.up {
		c.budget--
		switch n := f.node.(type) {
		case *tir.While:
			return aliasNever
		case *tir.For:
			common = common || bindsThreads(n)
			loops = append(loops, n)
		}
	}
	slices.Reverse(loops)
	if threads && common { // other threads execute the first access, perhaps later
		return aliasNever
	}
	if !ordered(own, its) {
		return aliasNever
	}
	repeated := slices.ContainsFunc(loops, repeats)
	switch {
	case !repeated && (s.indices == nil || l.indices == nil) && own == nil:
		return aliasNever // one call reads and writes
	case !repeated:
		return aliasAny
	case s.indices == nil || l.indices == nil || !c.sameElements(s.buffer, l.buffer) || !c.pinned(s, l, loops):
		return aliasNever
	}
	return aliasSame
}

// repeats reports whether a loop may have more than one iteration.
func repeats(x *tir.For) bool {
	e, ok := x.Extent.(*tir.IntImm)
	return !ok || e.Value > 1
}

func bindsThreads(s tir.Stmt) bool {
	x, ok := s.(*tir.For)
	return ok && x.Kind == tir.ThreadBind
}

// ordered reports whether, within one iteration of the common loops, the load precedes the store or only one of them is
// executed. x is the outermost frame around the store alone, y the outermost frame around the load alone.
func ordered(x, y *frame) bool {
	if x == nil || y == nil { // the same statement
		return x == y
	}
	if x.node != y.node {
		return false
	}
	switch x.node.(type) {
	case *tir.If:
		return true
	case *tir.BufferStore, *tir.Seq:
		return y.part < x.part
	}
	return false
}

// sameElements reports whether equal indices address the same element in both buffers, if these begin at the same
// address. The size of the first dimension of a compact buffer does not matter.
func (c *aliases) sameElements(x, y *tir.Buffer) bool {
	if x.DType != y.DType || len(x.Shape) != len(y.Shape) || len(x.Strides) != len(y.Strides) ||
		!equalExprs(x.Strides, y.Strides) {
		return false
	}
	if x.Strides == nil && len(x.Shape) > 0 && !equalExprs(x.Shape[1:], y.Shape[1:]) {
		return false
	}
	if c.own[x] && c.own[y] { // the offset is that of the tensor, whose elements are compared
		return true
	}
	return x.Offset == y.Offset || x.Offset != nil && y.Offset != nil && compare.Equal(x.Offset, y.Offset)
}

func equalExprs(x, y []tir.Expr) bool {
	return slices.EqualFunc(x, y, func(a, b tir.Expr) bool { return compare.Equal(a, b) })
}
