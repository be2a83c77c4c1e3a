package runtime

/*
#include "bridge/bridge.h"
*/
import "C"

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/modelcall"
	"tvmgo/internal/value"
)

// Model is a whole model on its devices: functions with signatures, and their weights. Any number of goroutines may
// call its functions at once; they share the code and the weights.
type Model struct {
	module    *Module
	devices   []dlpack.Device
	functions []*modelFunction
	main      *modelFunction // "main", or the only function; else nil
	left      modelcall.Left
}

// ModelOption is an option of LoadModel, LoadModelBytes, LoadModelFS and NewModel. Those of Load (PrivateCopy, Name)
// are options of the first three as well.
type ModelOption interface{ configure(c *modelConfig) }

type modelConfig struct {
	load        []LoadOption
	devices     []dlpack.Device
	paramsFile  string
	weights     *Weights
	memoryLimit int64
}

func (o LoadOption) configure(c *modelConfig) { c.load = append(c.load, o) }

type modelOption func(*modelConfig)

func (o modelOption) configure(c *modelConfig) { o(c) }

// OnDevices sets the devices that the model runs on, in the order of its device list. Without it, they are the first
// device of each type that the file has kernels for, or the CPU. The host comes last; it is added if it is missing.
func OnDevices(devs ...dlpack.Device) ModelOption {
	return modelOption(func(c *modelConfig) { c.devices = append(c.devices, devs...) })
}

// WithParams binds the tensors of a file to the parameters of their names: calls then leave these parameters out. Each
// is uploaded once, to the device where the functions want it. The file is one that [OpenWeights] opens. A tensor that
// no function has a parameter for is an error, and so is one of another dtype or shape.
func WithParams(path string) ModelOption {
	return modelOption(func(c *modelConfig) { c.paramsFile = path })
}

// WithWeights is WithParams for a set that is open. Models on the same devices share its tensors. You may close the set
// once the model is loaded.
func WithWeights(w *Weights) ModelOption {
	return modelOption(func(c *modelConfig) { c.weights = w })
}

// WithMemoryLimit is [Model.SetMemoryLimit] at the start.
func WithMemoryLimit(bytes int64) ModelOption {
	return modelOption(func(c *modelConfig) { c.memoryLimit = bytes })
}

func configureModel(opts []ModelOption) (*modelConfig, error) {
	c := &modelConfig{}
	for _, o := range opts {
		if o == nil {
			return nil, fault.New("load model", ErrInvalidArgument, "an option is nil")
		}
		o.configure(c)
	}
	if c.paramsFile != "" && c.weights != nil {
		return nil, fault.New("load model", ErrInvalidArgument, "give WithParams or WithWeights, not both")
	}
	return c, nil
}

// LoadModel loads a model and prepares it for calls: a Relax executable, if the program imports tvmgo/runtime/vm, or a
// graph executor's factory, with tvmgo/runtime/graph. The caller closes the model.
//
// The errors are those of [Load]. A file that is no model is ErrInvalidArgument, and a model whose package the program
// does not import ErrNotSupported; a function that the model needs and nobody has is ErrNotFound. If ctx ends first,
// LoadModel returns the error of ctx, and what it has loaded is closed.
func LoadModel(ctx context.Context, path string, opts ...ModelOption) (*Model, error) {
	c, err := configureModel(opts)
	if err != nil {
		return nil, err
	}
	m, err := Load(ctx, path, c.load...)
	return c.open(ctx, path, m, err)
}

// LoadModelBytes is LoadModel for what LoadBytes loads.
func LoadModelBytes(ctx context.Context, data []byte, opts ...ModelOption) (*Model, error) {
	c, err := configureModel(opts)
	if err != nil {
		return nil, err
	}
	m, err := LoadBytes(ctx, data, c.load...)
	return c.open(ctx, configure(c.load).name, m, err)
}

// LoadModelFS is LoadModel for a file of fsys, which LoadFS loads.
func LoadModelFS(ctx context.Context, fsys fs.FS, name string, opts ...ModelOption) (*Model, error) {
	c, err := configureModel(opts)
	if err != nil {
		return nil, err
	}
	m, err := LoadFS(ctx, fsys, name, c.load...)
	return c.open(ctx, name, m, err)
}

