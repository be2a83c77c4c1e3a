//go:build opencl

package opencl

/*
#include "gobridge.h"
*/
import "C"

import (
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

// kernelsOf describes OpenCL's kernels.
var kernelsOf = kernels.Device{Title: "OpenCL", Class: unsafe.Pointer(&C.tvmgo_cl_kernels)}

// module is a module whose kernels run, and may be used after it is closed.
type module struct{ *kernels.Module }

// code builds kernels. It lives as long as the module or one of its functions does; its lock is held while one is
// built.
type code struct {
	sync.Mutex
	format    string
	data      []byte
	pieces    map[string]string // source by function; nil when all functions share data
	functions []blob.Function
	programs  map[programKey]cl.Program
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

func newModule(data *kernels.Code) (runtime.ModuleImpl, error) {
	of := data.DeviceModule()
	if of.Format == "" {
		of.Format = sourceFormat
	}
	c := &code{format: of.Format, data: of.Data, functions: of.Functions, programs: map[programKey]cl.Program{}}
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
	m, err := kernelsOf.NewModule(data, c)
	if err != nil {
		return nil, err
	}
	return &module{m}, nil
}

// Function returns a kernel as a function, or one of the two that return and load compiled programs.
func (m *module) Function(name string) (*runtime.Function, error) {
	switch name {
	case savePrograms:
		return kernels.FunctionOf(C.tvmgo_cl_programs_object((*C.tvmgo_kernels)(m.C()), 0))
	case loadPrograms:
		return kernels.FunctionOf(C.tvmgo_cl_programs_object((*C.tvmgo_kernels)(m.C()), 1))
	}
	return m.Module.Function(name)
}

// Free releases the programs.
func (c *code) Free() {
	for _, p := range c.programs {
		cl.ReleaseProgram(p)
	}
}
