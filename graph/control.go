package graph

import (
	"fmt"

	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// AddIf adds a node that executes one of two bodies, which Function.Body made, and whose results are those of the body.
// cond has one element of type bool. n has the fields Source and Outputs as for AddNode. Dimensions in which the bodies
// differ are sizes that are known at run time.
func (f *Function) AddIf(n *Node, cond *Value, then, otherwise *Function) ([]*Value, error) {
	n.Op, n.Inputs, n.Bodies = ifOp, []*Value{cond}, []*Function{then, otherwise}
	if err := checkCond(cond); err != nil {
		return nil, fmt.Errorf("%s: %w", n.What(), err)
	}
	if len(then.Results) != len(otherwise.Results) {
		return nil, fmt.Errorf("%s: the bodies have %d and %d results: want equal numbers", n.What(), len(then.Results),
			len(otherwise.Results))
	}
	outs := make([]*Value, len(then.Results))
	for i, a := range then.Results {
		b := otherwise.Results[i]
		if a.DType != b.DType || len(a.Shape) != len(b.Shape) {
			return nil, fmt.Errorf("%s: result %d of the bodies is %s and %s: want one type and one number of dimensions",
				n.What(), i, a, b)
		}
		outs[i] = &Value{DType: a.DType}
		for d := range a.Shape {
			outs[i].Shape = append(outs[i].Shape, f.common(a.Shape[d], b.Shape[d]))
		}
	}
	return f.addControl(n, outs)
}

func checkCond(cond *Value) error {
	if size, ok := cond.size(1); !tir.IsBool(cond.DType) || !ok || size != 1 {
		return fmt.Errorf("the condition is %s: want one element of type bool", cond)
	}
	return nil
}

// checkLoop checks what limits a loop; nil for what does not.
func checkLoop(trips, cond *Value) error {
	if trips != nil {
		if size, ok := trips.size(1); !tir.IsInt(trips.DType) || !ok || size != 1 {
			return fmt.Errorf("the number of iterations is %s: want one integer", trips)
		}
	}
	if cond != nil {
		return checkCond(cond)
	}
	return nil
}

// common returns a size that two values share, or a new variable.
func (f *Function) common(a, b tir.Expr) tir.Expr {
	if arith.ProveEqual(a, b) {
		return a // variables that only one body knows are not in the other
	}
	return f.NewSymbol()
}

// addControl adds a node with its results, which get the names that are wanted.
func (f *Function) addControl(n *Node, outs []*Value) ([]*Value, error) {
	if len(n.Outputs) > len(outs) {
		return nil, fmt.Errorf("%s: %d results are wanted: there are %d", n.What(), len(n.Outputs), len(outs))
	}
	for i, v := range n.Outputs {
		if v != nil {
			outs[i].Name = v.Name
		}
	}
	n.Outputs, n.fn = outs, f
	for _, v := range outs {
		v.Node = n
	}
	f.Nodes = append(f.Nodes, n)
	return append([]*Value{}, outs...), nil // the caller may change the list
}

// LoopBody adds the nodes of a loop's body. iteration has one element of type int64, the number of the iteration; cond
// one of type bool. It returns whether to go on (nil: always), the carried values of the next iteration, and what each
// iteration adds to the values that the loop collects.
type LoopBody func(body *Function, iteration, cond *Value, carried []*Value) (more *Value, next, collected []*Value,
	err error)

// AddLoop adds a node that repeats a body: at most trips times (an integer; nil: without limit), and while cond holds
// (nil: always). Its results are the carried values after the last iteration, and then the collected values of all
// iterations, joined along a new first dimension. build may be called several times: a carried value whose dimensions
// change gets variables for them. n is as for AddIf.
func (f *Function) AddLoop(n *Node, trips, cond *Value, carried []*Value, build LoopBody) ([]*Value, error) {
	n.Op, n.Inputs = loopOp, append([]*Value{trips, cond}, carried...)
	if err := checkLoop(trips, cond); err != nil {
		return nil, fmt.Errorf("%s: %w", n.What(), err)
	}
	shapes := make([][]tir.Expr, len(carried))
	for i, v := range carried {
		shapes[i] = append([]tir.Expr{}, v.Shape...)
	}
	for {
		body := f.Body("body")
		params := []*Value{}
		for i, v := range carried {
			params = append(params, body.Param(v.Name, v.DType, shapes[i]...))
		}
		iteration := &Value{Name: "iteration", DType: tir.Int64}
		going := &Value{Name: "cond", DType: tir.Bool}
		if cond == nil {
			going.Const = &Const{Data: []byte{1}}
		}
		body.Params = append([]*Value{iteration, going}, params...)
		more, next, collected, err := build(body, iteration, going, params)
		if err != nil {
			return nil, err
		}
		if len(next) != len(carried) {
			return nil, fmt.Errorf("%s: the body returns %d carried values: want %d", n.What(), len(next), len(carried))
		}
		same, err := f.generalize(n, shapes, params, next)
		if err != nil {
			return nil, err
		}
		if !same {
			continue
		}
		body.Results = append(append([]*Value{more}, next...), collected...)
		n.Bodies = []*Function{body}
		return f.addControl(n, f.loopResults(carried, shapes, collected))
	}
}

// generalize replaces the dimensions of carried values that an iteration changes by variables. It reports whether there
// are none.
func (f *Function) generalize(n *Node, shapes [][]tir.Expr, params, next []*Value) (bool, error) {
	same := true
	for i, v := range next {
		if v.DType != params[i].DType || len(v.Shape) != len(shapes[i]) {
			return false, fmt.Errorf("%s: carried value %d is %s before and %s after an iteration: want one type and one "+
				"number of dimensions", n.What(), i, params[i], v)
		}
		for d, e := range v.Shape {
			if arith.ProveEqual(e, shapes[i][d]) {
				continue
			}
			if own, ok := shapes[i][d].(*tir.Var); ok && f.loopVars()[own] {
				continue // it may be any size already
			}
			size := f.NewSymbol()
			f.loopVars()[size] = true
			shapes[i][d], same = size, false
		}
	}
	return same, nil
}

// loopVars are the variables that stand for dimensions which change between iterations.
func (f *Function) loopVars() map[*tir.Var]bool {
	r := f.root()
	if r.varying == nil {
		r.varying = map[*tir.Var]bool{}
	}
	return r.varying
}

// loopResults makes the results of a loop. Dimensions that depend on the iterations are new variables.
func (f *Function) loopResults(carried []*Value, shapes [][]tir.Expr, collected []*Value) []*Value {
	var outs []*Value
	for i, v := range carried {
		out := &Value{DType: v.DType}
		for _, e := range shapes[i] {
			if own, ok := e.(*tir.Var); ok && f.loopVars()[own] {
				e = f.NewSymbol()
			}
			out.Shape = append(out.Shape, e)
		}
		outs = append(outs, out)
	}
	for _, v := range collected {
		out := &Value{DType: v.DType, Shape: []tir.Expr{f.NewSymbol()}}
		for _, e := range v.Shape {
			if _, ok := e.(*tir.IntImm); !ok {
				e = f.NewSymbol()
			}
			out.Shape = append(out.Shape, e)
		}
		outs = append(outs, out)
	}
	return outs
}