// NewModel makes a model of a loaded module, or of a session of one. The model has its own reference: the caller closes
// both. Models of one module share its constants, and a session that you pass is the one that the model calls. The
// errors are those of LoadModel; ErrInvalidArgument for an option of Load, and for OnDevices with a session.
func NewModel(m *Module, opts ...ModelOption) (*Model, error) {
	const op = "make model"
	c, err := configureModel(opts)
	if err != nil {
		return nil, err
	}
	if len(c.load) > 0 {
		return nil, fault.New(op, ErrInvalidArgument, "options of loading do not apply: the module is loaded already")
	}
	if err := m.use(op); err != nil {
		return nil, err
	}
	defer m.ref.release()
	m.ref.obj.retain()
	return c.open(context.Background(), "of a module of kind "+m.Kind(), newModule(m.ref.obj), nil)
}

// open makes a model of a module, which it takes over.
func (c *modelConfig) open(ctx context.Context, what string, m *Module, err error) (*Model, error) {
	if err != nil {
		return nil, err
	}
	op := "load model " + what
	return await(ctx, op, func() (*Model, error) {
		defer m.Close()
		session, err := c.session(context.WithoutCancel(ctx), op, m)
		if err != nil {
			return nil, err
		}
		defer session.Close()
		return c.newModel(op, session)
	})
}

// session returns the module with the model's functions and parameters.
func (c *modelConfig) session(ctx context.Context, op string, m *Module) (*Module, error) {
	if m.has(modelFunctions) {
		if c.devices != nil {
			return nil, fault.New(op, ErrInvalidArgument, "the module is a session, which has its devices already")
		}
		m.ref.obj.retain()
		return newModule(m.ref.obj), nil
	}
	session, err := OpenModel(ctx, m, c.devices, nil)
	return session, renamed(op, err)
}

// newModel binds the parameters, and reads the signatures.
func (c *modelConfig) newModel(op string, session *Module) (_ *Model, err error) {
	m := &Model{}
	session.ref.obj.retain()
	m.module = newModule(session.ref.obj)
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	infos, err := m.readInfos(op)
	if err != nil {
		return nil, err
	}
	if m.devices, err = m.readDevices(op); err != nil {
		return nil, err
	}
	if c.paramsFile != "" || c.weights != nil {
		if err := m.bind(op, c, infos); err != nil {
			return nil, err
		}
		if infos, err = m.readInfos(op); err != nil {
			return nil, err
		}
	}
	if c.memoryLimit != 0 {
		if err := m.SetMemoryLimit(c.memoryLimit); err != nil {
			return nil, err
		}
	}
	for _, info := range infos {
		f, err := m.module.Function(info.Name)
		if err != nil {
			return nil, renamed(op, err)
		}
		made := &modelFunction{module: m.module, info: info, checks: info.checks(), fn: f, op: "run " + info.Name}
		m.functions = append(m.functions, made)
		if info.Name == "main" || len(infos) == 1 {
			m.main = made
		}
	}
	return m, nil
}

// The functions of a model's module (docs/abi.md has those of TVM). Each is documented at the method that calls it.
const (
	modelFunctions = "tvmgo.functions"
	modelSignature = "tvmgo.signature"
	modelBind      = "tvmgo.bind"
	modelDevices   = "tvmgo.devices"
	modelSession   = "tvmgo.session"
	modelMemory    = "tvmgo.model_memory"
	modelSetLimit  = "tvmgo.set_model_memory_limit"
)

