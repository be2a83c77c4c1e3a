package runtime

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/modelcall"
	"tvmgo/internal/value"
)

// ValueKind is the kind of a value that a model's function takes or returns.
type ValueKind string

// The kinds of values.
const (
	AnyValue      ValueKind = "any"      // not known
	TensorValue   ValueKind = "tensor"   // a *Tensor
	ShapeValue    ValueKind = "shape"    // a Shape
	TupleValue    ValueKind = "tuple"    // a []any
	NumberValue   ValueKind = "number"   // an integer, a float or a bool
	FunctionValue ValueKind = "function" // a *Function, or a closure, which is an *Object
)

var valueKinds = map[ValueKind]modelcall.Kind{AnyValue: modelcall.Any, TensorValue: modelcall.Tensor,
	ShapeValue: modelcall.Shape, TupleValue: modelcall.Tuple, NumberValue: modelcall.Number,
	FunctionValue: modelcall.Callable}

// ValueInfo describes a parameter or a result of a model's function.
type ValueInfo struct {
	Name  string // of a result often ""
	Kind  ValueKind
	DType dlpack.DataType // of a tensor or number; the zero value if it is not fixed
	NDim  int             // the number of dimensions of a tensor or shape; -1 if it is not fixed
	// Shape has NDim dimensions, in elements; those that a call decides are -1. Dims has the same dimensions as the
	// model wrote them: "16", "n", "n * 2"; equal symbols stand for equal numbers, "" for any number. Both are nil if
	// NDim is -1.
	Shape  []int64
	Dims   []string
	Fields []ValueInfo // of a tuple
	Device int         // the number of the device, of those of the model, on which the value lies
	Bound  bool        // the parameter has a value already: calls leave it out
	Text   string      // the annotation in the file, as TVM prints it; "" if there is none
}

// FunctionInfo describes a function of a model.
type FunctionInfo struct {
	Name   string
	Params []ValueInfo
	Result ValueInfo
}

// String is the signature: "main(x: float32[n, 16], w: float32[16, 8] (bound)) -> float32[n, 8]". A dimension that is
// not known is "?", and a tensor of any shape "float32[...]".
func (f FunctionInfo) String() string {
	params := make([]string, len(f.Params))
	for i := range f.Params {
		params[i] = f.Params[i].String()
	}
	return fmt.Sprintf("%s(%s) -> %v", f.Name, strings.Join(params, ", "), f.Result)
}

// String is the name and the type: "x: float32[n, 16]".
func (v ValueInfo) String() string {
	s := v.typ().String()
	if v.Name != "" {
		s = v.Name + ": " + s
	}
	if v.Bound {
		s += " (bound)"
	}
	return s
}

func (v *ValueInfo) typ() modelcall.Type {
	t := modelcall.Type{Kind: valueKinds[v.Kind], DType: v.DType, NDim: v.NDim, Dims: v.Dims}
	for i := range v.Fields {
		t.Fields = append(t.Fields, v.Fields[i].typ())
	}
	return t
}

func (f *FunctionInfo) checks() *modelcall.Function {
	params := make([]modelcall.Parameter, len(f.Params))
	for i := range f.Params {
		p := &f.Params[i]
		params[i] = modelcall.Parameter{Name: p.Name, Type: p.typ(), Bound: p.Bound}
		if p.Bound && p.Text == "" { // the type of the bound tensor: another tensor may have another one
			params[i].Type = modelcall.Type{NDim: -1}
		}
	}
	return modelcall.New(params, f.Result.typ())
}

func (f FunctionInfo) clone() FunctionInfo {
	f.Params = cloneInfos(f.Params)
	f.Result = f.Result.clone()
	return f
}

func cloneInfos(list []ValueInfo) []ValueInfo {
	list = slices.Clone(list)
	for i := range list {
		list[i] = list[i].clone()
	}
	return list
}

func (v ValueInfo) clone() ValueInfo {
	v.Shape, v.Dims, v.Fields = slices.Clone(v.Shape), slices.Clone(v.Dims), cloneInfos(v.Fields)
	return v
}

// Functions describes the functions of the model, in the order of the file; nil after Close.
func (m *Model) Functions() []FunctionInfo {
	if m.own().use("") != nil {
		return nil
	}
	defer m.module.ref.release()
	list := make([]FunctionInfo, len(m.functions))
	for i, f := range m.functions {
		list[i] = f.info.clone()
	}
	return list
}

