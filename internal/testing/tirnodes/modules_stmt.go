package tirnodes

import (
	"math"
	"math/rand/v2"

	"tvmgo/target"
	"tvmgo/tir"
)

func (g *moduleMaker) buffer(data *tir.Var) *tir.Buffer {
	b := &tir.Buffer{Name: g.name(), Data: data, DType: g.anyType()}
	for range g.r.IntN(4) {
		b.Shape = append(b.Shape, g.expr([]tir.Type{tir.Int32, tir.Int64}[g.r.IntN(2)], 1))
	}
	if data == nil {
		b.Data = tir.NewVar(b.Name, tir.Handle)
		if g.oneIn(4) {
			b.Data.Name = g.name()
		}
	}
	if g.oneIn(3) {
		b.Strides = g.exprs(tir.Int32, len(b.Shape), 1)
	}
	if g.oneIn(4) {
		b.Offset = g.expr(tir.Int32, 1)
	}
	if g.oneIn(3) {
		b.Scope = g.text()
	}
	if g.oneIn(3) {
		b.Alignment = 1 << g.r.IntN(10)
	}
	return b
}

func (g *moduleMaker) attrs() map[string]any {
	m := map[string]any{}
	for range g.r.IntN(4) {
		switch g.r.IntN(5) {
		case 0:
			m[g.name()] = []int64{0, 1, -1, math.MinInt64, math.MaxInt64}[g.r.IntN(5)]
		case 1:
			m[g.name()] = g.float()
		case 2:
			m[g.name()] = g.oneIn(2)
		case 3:
			m[g.name()] = g.text()
		case 4:
			m[g.name()] = textGenTargets[g.r.IntN(len(textGenTargets))]
		}
	}
	return m
}

var textGenTargets = func() (all []*target.Target) {
	for _, s := range []string{"c", "llvm -mcpu=skylake", `{"kind":"cuda","arch":"sm_90","host":"llvm"}`} {
		t, err := target.New(s)
		if err != nil {
			panic(err)
		}
		all = append(all, t)
	}
	return all
}()

// within makes a statement in the scope of a variable or a buffer.
func (g *moduleMaker) within(v *tir.Var, b *tir.Buffer, depth int) tir.Stmt {
	vars, buffers := len(g.vars), len(g.buffers)
	if v != nil {
		g.vars = append(g.vars, v)
	}
	if b != nil {
		g.buffers = append(g.buffers, b)
		if g.oneIn(2) {
			g.vars = append(g.vars, b.Data)
		}
	}
	s := g.stmt(depth)
	g.vars, g.buffers = g.vars[:vars], g.buffers[:buffers]
	return s
}

func (g *moduleMaker) stmt(depth int) tir.Stmt {
	g.left--
	if depth <= 0 || g.left <= 0 {
		if b := g.pickBuffer(func(*tir.Buffer) bool { return true }); b != nil && !g.oneIn(3) {
			return &tir.BufferStore{Buffer: b, Value: g.expr(b.DType, 1), Indices: g.indices(b, 1, 1)}
		}
		if g.oneIn(20) {
			return &tir.Evaluate{Value: &tir.Call{Kind: tir.CallIntrinsic, Name: "ret_none", Type: tir.Void, Args: nil}}
		}
		return &tir.Evaluate{Value: g.expr(g.argType(), 1)}
	}
	depth--
	switch g.r.IntN(14) {
	case 0, 1, 2:
		t := []tir.Type{tir.Int32, tir.Int64, tir.UInt32}[g.r.IntN(3)]
		f := &tir.For{Kind: tir.ForKind(g.r.IntN(len(tir.Names[tir.ForKind]()))), Var: tir.NewVar(g.name(), t),
			Min: &tir.IntImm{Type: t, Value: 0}, Extent: g.expr(t, 2)}
		if g.oneIn(3) {
			f.Min = g.expr(t, 2)
		}
		if f.Kind == tir.ThreadBind {
			f.Thread = "blockIdx.x"
		}
		if g.oneIn(3) {
			f.Annotations = g.attrs()
		}
		f.Body = g.within(f.Var, nil, depth)
		return f
	case 3:
		return &tir.While{Cond: g.expr(tir.Bool, 3), Body: g.stmt(depth)}
	case 4:
		s := &tir.If{Cond: g.expr(tir.Bool, 3), Then: g.stmt(depth)}
		if g.oneIn(2) {
			s.Else = g.stmt(depth)
		}
		return s
	case 5:
		t := g.argType()
		v := tir.NewVar(g.name(), t)
		return &tir.LetStmt{Var: v, Value: g.expr(t, 3), Body: g.within(v, nil, depth)}
	case 6:
		return &tir.Assert{Cond: g.expr(tir.Bool, 3), Kind: []string{"ValueError", "TypeError", "odd error",
			""}[g.r.IntN(4)], Message: g.text()}
	case 7:
		b := g.buffer(nil)
		return &tir.Alloc{Buffer: b, Body: g.within(nil, b, depth)}
	case 8:
		return g.attr(depth)
	case 9, 10:
		s := &tir.Seq{}
		for range g.r.IntN(5) {
			s.Stmts = append(s.Stmts, g.stmt(depth))
		}
		return s
	case 11: // memory that is not allocated in the function
		if v, ok := g.pickVar(tir.Handle).(*tir.Var); ok {
			return g.within(nil, g.buffer(v), depth)
		}
	}
	return g.stmt(0)
}

