package te

import (
	"fmt"

	"tvmgo/tir"
)

// Tensor is a placeholder or a computed tensor. It implements tir.Producer. It is immutable, except for Annotate.
type Tensor struct {
	op    *operation
	index int // index among the results of op
	name  string
	shape []tir.Expr
	typ   tir.Type
}

// operation computes tensors. It is immutable; schedules keep their changes in their stages.
type operation struct {
	kind    opKind
	name    string
	tensors []*Tensor
	axes    []*tir.IterVar // opCompute only
	reduce  []*tir.IterVar // opCompute only
	bodies  []tir.Expr     // opCompute only: one formula per tensor
	inputs  []*Tensor      // opExtern and opScan: what it reads
	extern  func(ins, outs []*tir.Buffer) tir.Stmt
	scan    *scanParts // opScan only
	state   bool       // opPlaceholder: it stands for the result of a scan

	constant bool    // opPlaceholder: its elements are the same in each call
	data     []byte  // opPlaceholder: of a constant
	prepares *Tensor // opPlaceholder: what it stands for

	notes map[string]any
	err   error
}

type opKind uint8

const (
	opPlaceholder opKind = iota
	opCompute
	opExtern
	opScan
)

// Var makes a variable of type int32 that stands for a size.
func Var(name string) *tir.Var { return tir.NewVar(name, tir.Int32) }

// Dims is a shape of constants of type int32.
func Dims(sizes ...int32) []tir.Expr {
	shape := make([]tir.Expr, len(sizes))
	for i, n := range sizes {
		shape[i] = tir.I32(n)
	}
	return shape
}

// Placeholder makes a tensor that is an argument of the function.
func Placeholder(shape []tir.Expr, t tir.Type, name string) *Tensor {
	op := &operation{kind: opPlaceholder, name: name}
	op.addTensor(name, shape, t)
	op.fail("placeholder", checkTensor(name, shape, t))
	return op.tensors[0]
}

func (op *operation) addTensor(name string, shape []tir.Expr, t tir.Type) {
	op.tensors = append(op.tensors, &Tensor{op: op, index: len(op.tensors), name: name, shape: shape, typ: t})
}

// fail records err, unless the operation has an error already.
func (op *operation) fail(what string, err error) {
	if err != nil && op.err == nil {
		op.err = fmt.Errorf("%s %s: %w", what, op.name, err)
	}
}

// checkTensor returns an error if a tensor of this name, shape and element type cannot exist.
func checkTensor(name string, shape []tir.Expr, t tir.Type) error {
	if name == "" {
		return fmt.Errorf("a tensor has no name: give it one")
	}
	if t == tir.Void {
		return fmt.Errorf("elements have no type")
	}
	if t.Lanes != 1 {
		return fmt.Errorf("elements have type %s: want one lane", t)
	}
	if tir.CheckType(t) != nil || tir.IsHandle(t) {
		return fmt.Errorf("elements have type %s: want integers or floats of at most 64 bits, or bool", t)
	}
	return checkShape(shape)
}

func checkShape(shape []tir.Expr) error {
	for i, n := range shape {
		if err := checkSize(n); err != nil {
			return fmt.Errorf("dimension %d: %w", i, err)
		}
	}
	return nil
}

// checkSize returns an error if n cannot be the size of a dimension or the extent of an axis.
func checkSize(n tir.Expr) error {
	if n == nil {
		return fmt.Errorf("the size is nil")
	}
	if b, ok := n.(*tir.Bad); ok {
		return b.Err
	}
	if t := n.DType(); !isIndex(t) {
		return fmt.Errorf("the size has type %s: want int32 or int64", t)
	}
	if hasLoad(n) {
		return fmt.Errorf("the size reads a tensor: want constants and variables")
	}
	if c, ok := n.(*tir.IntImm); ok && c.Value < 0 {
		return fmt.Errorf("the size is %d: want 0 or more", c.Value)
	}
	return nil
}

// isIndex reports whether axes and sizes may have type t.
func isIndex(t tir.Type) bool { return t == tir.Int32 || t == tir.Int64 }

// At returns the element of the tensor at the given indices, one per dimension. A wrong index is an error of the tensor
// that uses the element.
func (t *Tensor) At(indices ...tir.Expr) tir.Expr {
	if t == nil {
		return &tir.Bad{Err: fmt.Errorf("te: load: the tensor is nil")}
	}
	if t.op.err != nil {
		return &tir.Bad{Err: t.op.err}
	}
	return tir.ProducerAt(t, indices...)
}

// ProducerName is the tensor's name.
func (t *Tensor) ProducerName() string { return t.name }

// ProducerShape is the tensor's shape.
func (t *Tensor) ProducerShape() []tir.Expr { return t.shape }

// ProducerDType is the type of an element.
func (t *Tensor) ProducerDType() tir.Type { return t.typ }

// Err returns the error of the function that made the tensor, or nil.
func (t *Tensor) Err() error {
	if t == nil {
		return fmt.Errorf("te: the tensor is nil")
	}
	if t.op.err == nil {
		return nil
	}
	return fmt.Errorf("te: %w", t.op.err)
}

// Axes returns the axes that the tensor is computed over, one per dimension; none for placeholders, extern
// operations and scans.
func (t *Tensor) Axes() []*tir.IterVar { return append([]*tir.IterVar{}, t.op.axes...) }

// ReduceAxes returns the axes of the tensor's reduction, or none.
func (t *Tensor) ReduceAxes() []*tir.IterVar { return append([]*tir.IterVar{}, t.op.reduce...) }

// Bodies returns the formulas of the tensor's operation, one for each tensor that it computes; none for placeholders
// and extern operations.
func (t *Tensor) Bodies() []tir.Expr { return append([]tir.Expr{}, t.op.bodies...) }

// Annotate attaches a value to the tensor's operation under a key, for schedulers, and returns the tensor. Call it
// right after the tensor was made, before anything else uses it.
func (t *Tensor) Annotate(key string, value any) *Tensor {
	if t.op.notes == nil {
		t.op.notes = map[string]any{}
	}
	t.op.notes[key] = value
	return t
}

// Annotation returns the value that Annotate attached, or nil.
func (t *Tensor) Annotation(key string) any { return t.op.notes[key] }

// Inputs returns the tensors that an extern operation or a scan reads; none for other operations, whose Bodies refer to
// them.
func (t *Tensor) Inputs() []*Tensor { return append([]*Tensor{}, t.op.inputs...) }