// Function describes a function. The error is ErrNotFound, with the nearest name, if there is none.
func (m *Model) Function(name string) (FunctionInfo, error) {
	f, err := m.find("describe function", name)
	if err != nil {
		return FunctionInfo{}, err
	}
	return f.info.clone(), nil
}

func (m *Model) find(op, name string) (*modelFunction, error) {
	if m.own().use(op) != nil {
		return nil, fault.IsClosed(op, "model")
	}
	defer m.module.ref.release()
	for _, f := range m.functions {
		if f.info.Name == name {
			return f, nil
		}
	}
	names := m.names()
	return nil, fault.New(op, ErrNotFound, "the model has no function %q%s; it has: %s", name, suggest(name, names),
		listed(names))
}

func (m *Model) names() []string {
	names := make([]string, len(m.functions))
	for i, f := range m.functions {
		names[i] = f.info.Name
	}
	return names
}

// mainFunction returns the function that Run calls.
func (m *Model) mainFunction() (*modelFunction, error) {
	const op = "run model"
	if m != nil && m.main != nil {
		return m.main, nil // the call finds out whether the model is closed
	}
	if m.own().use(op) != nil {
		return nil, fault.IsClosed(op, "model")
	}
	defer m.module.ref.release()
	if len(m.functions) == 0 {
		return nil, fault.New(op, ErrNotFound, "the model has no functions")
	}
	return nil, fault.New(op, ErrNotFound, "no function is named main: choose one with RunFunction: %s",
		listed(m.names()))
}

func (m *Model) readInfos(op string) ([]FunctionInfo, error) {
	v, err := m.module.callNamed(op, modelFunctions)
	if err != nil {
		return nil, err
	}
	names, err := value.Texts(op, []any{v}, 0)
	if err != nil {
		return nil, err
	}
	infos := make([]FunctionInfo, len(names))
	for i, name := range names {
		v, err := m.module.callNamed(op, modelSignature, name)
		if err != nil {
			return nil, err
		}
		if infos[i], err = functionInfo(name, v); err != nil {
			return nil, renamed(op, err)
		}
	}
	return infos, nil
}

// functionInfo reads what the function tvmgo.signature of a model returns.
func functionInfo(name string, v any) (FunctionInfo, error) {
	r := infoReader{op: fmt.Sprintf("read signature of %s", name)}
	entries := r.entries(v)
	info := FunctionInfo{Name: name, Params: []ValueInfo{}}
	for _, p := range field[[]any](&r, entries, "params") {
		info.Params = append(info.Params, r.value(p, 0))
	}
	info.Result = r.value(field[any](&r, entries, "result"), 0)
	return info, r.err
}

// infoReader reads a signature. It keeps the first error.
type infoReader struct {
	op  string
	err error
}

func (r *infoReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fault.New(r.op, ErrFailed, format, args...)
	}
}

func (r *infoReader) entries(v any) Map {
	m, ok := v.(Map)
	if !ok {
		r.fail("expected a map, got %T", v)
	}
	return m
}

// field returns a value of a map, with its type.
func field[T any](r *infoReader, entries Map, key string) (value T) {
	for _, e := range entries {
		if e.Key == key {
			if v, ok := e.Value.(T); ok || e.Value == nil {
				return v
			}
			r.fail("%q is a %T, not a %T", key, e.Value, value)
			return value
		}
	}
	r.fail("there is no %q", key)
	return value
}

