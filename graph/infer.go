package graph

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// knownLimit is the greatest number of elements that a value may have whose elements are computed when the model is
// compiled.
const knownLimit = 256

// Add applies the operator of a name, and returns its results. Operands that are left out are nil. An operand whose
// elements have to be known and depend on the data of the model is read on the host when the model runs, if it has
// integers and at most one dimension. The error names the node.
func (f *Function) Add(op string, attrs Attrs, inputs ...*Value) ([]*Value, error) {
	return f.AddNode(&Node{Op: LookupOp(op), Attrs: attrs, Inputs: inputs, Source: ""}, op)
}

// AddNode adds a node with the fields Op, Attrs, Inputs and Source; if Outputs has entries, they are the wanted
// results: their names are kept, and nil stands for a result that is not used. op is the name of the operator, for
// errors. It returns the results.
func (f *Function) AddNode(n *Node, op string) ([]*Value, error) {
	if n.Op == nil {
		return nil, fmt.Errorf("operator %q does not exist: import the package that registers it", op)
	}
	if err := f.infer(n); err != nil {
		return nil, fmt.Errorf("%s: %w", n.What(), err)
	}
	for _, v := range n.Outputs {
		if v != nil {
			v.Node = n
		}
	}
	f.Nodes = append(f.Nodes, n)
	return n.Outputs, nil
}

func (f *Function) infer(n *Node) error {
	n.fn = f
	for i, v := range n.Inputs {
		if v != nil && len(v.Shape) > maxRank {
			return fmt.Errorf("operand %d has %d dimensions: want at most %d", i, len(v.Shape), maxRank)
		}
	}
	if err := n.Op.check(n); err != nil {
		return err
	}
	if n.Op.Control != Formula {
		return errors.New("control flow is added by its own functions: Elements, AddIf, AddLoop, AddKernel")
	}
	for {
		ins := make([]*te.Tensor, len(n.Inputs))
		for i, v := range n.Inputs {
			if v != nil {
				ins[i] = v.placeholder(fmt.Sprintf("p%d", i))
			}
		}
		outs, err := n.compute(ins)
		if u := (unknown{}); errors.As(err, &u) {
			if err := f.readElements(n, u.operand); err != nil {
				return err
			}
			continue
		}
		if o := (open{}); errors.As(err, &o) {
			return fmt.Errorf("operand %d: %w", o.operand, &ElementsError{Value: n.Inputs[o.operand]})
		}
		if err != nil {
			return err
		}
		return n.setResults(ins, outs)
	}
}

const maxRank = 32

// largestSize limits the nodes of the expression of a size.
const largestSize = 1 << 14

func (v *Value) placeholder(name string) *te.Tensor { return te.Placeholder(v.Shape, v.DType, name) }

// ErrOperands is the error of an operator that stops at operands for which it has no message of its own.
var ErrOperands = errors.New("the operator cannot be applied to these operands")

// compute calls the operator.
func (n *Node) compute(ins []*te.Tensor) (outs []*te.Tensor, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p.err
		default: // the operator does not expect these operands: input must not end the process
			err = fmt.Errorf("%w: %v: check their types, their numbers of dimensions and the attributes", ErrOperands, p)
		}
	}()
	n.checks = nil
	outs = n.Op.Compute(&Call{Name: n.Op.Name, node: n, in: ins})
	for _, t := range outs {
		if t == nil {
			continue
		}
		if err := t.Err(); err != nil {
			return nil, err
		}
	}
	return outs, nil
}

// Tensors returns the tensor expressions of a node for operands that have the shapes and types of its inputs. Then
// Checks has the conditions on sizes under which they are right.
func (n *Node) Tensors(ins []*te.Tensor) ([]*te.Tensor, error) {
	outs, err := n.compute(ins)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.What(), err)
	}
	return outs, nil
}

// Checks returns the conditions on sizes that the code has to check before it computes the last result of Tensors.
func (n *Node) Checks() []Check { return n.checks }

