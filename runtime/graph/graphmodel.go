package graph

/*
#include "executor/model.h"
#include "object/error.h"

static uintptr_t model_function(tvmgo_graph_model* m, uintptr_t module) {
	return (uintptr_t)tvmgo_graph_model_function(m, (void*)module);
}
static uintptr_t model_start(tvmgo_graph_model* m) { return (uintptr_t)tvmgo_graph_model_start(m); }
*/
import "C"

import (
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/value"
	"tvmgo/runtime"
)

// ModelKind is the kind of modules with a graph as one function, which any number of threads call at once.
const ModelKind = "tvmgo.GraphModel"

// defaultName is the name of the function of a graph that has no factory, or whose factory has no name.
const defaultName = "default"

// otherName stands for the function of every graph.
const otherName = "main"

// graphModel is a module of kind ModelKind. Calls of its function do not enter Go (internal/core/executor/model.h).
type graphModel struct {
	runtime.ModuleBase
	self
	name    string // of the function
	model   *model
	devices []dlpack.Device
	weights *paramSet         // may be nil
	keep    *runtime.Function // of the module that owns the weights; may be nil
	shared  *usage
	c       *C.tvmgo_graph_model
	account *C.tvmgo_vm_account

	ofFile []bool // inputs whose memory in executors has a parameter of the file; set once

	mu    sync.Mutex
	bound []*runtime.Tensor // of each input: the tensor that is bound to it, or nil
}

// usage is the memory of all models of a factory. It is counted.
type usage struct {
	account *C.tvmgo_vm_account
	bound   atomic.Int64 // bytes of bound tensors
}

func newUsage() (*usage, error) {
	u := &usage{}
	return u, check(func() C.int {
		u.account = C.tvmgo_vm_account_new(nil, 0)
		if u.account == nil {
			return -1
		}
		return 0
	})
}

func (u *usage) close() { C.tvmgo_vm_account_release(u.account) }

// NewModel makes a module of kind [ModelKind] of a graph in JSON with the functions of lib and its imports, on devices.
// Its function "default" takes all inputs; the module's function tvmgo.bind binds parameters to them. The caller closes
// the module, and may close lib before. The errors are those of [Create].
func NewModel(json string, lib *runtime.Module, devices ...dlpack.Device) (*runtime.Module, error) {
	const op = "create graph model"
	m, err := newModel(op, json)
	if err != nil {
		return nil, err
	}
	u, err := newUsage()
	if err != nil {
		return nil, err
	}
	defer u.close()
	return openModel(&graphModel{name: defaultName, model: m, shared: u}, []*runtime.Module{lib}, devices)
}

// openModel makes the module, and its first executor.
func openModel(g *graphModel, libs []*runtime.Module, devices []dlpack.Device) (*runtime.Module, error) {
	op := "create graph model " + g.name
	if len(devices) == 0 {
		g.dropKeep()
		return nil, fault.New(op, runtime.ErrInvalidArgument, "there is no device: pass one or more")
	}
	g.devices = withHost(devices)
	g.bound = make([]*runtime.Tensor, len(g.model.graph.Inputs))
	if err := g.create(); err != nil {
		g.Close()
		return nil, fault.Wrap(op, fault.KindOf(fault.CodeOf(err)), err)
	}
	m, err := runtime.NewModule(ModelKind, runtime.Runnable, g)
	if err != nil {
		g.Close()
		return nil, err
	}
	for _, lib := range libs {
		if err := m.Import(lib); err != nil {
			m.Close()
			return nil, err
		}
	}
	if err := g.start(); err != nil {
		m.Close()
		return nil, fault.Wrap(op, fault.KindOf(fault.CodeOf(err)), err)
	}
	return m, nil
}

// withHost adds the host at the end if it is missing.
func withHost(devices []dlpack.Device) []dlpack.Device {
	isHost := func(d dlpack.Device) bool { return d.Type == dlpack.CPU }
	if slices.ContainsFunc(devices, isHost) {
		return slices.Clone(devices)
	}
	return append(slices.Clone(devices), runtime.CPU)
}

