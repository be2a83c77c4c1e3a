//go:build opencl

package opencl

/*
#include <stdlib.h>
#include "gobridge.h"
*/
import "C"

import (
	"runtime/cgo"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/go-gl/cl/v1.2/cl"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// Kind is the kind of the modules of this package.
const Kind = "opencl"

// sourceFormat is OpenCL C; the others are binaries for one device.
const sourceFormat = "cl"

func init() {
	err := runtime.RegisterModuleKind(runtime.ModuleKind{Name: Kind, Properties: runtime.Serializable | runtime.Runnable,
		Load: load, Make: func(m *blob.DeviceModule) (runtime.ModuleImpl, error) { return newModule(m, nil, 0) }})
	if err != nil {
		panic(err) // two packages for one kind are in the program
	}
}

// module is what runtime holds of a module; its kernels may be used after it is closed.
type module struct {
	runtime.ModuleBase
	code   *code
	c      *C.cl_module
	saved  []byte      // the payload that it was loaded from; nil for others
	layout blob.Layout // of that payload
}

// code is what kernels are built from. It lives as long as the module or one of its functions does.
type code struct {
	c         *C.cl_module
	format    string
	data      []byte
	pieces    map[string]string // source by function; nil when all functions share data
	functions []blob.Function

	mu       sync.Mutex // held while a kernel is built
	programs map[programKey]cl.Program
}

// programKey is a device and a function, "" for all of them.
type programKey struct {
	device   int
	function string
}

func load(p runtime.Payload) (runtime.ModuleImpl, error) {
	layout := blob.Modern
	if p.Legacy {
		layout = blob.Legacy
	}
	m, err := blob.ParseDeviceModule(p.Data, layout)
	if err != nil {
		return nil, corrupt("%v", err)
	}
	return newModule(m, p.Data, layout)
}

func corrupt(format string, args ...any) error {
	return fail(runtime.ErrCorruptModule, "CorruptModuleError", format, args...)
}

func newModule(m *blob.DeviceModule, saved []byte, layout blob.Layout) (runtime.ModuleImpl, error) {
	c := &code{format: m.Format, data: slices.Clone(m.Data), functions: m.Functions, programs: map[programKey]cl.Program{}}
	if c.format == "" {
		c.format = sourceFormat
	}
	if c.format == sourceFormat {
		pieces, err := splitSource(c.data)
		if err != nil {
			return nil, corrupt("source of module %q: %v", Kind, err)
		}
		for _, f := range c.functions {
			if _, ok := pieces[f.Key]; pieces != nil && !ok {
				return nil, corrupt("the source has no line %q: kernel %s is missing", marker+f.Key, f.Key)
			}
		}
		c.pieces = pieces
	}
	h := cgo.NewHandle(c)
	c.c = C.tvmgo_cl_module_new(C.int32_t(len(c.functions)), C.uintptr_t(h))
	if c.c == nil {
		h.Delete()
		return nil, fail(runtime.ErrOutOfMemory, "MemoryError", "no memory for %d kernels", len(c.functions))
	}
	for i := range c.functions {
		if err := c.describe(i); err != nil {
			C.tvmgo_cl_module_release(c.c)
			return nil, err
		}
	}
	return &module{code: c, c: c.c, saved: slices.Clone(saved), layout: layout}, nil
}

// describe tells C what a call of a function looks like.
func (c *code) describe(i int) error {
	f := &c.functions[i]
	args, err := argKinds(f)
	if err != nil {
		return err
	}
	slots, err := launchSlots(f)
	if err != nil {
		return err
	}
	if strings.IndexByte(f.Key+f.Name, 0) >= 0 {
		return corrupt("kernel %q: the name has a zero byte inside", f.Key)
	}
	name, symbol := C.CString(f.Key), C.CString(f.Name)
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(symbol))
	rc := C.tvmgo_cl_function_set(c.c, C.int32_t(i), name, symbol,
		(*C.uint8_t)(unsafe.SliceData(args)), C.int32_t(len(args)), (*C.uint8_t)(unsafe.SliceData(slots)), C.int32_t(len(slots)))
	if rc != 0 {
		return raised()
	}
	return nil
}

// raised takes the error that C raised.
func raised() error {
	text := C.tvmgo_cl_take_error()
	defer C.free(unsafe.Pointer(text))
	return fail(runtime.ErrFailed, "RuntimeError", "%s", C.GoString(text))
}

