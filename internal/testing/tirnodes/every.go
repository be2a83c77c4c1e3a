package tirnodes

import "tvmgo/tir"

// EveryNode returns a node of each type that has operands; each operand is a different constant.
func EveryNode() []any {
	next := int32(0)
	k := func() tir.Expr { next++; return tir.I32(next) }
	v, u, b := tir.NewVar("v", tir.Int32), tir.NewVar("u", tir.Int32), tir.NewBuffer("b", tir.Int32, tir.I32(8),
		tir.I32(8))
	axis := &tir.IterVar{Var: tir.NewVar("k", tir.Int32), Min: tir.I32(0), Extent: tir.I32(8), Kind: tir.IterReduce,
		Thread: ""}
	do := func() tir.Stmt { return &tir.Evaluate{Value: k()} }
	return []any{
		&tir.Binary{Op: tir.OpFloorMod, A: k(), B: k()}, &tir.Not{A: k()}, &tir.Select{Cond: k(), Then: k(), Else: k()},
		&tir.Cast{Type: tir.Int8, Value: k()}, &tir.BufferLoad{Buffer: b, Indices: []tir.Expr{k(), k()}},
		&tir.ProducerLoad{Producer: &NoProducer{}, Indices: []tir.Expr{k(), k()}}, &tir.Ramp{Base: k(), Stride: k(),
			Lanes: 4}, &tir.Broadcast{Value: k(), Lanes: 4}, &tir.Shuffle{Vectors: []tir.Expr{k(), k()}, Indices: []int{1, 0}},
		&tir.Let{Var: v, Value: k(), Body: k()},
		&tir.Call{Kind: tir.CallExtern, Name: "f", Type: tir.Int32, Args: []tir.Expr{k(), k()}},
		&tir.Reduce{Combiner: &tir.Combiner{Left: []*tir.Var{v}, Right: []*tir.Var{u}, Results: []tir.Expr{v},
			Identity: []tir.Expr{tir.I32(0)}}, Sources: []tir.Expr{k(), k()}, Axes: []*tir.IterVar{axis}, Cond: k(), Value: 1},
		&tir.Reduce{Combiner: nil, Sources: []tir.Expr{k()}, Axes: nil, Cond: nil, Value: 0},
		&tir.BufferStore{Buffer: b, Value: k(), Indices: []tir.Expr{k(), k()}},
		&tir.For{Kind: tir.Parallel, Var: v, Min: k(), Extent: k(), Thread: "", Annotations: map[string]any{"a": true},
			Body: do()}, &tir.While{Cond: k(), Body: do()}, &tir.If{Cond: k(), Then: do(), Else: do()}, &tir.If{Cond: k(),
			Then: do(), Else: nil}, &tir.LetStmt{Var: v, Value: k(), Body: do()},
		&tir.Assert{Cond: k(), Kind: "ValueError", Message: "m"}, &tir.Alloc{Buffer: b, Body: do()}, &tir.AttrStmt{Key: "k",
			Node: v, Value: k(), Body: do()}, &tir.Seq{Stmts: []tir.Stmt{do(), do(), do()}}, &tir.Evaluate{Value: k()},
	}
}

// NoProducer is a producer without a shape.
type NoProducer struct{ Name string }

func (p *NoProducer) ProducerName() string      { return p.Name }
func (p *NoProducer) ProducerShape() []tir.Expr { return nil }
func (p *NoProducer) ProducerDType() tir.Type   { return tir.Float32 }
