package tir

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/target"
)

// Foreign nodes are such by embedding; these cannot be compared.
type (
	foreignExpr struct {
		Expr
		more []int
	}
	foreignStmt struct {
		Stmt
		more []int
	}
)

// garbage makes nodes of all sorts, whose parts are any of them, missing, or themselves.
type garbage struct {
	programMaker
	exprs []Expr
	stmts []Stmt
	vars  []*Var
	bufs  []*Buffer
}

func (g *garbage) typ() Type {
	return []Type{Int32, Float32, Bool, Handle, Void, Vector(Int32, 4), Vector(Bool, 4), UInt64, {}, {Code: 200, Bits: 3, Lanes: 9}, {Lanes: 65535}}[g.next(11)]
}

func (g *garbage) expr() Expr {
	if g.next(8) == 0 {
		return []Expr{nil, (*Var)(nil), (*Let)(nil), foreignExpr{}, (*Bad)(nil)}[g.next(5)]
	}
	return g.exprs[g.next(len(g.exprs))]
}

func (g *garbage) list() []Expr {
	var all []Expr
	for range g.next(4) {
		all = append(all, g.expr())
	}
	return all
}

func (g *garbage) stmt() Stmt {
	if g.next(8) == 0 {
		return []Stmt{nil, (*For)(nil), (*Seq)(nil), foreignStmt{}}[g.next(4)]
	}
	return g.stmts[g.next(len(g.stmts))]
}

func (g *garbage) variable() *Var  { return g.vars[g.next(len(g.vars))] }
func (g *garbage) buffer() *Buffer { return g.bufs[g.next(len(g.bufs))] }
func (g *garbage) number() int     { return g.next(256) - 20 }
func (g *garbage) text() string {
	return []string{"", "exp", "ret", "f", "g", "if_then_else", "address_of"}[g.next(7)]
}
func (g *garbage) value() any {
	return []any{nil, int64(1), 1, "x", (*target.Target)(nil), &target.Target{}, []int{1}, g.variable(), g.buffer(), &IterVar{g.variable(), g.expr(), nil, 9, ""}}[g.next(10)]
}

