package te

import (
	"errors"
	"fmt"
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/compare"
	"tvmgo/tir/text"
)

// tileLoop returns the index of the outermost loop that the nest's intrinsic replaces; the number of loops if it is no
// longer a loop.
func (n *nest) tileLoop() int {
	if i := slices.IndexFunc(n.loops, func(lp *loop) bool { return lp.axis == n.st.intrinAxis }); i >= 0 {
		return i
	}
	return len(n.loops)
}

// tensorizeError makes an error of the stage's intrinsic.
func (st *Stage) tensorizeError(format string, args ...any) error {
	return fmt.Errorf("tensorize of tensor %s: axis %s: intrinsic %s: %w", st.op.name, st.intrinAxis.Var.Name,
		st.intrin.name, fmt.Errorf(format, args...))
}

// tensorized returns the statement that computes a tile, or accumulates into it if a loop of the reduction is outside
// of it. first is the index of the outermost loop of the reduction, or -1.
func (l *lowering) tensorized(n *nest, leaves, conds []tir.Expr, first int) (tir.Stmt, error) {
	st, at := n.st, n.tileLoop()
	if at == len(n.loops) {
		return nil, st.tensorizeError("the axis is no longer a loop: the loops are %v", axisNames(st.leaves))
	}
	for _, lp := range n.loops[at:] {
		switch {
		case lp.attrs.kind != tir.Serial || lp.attrs.pragma != nil:
			return nil, st.tensorizeError("axis %s inside it is %s: the intrinsic computes all iterations", lp.axis.Var.Name,
				kindName(lp))
		case len(n.inside[lp]) > 0:
			return nil, st.tensorizeError("tensor %s is computed at axis %s inside it: attach it further outside",
				n.inside[lp][0].st.op.name, lp.axis.Var.Name)
		case slices.ContainsFunc(st.prefetch, func(p prefetching) bool { return p.axis == lp.axis }):
			return nil, st.tensorizeError("axis %s inside it prefetches: prefetch in an outer loop", lp.axis.Var.Name)
		}
		for _, c := range conds {
			if lp.v != nil && tir.Contains(c, func(node any) bool { return node == any(lp.v) }) {
				return nil, st.tensorizeError("not every tile is whole: elements need the condition %s: choose sizes that "+
					"the tile divides", text.Print(c))
			}
		}
	}
	steps, err := l.steps(n, leaves)
	if err != nil {
		return nil, err
	}
	switch {
	case len(st.reduce) == 0 || steps.Compute != nil && first >= at:
		if steps.Compute == nil {
			return nil, st.tensorizeError("it has no statement Compute")
		}
		return steps.Compute, nil
	case steps.Update == nil || steps.Reset == nil:
		return nil, st.tensorizeError("a reduction outside of the tile needs the statements Reset and Update")
	case first >= at:
		return tir.Sequence(steps.Reset, steps.Update), nil
	}
	return steps.Update, nil
}

// tensorizedWhole returns the statement that computes a tile by the intrinsic if it is whole, else by its loops around
// the statement for one element, and the conditions that are to be checked outside.
func (l *lowering) tensorizedWhole(n *nest, leaves, conds []tir.Expr, element tir.Stmt) (tir.Stmt, []tir.Expr, error) {
	at := n.tileLoop()
	var inside, outside, whole []tir.Expr
	for _, c := range conds {
		last, moves, err := l.ofLast(n, at, c)
		if err != nil {
			return nil, nil, err
		}
		if moves {
			inside, whole = append(inside, c), append(whole, last)
		} else {
			outside = append(outside, c)
		}
	}
	var tile tir.Stmt
	var err error
	l.a.within(n.all(), func() { tile, err = l.tensorized(n, leaves, outside, -1) })
	strided := errors.Is(err, errStrided)
	if err != nil && !strided || err == nil && len(inside) == 0 {
		return tile, outside, err
	}
	edge := element
	for _, lp := range slices.Backward(n.loops[at:]) {
		edge, inside = lp.guard(lp.v, inside, edge)
		edge = lp.around(lp.v, edge)
	}
	if strided { // in the memory of this call, so that loops compute all tiles
		return edge, outside, nil
	}
	choice := guarded(whole, tile).(*tir.If)
	choice.Else = edge
	return choice, outside, nil
}

