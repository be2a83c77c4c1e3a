package tirnodes

import (
	"fmt"
	"math/rand/v2"

	"tvmgo/tir"
)

// programMaker makes well-formed programs from bytes.
type programMaker struct {
	data         []byte
	names        int
	ints, floats []tir.Expr // in scope, some of them used several times
	truths       []tir.Expr
	buffers      []*tir.Buffer
	inLet        int
}

func (g *programMaker) next(n int) int {
	if len(g.data) == 0 {
		return 0
	}
	b := g.data[0]
	g.data = g.data[1:]
	return int(b) % n
}

func (g *programMaker) variable(t tir.Type) *tir.Var {
	g.names++
	return tir.NewVar(fmt.Sprintf("v%d", g.names), t)
}

// scope runs make, and removes what it defines from the scope afterwards.
func (g *programMaker) scope(make func()) {
	ints, floats, truths, buffers := g.ints, g.floats, g.truths, g.buffers
	make()
	g.ints, g.floats, g.truths, g.buffers = ints, floats, truths, buffers
}

// reuse returns an expression of the list, or makes one and adds it to the list. An expression that contains a let is
// not added, because its variable may be bound only once.
func (g *programMaker) reuse(list *[]tir.Expr, make func() tir.Expr) tir.Expr {
	if n := len(*list); n > 0 && g.next(3) == 0 {
		return (*list)[g.next(n)]
	}
	lets := g.inLet
	e := make()
	if lets == g.inLet {
		*list = append((*list)[:len(*list):len(*list)], e)
	}
	return e
}

func (g *programMaker) int(depth int) tir.Expr {
	return g.reuse(&g.ints, func() tir.Expr {
		if depth <= 0 {
			return tir.I32(int32(g.next(256)))
		}
		switch g.next(8) {
		case 0:
			return tir.NewCast(tir.Int32, g.float(depth-1))
		case 1:
			return tir.NewSelect(g.truth(depth-1), g.int(depth-1), g.int(depth-1))
		case 2:
			v, value := g.variable(tir.Int32), g.int(depth-1)
			e := &tir.Let{Var: v, Value: value}
			g.inLet++
			g.scope(func() {
				g.ints = append(g.ints[:len(g.ints):len(g.ints)], v)
				e.Body = tir.Add(v, g.int(depth-1))
			})
			return e
		case 3:
			return tir.Intrin("bitwise_xor", g.int(depth-1), g.int(depth-1))
		case 4:
			return tir.NewCall(tir.CallPacked, tir.Int32, fmt.Sprintf("p%d", g.next(4)), g.float(depth-1), tir.Text("t"))
		case 5:
			return tir.I32(int32(g.next(256)))
		}
		return &tir.Binary{Op: tir.BinaryOp(g.next(int(tir.OpEQ))), A: g.int(depth - 1), B: g.int(depth - 1)}
	})
}

func (g *programMaker) float(depth int) tir.Expr {
	return g.reuse(&g.floats, func() tir.Expr {
		if depth <= 0 {
			return tir.F32(float32(g.next(256)) / 4)
		}
		switch g.next(5) {
		case 0:
			return tir.Intrin([]string{"exp", "sqrt", "erf"}[g.next(3)], g.float(depth-1))
		case 1:
			b := g.buffers[g.next(len(g.buffers))]
			return tir.BufferAt(b, g.int(depth-1))
		case 2:
			return tir.NewCast(tir.Float32, g.int(depth-1))
		}
		return &tir.Binary{Op: tir.BinaryOp(g.next(int(tir.OpDiv) + 1)), A: g.float(depth - 1), B: g.float(depth - 1)}
	})
}

func (g *programMaker) truth(depth int) tir.Expr {
	return g.reuse(&g.truths, func() tir.Expr {
		switch {
		case depth <= 0:
			return tir.BoolConst(g.next(2) == 1)
		case g.next(4) == 0:
			return tir.NewNot(g.truth(depth - 1))
		case g.next(4) == 0:
			return &tir.Binary{Op: tir.OpAnd + tir.BinaryOp(g.next(2)), A: g.truth(depth - 1), B: g.truth(depth - 1)}
		}
		return &tir.Binary{Op: tir.OpEQ + tir.BinaryOp(g.next(6)), A: g.int(depth - 1), B: g.int(depth - 1)}
	})
}