// setResults makes the results of a node from the tensors that the operator returned.
func (n *Node) setResults(ins, outs []*te.Tensor) error {
	if n.Outputs == nil {
		n.Outputs = make([]*Value, len(outs))
		for i := range outs {
			n.Outputs[i] = &Value{}
		}
	}
	if len(n.Outputs) > len(outs) {
		return fmt.Errorf("%d results are wanted: the operator has %d", len(n.Outputs), len(outs))
	}
	e := &evaluator{values: map[*te.Tensor]*Value{}}
	for i, t := range ins {
		if t != nil {
			e.values[t] = n.Inputs[i]
		}
	}
	a := arith.NewAnalyzer()
	for i, v := range n.Outputs {
		if v == nil {
			continue
		}
		t := outs[i]
		if t == nil {
			return fmt.Errorf("result %d does not exist with these attributes", i)
		}
		v.DType, v.Shape = t.ProducerDType(), nil
		for _, s := range t.ProducerShape() {
			s = Size(a.Simplify(s))
			if IsLarge(s, largestSize) {
				return fmt.Errorf("dimension %d of result %d is an expression of more than %d parts: give constant sizes",
					len(v.Shape), i, largestSize)
			}
			if c, ok := s.(*tir.IntImm); ok && c.Value < 0 {
				return fmt.Errorf("dimension %d of result %d is %d: the operands are too small", len(v.Shape), i, c.Value)
			}
			v.Shape = append(v.Shape, s)
		}
		v.elems = e.all(t, v)
	}
	if first := n.Inputs; n.Op.View && len(n.Outputs) == 1 && first[0].Const != nil {
		if _, ok := n.Outputs[0].StaticShape(); ok { // the same constant with another shape
			n.Outputs[0].Const = &Const{Data: first[0].Const.Data}
		}
	}
	return nil
}

// readElements makes the elements of an operand known: by a node that reads them on the host.
func (f *Function) readElements(n *Node, operand int) error {
	v := n.Inputs[operand]
	read := f.consts[v]
	if read == nil {
		var err error
		if read, err = f.Elements(v); err != nil {
			return fmt.Errorf("operand %d: %w", operand, err)
		}
		f.consts[v] = read
	}
	n.Inputs[operand] = read
	return nil
}

// ElementsError is the error of an operand whose elements have to be known when the model is compiled.
type ElementsError struct {
	Value *Value
	Cause error // what the elements would avoid; nil if the operator needs them
}

// Error names the value, and the parameters that would have to be constants.
func (e *ElementsError) Error() string {
	text := fmt.Sprintf("the elements of %s have to be known when the model is compiled", e.Value)
	if e.Cause != nil {
		text = fmt.Sprintf("%v; it may be possible if the elements of %s are known", e.Cause, e.Value)
	}
	var names []string
	for _, p := range e.Params() {
		names = append(names, strconv.Quote(p.Name))
	}
	if len(names) == 0 {
		return text
	}
	return text + ": make these inputs constants: " + strings.Join(names, ", ")
}

// Unwrap returns the cause.
func (e *ElementsError) Unwrap() error { return e.Cause }

// Params returns the parameters of the function that the value is computed from.
func (e *ElementsError) Params() []*Value {
	var list []*Value
	seen := map[*Value]bool{}
	var visit func(v *Value)
	visit = func(v *Value) {
		if v == nil || seen[v] || v.Const != nil {
			return
		}
		if seen[v] = true; v.Node == nil {
			list = append(list, v)
			return
		}
		for _, in := range v.Node.Inputs {
			visit(in)
		}
	}
	visit(e.Value)
	return list
}

// Elements adds a node that reads the elements of a value on the host when the model runs, and returns the value with
// elements that are variables. It must have a constant number of integers, in at most one dimension.
func (f *Function) Elements(v *Value) (*Value, error) { return f.elements(v, nil) }

// elements is Elements with variables for the elements; nil: new ones.
func (f *Function) elements(v *Value, symbols []*tir.Var) (*Value, error) {
	n, ok := v.size(knownLimit)
	if !ok || len(v.Shape) > 1 || !tir.IsInt(v.DType) {
		return nil, &ElementsError{Value: v}
	}
	if symbols == nil {
		for range n {
			symbols = append(symbols, f.NewSymbol())
		}
	}
	if int64(len(symbols)) != n {
		return nil, fmt.Errorf("%d sizes are given for %d elements", len(symbols), n)
	}
	out := &Value{Name: v.Name, DType: v.DType, Shape: v.Shape, elems: []tir.Expr{}}
	for _, element := range symbols {
		f.root().read[element] = true
		out.elems = append(out.elems, tir.NewCast(v.DType, element))
	}
	node := &Node{Op: elementsOp, Inputs: []*Value{v}, Outputs: []*Value{out}, fn: f}
	out.Node = node
	f.Nodes = append(f.Nodes, node)
	return out, nil
}

var (
	elementsOp = &Op{Name: "elements", In: [2]int{1, 1}, Out: [2]int{1, 1}, Control: Elements}
	ifOp       = &Op{Name: "if", In: [2]int{1, 1}, Out: [2]int{0, -1}, Control: If}
	loopOp     = &Op{Name: "loop", In: [2]int{2, -1}, Out: [2]int{0, -1}, Control: Loop}
	kernelOp   = &Op{Name: "kernel", In: [2]int{0, -1}, Out: [2]int{1, -1}, Control: Loops}
)

func init() {
	if err := Register(elementsOp, ifOp, loopOp, kernelOp); err != nil {
		panic(err) // names of this package
	}
}

func printed(e tir.Expr) string { return text.Print(e) }
