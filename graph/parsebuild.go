package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tvmgo/internal/nearest"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// builder makes functions of what was parsed.
type builder struct {
	*parser
	constants map[string][]byte
	values    map[string]bound // by the key of their names
}

// bound is a value that has a name, and the function that it is in; nil for a constant.
type bound struct {
	value *Value
	fn    *Function
}

func (b *builder) bind(r reference, v *Value, f *Function) {
	if r.key == "" {
		return
	}
	if _, taken := b.values[r.key]; taken {
		b.failf(r.at, "there are two values with the name %s: add a number, as in x%%1", r.key)
	}
	b.values[r.key] = bound{v, f}
}

// find returns the value of a name; nil for one that is left out.
func (b *builder) find(r reference, f *Function) *Value {
	if r.key == "" {
		return nil
	}
	found, ok := b.values[r.key]
	if !ok {
		b.failf(r.at, "there is no value %s before this line", r.key)
	}
	for ; found.fn != nil && f != found.fn; f = f.outer {
		if f.outer == nil {
			b.failf(r.at, "value %s is in a body, and cannot be read outside of it: return it", r.key)
		}
	}
	return found.value
}

func (b *builder) findAll(refs []reference, f *Function) []*Value {
	list := make([]*Value, len(refs))
	for i, r := range refs {
		list[i] = b.find(r, f)
	}
	return list
}

// function adds the parameters, nodes and results to a function.
func (b *builder) function(f *Function, parsed parsedFunction) {
	for _, d := range parsed.params {
		b.bind(d.reference, f.Param(d.name, d.dtype, d.shape...), f)
	}
	b.statements(f, parsed)
	for i, v := range f.Results {
		if v == nil {
			b.failf(parsed.results[i].at, "result %d is left out: only bodies of loops have such results, for the condition", i)
		}
	}
	b.resultNames(f, parsed.names)
}

// resultNames sets the names of the results for callers: those that the text gives, else those of the values.
func (b *builder) resultNames(f *Function, given []alias) {
	names, chosen := f.valueNames(), false
	for i, a := range given {
		if a.name != "" {
			names[i], chosen = a.name, true
		}
	}
	for i, name := range names {
		switch {
		case name != "" && !slices.Contains(names[:i], name):
		case !chosen:
			return
		case name == "":
			b.failf(given[i].at, "result %d has no name, and others have one: write \"as\" and a name", i)
		default:
			b.failf(given[i].at, "two results have the name %q: write \"as\" and another name", name)
		}
	}
	if len(names) > 0 {
		f.ResultNames = names
	}
}

func (b *builder) statements(f *Function, parsed parsedFunction) {
	for _, s := range parsed.statements {
		if s.op == "" {
			b.constant(f, s.results[0], s.data)
		} else {
			b.node(f, s)
		}
	}
	f.Results = b.findAll(parsed.results, f)
}

func (b *builder) constant(f *Function, d declaration, from data) {
	shape, ok := (&Value{Shape: d.shape}).StaticShape()
	if !ok {
		b.failf(d.at, "the shape of constant %q is %s: want constants", d.name, shapeText(d.shape))
	}
	bytes := from.bytes
	switch {
	case from.reference != "":
		if bytes, ok = b.constants[from.reference]; !ok {
			b.failf(from.at, "the data of constant %q is not in the text: write the text with all elements (Function.Text), or "+
				"pass the constants", d.name)
		}
	case from.elements != nil:
		var err error
		if bytes, err = elementsData(d.dtype, from.elements); err != nil {
			b.fail(from.at, err)
		}
	}
	v, err := f.Const(d.name, d.dtype, shape, bytes)
	if err != nil {
		b.fail(from.at, err)
	}
	b.bind(d.reference, v, nil)
}

