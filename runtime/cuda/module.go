//go:build cuda

package cuda

/*
#include "gobridge.h"
#include "launch.h"
*/
import "C"

import (
	"bytes"
	"runtime/cgo"
	"sync"
	"unsafe"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/cudaimage"
	"tvmgo/internal/kernels"
	"tvmgo/runtime"
)

// Kind is the kind of the modules of this package.
const Kind = "cuda"

// What TVM's programs for grids that wait for themselves have: a function of the module, and a number in its image.
const (
	prepareBarrier = "__tvm_prepare_global_barrier"
	barrierState   = "__tvm_global_barrier_state"
)

func init() {
	err := runtime.RegisterModuleKind(runtime.ModuleKind{Name: Kind, Properties: runtime.Serializable | runtime.Runnable,
		Load: load, Make: func(m *blob.DeviceModule) (runtime.ModuleImpl, error) {
			return newModule(kernels.New(Kind, dlpack.CUDA, m))
		}})
	if err != nil {
		panic(err) // two packages for one kind are in the program
	}
}

// kernelsOf describes CUDA's kernels.
var kernelsOf = kernels.Device{Title: "CUDA", TensorMaps: true, Clusters: true,
	Class: unsafe.Pointer(&C.tvmgo_cu_kernels)}

// module is a module whose kernels run, and may be used after it is closed.
type module struct{ *kernels.Module }

// code loads kernels. It lives as long as the module or one of its functions does; its lock is held while one is
// loaded.
type code struct {
	sync.Mutex
	of     *blob.DeviceModule
	loaded map[int]*loadedImage
}

// loadedImage is a module's code on one device.
type loadedImage struct {
	module C.CUmodule
	image  []byte
	epoch  uint32          // of the device, when it was loaded
	about  *cudaimage.Info // of the image; nil if it cannot be read here, which does not mean that the driver cannot
}

func load(p runtime.Payload) (runtime.ModuleImpl, error) {
	c, err := kernels.Parse(p, dlpack.CUDA)
	if err != nil {
		return nil, err
	}
	return newModule(c)
}

func newModule(data *kernels.Code) (runtime.ModuleImpl, error) {
	of := data.DeviceModule()
	switch of.Format {
	case "", "cu":
		of.Format = sourceFormat
	case sourceFormat, "ptx", "cubin", "fatbin":
	default:
		return nil, kernels.NotSupported("a module of kind %q holds %q: there are ptx, cubin, fatbin and cuda", Kind,
			of.Format)
	}
	m, err := kernelsOf.NewModule(data, &code{of: of, loaded: map[int]*loadedImage{}})
	if err != nil {
		return nil, err
	}
	return &module{m}, nil
}

// Function returns a kernel as a function, or the one that prepares the global barrier.
func (m *module) Function(name string) (*runtime.Function, error) {
	f, err := m.Module.Function(name)
	if err == runtime.ErrNotFound && name == prepareBarrier && m.mayHaveBarrier() {
		return kernels.FunctionOf(C.tvmgo_cu_barrier_object((*C.tvmgo_kernels)(m.C())))
	}
	return f, err
}

// mayHaveBarrier looks for the barrier's number in the image, where names stand in full unless it is compressed: then
// it is only found out when it is used.
func (m *module) mayHaveBarrier() bool {
	if bytes.Contains(m.DeviceModule().Data, []byte(barrierState)) {
		return true
	}
	info, err := cudaimage.Describe(m.DeviceModule().Data)
	if err != nil {
		return false
	}
	for _, p := range info.Parts {
		if p.Compressed {
			return true
		}
	}
	return false
}

// Free unloads the module's code.
func (c *code) Free() {
	for dev, l := range c.loaded {
		if l.epoch != epoch(dev) {
			continue // it went with its context
		}
		C.tvmgo_cu_unload(C.tvmgo_cu_at(C.int32_t(dev)), l.module)
	}
}

// Build loads a kernel on a device.
func (c *code) Build(k unsafe.Pointer, i, dev int) error {
	return raised(c.kernel((*C.cu_function)(k), &c.of.Functions[i], dev))
}

// tvmgoCUDAModule gives the module's code on a device, loaded if it has to be.
//
//export tvmgoCUDAModule
func tvmgoCUDAModule(module C.uintptr_t, device C.int32_t, out *unsafe.Pointer) C.int {
	return guard(func() error {
		c := cgo.Handle(module).Value().(*code)
		c.Lock()
		defer c.Unlock()
		l, err := c.on(int(device), "the module")
		if err == nil {
			*out = unsafe.Pointer(l.module)
		}
		return err
	})
}