// mostIdle bounds the executors that a model keeps between calls.
func mostIdle() int { return max(8, 2*goruntime.GOMAXPROCS(0)) }

func (g *graphModel) create() error {
	name, size := cText(g.name)
	return check(func() C.int {
		g.account = C.tvmgo_vm_account_new(g.shared.account, 0)
		if g.account == nil {
			return -1
		}
		g.c = C.tvmgo_graph_model_new(name, size, C.int32_t(len(g.bound)), g.account, C.int32_t(mostIdle()))
		if g.c == nil {
			return -1
		}
		return 0
	})
}

// start gives the model the function that makes executors, makes the first one, and binds the file's parameters.
func (g *graphModel) start() error {
	maker, err := runtime.NewFunction(func(args ...any) (any, error) {
		e, _, err := g.build()
		if err != nil {
			return nil, err
		}
		return runtime.Ptr(unsafe.Pointer(e)), nil
	})
	if err != nil {
		return err
	}
	defer maker.Close()
	if _, err := g.ask(func(C.uintptr_t) C.uintptr_t { return C.model_start(g.c) }, maker); err != nil {
		return err
	}
	first, ofFile, err := g.build()
	if err != nil {
		return err
	}
	g.ofFile = ofFile
	if err := g.bindScoped(); err != nil {
		C.tvmgo_executor_release(first)
		return err
	}
	if err := g.install(g.bound); err != nil {
		C.tvmgo_executor_release(first)
		return err
	}
	C.tvmgo_graph_model_add(g.c, first)
	return nil
}

// build makes an executor, and says which inputs have a parameter of the file.
func (g *graphModel) build() (*C.tvmgo_executor, []bool, error) {
	libs, err := g.imports()
	if err != nil {
		return nil, nil, err
	}
	defer closeAll(libs)
	b := &builder{model: g.model, libs: libs, devices: g.devices, weights: g.weights, account: g.account,
		served: true, ofFile: make([]bool, len(g.model.graph.Inputs))}
	e, err := b.build()
	if err != nil {
		return nil, nil, err
	}
	return e.c, b.ofFile, nil
}

func (g *graphModel) dropKeep() {
	if g.keep != nil {
		g.keep.Close()
	}
}

// Close releases the executors and the bound tensors.
func (g *graphModel) Close() error {
	if g.c != nil {
		C.tvmgo_graph_model_release(g.c)
	}
	C.tvmgo_vm_account_release(g.account)
	for _, t := range g.bound {
		if t != nil {
			g.shared.bound.Add(-t.Size())
			t.Close()
		}
	}
	g.dropKeep()
	return nil
}

// modelFunctions are the functions of every model.
var modelFunctions = map[string]func(g *graphModel, op string, args []any) (any, error){
	"tvmgo.bind":                   (*graphModel).bind,
	"tvmgo.devices":                (*graphModel).listDevices,
	"tvmgo.functions":              (*graphModel).listFunctions,
	"tvmgo.memory":                 (*graphModel).memory,
	"tvmgo.model_memory":           (*graphModel).modelMemory,
	"tvmgo.session":                (*graphModel).session,
	"tvmgo.set_memory_limit":       (*graphModel).setLimit,
	"tvmgo.set_model_memory_limit": (*graphModel).setModelLimit,
	"tvmgo.signature":              (*graphModel).signature,
}

// Functions lists the names.
func (g *graphModel) Functions() []string {
	names := []string{g.name}
	if g.name != otherName {
		names = append(names, otherName)
	}
	for name := range modelFunctions {
		names = append(names, name)
	}
	return names
}

// Function returns a function by name.
func (g *graphModel) Function(name string) (*runtime.Function, error) {
	if name == g.name || name == otherName {
		goruntime.LockOSThread()
		defer goruntime.UnlockOSThread()
		f := C.model_function(g.c, C.uintptr_t(g.module))
		if f == 0 {
			return nil, raised()
		}
		return fromHandle(f)
	}
	body := modelFunctions[name]
	if body == nil {
		return nil, runtime.ErrNotFound
	}
	return g.keeping(func(args ...any) (any, error) { return body(g, name, args) })
}

