package compare

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/tirnodes"
	"tvmgo/target"
	"tvmgo/tir"
)

// Foreign nodes are such by embedding; these cannot be compared.
type (
	foreignExpr struct {
		tir.Expr
		more []int
	}
	foreignStmt struct {
		tir.Stmt
		more []int
	}
)

// garbage makes nodes of all sorts, whose parts are any of them, missing, or themselves.
type garbage struct {
	data  []byte
	exprs []tir.Expr
	stmts []tir.Stmt
	vars  []*tir.Var
	bufs  []*tir.Buffer
}

func (g *garbage) next(n int) int {
	if len(g.data) == 0 {
		return 0
	}
	b := g.data[0]
	g.data = g.data[1:]
	return int(b) % n
}

func (g *garbage) typ() tir.Type {
	return []tir.Type{tir.Int32, tir.Float32, tir.Bool, tir.Handle, tir.Void, tir.Vector(tir.Int32, 4),
		tir.Vector(tir.Bool, 4), tir.UInt64, {}, {Code: 200, Bits: 3, Lanes: 9}, {Lanes: 65535}}[g.next(11)]
}

func (g *garbage) expr() tir.Expr {
	if g.next(8) == 0 {
		return []tir.Expr{nil, (*tir.Var)(nil), (*tir.Let)(nil), foreignExpr{}, (*tir.Bad)(nil)}[g.next(5)]
	}
	return g.exprs[g.next(len(g.exprs))]
}

func (g *garbage) list() []tir.Expr {
	var all []tir.Expr
	for range g.next(4) {
		all = append(all, g.expr())
	}
	return all
}

func (g *garbage) stmt() tir.Stmt {
	if g.next(8) == 0 {
		return []tir.Stmt{nil, (*tir.For)(nil), (*tir.Seq)(nil), foreignStmt{}}[g.next(4)]
	}
	return g.stmts[g.next(len(g.stmts))]
}

func (g *garbage) variable() *tir.Var  { return g.vars[g.next(len(g.vars))] }
func (g *garbage) buffer() *tir.Buffer { return g.bufs[g.next(len(g.bufs))] }
func (g *garbage) number() int         { return g.next(256) - 20 }
func (g *garbage) text() string {
	return []string{"", "exp", "ret", "f", "g", "if_then_else", "address_of"}[g.next(7)]
}
func (g *garbage) value() any {
	return []any{nil, int64(1), 1, "x", (*target.Target)(nil), &target.Target{}, []int{1}, g.variable(), g.buffer(),
		&tir.IterVar{Var: g.variable(), Min: g.expr(), Extent: nil, Kind: 9, Thread: ""}}[g.next(10)]
}