func (g *programMaker) stmt(depth int) tir.Stmt {
	store := func() tir.Stmt {
		b := g.buffers[g.next(len(g.buffers))]
		if g.next(4) == 0 {
			lanes := 2 + g.next(3)
			return &tir.BufferStore{Buffer: b, Value: &tir.Broadcast{Value: g.float(1), Lanes: lanes},
				Indices: []tir.Expr{&tir.Ramp{Base: g.int(1), Stride: tir.I32(1), Lanes: lanes}}}
		}
		return &tir.BufferStore{Buffer: b, Value: g.float(2), Indices: []tir.Expr{g.int(2)}}
	}
	if depth <= 0 {
		return store()
	}
	switch g.next(9) {
	case 0:
		f := &tir.For{Kind: []tir.ForKind{tir.Serial, tir.Parallel, tir.Unrolled}[g.next(3)], Var: g.variable(tir.Int32),
			Min: g.int(1), Extent: tir.I32(int32(g.next(64)))}
		if g.next(3) == 0 {
			f.Annotations = map[string]any{"a": int64(g.next(4)), "b": []any{true, 0.5, "x"}[g.next(3)]}
		}
		g.scope(func() {
			g.ints = append(g.ints[:len(g.ints):len(g.ints)], f.Var)
			f.Body = g.stmt(depth - 1)
		})
		return f
	case 1:
		b := tir.NewBuffer("b", tir.Float32, tir.Add(g.ints[0],
			tir.I32(int32(g.next(256))))) // not a constant: indices need not be in bounds
		b.Scope = []string{"", "shared", "local"}[g.next(3)]
		s := &tir.Alloc{Buffer: b}
		g.scope(func() {
			g.buffers = append(g.buffers[:len(g.buffers):len(g.buffers)], b)
			s.Body = g.stmt(depth - 1)
		})
		return s
	case 2:
		s := &tir.LetStmt{Var: g.variable(tir.Float32), Value: g.float(2)}
		g.scope(func() {
			g.floats = append(g.floats[:len(g.floats):len(g.floats)], s.Var)
			s.Body = g.stmt(depth - 1)
		})
		return s
	case 3:
		s := &tir.If{Cond: g.truth(2)}
		g.scope(func() { s.Then = g.stmt(depth - 1) })
		if g.next(2) == 0 {
			g.scope(func() { s.Else = g.stmt(depth - 1) })
		}
		return s
	case 4:
		return &tir.Assert{Cond: g.truth(2), Kind: "ValueError", Message: "m"}
	case 5:
		return &tir.AttrStmt{Key: "k", Node: g.buffers[g.next(len(g.buffers))], Value: g.int(1), Body: g.stmt(depth - 1)}
	case 6:
		return &tir.While{Cond: g.truth(1), Body: g.stmt(depth - 1)}
	case 7:
		all := make([]tir.Stmt, 2+g.next(3))
		for i := range all {
			all[i] = g.stmt(depth - 1)
		}
		return tir.Sequence(all...)
	}
	return store()
}

// Program makes a function from bytes.
func Program(data []byte) *tir.PrimFunc {
	g := &programMaker{data: data}
	a, n, m := tir.NewVar("a", tir.Handle), tir.NewVar("n", tir.Int32), tir.NewVar("m", tir.Int32)
	in := tir.NewBuffer("A", tir.Float32, m)
	g.buffers, g.ints = []*tir.Buffer{in}, []tir.Expr{n, m}
	f := &tir.PrimFunc{Name: "main", Params: []*tir.Var{a, n}, Buffers: map[*tir.Var]*tir.Buffer{a: in}, Result: tir.Void,
		Attrs: map[string]any{"a": int64(1)}}
	f.Body = g.stmt(5)
	return f
}

func RandomBytes(r *rand.Rand) []byte {
	data := make([]byte, 20+r.IntN(300))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}
