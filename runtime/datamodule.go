package runtime

/*
#include "bridge/bridge.h"
*/
import "C"

import (
	"errors"
	"slices"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/datamodule"
	"tvmgo/internal/fault"
	"tvmgo/internal/modulekind"
)

func init() {
	datamodule.Host.NewFunction = func(f func(args ...any) (any, error)) (datamodule.Function, error) {
		return NewFunction(f)
	}
	datamodule.Host.NewTensor = newDataTensor
	datamodule.Host.Share = shareTensor
	datamodule.Host.Imported = importedFunction
	datamodule.Host.NoDevice = whyNoDevice
}

// dataModule makes a ModuleImpl of a module of package datamodule.
type dataModule struct{ datamodule.Module }

func (m dataModule) Function(name string) (*Function, error) {
	f, err := m.Module.Function(name)
	if err != nil {
		return nil, err
	}
	return f.(*Function), nil
}

// SaveToBinaryFor returns the same bytes for every layout, unless the module distinguishes them.
func (m dataModule) SaveToBinaryFor(layout blob.Layout) ([]byte, error) {
	if s, ok := m.Module.(LayoutSaver); ok {
		return s.SaveToBinaryFor(layout)
	}
	return m.SaveToBinary()
}

func (m dataModule) setModule(self object) {
	if i, ok := m.Module.(interface{ SetModule(self uintptr) }); ok {
		i.SetModule(uintptr(self))
	}
}

// newBuiltin makes a module of a kind that has a descriptor, unless making its implementation failed.
func newBuiltin(kind string, impl datamodule.Module, err error) (*Module, error) {
	if err != nil {
		return nil, err
	}
	return NewModule(kind, builtinProperties(modulekind.Find(kind)), dataModule{impl})
}

func newDataTensor(raw blob.Tensor) (datamodule.Tensor, error) {
	t, err := NewTensor(raw.DType, raw.Shape, CPU)
	if err != nil {
		return nil, err
	}
	if err := t.CopyFromBytes(raw.Data); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func shareTensor(op string, shared datamodule.Tensor) (datamodule.Tensor, error) {
	return shared.(*Tensor).again(op)
}

// importedFunction finds a function in the direct and indirect imports of a module; nil if there is none.
func importedFunction(module uintptr, name string) (datamodule.Function, error) {
	imports, err := importsOf((*C.tvmgo_module)(object(module).pointer()))
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, dep := range imports {
			dep.Close()
		}
	}()
	for _, dep := range imports {
		ptr, n := cText(name)
		o, err := result("", C.tvmgo_bridge_get_function(C.uintptr_t(dep.ref.obj), ptr, n, 1))
		if err != nil {
			return nil, err
		}
		if o != 0 {
			return newFunction(o), nil
		}
	}
	return nil, nil
}

// whyNoDevice returns the error of the device that a kind is named after; "" if the device is not registered, or works.
func whyNoDevice(kind string) string {
	t, err := dlpack.ParseDeviceType(kind)
	if err != nil || !deviceRegistered(t) || DeviceExists(dlpack.Device{Type: t}) {
		return ""
	}
	err = deviceError(t)
	if e := (*fault.Error)(nil); errors.As(err, &e) && e.Message != "" {
		return e.Message
	}
	return err.Error()
}

// NewCSource makes a module of kind "c": source code in a format ("c", "cc", "cpp" or "cu"; "" means c). functions
// names the functions that the code defines, constants those constants that it needs. The functions can be called once
// the module is exported into a library and loaded; until then looking them up is ErrNotSupported.
func NewCSource(code, format string, functions, constants []string) (*Module, error) {
	impl, err := datamodule.NewCSource(blob.CSource{Code: code, Format: format, Functions: slices.Clone(functions),
		Constants: slices.Clone(constants)})
	return newBuiltin(modulekind.C.Name, impl, err)
}