// node adds a node.
func (b *builder) node(f *Function, s statement) {
	op := LookupOp(s.op)
	if op == nil {
		hint := ""
		if name := nearest.Name(s.op, OpNames()); name != "" {
			hint = fmt.Sprintf(": did you mean %s?", name)
		}
		b.failf(s.at, "operator %q does not exist%s", clip(s.op), hint)
	}
	if op.Control == Loops {
		b.failf(s.at, "operator %s calls a function of loops, which is no part of the text: compile the model itself", s.op)
	}
	hasSizes, hasBodies := op.Control == Elements || op.sizes() != "", op.Control == If || op.Control == Loop
	if s.sizes != nil && !hasSizes || s.bodies != nil && !hasBodies {
		b.failf(s.at, "operator %s has no sizes in braces and no bodies", s.op)
	}
	n := &Node{Op: op, Inputs: b.findAll(s.inputs, f), Source: fmt.Sprintf("line %d (%s)",
		strings.Count(b.src[:s.at], "\n")+1, s.op)}
	for _, d := range s.results {
		var v *Value
		if d.key != "" {
			v = &Value{Name: d.name, DType: d.dtype, Shape: d.shape}
		}
		n.Outputs = append(n.Outputs, v)
	}
	if err := checkCount("operands", len(n.Inputs), op.In); err != nil {
		b.fail(s.at, err)
	}
	n.Attrs = b.attrs(op, s.attrs)
	if name := op.sizes(); name != "" && s.sizes != nil {
		if n.Attrs == nil {
			n.Attrs = Attrs{}
		}
		n.Attrs[name] = s.sizes
	}
	var err error
	switch op.Control {
	case Elements:
		err = b.elements(f, n, s)
	case If:
		err = b.conditional(f, n, s)
	case Loop:
		err = b.loop(f, n, s)
	default:
		_, err = f.AddNode(n, s.op)
	}
	if wrong := (*ParseError)(nil); errors.As(err, &wrong) {
		panic(wrong)
	}
	if err != nil {
		b.fail(s.at, err)
	}
	for i, d := range s.results {
		if d.key != "" {
			if err := n.Outputs[i].declare(d); err != nil {
				b.fail(d.at, err)
			}
			b.bind(d.reference, n.Outputs[i], f)
		}
	}
}

// declare gives a result the shape of its declaration, which has to be equal to the one that was inferred.
func (v *Value) declare(d declaration) error {
	if !d.typed {
		return nil
	}
	same := v.DType == d.dtype && len(v.Shape) == len(d.shape)
	for i := 0; same && i < len(d.shape); i++ {
		same = arith.ProveEqual(v.Shape[i], d.shape[i])
	}
	if !same {
		return fmt.Errorf("value %q is declared %s%s, and the operator makes %s%s", d.name, tir.TypeName(d.dtype),
			shapeText(d.shape), tir.TypeName(v.DType), shapeText(v.Shape))
	}
	v.Shape = d.shape
	return nil
}

// attrs returns attributes with the types that the operator declares.
func (b *builder) attrs(op *Op, list []attribute) Attrs {
	if len(list) == 0 {
		return nil
	}
	attrs := Attrs{}
	for _, a := range list {
		if _, twice := attrs[a.name]; twice {
			b.failf(a.at, "attribute %q is given twice", a.name)
		}
		at := slices.IndexFunc(op.Attrs, func(d Attr) bool { return d.Name == a.name })
		if at < 0 {
			b.failf(a.at, "attribute %q does not exist: the operator has %s", clip(a.name), op.attrNames())
		}
		value, ok := attrValue(a.value, op.Attrs[at].Default)
		if !ok {
			b.failf(a.at, "attribute %q has a wrong value: want a %s", a.name, typeWord(op.Attrs[at].Default))
		}
		attrs[a.name] = value
	}
	return attrs
}

// attrValue returns a value that was parsed with the type of a default.
func attrValue(value, like any) (any, bool) {
	switch like.(type) {
	case float64:
		if n, ok := value.(int64); ok {
			return float64(n), true
		}
		x, ok := value.(float64)
		return x, ok
	case []int64:
		return attrList[int64](value, int64(0))
	case []float64:
		return attrList[float64](value, float64(0))
	case []string:
		return attrList[string](value, "")
	}
	return value, value != nil && fmt.Sprintf("%T", value) == fmt.Sprintf("%T", like)
}

func attrList[T any](value, like any) ([]T, bool) {
	if value == nil {
		return nil, true
	}
	from, ok := value.([]any)
	list := make([]T, len(from))
	for i, v := range from {
		x, fits := attrValue(v, like)
		if !fits {
			return nil, false
		}
		list[i] = x.(T)
	}
	return list, ok
}

// elements adds a node that reads elements on the host.
func (b *builder) elements(f *Function, n *Node, s statement) error {
	if len(n.Outputs) != 1 || n.Outputs[0] == nil || n.Inputs[0] == nil {
		return errors.New("want one operand and one result")
	}
	var symbols []*tir.Var
	for _, e := range s.sizes {
		v, ok := e.(*tir.Var)
		if !ok {
			return fmt.Errorf("the size of an element is %s: want a name", printed(e))
		}
		symbols = append(symbols, v)
	}
	out, err := f.elements(n.Inputs[0], symbols)
	if err != nil {
		return err
	}
	out.Name, out.Node.Source = s.results[0].name, n.Source
	n.Outputs[0] = out
	f.consts[n.Inputs[0]] = out
	return nil
}