// GetSource returns the graph.
func (g *graphModel) GetSource(format string) (string, error) {
	if format != "" && format != "json" {
		return g.ModuleBase.GetSource(format)
	}
	return g.model.text, nil
}

func (g *graphModel) listFunctions(op string, args []any) (any, error) {
	return []any{g.name}, value.CheckCount(op, args, 0, 0)
}

func (g *graphModel) listDevices(op string, args []any) (any, error) {
	return value.List(g.devices), value.CheckCount(op, args, 0, 0)
}

// session implements tvmgo.session(): an executor for calls that set inputs one by one. It shares the parameters. Its
// storages count for the model, and in an account of its own.
func (g *graphModel) session(op string, args []any) (any, error) {
	if err := value.CheckCount(op, args, 0, 0); err != nil {
		return nil, err
	}
	libs, err := g.imports()
	if err != nil {
		return nil, err
	}
	defer closeAll(libs)
	var account *C.tvmgo_vm_account
	err = check(func() C.int {
		if account = C.tvmgo_vm_account_new(g.account, 0); account == nil {
			return -1
		}
		return 0
	})
	if err != nil {
		return nil, err
	}
	defer C.tvmgo_vm_account_release(account) // the executor keeps it
	m, err := newExecutor(g.model, libs, g.devices, g.weights, nil, account)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.lend(m); err != nil {
		m.Close()
		return nil, err
	}
	return owned(m, nil)
}

// ---- memory ----

func memoryOf(account *C.tvmgo_vm_account, weights int64) runtime.Map {
	var m C.tvmgo_vm_memory
	C.tvmgo_vm_account_read(account, &m)
	return runtime.Map{{Key: "live", Value: int64(m.live)}, {Key: "peak", Value: int64(m.peak)},
		{Key: "storages", Value: int64(m.storages)}, {Key: "taken", Value: int64(m.taken)},
		{Key: "limit", Value: int64(m.limit)}, {Key: "weights", Value: weights}}
}

// memory implements tvmgo.memory(): the storages of the executors, and copied inputs and results that exist.
func (g *graphModel) memory(op string, args []any) (any, error) {
	if err := value.CheckCount(op, args, 0, 0); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	weights := g.weights.bytes(g.devices)
	for _, t := range g.bound {
		if t != nil {
			weights += t.Size()
		}
	}
	return memoryOf(g.account, weights), nil
}

func (g *graphModel) modelMemory(op string, args []any) (any, error) {
	if err := value.CheckCount(op, args, 0, 0); err != nil {
		return nil, err
	}
	return memoryOf(g.shared.account, g.weights.bytes(nil)+g.shared.bound.Load()), nil
}

// setLimit implements tvmgo.set_memory_limit(bytes). Idle executors are freed if more memory is in use.
func (g *graphModel) setLimit(op string, args []any) (any, error) {
	return g.limit(op, g.account, args)
}

func (g *graphModel) setModelLimit(op string, args []any) (any, error) {
	return g.limit(op, g.shared.account, args)
}

func (g *graphModel) limit(op string, account *C.tvmgo_vm_account, args []any) (any, error) {
	if err := value.CheckCount(op, args, 1, 1); err != nil {
		return nil, err
	}
	bytes, ok := args[0].(int64)
	if !ok || bytes < 0 {
		return nil, fault.New(op, runtime.ErrInvalidArgument, "expected a number of bytes, or 0 for no limit, got %v",
			args[0])
	}
	C.tvmgo_vm_account_set_limit(account, C.int64_t(bytes))
	var m C.tvmgo_vm_memory
	if C.tvmgo_vm_account_read(account, &m); bytes > 0 && int64(m.live) > bytes {
		C.tvmgo_graph_model_trim(g.c)
	}
	return nil, nil
}