func (g *moduleMaker) attr(depth int) tir.Stmt {
	s := &tir.AttrStmt{Key: g.text()}
	if !g.oneIn(4) {
		s.Value = g.arg(2)
	}
	var bound *tir.Var
	switch g.r.IntN(4) {
	case 0:
		if v, ok := g.pickVar(tir.Int32).(*tir.Var); ok {
			s.Node = v
		}
	case 1:
		if b := g.pickBuffer(func(*tir.Buffer) bool { return true }); b != nil {
			s.Node = b
		}
	case 2:
		x := &tir.IterVar{Var: tir.NewVar(g.name(), tir.Int32), Kind: tir.IterKind(g.r.IntN(len(tir.Names[tir.IterKind]()))),
			Thread: g.text()}
		bound = x.Var
		if v, ok := g.pickVar(tir.Int32).(*tir.Var); ok && g.oneIn(3) {
			x.Var, bound = v, nil
		}
		if g.oneIn(2) {
			x.Min, x.Extent = g.expr(tir.Int32, 1), g.expr(tir.Int32, 1)
		}
		s.Node = x
	}
	s.Body = g.within(bound, nil, depth)
	return s
}

func (g *moduleMaker) function(name string) *tir.PrimFunc {
	g.vars, g.buffers, g.left = nil, nil, 20+g.r.IntN(200)
	f := &tir.PrimFunc{Name: name, Result: tir.Void, Buffers: map[*tir.Var]*tir.Buffer{}, Attrs: g.attrs()}
	if g.oneIn(3) {
		f.Result = g.argType()
	}
	known := map[string]bool{}
	for range g.r.IntN(5) {
		v := tir.NewVar(g.name(), g.argType())
		if !known[v.Name] || g.oneIn(2) {
			f.Params = append(f.Params, v)
		}
		known[v.Name] = true
	}
	g.vars = append(g.vars, f.Params...)
	for range g.r.IntN(3) { // variables that occur in shapes
		g.vars = append(g.vars, tir.NewVar(g.name(), tir.Int32))
	}
	for _, v := range f.Params {
		if v.Type == tir.Handle && !g.oneIn(3) {
			f.Buffers[v] = g.buffer(nil)
			g.buffers = append(g.buffers, f.Buffers[v])
		}
	}
	f.Body = g.stmt(2 + g.r.IntN(5))
	return f
}

// Module makes the module of a seed.
func Module(seed uint64) *tir.IRModule {
	g := &moduleMaker{r: rand.New(rand.NewPCG(seed, 1))}
	m := &tir.IRModule{Attrs: g.attrs()}
	for range g.r.IntN(3) + 1 {
		name := g.name() + "g"
		if m.Func(name) == nil {
			m.Funcs = append(m.Funcs, g.function(name))
		}
	}
	return m
}
