package runtime

import (
	"context"
	"fmt"
	"sync"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/globals"
	"tvmgo/internal/value"
)

// ModelKind says how modules of a kind become models: modules with every function of the model by its name, and with
// tvmgo.functions, tvmgo.signature and tvmgo.bind (package tvmgo/runtime/vm describes them).
type ModelKind struct {
	Name string // the module kind

	// Open makes a model of a module of this kind, which the caller keeps. The first device is where the model's
	// kernels run; the last one is the host. The caller of Open closes the result, which keeps what it needs.
	Open func(m *Module, devices []dlpack.Device) (*Module, error)
}

var modelKinds sync.Map // name → ModelKind

// RegisterModelKind registers a kind of models for [OpenModel]. Packages call it when they are initialised. The error
// is ErrFailed if the kind is registered.
func RegisterModelKind(k ModelKind) error {
	const op = "register model kind"
	if k.Name == "" || k.Open == nil {
		return fault.New(op, ErrInvalidArgument, "give a name and a function")
	}
	if _, found := modelKinds.LoadOrStore(k.Name, k); found {
		return fault.New(op, ErrFailed, "%q is registered already", k.Name)
	}
	return nil
}

func init() {
	globals.Set("tvmgo.load_model", func(args ...any) (any, error) {
		const op = "tvmgo.load_model(source, devices, params)"
		if err := value.CheckCount(op, args, 1, 3); err != nil {
			return nil, err
		}
		args = append(args, nil, nil)
		devices, err := devicesOf(op, args[1])
		if err != nil {
			return nil, err
		}
		m, err := OpenModel(context.Background(), args[0], devices, args[2])
		if err != nil {
			return nil, err
		}
		return globals.Owned{Value: m}, nil
	})
}

func devicesOf(op string, v any) ([]dlpack.Device, error) {
	list, ok := v.([]any)
	if v != nil && !ok {
		return nil, fault.New(op, ErrInvalidArgument, "devices must be an Array of devices or None, got %T", v)
	}
	var devices []dlpack.Device
	for i, item := range list {
		dev, ok := item.(dlpack.Device)
		if !ok {
			return nil, fault.New(op, ErrInvalidArgument, "device %d must be a Device, got %T", i, item)
		}
		devices = append(devices, dev)
	}
	return devices, nil
}

