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

// Kind is the kind of this package's modules.
const Kind = "opencl"

// sourceFormat is the format of OpenCL C source. Other formats are binaries for one device.
const sourceFormat = "cl"

func init() {
	err := runtime.RegisterModuleKind(runtime.ModuleKind{Name: Kind, Properties: runtime.Serializable | runtime.Runnable,
		Load: load, Make: func(m *blob.DeviceModule) (runtime.ModuleImpl, error) {
			return newModule(kernels.New(Kind, dlpack.OpenCL, m))
		}})
	if err != nil {
		panic(err) // another package of the program registered the same kind
	}
}

// kernelsOf describes the kernels of OpenCL devices.
var kernelsOf = kernels.Device{Title: "OpenCL", Class: unsafe.Pointer(&C.tvmgo_cl_kernels)}

// module is a module whose kernels can be launched. Its functions remain callable after Close.
type module struct{ *kernels.Module }

// code is the kernels.Builder of a module. It lives as long as the module or one of its functions. Its lock is held
// while a kernel is built.
type code struct {
	sync.Mutex
	format    string
	data      []byte
	pieces    map[string]string // source of each function; nil if data is one program with all functions
	functions []blob.Function
	programs  map[programKey]cl.Program
}

// programKey identifies a program: its device, and its function, or "" if it has all functions.
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

// Function returns a kernel by name, or one of the two functions that return and load compiled programs.
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