// typed checks that all results of a node with bodies are declared.
func (s *statement) typed() error {
	for _, d := range s.results {
		if d.key == "" || !d.typed {
			return fmt.Errorf("the results of operator %s need a name and a type", s.op)
		}
	}
	return nil
}

func (b *builder) bodies(s statement, count int) error {
	if len(s.bodies) != count {
		return fmt.Errorf("%d bodies follow operator %s: want %d", len(s.bodies), s.op, count)
	}
	return s.typed()
}

// joins checks that a result may have any of several values: equal sizes, or ones that are known at run time.
func joins(result *Value, of ...*Value) error {
	for _, v := range of {
		same := v.DType == result.DType && len(v.Shape) == len(result.Shape)
		for d := 0; same && d < len(v.Shape); d++ {
			_, open := result.Shape[d].(*tir.Var)
			same = open || arith.ProveEqual(v.Shape[d], result.Shape[d])
		}
		if !same {
			return fmt.Errorf("value %q is %s%s, and has to hold a value of %s%s", result.Name, tir.TypeName(result.DType),
				shapeText(result.Shape), tir.TypeName(v.DType), shapeText(v.Shape))
		}
	}
	return nil
}

// conditional adds a node with two bodies.
func (b *builder) conditional(f *Function, n *Node, s statement) error {
	if err := b.bodies(s, 2); err != nil {
		return err
	}
	if err := checkCond(n.Inputs[0]); err != nil {
		return err
	}
	for _, parsed := range s.bodies {
		body := f.Body(parsed.name)
		if len(parsed.params) > 0 {
			b.failf(parsed.at, "the bodies of if have no parameters: they read values of the function around them")
		}
		b.function(body, parsed)
		if len(body.Results) < len(n.Outputs) {
			b.failf(parsed.at, "the body returns %d values: want at least %d", len(body.Results), len(n.Outputs))
		}
		n.Bodies = append(n.Bodies, body)
	}
	then, otherwise := n.Bodies[0].Results, n.Bodies[1].Results
	if len(then) != len(otherwise) || len(then) != len(n.Outputs) {
		return fmt.Errorf("the bodies return %d and %d values, and there are %d results: want equal numbers", len(then),
			len(otherwise), len(n.Outputs))
	}
	for i, v := range n.Outputs {
		if err := joins(v, then[i], otherwise[i]); err != nil {
			return err
		}
	}
	_, err := f.addControl(n, n.Outputs)
	return err
}

// loop adds a node that repeats a body.
func (b *builder) loop(f *Function, n *Node, s statement) error {
	if err := b.bodies(s, 1); err != nil {
		return err
	}
	if err := checkLoop(n.Inputs[0], n.Inputs[1]); err != nil {
		return err
	}
	parsed, carried := s.bodies[0], n.Inputs[2:]
	body := f.Body(parsed.name)
	for _, d := range parsed.params {
		b.bind(d.reference, body.Param(d.name, d.dtype, d.shape...), body)
	}
	if len(body.Params) != len(n.Inputs) || slices.Contains(carried, nil) {
		return fmt.Errorf("the body has %d parameters: want %d, for the iteration, the condition and %d carried values",
			len(body.Params), len(n.Inputs), len(carried))
	}
	iteration, going := body.Params[0], body.Params[1]
	if iteration.DType != tir.Int64 || len(iteration.Shape) > 0 || !tir.IsBool(going.DType) || len(going.Shape) > 0 {
		b.failf(parsed.at, "the first parameters of the body are %s and %s: want int64[] and bool[]", iteration, going)
	}
	if n.Inputs[1] == nil {
		going.Const = &Const{Data: []byte{1}}
	}
	b.statements(body, parsed)
	n.Bodies = []*Function{body}
	collected := len(n.Outputs) - len(carried)
	if collected < 0 || len(body.Results) != 1+len(n.Outputs) || slices.Contains(body.Results[1:], nil) {
		return fmt.Errorf("the body returns %d values, and there are %d results: want the condition (_: go on), %d carried "+
			"values, and one value for each other result", len(body.Results), len(n.Outputs), len(carried))
	}
	more, next := body.Results[0], body.Results[1:]
	if more != nil {
		if err := checkCond(more); err != nil {
			return err
		}
	}
	for i, v := range n.Outputs {
		if i < len(carried) {
			if err := joins(body.Params[2+i], carried[i], next[i]); err != nil {
				return err
			}
			if err := joins(v, body.Params[2+i], carried[i]); err != nil {
				return err
			}
			continue
		}
		rows := &Value{DType: next[i].DType, Shape: append([]tir.Expr{f.NewSymbol()}, next[i].Shape...)}
		if err := joins(v, rows); err != nil {
			return err
		}
	}
	_, err := f.addControl(n, n.Outputs)
	return err
}
