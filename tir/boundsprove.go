package tir

import "slices"

// violation looks for values of all variables with which the program executes the access with an index outside of its
// dimension. It finds them only if every execution of the access, whatever the arguments, leads to such an index.
func (p *indexProof) violation(x, size Expr) (values, bool) {
	index, ok := p.poly(p.plain(x))
	n, fine := p.poly(p.plain(size))
	if !ok || !fine {
		return nil, false
	}
	minus, _ := n.times(constantPoly(-1))
	beyond, ok := index.plus(minus) // outside where this is at least 0
	if !ok {
		return nil, false
	}
	outside := func(env values) bool {
		i, ok := p.eval(x, env)
		n, fine := p.eval(size, env)
		return ok && fine && (i < 0 || i >= n)
	}
	if p.spanOf(beyond).lo >= 0 || p.span(p.plain(x)).hi < 0 || p.spanOf(index).hi < 0 { // in every iteration
		if env, ok := p.witness(nil, outside, x, size); ok {
			return env, true
		}
	}
	for _, up := range []bool{true, false} {
		sum := beyond
		if !up {
			sum = index
		}
		end, ends, ok := p.extreme(sum, up)
		if !ok || len(ends) == 0 || p.conditional(ends) {
			continue
		}
		if r := p.spanOf(end); up && r.lo >= 0 || !up && r.hi < 0 {
			if env, ok := p.witness(ends, outside, x, size); ok {
				return env, true
			}
		}
	}
	if p.closed(x, size) {
		return p.witness(nil, outside, x, size)
	}
	return nil, false
}

// conditional reports whether an enclosing condition depends, or may depend, on one of the variables.
func (p *indexProof) conditional(vars map[*Var]bool) bool {
	for _, a := range p.enclosing {
		if a.loop != nil || a.value != nil {
			continue
		}
		if a.cond == nil {
			return true
		}
		for _, v := range variables(p.plain(a.cond), p.w.spend) {
			if _, ok := vars[v]; ok || p.isLet(v) {
				return true
			}
		}
	}
	return false
}

// isLet reports whether a variable is bound by a let to an unknown value.
func (p *indexProof) isLet(v *Var) bool {
	return slices.ContainsFunc(p.enclosing, func(a construct) bool { return a.v == v && p.w.lets[v] == nil })
}

// closed reports whether only loops determine an access: no argument of the function influences the index, the size,
// the loops that they depend on, or the conditions that depend on these loops.
func (p *indexProof) closed(x, size Expr) bool {
	loops := map[*Var]*For{}
	for _, a := range p.enclosing {
		if a.loop != nil {
			loops[a.loop.Var] = a.loop
		}
	}
	decide := map[*Var]bool{}
	var take func(e Expr) bool
	take = func(e Expr) bool {
		e = p.plain(e)
		if !isFixed(e, p.w.spend) {
			return false
		}
		for _, v := range variables(e, p.w.spend) {
			loop := loops[v]
			if loop == nil {
				return false
			}
			if !decide[v] {
				decide[v] = true
				if !take(loop.Min) || !take(loop.Extent) {
					return false
				}
			}
		}
		return true
	}
	if !take(x) || !take(size) {
		return false
	}
	for again := true; again; {
		again = false
		for _, a := range p.enclosing {
			if a.cond == nil {
				if a.loop == nil && a.value == nil {
					return false
				}
				continue
			}
			some, all := false, true
			for _, v := range variables(p.plain(a.cond), p.w.spend) {
				some = some || decide[v]
				all = all && decide[v]
			}
			if some && !all {
				if !take(a.cond) {
					return false
				}
				again = true
			}
		}
	}
	return true
}

// The number of combinations of values that are tried for an access: manyTries if the enclosing loops have at most that
// many iterations, otherwise fewTries. First and last iterations are tried first, since trying all takes too long.
const (
	manyTries = 1 << 14
	fewTries  = 1 << 11
)

// tries returns the number of combinations of values that are tried for the access.
func (p *indexProof) tries() int {
	all := int64(1)
	for _, a := range p.enclosing {
		if a.loop == nil {
			continue
		}
		n, ok := a.loop.Extent.(*IntImm)
		if !ok || n.Value > manyTries {
			return fewTries
		}
		if all *= max(n.Value, 1); all > manyTries {
			return fewTries
		}
	}
	return manyTries
}

