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
	"io"
	"io/fs"
	"os"
	"slices"
	"unsafe"

	"tvmgo/blob"
	"tvmgo/internal/datamodule"
	"tvmgo/internal/fault"
	"tvmgo/internal/modulekind"
	"tvmgo/internal/value"
)

// form holds what this package does, without a device, with modules of a kind whose payload format it knows.
type form struct {
	constructor string // function of this package that makes such modules; "" if NewOpaque does
	load        func(p datamodule.Payload) (datamodule.Module, error)
	create      func(args []any) (datamodule.Module, error) // the kind's Creator; may be nil
	loadFile    func(kind, path, suffix string) (*Module, error)
}

var forms = map[modulekind.Form]form{
	modulekind.Source: {"NewCSource", datamodule.LoadCSource, datamodule.CreateCSource, loadCSourceFile},
	modulekind.Object: {"NewStaticLibrary", datamodule.LoadStaticLibrary, datamodule.CreateStaticLibrary,
		loadLinkedFile},
	modulekind.Constants: {"NewConstants", datamodule.LoadConstants, datamodule.CreateConstants, nil},
	modulekind.Device:    {"NewDeviceSource", datamodule.LoadDeviceSource, nil, loadDeviceFile},
	modulekind.Shaders:   {"NewVulkanSource", datamodule.LoadVulkanSource, nil, loadVulkanFile},
	modulekind.Metal:     {load: datamodule.LoadOpaque},
	modulekind.GraphText: {load: datamodule.LoadOpaque},
	modulekind.Program:   {load: datamodule.LoadOpaque},
	modulekind.Opaque:    {load: datamodule.LoadOpaque},
}

// builtinProperties returns the properties of modules of a kind as this package makes them.
func builtinProperties(k *modulekind.Kind) int {
	if k.Exportable {
		return Serializable | Exportable
	}
	return Serializable
}

// loadData makes the loader of a kind.
func loadData(load func(p datamodule.Payload) (datamodule.Module, error)) func(p Payload) (ModuleImpl, error) {
	return func(p Payload) (ModuleImpl, error) {
		layout := blob.Modern
		if p.Legacy {
			layout = blob.Legacy
		}
		m, err := load(datamodule.Payload{Kind: p.Kind, Data: p.Data, Layout: layout})
		if err != nil {
			return nil, err
		}
		return dataModule{m}, nil
	}
}

// isBuiltin reports whether the loader with this name is still the one of this package.
func isBuiltin(name string) bool {
	ptr, n := cText(name)
	return C.tvmgo_kind_is_builtin(ptr, n) != 0
}

// restoreBuiltin registers the loader of this package again, if it has one with this name.
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
			kind := ModuleKind{Name: k.Name, Properties: builtinProperties(k), Load: loadData(forms[k.Form].load)}
			if v, ok := takers.Load(k.Name); ok { // the caller may hold a function that was replaced since
				kind = v.(ModuleKind)
			}
			return kindLoader(kind, action == C.TVMGO_KIND_LOAD_LEGACY)(vals, result)
		case C.TVMGO_KIND_LOAD_FILE:
			return giveModule(loadFile, subject, vals, result)
		}
		return giveModule(create, subject, vals, result)
	})
}

// giveModule returns the module that f makes to C.
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

// loadFile loads a file for the loader of its suffix.
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
	_, err := os.Stat(datamodule.MetaPath(path))
	described := !errors.Is(err, fs.ErrNotExist)
	return kinds[slices.IndexFunc(kinds,
		func(k *modulekind.Kind) bool { return described == (k.Form == modulekind.Device) })]
}

func create(kind string, args []any) (*Module, error) {
	impl, err := forms[modulekind.FormOf(kind)].create(args)
	return newBuiltin(kind, impl, err)
}

func loadCSourceFile(_, path, format string) (*Module, error) {
	code, err := datamodule.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return NewCSource(string(code), format, nil, nil)
}

func loadObject(path string, f io.Reader) (*Module, error) {
	object, err := io.ReadAll(f)
	if err != nil {
		return nil, datamodule.FileError("load "+path, err)
	}
	return NewStaticLibrary(object, nil)
}

// loadDeviceFile loads a file with the code of a kind.
func loadDeviceFile(kind, path, suffix string) (*Module, error) {
	code, err := datamodule.ReadFile(path)
	if err != nil {
		return nil, err
	}
	functions, err := datamodule.ReadMeta(path)
	if err != nil {
		return nil, err
	}
	format := modulekind.CodeFormat(suffix)
	m := &blob.DeviceModule{Format: format.Name(), Functions: functions, Data: code}
	return running(kind, m.Encode, func() (*Module, error) { return NewDeviceSource(kind, m) })
}

// running makes a module with the loader that was registered for its kind and can run it, or else as data.
func running(kind string, encode func(blob.Layout) ([]byte, error), asData func() (*Module, error)) (*Module, error) {
	const op = "load module"
	if isBuiltin(modernLoader + kind) {
		return asData()
	}
	loader, err := Global(modernLoader + kind)
	if err != nil {
		return nil, err
	}
	defer loader.Close()
	payload, err := encode(blob.Modern)
	if err != nil {
		return nil, fault.Wrap(op, ErrInvalidArgument, err)
	}
	v, err := loader.Call(payload)
	if err != nil {
		return nil, err
	}
	m, ok := v.(*Module)
	if !ok {
		value.Close(v)
		return nil, fault.New(op, ErrFailed, "the loader of module kind %q returned no module", kind)
	}
	return m, nil
}

func loadVulkanFile(kind, path, _ string) (*Module, error) {
	data, err := datamodule.ReadFile(path)
	if err != nil {
		return nil, err
	}
	shaders, err := blob.ParseVulkanFile(data)
	if err != nil {
		return nil, fault.Wrap("load "+path, ErrCorruptModule, err)
	}
	functions, err := datamodule.ReadMeta(path)
	if err != nil {
		return nil, err
	}
	m := &blob.VulkanModule{Format: kind, Functions: functions, Shaders: shaders}
	return running(kind, m.Encode, func() (*Module, error) { return NewVulkanSource(m) })
}
