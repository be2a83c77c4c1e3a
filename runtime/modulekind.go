package runtime

/*
#include <stdlib.h>
#include "bridge/bridge.h"

int tvmgoModuleFunction(void* self, char* name, size_t len, TVMFFIObject** out);
int tvmgoModuleNames(void* self, TVMFFIObject** out);
int tvmgoModuleDescribe(void* self, char* name, size_t len, int doc, TVMFFIAny* out);
int tvmgoModuleSource(void* self, char* format, TVMFFIAny* out);
int tvmgoModuleSave(void* self, TVMFFIAny* out);
int tvmgoModuleWrite(void* self, char* path, char* format);
int tvmgoModuleFormats(void* self, TVMFFIObject** out);
void tvmgoModuleImports(void* self, void* m);
void tvmgoModuleDestroy(void* self);

#define IN_GO_MODULE(call) (tvmgo_enter_go("a module written in Go") != 0 ? -1 : (call))

static inline int kind_function(tvmgo_module* m, const char* name, size_t len, TVMFFIObject** out) {
	return IN_GO_MODULE(tvmgoModuleFunction(m->self, (char*)name, len, out));
}
static inline int kind_names(tvmgo_module* m, TVMFFIObject** out) {
	return IN_GO_MODULE(tvmgoModuleNames(m->self, out));
}
static inline int kind_describe(tvmgo_module* m, const char* name, size_t len, int doc, TVMFFIAny* out) {
	return IN_GO_MODULE(tvmgoModuleDescribe(m->self, (char*)name, len, doc, out));
}
static inline int kind_source(tvmgo_module* m, const char* format, TVMFFIAny* out) {
	return IN_GO_MODULE(tvmgoModuleSource(m->self, (char*)format, out));
}
static inline int kind_save(tvmgo_module* m, TVMFFIAny* out) { return IN_GO_MODULE(tvmgoModuleSave(m->self, out)); }
static inline int kind_write(tvmgo_module* m, const char* path, const char* format) {
	return IN_GO_MODULE(tvmgoModuleWrite(m->self, (char*)path, (char*)format));
}
static inline int kind_formats(tvmgo_module* m, TVMFFIObject** out) {
	return IN_GO_MODULE(tvmgoModuleFormats(m->self, out));
}

static inline void kind_imports(tvmgo_module* m) {
	if (tvmgo_can_enter_go()) tvmgoModuleImports(m->self, m);
}

static inline void kind_destroy(void* self) {
	if (tvmgo_can_enter_go()) tvmgoModuleDestroy(self);
}

static inline tvmgo_ret tvmgo_go_module(const char* kind, int mask, uintptr_t self) {
	static const tvmgo_module_class cls = {
		.get_function = kind_function, .function_names = kind_names, .metadata = kind_describe,
		.source = kind_source, .save_bytes = kind_save, .write_file = kind_write, .write_formats = kind_formats,
		.imports_changed = kind_imports, .destroy = kind_destroy,
	};
	tvmgo_ret r = {(uintptr_t)tvmgo_module_new(&cls, kind, mask, (void*)self), 0};
	if (r.value == 0) r.err = (uintptr_t)tvmgo_error_take();
	return r;
}

// The handle behind a module written in Go, 0 for all others.
static inline uintptr_t tvmgo_go_module_self(uintptr_t m) {
	tvmgo_module* module = (tvmgo_module*)m;
	return module->cls->destroy == kind_destroy ? (uintptr_t)module->self : 0;
}
*/
import "C"

import (
	"errors"
	"runtime/cgo"
	"sync"
	"unsafe"

	"tvmgo/blob"
	"tvmgo/internal/datamodule"
	"tvmgo/internal/fault"
	"tvmgo/internal/value"
)

// ModuleImpl is implemented by a module kind that is written in Go. Many goroutines may call its methods at once. Embed
// ModuleBase and override the methods that the kind supports.
type ModuleImpl interface {
	// Function returns a function by name, which the caller closes; the error is ErrNotFound if there is none.
	Function(name string) (*Function, error)
	// Functions lists the names; nil when the kind does not know them.
	Functions() []string
	// Metadata returns the JSON that describes a function, Doc its documentation; "" when there is none.
	Metadata(function string) (string, error)
	Doc(function string) (string, error)
	SaveToFile(path, format string) error
	SaveToBinary() ([]byte, error)
	GetSource(format string) (string, error)
	// Close is called once, when the last reference to the module is gone.
	Close() error
}