// argKinds checks the types of a kernel's arguments (ABI.md D.2).
func argKinds(f *blob.Function) ([]uint8, error) {
	if len(f.ArgTypes) > C.MAX_ARGS {
		return nil, corrupt("kernel %s has %d arguments, more than %d", f.Key, len(f.ArgTypes), int(C.MAX_ARGS))
	}
	kinds := make([]uint8, len(f.ArgTypes))
	for i, t := range f.ArgTypes {
		switch {
		case t.Code == dlpack.CodeHandle && t.Lanes == 1:
			kinds[i] = C.ARG_MEMORY
		case t == dlpack.Int64:
			kinds[i] = C.ARG_INT64
		case t == dlpack.Int32:
			kinds[i] = C.ARG_INT32
		case t == dlpack.UInt32:
			kinds[i] = C.ARG_UINT32
		case t == dlpack.Float64:
			kinds[i] = C.ARG_FLOAT64
		case t == dlpack.Float32:
			kinds[i] = C.ARG_FLOAT32
		default:
			return nil, fail(runtime.ErrNotSupported, "NotSupportedError",
				"kernel %s: argument %d is of type %v: kernels take handle, int64, int32, uint32, float64 and float32", f.Key, i, t)
		}
		if i < len(f.ArgExtraTags) && f.ArgExtraTags[i] != blob.ExtraTagNone {
			return nil, fail(runtime.ErrNotSupported, "NotSupportedError", "kernel %s: argument %d is a tensor map, which OpenCL does not have", f.Key, i)
		}
	}
	return kinds, nil
}

var launchTags = []string{"blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z"}

// launchSlots are the sizes of a launch that follow the arguments (ABI.md D.2).
func launchSlots(f *blob.Function) ([]uint8, error) {
	var slots []uint8
	for _, tag := range f.LaunchParamTags {
		slot := slices.Index(launchTags, tag)
		if slot < 0 {
			return nil, fail(runtime.ErrNotSupported, "NotSupportedError", "kernel %s: launch parameter %q: on OpenCL there are %s",
				f.Key, tag, strings.Join(launchTags, ", "))
		}
		if slices.Contains(slots, uint8(slot)) {
			return nil, corrupt("kernel %s: launch parameter %q comes twice", f.Key, tag)
		}
		slots = append(slots, uint8(slot))
	}
	return slots, nil
}

// Function returns a kernel as a function, or one of the two that give and take compiled programs.
func (m *module) Function(name string) (*runtime.Function, error) {
	switch name {
	case savePrograms:
		return functionFrom(C.tvmgo_cl_programs_object(m.c, 0))
	case loadPrograms:
		return functionFrom(C.tvmgo_cl_programs_object(m.c, 1))
	}
	i := slices.IndexFunc(m.code.functions, func(f blob.Function) bool { return f.Key == name })
	if i < 0 {
		return nil, runtime.ErrNotFound
	}
	return functionFrom(C.tvmgo_cl_function_object(m.c, C.int32_t(i)))
}

func functionFrom(h unsafe.Pointer) (*runtime.Function, error) {
	if h == nil {
		return nil, raised()
	}
	return runtime.FunctionFromHandle(h)
}

// Functions lists the kernels.
func (m *module) Functions() []string {
	var names []string
	for _, f := range m.code.functions {
		names = append(names, f.Key)
	}
	slices.Sort(names)
	return names
}

// Kernel describes a kernel.
func (m *module) Kernel(name string) (blob.FunctionInfo, bool) {
	d := blob.DeviceModule{Functions: m.code.functions}
	return d.Function(name)
}

// DeviceType is OpenCL.
func (m *module) DeviceType() dlpack.DeviceType { return dlpack.OpenCL }

// data is the module as data, which knows how it is shown and saved.
func (m *module) data() (*runtime.Module, error) {
	return runtime.NewDeviceSource(Kind, &blob.DeviceModule{Format: m.code.format, Functions: m.code.functions, Data: m.code.data})
}

// GetSource returns OpenCL C.
func (m *module) GetSource(format string) (string, error) {
	data, err := m.data()
	if err != nil {
		return "", err
	}
	defer data.Close()
	return data.GetSource(format)
}

// SaveToFile writes the code, and beside it the description of its kernels.
func (m *module) SaveToFile(path, format string) error {
	data, err := m.data()
	if err != nil {
		return err
	}
	defer data.Close()
	return data.SaveToFile(path, format)
}

// WriteFormats is the one format that the code is in.
func (m *module) WriteFormats() []string { return []string{m.code.format} }

// SaveToBinary is SaveToBinaryFor of the modern layout.
func (m *module) SaveToBinary() ([]byte, error) { return m.SaveToBinaryFor(blob.Modern) }

// SaveToBinaryFor returns the payload for a file; the one that the module came from where it fits.
func (m *module) SaveToBinaryFor(layout blob.Layout) ([]byte, error) {
	if m.saved != nil && m.layout == layout {
		return m.saved, nil
	}
	data, err := (&blob.DeviceModule{Format: m.code.format, Functions: m.code.functions, Data: m.code.data}).Encode(layout)
	if err != nil {
		return nil, fail(runtime.ErrInvalidArgument, "ValueError", "save module: %v", err)
	}
	return data, nil
}

// Close gives the module's own reference to its kernels up; functions that are in use keep them.
func (m *module) Close() error {
	C.tvmgo_cl_module_release(m.c)
	return nil
}

//export tvmgoOpenCLModuleFree
func tvmgoOpenCLModuleFree(h C.uintptr_t) {
	c := cgo.Handle(h).Value().(*code)
	cgo.Handle(h).Delete()
	for _, p := range c.programs {
		cl.ReleaseProgram(p)
	}
}