// OpenModel makes a model of a library's path (a string), of a library in memory ([]byte), or of a loaded *Module,
// which the caller keeps. The caller closes the result, a module as [ModelKind] describes it.
//
// Without devices, the model runs on the first device of the kind that its kernels are for, otherwise on the CPU. The
// host is added to the devices if it is not the last one. params are tensors for parameters by name, which are bound
// with tvmgo.bind: nil, the path of a file or directory for [OpenWeights] (a string), or a [Map].
//
// The error is that of [Load], ErrInvalidArgument for a module that is no model and for params that do not fit,
// ErrDeviceUnavailable for a device that does not exist, or ErrNotSupported if this program lacks the package that runs
// the model.
func OpenModel(ctx context.Context, source any, devices []dlpack.Device, params any) (*Module, error) {
	file, name, closes, err := loadSource(ctx, source)
	if err != nil {
		return nil, err
	}
	if closes {
		defer file.Close()
	}
	op := "load model " + name
	m, err := openFirst(op, file, devices)
	if err != nil {
		return nil, err
	}
	if err := bindParams(op, m, params); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func loadSource(ctx context.Context, source any) (m *Module, name string, closes bool, err error) {
	switch source := source.(type) {
	case *Module:
		return source, source.Kind(), false, nil
	case string:
		m, err = Load(ctx, source)
		return m, source, true, err
	case []byte:
		m, err = LoadBytes(ctx, source, Name("model"))
		return m, fmt.Sprintf("of %d bytes", len(source)), true, err
	}
	return nil, "", false, fault.New("load model", ErrInvalidArgument,
		"give a path (str), a library (bytes) or a Module, not %T", source)
}

// openFirst opens the first module of the import tree that is a model.
func openFirst(op string, file *Module, devices []dlpack.Device) (*Module, error) {
	var opened *Module
	var needs string // the package that a model needs
	fallback := dlpack.Device{Type: dlpack.CPU}
	err := walkModules(file, func(m *Module) (bool, error) {
		if d, err := dlpack.ParseDeviceType(m.Kind()); err == nil && d != dlpack.CPU && fallback.Type == dlpack.CPU {
			fallback.Type = d
		}
		return false, nil
	})
	if err != nil {
		return nil, fault.Wrap(op, ErrFailed, err)
	}
	if len(devices) == 0 {
		devices = []dlpack.Device{fallback}
	}
	if last := devices[len(devices)-1]; last.Type != dlpack.CPU {
		devices = append(devices[:len(devices):len(devices)], dlpack.Device{Type: dlpack.CPU})
	}
	for _, d := range devices {
		if !DeviceExists(d) {
			return nil, fault.New(op, ErrDeviceUnavailable, "there is no device %v: %v", d, deviceError(d.Type))
		}
	}
	err = walkModules(file, func(m *Module) (bool, error) {
		k, ok := modelKinds.Load(m.Kind())
		if !ok {
			if needs == "" {
				needs = blob.LoaderImport(m.Kind())
			}
			return false, nil
		}
		var err error
		opened, err = k.(ModelKind).Open(m, devices)
		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	if opened == nil {
		return nil, noModel(op, file, needs)
	}
	return opened, nil
}

func noModel(op string, file *Module, needs string) error {
	if needs != "" {
		return fault.New(op, ErrNotSupported, "nothing here runs it: import %s, or use a libtvmgo that was built with it",
			needs)
	}
	has := "no functions"
	if names := file.AllFunctions(); len(names) > 0 {
		has = "the functions " + listed(names)
	}
	return fault.New(op, ErrInvalidArgument, "it is not a model but a module of kind %q with %s: load it with "+
		"runtime.Load (ffi.ModuleLoadFromFile) and call its functions", file.Kind(), has)
}

// walkModules calls visit for a module and its imports, depth first and each once, until visit returns true or an
// error. Modules are valid until visit returns.
func walkModules(root *Module, visit func(m *Module) (stop bool, err error)) error {
	seen := map[uintptr]bool{}
	var walk func(m *Module) (bool, error)
	walk = func(m *Module) (bool, error) {
		at := m.ID()
		if seen[at] {
			return false, nil
		}
		seen[at] = true
		if stop, err := visit(m); stop || err != nil {
			return stop, err
		}
		imports, err := m.Imports()
		if err != nil {
			return false, err
		}
		defer closeModules(imports)
		for _, dep := range imports {
			if stop, err := walk(dep); stop || err != nil {
				return stop, err
			}
		}
		return false, nil
	}
	_, err := walk(root)
	return err
}

func closeModules(list []*Module) {
	for _, m := range list {
		m.Close()
	}
}

// bindParams binds the parameters of OpenModel to a model.
func bindParams(op string, m *Module, params any) error {
	switch from := params.(type) {
	case nil:
		return nil
	case Map:
	case string:
		w, err := OpenWeights(from)
		if err != nil {
			return fmt.Errorf("%s: parameters: %w", op, err)
		}
		defer w.Close()
		var named Map
		defer func() {
			for _, e := range named {
				value.Close(e.Value)
			}
		}()
		for _, name := range w.Names() {
			t, err := w.Tensor(name, dlpack.Device{Type: dlpack.CPU})
			if err != nil {
				return fmt.Errorf("%s: parameter %q of %s: %w", op, name, from, err)
			}
			named = append(named, Entry{Key: name, Value: t})
		}
		params = named
	default:
		return fault.New(op, ErrInvalidArgument, "params must be a path (str) or a Map of tensors, got %T", params)
	}
	bind, err := m.Function("tvmgo.bind")
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	defer bind.Close()
	_, err = bind.Call(params)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}
