// Package tirgen generates random programs for tests of passes and generators: all kinds of loops except those bound to
// threads, bounds checks, conditions, lets, memory, casts between all numeric types, and indices that are affine, that
// wrap around, or that are read from memory. The programs stay within their buffers and do not overflow; some fail an
// assertion.
package tirgen

import (
	"fmt"
	"math/rand/v2"

	"tvmgo/internal/testing/tirrun"
	"tvmgo/tir"
)

var elementTypes = []tir.Type{tir.Float32, tir.Float32, tir.Int32, tir.Int8, tir.UInt8, tir.Int64, tir.Float64,
	tir.Float16, tir.Bool, tir.Int16}

// ranged is a variable with its least and greatest value.
type ranged struct {
	v      *tir.Var
	lo, hi int64
}

// maker generates programs that stay within their buffers and do not overflow.
type maker struct {
	*rand.Rand
	buffers []*tir.Buffer
	results []*tir.Buffer
	vars    []ranged   // integers
	lets    []*tir.Var // values of any type
	budget  int        // the number of statements that may still be generated
}

func (g *maker) one(n int) bool { return g.IntN(n) == 0 }

func pickOf[T any](g *maker, all []T) T { return all[g.IntN(len(all))] }

// whole generates an integer expression of the variables with values in [lo, hi].
func (g *maker) whole() (e tir.Expr, lo, hi int64) {
	e, c := tir.I32(int32(g.IntN(4))), int64(0)
	c = e.(*tir.IntImm).Value
	lo, hi = c, c
	for range 1 + g.IntN(2) {
		if len(g.vars) == 0 {
			break
		}
		x := g.vars[len(g.vars)-1-min(g.IntN(len(g.vars)), g.IntN(len(g.vars)))]
		k := pickOf(g, []int64{1, 1, 1, 1, 2, 3, -1, 8})
		e = tir.Add(tir.Mul(x.v, tir.I32(int32(k))), e)
		lo, hi = lo+min(k*x.lo, k*x.hi), hi+max(k*x.lo, k*x.hi)
	}
	return e, lo, hi
}

// index generates an index of a dimension.
func (g *maker) index(n int64) tir.Expr {
	for range 4 {
		e, lo, hi := g.whole()
		switch {
		case lo >= 0 && hi < n:
			return e
		case lo < 0 && hi-lo < n:
			return tir.Add(e, tir.I32(int32(-lo)))
		}
	}
	e, _, _ := g.whole()
	if g.one(6) { // an index from another buffer
		for _, b := range g.buffers {
			if b.DType == tir.UInt8 && len(b.Shape) == 1 {
				return tir.FloorMod(tir.NewCast(tir.Int32, tir.BufferAt(b, tir.FloorMod(e, b.Shape[0]))), tir.I32(int32(n)))
			}
		}
	}
	return tir.FloorMod(e, tir.I32(int32(n)))
}

func (g *maker) at(b *tir.Buffer) []tir.Expr {
	var all []tir.Expr
	for _, n := range b.Shape {
		all = append(all, g.index(n.(*tir.IntImm).Value))
	}
	return all
}

func (g *maker) cond() tir.Expr {
	if g.one(5) {
		return tir.NewBinary(tir.OpEQ+tir.BinaryOp(g.IntN(6)), g.value(tir.Int32, 1), g.value(tir.Int32, 1))
	}
	e, lo, hi := g.whole()
	c := tir.NewBinary(tir.OpLT+tir.BinaryOp(g.IntN(4)), e, tir.I32(int32(lo+g.Int64N(hi-lo+2))))
	if g.one(4) {
		return [](func(a, b tir.Expr) tir.Expr){tir.And, tir.Or}[g.IntN(2)](c, g.cond())
	}
	return c
}

