package arith

import "tvmgo/tir"

// modulus describes numbers that are a multiple of coef, plus base, with 0 <= base < coef. If coef is 0, the number is
// base.
type modulus struct{ coef, base int64 }

var anyNumber = modulus{1, 0}

func newModulus(coef, base int64) modulus {
	if coef == least {
		return anyNumber
	}
	coef = magnitudeOf(coef)
	if coef != 0 {
		base = floorMod(base, coef)
	}
	return modulus{coef, base}
}

func (m modulus) add(n modulus) modulus {
	base, ok := addOK(m.base, n.base)
	if !ok {
		return anyNumber
	}
	return newModulus(gcd(m.coef, n.coef), base)
}

func (m modulus) scale(c int64) modulus { return m.mul(modulus{0, c}) }

func (m modulus) mul(n modulus) modulus {
	x, ok1 := mulOK(m.coef, n.coef)
	y, ok2 := mulOK(m.coef, n.base)
	z, ok3 := mulOK(m.base, n.coef)
	base, ok4 := mulOK(m.base, n.base)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return anyNumber
	}
	return newModulus(gcd(gcd(x, y), z), base)
}

// either returns what holds for numbers that satisfy m or n.
func (m modulus) either(n modulus) modulus {
	d, ok := addOK(m.base, -n.base)
	if !ok {
		return anyNumber
	}
	return newModulus(gcd(gcd(m.coef, n.coef), d), m.base)
}

// modular returns what is known about the remainders of e, of type int32 or int64.
func (a *Analyzer) modular(e tir.Expr) modulus {
	i := a.info(e)
	if !isIndex(i.t) || i.flags&(hasEffect|malformed) != 0 || !a.spend() {
		return anyNumber
	}
	a.depth++
	defer func() { a.depth-- }()
	if m, ok := a.mods[a.id(e)]; ok {
		return m
	}
	switch e := e.(type) {
	case *tir.IntImm:
		return modulus{0, e.Value}
	case *tir.Cast:
		if from := a.info(e.Value).t; isIndex(from) && typeRange(from).within(typeRange(i.t)) {
			return a.modular(e.Value)
		}
	case *tir.Select:
		return a.modular(e.Then).either(a.modular(e.Else))
	case *tir.Binary:
		switch e.Op {
		case tir.OpAdd, tir.OpSub:
			return a.sumModulus(a.sumOf(e, i.t))
		case tir.OpMul:
			return a.modular(e.A).mul(a.modular(e.B))
		case tir.OpMin, tir.OpMax:
			return a.modular(e.A).either(a.modular(e.B))
		case tir.OpFloorMod:
			m, c := a.modular(e.A), a.modular(e.B)
			if c.coef == 0 && c.base > 0 {
				g := gcd(m.coef, c.base)
				if g == c.base {
					return modulus{0, floorMod(m.base, c.base)}
				}
				return newModulus(g, m.base)
			}
		case tir.OpFloorDiv:
			m, c := a.modular(e.A), a.modular(e.B)
			if c.coef == 0 && c.base > 0 && m.coef%c.base == 0 {
				return newModulus(m.coef/c.base, floorDiv(m.base, c.base))
			}
		}
	}
	return anyNumber
}

func (a *Analyzer) sumModulus(s sum) modulus {
	if s.over {
		return anyNumber
	}
	m := modulus{0, s.c}
	for _, t := range s.terms {
		m = m.add(a.modular(t.atom).scale(t.coef))
	}
	return m
}