// bind binds the parameters of a set of weights.
func (m *Model) bind(op string, c *modelConfig, infos []FunctionInfo) error {
	w := c.weights
	if w == nil {
		opened, err := OpenWeights(c.paramsFile)
		if err != nil {
			return renamed(op, err)
		}
		defer opened.Close()
		w = opened
	}
	on := map[string]dlpack.Device{}
	for _, f := range infos {
		for _, p := range f.Params {
			if _, known := on[p.Name]; !known && p.Device >= 0 && p.Device < len(m.devices) {
				on[p.Name] = m.devices[p.Device]
			}
		}
	}
	var params Map
	defer func() { value.Close(params) }()
	for _, name := range w.Names() {
		dev, known := on[name]
		if !known {
			dev = CPU // binding fails, without an upload
		}
		t, err := w.Tensor(name, dev)
		if err != nil {
			return renamed(op, err)
		}
		params = append(params, Entry{Key: name, Value: t})
	}
	_, err := m.module.callNamed(op, modelBind, params)
	return err
}

// Devices returns the devices of the model, to which ValueInfo.Device refers. The host is last.
func (m *Model) Devices() []dlpack.Device {
	if m == nil {
		return nil
	}
	return slices.Clone(m.devices)
}

func (m *Model) readDevices(op string) ([]dlpack.Device, error) {
	v, err := m.module.callNamed(op, modelDevices)
	if err != nil {
		return nil, err
	}
	var list []dlpack.Device
	items, _ := v.([]any)
	for _, i := range items {
		if d, ok := i.(dlpack.Device); ok {
			list = append(list, d)
		}
	}
	return list, nil
}

// own is the module of the model; nil, which is used as a closed one, if m is nil.
func (m *Model) own() *Module {
	if m == nil {
		return nil
	}
	return m.module
}

// Close releases the model and waits for nothing: calls in progress end normally, and the last one frees the model.
// Sessions and results stay valid. Closing twice is fine.
func (m *Model) Close() error {
	if m == nil {
		return nil
	}
	for _, f := range m.functions {
		f.fn.Close()
	}
	return m.module.Close()
}

// Wait returns when all calls have ended that went on after their context had ended. If ctx ends first, it returns the
// error of ctx.
func (m *Model) Wait(ctx context.Context) error {
	if m == nil {
		return nil
	}
	return m.left.Wait(ctx)
}

// Session returns a module for stateful calls (set_input, invoke_stateful, get_output and others), which share the code
// and the weights of the model but none of its inputs and outputs. Each goroutine needs its own. The caller closes it;
// it may outlive the model. The error is ErrNotSupported if the model has no stateful calls.
func (m *Model) Session() (*Module, error) {
	const op = "make session"
	v, err := m.own().callNamed(op, modelSession)
	if err != nil {
		return nil, err
	}
	session, ok := v.(*Module)
	if !ok {
		value.Close(v)
		return nil, fault.New(op, ErrFailed, "the model returned a %T, not a module", v)
	}
	return session, nil
}

// callNamed calls a function of the module itself. Errors have this operation.
func (m *Module) callNamed(op, name string, args ...any) (any, error) {
	if err := m.use(op); err != nil {
		return nil, fault.IsClosed(op, "model")
	}
	defer m.ref.release()
	ptr, n := cText(name)
	o, err := result(op, C.tvmgo_bridge_get_function(C.uintptr_t(m.ref.obj), ptr, n, 0))
	if err != nil {
		return nil, err
	}
	if o == 0 {
		return nil, fault.New(op, ErrNotSupported, "a model of kind %q has no function %q", m.Kind(), name)
	}
	f := newFunction(o)
	defer f.Close()
	v, err := f.Call(args...)
	return v, renamed(op, err)
}

// has reports whether the module itself has a function.
func (m *Module) has(name string) bool {
	ptr, n := cText(name)
	o, err := result("", C.tvmgo_bridge_get_function(C.uintptr_t(m.ref.obj), ptr, n, 0))
	o.release()
	return err == nil && o != 0
}

// renamed gives an error of a call, or of OpenModel, another operation.
func renamed(op string, err error) error {
	if err == nil {
		return nil
	}
	e, ok := err.(*Error)
	if !ok || e.Op != "" && e.Op != "call function" && !strings.HasPrefix(e.Op, "load model ") {
		return fault.Wrap(op, KindOf(CodeOf(err)), err)
	}
	c := *e
	c.Op = op
	return &c
}
