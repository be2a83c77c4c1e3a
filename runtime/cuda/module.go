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

// Kind is the kind of this package's modules.
const Kind = "cuda"

// TVM's kernels with a global barrier use this function of the module and this variable of its image.
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
		panic(err) // another package of the program registered the same kind
	}
}

// kernelsOf describes the kernels of CUDA devices.
var kernelsOf = kernels.Device{Title: "CUDA", TensorMaps: true, Clusters: true,
	Class: unsafe.Pointer(&C.tvmgo_cu_kernels)}

// module is a module whose kernels can be launched. Its functions remain callable after Close.
type module struct{ *kernels.Module }

// code is the kernels.Builder of a module. It lives as long as the module or one of its functions. Its lock is held
// while a kernel is loaded.
type code struct {
	sync.Mutex
	of     *blob.DeviceModule
	loaded map[int]*loadedImage
}

// loadedImage is a module's code on one device.
type loadedImage struct {
	module C.CUmodule
	image  []byte
	epoch  uint32          // the device's epoch when it was loaded
	about  *cudaimage.Info // nil if this package cannot read the image; the driver may still be able to load it
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
		return nil, kernels.NotSupported("a module of kind %q cannot have the format %q: use ptx, cubin, fatbin or cuda",
			Kind, of.Format)
	}
	m, err := kernelsOf.NewModule(data, &code{of: of, loaded: map[int]*loadedImage{}})
	if err != nil {
		return nil, err
	}
	return &module{m}, nil
}

// Function returns a kernel by name, or the function that prepares the global barrier.
func (m *module) Function(name string) (*runtime.Function, error) {
	f, err := m.Module.Function(name)
	if err == runtime.ErrNotFound && name == prepareBarrier && m.mayHaveBarrier() {
		return kernels.FunctionOf(C.tvmgo_cu_barrier_object((*C.tvmgo_kernels)(m.C())))
	}
	return f, err
}

// mayHaveBarrier reports whether the image may contain the barrier's variable. A compressed image hides names, so that
// only the use of the function shows it.
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
			continue // a lost module does not exist in the driver any more
		}
		C.tvmgo_cu_unload(C.tvmgo_cu_at(C.int32_t(dev)), l.module)
	}
}

// Build implements kernels.Builder: it loads a kernel on a device.
func (c *code) Build(k unsafe.Pointer, i, dev int) error {
	return raised(c.kernel((*C.cu_function)(k), &c.of.Functions[i], dev))
}

// tvmgoCUDAModule returns the module's CUmodule on a device, and loads it if necessary.
//
//export tvmgoCUDAModule
func tvmgoCUDAModule(module C.uintptr_t, device C.int32_t, out *unsafe.Pointer) C.int {
	return guard(func() error {
		c := cgo.Handle(module).Value().(*code)
		c.Lock()
		defer c.Unlock()
		l, err := c.loadedOn(int(device), "the module")
		if err == nil {
			*out = unsafe.Pointer(l.module)
		}
		return err
	})
}
