package runtime

/*
#include "bridge.h"
#include "kinds.h"
*/
import "C"

import (
	"unsafe"
)

// builtinKind is a module kind of this package. It needs no device.
type builtinKind struct {
	properties int
	load       func(p Payload) (ModuleImpl, error)
	create     func(args []any) (ModuleImpl, error) // for C, under TVM's name; may be nil
}

// builtinKinds has the kinds for which the core registers loaders (internal/core/kinds.h).
var builtinKinds = map[string]builtinKind{
	cSourceKind:       {Serializable | Exportable, loadCSource, createCSource},
	staticLibraryKind: {Serializable | Exportable, loadStaticLibrary, createStaticLibrary},
	constantsKind:     {Serializable, loadConstants, createConstants},
	vulkanKind:        {Serializable, loadVulkanSource, nil},
}

// fileLoaders read a module from a file of a format, which may also be given by the suffix.
var fileLoaders = map[string]func(path, format string) (*Module, error){
	"c": loadCSourceFile, "cc": loadCSourceFile, "cpp": loadCSourceFile, "cu": loadCUFile,
	"o": loadLinkedFile, "tar": loadLinkedFile,
	"vulkan": loadVulkanFile,
}

func init() {
	for _, kind := range deviceKinds {
		builtinKinds[kind] = builtinKind{Serializable, loadDeviceSource, nil}
	}
	for _, kind := range opaqueKinds {
		builtinKinds[kind] = builtinKind{Serializable, loadOpaque, nil}
	}
	for kind, formats := range map[string][]string{
		"cuda": {"ptx", "cubin", "fatbin"}, "opencl": {"cl", "clbin", "xclbin", "awsxclbin", "aocx"}, "hip": {"hsaco", "hip"}} {
		for _, f := range formats {
			fileLoaders[f] = loadDeviceFile(kind)
		}
	}
}

func newBuiltin(kind string, impl ModuleImpl) (*Module, error) {
	return NewModule(kind, builtinKinds[kind].properties, impl)
}

// isBuiltin says whether the loader of this name is still the one of this package.
func isBuiltin(name string) bool {
	ptr, n := cText(name)
	return C.tvmgo_kind_is_builtin(ptr, n) != 0
}

// restoreBuiltin puts the loader of this package back, if it has one of this name.
func restoreBuiltin(name string) error {
	ptr, n := cText(name)
	if C.tvmgo_kind_restore(ptr, n) != 0 {
		return takeError("register module kind", object(uintptr(unsafe.Pointer(C.tvmgo_error_take()))))
	}
	return nil
}

// tvmgoKindCall is the body of the global functions of the built-in kinds.
//
//export tvmgoKindCall
func tvmgoKindCall(action C.int, subject *C.char, args *C.TVMFFIAny, n C.int32_t, out *C.TVMFFIAny) C.int {
	return guard(func() error {
		name := C.GoString(subject)
		vals := unsafe.Slice((*anyValue)(unsafe.Pointer(args)), int(n))
		result := (*anyValue)(unsafe.Pointer(out))
		switch action {
		case C.TVMGO_KIND_LOAD_MODERN, C.TVMGO_KIND_LOAD_LEGACY:
			k := builtinKinds[name]
			if name == metadataKind {
				name, k = constantsKind, builtinKinds[constantsKind]
			}
			kind := ModuleKind{Name: name, Properties: k.properties, Load: k.load}
			if v, ok := takers.Load(name); ok { // a host may have looked the function up before the kind was taken
				kind = v.(ModuleKind)
			}
			return kindLoader(kind, action == C.TVMGO_KIND_LOAD_LEGACY)(vals, result)
		case C.TVMGO_KIND_LOAD_FILE:
			return giveModule(loadFile, name, vals, result)
		}
		return giveModule(create, name, vals, result)
	})
}

// giveModule hands the module that f makes to C.
func giveModule(f func(subject string, args []any) (*Module, error), subject string, vals []anyValue, out *anyValue) error {
	return callPacked(func(args ...any) (any, error) {
		m, err := f(subject, args)
		if err != nil {
			return nil, err
		}
		defer m.Close()
		return nil, giveValue(m, out)
	}, vals, new(anyValue))
}

// loadFile loads a file whose format the called loader is for.
func loadFile(format string, args []any) (*Module, error) {
	if len(args) != 1 && len(args) != 2 {
		return nil, fail("load module", ErrInvalidArgument, "expected the path of a %s file, got %d arguments", format, len(args))
	}
	path, ok := args[0].(string)
	if !ok {
		return nil, fail("load module", ErrInvalidArgument, "argument 0: expected the path of a %s file, got %T", format, args[0])
	}
	return fileLoaders[format](path, format)
}

func create(kind string, args []any) (*Module, error) {
	impl, err := builtinKinds[kind].create(args)
	if err != nil {
		return nil, err
	}
	return newBuiltin(kind, impl)
}

// corrupt makes an error of a payload or file that is not what it says.
func corrupt(op string, err error) error {
	return &Error{Op: op, Kind: ErrCorruptModule, Code: CodeOf(ErrCorruptModule), Message: err.Error(), Err: err}
}

// invalid makes an error of what the caller gave; nil stays nil.
func invalid(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Kind: ErrInvalidArgument, Code: CodeOf(ErrInvalidArgument), Message: err.Error(), Err: err}
}

// textArgument is argument i of a function for C.
func textArgument(op string, args []any, i int) (string, error) {
	switch v := args[i].(type) {
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	}
	return "", fail(op, ErrInvalidArgument, "argument %d: expected a string, got %T", i, args[i])
}

// textsArgument is argument i as a list of strings; None and an absent one are an empty list.
func textsArgument(op string, args []any, i int) ([]string, error) {
	if i >= len(args) || args[i] == nil {
		return nil, nil
	}
	items, ok := args[i].([]any)
	if !ok {
		return nil, fail(op, ErrInvalidArgument, "argument %d: expected a list of strings, got %T", i, args[i])
	}
	list := make([]string, len(items))
	for k, v := range items {
		if list[k], ok = v.(string); !ok {
			return nil, fail(op, ErrInvalidArgument, "argument %d: item %d: expected a string, got %T", i, k, v)
		}
	}
	return list, nil
}

func argumentCount(op string, args []any, least, most int) error {
	if least == most && len(args) != least {
		return fail(op, ErrInvalidArgument, "expected %d arguments, got %d", least, len(args))
	}
	if len(args) < least || len(args) > most {
		return fail(op, ErrInvalidArgument, "expected %d to %d arguments, got %d", least, most, len(args))
	}
	return nil
}

// constantFunction answers without arguments. The value is a string, []any, Map or *Module.
func constantFunction(name string, answer func() (any, error)) (*Function, error) {
	return NewFunction(func(args ...any) (any, error) {
		if len(args) != 0 {
			return nil, fail(name, ErrInvalidArgument, "it takes no arguments, got %d", len(args))
		}
		return answer()
	})
}

func anyList(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// checkNames refuses names that are empty or come twice.
func checkNames(op, what string, names []string) error {
	seen := make(map[string]bool, len(names))
	for i, s := range names {
		if s == "" {
			return fail(op, ErrInvalidArgument, "%s %d has an empty name", what, i)
		}
		if seen[s] {
			return fail(op, ErrInvalidArgument, "%s %q comes twice", what, s)
		}
		seen[s] = true
	}
	return nil
}

// notLinked is the error of a call into code that is not part of a program yet.
func notLinked(kind, name, what string) error {
	return fail("get function", ErrNotSupported, "%q is in a module of kind %q, which is %s: "+
		"export it into a shared library and load that", name, kind, what)
}