// LayoutSaver is implemented by a ModuleImpl whose saved bytes depend on the layout of the blob. Its SaveToBinary then
// returns the bytes of the modern layout.
type LayoutSaver interface {
	SaveToBinaryFor(layout blob.Layout) ([]byte, error)
}

// FormatLister is implemented by a ModuleImpl that can say which formats SaveToFile writes, the
// preferred one first.
type FormatLister interface {
	WriteFormats() []string
}

// ImportsWatcher is implemented by a ModuleImpl that must know when the imports of its module change.
type ImportsWatcher interface {
	// ImportsChanged is called after each change, by many at once if many change. list returns the current imports of
	// the module; the callee closes them. list must not be called after ImportsChanged has returned.
	ImportsChanged(list func() ([]*Module, error))
}

// ModuleKnower is implemented by a ModuleImpl whose functions keep its module alive.
type ModuleKnower interface {
	// SetModule gets the handle of the module (TVMFFIObjectHandle) once, before any other method is called. It is valid
	// until Close.
	SetModule(handle uintptr)
}

// ModuleBase is embedded by implementations of ModuleImpl. SaveToFile, SaveToBinary and GetSource return
// ErrNotSupported; the other methods return nothing.
type ModuleBase struct{}

// Functions lists no names.
func (ModuleBase) Functions() []string { return nil }

// Metadata describes no function.
func (ModuleBase) Metadata(function string) (string, error) { return "", nil }

// Doc documents no function.
func (ModuleBase) Doc(function string) (string, error) { return "", nil }

// SaveToFile fails with ErrNotSupported.
func (ModuleBase) SaveToFile(path, format string) error {
	return datamodule.Base{}.SaveToFile(path, format)
}

// SaveToBinary fails with ErrNotSupported.
func (ModuleBase) SaveToBinary() ([]byte, error) {
	return datamodule.Base{}.SaveToBinary()
}

// GetSource fails with ErrNotSupported.
func (ModuleBase) GetSource(format string) (string, error) {
	return datamodule.Base{}.GetSource(format)
}

// Close does nothing.
func (ModuleBase) Close() error { return nil }

// NewModule makes a module of a kind from a Go implementation, which it closes once when the last reference to the
// module is gone. properties is a set of Serializable, Runnable and Exportable. The error for an empty kind or a nil
// implementation is ErrInvalidArgument. The caller closes the module.
func NewModule(kind string, properties int, impl ModuleImpl) (*Module, error) {
	o, err := newGoModule(kind, properties, impl, 0)
	if err != nil {
		return nil, err
	}
	return newModule(o), nil
}

// goModule is the state of a module written in Go, which the core holds by a handle.
type goModule struct {
	impl    ModuleImpl
	payload object // keeps alive the bytes that the module was made from; may be 0
}

func newGoModule(kind string, properties int, impl ModuleImpl, payload object) (object, error) {
	const op = "make module"
	if kind == "" {
		return 0, fault.New(op, ErrInvalidArgument, "the kind is empty: name one, as it is to stand in files")
	}
	if impl == nil {
		return 0, fault.New(op, ErrInvalidArgument, "kind %q: the implementation is nil", kind)
	}
	if err := hasNUL(op, "the kind", kind); err != nil {
		return 0, err
	}
	ckind := C.CString(kind)
	defer C.free(unsafe.Pointer(ckind))
	h := cgo.NewHandle(&goModule{impl, payload})
	o, err := result(op, C.tvmgo_go_module(ckind, C.int(properties), C.uintptr_t(h)))
	if err != nil {
		h.Delete()
		return 0, err
	}
	if payload != 0 {
		payload.retain()
	}
	switch i := impl.(type) {
	case interface{ setModule(self object) }:
		i.setModule(o)
	case ModuleKnower:
		i.SetModule(uintptr(o))
	}
	return o, nil
}

