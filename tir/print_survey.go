package tir

// survey is what the printer knows of a function before it writes: which variables are used for more than to be a buffer's address.
// Others need no name in the text.
type survey struct {
	used      map[*Var]bool
	addresses map[*Var]bool // of buffers; of two, the variable is used, too
	seen      map[*Buffer]bool
}

func newSurvey() survey {
	return survey{map[*Var]bool{}, map[*Var]bool{}, map[*Buffer]bool{}}
}

// owns says whether nothing else speaks of a buffer's address.
func (s survey) owns(b *Buffer) bool {
	d := b.Data
	return d != nil && !s.used[d] && d.Type == Handle
}

func (s survey) function(f *PrimFunc) {
	for _, v := range f.Params {
		s.used[v] = true
	}
	for v, b := range f.Buffers {
		s.used[v] = true
		s.buffer(b)
	}
	s.stmt(f.Body)
}

func (s survey) stmt(body Stmt) { Walk(body, s.visit) }

func (s survey) exprs(all ...Expr) {
	for _, e := range all {
		Walk(e, s.visit)
	}
}

func (s survey) visit(node any) bool {
	switch n := node.(type) {
	case *Var:
		s.used[n] = true
	case *BufferLoad:
		s.buffer(n.Buffer)
	case *Let:
		s.used[n.Var] = true
	case *Reduce:
		for _, x := range n.Axes {
			s.iter(x)
		}
		if c := n.Combiner; c != nil {
			for _, v := range append(append([]*Var{}, c.Left...), c.Right...) {
				s.used[v] = true
			}
			s.exprs(append(append([]Expr{}, c.Results...), c.Identity...)...)
		}
	case *BufferStore:
		s.buffer(n.Buffer)
	case *For:
		s.used[n.Var] = true
	case *LetStmt:
		s.used[n.Var] = true
	case *Alloc:
		s.buffer(n.Buffer)
	case *AttrStmt:
		switch x := n.Node.(type) {
		case *Var:
			s.used[x] = true
		case *Buffer:
			s.buffer(x)
		case *IterVar:
			s.iter(x)
		}
	}
	return true
}

func (s survey) iter(x *IterVar) {
	if x != nil {
		s.used[x.Var] = true
		s.exprs(x.Min, x.Extent)
	}
}

func (s survey) buffer(b *Buffer) {
	if b == nil || s.seen[b] {
		return
	}
	s.seen[b] = true
	if s.addresses[b.Data] {
		s.used[b.Data] = true
	}
	s.addresses[b.Data] = true
	s.exprs(exprsOf(b)...)
}

// exprsOf are the expressions that a buffer's layout is made of.
func exprsOf(b *Buffer) []Expr {
	if b == nil {
		return nil
	}
	all := append(append([]Expr{}, b.Shape...), b.Strides...)
	if !isNil(b.Offset) {
		all = append(all, b.Offset)
	}
	return all
}
