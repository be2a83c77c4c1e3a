package tir

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// programMaker makes well-formed programs of bytes.
type programMaker struct {
	data         []byte
	names        int
	ints, floats []Expr // in scope, some of them used several times
	truths       []Expr
	buffers      []*Buffer
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

func (g *programMaker) variable(t Type) *Var {
	g.names++
	return NewVar(fmt.Sprintf("v%d", g.names), t)
}

// scope makes what stands within a binder; what is defined there is forgotten.
func (g *programMaker) scope(make func()) {
	ints, floats, truths, buffers := g.ints, g.floats, g.truths, g.buffers
	make()
	g.ints, g.floats, g.truths, g.buffers = ints, floats, truths, buffers
}

// reuse is something of a list that was made before, or what is made now and kept there. What has a let within stands once only.
func (g *programMaker) reuse(list *[]Expr, make func() Expr) Expr {
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

func (g *programMaker) int(depth int) Expr {
	return g.reuse(&g.ints, func() Expr {
		if depth <= 0 {
			return I32(int32(g.next(256)))
		}
		switch g.next(8) {
		case 0:
			return NewCast(Int32, g.float(depth-1))
		case 1:
			return NewSelect(g.truth(depth-1), g.int(depth-1), g.int(depth-1))
		case 2:
			v, value := g.variable(Int32), g.int(depth-1)
			e := &Let{Var: v, Value: value}
			g.inLet++
			g.scope(func() {
				g.ints = append(g.ints[:len(g.ints):len(g.ints)], v)
				e.Body = Add(v, g.int(depth-1))
			})
			return e
		case 3:
			return Intrin("bitwise_xor", g.int(depth-1), g.int(depth-1))
		case 4:
			return NewCall(CallPacked, Int32, fmt.Sprintf("p%d", g.next(4)), g.float(depth-1), Text("t"))
		case 5:
			return I32(int32(g.next(256)))
		}
		return &Binary{Op: BinaryOp(g.next(int(OpEQ))), A: g.int(depth - 1), B: g.int(depth - 1)}
	})
}

func (g *programMaker) float(depth int) Expr {
	return g.reuse(&g.floats, func() Expr {
		if depth <= 0 {
			return F32(float32(g.next(256)) / 4)
		}
		switch g.next(5) {
		case 0:
			return Intrin([]string{"exp", "sqrt", "erf"}[g.next(3)], g.float(depth-1))
		case 1:
			b := g.buffers[g.next(len(g.buffers))]
			return BufferAt(b, g.int(depth-1))
		case 2:
			return NewCast(Float32, g.int(depth-1))
		}
		return &Binary{Op: BinaryOp(g.next(int(OpDiv) + 1)), A: g.float(depth - 1), B: g.float(depth - 1)}
	})
}

func (g *programMaker) truth(depth int) Expr {
	return g.reuse(&g.truths, func() Expr {
		switch {
		case depth <= 0:
			return BoolConst(g.next(2) == 1)
		case g.next(4) == 0:
			return NewNot(g.truth(depth - 1))
		case g.next(4) == 0:
			return &Binary{Op: OpAnd + BinaryOp(g.next(2)), A: g.truth(depth - 1), B: g.truth(depth - 1)}
		}
		return &Binary{Op: OpEQ + BinaryOp(g.next(6)), A: g.int(depth - 1), B: g.int(depth - 1)}
	})
}

func (g *programMaker) stmt(depth int) Stmt {
	store := func() Stmt {
		b := g.buffers[g.next(len(g.buffers))]
		if g.next(4) == 0 {
			lanes := 2 + g.next(3)
			return &BufferStore{b, &Broadcast{g.float(1), lanes}, []Expr{&Ramp{g.int(1), I32(1), lanes}}}
		}
		return &BufferStore{b, g.float(2), []Expr{g.int(2)}}
	}
	if depth <= 0 {
		return store()
	}
	switch g.next(9) {
	case 0:
		f := &For{Kind: []ForKind{Serial, Parallel, Unrolled}[g.next(3)], Var: g.variable(Int32), Min: g.int(1), Extent: I32(int32(g.next(64)))}
		if g.next(3) == 0 {
			f.Annotations = map[string]any{"a": int64(g.next(4)), "b": []any{true, 0.5, "x"}[g.next(3)]}
		}
		g.scope(func() {
			g.ints = append(g.ints[:len(g.ints):len(g.ints)], f.Var)
			f.Body = g.stmt(depth - 1)
		})
		return f
	case 1:
		b := NewBuffer("b", Float32, Add(g.ints[0], I32(int32(g.next(256))))) // no constant: indices may be any
		b.Scope = []string{"", "shared", "local"}[g.next(3)]
		s := &Alloc{Buffer: b}
		g.scope(func() {
			g.buffers = append(g.buffers[:len(g.buffers):len(g.buffers)], b)
			s.Body = g.stmt(depth - 1)
		})
		return s
	case 2:
		s := &LetStmt{Var: g.variable(Float32), Value: g.float(2)}
		g.scope(func() {
			g.floats = append(g.floats[:len(g.floats):len(g.floats)], s.Var)
			s.Body = g.stmt(depth - 1)
		})
		return s
	case 3:
		s := &If{Cond: g.truth(2)}
		g.scope(func() { s.Then = g.stmt(depth - 1) })
		if g.next(2) == 0 {
			g.scope(func() { s.Else = g.stmt(depth - 1) })
		}
		return s
	case 4:
		return &Assert{g.truth(2), "ValueError", "m"}
	case 5:
		return &AttrStmt{"k", g.buffers[g.next(len(g.buffers))], g.int(1), g.stmt(depth - 1)}
	case 6:
		return &While{g.truth(1), g.stmt(depth - 1)}
	case 7:
		all := make([]Stmt, 2+g.next(3))
		for i := range all {
			all[i] = g.stmt(depth - 1)
		}
		return Sequence(all...)
	}
	return store()
}

// makeProgram makes a function of bytes.
func makeProgram(data []byte) *PrimFunc {
	g := &programMaker{data: data}
	a, n, m := NewVar("a", Handle), NewVar("n", Int32), NewVar("m", Int32)
	in := NewBuffer("A", Float32, m)
	g.buffers, g.ints = []*Buffer{in}, []Expr{n, m}
	f := &PrimFunc{Name: "main", Params: []*Var{a, n}, Buffers: map[*Var]*Buffer{a: in}, Result: Void, Attrs: map[string]any{"a": int64(1)}}
	f.Body = g.stmt(5)
	return f
}

func randomBytes(r *rand.Rand) []byte {
	data := make([]byte, 20+r.IntN(300))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// butIndices is an error of a program unless it is about an index, which random programs have anywhere.
func butIndices(err error) error {
	if err != nil && strings.Contains(err.Error(), "is outside of dimension") {
		return nil
	}
	return err
}

// A copy is equal. One change makes it another, the difference says where, and the hash shows it.
func TestEqual_RandomPrograms(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	changes := map[string]int{}
	for range 400 {
		data := randomBytes(r)
		f := makeProgram(data)
		require.NoError(t, butIndices(CheckFunc(f)), "%x", data)
		plain := &copier{change: -1}
		g := plain.function(f)
		require.NoError(t, butIndices(CheckFunc(g)), "%x", data)
		require.Equal(t, "", Difference(f, g), "%x", data)
		require.True(t, EqualFree(g, f), "%x", data)
		require.Equal(t, Hash(f), Hash(g), "%x", data)
		for range 10 {
			changed := &copier{change: r.IntN(plain.sites)}
			h := changed.function(f)
			require.False(t, Equal(f, h), "%s in %x", changed.what, data)
			require.False(t, Equal(h, f), "%s in %x", changed.what, data)
			require.False(t, EqualFree(f, h), "%s in %x", changed.what, data)
			require.Contains(t, Difference(f, h), changed.what, "%x", data)
			require.NotEqual(t, Hash(f), Hash(h), "%s in %x", changed.what, data)
			changes[changed.what]++
		}
	}
	require.Greater(t, len(changes), 20, "%v", changes)
}

func FuzzEqual(f *testing.F) {
	f.Add([]byte{}, uint16(0))
	f.Add([]byte{7, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 250, 251, 252}, uint16(3))
	f.Fuzz(func(t *testing.T, data []byte, change uint16) {
		p := makeProgram(data)
		require.NoError(t, CheckFunc(p))
		plain := &copier{change: -1}
		q := plain.function(p)
		require.Equal(t, "", Difference(p, q))
		require.Equal(t, Hash(p), Hash(q))
		changed := &copier{change: int(change) % plain.sites}
		q = changed.function(p)
		require.Contains(t, Difference(p, q), changed.what)
		_ = CheckFunc(q) // it may be wrong now; no panic
	})
}