// Payload is a saved module in a file.
type Payload struct {
	Kind   string
	Data   []byte // a view of the file: read-only, valid as long as the module made from it lives
	Legacy bool   // from a file of TVM v0.20 or older

	// Owner is the object that Data is a view of (TVMFFIObjectHandle), 0 if it is memory of Go. A reference to it keeps
	// Data valid without the module.
	Owner uintptr
}

// ModuleKind is a kind of module, for RegisterModuleKind.
type ModuleKind struct {
	Name       string
	Properties int // of its modules: Serializable, Runnable, Exportable
	Load       func(p Payload) (ModuleImpl, error)

	// Make makes a module from code for NewDeviceModule, without a file. Only kinds of devices have it.
	Make func(code *blob.DeviceModule) (ModuleImpl, error)
}

// RegisterModuleKind makes files that contain modules of this kind loadable, from Go and from C. It registers the
// global functions "ffi.Module.load_from_bytes.<kind>" and "runtime.module.loadbinary_<kind>". It fails if the kind is
// in use. You may replace each built-in kind once, including those that are only data without a device
// (NewDeviceSource, NewVulkanSource, NewOpaque).
func RegisterModuleKind(k ModuleKind) error {
	const op = "register module kind"
	if k.Name == "" || k.Load == nil {
		return fault.New(op, ErrInvalidArgument, "Name and Load are needed")
	}
	if err := hasNUL(op, "the name", k.Name); err != nil {
		return err
	}
	registering.Lock()
	defer registering.Unlock()
	if err := registerLoader(k, modernLoader); err != nil {
		return err
	}
	err := registerLoader(k, legacyLoader)
	if err != nil { // a kind is registered for both generations, or for none
		RemoveGlobal(modernLoader + k.Name)
		err = errors.Join(err, restoreBuiltin(modernLoader+k.Name))
		return err
	}
	takers.Store(k.Name, k)
	if k.Make != nil {
		makers.Store(k.Name, k)
	}
	return nil
}

// takers holds the registered kinds by name.
var takers sync.Map // string -> ModuleKind

// registering is held while the loaders of a kind change.
var registering sync.Mutex

func registerLoader(k ModuleKind, prefix string) error {
	f, err := newRawFunction(kindLoader(k, prefix == legacyLoader))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := RegisterGlobal(prefix+k.Name, f, isBuiltin(prefix+k.Name)); err != nil {
		return err
	}
	name, n := cText(prefix + k.Name)
	C.tvmgo_global_describe(name, n)
	return nil
}

func kindLoader(k ModuleKind, legacy bool) rawFunc {
	return func(args []anyValue, out *anyValue) error {
		if len(args) != 1 {
			return fault.New("load "+k.Name, ErrInvalidArgument, "expected the bytes of a module, got %d arguments",
				len(args))
		}
		data, payload, err := args[0].payload()
		if err != nil {
			return err
		}
		impl, err := k.Load(Payload{Kind: k.Name, Data: data, Legacy: legacy, Owner: uintptr(payload)})
		if err != nil {
			return err
		}
		if impl == nil {
			return fault.New("load "+k.Name, ErrFailed, "the loader of this kind gave no module")
		}
		o, err := newGoModule(k.Name, k.Properties, impl, payload)
		if err != nil {
			return errors.Join(err, impl.Close())
		}
		*out = anyValue{index: indexModule, bits: uint64(o)}
		return nil
	}
}

// payload returns the bytes of a value, without copying them if an object holds them.
func (v anyValue) payload() ([]byte, object, error) {
	if v.bits != 0 && (v.index == indexBytes || v.index == indexStr) {
		b := (*C.TVMFFIByteArray)(unsafe.Add(object(v.bits).pointer(), C.sizeof_TVMFFIObject))
		return unsafe.Slice((*byte)(unsafe.Pointer(b.data)), int(b.size)), object(v.bits), nil
	}
	g, err := v.borrowed()
	if err != nil {
		return nil, 0, err
	}
	switch g := g.(type) {
	case []byte:
		return g, 0, nil
	case string:
		return []byte(g), 0, nil
	}
	value.Close(g)
	return nil, 0, fault.New("load module", ErrInvalidArgument, "expected bytes, got %T", g)
}