// ofLast returns a condition for the last element of a tile, if it depends on the tile's loops. It must then hold for
// all of the tile.
func (l *lowering) ofLast(n *nest, at int, c tir.Expr) (last tir.Expr, moves bool, err error) {
	last = c
	for _, lp := range n.loops[at:] {
		v := lp.v
		if v == nil || !tir.Contains(last, func(node any) bool { return node == any(v) }) {
			continue
		}
		less, ok := last.(*tir.Binary)
		if !ok || less.Op != tir.OpLT || tir.Contains(less.B, func(node any) bool { return node == any(v) }) {
			return nil, false, n.st.tensorizeError("the condition %s has no last element in a tile", text.Print(c))
		}
		next := tir.Substitute(less.A, map[*tir.Var]tir.Expr{v: tir.Add(v, tir.IntConst(v.Type, 1))})
		if step, ok := tir.IntValue(l.a.Simplify(tir.Sub(next, less.A))); !ok || step < 0 {
			return nil, false, n.st.tensorizeError("index %s does not grow along axis %s", text.Print(less.A),
				lp.axis.Var.Name)
		}
		end := tir.Sub(widen(lp.width, v.Type), tir.IntConst(v.Type, 1))
		last, moves = tir.LT(l.a.Simplify(tir.Substitute(less.A, map[*tir.Var]tir.Expr{v: end})), less.B), true
	}
	return last, moves, nil
}

// resetTile returns the statement that initializes a tile, inside the loops inits.
func (l *lowering) resetTile(n *nest, leaves []tir.Expr, inits []*loop) (reset tir.Stmt, err error) {
	var steps IntrinSteps
	l.a.within(inits, func() { steps, err = l.steps(n, leaves) })
	if err == nil && steps.Reset == nil {
		err = n.st.tensorizeError("a reduction outside of the tile needs the statements Reset and Update")
	}
	return steps.Reset, err
}

// steps returns the statements of the intrinsic for the tile at the given values of the loops outside of it.
func (l *lowering) steps(n *nest, leaves []tir.Expr) (IntrinSteps, error) {
	st := n.st
	leaves = slices.Clone(leaves)
	for i := n.tileLoop(); i < len(n.loops); i++ {
		leaves[i] = tir.IntConst(n.loops[i].axis.Var.Type, 0)
	}
	m := &tileMatch{l: l, n: n, in: st.intrin, base: l.relative(n, leaves)}
	ins, out, err := m.match()
	if err != nil {
		return IntrinSteps{}, st.tensorizeError("%w", err)
	}
	steps := st.intrin.emit(ins, out)
	for _, s := range []*tir.Stmt{&steps.Compute, &steps.Reset, &steps.Update} {
		if *s == nil {
			continue
		}
		if err := badOf(*s); err != nil {
			return steps, st.tensorizeError("%w", err)
		}
		if callsOut(*s) {
			*s = &tir.AttrStmt{Key: tir.AttrWrites, Node: out.buffer, Value: out.buffer.Data, Body: *s}
		}
	}
	return steps, nil
}

// tileMatch compares a stage's formula for a tile with an intrinsic's pattern. It writes the variables of the pattern's
// axes for the indices within the tile.
type tileMatch struct {
	l    *lowering
	n    *nest
	in   *Intrin
	base map[*tir.IterVar]tir.Expr // the values of the stage's axes at the first element of the tile
	dims []int                     // the stage's dimension of each of the pattern's axes
	at   map[*tir.Var]tir.Expr     // the stage's axes within the tile
}

func (m *tileMatch) match() (ins []*Tile, out *Tile, err error) {
	size, err := m.sizes()
	if err != nil {
		return nil, nil, err
	}
	n, p := m.n, m.in.pattern
	m.at = map[*tir.Var]tir.Expr{}
	if m.dims, err = m.pair(n.st.axes, p.axes, size, func(i int) tir.Expr { return n.lo[i] }); err != nil {
		return nil, nil, err
	}
	if _, err = m.pair(n.st.reduce, p.reduce, size, func(i int) tir.Expr { return n.st.reduce[i].Min }); err != nil {
		return nil, nil, err
	}
	out = &Tile{buffer: m.l.buffers[n.st.op.tensors[0]], base: m.l.inRegion(n, m.base), dims: m.dims,
		place: m.l.placed(n)}
	for _, x := range p.axes {
		c, _ := constant(x.Extent)
		out.shape = append(out.shape, c)
	}
	if out.buffer.DType != p.tensors[0].typ {
		return nil, nil, fmt.Errorf("its result has type %s, and the tensor %s", p.tensors[0].typ, out.buffer.DType)
	}
	ins, err = m.inputs()
	return ins, out, err
}

