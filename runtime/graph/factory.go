package graph

import (
	"slices"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/modulekind"
	"tvmgo/internal/value"
	"tvmgo/runtime"
)

// FactoryKind is the kind of modules that consist of a graph with its parameters, and import its functions.
const FactoryKind = "GraphExecutorFactory"

const properties = runtime.Serializable | runtime.Runnable

func init() {
	for _, kind := range modulekind.OfForm(modulekind.GraphText) {
		err := runtime.RegisterModuleKind(runtime.ModuleKind{Name: kind, Properties: properties, Load: load})
		if err == nil {
			err = runtime.RegisterModelKind(runtime.ModelKind{Name: kind, Open: openFactory})
		}
		if err != nil {
			panic(err) // another package of the program registered the same kind
		}
	}
}

// factory is a module that makes executors.
type factory struct {
	runtime.ModuleBase
	self
	saved   []byte // the payload; nil: it is made of the next field
	of      *blob.GraphFactory
	name    string // of the function that makes executors
	model   *model
	weights *paramSet
	usage   *usage
}

func load(p runtime.Payload) (runtime.ModuleImpl, error) {
	f, err := newFactory("load "+p.Kind, p.Data)
	if err != nil {
		return nil, err
	}
	f.weights.owner = p.Owner
	return f, nil
}

// newFactory makes a factory from a payload, which it keeps.
func newFactory(op string, payload []byte) (*factory, error) {
	of, err := blob.ParseGraphFactory(payload)
	if err != nil {
		return nil, fault.Wrap(op, runtime.ErrCorruptModule, err)
	}
	m, err := newModel(op, of.Graph)
	if err != nil {
		return nil, err
	}
	return factoryOf(op, m, of, payload)
}

func factoryOf(op string, m *model, of *blob.GraphFactory, payload []byte) (*factory, error) {
	for i, name := range of.Names {
		if err := m.checkParam(name, of.Tensors[i].DType, of.Tensors[i].Shape); err != nil {
			return nil, fault.Wrap(op, runtime.ErrCorruptModule, err)
		}
	}
	u, err := newUsage()
	if err != nil {
		return nil, err
	}
	return &factory{saved: payload, of: of, name: of.Module, model: m, weights: newParamSet(of.Names, of.Tensors),
		usage: u}, nil
}

// newFactoryModule makes a module with imports.
func newFactoryModule(op string, of *blob.GraphFactory, libs []*runtime.Module) (*runtime.Module, error) {
	payload, err := of.Encode()
	if err != nil {
		return nil, fault.Wrap(op, runtime.ErrInvalidArgument, err)
	}
	f, err := newFactory(op, payload)
	if err != nil {
		return nil, err
	}
	return importing(f, libs)
}

// importing makes the module of a factory.
func importing(f *factory, libs []*runtime.Module) (*runtime.Module, error) {
	m, err := runtime.NewModule(FactoryKind, properties, f)
	if err != nil {
		f.Close()
		return nil, err
	}
	for _, lib := range libs {
		if err := m.Import(lib); err != nil {
			m.Close()
			return nil, err
		}
	}
	return m, nil
}

func closeAll(mods []*runtime.Module) {
	for _, m := range mods {
		m.Close()
	}
}

// Close releases the parameters.
func (f *factory) Close() error {
	f.weights.close()
	f.usage.close()
	return nil
}

