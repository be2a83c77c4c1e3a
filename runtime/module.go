package runtime

/*
#include <stdlib.h>
#include "bridge/bridge.h"
*/
import "C"

import (
	"errors"
	"unsafe"

	"tvmgo/blob"
	"tvmgo/internal/fault"
	"tvmgo/internal/modulekind"
)

// Module is a loaded module: functions by name, and the modules that it imports. Only Import and ClearImports change
// it. It is safe for use by many goroutines at once.
type Module struct{ ref *ref }

func newModule(o object) *Module {
	m := &Module{ref: &ref{obj: o}}
	watch(m, m.ref)
	return m
}

// Close releases the module. Its functions, and modules that import it, keep it and its library alive. Closing twice is
// fine.
func (m *Module) Close() error {
	if m != nil {
		m.ref.close()
	}
	return nil
}

func (m *Module) use(op string) error {
	if m == nil || !m.ref.acquire() {
		return fault.IsClosed(op, "module")
	}
	return nil
}

func (m *Module) c() *C.tvmgo_module { return (*C.tvmgo_module)(m.ref.obj.pointer()) }

// Kind is the module's kind: "library" for a shared library, "cuda", "opencl"…; "" when closed.
func (m *Module) Kind() string {
	if m.use("") != nil {
		return ""
	}
	defer m.ref.release()
	return C.GoString(m.c().kind)
}

// ID identifies a module: two values of type Module are the same module if their IDs are equal, for example a module
// that several others import. An ID is valid while one of the values is open; it is 0 for a closed one.
func (m *Module) ID() uintptr {
	if m.use("") != nil {
		return 0
	}
	defer m.ref.release()
	return uintptr(m.ref.obj)
}

// Properties of a module, as bits.
const (
	Serializable = 1 << iota // can be saved as bytes
	Runnable                 // has functions to call
	Exportable               // can be linked into a shared library
)

// Properties is a set of the bits Serializable, Runnable and Exportable; 0 after Close. It describes what the module's
// kind can do. Package export compiles an Exportable module into the library and serializes any other one.
func (m *Module) Properties() int {
	if m.use("") != nil {
		return 0
	}
	defer m.ref.release()
	return int(m.c().property_mask)
}

// Function returns a function by name: of the module itself, else of its imports, depth first. "main" is the default
// entry of a library. The function keeps the module alive; the caller closes it.
//
// The error is ErrNotFound, with the names that exist, if there is none; ErrNotSupported for a module that is only
// data, such as source code; ErrDeviceUnavailable for a kernel of a device that is not enabled.
func (m *Module) Function(name string) (*Function, error) {
	const op = "get function"
	if err := m.use(op); err != nil {
		return nil, err
	}
	defer m.ref.release()
	ptr, n := cText(name)
	o, err := result(op, C.tvmgo_bridge_get_function(C.uintptr_t(m.ref.obj), ptr, n, 1))
	if err != nil {
		return nil, err
	}
	if o == 0 {
		return nil, m.noFunction(op, name)
	}
	return newFunction(o), nil
}

// noFunction makes the error that lists the existing functions.
func (m *Module) noFunction(op, name string) error {
	names := m.functions(false)
	if len(names) == 0 {
		return fault.New(op, ErrNotFound, "module of kind %q has no function %q", m.Kind(), name)
	}
	return fault.New(op, ErrNotFound, "module has no function %q%s; it has: %s", name, suggest(name, names), listed(names))
}

// Functions lists the names of the module's own functions, sorted; nil after Close. Kinds that do not know their
// functions list none.
func (m *Module) Functions() []string { return m.listed(false) }

// AllFunctions lists the names that Function finds, in the module and all its imports, sorted and each once; nil after
// Close.
func (m *Module) AllFunctions() []string { return m.listed(true) }

func (m *Module) listed(imports bool) []string {
	if m.use("") != nil {
		return nil
	}
	defer m.ref.release()
	return m.functions(imports)
}

func (m *Module) functions(imports bool) []string {
	o, err := result("", C.tvmgo_bridge_function_names(C.uintptr_t(m.ref.obj), cBool(imports)))
	if err != nil || o == 0 {
		return nil
	}
	return o.takeStrings()
}

// Imports returns the modules that this one imports directly, in order. The caller closes each.
func (m *Module) Imports() ([]*Module, error) {
	if err := m.use("list imports"); err != nil {
		return nil, err
	}
	defer m.ref.release()
	return importsOf(m.c())
}