func (g *maker) value(t tir.Type, depth int) tir.Expr {
	leaf := func() tir.Expr {
		for _, v := range g.lets {
			if v.Type == t && g.one(2) {
				return v
			}
		}
		for range 6 {
			b := pickOf(g, g.buffers)
			if g.one(4) || len(g.buffers) == 7 {
				b = pickOf(g, g.buffers[:4])
			}
			if b.DType == t {
				return tir.BufferAt(b, g.at(b)...)
			}
		}
		if e, _, _ := g.whole(); !tir.IsBool(t) && g.one(2) {
			return tir.NewCast(t, tir.FloorMod(e, tir.I32(50)))
		}
		if tir.IsBool(t) {
			return tir.BoolConst(g.one(2))
		}
		return tir.IntConst(t, int64(g.IntN(9)))
	}
	if depth <= 0 {
		return leaf()
	}
	sub := func() tir.Expr { return g.value(t, depth-1) }
	small := func() tir.Expr {
		if tir.IsInt(t) {
			return tir.FloorMod(sub(), tir.IntConst(t, 11))
		}
		return sub()
	}
	switch g.IntN(10) {
	case 0, 1:
		return leaf()
	case 2:
		from := pickOf(g, elementTypes)
		e := g.value(from, depth-1)
		if tir.IsFloat(from) && tir.IsInt(t) {
			e = tir.Max(tir.Min(e, tir.Const(from, 100)), tir.Const(from, 0))
		}
		return tir.NewCast(t, e)
	case 3:
		return tir.NewSelect(g.cond(), sub(), sub())
	case 4:
		return tir.NewCall(tir.CallIntrinsic, t, "if_then_else", g.cond(), sub(), sub())
	case 5:
		v := tir.NewVar("x", t)
		value := sub()
		g.lets = append(g.lets, v)
		body := sub()
		g.lets = g.lets[:len(g.lets)-1]
		return &tir.Let{Var: v, Value: value, Body: body}
	}
	switch {
	case tir.IsBool(t):
		return g.cond()
	case tir.IsFloat(t) && g.one(4):
		return tir.Intrin("fabs", sub())
	case tir.IsFloat(t):
		return tir.NewBinary(pickOf(g, []tir.BinaryOp{tir.OpAdd, tir.OpSub, tir.OpMul, tir.OpMin, tir.OpMax}), sub(), sub())
	case g.one(5):
		return tir.NewBinary(pickOf(g, []tir.BinaryOp{tir.OpFloorDiv, tir.OpDiv, tir.OpMod}), sub(),
			tir.IntConst(t, int64(2+g.IntN(4))))
	}
	return tir.NewBinary(pickOf(g, []tir.BinaryOp{tir.OpAdd, tir.OpMul, tir.OpMin, tir.OpMax}), small(), small())
}

func (g *maker) store() tir.Stmt {
	b := pickOf(g, append(g.buffers[7:], g.results...))
	at := g.at(b)
	if k := len(g.vars) - 1; k >= 0 && g.one(2) { // as schedules do: consecutive iterations access adjacent elements
		d := len(at) - 1
		if n := b.Shape[d].(*tir.IntImm).Value; g.vars[k].hi < n && g.vars[k].lo >= 0 {
			at[d] = g.vars[k].v
		}
	}
	value := g.value(b.DType, g.IntN(4))
	if g.one(4) && tir.IsFloat(b.DType) {
		value = tir.Add(tir.BufferAt(b, at...), value)
	}
	return &tir.BufferStore{Buffer: b, Indices: at, Value: value}
}

