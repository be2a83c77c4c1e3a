package arith

import "tvmgo/tir"

// Analyzer simplifies and proves. It caches results, so one analyzer for a function is faster than one for each
// expression. It is not safe for concurrent use.
type Analyzer struct {
	infos map[tir.Expr]info
	ids   map[tir.Expr]int
	keys  map[any]int
	exprs map[int]tir.Expr // one expression for each id

	known  map[int]interval      // by id: bounds beyond those that the operands imply
	mods   map[int]modulus       // by id: the same for remainders
	values map[*tir.Var]tir.Expr // variables with a single possible value
	facts  []fact
	undo   []func()

	simple    map[tir.Expr]tir.Expr // cache of simplify; cleared when a fact is added
	ranges    map[tir.Expr]interval // cache of rangeOf
	failed    map[string]int        // failed proofs, with the number of steps that were left
	lastID    int
	infoDepth int
	depth     int
	nesting   int // of statements
	steps     int
	attempts  int
	busy      bool
	applied   func(rule) // called for each rule that is applied, in tests
}

// Limits of one answer.
const (
	maxSteps    = 1 << 16
	maxAttempts = 60 // of a proof, at each depth
	maxDepth    = 3000
	proofDepth  = 4
)

// NewAnalyzer returns an analyzer without facts.
func NewAnalyzer() *Analyzer {
	return &Analyzer{infos: map[tir.Expr]info{}, ids: map[tir.Expr]int{}, keys: map[any]int{}, exprs: map[int]tir.Expr{},
		known: map[int]interval{}, mods: map[int]modulus{},
		values: map[*tir.Var]tir.Expr{}, simple: map[tir.Expr]tir.Expr{}, ranges: map[tir.Expr]interval{},
		failed: map[string]int{}}
}

// Bind declares that v ranges over extent integers starting at min. It forgets all earlier facts about v, which is a
// new variable from now on. min and extent may be expressions. Answers hold for the values that v can have, so they
// assume that extent is at least 1. Bind does nothing if an argument is nil or has another type than int32 or int64.
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

// With calls do with the additional fact that cond holds. Conditions that read memory are ignored.
func (a *Analyzer) With(cond tir.Expr, do func()) {
	a.push()
	defer a.pop()
	a.assume(cond)
	do()
}

// Scope calls do, and then forgets the bindings that do made.
func (a *Analyzer) Scope(do func()) {
	a.push()
	defer a.pop()
	do()
}

// Simplify returns an expression with the type and value of e: a simpler one, or e.
func (a *Analyzer) Simplify(e tir.Expr) tir.Expr {
	if isNil(e) {
		return e
	}
	a.begin()
	defer a.end()
	for range 3 { // a change may enable another
		r := a.simplify(e)
		if sameShape(r, e, 0) {
			return e
		}
		e = r
	}
	return e
}

// Prove reports whether cond holds for all values of its variables. False means that it does not, or that no proof was
// found.
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

// Bounds returns a lower and an upper bound of e in all its lanes. ok is false if one of them is unknown.
func (a *Analyzer) Bounds(e tir.Expr) (lo, hi int64, ok bool) {
	if t := a.info(e).t; isNil(e) || !tir.IsInt(t) && !tir.IsBool(t) {
		return 0, 0, false
	}
	a.begin()
	defer a.end()
	r := a.rangeOf(e).intersect(a.rangeOf(a.simplify(e)))
	if r.lo > r.hi { // the facts contradict each other
		return 0, 0, false
	}
	return r.lo, r.hi, r.finite()
}

// Modular returns coef and base such that e is a multiple of coef, plus base, with 0 <= base < coef. If coef is 0, e
// equals base; if it is 1, nothing is known.
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

// asType converts a constant to another type if that type has its value; it returns other expressions unchanged.
func asType(e tir.Expr, t tir.Type) tir.Expr {
	if c, ok := e.(*tir.IntImm); ok && c != nil && tir.IsInt(c.Type) && point(c.Value).within(typeRange(t)) {
		return makeInt(t, c.Value)
	}
	return e
}

// begin starts the step count of an answer. Nested answers count towards the outermost one.
func (a *Analyzer) begin() {
	if a.depth == 0 {
		a.steps = maxSteps
	}
	a.depth++
}

func (a *Analyzer) end() { a.depth-- }

// spend uses one step, and reports whether there was one left.
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

// push begins a scope: pop forgets the facts that are learned in it.
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

// later registers a function that undoes a change at the end of the scope.
func (a *Analyzer) later(f func()) {
	if len(a.undo) > 0 {
		a.undo = append(a.undo, f)
	}
	a.changed()
}

// changed clears the caches of answers that depend on facts.
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