// implOf returns the implementation of a module written in Go; nil for all others. The module must be in use.
func implOf(m object) ModuleImpl {
	h := C.tvmgo_go_module_self(C.uintptr_t(m))
	if h == 0 {
		return nil
	}
	return cgo.Handle(h).Value().(*goModule).impl
}

func moduleOf(self unsafe.Pointer) ModuleImpl {
	return cgo.Handle(uintptr(self)).Value().(*goModule).impl
}

//export tvmgoModuleFunction
func tvmgoModuleFunction(self unsafe.Pointer, name *C.char, n C.size_t, out **C.TVMFFIObject) C.int {
	return guard(func() error {
		f, err := moduleOf(self).Function(string(unsafe.Slice((*byte)(unsafe.Pointer(name)), int(n))))
		if err != nil {
			if errors.Is(err, ErrNotFound) {
				return nil // absent is no error here
			}
			return err
		}
		if f == nil {
			return nil
		}
		defer f.Close()
		if !f.ref.acquire() {
			return fault.IsClosed("get function", "function")
		}
		defer f.ref.release()
		f.ref.obj.retain()
		*out = (*C.TVMFFIObject)(f.ref.obj.pointer())
		return nil
	})
}

//export tvmgoModuleNames
func tvmgoModuleNames(self unsafe.Pointer, out **C.TVMFFIObject) C.int {
	return guard(func() error {
		names := moduleOf(self).Functions()
		items := make([]any, len(names))
		for i, s := range names {
			items[i] = s
		}
		o, err := makeArray(items, 1)
		*out = (*C.TVMFFIObject)(o.pointer())
		return err
	})
}

//export tvmgoModuleDescribe
func tvmgoModuleDescribe(self unsafe.Pointer, name *C.char, n C.size_t, doc C.int, out *C.TVMFFIAny) C.int {
	return guard(func() error {
		describe := moduleOf(self).Metadata
		if doc != 0 {
			describe = moduleOf(self).Doc
		}
		text, err := describe(string(unsafe.Slice((*byte)(unsafe.Pointer(name)), int(n))))
		if err != nil || text == "" {
			return err
		}
		return giveValue(text, (*anyValue)(unsafe.Pointer(out)))
	})
}

//export tvmgoModuleSource
func tvmgoModuleSource(self unsafe.Pointer, format *C.char, out *C.TVMFFIAny) C.int {
	return guard(func() error {
		s, err := moduleOf(self).GetSource(C.GoString(format))
		if err != nil {
			return err
		}
		return giveValue(s, (*anyValue)(unsafe.Pointer(out)))
	})
}

//export tvmgoModuleSave
func tvmgoModuleSave(self unsafe.Pointer, out *C.TVMFFIAny) C.int {
	return guard(func() error {
		b, err := moduleOf(self).SaveToBinary()
		if err != nil {
			return err
		}
		return giveValue(b, (*anyValue)(unsafe.Pointer(out)))
	})
}

//export tvmgoModuleWrite
func tvmgoModuleWrite(self unsafe.Pointer, path, format *C.char) C.int {
	return guard(func() error {
		return moduleOf(self).SaveToFile(C.GoString(path), C.GoString(format))
	})
}

//export tvmgoModuleFormats
func tvmgoModuleFormats(self unsafe.Pointer, out **C.TVMFFIObject) C.int {
	return guard(func() error {
		var items []any
		if l, ok := moduleOf(self).(FormatLister); ok {
			for _, s := range l.WriteFormats() {
				items = append(items, s)
			}
		}
		o, err := makeArray(items, 1)
		*out = (*C.TVMFFIObject)(o.pointer())
		return err
	})
}

//export tvmgoModuleImports
func tvmgoModuleImports(self, m unsafe.Pointer) {
	defer func() { _ = recover() }() // the import itself has succeeded
	if w, ok := moduleOf(self).(ImportsWatcher); ok {
		w.ImportsChanged(func() ([]*Module, error) { return importsOf((*C.tvmgo_module)(m)) })
	}
}

//export tvmgoModuleDestroy
func tvmgoModuleDestroy(self unsafe.Pointer) {
	h := cgo.Handle(uintptr(self))
	m := h.Value().(*goModule)
	h.Delete()
	defer func() {
		_ = recover() // a destructor has no caller to report to
		m.payload.release()
	}()
	m.impl.Close()
}
