package model

import (
	"context"
	"fmt"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/modelcall"
	"tvmgo/internal/value"
	"tvmgo/runtime"
)

// whole is a function of a whole model.
type whole struct {
	model    *runtime.Model
	function string
	params   []tree // of the parameters without a value
	result   tree
	outputs  []port
}

// tree is a parameter or a result: one of the ports, or a tuple.
type tree struct {
	port   int
	fields []tree
	tuple  bool
}

func loadWhole(file *runtime.Module, isGraph bool, o *Options) (_ *Model, err error) {
	var options []runtime.ModelOption
	if o.Device != (dlpack.Device{}) {
		options = append(options, runtime.OnDevices(o.Device))
	}
	if o.Params != "" {
		options = append(options, runtime.WithParams(o.Params))
	}
	if o.Memory != 0 {
		options = append(options, runtime.WithMemoryLimit(o.Memory))
	}
	if len(o.Outputs) > 0 {
		return nil, wrong("the outputs %s are named, but the functions of a whole model return theirs: leave them out",
			listed(o.Outputs))
	}
	w := &whole{}
	if w.model, err = runtime.NewModel(file, options...); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	functions := w.model.Functions()
	list := make([]string, len(functions))
	for i, f := range functions {
		list[i] = f.Name
	}
	if w.function, err = choose(list, o.Function); err != nil {
		return nil, err
	}
	info, err := w.model.Function(w.function)
	if err != nil {
		return nil, err
	}
	m := &Model{function: w.function, platform: "tvmgo_relax", impl: w}
	if isGraph {
		m.platform = "tvmgo_graph"
	}
	if err := w.describe(m, &info); err != nil {
		return nil, fmt.Errorf("function %s: %w", w.function, err)
	}
	w.outputs = m.outputs
	return m, nil
}

// reader takes a signature apart.
type reader struct {
	ports []port
	names names
	types []modelcall.Parameter // of the ports
}

func (w *whole) describe(m *Model, info *runtime.FunctionInfo) error {
	in := reader{names: names{}}
	var params []modelcall.Parameter
	tuples := false
	for i := range info.Params {
		p := &info.Params[i]
		if p.Bound {
			params = append(params, modelcall.Parameter{Name: p.Name, Type: boundType(p), Bound: true})
			continue
		}
		t, err := in.read(p, in.names.pick(p.Name, "input", i))
		if err != nil {
			return fmt.Errorf("input %w", err)
		}
		w.params, tuples = append(w.params, t), tuples || t.tuple
		params = append(params, in.types...)
		in.types = nil
	}
	m.inputs = in.ports
	out := reader{names: names{}}
	var err error
	switch r := &info.Result; r.Kind {
	case runtime.TupleValue:
		w.result.tuple = true
		for i := range r.Fields {
			var t tree
			if t, err = out.read(&r.Fields[i], out.names.pick(r.Fields[i].Name, "output", i)); err != nil {
				break
			}
			w.result.fields = append(w.result.fields, t)
		}
	default:
		w.result, err = out.read(r, out.names.pick(r.Name, "output", 0))
	}
	if err != nil {
		return fmt.Errorf("output %w", err)
	}
	m.outputs = out.ports
	m.finish(params, typeOf(&info.Result))
	stacked := m.checks.Stacked()
	m.batches = stacked != nil && !tuples
	for i, p := range m.params {
		m.shared = m.shared || m.batches && !stacked[p] && m.inputs[i].form == asTensor
	}
	return nil
}

// read adds the ports of a value.
func (r *reader) read(v *runtime.ValueInfo, name string) (tree, error) {
	var p port
	switch v.Kind {
	case runtime.TupleValue:
		t := tree{tuple: true}
		for i := range v.Fields {
			field, err := r.read(&v.Fields[i], r.names.pick(fmt.Sprintf("%s.%d", name, i), name, i))
			if err != nil {
				return t, err
			}
			t.fields = append(t.fields, field)
		}
		return t, nil
	case runtime.TensorValue:
		if v.DType == (dlpack.DataType{}) {
			return tree{}, wrong("%s is a tensor without a fixed dtype, which the protocol cannot describe: bind it with "+
				"parameters, or annotate it", name)
		}
		p = tensorPort(name, v.DType, v.Shape, v.Dims)
		if v.NDim < 0 {
			p.Shape, p.Symbols, p.AnyRank = []int64{-1}, []string{""}, true
		}
	case runtime.ShapeValue:
		p = tensorPort(name, dlpack.Int64, []int64{int64(v.NDim)}, nil) // -1 if it is not known
		p.form = asShape
	case runtime.NumberValue:
		if !canBeNumber(v.DType) {
			return tree{}, wrong("%s is a number of a type that is not known here (%v): make it a tensor", name, v.DType)
		}
		p = numberPort(name, v.DType)
	case runtime.FunctionValue:
		return tree{}, wrong("%s is a function, and the protocol knows tensors only: choose another function", name)
	default:
		return tree{}, wrong("%s has no type in the file, and the protocol needs one: bind it with parameters "+
			"if it is a weight, or annotate it", name)
	}
	r.ports = append(r.ports, p)
	r.types = append(r.types, modelcall.Parameter{Name: name, Type: typeOf(v)})
	return tree{port: len(r.ports) - 1}, nil
}

