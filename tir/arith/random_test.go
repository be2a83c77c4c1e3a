package arith

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
)

// world is a set of variables with ranges, some of which depend on others, and a condition.
type world struct {
	r     *rand.Rand
	vars  []*tir.Var
	low   []int64
	count []int64
	inner map[*tir.Var]*tir.Var // in [0, the other)
	from  map[*tir.Var]*tir.Var // from the other on
}

func newWorld(seed uint64) *world {
	w := &world{r: rand.New(rand.NewPCG(seed, 1)), inner: map[*tir.Var]*tir.Var{}, from: map[*tir.Var]*tir.Var{}}
	add := func(name string, t tir.Type, low, count int64) *tir.Var {
		v := tir.NewVar(name, t)
		w.vars, w.low, w.count = append(w.vars, v), append(w.low, low), append(w.count, count)
		return v
	}
	for _, t := range []tir.Type{tir.Int32, tir.Int64} {
		add("i", t, 0, 1+w.r.Int64N(20))
		x := add("x", t, w.r.Int64N(40)-30, 1+w.r.Int64N(40))
		n := add("n", t, 1, 1+w.r.Int64N(8))
		w.inner[add("j", t, 0, 0)] = n
		w.from[add("o", t, 0, 4)] = x
	}
	add("u", tir.UInt8, 0, 256)
	add("v", tir.UInt32, 0, 1<<32)
	add("h", tir.Int8, -128, 256)
	add("p", tir.Bool, 0, 2)
	return w
}

// analyzer returns an analyzer with the facts of the world.
func (w *world) analyzer() *Analyzer {
	a := newCounted()
	for i, v := range w.vars {
		switch {
		case w.inner[v] != nil:
			a.Bind(v, tir.IntConst(v.Type, 0), w.inner[v])
		case w.from[v] != nil:
			a.Bind(v, w.from[v], tir.IntConst(v.Type, w.count[i]))
		case isIndex(v.Type):
			a.Bind(v, tir.IntConst(v.Type, w.low[i]), tir.IntConst(v.Type, w.count[i]))
		}
	}
	return a
}

func (w *world) assign() map[*tir.Var]int64 {
	m := map[*tir.Var]int64{}
	for i, v := range w.vars {
		n := w.count[i]
		if w.inner[v] != nil {
			n = m[w.inner[v]]
		}
		low := w.low[i]
		if w.from[v] != nil {
			low = m[w.from[v]]
		}
		switch k := w.r.IntN(6); {
		case k == 0:
			m[v] = low
		case k == 1:
			m[v] = low + n - 1
		default:
			m[v] = low + w.r.Int64N(n)
		}
	}
	return m
}

var wildTypes = []tir.Type{tir.Int32, tir.Int32, tir.Int32, tir.Int64, tir.Int64, tir.UInt8, tir.UInt32, tir.Int8}

// expr returns a random expression of a type.
func (w *world) expr(t tir.Type, depth int) tir.Expr {
	if tir.IsBool(t) {
		return w.cond(depth)
	}
	if depth == 0 || w.r.IntN(8) == 0 {
		return w.leafOf(t)
	}
	sub := func() tir.Expr { return w.expr(t, depth-1) }
	c := func() tir.Expr {
		all := []int64{1, 2, 3, 4, 6, 8, 12, 16}
		v := all[w.r.IntN(len(all))]
		if tir.IsSigned(t) && w.r.IntN(6) == 0 {
			v = -v
		}
		return tir.IntConst(t, v)
	}
	switch w.r.IntN(15) {
	case 0, 1, 2:
		return tir.Add(sub(), sub())
	case 3:
		return tir.Sub(sub(), sub())
	case 4, 5:
		return tir.Mul(sub(), c())
	case 6:
		return tir.Mul(sub(), sub())
	case 7:
		return tir.FloorDiv(sub(), c())
	case 8:
		return tir.FloorMod(sub(), c())
	case 9:
		return tir.NewBinary([]tir.BinaryOp{tir.OpDiv, tir.OpMod}[w.r.IntN(2)], sub(), c())
	case 10:
		ops := []tir.BinaryOp{tir.OpDiv, tir.OpMod, tir.OpFloorDiv, tir.OpFloorMod}
		return tir.NewBinary(ops[w.r.IntN(4)], sub(), w.leafOf(t))
	case 11:
		return tir.Min(sub(), sub())
	case 12:
		return tir.Max(sub(), sub())
	case 13:
		if w.r.IntN(2) == 0 {
			return tir.NewCall(tir.CallIntrinsic, t, "if_then_else", w.cond(depth-1), sub(), sub())
		}
		return tir.NewSelect(w.cond(depth-1), sub(), sub())
	}
	if w.r.IntN(3) == 0 {
		v := tir.NewVar("y", t)
		w2 := *w
		w2.vars = append(append([]*tir.Var{}, w.vars...), v)
		return &tir.Let{Var: v, Value: sub(), Body: w2.expr(t, depth-1)}
	}
	return tir.NewCast(t, w.expr(wildTypes[w.r.IntN(len(wildTypes))], depth-1))
}

