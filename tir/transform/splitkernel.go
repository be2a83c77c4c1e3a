package transform

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// launchTags are the indices whose extents a launch specifies: first those of the grid, then those of a block.
var launchTags = []string{"blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z"}

func isBlock(tag string) bool { return strings.HasPrefix(tag, "blockIdx.") }

// AnnotationMinBlocks is the annotation of loops over threads that asks compilers to use so few registers that a
// multiprocessor can run this number of blocks at once: an int64. It is part of the outermost loop of a split kernel.
const AnnotationMinBlocks = "min_blocks"

// kernel is the normal form of a nest of loops over threads: each thread index is bound once, outside of everything
// else, and memory of blocks is allocated around the code of each thread. Statements for only some threads are inside a
// condition.
type kernel struct {
	axes   []axis // blocks before threads, otherwise in program order
	blocks int64  // of AnnotationMinBlocks; 0: none
	shared []*tir.Buffer
	body   tir.Stmt
}

// axis is one thread index.
type axis struct {
	tag    string
	v      *tir.Var // starts at 0
	extent tir.Expr
}

// stmt converts the kernel back to a statement.
func (k *kernel) stmt() tir.Stmt {
	s := k.body
	for _, b := range slices.Backward(k.shared) {
		s = &tir.Alloc{Buffer: b, Body: s}
	}
	for i, a := range slices.Backward(k.axes) {
		loop := &tir.For{Kind: tir.ThreadBind, Var: a.v, Min: tir.IntConst(a.v.Type, 0), Extent: a.extent, Thread: a.tag,
			Body: s}
		if i == 0 && k.blocks > 0 {
			loop.Annotations = map[string]any{AnnotationMinBlocks: k.blocks}
		}
		s = loop
	}
	return s
}

func isShared(scope string) bool { return scope == "shared" || strings.HasPrefix(scope, "shared.") }

// kernelForm makes a kernel from its outermost loop.
type kernelForm struct {
	k      kernel
	an     *arith.Analyzer
	inside map[*tir.Var]bool // variables that the kernel itself binds
	opaque bool              // it has opaque nodes
	err    error
}

// newKernel brings a nest of loops over threads into the normal form.
func newKernel(s *tir.For) (*kernel, error) {
	f := &kernelForm{an: arith.NewAnalyzer(), inside: map[*tir.Var]bool{}, opaque: contains(s, tir.Opaque)}
	f.collect(s)
	if f.err != nil {
		return nil, f.err
	}
	slices.SortStableFunc(f.k.axes, func(a, b axis) int {
		switch {
		case isBlock(a.tag) == isBlock(b.tag):
			return 0
		case isBlock(a.tag):
			return -1
		}
		return 1
	})
	f.k.body = f.stmt(s, nil)
	if f.err != nil {
		return nil, f.err
	}
	return &f.k, nil
}

func (f *kernelForm) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// collect finds the thread indices.
func (f *kernelForm) collect(s tir.Stmt) {
	tir.Walk(s, func(node any) bool {
		if n, ok := node.(*tir.For); ok && n.Kind == tir.ThreadBind && !strings.HasPrefix(n.Thread, "vthread") {
			f.collectAxis(n)
		}
		vars, _ := tir.Bound(node)
		for _, v := range vars {
			f.inside[v] = true
		}
		return f.err == nil
	})
}

func (f *kernelForm) collectAxis(s *tir.For) {
	if n, ok := s.Annotations[AnnotationMinBlocks].(int64); ok {
		f.k.blocks = max(f.k.blocks, n)
	}
	if !slices.Contains(launchTags, s.Thread) {
		f.fail("loop %s is bound to %q, which is not an index of a launch: bind it to one of %s", s.Var.Name, s.Thread,
			strings.Join(launchTags, ", "))
		return
	}
	tir.Walk(s.Extent, func(node any) bool {
		switch n := node.(type) {
		case *tir.Var:
			if f.inside[n] {
				f.fail("loop %s over %s runs as often as %s says, which is only known within the kernel: a launch has its sizes "+
					"before", s.Var.Name,
					s.Thread, n.Name)
			}
		case *tir.BufferLoad:
			f.fail("loop %s over %s runs as often as buffer %s says: a launch has its sizes before", s.Var.Name,
				s.Thread, n.Buffer.Name)
		}
		return true
	})
	for _, a := range f.k.axes {
		if a.tag != s.Thread {
			continue
		}
		if !f.an.Prove(tir.EQ(tir.NewCast(tir.Int64, a.extent), tir.NewCast(tir.Int64, s.Extent))) {
			f.fail("loop %s over %s has %s iterations, and another one of the kernel %s: a launch has one extent",
				s.Var.Name, s.Thread, text.Print(s.Extent),
				text.Print(a.extent))
		}
		return
	}
	f.k.axes = append(f.k.axes, axis{s.Thread, tir.NewVar(s.Var.Name, s.Var.Type), s.Extent})
}