var kinds = map[runtime.ValueKind]modelcall.Kind{runtime.TensorValue: modelcall.Tensor,
	runtime.ShapeValue: modelcall.Shape, runtime.TupleValue: modelcall.Tuple, runtime.NumberValue: modelcall.Number,
	runtime.FunctionValue: modelcall.Callable}

// typeOf is the type of a value for the checks. Numbers are compared by their ports.
func typeOf(v *runtime.ValueInfo) modelcall.Type {
	t := modelcall.Type{Kind: kinds[v.Kind], DType: v.DType, NDim: v.NDim, Dims: v.Dims}
	for i := range v.Fields {
		t.Fields = append(t.Fields, typeOf(&v.Fields[i]))
	}
	return t
}

// boundType is the type of a parameter with a value, which only matters if the file has it.
func boundType(v *runtime.ValueInfo) modelcall.Type {
	if v.Text == "" {
		return modelcall.Type{NDim: -1}
	}
	return typeOf(v)
}

func (w *whole) arrange(in *call) runtime.Ordered {
	list := make(runtime.Ordered, len(w.params))
	for i := range w.params {
		list[i] = w.params[i].value(in.values)
	}
	return list
}

func (t *tree) value(of []any) any {
	if !t.tuple {
		return of[t.port]
	}
	fields := make([]any, len(t.fields))
	for i := range t.fields {
		fields[i] = t.fields[i].value(of)
	}
	return fields
}

func (w *whole) run(ctx context.Context, in call) ([]*runtime.Tensor, error) {
	out, err := w.model.RunFunction(ctx, w.function, w.arrange(&in))
	if err != nil {
		return nil, err
	}
	return w.take(out)
}

func (w *whole) runBatch(ctx context.Context, in []call) ([][]*runtime.Tensor, error) {
	requests := make([]runtime.Inputs, len(in))
	for i := range in {
		requests[i] = w.arrange(&in[i])
	}
	outs, err := w.model.RunFunctionBatch(ctx, w.function, requests)
	if err != nil {
		return nil, err
	}
	list := make([][]*runtime.Tensor, len(outs))
	for i, out := range outs {
		if err == nil {
			list[i], err = w.take(out)
		} else {
			out.Close()
		}
	}
	if err != nil {
		for _, l := range list {
			closeAll(l)
		}
		return nil, err
	}
	return list, nil
}

// take returns the outputs on the host, and takes over what the function returned.
func (w *whole) take(out runtime.Outputs) ([]*runtime.Tensor, error) {
	var got any = []any(out)
	if !w.result.tuple {
		if len(out) != 1 {
			out.Close()
			return nil, fault.New("run "+w.function, runtime.ErrFailed, "it returned %d values, not one", len(out))
		}
		got = out[0]
	}
	list := make([]*runtime.Tensor, len(w.outputs))
	if err := w.collect(&w.result, got, list); err != nil {
		closeAll(list)
		return nil, fmt.Errorf("run %s: %w", w.function, err)
	}
	return list, nil
}

func (w *whole) collect(t *tree, v any, into []*runtime.Tensor) (err error) {
	if !t.tuple {
		into[t.port], err = w.outputs[t.port].host(v)
		return err
	}
	fields, ok := v.([]any)
	if !ok || len(fields) != len(t.fields) {
		value.Close(v)
		return fault.New("", runtime.ErrFailed, "it returned a tuple with other fields than its signature says")
	}
	for i := range fields {
		if err == nil {
			err = w.collect(&t.fields[i], fields[i], into)
		} else {
			value.Close(fields[i])
		}
	}
	return err
}

func (w *whole) device() dlpack.Device {
	if devices := w.model.Devices(); len(devices) > 0 {
		return devices[0]
	}
	return runtime.CPU
}

func (w *whole) memory() (runtime.ModelMemory, error) { return w.model.Memory() }

func (w *whole) wait(ctx context.Context) error { return w.model.Wait(ctx) }

func (w *whole) close() error { return w.model.Close() }