// sizes returns the number of values that each of the stage's axes takes in a tile.
func (m *tileMatch) sizes() (map[*tir.IterVar]int64, error) {
	moves := map[*loop]bool{}
	points := int64(1)
	for _, lp := range m.n.loops[m.n.tileLoop():] {
		moves[lp] = true
		c, ok := constant(lp.width)
		if !ok {
			return nil, fmt.Errorf("the extent %s of axis %s is not constant: split it", text.Print(lp.width), lp.axis.Var.Name)
		}
		points *= c
	}
	size := map[*tir.IterVar]int64{}
	spans := m.l.relativeSpans(m.n, moves, false)
	all := int64(1)
	for _, x := range append(slices.Clone(m.n.st.axes), m.n.st.reduce...) {
		s := spans[x]
		c, ok := int64(0), false
		if s.known() {
			c, ok = constant(m.l.a.plus(m.l.a.sum(s.hi, s.lo, -1), 1))
		}
		if !ok {
			return nil, fmt.Errorf("axis %s does not take a constant number of values in a tile", x.Var.Name)
		}
		size[x] = c
		all *= c
	}
	if all != points {
		return nil, fmt.Errorf("a tile is not contiguous: its loops have %d iterations, over a region of %d points: reorder "+
			"the loops", points, all)
	}
	return size, nil
}

// pair finds the axis of the stage for each axis of the pattern: axes of the stage with one value in a tile may have
// none. It returns their positions.
func (m *tileMatch) pair(own, pattern []*tir.IterVar, size map[*tir.IterVar]int64,
	from func(int) tir.Expr) (dims []int, err error) {
	dims = make([]int, len(pattern))
	d := len(pattern) - 1
	for i, x := range slices.Backward(own) {
		start := tir.Add(widen(from(i), x.Var.Type), m.base[x])
		want := int64(-1)
		if d >= 0 {
			want, _ = constant(pattern[d].Extent)
		}
		switch {
		case size[x] == want && (want > 1 || i <= d):
			dims[d] = i
			m.l.a.Bind(pattern[d].Var, tir.IntConst(pattern[d].Var.Type, 0), pattern[d].Extent)
			start = tir.Add(start, widen(pattern[d].Var, x.Var.Type))
			d--
		case size[x] != 1:
			return nil, fmt.Errorf("a tile has %d values of axis %s, and the pattern has axes of %s", size[x], x.Var.Name,
				extentsOf(pattern))
		}
		m.at[x.Var] = m.l.a.Simplify(start)
	}
	for ; d >= 0; d-- {
		return nil, fmt.Errorf("the pattern has axes of %s, and the tile lacks axis %s", extentsOf(pattern),
			pattern[d].Var.Name)
	}
	return dims, nil
}

func extentsOf(axes []*tir.IterVar) string {
	all := make([]tir.Expr, len(axes))
	for i, x := range axes {
		all[i] = x.Extent
	}
	out := "["
	for i, e := range all {
		if i > 0 {
			out += ", "
		}
		out += text.Print(e)
	}
	return out + "]"
}

// inputs compares the formulas, and returns the tiles that stand for the pattern's placeholders.
func (m *tileMatch) inputs() ([]*Tile, error) {
	own := tir.Substitute(m.l.bodies[m.n.st][0], m.at)
	pattern := m.in.pattern.bodies[0]
	if b, ok := own.(*tir.Bad); ok {
		return nil, b.Err
	}
	a, isReduce := own.(*tir.Reduce)
	b, want := pattern.(*tir.Reduce)
	if isReduce != want {
		return nil, fmt.Errorf("one of the tensor and the pattern is a reduction, the other a formula")
	}
	loads, fresh := loadsOf(own, nil)
	others, _ := loadsOf(pattern, fresh)
	mismatch := fmt.Errorf("the tensor is computed by %s, and the pattern by %s", m.shown(own), m.shown(pattern))
	if len(loads) != len(others) {
		return nil, mismatch
	}
	own, pattern = withoutLoads(own, fresh), withoutLoads(pattern, fresh)
	equal := false
	if isReduce {
		a, b = own.(*tir.Reduce), pattern.(*tir.Reduce)
		to := map[*tir.Var]tir.Expr{}
		for i := range min(len(a.Combiner.Left), len(b.Combiner.Left)) {
			to[b.Combiner.Left[i]], to[b.Combiner.Right[i]] = a.Combiner.Left[i], a.Combiner.Right[i]
		}
		equal = len(a.Combiner.Results) == 1 && len(b.Combiner.Results) == 1 &&
			compare.Equal(a.Combiner.Results[0], tir.Substitute(b.Combiner.Results[0], to)) &&
			compare.Equal(a.Combiner.Identity[0], b.Combiner.Identity[0]) && m.equal(a.Sources[0], b.Sources[0]) &&
			(a.Cond == nil) == (b.Cond == nil) && (a.Cond == nil || m.equal(a.Cond, b.Cond))
	} else {
		equal = m.equal(own, pattern)
	}
	if !equal {
		return nil, mismatch
	}
	tiles := map[*Tensor]*Tile{}
	of := map[*Tensor]*Tensor{}
	for i, load := range loads {
		stands, actual := others[i].Producer.(*Tensor), load.Producer.(*Tensor)
		tile, err := m.input(load, others[i])
		if err != nil {
			return nil, err
		}
		old := tiles[stands]
		if old != nil && (of[stands] != actual || !slices.EqualFunc(old.base, tile.base, m.l.a.same)) {
			return nil, fmt.Errorf("%s of the pattern stands for different parts of tensors %s and %s", stands.name,
				of[stands].name, actual.name)
		}
		tiles[stands], of[stands] = tile, actual
	}
	var ins []*Tile
	for _, t := range readsOf(m.in.pattern.bodies) {
		ins = append(ins, tiles[t])
	}
	return ins, nil
}

