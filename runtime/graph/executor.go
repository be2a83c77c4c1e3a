package graph

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../../internal/core -I${SRCDIR}/../../include
#include "executor/model.h"
#include "object/error.h"

static uintptr_t take_error(void) { return (uintptr_t)tvmgo_error_take(); }
static int executor_function(tvmgo_executor* e, const char* name, size_t len, uintptr_t* out) {
	TVMFFIObject* f = NULL;
	int rc = tvmgo_executor_function(e, name, len, &f);
	*out = (uintptr_t)f;
	return rc;
}
static uintptr_t importer(uintptr_t module) { return (uintptr_t)tvmgo_executor_importer((void*)module); }
static uintptr_t keeper(uintptr_t module) { return (uintptr_t)tvmgo_executor_keeper((void*)module); }
*/
import "C"

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"tvmgo/blob/graphjson"
	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/nearest"
	"tvmgo/internal/raise"
	"tvmgo/internal/value"
	"tvmgo/runtime"
)

// ExecutorKind is the kind of modules that run a graph.
const ExecutorKind = "GraphExecutor"

// executor is a module. It owns a reference to the executor in C, and its functions keep the module alive.
type executor struct {
	runtime.ModuleBase
	self
	c     *C.tvmgo_executor
	model *model

	mu     sync.Mutex
	params map[string]bool // inputs that have been given as parameters
}

// Close releases the executor.
func (e *executor) Close() error {
	C.tvmgo_executor_release(e.c)
	return nil
}

// newExecutor makes a module that runs a graph on devices.
func newExecutor(m *model, libs []*runtime.Module, devices []dlpack.Device, w *paramSet,
	linked *linkedParams, account *C.tvmgo_vm_account) (*runtime.Module, error) {
	const op = "create graph executor"
	if len(devices) == 0 {
		return nil, fault.New(op, runtime.ErrInvalidArgument, "there is no device: pass one or more")
	}
	e, err := (&builder{model: m, libs: libs, devices: devices, weights: w, linked: linked, account: account}).build()
	if err != nil {
		return nil, fault.Wrap(op, fault.KindOf(fault.CodeOf(err)), err)
	}
	module, err := runtime.NewModule(ExecutorKind, runtime.Runnable, e)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return module, nil
}

// raised returns the error that a C function has raised. It must have been called on the same locked thread.
func raised() error { return raise.Take("", uintptr(C.take_error())) }

// fromHandle takes over a function of the C ABI.
func fromHandle(f C.uintptr_t) (*runtime.Function, error) {
	return runtime.FunctionFromHandle(*(*unsafe.Pointer)(unsafe.Pointer(&f)))
}

// function returns a function of the executor that is written in C; nil if there is none of this name.
func (e *executor) function(name string) (*runtime.Function, error) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	text, n := cText(name)
	var f C.uintptr_t
	if C.executor_function(e.c, text, n, &f) != 0 {
		return nil, raised()
	}
	if f == 0 {
		return nil, nil
	}
	return fromHandle(f)
}

// call calls such a function.
func (e *executor) call(name string, args ...any) (any, error) {
	f, err := e.function(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Call(args...)
}

// goFunctions are the functions that are written in Go.
var goFunctions = []string{"get_graph_json", "get_input_info", "get_output_info", "load_params", "share_params"}

// Functions lists the names.
func (e *executor) Functions() []string {
	names := slices.Clone(goFunctions)
	for i := C.int32_t(0); ; i++ {
		name := C.tvmgo_executor_function_name(i)
		if name == nil {
			break
		}
		names = append(names, C.GoString(name))
	}
	return names
}

// Function returns a function by name.
func (e *executor) Function(name string) (*runtime.Function, error) {
	switch name {
	case "get_graph_json":
		return e.keeping(e.graphJSON)
	case "get_input_info":
		return e.keeping(e.inputInfo)
	case "get_output_info":
		return e.keeping(e.outputInfo)
	case "load_params":
		return e.keeping(e.loadParams)
	case "share_params":
		return e.keeping(e.shareParams)
	}
	if strings.HasPrefix(name, "__") && name != shareInput && name != useShared {
		return nil, runtime.ErrNotFound
	}
	f, err := e.function(name)
	if f == nil && err == nil {
		err = runtime.ErrNotFound
	}
	return f, err
}

// self is the module that a ModuleImpl belongs to.
type self struct{ module uintptr }

// SetModule stores the module, borrowed.
func (s *self) SetModule(handle uintptr) { s.module = handle }

// ask calls a function that C makes for the module.
func (s *self) ask(make func(module C.uintptr_t) C.uintptr_t, args ...any) (any, error) {
	goruntime.LockOSThread()
	handle := make(C.uintptr_t(s.module))
	if handle == 0 {
		defer goruntime.UnlockOSThread()
		return nil, raised()
	}
	goruntime.UnlockOSThread()
	f, err := fromHandle(handle)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Call(args...)
}

// keeping makes a function that keeps the module alive.
func (s *self) keeping(body runtime.PackedFunc) (*runtime.Function, error) {
	f, err := runtime.NewFunction(body)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v, err := s.ask(func(m C.uintptr_t) C.uintptr_t { return C.keeper(m) }, f)
	if err != nil {
		return nil, err
	}
	return v.(*runtime.Function), nil
}

// imports returns the modules that the module imports; the caller closes them.
func (s *self) imports() ([]*runtime.Module, error) {
	v, err := s.ask(func(m C.uintptr_t) C.uintptr_t { return C.importer(m) })
	if err != nil {
		return nil, err
	}
	var list []*runtime.Module
	for _, m := range v.([]any) {
		list = append(list, m.(*runtime.Module))
	}
	return list, nil
}

// GetSource returns the graph.
func (e *executor) GetSource(format string) (string, error) {
	if format != "" && format != "json" {
		return e.ModuleBase.GetSource(format)
	}
	return e.model.text, nil
}

func (e *executor) graphJSON(args ...any) (any, error) {
	return e.model.text, value.CheckCount("get_graph_json", args, 0, 0)
}

// inputInfo describes the inputs that are no parameters.
func (e *executor) inputInfo(args ...any) (any, error) {
	if err := value.CheckCount("get_input_info", args, 0, 0); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var refs []graphjson.Ref
	for _, n := range e.model.graph.Inputs {
		if !e.params[e.model.graph.Nodes[n].Name] {
			refs = append(refs, graphjson.Ref{Node: n})
		}
	}
	return e.model.describe(refs)
}

func (e *executor) outputInfo(args ...any) (any, error) {
	if err := value.CheckCount("get_output_info", args, 0, 0); err != nil {
		return nil, err
	}
	return e.model.describe(e.model.graph.Outputs)
}

// unknown returns the error for a name that is no input (what 0), output (1) or node (2).
func (m *model) unknown(name string, what int64) error {
	word, names := "input", m.graph.InputNames()
	switch what {
	case 1:
		word, names = "output", m.graph.OutputNames()
	case 2:
		word, names = "node", nil
		for i := range m.graph.Nodes {
			names = append(names, m.graph.Nodes[i].Name)
		}
	}
	return fault.New("", runtime.ErrNotFound, "the graph has no %s %q%s; it has: %s", word, name, like(name, names),
		list(names))
}

// like suggests a name.
func like(name string, names []string) string {
	if n := nearest.Name(name, names); n != "" {
		return fmt.Sprintf(", do you mean %q?", n)
	}
	return ""
}

// list joins at most 20 names.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	if len(names) > 20 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:20], ", "), len(names)-20)
	}
	return strings.Join(names, ", ")
}