func (w *world) leafOf(t tir.Type) tir.Expr {
	var fit []tir.Expr
	for _, v := range w.vars {
		if v.Type == t {
			fit = append(fit, v, v)
		}
	}
	if tir.IsBool(t) {
		return append(fit, tir.BoolConst(w.r.IntN(2) == 0))[w.r.IntN(len(fit)+1)]
	}
	v := w.r.Int64N(20)
	if tir.IsSigned(t) && w.r.IntN(2) == 0 {
		v -= 10
	}
	fit = append(fit, tir.IntConst(t, v), tir.IntConst(t, w.r.Int64N(3)))
	return fit[w.r.IntN(len(fit))]
}

func (w *world) cond(depth int) tir.Expr {
	if depth <= 0 {
		return w.leafOf(tir.Bool)
	}
	switch w.r.IntN(9) {
	case 0:
		return tir.And(w.cond(depth-1), w.cond(depth-1))
	case 1:
		return tir.Or(w.cond(depth-1), w.cond(depth-1))
	case 2:
		return tir.NewNot(w.cond(depth - 1))
	}
	t := wildTypes[w.r.IntN(len(wildTypes))]
	return tir.NewBinary(tir.OpEQ+tir.BinaryOp(w.r.IntN(6)), w.expr(t, depth-1), w.expr(t, depth-1))
}

func (w *world) vector(t tir.Type, depth int) tir.Expr {
	if depth == 0 || w.r.IntN(6) == 0 {
		if w.r.IntN(3) == 0 {
			return &tir.Broadcast{Value: w.expr(t, 1), Lanes: 4}
		}
		return &tir.Ramp{Base: w.expr(t, 1), Stride: tir.IntConst(t, w.r.Int64N(5)), Lanes: 4}
	}
	op := tir.BinaryOp(w.r.IntN(int(tir.OpMax) + 1))
	y := w.vector(t, depth-1)
	if op >= tir.OpDiv && op <= tir.OpFloorMod {
		y = tir.IntConst(tir.Vector(t, 4), 1+w.r.Int64N(8))
	}
	return tir.NewBinary(op, w.vector(t, depth-1), y)
}

func describe(m map[*tir.Var]int64) string {
	s := ""
	for v, x := range m {
		s += fmt.Sprintf(" %s:%s=%d", v.Name, v.Type, x)
	}
	return s
}

// same checks that got equals e for assignments of the world that satisfy a condition; it returns how many could be
// compared.
func (w *world) same(t require.TestingT, e, got, cond tir.Expr, tries int) (compared int) {
	require.Equal(t, e.DType(), got.DType(), textOf(e))
	for range tries {
		m := w.assign()
		strict, loose := evaluation{values: m, strict: true}, evaluation{values: m}
		if cond != nil {
			if holds, err := strict.run(cond); err != nil || holds[0] == 0 {
				continue
			}
		}
		want, err := strict.run(e)
		if err != nil {
			continue
		}
		compared++
		have, err := loose.run(got)
		require.NoError(t, err, "%s\nbecame %s\nwith%s", textOf(e), textOf(got), describe(m))
		require.Equal(t, want, have, "%s\nbecame %s\nwith%s", textOf(e), textOf(got), describe(m))
	}
	return compared
}

// checkRandom checks all answers about a random expression.
func checkRandom(t require.TestingT, seed uint64, tries int) int {
	w := newWorld(seed)
	a := w.analyzer()
	kind := w.r.IntN(10)
	var e, cond tir.Expr
	switch {
	case kind < 2:
		e = w.cond(4)
	case kind == 2:
		e = w.vector(wildTypes[w.r.IntN(len(wildTypes))], 2)
	default:
		e = w.expr(wildTypes[w.r.IntN(len(wildTypes))], 2+w.r.IntN(4))
	}
	if b, bad := e.(*tir.Bad); bad {
		require.NoError(t, b.Err)
	}
	n := 0
	check := func() {
		got := a.Simplify(e)
		n = w.same(t, e, got, cond, tries)
		lo, hi, ok := a.Bounds(e)
		coef, base := a.Modular(e)
		for range tries {
			m := w.assign()
			if cond != nil {
				if holds, err := (evaluation{values: m, strict: true}).run(cond); err != nil || holds[0] == 0 {
					continue
				}
			}
			values, err := evaluation{values: m, strict: true}.run(e)
			for _, v := range values {
				if err == nil && ok {
					require.True(t, lo <= v && v <= hi, "%s is %d, beyond [%d, %d], with%s", textOf(e), v, lo, hi, describe(m))
				}
				if err == nil && coef == 0 {
					require.Equal(t, base, v, textOf(e))
				} else if err == nil {
					require.Equal(t, base, floorMod(v, coef), "%s modulo %d, with%s", textOf(e), coef, describe(m))
				}
			}
		}
	}
	if w.r.IntN(3) == 0 {
		cond = w.cond(3)
		a.With(cond, check)
		return n
	}
	check()
	return n
}

func TestSimplify_RandomExpressions(t *testing.T) {
	compared := 0
	for seed := range uint64(10000) {
		if checkRandom(t, seed, 12) > 0 {
			compared++
		}
	}
	require.Greater(t, compared, 7000, "expressions whose values could be compared")
}

func FuzzSimplify(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { checkRandom(t, seed, 30) })
}
