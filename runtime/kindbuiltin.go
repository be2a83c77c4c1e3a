package runtime

/*
#include "bridge/bridge.h"
#include "loader/kinds.h"

static inline tvmgo_ret kind_restore(const char* name, size_t n) {
	tvmgo_ret r = {0, 0};
	if (tvmgo_kind_restore(name, n) != 0) r.err = (uintptr_t)tvmgo_error_take();
	return r;
}
*/
import "C"

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"unsafe"

	"tvmgo/internal/fault"
	"tvmgo/internal/modulekind"
)

// form is what this package does with modules whose payloads have a form. It needs no device for it.
type form struct {
	constructor string // function of this package that makes such modules; "" where NewOpaque does
	load        func(p Payload) (ModuleImpl, error)
	create      func(args []any) (ModuleImpl, error) // the kind's Creator; may be nil
	loadFile    func(kind, path, suffix string) (*Module, error)
}

var forms = map[modulekind.Form]form{
	modulekind.Source:    {"NewCSource", loadCSource, createCSource, loadCSourceFile},
	modulekind.Object:    {"NewStaticLibrary", loadStaticLibrary, createStaticLibrary, loadLinkedFile},
	modulekind.Constants: {"NewConstants", loadConstants, createConstants, nil},
	modulekind.Device:    {"NewDeviceSource", loadDeviceSource, nil, loadDeviceFile},
	modulekind.Shaders:   {"NewVulkanSource", loadVulkanSource, nil, loadVulkanFile},
	modulekind.Metal:     {load: loadOpaque},
	modulekind.Opaque:    {load: loadOpaque},
}

// builtinProperties are those of modules of a kind as this package makes them.
func builtinProperties(k *modulekind.Kind) int {
	if k.Exportable {
		return Serializable | Exportable
	}
	return Serializable
}

// newBuiltin makes a module of a kind that has a descriptor.
func newBuiltin(kind string, impl ModuleImpl) (*Module, error) {
	return NewModule(kind, builtinProperties(modulekind.Find(kind)), impl)
}

// isBuiltin says whether the loader of this name is still the one of this package.
func isBuiltin(name string) bool {
	ptr, n := cText(name)
	return C.tvmgo_kind_is_builtin(ptr, n) != 0
}

// restoreBuiltin puts the loader of this package back, if it has one of this name.
func restoreBuiltin(name string) error {
	ptr, n := cText(name)
	_, err := result("register module kind", C.kind_restore(ptr, n))
	return err
}

// tvmgoKindCall is the body of the global functions of the built-in kinds.
//
//export tvmgoKindCall
func tvmgoKindCall(action C.int, subject *C.char, args *C.TVMFFIAny, n C.int32_t, out *C.TVMFFIAny) C.int {
	return guard(func() error {
		subject := C.GoString(subject)
		vals := unsafe.Slice((*anyValue)(unsafe.Pointer(args)), int(n))
		result := (*anyValue)(unsafe.Pointer(out))
		switch action {
		case C.TVMGO_KIND_LOAD_MODERN, C.TVMGO_KIND_LOAD_LEGACY:
			k := modulekind.Find(subject)
			kind := ModuleKind{Name: k.Name, Properties: builtinProperties(k), Load: forms[k.Form].load}
			if v, ok := takers.Load(k.Name); ok { // a host may have looked the function up before the kind was taken
				kind = v.(ModuleKind)
			}
			return kindLoader(kind, action == C.TVMGO_KIND_LOAD_LEGACY)(vals, result)
		case C.TVMGO_KIND_LOAD_FILE:
			return giveModule(loadFile, subject, vals, result)
		}
		return giveModule(create, subject, vals, result)
	})
}

// giveModule passes the module that f makes to C.
func giveModule(f func(subject string, args []any) (*Module, error), subject string, vals []anyValue,
	out *anyValue) error {
	return callPacked(func(args ...any) (any, error) {
		m, err := f(subject, args)
		if err != nil {
			return nil, err
		}
		defer m.Close()
		return nil, giveValue(m, out)
	}, vals, new(anyValue))
}

// loadFile loads a file whose suffix the called loader is for.
func loadFile(suffix string, args []any) (*Module, error) {
	if len(args) != 1 && len(args) != 2 {
		return nil, fault.New("load module", ErrInvalidArgument, "expected the path of a %s file, got %d arguments",
			suffix, len(args))
	}
	path, ok := args[0].(string)
	if !ok {
		return nil, fault.New("load module", ErrInvalidArgument, "argument 0: expected the path of a %s file, got %T",
			suffix, args[0])
	}
	k := kindOfFile(path, suffix)
	return forms[k.Form].loadFile(k.Name, path, suffix)
}

// kindOfFile is the kind of a file's module. CUDA source is device code if its kernels are described beside it, else it
// is source to be compiled into a library.
func kindOfFile(path, suffix string) *modulekind.Kind {
	kinds := modulekind.WithSuffix(suffix)
	if len(kinds) == 1 {
		return kinds[0]
	}
	_, err := os.Stat(metaPath(path))
	described := !errors.Is(err, fs.ErrNotExist)
	return kinds[slices.IndexFunc(kinds,
		func(k *modulekind.Kind) bool { return described == (k.Form == modulekind.Device) })]
}

func create(kind string, args []any) (*Module, error) {
	impl, err := forms[modulekind.FormOf(kind)].create(args)
	if err != nil {
		return nil, err
	}
	return newBuiltin(kind, impl)
}

// constantFunction answers without arguments. The value is a string, []any, Map or *Module.
func constantFunction(name string, answer func() (any, error)) (*Function, error) {
	return NewFunction(func(args ...any) (any, error) {
		if len(args) != 0 {
			return nil, fault.New(name, ErrInvalidArgument, "it takes no arguments, got %d", len(args))
		}
		return answer()
	})
}

// checkNames rejects names that are empty or occur twice.
func checkNames(op, what string, names []string) error {
	seen := make(map[string]bool, len(names))
	for i, s := range names {
		if s == "" {
			return fault.New(op, ErrInvalidArgument, "%s %d has an empty name", what, i)
		}
		if seen[s] {
			return fault.New(op, ErrInvalidArgument, "%s %q comes twice", what, s)
		}
		seen[s] = true
	}
	return nil
}

// notLinked is the error of a call into code that is not part of a program yet.
func notLinked(kind, name, what string) error {
	return fault.New("get function", ErrNotSupported, "%q is in a module of kind %q, which is %s: "+
		"export it into a shared library and load that", name, kind, what)
}
