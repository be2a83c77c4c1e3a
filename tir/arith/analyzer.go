package arith

import "tvmgo/tir"

// Analyzer simplifies and proves. It keeps what it has seen, so that one for a function is better than one for each
// expression. It isn't safe for concurrent use.
type Analyzer struct {
	infos map[tir.Expr]info
	ids   map[tir.Expr]int
	keys  map[any]int
	exprs map[int]tir.Expr // one of each number

	known  map[int]interval      // of numbered expressions, beside what their parts say
	mods   map[int]modulus       // likewise
	values map[*tir.Var]tir.Expr // of variables that have one value alone
	facts  []fact
	undo   []func()

	simple    map[tir.Expr]tir.Expr // memory of simplify; emptied where something is learned
	ranges    map[tir.Expr]interval // memory of rangeOf
	failed    map[string]int        // memory of proofs that failed, with as many steps left
	lastID    int
	infoDepth int
	depth     int
	nesting   int // of statements
	steps     int
	attempts  int
	busy      bool
	applied   func(rule) // tests count
}

// Limits of one answer.
const (
	maxSteps    = 1 << 16
	maxAttempts = 60 // of a proof of each depth
	maxDepth    = 3000
	proofDepth  = 4
)

// NewAnalyzer makes an analyzer that knows nothing.
func NewAnalyzer() *Analyzer {
	return &Analyzer{infos: map[tir.Expr]info{}, ids: map[tir.Expr]int{}, keys: map[any]int{}, exprs: map[int]tir.Expr{},
		known: map[int]interval{}, mods: map[int]modulus{},
		values: map[*tir.Var]tir.Expr{}, simple: map[tir.Expr]tir.Expr{}, ranges: map[tir.Expr]interval{},
		failed: map[string]int{}}
}

// Bind says that v is one of the extent whole numbers from min on. What has been known of v is forgotten: it is another
// variable now. min and extent may be expressions. All that is answered holds where v has a value at all, that is,
// where extent is 1 at least. Bind of what has no such type, or is nil, says nothing.
func (a *Analyzer) Bind(v *tir.Var, min, extent tir.Expr) {
	if v == nil {
		return
	}
	a.forget(v)
	min, extent = asType(min, v.Type), asType(extent, v.Type)
	if i, j := a.info(min), a.info(extent); !tir.IsInt(v.Type) || i.t != v.Type || j.t != v.Type || v.Type.Lanes != 1 ||
		(i.flags|j.flags)&(hasEffect|malformed) != 0 {
		return
	}
	a.begin()
	defer a.end()
	min, extent = a.simplify(min), a.simplify(extent)
	low, count := a.rangeOf(min), a.rangeOf(extent)
	if r := (interval{low.lo, low.add(count).add(point(-1)).hi}); r.lo <= r.hi &&
		(isIndex(v.Type) || r.within(typeRange(v.Type))) {
		a.learn(a.id(v), r)
	}
	if !isIndex(v.Type) || (a.info(min).flags|a.info(extent).flags)&readsMemory != 0 || a.mentions(min, v) ||
		a.mentions(extent, v) {
		return
	}
	if isConst(extent, 1) {
		a.setValue(v, min)
		return
	}
	x := a.sumExpanded(v, v.Type)
	low0, n := a.sumExpanded(min, v.Type), a.sumExpanded(extent, v.Type)
	a.addFact(x.minus(low0))                       // v - min >= 0
	a.addFact(low0.plus(n).plusConst(-1).minus(x)) // min + extent - 1 - v >= 0
	a.addFact(n.plusConst(-1))                     // v has a value
}

// With runs do while cond is known to hold. A condition that reads memory is not remembered.
func (a *Analyzer) With(cond tir.Expr, do func()) {
	a.push()
	defer a.pop()
	a.assume(cond)
	do()
}

// Scope runs do, and forgets what Bind says within.
func (a *Analyzer) Scope(do func()) {
	a.push()
	defer a.pop()
	do()
}

// Simplify is an expression of e's type and value that is simpler, if one is known.
func (a *Analyzer) Simplify(e tir.Expr) tir.Expr {
	if isNil(e) {
		return e
	}
	a.begin()
	defer a.end()
	for range 3 { // a change may give way to another
		r := a.simplify(e)
		if sameShape(r, e, 0) {
			return e
		}
		e = r
	}
	return e
}

// Prove says whether cond holds for all values of its variables; false: it does not, or that isn't known.
func (a *Analyzer) Prove(cond tir.Expr) bool {
	if isNil(cond) || !tir.IsBool(a.info(cond).t) {
		return false
	}
	r := a.Simplify(cond)
	if b, ok := r.(*tir.Broadcast); ok {
		r = b.Value
	}
	return isConst(r, 1)
}

// Bounds is the least and the greatest that e can be, with all its lanes; ok is false where one of both isn't known.
func (a *Analyzer) Bounds(e tir.Expr) (lo, hi int64, ok bool) {
	if t := a.info(e).t; isNil(e) || !tir.IsInt(t) && !tir.IsBool(t) {
		return 0, 0, false
	}
	a.begin()
	defer a.end()
	r := a.rangeOf(e).intersect(a.rangeOf(a.simplify(e)))
	if r.lo > r.hi { // no values at all: what is known contradicts itself
		return 0, 0, false
	}
	return r.lo, r.hi, r.finite()
}

// Modular gives numbers such that e is a multiple of coef, plus base, of 0 <= base < coef; a coef of 0 says that e is
// base, one of 1 nothing.
func (a *Analyzer) Modular(e tir.Expr) (coef, base int64) {
	t := a.info(e).t
	if isNil(e) || !isIndex(t) {
		return 1, 0
	}
	a.begin()
	defer a.end()
	m := a.modular(a.simplify(e))
	return m.coef, m.base
}

// asType is a constant as one of another type that has its value; all else as it is.
func asType(e tir.Expr, t tir.Type) tir.Expr {
	if c, ok := e.(*tir.IntImm); ok && c != nil && tir.IsInt(c.Type) && point(c.Value).within(typeRange(t)) {
		return makeInt(t, c.Value)
	}
	return e
}

// begin starts the steps of an answer; answers within answers count as theirs.
func (a *Analyzer) begin() {
	if a.depth == 0 {
		a.steps = maxSteps
	}
	a.depth++
}

func (a *Analyzer) end() { a.depth-- }

// spend takes a step, if there is one left.
func (a *Analyzer) spend() bool {
	if a.steps <= 0 || a.depth > maxDepth {
		return false
	}
	a.steps--
	return true
}

func (a *Analyzer) hit(r rule) {
	if a.applied != nil {
		a.applied(r)
	}
}

// push begins a scope: what is learned within is forgotten by pop.
func (a *Analyzer) push() { a.undo = append(a.undo, nil) }

func (a *Analyzer) pop() {
	for {
		last := len(a.undo) - 1
		f := a.undo[last]
		a.undo = a.undo[:last]
		if f == nil {
			break
		}
		f()
	}
	a.changed()
}

// later says how to undo something.
func (a *Analyzer) later(f func()) {
	if len(a.undo) > 0 {
		a.undo = append(a.undo, f)
	}
	a.changed()
}

// changed empties the memory of what depends on what is known.
func (a *Analyzer) changed() {
	if len(a.simple) > 0 {
		a.simple = map[tir.Expr]tir.Expr{}
	}
	if len(a.ranges) > 0 {
		a.ranges = map[tir.Expr]interval{}
	}
	if len(a.failed) > 0 {
		a.failed = map[string]int{}
	}
}