// stmt returns a statement inside the loops over some indices, without loops over threads; nil if nothing remains.
func (f *kernelForm) stmt(s tir.Stmt, have []string) tir.Stmt {
	if f.err != nil {
		return s
	}
	if f.opaque {
		f.each(s, have)
	}
	switch s := s.(type) {
	case *tir.For:
		if s.Kind == tir.ThreadBind && strings.HasPrefix(s.Thread, "vthread") {
			return f.virtual(s, have)
		}
		if s.Kind == tir.ThreadBind {
			return f.threads(s, have)
		}
	case *tir.AttrStmt:
		if s.Key == "thread_extent" {
			f.fail("attribute thread_extent binds threads in an older way: make it a loop over threads")
		}
	case *tir.Alloc:
		switch scope := s.Buffer.StorageScope(); {
		case isShared(scope):
			f.k.shared = append(f.k.shared, s.Buffer)
			return f.stmt(s.Body, have)
		case scope == "global":
			f.fail("buffer %s in scope global is allocated within a kernel, where there is none: set scope shared or local, "+
				"or allocate it before",
				s.Buffer.Name)
		}
	case *tir.BufferStore:
		if s.Buffer.StorageScope() == "local" {
			return s // each thread has its own buffer
		}
		return f.once(s, have)
	case *tir.Evaluate:
		if c, ok := s.Value.(*tir.Call); ok && (c.Kind != tir.CallIntrinsic || c.Name == "prefetch") {
			return f.once(s, have)
		}
	}
	return tir.MapStmt(s, nil, func(body tir.Stmt) tir.Stmt { return f.stmt(body, have) })
}

// each rejects an opaque statement, or one that computes something opaque, unless the indices distinguish all threads:
// it is unknown whether one thread or each must execute it.
func (f *kernelForm) each(s tir.Stmt, have []string) {
	if f.condition(have) == nil {
		return
	}
	exprs, _ := tir.Parts(s)
	for _, e := range exprs {
		tir.Walk(e, func(node any) bool {
			if tir.Opaque(node) {
				f.fail("%w", tir.NotKnown(node, "stands outside of the loops over threads"))
			}
			return f.err == nil
		})
	}
	if tir.Opaque(s) {
		f.fail("%w", tir.NotKnown(s, "stands outside of the loops over threads"))
	}
}

// once restricts a statement to one of the threads that the given indices do not distinguish.
func (f *kernelForm) once(s tir.Stmt, have []string) tir.Stmt {
	if cond := f.condition(have); cond != nil {
		return &tir.If{Cond: cond, Then: s}
	}
	return s
}

// condition selects one of the threads that the given indices do not distinguish; nil if they distinguish all.
func (f *kernelForm) condition(have []string) (cond tir.Expr) {
	for _, a := range f.k.axes {
		if n, ok := a.extent.(*tir.IntImm); slices.Contains(have, a.tag) || ok && n.Value == 1 {
			continue
		}
		c := tir.EQ(a.v, tir.IntConst(a.v.Type, 0))
		if cond == nil {
			cond = c
		} else {
			cond = tir.And(cond, c)
		}
	}
	return cond
}

// threads returns the body of a loop over threads.
func (f *kernelForm) threads(s *tir.For, have []string) tir.Stmt {
	if slices.Contains(have, s.Thread) {
		f.fail("loop %s over %s stands within another one over it", s.Var.Name, s.Thread)
		return s
	}
	if isBlock(s.Thread) && slices.ContainsFunc(have, func(tag string) bool { return !isBlock(tag) }) {
		f.fail("loop %s over %s stands within one over threads of a block: put blocks outside", s.Var.Name, s.Thread)
		return s
	}
	i := slices.IndexFunc(f.k.axes, func(a axis) bool { return a.tag == s.Thread })
	index := tir.NewCast(s.Var.Type, f.k.axes[i].v)
	if c, ok := s.Min.(*tir.IntImm); !ok || c.Value != 0 {
		index = tir.Add(s.Min, index)
	}
	body := f.stmt(s.Body, append(slices.Clone(have), s.Thread))
	return tir.SubstituteStmt(body, map[*tir.Var]tir.Expr{s.Var: index})
}