// importsOf returns the imports of a module that is in use.
func importsOf(m *C.tvmgo_module) ([]*Module, error) {
	v, err := takeObject(object(uintptr(cPointer(C.tvmgo_module_imports(m)))), 0)
	if err != nil {
		return nil, err
	}
	var mods []*Module
	for _, i := range v.([]any) {
		if dep, ok := i.(*Module); ok {
			mods = append(mods, dep)
		}
	}
	return mods, nil
}

// Import adds dep to the imports of m, which keeps it alive: you may close dep afterwards. The error for a cycle is
// ErrInvalidArgument.
func (m *Module) Import(dep *Module) error {
	const op = "import module"
	if err := m.use(op); err != nil {
		return err
	}
	defer m.ref.release()
	if err := dep.use(op); err != nil {
		return err
	}
	defer dep.ref.release()
	_, err := result(op, C.tvmgo_bridge_import(C.uintptr_t(m.ref.obj), C.uintptr_t(dep.ref.obj)))
	return err
}

// ClearImports removes all imports of m. Generated code that has already called a function of an import keeps that
// function.
func (m *Module) ClearImports() error {
	const op = "clear imports"
	if err := m.use(op); err != nil {
		return err
	}
	defer m.ref.release()
	_, err := result(op, C.tvmgo_bridge_clear_imports(C.uintptr_t(m.ref.obj)))
	return err
}

// The texts that tvmgo_bridge_module_text reads.
const (
	moduleSource = iota
	moduleBytes
	moduleMetadata
	moduleDoc
)

func (m *Module) text(op string, what int, arg string) (any, error) {
	if err := m.use(op); err != nil {
		return nil, err
	}
	defer m.ref.release()
	if err := hasNUL(op, "the text", arg); err != nil {
		return nil, err
	}
	c := C.CString(arg)
	defer C.free(unsafe.Pointer(c))
	v, err := anyResult(op, C.tvmgo_bridge_module_text(C.uintptr_t(m.ref.obj), C.int(what), c, C.size_t(len(arg))))
	if err != nil {
		return nil, err
	}
	return v.take()
}

// GetSource returns the module's source in a format; "" is the kind's default. The error is ErrNotSupported if the
// module has no source in that format.
func (m *Module) GetSource(format string) (string, error) {
	v, err := m.text("get source", moduleSource, format)
	s, _ := v.(string)
	return s, err
}

// SaveToBinary returns the bytes that a loader of the module's kind reads, for a blob of the modern layout.
// The error is ErrNotSupported for kinds that are not saved this way, such as a loaded library.
func (m *Module) SaveToBinary() ([]byte, error) {
	v, err := m.text("save module", moduleBytes, "")
	b, _ := v.([]byte)
	return b, err
}

// SaveToBinaryFor returns the bytes that a loader of the module's kind reads from a blob of a layout. Do not change
// them, and do not use them after Close: they may be a view of the module. Most kinds return the same bytes for every
// layout. The error is ErrNotSupported if the layout cannot hold the module.
func (m *Module) SaveToBinaryFor(layout blob.Layout) ([]byte, error) {
	const op = "save module"
	if err := m.use(op); err != nil {
		return nil, err
	}
	defer m.ref.release()
	if layout > blob.Modern {
		return nil, fault.New(op, ErrInvalidArgument, "there is no %v", layout)
	}
	switch impl := implOf(m.ref.obj).(type) {
	case LayoutSaver:
		return impl.SaveToBinaryFor(layout)
	case nil:
		if layout != blob.Modern && C.GoString(m.c().kind) == modulekind.Library {
			return nil, fault.New(op, ErrNotSupported,
				"files of the %v layout carry no library inside of another: use the modern layout", layout)
		}
		return m.SaveToBinary()
	default:
		return impl.SaveToBinary()
	}
}

// SaveToFile writes the module to a file in a format; "" selects it by the path's suffix. The error is ErrNotSupported
// for a format that the kind does not write, ErrNotFound if the directory does not exist, and ErrFailed if writing
// fails.
func (m *Module) SaveToFile(path, format string) error {
	const op = "save module"
	if err := m.use(op); err != nil {
		return err
	}
	defer m.ref.release()
	if err := errors.Join(hasNUL(op, "the path", path), hasNUL(op, "the format", format)); err != nil {
		return err
	}
	cpath, cformat := C.CString(path), C.CString(format)
	defer C.free(unsafe.Pointer(cpath))
	defer C.free(unsafe.Pointer(cformat))
	_, err := result(op, C.tvmgo_bridge_write_file(C.uintptr_t(m.ref.obj), cpath, cformat))
	return err
}
