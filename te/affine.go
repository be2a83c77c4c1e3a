package te

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"tvmgo/tir"
)

// poly is a sum of products of whole numbers: c + Σ coeff·Π factors. Terms are in the order in which they were found, so that programs come out the
// same every time.
type poly struct {
	typ   tir.Type
	c     int64
	terms []term
}

type term struct {
	coeff   int64
	factors []factor
	key     string // of the factors, sorted
}

// factor is a variable, or an expression that is not looked into.
type factor struct {
	expr tir.Expr
	key  string
}

func makeTerm(coeff int64, factors ...factor) term {
	keys := make([]string, len(factors))
	for i, f := range factors {
		keys[i] = f.key
	}
	slices.Sort(keys)
	return term{coeff, factors, strings.Join(keys, "·")}
}

func constPoly(t tir.Type, c int64) poly { return poly{typ: t, c: c} }

func (p poly) isConst() bool { return len(p.terms) == 0 }

// is says whether the poly is the constant.
func (p poly) is(c int64) bool { return p.isConst() && p.c == c }

func (p poly) equal(q poly) bool { return p.plus(q, -1).is(0) }

// plus is p + k·q.
func (p poly) plus(q poly, k int64) poly {
	out := poly{p.typ, p.c + k*q.c, slices.Clone(p.terms)}
	for _, t := range q.terms {
		i := slices.IndexFunc(out.terms, func(o term) bool { return o.key == t.key })
		if i < 0 {
			t.coeff *= k
			out.terms = append(out.terms, t)
			continue
		}
		out.terms[i].coeff += k * t.coeff
	}
	out.terms = slices.DeleteFunc(out.terms, func(t term) bool { return t.coeff == 0 })
	return out
}

func (p poly) plusConst(c int64) poly { p.c += c; return p }

// times is p·q; ok is false where it would not fit 64 bits, or would be long.
func (p poly) times(q poly) (_ poly, ok bool) {
	if len(p.terms)*len(q.terms) > 16 {
		return poly{}, false
	}
	out := constPoly(p.typ, 0)
	all := func(p poly) []term { return append(slices.Clone(p.terms), makeTerm(p.c)) }
	for _, a := range all(p) {
		for _, b := range all(q) {
			c, ok := mulFits(a.coeff, b.coeff)
			if !ok {
				return poly{}, false
			}
			if t := makeTerm(c, append(slices.Clone(a.factors), b.factors...)...); len(t.factors) == 0 {
				out.c += c
			} else if c != 0 {
				out = out.plus(poly{typ: p.typ, terms: []term{t}}, 1)
			}
		}
	}
	return out, true
}

// mulFits multiplies, and says whether the product is well within 64 bits, so that a few of them can be added.
func mulFits(a, b int64) (int64, bool) {
	abs := func(x int64) uint64 {
		if x < 0 {
			return uint64(-x)
		}
		return uint64(x)
	}
	hi, lo := bits.Mul64(abs(a), abs(b))
	return a * b, hi == 0 && lo < 1<<60
}

// expr is the poly as an expression of its type.
func (p poly) expr() tir.Expr {
	var sum tir.Expr
	add := func(coeff int64, e tir.Expr) {
		switch {
		case sum == nil && coeff < 0:
			sum = tir.Sub(tir.IntConst(p.typ, 0), e)
		case sum == nil:
			sum = e
		case coeff < 0:
			sum = tir.Sub(sum, e)
		default:
			sum = tir.Add(sum, e)
		}
	}
	// Positive terms come first, so that a difference begins with what is taken from.
	for _, positive := range []bool{true, false} {
		for _, t := range p.terms {
			if (t.coeff > 0) != positive {
				continue
			}
			if sum == nil && !positive && p.c > 0 {
				sum = tir.IntConst(p.typ, p.c)
				p.c = 0
			}
			add(t.coeff, t.expr(p.typ))
		}
	}
	switch {
	case sum == nil:
		return tir.IntConst(p.typ, p.c)
	case p.c < 0:
		return tir.Sub(sum, tir.IntConst(p.typ, -p.c))
	case p.c > 0:
		return tir.Add(sum, tir.IntConst(p.typ, p.c))
	}
	return sum
}

// expr is the product without its sign.
func (t term) expr(typ tir.Type) tir.Expr {
	e := t.factors[0].expr
	for _, f := range t.factors[1:] {
		e = tir.Mul(e, f.expr)
	}
	if c := max(t.coeff, -t.coeff); c != 1 {
		e = tir.Mul(e, tir.IntConst(typ, c))
	}
	return e
}

// exprKey tells expressions apart: equal expressions have equal keys.
func exprKey(e tir.Expr) string {
	var b strings.Builder
	writeKey(&b, e)
	return b.String()
}

func writeKey(b *strings.Builder, e tir.Expr) {
	switch e := e.(type) {
	case nil:
		b.WriteString("nil")
		return
	case *tir.Var:
		fmt.Fprintf(b, "%p", e)
		return
	case *tir.IntImm:
		fmt.Fprintf(b, "%d", e.Value)
		return
	case *tir.Binary:
		b.WriteString(e.Op.String())
	case *tir.Cast:
		fmt.Fprintf(b, "cast %s", e.Type)
	case *tir.Select:
		b.WriteString("select")
	case *tir.Not:
		b.WriteString("not")
	case *tir.Call:
		if i, ok := tir.LookupIntrinsic(e.Name); !ok || e.Kind != tir.CallIntrinsic || !i.Pure {
			fmt.Fprintf(b, "%p", e) // two calls may give two values
			return
		}
		fmt.Fprintf(b, "%s %s", e.Name, e.Type)
	case *tir.ProducerLoad:
		fmt.Fprintf(b, "%p", e.Producer)
	case *tir.BufferLoad:
		fmt.Fprintf(b, "%p", e.Buffer)
	default:
		fmt.Fprintf(b, "%p", e)
		return
	}
	b.WriteByte('(')
	for _, part := range tir.ExprParts(e) {
		writeKey(b, part)
		b.WriteByte(',')
	}
	b.WriteByte(')')
}