// Functions lists the names.
func (f *factory) Functions() []string {
	names := []string{"cuda_graph_create", "debug_create", "get_graph_json", "get_graph_params", "remove_params"}
	if f.name != "" && !slices.Contains(names, f.name) {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return names
}

// Function returns a function by name.
func (f *factory) Function(name string) (*runtime.Function, error) {
	var body func(args ...any) (any, error)
	switch name {
	case f.name:
		body = func(args ...any) (any, error) { return f.create(name, args) }
	case "cuda_graph_create":
		body = func(args ...any) (any, error) { return f.create(name, args) }
	case "debug_create":
		body = f.debugCreate
	case "get_graph_json":
		body = func(args ...any) (any, error) { return f.model.text, value.CheckCount(name, args, 0, 0) }
	case "get_graph_params":
		body = func(args ...any) (any, error) {
			if err := value.CheckCount(name, args, 0, 0); err != nil {
				return nil, err
			}
			return f.weights.all()
		}
	case "remove_params":
		body = f.removeParams
	case openFunction:
		body = f.openModel
	default:
		return nil, runtime.ErrNotFound
	}
	return f.keeping(body)
}

// create makes an executor; the arguments are devices.
func (f *factory) create(op string, args []any) (any, error) {
	devices, err := devicesOf(op, args)
	if err != nil {
		return nil, err
	}
	libs, err := f.imports()
	if err != nil {
		return nil, err
	}
	defer closeAll(libs)
	return newExecutor(f.model, libs, devices, f.weights, nil, nil)
}

// openFunction makes a module of kind ModelKind; its arguments are devices. It is not listed.
const openFunction = "tvmgo.open_model"

// openFactory makes a model of a factory for tvmgo.load_model.
func openFactory(m *runtime.Module, devices []dlpack.Device) (*runtime.Module, error) {
	f, err := m.Function(openFunction)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v, err := f.Call(value.List(devices)...)
	if err != nil {
		return nil, err
	}
	return v.(*runtime.Module), nil
}

func (f *factory) openModel(args ...any) (any, error) {
	devices, err := devicesOf(openFunction, args)
	if err != nil {
		return nil, err
	}
	libs, err := f.imports()
	if err != nil {
		return nil, err
	}
	defer closeAll(libs)
	keep, err := f.keeping(func(...any) (any, error) { return nil, nil })
	if err != nil {
		return nil, err
	}
	name := f.name
	if name == "" {
		name = defaultName
	}
	g := &graphModel{name: name, model: f.model, weights: f.weights, keep: keep, shared: f.usage}
	return owned(openModel(g, libs, devices))
}

func devicesOf(op string, args []any) ([]dlpack.Device, error) {
	devices := make([]dlpack.Device, len(args))
	for i, a := range args {
		d, ok := a.(dlpack.Device)
		if !ok {
			return nil, fault.New(op, runtime.ErrInvalidArgument, "argument %d: expected a device, got %s", i, kindOf(a))
		}
		devices[i] = d
	}
	return devices, nil
}

// debugCreate implements debug_create(name, devices...).
func (f *factory) debugCreate(args ...any) (any, error) {
	const op = "debug_create"
	name, err := value.Text(op, args, 0)
	if err != nil {
		return nil, err
	}
	if name != f.name {
		return nil, fault.New(op, runtime.ErrNotFound, "the factory has no graph %q: its name is %q", name, f.name)
	}
	return f.create(op, args[1:])
}

// removeParams implements remove_params(): a factory of the same graph without parameters.
func (f *factory) removeParams(args ...any) (any, error) {
	if err := value.CheckCount("remove_params", args, 0, 0); err != nil {
		return nil, err
	}
	libs, err := f.imports()
	if err != nil {
		return nil, err
	}
	defer closeAll(libs)
	return newFactoryModule("remove_params", &blob.GraphFactory{Graph: f.model.text, Module: f.name}, libs)
}

// SaveToBinary returns the payload.
func (f *factory) SaveToBinary() ([]byte, error) {
	if f.saved != nil {
		return f.saved, nil
	}
	data, err := f.of.Encode()
	return data, fault.Wrap("save "+FactoryKind, runtime.ErrInvalidArgument, err)
}

// GetSource returns the graph.
func (f *factory) GetSource(format string) (string, error) {
	if format != "" && format != "json" {
		return f.ModuleBase.GetSource(format)
	}
	return f.model.text, nil
}