// witness finds values with which the program executes the access and outside returns true. ends maps the variables of
// loops that must be in their last (true) or first (false) iteration.
func (p *indexProof) witness(ends map[*Var]bool, outside func(env values) bool, x, size Expr) (values, bool) {
	bound := map[*Var]bool{}
	deciding := []Expr{x, size}
	for _, a := range p.enclosing {
		switch {
		case a.loop != nil:
			bound[a.loop.Var] = true
			deciding = append(deciding, a.loop.Min, a.loop.Extent)
		case a.value != nil:
			bound[a.v] = true
			deciding = append(deciding, a.value)
		case a.cond != nil:
			deciding = append(deciding, a.cond)
		default:
			return nil, false // it is not known whether the access is executed
		}
	}
	s := &search{p: p, ends: ends, outside: outside, env: values{}, tries: p.tries()}
	constants := []int64{1, 2, 8, 0, 100, 3, -1}
	seen := map[Expr]bool{}
	var collect func(e Expr)
	collect = func(e Expr) {
		if e == nil || seen[e] || !p.w.spend() {
			return
		}
		seen[e] = true
		switch e := e.(type) {
		case *Var:
			if !bound[e] && IsInt(e.Type) && !slices.Contains(s.free, e) {
				s.free = append(s.free, e)
			}
		case *IntImm:
			for _, n := range []int64{e.Value, e.Value + 1, e.Value - 1} {
				if !slices.Contains(constants, n) && len(constants) < 40 {
					constants = append(constants, n)
				}
			}
		}
		for _, part := range ExprParts(e) {
			collect(part)
		}
	}
	for _, e := range deciding {
		collect(e)
	}
	s.constants = constants
	return s.env, s.arguments(0)
}

// search tries values of the function's arguments, and for each the iterations of the loops.
type search struct {
	p         *indexProof
	free      []*Var
	constants []int64
	ends      map[*Var]bool
	outside   func(env values) bool
	env       values
	tries     int
}

// arguments tries values for the free variables from number i on, then the loops.
func (s *search) arguments(i int) bool {
	if i == len(s.free) {
		return s.inside(0)
	}
	v := s.free[i]
	all := typeSpan(v.Type)
	for _, n := range s.constants {
		if n < all.lo || n > all.hi || n < 0 && s.p.w.sizes[v] {
			continue
		}
		s.env[v] = n
		if s.arguments(i + 1) {
			return true
		}
		if s.tries <= 0 {
			break
		}
	}
	delete(s.env, v)
	return false
}

// inside tries the iterations of the enclosing loops, and checks the enclosing conditions, from number i on.
func (s *search) inside(i int) bool {
	if s.tries--; s.tries <= 0 || !s.p.w.spend() {
		return false
	}
	if i == len(s.p.enclosing) {
		return s.outside(s.env)
	}
	a := s.p.enclosing[i]
	switch {
	case a.value != nil:
		if n, ok := s.p.eval(a.value, s.env); ok {
			s.env[a.v] = n
			defer delete(s.env, a.v)
		}
		return s.inside(i + 1)
	case a.cond != nil:
		n, ok := s.p.eval(a.cond, s.env)
		return ok && (n != 0) != a.not && s.inside(i+1)
	case a.loop == nil:
		return false
	}
	low, ok := s.p.eval(a.loop.Min, s.env)
	n, fine := s.p.eval(a.loop.Extent, s.env)
	if !ok || !fine || n <= 0 {
		return false
	}
	v := a.loop.Var
	for _, at := range s.iterations(v, n) {
		s.env[v] = low + at
		if s.inside(i + 1) {
			return true
		}
		if s.tries <= 0 {
			break
		}
	}
	delete(s.env, v)
	return false
}

// manyIterations is the greatest extent of a loop of which all iterations are tried.
const manyIterations = 256

// iterations returns the iterations of a loop of extent n that are tried: the last and the first come first.
func (s *search) iterations(v *Var, n int64) []int64 {
	if last, fixed := s.ends[v]; fixed {
		if last {
			return []int64{n - 1}
		}
		return []int64{0}
	}
	all := []int64{n - 1}
	if n > 1 {
		all = append(all, 0)
	}
	if n <= manyIterations {
		for k := n - 2; k > 0; k-- {
			all = append(all, k)
		}
		return all
	}
	for k := int64(1); k < 16; k++ {
		all = append(all, n-1-k, k)
	}
	for _, k := range s.constants {
		if k >= 16 && k < n-16 {
			all = append(all, k)
		}
	}
	return all
}