func (r *infoReader) value(of any, depth int) (v ValueInfo) {
	if depth > maxDepth {
		r.fail("tuples are nested deeper than %d", maxDepth)
		return v
	}
	m := r.entries(of)
	if r.err != nil {
		return v
	}
	v = ValueInfo{Name: field[string](r, m, "name"), Kind: ValueKind(field[string](r, m, "kind")),
		NDim: int(field[int64](r, m, "ndim")), Device: int(field[int64](r, m, "device")), Bound: field[bool](r, m, "bound"),
		Text: field[string](r, m, "text")}
	if _, ok := valueKinds[v.Kind]; !ok {
		r.fail("there is no kind of value %q", v.Kind)
	}
	if name := field[string](r, m, "dtype"); name != "" {
		t, err := dlpack.ParseDataType(name)
		if err != nil {
			r.fail("%v", err)
		}
		v.DType = t
	}
	if v.NDim >= 0 {
		v.Shape, v.Dims = make([]int64, v.NDim), make([]string, v.NDim)
		for i := range v.Shape {
			v.Shape[i] = -1
		}
		for i, n := range integers(field[any](r, m, "shape")) {
			if i < v.NDim {
				v.Shape[i] = n
			}
		}
		for i, d := range field[[]any](r, m, "dims") {
			if text, ok := d.(string); ok && i < v.NDim && text != "?" {
				v.Dims[i] = text
			}
		}
	}
	for _, f := range field[[]any](r, m, "fields") {
		v.Fields = append(v.Fields, r.value(f, depth+1))
	}
	return v
}

// integers returns the numbers of a Shape, or of an Array.
func integers(v any) []int64 {
	switch v := v.(type) {
	case Shape:
		return v
	case []any:
		list := make([]int64, len(v))
		for i := range v {
			n, ok := v[i].(int64)
			if !ok {
				n = -1
			}
			list[i] = n
		}
		return list
	}
	return nil
}

// ModelMemory counts the memory that the calls of a model and of its sessions take, on all devices together. Results
// that are not closed count too.
type ModelMemory struct {
	Live, Peak int64 // bytes now, and at most so far
	Storages   int64 // blocks of memory now
	Taken      int64 // blocks of memory so far
	Limit      int64 // bytes; 0 is none
	Weights    int64 // bytes of constants and bound parameters, which Live and Limit leave out
}

// Memory counts the memory of the model. Models that NewModel makes of one module share the counts and the limit.
func (m *Model) Memory() (ModelMemory, error) {
	const op = "read memory of model"
	v, err := m.own().callNamed(op, modelMemory)
	if err != nil {
		return ModelMemory{}, err
	}
	r := infoReader{op: op}
	e := r.entries(v)
	return ModelMemory{Live: field[int64](&r, e, "live"), Peak: field[int64](&r, e, "peak"),
		Storages: field[int64](&r, e, "storages"), Taken: field[int64](&r, e, "taken"),
		Limit: field[int64](&r, e, "limit"), Weights: field[int64](&r, e, "weights")}, r.err
}

// SetMemoryLimit limits the bytes that all calls of the model together may take at one time; 0 is no limit. A call that
// needs more fails with ErrOutOfMemory. Below what is taken now, the limit only refuses more.
func (m *Model) SetMemoryLimit(bytes int64) error {
	const op = "set memory limit"
	if bytes < 0 {
		return fault.New(op, ErrInvalidArgument, "%d is negative: 0 is no limit", bytes)
	}
	_, err := m.own().callNamed(op, modelSetLimit, bytes)
	return err
}

// Inputs are the inputs of a model's function, Named or Ordered. Their values have the types that Function.Call takes:
// *Tensor, numbers, Shape, and []any for tuples.
type Inputs interface {
	arrange(f *modelFunction) ([]any, error)
}

// Named are inputs by the names of their parameters.
type Named map[string]any

// Ordered are inputs in the order of the parameters. Bound parameters are left out, unless there is a value for every
// parameter.
type Ordered []any

func (in Named) arrange(f *modelFunction) ([]any, error) { return f.checks.Order(in) }

func (in Ordered) arrange(*modelFunction) ([]any, error) { return in, nil }

// Outputs are the results of a call: the fields of a tuple, otherwise the one value. They have the types that
// Function.Call returns; a tuple in a tuple is a []any.
type Outputs []any

// Tensor returns an output that is a tensor, which Close closes. The error is ErrInvalidArgument if there is no output
// of this number, or if it is something else.
func (o Outputs) Tensor(i int) (*Tensor, error) {
	const op = "get output"
	if i < 0 || i >= len(o) {
		return nil, fault.New(op, ErrInvalidArgument, "there is no output %d: the call returned %d", i, len(o))
	}
	t, ok := o[i].(*Tensor)
	if !ok {
		return nil, fault.New(op, ErrInvalidArgument, "output %d is a %T, not a tensor", i, o[i])
	}
	return t, nil
}

// Close closes the outputs.
func (o Outputs) Close() error {
	value.CloseAll(o)
	return nil
}
