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

// module is what runtime holds of a module; its kernels may be used after it is closed.
type module struct {
	*kernels.Code
	c *C.tvmgo_kernels
}

// code is what kernels are loaded from. It lives as long as the module or one of its functions does.
type code struct {
	c  *C.tvmgo_kernels
	of *kernels.Code

	mu     sync.Mutex // held while a kernel is loaded
	loaded map[int]*loadedImage
}

// loadedImage is a module's code on one device.
type loadedImage struct {
	module C.CUmodule
	image  []byte
	epoch  uint32          // of the device, when it was loaded
	about  *cudaimage.Info // of the image; nil when it cannot be read here, which says nothing of the driver
}

func load(p runtime.Payload) (runtime.ModuleImpl, error) {
	c, err := kernels.Parse(p, dlpack.CUDA)
	if err != nil {
		return nil, err
	}
	return newModule(c)
}

func newModule(of *kernels.Code) (runtime.ModuleImpl, error) {
	switch of.Module.Format {
	case "", "cu":
		of.Module.Format = sourceFormat
	case sourceFormat, "ptx", "cubin", "fatbin":
	default:
		return nil, kernels.NotSupported("a module of kind %q holds %q: there are ptx, cubin, fatbin and cuda", Kind, of.Module.Format)
	}
	c := &code{of: of, loaded: map[int]*loadedImage{}}
	n := len(of.Module.Functions)
	h := cgo.NewHandle(c)
	c.c = C.tvmgo_kernels_new(&C.tvmgo_cu_kernels, C.int32_t(n), C.uintptr_t(h))
	if c.c == nil {
		h.Delete()
		return nil, runtime.Errorf(runtime.ErrOutOfMemory, "no memory for %d kernels", n)
	}
	device := kernels.Device{Title: "CUDA", TensorMaps: true, Clusters: true}
	for i := range of.Module.Functions {
		flags, err := device.Describe(unsafe.Pointer(c.c), i, &of.Module.Functions[i])
		if err != nil {
			C.tvmgo_kernels_release(c.c)
			return nil, err
		}
		C.tvmgo_cu_function_ready(c.c, C.int32_t(i), cBool(flags.Programmatic), cBool(flags.Cooperative))
	}
	return &module{Code: of, c: c.c}, nil
}

func cBool(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// Function returns a kernel as a function, or the one that prepares the global barrier.
func (m *module) Function(name string) (*runtime.Function, error) {
	if i := m.Index(name); i >= 0 {
		return functionFrom(C.tvmgo_kernel_object(m.c, C.int32_t(i)))
	}
	if name == prepareBarrier && m.mayHaveBarrier() {
		return functionFrom(C.tvmgo_cu_barrier_object(m.c))
	}
	return nil, runtime.ErrNotFound
}

// mayHaveBarrier looks for the barrier's number in the image, where names stand in full unless it is compressed: then it is only
// found out when it is used.
func (m *module) mayHaveBarrier() bool {
	if bytes.Contains(m.Module.Data, []byte(barrierState)) {
		return true
	}
	info, err := cudaimage.Describe(m.Module.Data)
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

// tvmgoCUDAModuleFree runs when a module and all its functions are gone. It is never called by the end of the process or of the
// library: then the driver is at its own end, and frees what there is.
//
//export tvmgoCUDAModuleFree
func tvmgoCUDAModuleFree(h C.uintptr_t) {
	c := cgo.Handle(h).Value().(*code)
	cgo.Handle(h).Delete()
	for dev, l := range c.loaded {
		if l.epoch != epoch(dev) {
			continue // it went with its context
		}
		C.tvmgo_cu_unload(C.tvmgo_cu_at(C.int32_t(dev)), l.module)
	}
}

// tvmgoCUDABuild loads a kernel on a device when it is first launched there.
//
//export tvmgoCUDABuild
func tvmgoCUDABuild(module C.uintptr_t, function, device C.int32_t) C.int {
	return guard(func() error {
		c := cgo.Handle(module).Value().(*code)
		c.mu.Lock()
		defer c.mu.Unlock()
		if C.tvmgo_cu_is_built(c.c, function, device) != 0 {
			return nil // another thread was first
		}
		return c.kernel(int(function), int(device))
	})
}

// tvmgoCUDAModule gives the module's code on a device, loaded if it has to be.
//
//export tvmgoCUDAModule
func tvmgoCUDAModule(module C.uintptr_t, device C.int32_t, out *unsafe.Pointer) C.int {
	return guard(func() error {
		c := cgo.Handle(module).Value().(*code)
		c.mu.Lock()
		defer c.mu.Unlock()
		l, err := c.on(int(device), "the module")
		if err == nil {
			*out = unsafe.Pointer(l.module)
		}
		return err
	})
}
