package runtime

/*
#include "bridge/bridge.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"tvmgo/blob"
	"tvmgo/internal/fault"
)

// Prefixes of the global functions that load a module kind: one for payloads of a modern blob, one for those of a
// legacy blob, whose function tables are shorter.
const (
	modernLoader = "ffi.Module.load_from_bytes."
	legacyLoader = "runtime.module.loadbinary_"
)

// tvmgoLoadBlob is called by the core for a library that carries other modules. blob is followed by
// extent readable bytes that live as long as the library's image. *root becomes an owned module.
//
//export tvmgoLoadBlob
func tvmgoLoadBlob(library *C.tvmgo_module, data unsafe.Pointer, extent C.size_t, legacy C.int,
	root **C.tvmgo_module) C.int {
	return guard(func() error {
		layout := blob.Modern
		if legacy != 0 {
			layout = blob.Legacy
		}
		b, err := blob.Parse(unsafe.Slice((*byte)(data), uint64(extent)), layout, nil)
		if err != nil {
			return blobError(err)
		}
		t := tree{library: library, modules: make([]object, len(b.Entries))}
		defer t.release()
		if err := t.build(b); err != nil {
			return err
		}
		if err := t.connect(b); err != nil {
			return err
		}
		*root = (*C.tvmgo_module)(t.root(b).pointer())
		return nil
	})
}

func blobError(err error) error {
	var unknown *blob.UnknownKindError
	if errors.As(err, &unknown) {
		return fault.Wrap("", ErrNotFound, err)
	}
	return fault.Wrap("", ErrCorruptModule, err)
}

// tree is an import tree under construction.
type tree struct {
	library *C.tvmgo_module
	modules []object // owned
}

func (t *tree) release() {
	for _, m := range t.modules {
		m.release()
	}
}

func (t *tree) libraryObject() object { return object(uintptr(unsafe.Pointer(t.library))) }

// build makes the modules in the order of the blob. It binds the library's context slot at the library's entry, so that
// the loaders of later entries find it bound (docs/abi.md C.4).
func (t *tree) build(b *blob.Blob) error {
	if b.ImplicitRoot {
		C.tvmgo_module_bind_context(t.library)
	}
	seen := map[object]bool{t.libraryObject(): true}
	for i := range b.Entries {
		e := &b.Entries[i]
		if e.IsLibrary() {
			t.libraryObject().retain()
			t.modules[i] = t.libraryObject()
			C.tvmgo_module_bind_context(t.library)
			continue
		}
		m, err := t.load(e, b.Layout)
		if err != nil {
			return err
		}
		t.modules[i] = m
		if seen[m] {
			return fault.New("", ErrFailed, "the loader of module kind %q returned a module that is in the tree already",
				e.Kind)
		}
		seen[m] = true
	}
	return nil
}

// load calls the loader of an entry's kind with a view of its payload.
func (t *tree) load(e *blob.Entry, layout blob.Layout) (object, error) {
	prefix := modernLoader
	if layout == blob.Legacy {
		prefix = legacyLoader
	}
	name, n := cText(prefix + e.Kind)
	loader := object(uintptr(cPointer(C.tvmgo_global_get(name, n))))
	if loader == 0 {
		return 0, fault.New("", ErrNotFound, "module kind %q has no loader: %s", e.Kind, loaderHint(e.Kind, prefix))
	}
	defer loader.release()
	var view C.TVMFFIAny
	if C.tvmgo_bytes_view(cBytes(e.Payload), C.size_t(len(e.Payload)), unsafe.Pointer(t.library.image), &view) != 0 {
		return 0, fault.New("", ErrOutOfMemory, "no memory for a view of module %q", e.Kind)
	}
	payload := (*anyValue)(unsafe.Pointer(&view))
	defer object(payload.bits).release()
	v, err := anyResult("", C.tvmgo_bridge_call(C.uintptr_t(loader), &view, 1, C.tvmgo_place{}))
	if err != nil {
		return 0, fmt.Errorf("module kind %q: %w", e.Kind, err)
	}
	if v.index != indexModule {
		if v.index >= indexObject {
			object(v.bits).release()
		}
		return 0, fault.New("", ErrFailed, "the loader of module kind %q returned no module", e.Kind)
	}
	return object(v.bits), nil
}

// loaderHint says what would bring the loader of a kind.
func loaderHint(kind, prefix string) string {
	if why := blob.Unsupported(kind); why != "" {
		return why
	}
	if path := blob.LoaderImport(kind); path != "" {
		return "import " + path
	}
	return fmt.Sprintf("register one with runtime.RegisterModuleKind, or in C as the global function %q", prefix+kind)
}

// connect sets the imports. The blob was checked before, so there is no cycle.
func (t *tree) connect(b *blob.Blob) error {
	if b.ImplicitRoot {
		return t.setImports(t.libraryObject(), t.modules)
	}
	for i, m := range t.modules {
		children := b.Imports(i)
		if len(children) == 0 {
			continue
		}
		deps := make([]object, len(children))
		for k, c := range children {
			deps[k] = t.modules[c]
		}
		if err := t.setImports(m, deps); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) setImports(m object, deps []object) error {
	if m.typeIndex() != indexModule {
		return fault.New("", ErrFailed, "a loader returned no module")
	}
	views := make([]anyValue, len(deps))
	for i, d := range deps {
		views[i] = anyValue{index: indexModule, bits: uint64(d)}
	}
	list, err := result("", C.tvmgo_bridge_array((*C.TVMFFIAny)(unsafe.Pointer(unsafe.SliceData(views))),
		C.int64_t(len(views))))
	if err != nil {
		return err
	}
	C.tvmgo_module_set_imports((*C.tvmgo_module)(m.pointer()), (*C.TVMFFIObject)(list.pointer()))
	return nil
}

// root returns the first module, or the library if the blob has no import tree.
func (t *tree) root(b *blob.Blob) object {
	o := t.libraryObject()
	if !b.ImplicitRoot && len(t.modules) > 0 {
		o = t.modules[0]
	}
	o.retain()
	return o
}
