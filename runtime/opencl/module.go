//go:build opencl

package opencl

/*
#include "gobridge.h"
*/
import "C"

import (
	"runtime/cgo"
	"sync"
	"unsafe"

	"github.com/go-gl/cl/v1.2/cl"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/kernels"
	"tvmgo/runtime"
)

// Kind is the kind of the modules of this package.
const Kind = "opencl"

// sourceFormat is OpenCL C; the others are binaries for one device.
const sourceFormat = "cl"

func init() {
	err := runtime.RegisterModuleKind(runtime.ModuleKind{Name: Kind, Properties: runtime.Serializable | runtime.Runnable,
		Load: load, Make: func(m *blob.DeviceModule) (runtime.ModuleImpl, error) {
			return newModule(kernels.New(Kind, dlpack.OpenCL, m))
		}})
	if err != nil {
		panic(err) // two packages for one kind are in the program
	}
}

// module is what runtime holds of a module; its kernels may be used after it is closed.
type module struct {
	*kernels.Code
	c *C.tvmgo_kernels
}

// code is what kernels are built from. It lives as long as the module or one of its functions does.
type code struct {
	c         *C.tvmgo_kernels
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
	c, err := kernels.Parse(p, dlpack.OpenCL)
	if err != nil {
		return nil, err
	}
	return newModule(c)
}

func corrupt(format string, args ...any) error { return kernels.Corrupt(format, args...) }

func newModule(of *kernels.Code) (runtime.ModuleImpl, error) {
	if of.Module.Format == "" {
		of.Module.Format = sourceFormat
	}
	c := &code{format: of.Module.Format, data: of.Module.Data, functions: of.Module.Functions, programs: map[programKey]cl.Program{}}
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
	c.c = C.tvmgo_kernels_new(&C.tvmgo_cl_kernels, C.int32_t(len(c.functions)), C.uintptr_t(h))
	if c.c == nil {
		h.Delete()
		return nil, runtime.Errorf(runtime.ErrOutOfMemory, "no memory for %d kernels", len(c.functions))
	}
	for i := range c.functions {
		if _, err := (kernels.Device{Title: "OpenCL"}).Describe(unsafe.Pointer(c.c), i, &c.functions[i]); err != nil {
			C.tvmgo_kernels_release(c.c)
			return nil, err
		}
		C.tvmgo_cl_function_ready(c.c, C.int32_t(i))
	}
	return &module{Code: of, c: c.c}, nil
}

// Function returns a kernel as a function, one of the two that give and take compiled programs, or the one by which the host's code sees
// that launches take tensors.
func (m *module) Function(name string) (*runtime.Function, error) {
	switch name {
	case savePrograms:
		return functionFrom(C.tvmgo_cl_programs_object(m.c, 0))
	case loadPrograms:
		return functionFrom(C.tvmgo_cl_programs_object(m.c, 1))
	case blob.OffsetAlignment("opencl"):
		return functionFrom(C.tvmgo_kernels_alignment_object(m.c))
	}
	i := m.Index(name)
	if i < 0 {
		return nil, runtime.ErrNotFound
	}
	return functionFrom(C.tvmgo_kernel_object(m.c, C.int32_t(i)))
}

func functionFrom(h unsafe.Pointer) (*runtime.Function, error) {
	if h == nil {
		return nil, kernels.Raised()
	}
	return runtime.FunctionFromHandle(h)
}

// Close gives the module's own reference to its kernels up; functions that are in use keep them.
func (m *module) Close() error {
	C.tvmgo_kernels_release(m.c)
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
