package passes

import (
	"context"

	"tvmgo/graph"
	"tvmgo/target"
	"tvmgo/tir"
)

// dead removes nodes whose results nothing needs, and optional results behind the last one that is needed. Results that
// are known to be constant become constants.
func dead(_ context.Context, f *graph.Function, _ *target.Target, _ Options) error {
	u := needs{values: map[*graph.Value]bool{}, symbols: map[*tir.Var]bool{}}
	u.function(f)
	return nil
}

// needs is what the nodes that were visited read.
type needs struct {
	values  map[*graph.Value]bool
	symbols map[*tir.Var]bool
}

func (u *needs) read(values []*graph.Value) {
	for _, v := range values {
		if v == nil {
			continue
		}
		for _, s := range v.Symbols() {
			u.symbols[s] = true
		}
		if c := v.AsConst(); c == nil {
			u.values[v] = true
		} else if v.Node != nil {
			v.SetConst(c.Data)
		}
	}
}

func (u *needs) function(f *graph.Function) {
	u.read(f.Results)
	var kept []*graph.Node // from the last one
	for i := len(f.Nodes) - 1; i >= 0; i-- {
		if n := f.Nodes[i]; u.node(n) {
			kept = append(kept, n)
		}
	}
	for i, j := 0, len(kept)-1; i < j; i, j = i+1, j-1 {
		kept[i], kept[j] = kept[j], kept[i]
	}
	f.Nodes = kept
}

// node reports whether a node is needed, and adds what it reads.
func (u *needs) node(n *graph.Node) bool {
	last := -1
	for i, v := range n.Outputs {
		if v == nil {
			continue
		}
		used := u.values[v]
		if n.Op.Control != graph.Formula && n.Op.Control != graph.Loops { // it also tells sizes
			for _, s := range v.Symbols() {
				used = used || u.symbols[s]
			}
		}
		if used {
			last = i
		}
	}
	if last < 0 {
		return false
	}
	if n.Op.Control == graph.Formula && n.Op.Out[1] > 0 { // not of operators whose number of results has a meaning
		n.Outputs = n.Outputs[:max(last+1, n.Op.Out[0])]
	}
	for _, v := range n.Outputs {
		if v != nil {
			for _, s := range v.Symbols() {
				u.symbols[s] = true
			}
		}
	}
	u.read(n.Inputs)
	if n.Kernel != nil {
		for _, s := range n.Kernel.Symbols() {
			u.symbols[s] = true
		}
	}
	for _, b := range n.Bodies {
		for _, p := range b.Params {
			for _, s := range p.Symbols() {
				u.symbols[s] = true
			}
		}
		u.function(b)
	}
	return true
}