// shown prints a formula for an error message.
func (m *tileMatch) shown(e tir.Expr) string {
	if r, ok := e.(*tir.Reduce); ok {
		return "a reduction of " + text.Print(r.Sources[0])
	}
	return text.Print(e)
}

func (m *tileMatch) equal(a, b tir.Expr) bool {
	return compare.Equal(m.l.a.Simplify(a), m.l.a.Simplify(b))
}

// loadsOf returns the reads of a formula in order, and a variable of the same type for each, those given first.
func loadsOf(e tir.Expr, given []*tir.Var) (loads []*tir.ProducerLoad, fresh []*tir.Var) {
	fresh = slices.Clone(given)
	m := &tir.Mutator{Expr: func(e tir.Expr) tir.Expr {
		if l, ok := e.(*tir.ProducerLoad); ok {
			if len(loads) >= len(fresh) {
				fresh = append(fresh, tir.NewVar(fmt.Sprintf("x%d", len(loads)), l.DType()))
			}
			loads = append(loads, l)
		}
		return e
	}}
	m.MutateExpr(e)
	return loads, fresh
}

// withoutLoads replaces the reads of a formula by variables, in order.
func withoutLoads(e tir.Expr, by []*tir.Var) tir.Expr {
	i := 0
	m := &tir.Mutator{Expr: func(e tir.Expr) tir.Expr {
		if _, ok := e.(*tir.ProducerLoad); ok {
			i++
			return by[i-1]
		}
		return e
	}}
	return m.MutateExpr(e)
}

// input returns the part of the tensor that one read of the pattern stands for.
func (m *tileMatch) input(load, pattern *tir.ProducerLoad) (*Tile, error) {
	actual, stands := load.Producer.(*Tensor), pattern.Producer.(*Tensor)
	if actual.typ != stands.typ {
		return nil, fmt.Errorf("tensor %s has type %s, and %s of the pattern, which stands for it, %s", actual.name,
			actual.typ, stands.name, stands.typ)
	}
	within := func(v *tir.Var) bool {
		for _, x := range append(slices.Clone(m.in.pattern.axes), m.in.pattern.reduce...) {
			if x.Var == v {
				return true
			}
		}
		return false
	}
	tile := &Tile{buffer: m.l.buffers[actual], base: make([]tir.Expr, len(load.Indices)), dims: make([]int,
		len(stands.shape))}
	for _, n := range stands.shape {
		c, _ := constant(n)
		tile.shape = append(tile.shape, c)
	}
	d := len(pattern.Indices) - 1
	for i, index := range slices.Backward(load.Indices) {
		start := m.l.a.Simplify(index)
		if d >= 0 {
			moved := m.l.a.Simplify(tir.Sub(index, widen(pattern.Indices[d], index.DType())))
			if !mentions(moved, within) && (mentions(pattern.Indices[d], within) || i <= d) {
				tile.dims[d] = i
				start = moved
				d--
			}
		}
		if mentions(start, within) {
			return nil, fmt.Errorf("index %s of dimension %d of tensor %s differs from %s of the pattern", text.Print(index), i,
				actual.name, m.shown(pattern))
		}
		tile.base[i] = start
	}
	if d >= 0 {
		return nil, fmt.Errorf("tensor %s lacks dimension %d of %s of the pattern", actual.name, d, stands.name)
	}
	if n := m.l.nests[m.l.s.of[actual.op]]; n != nil && n.st.op.kind == opCompute {
		for i := range tile.base {
			tile.base[i] = m.l.a.Simplify(tir.Sub(tile.base[i], n.lo[i]))
		}
		tile.place = m.l.placed(n)
	}
	return tile, nil
}
