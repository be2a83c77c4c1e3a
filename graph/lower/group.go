package lower

import (
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// stepKind says how a step may be combined with others.
type stepKind int

const (
	apart     stepKind = iota // executed alone
	view                      // shares the memory of another tensor; computed only between steps that move elements
	injective                 // each element of the result is a formula of elements
	reduction                 // a reduction that reads its operands once, so that they may be computed where it reads them
	anchored                  // has a schedule of its own; formulas of its results may follow
)

// group is what one kernel computes.
type group struct {
	steps  []*step
	reads  []*graph.Value // of other groups, and constants
	wants  []*graph.Value // the results that others read
	size   int            // the number of nodes of its formulas, in each of which those that it reads are written out
	anchor bool           // a step is a reduction, or anchored
	merged bool           // into a later group
	over   *graph.Value   // the operand whose memory the result may have; nil if there is none
}

// The limits of a group: larger kernels take long to compile. A formula that reads another one several times contains
// it as often.
const (
	mostSteps = 24
	mostNodes = 4000
	mostReads = 64
)

// fuse divides steps into groups. A step that is a formula joins the steps whose results only it reads; so does a
// reduction whose operands are formulas. Each group is executed where its last step was. If alone is set, no formula
// joins a step that is none.
func fuse(steps []*step, results []*graph.Value, alone bool) []*group {
	uses := map[*graph.Value]int{}
	for _, s := range steps {
		for _, v := range s.reads {
			uses[v]++
		}
	}
	for _, v := range results {
		uses[v] += 2 // never inside of a group
	}
	by := map[*graph.Value]*group{} // the group whose result a value is
	var groups []*group
	for _, s := range steps {
		g := &group{steps: []*step{s}, reads: s.reads, wants: s.wants, size: s.size,
			anchor: s.kind == anchored || s.kind == reduction}
		if s.kind == injective || s.kind == reduction {
			for more := []*step{s}; len(more) > 0; more = more[1:] {
				for _, v := range more[0].reads {
					if p := by[v]; p != nil && uses[v] == 1 && joins(p, g, more[0], v) && !(alone && (p.anchor || g.anchor)) {
						g.size += more[0].loads[v] * p.size
						g.join(p, v)
						if p.steps[0].kind == view {
							more = append(more, p.steps[0])
						}
					}
				}
			}
		}
		for _, v := range g.wants {
			by[v] = g
		}
		groups = append(groups, g)
	}
	kept := groups[:0]
	for _, g := range groups {
		if !g.merged {
			kept = append(kept, g)
		}
	}
	return kept
}

// joins reports whether the group p, whose result v only step s of group g reads, may be computed with g.
func joins(p, g *group, s *step, v *graph.Value) bool {
	last := p.steps[len(p.steps)-1]
	if last.kind == apart || len(p.wants) != 1 || len(p.steps)+len(g.steps) > mostSteps ||
		g.size+s.loads[v]*p.size > mostNodes || len(p.reads)+len(g.reads) > mostReads {
		return false
	}
	if last.kind == view {
		return s.kind == view || s.kind == injective && (!s.same[v] || !sameShape(v, s.wants[0]))
	}
	if !p.anchor {
		return true
	}
	return s.kind == injective && !g.anchor && s.same[v] && sameShape(v, s.wants[0])
}

func sameShape(a, b *graph.Value) bool {
	if len(a.Shape) != len(b.Shape) {
		return false
	}
	for d := range a.Shape {
		if !arith.ProveEqual(a.Shape[d], b.Shape[d]) {
			return false
		}
	}
	return true
}

// join puts the steps of p in front of those of g, which reads its result v.
func (g *group) join(p *group, v *graph.Value) {
	p.merged = true
	g.steps = append(append([]*step{}, p.steps...), g.steps...)
	g.anchor = g.anchor || p.anchor
	reads := append([]*graph.Value{}, p.reads...)
	for _, r := range g.reads {
		if r != v && !contains(reads, r) {
			reads = append(reads, r)
		}
	}
	g.reads = reads
}

// aligned reports whether each element of the result reads only the element of v at its own indices.
func (g *group) aligned(v *graph.Value) bool {
	if !sameShape(v, g.wants[0]) {
		return false
	}
	for _, s := range g.steps {
		if !contains(s.reads, v) {
			continue
		}
		if s.kind != injective || !s.same[v] || s.wants[0] != g.wants[0] && !g.aligned(s.wants[0]) {
			return false
		}
	}
	return true
}

// classify sets the kind of a step from its formulas.
func (s *step) classify(d *dag, from map[*te.Tensor]*graph.Value) {
	if s.node.Op.Apart || len(s.wants) != 1 {
		return
	}
	if s.node.Op.View {
		if len(s.reads) == 1 {
			s.kind, s.size, s.loads = view, 1, map[*graph.Value]int{s.reads[0]: 1}
		}
		return
	}
	s.kind = injective
	s.same, s.loads = map[*graph.Value]bool{}, map[*graph.Value]int{}
	for _, v := range from {
		s.same[v] = true
	}
	computed := 0
	for _, t := range d.tensors {
		if from[t] != nil {
			continue
		}
		computed++
		if len(t.Inputs()) > 0 || len(t.Bodies()) != 1 {
			s.kind = apart
			return
		}
		if len(t.ReduceAxes()) > 0 && s.kind == injective {
			s.kind = anchored
		}
		axes := t.Axes()
		tir.Walk(t.Bodies()[0], func(n any) bool {
			s.size++
			if p, ok := n.(*tir.ProducerLoad); ok {
				if v := from[p.Producer.(*te.Tensor)]; v != nil {
					s.loads[v]++
					s.same[v] = s.same[v] && identity(p, axes)
				}
			}
			return true
		})
	}
	if s.kind == anchored && computed == 1 && len(s.reads) == 1 {
		s.kind = reduction
	}
	if computed > 1 { // indices are those of an intermediate tensor
		clear(s.same)
	}
}

// identity reports whether an element is read at the indices of the result.
func identity(p *tir.ProducerLoad, axes []*tir.IterVar) bool {
	if len(p.Indices) != len(axes) {
		return false
	}
	for d, i := range p.Indices {
		if n, ok := tir.IntValue(axes[d].Extent); i != tir.Expr(axes[d].Var) && (!ok || n != 1) {
			return false
		}
	}
	return true
}