func (g *garbage) module() *IRModule {
	g.vars = []*Var{nil, NewVar("i", Int32), NewVar("", g.typ()), NewVar("x", g.typ()), NewVar("p", Handle)}
	g.bufs = []*Buffer{nil, {}, NewBuffer("a", g.typ()), NewBuffer("b", Float32, nil, nil)}
	g.exprs = []Expr{&Binary{}, &Not{}, &Select{}, &Cast{}, &BufferLoad{}, &ProducerLoad{}, &Ramp{}, &Broadcast{}, &Shuffle{}, &Let{}, &Call{}, &Call{}, &Reduce{},
		&Bad{}, &IntImm{}, &FloatImm{}, &StringImm{}, I32(1), BoolConst(true), &Binary{}, &Let{}}
	for _, v := range g.vars {
		g.exprs = append(g.exprs, v)
	}
	g.stmts = []Stmt{&BufferStore{}, &For{}, &While{}, &If{}, &LetStmt{}, &Assert{}, &Alloc{}, &AttrStmt{}, &Seq{}, &Evaluate{}, &For{}, &Seq{}, &Alloc{}}
	for _, e := range g.exprs {
		switch e := e.(type) {
		case *Binary:
			*e = Binary{Op: BinaryOp(g.next(20)), A: g.expr(), B: g.expr()}
		case *Not:
			e.A = g.expr()
		case *Select:
			*e = Select{Cond: g.expr(), Then: g.expr(), Else: g.expr()}
		case *Cast:
			*e = Cast{g.typ(), g.expr()}
		case *BufferLoad:
			*e = BufferLoad{Buffer: g.buffer(), Indices: g.list()}
		case *ProducerLoad:
			*e = ProducerLoad{[]Producer{nil, (*noProducer)(nil), &noProducer{}}[g.next(3)], g.list()}
		case *Ramp:
			*e = Ramp{g.expr(), g.expr(), g.number()}
		case *Broadcast:
			*e = Broadcast{g.expr(), g.number()}
		case *Shuffle:
			*e = Shuffle{g.list(), []int{g.number(), g.number()}}
		case *Let:
			*e = Let{Var: g.variable(), Value: g.expr(), Body: g.expr()}
		case *Call:
			*e = Call{CallKind(g.next(6)), g.text(), g.typ(), g.list()}
		case *Reduce:
			*e = Reduce{nil, g.list(), []*IterVar{nil, {g.variable(), g.expr(), g.expr(), 9, ""}}, g.expr(), g.number()}
			if g.next(2) == 0 {
				e.Combiner = &Combiner{g.vars[:g.next(3)], g.vars[:g.next(3)], g.list(), g.list()}
			}
		case *IntImm:
			if e.Value == 0 && e.Type == (Type{}) {
				*e = IntImm{g.typ(), int64(g.number())}
			}
		case *FloatImm:
			*e = FloatImm{g.typ(), float64(g.number())}
		}
	}
	for _, b := range g.bufs[1:] {
		b.Shape, b.Strides, b.Offset, b.Alignment, b.Data = g.list(), g.list(), g.expr(), g.number(), g.variable()
	}
	for _, s := range g.stmts {
		switch s := s.(type) {
		case *BufferStore:
			*s = BufferStore{g.buffer(), g.expr(), g.list()}
		case *For:
			*s = For{ForKind(g.next(7)), g.variable(), g.expr(), g.expr(), g.text(), map[string]any{g.text(): g.value()}, g.stmt()}
		case *While:
			*s = While{g.expr(), g.stmt()}
		case *If:
			*s = If{g.expr(), g.stmt(), g.stmt()}
		case *LetStmt:
			*s = LetStmt{g.variable(), g.expr(), g.stmt()}
		case *Assert:
			*s = Assert{g.expr(), g.text(), g.text()}
		case *Alloc:
			*s = Alloc{g.buffer(), g.stmt()}
		case *AttrStmt:
			*s = AttrStmt{g.text(), g.value(), g.expr(), g.stmt()}
		case *Seq:
			*s = Seq{[]Stmt{g.stmt(), g.stmt(), g.stmt()}}
		case *Evaluate:
			s.Value = g.expr()
		}
	}
	function := func(name string) *PrimFunc {
		return &PrimFunc{name, []*Var{g.variable(), g.variable()}, map[*Var]*Buffer{g.variable(): g.buffer(), g.variable(): g.buffer()}, g.typ(), g.stmt(),
			map[string]any{g.text(): g.value()}}
	}
	return &IRModule{Funcs: []*PrimFunc{function("f"), nil, function("g"), function(g.text())}, Attrs: map[string]any{g.text(): g.value()}}
}

// survive runs all that takes any garbage over a module.
func survive(t *testing.T, data []byte) {
	make := func() *IRModule { return (&garbage{programMaker: programMaker{data: data}}).module() }
	a, b := make(), make()
	first := Check(a)
	all := CheckAll(a)
	require.Error(t, first, "a function is nil")
	require.Equal(t, first, all[0])
	require.LessOrEqual(t, len(all), maxErrors)
	for _, e := range all {
		require.NotEmpty(t, e.Error())
		require.NotEmpty(t, e.Message)
	}
	if d := Difference(a, a); d != "" {
		require.Contains(t, d, "tir.foreign", "nodes of others are never equal")
	}
	c := newComparer(true)
	if !c.any(a, a) {
		require.Contains(t, c.why, "tir.foreign")
	}
	require.Equal(t, Hash(a), Hash(a))
	if Equal(a, b) {
		require.Equal(t, Hash(a), Hash(b))
	}
	if EqualFree(a, b) {
		require.Equal(t, Hash(a), Hash(b))
	}
	for _, f := range a.Funcs {
		_ = CheckFunc(f)
	}
}

func TestGarbage(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		data := randomBytes(r)
		survive(t, append(data, data...))
	}
}

func FuzzGarbage(f *testing.F) {
	f.Add([]byte{1, 2, 3})
	f.Fuzz(survive)
}