func (g *garbage) module() *tir.IRModule {
	g.vars = []*tir.Var{nil, tir.NewVar("i", tir.Int32), tir.NewVar("", g.typ()), tir.NewVar("x", g.typ()),
		tir.NewVar("p", tir.Handle)}
	g.bufs = []*tir.Buffer{nil, {}, tir.NewBuffer("a", g.typ()), tir.NewBuffer("b", tir.Float32, nil, nil)}
	g.exprs = []tir.Expr{&tir.Binary{}, &tir.Not{}, &tir.Select{}, &tir.Cast{}, &tir.BufferLoad{}, &tir.ProducerLoad{},
		&tir.Ramp{}, &tir.Broadcast{}, &tir.Shuffle{}, &tir.Let{}, &tir.Call{}, &tir.Call{}, &tir.Reduce{},
		&tir.Bad{}, &tir.IntImm{}, &tir.FloatImm{}, &tir.StringImm{}, tir.I32(1), tir.BoolConst(true), &tir.Binary{},
		&tir.Let{}}
	for _, v := range g.vars {
		g.exprs = append(g.exprs, v)
	}
	g.stmts = []tir.Stmt{&tir.BufferStore{}, &tir.For{}, &tir.While{}, &tir.If{}, &tir.LetStmt{}, &tir.Assert{},
		&tir.Alloc{}, &tir.AttrStmt{}, &tir.Seq{}, &tir.Evaluate{}, &tir.For{}, &tir.Seq{}, &tir.Alloc{}}
	for _, e := range g.exprs {
		switch e := e.(type) {
		case *tir.Binary:
			*e = tir.Binary{Op: tir.BinaryOp(g.next(20)), A: g.expr(), B: g.expr()}
		case *tir.Not:
			e.A = g.expr()
		case *tir.Select:
			*e = tir.Select{Cond: g.expr(), Then: g.expr(), Else: g.expr()}
		case *tir.Cast:
			*e = tir.Cast{Type: g.typ(), Value: g.expr()}
		case *tir.BufferLoad:
			*e = tir.BufferLoad{Buffer: g.buffer(), Indices: g.list()}
		case *tir.ProducerLoad:
			*e = tir.ProducerLoad{Producer: []tir.Producer{nil, (*tirnodes.NoProducer)(nil), &tirnodes.NoProducer{}}[g.next(3)],
				Indices: g.list()}
		case *tir.Ramp:
			*e = tir.Ramp{Base: g.expr(), Stride: g.expr(), Lanes: g.number()}
		case *tir.Broadcast:
			*e = tir.Broadcast{Value: g.expr(), Lanes: g.number()}
		case *tir.Shuffle:
			*e = tir.Shuffle{Vectors: g.list(), Indices: []int{g.number(), g.number()}}
		case *tir.Let:
			*e = tir.Let{Var: g.variable(), Value: g.expr(), Body: g.expr()}
		case *tir.Call:
			*e = tir.Call{Kind: tir.CallKind(g.next(6)), Name: g.text(), Type: g.typ(), Args: g.list()}
		case *tir.Reduce:
			*e = tir.Reduce{Combiner: nil, Sources: g.list(), Axes: []*tir.IterVar{nil, {Var: g.variable(), Min: g.expr(),
				Extent: g.expr(), Kind: 9, Thread: ""}}, Cond: g.expr(), Value: g.number()}
			if g.next(2) == 0 {
				e.Combiner = &tir.Combiner{Left: g.vars[:g.next(3)], Right: g.vars[:g.next(3)], Results: g.list(),
					Identity: g.list()}
			}
		case *tir.IntImm:
			if e.Value == 0 && e.Type == (tir.Type{}) {
				*e = tir.IntImm{Type: g.typ(), Value: int64(g.number())}
			}
		case *tir.FloatImm:
			*e = tir.FloatImm{Type: g.typ(), Value: float64(g.number())}
		}
	}
	for _, b := range g.bufs[1:] {
		b.Shape, b.Strides, b.Offset, b.Alignment, b.Data = g.list(), g.list(), g.expr(), g.number(), g.variable()
	}
	for _, s := range g.stmts {
		switch s := s.(type) {
		case *tir.BufferStore:
			*s = tir.BufferStore{Buffer: g.buffer(), Value: g.expr(), Indices: g.list()}
		case *tir.For:
			*s = tir.For{Kind: tir.ForKind(g.next(7)), Var: g.variable(), Min: g.expr(), Extent: g.expr(), Thread: g.text(),
				Annotations: map[string]any{g.text(): g.value()}, Body: g.stmt()}
		case *tir.While:
			*s = tir.While{Cond: g.expr(), Body: g.stmt()}
		case *tir.If:
			*s = tir.If{Cond: g.expr(), Then: g.stmt(), Else: g.stmt()}
		case *tir.LetStmt:
			*s = tir.LetStmt{Var: g.variable(), Value: g.expr(), Body: g.stmt()}
		case *tir.Assert:
			*s = tir.Assert{Cond: g.expr(), Kind: g.text(), Message: g.text()}
		case *tir.Alloc:
			*s = tir.Alloc{Buffer: g.buffer(), Body: g.stmt()}
		case *tir.AttrStmt:
			*s = tir.AttrStmt{Key: g.text(), Node: g.value(), Value: g.expr(), Body: g.stmt()}
		case *tir.Seq:
			*s = tir.Seq{Stmts: []tir.Stmt{g.stmt(), g.stmt(), g.stmt()}}
		case *tir.Evaluate:
			s.Value = g.expr()
		}
	}
	function := func(name string) *tir.PrimFunc {
		return &tir.PrimFunc{Name: name, Params: []*tir.Var{g.variable(), g.variable()},
			Buffers: map[*tir.Var]*tir.Buffer{g.variable(): g.buffer(), g.variable(): g.buffer()}, Result: g.typ(),
			Body:  g.stmt(),
			Attrs: map[string]any{g.text(): g.value()}}
	}
	return &tir.IRModule{Funcs: []*tir.PrimFunc{function("f"), nil, function("g"), function(g.text())},
		Attrs: map[string]any{g.text(): g.value()}}
}

// survive runs all that takes any garbage over a module.
func survive(t *testing.T, data []byte) {
	make := func() *tir.IRModule { return (&garbage{data: data}).module() }
	a, b := make(), make()
	first := tir.Check(a)
	all := tir.CheckAll(a)
	require.Error(t, first, "a function is nil")
	require.Equal(t, first, all[0])
	require.LessOrEqual(t, len(all), 100)
	for _, e := range all {
		require.NotEmpty(t, e.Error())
		require.NotEmpty(t, e.Message)
	}
	if d := Difference(a, a); d != "" {
		require.Contains(t, d, "compare.foreign", "nodes of others are never equal")
	}
	c := newComparer(true)
	if !c.any(a, a) {
		require.Contains(t, c.why, "compare.foreign")
	}
	require.Equal(t, Hash(a), Hash(a))
	if Equal(a, b) {
		require.Equal(t, Hash(a), Hash(b))
	}
	if EqualFree(a, b) {
		require.Equal(t, Hash(a), Hash(b))
	}
	for _, f := range a.Funcs {
		_ = tir.CheckFunc(f)
	}
}

func TestGarbage(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		data := tirnodes.RandomBytes(r)
		survive(t, append(data, data...))
	}
}

func FuzzGarbage(f *testing.F) {
	f.Add([]byte{1, 2, 3})
	f.Fuzz(survive)
}