// NewStaticLibrary makes a module of kind "static_library": an object file that defines the named functions. They can
// be called once the module is exported into a library and loaded. It keeps object, which must not be changed
// afterwards.
func NewStaticLibrary(object []byte, functions []string) (*Module, error) {
	impl, err := datamodule.NewStaticLibrary(object, functions)
	return newBuiltin(modulekind.StaticLibrary.Name, impl, err)
}

// NewOpaque makes a module of a kind that this package does not know, such as "metal" or "webgpu", from its payload in
// a blob of the modern layout. It can be exported, and has no functions to call. It keeps payload, which must not be
// changed afterwards. A kind that has its own constructor, such as "c", is ErrInvalidArgument.
func NewOpaque(kind string, payload []byte) (*Module, error) {
	const op = "make module"
	if kind == blob.LibraryKey || kind == blob.ImportTreeKey {
		return nil, fault.New(op, ErrInvalidArgument, "kind %q has another meaning in files", kind)
	}
	constructor := forms[modulekind.FormOf(kind)].constructor
	if kind == modulekind.Library {
		constructor = "Load"
	}
	if constructor != "" {
		return nil, fault.New(op, ErrInvalidArgument, "modules of kind %q are made by %s", kind, constructor)
	}
	impl, err := datamodule.LoadOpaque(datamodule.Payload{Kind: kind, Data: payload, Layout: blob.Modern})
	if err != nil {
		return nil, err
	}
	return NewModule(kind, Serializable, dataModule{impl})
}

// NewDeviceSource makes a module of a device kind ("cuda", "opencl", "hip", "rocm" or "hsaco") that is data to be saved
// or exported. Its kernels run once it is loaded in a program where the device is enabled. It keeps m, which must not
// be changed afterwards. Any other kind is ErrInvalidArgument.
func NewDeviceSource(kind string, m *blob.DeviceModule) (*Module, error) {
	impl, err := datamodule.NewDeviceSource(kind, m)
	return newBuiltin(kind, impl, err)
}

// NewDeviceCode is NewDeviceSource for a module whose kernels also run at once, if the program imports the package of
// the kind, such as tvmgo/runtime/opencl. It does not touch a device before a kernel is launched.
func NewDeviceCode(kind string, m *blob.DeviceModule) (*Module, error) {
	data, err := NewDeviceSource(kind, m)
	if err != nil {
		return nil, err
	}
	if v, ok := makers.Load(kind); ok && m.Source != "" { // a loader would lose the source
		defer data.Close()
		return makeDevice(kind, v.(ModuleKind), m)
	}
	return running(kind, func(layout blob.Layout) ([]byte, error) {
		defer data.Close()
		return m.Encode(layout)
	}, func() (*Module, error) { return data, nil })
}

// NewVulkanSource makes a module of kind "vulkan" that is data to be saved or exported, as NewDeviceSource does. Every
// function needs a shader with its key. It keeps m, which must not be changed afterwards.
func NewVulkanSource(m *blob.VulkanModule) (*Module, error) {
	impl, err := datamodule.NewVulkanSource(m)
	return newBuiltin(modulekind.Vulkan.Name, impl, err)
}

// NewVulkanCode is NewVulkanSource for a module whose kernels also run at once, if the program imports
// tvmgo/runtime/vulkan. It does not touch a device before a kernel is launched.
func NewVulkanCode(m *blob.VulkanModule) (*Module, error) {
	data, err := NewVulkanSource(m)
	if err != nil {
		return nil, err
	}
	return running(modulekind.Vulkan.Name, func(layout blob.Layout) ([]byte, error) {
		defer data.Close()
		return m.Encode(layout)
	}, func() (*Module, error) { return data, nil })
}

// NewConstants makes a module of kind "const_loader". It passes tensors to the functions __init_<symbol> of the modules
// that it imports, before a function <symbol> is first looked up. It keeps c, which must not be changed afterwards, and
// copies each tensor when it is first needed.
func NewConstants(c *blob.Constants) (*Module, error) {
	impl, err := datamodule.NewConstants(c)
	return newBuiltin(modulekind.ConstLoader.Name, impl, err)
}