func (g *maker) stmt(depth int) tir.Stmt {
	g.budget--
	if depth <= 0 || g.budget <= 0 {
		return g.store()
	}
	switch g.IntN(11) {
	case 0, 1:
		return tir.Sequence(g.stmt(depth-1), g.stmt(depth-1))
	case 2, 3, 4:
		return g.loop(depth)
	case 5, 6:
		c := g.cond()
		if g.one(2) {
			c = tir.Intrin("likely", c)
		}
		if g.one(3) {
			c = tir.And(tir.Intrin("likely", g.cond()), c)
		}
		s := &tir.If{Cond: c, Then: g.stmt(depth - 1)}
		if g.one(4) {
			s.Else = g.stmt(depth - 1)
		}
		return s
	case 7:
		v := tir.NewVar("t", pickOf(g, elementTypes))
		value := g.value(v.Type, 2)
		g.lets = append(g.lets, v)
		defer func() { g.lets = g.lets[:len(g.lets)-1] }()
		return &tir.LetStmt{Var: v, Value: value, Body: g.stmt(depth - 1)}
	case 8:
		e, lo, hi := g.whole()
		v := ranged{tir.NewVar("j", tir.Int32), lo, hi}
		g.vars = append(g.vars, v)
		defer func() { g.vars = g.vars[:len(g.vars)-1] }()
		return &tir.LetStmt{Var: v.v, Value: e, Body: g.stmt(depth - 1)}
	case 9:
		n := int64(1 + g.IntN(4))
		b := tir.NewBuffer("m", pickOf(g, elementTypes), tir.I32(int32(n)))
		b.Scope = "local"
		i := tir.NewVar("z", tir.Int32)
		first := &tir.For{Var: i, Min: tir.I32(0), Extent: b.Shape[0],
			Body: &tir.BufferStore{Buffer: b, Indices: []tir.Expr{i}, Value: tir.IntConst(b.DType, 1)}}
		g.buffers = append(g.buffers, b)
		defer func() { g.buffers = g.buffers[:len(g.buffers)-1] }()
		return &tir.Alloc{Buffer: b, Body: tir.Sequence(first, g.stmt(depth-1), g.store())}
	case 10:
		if g.one(4) {
			return &tir.Assert{Cond: g.cond(), Kind: "ValueError", Message: "an assertion"}
		}
	}
	return g.store()
}

func (g *maker) loop(depth int) tir.Stmt {
	lo, n := int64(g.IntN(3)), int64(1+g.IntN(9))
	v := ranged{tir.NewVar("i", tir.Int32), lo, lo + n - 1}
	extent := tir.I32(int32(n))
	kind := pickOf(g, []tir.ForKind{tir.Serial, tir.Vectorized, tir.Vectorized, tir.Unrolled})
	if kind == tir.Serial && g.one(3) { // an extent from another buffer
		for _, x := range g.vars {
			if x.lo >= 0 {
				extent, v.hi = x.v, lo+max(x.hi, 1)-1
			}
		}
	}
	s := &tir.For{Kind: kind, Var: v.v, Min: tir.I32(int32(lo)), Extent: extent}
	if g.one(6) {
		s.Annotations = map[string]any{pickOf(g, []string{"auto_unroll_max_step", "pragma_auto_unroll_max_extent"}): int64(
			g.IntN(20))}
	}
	g.vars = append(g.vars, v)
	s.Body = g.stmt(depth - 1)
	g.vars = g.vars[:len(g.vars)-1]
	return s
}

// Function generates a function of seven tensors: the first four are only read, the others also written. Equal seeds
// generate equal functions.
func Function(name string, seed uint64) *tir.PrimFunc {
	g := &maker{Rand: rand.New(rand.NewPCG(seed, 3))}
	f := &tir.PrimFunc{Name: name, Buffers: map[*tir.Var]*tir.Buffer{}, Result: tir.Void}
	for i := range 7 {
		t := pickOf(g, elementTypes)
		if i == 0 {
			t = tir.UInt8
		}
		b := tir.NewBuffer(fmt.Sprintf("b%d", i), t, tir.I32(24))
		if i > 0 && g.one(2) {
			b.Shape = []tir.Expr{tir.I32(int32(3 + g.IntN(4))), tir.I32(int32(6 + g.IntN(12)))}
		}
		h := tir.NewVar(b.Name+"_handle", tir.Handle)
		f.Params, f.Buffers[h] = append(f.Params, h), b
		g.buffers = append(g.buffers, b)
		if i > 3 {
			g.results = append(g.results, b)
		}
	}
	for range 2 {
		g.budget = 14
		f.Body = tir.Sequence(f.Body, g.loop(5))
	}
	return f
}

// Arguments returns memory for the buffers of a function. Equal seeds return equal contents.
func Arguments(f *tir.PrimFunc, seed uint64) (all []any, err error) {
	r := rand.New(rand.NewPCG(seed, 7))
	for _, p := range f.Params {
		b := f.Buffers[p]
		n := int64(1)
		var shape []int64
		for _, x := range b.Shape {
			shape = append(shape, x.(*tir.IntImm).Value)
			n *= x.(*tir.IntImm).Value
		}
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(r.IntN(12))
			if tir.IsBool(b.DType) {
				values[i] = float64(r.IntN(2))
			}
		}
		a, err := tirrun.From(b.DType, values, shape...)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}
