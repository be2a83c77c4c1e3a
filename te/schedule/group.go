package schedule

import (
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// flow is the graph of stages and their readers.
type flow struct {
	s       *te.Schedule
	outputs map[*te.Stage]bool
	stages  []*te.Stage // stages that are computed, each after those that it reads
	readers map[*te.Stage][]*te.Stage
	loads   map[*te.Stage]int // how often formulas read the stage's tensors
	owner   map[*te.Stage]*te.Stage
	extern  map[*te.Stage]bool // whether an extern operation reads it
	inlined map[*te.Stage]bool
}

func newFlow(s *te.Schedule, outs []*te.Tensor) *flow {
	f := &flow{s: s, outputs: map[*te.Stage]bool{}, readers: map[*te.Stage][]*te.Stage{}, loads: map[*te.Stage]int{},
		owner: map[*te.Stage]*te.Stage{}, extern: map[*te.Stage]bool{}, inlined: map[*te.Stage]bool{}}
	for _, t := range outs {
		f.outputs[s.Stage(t)] = true
	}
	for _, st := range s.Stages() {
		if st.IsPlaceholder() {
			continue
		}
		f.stages = append(f.stages, st)
		if o := Of(st.Tensor()); o != nil {
			for _, p := range o.Parts {
				f.owner[s.Stage(p)] = st
			}
		}
		for _, t := range st.Tensor().Inputs() {
			from := s.Stage(t)
			f.extern[from] = true
			f.readers[from] = append(f.readers[from], st)
		}
		EachLoad(st, func(l *tir.ProducerLoad) {
			from := s.Stage(l.Producer.(*te.Tensor))
			f.loads[from]++
			if !slices.Contains(f.readers[from], st) {
				f.readers[from] = append(f.readers[from], st)
			}
		})
	}
	return f
}

// EachLoad calls do for each load in the formulas of a stage.
func EachLoad(st *te.Stage, do func(*tir.ProducerLoad)) {
	for _, b := range st.Formulas() {
		tir.Walk(b, func(n any) bool {
			if l, ok := n.(*tir.ProducerLoad); ok {
				do(l)
			}
			return true
		})
	}
}

// EachRead calls f for the loads of a stage, also those by tensors that are computed inline. The indices are over the
// axes of the stage.
func EachRead(s *te.Schedule, st *te.Stage, f func(t *te.Tensor, at []tir.Expr)) {
	var look func(st *te.Stage, to map[*tir.Var]tir.Expr)
	look = func(st *te.Stage, to map[*tir.Var]tir.Expr) {
		EachLoad(st, func(l *tir.ProducerLoad) {
			t := l.Producer.(*te.Tensor)
			at := make([]tir.Expr, len(l.Indices))
			for d, x := range l.Indices {
				at[d] = tir.Substitute(x, to)
			}
			from := s.Stage(t)
			if !from.IsInlined() {
				f(t, at)
				return
			}
			inner := map[*tir.Var]tir.Expr{}
			for d, a := range from.Axes() {
				inner[a.Var] = at[d]
			}
			look(from, inner)
		})
	}
	look(st, nil)
}

// A formula with at most this many nodes is recomputed wherever it is read. A formula that is read once may be larger.
const smallFormula = 24

// inlineCheap inlines elementwise tensors that are read once, or are small and call no function. A read inside a
// reduction counts as several reads.
func (f *flow) inlineCheap() {
	size := map[*te.Stage]int{}
	for _, st := range f.stages {
		calls := false
		for _, b := range st.Tensor().Bodies() {
			tir.Walk(b, func(n any) bool {
				switch n := n.(type) {
				case *tir.ProducerLoad:
					if from := f.s.Stage(n.Producer.(*te.Tensor)); f.inlined[from] {
						size[st] += size[from]
					}
				case *tir.Call:
					calls = calls || n.Name != "if_then_else" && n.Name != "likely"
				}
				size[st]++
				return true
			})
		}
		o := Of(st.Tensor())
		if f.outputs[st] || f.extern[st] || len(st.ReduceAxes()) > 0 || len(st.Tensor().Bodies()) != 1 ||
			f.owner[st] != nil || o != nil && len(o.Parts) > 0 {
			continue
		}
		once := f.loads[st] == 1 && len(f.readers[st][0].ReduceAxes()) == 0
		if once && size[st] <= 1<<10 || !calls && size[st] <= smallFormula {
			st.ComputeInline()
			f.inlined[st] = true
		}
	}
}

// Groups computes the cheap elementwise tensors of a schedule inline, and returns the groups of the others, readers
// first. outs are the schedule's outputs.
func Groups(s *te.Schedule, outs []*te.Tensor) []*Group {
	f := newFlow(s, outs)
	f.inlineCheap()
	return f.groups()
}

// groups collects the stages that are not inlined in groups, readers first.
func (f *flow) groups() []*Group {
	var all []*Group
	taken := map[*te.Stage]bool{}
	for _, st := range slices.Backward(f.stages) {
		if f.inlined[st] || taken[st] || f.owner[st] != nil || len(st.Tensor().Bodies()) == 0 ||
			st.ScanUpdate() != nil {
			continue
		}
		result := st
		if from := f.epilogueOf(st); from != nil {
			result = from
			taken[from] = true
		}
		all = append(all, &Group{Schedule: f.s, Result: result.Tensor(), Root: st.Tensor(), Op: Of(result.Tensor())})
	}
	return all
}

// epilogueOf returns the reduction, or the operator with parts, whose only reader is st, an elementwise stage of the
// same shape; nil if there is none.
func (f *flow) epilogueOf(st *te.Stage) *te.Stage {
	if o := Of(st.Tensor()); len(st.ReduceAxes()) > 0 || o != nil && len(o.Parts) > 0 {
		return nil
	}
	axes := st.Axes()
	at := make([]tir.Expr, len(axes))
	for i, a := range axes {
		at[i] = a.Var
	}
	var found *te.Stage
	var look func(st *te.Stage, at map[*tir.Var]tir.Expr)
	bad := map[*te.Stage]bool{}
	look = func(reader *te.Stage, to map[*tir.Var]tir.Expr) {
		EachLoad(reader, func(l *tir.ProducerLoad) {
			t := l.Producer.(*te.Tensor)
			from := f.s.Stage(t)
			index := make([]tir.Expr, len(l.Indices))
			for i, x := range l.Indices {
				index[i] = tir.Substitute(x, to)
			}
			o := Of(t)
			switch {
			case f.inlined[from]:
				inner := map[*tir.Var]tir.Expr{}
				for i, a := range from.Axes() {
					inner[a.Var] = index[i]
				}
				look(from, inner)
			case from.IsPlaceholder() || len(t.Bodies()) != 1 || len(from.ReduceAxes()) == 0 && (o == nil || len(o.Parts) == 0):
			case f.outputs[from] || f.owner[from] != nil || len(index) != len(at) || !f.onlyReader(from, st):
				bad[from] = true
			default:
				for d := range index {
					n := t.ProducerShape()[d]
					if index[d] != at[d] && !isConst(n, 1) || !arith.ProveEqual(n, st.Tensor().ProducerShape()[d]) {
						bad[from] = true
					}
				}
				if found == nil && !bad[from] {
					found = from
				}
			}
		})
	}
	look(st, map[*tir.Var]tir.Expr{})
	if found != nil && bad[found] {
		return nil
	}
	return found
}

func isConst(e tir.Expr, n int64) bool {
	c, ok := tir.IntValue(e)
	return ok && c == n
}

// onlyReader reports whether st is the only stage that reads from, directly or through inlined stages.
func (f *flow) onlyReader(from, st *te.Stage) bool {
	for _, r := range f.readers[from] {
		if r != st && (!f.inlined[r] || !f.onlyReader(r, st)) {
			return false
		}
	}
	return true
}
