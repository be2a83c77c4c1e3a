package kernels

/*
#include "kernels.h"
*/
import "C"

import (
	goruntime "runtime"
	"runtime/cgo"
	"slices"
	"sync"
	"unsafe"

	"tvmgo/blob"
	"tvmgo/runtime"
)

// Builder compiles or loads the kernels of one module. Its lock is held during Build.
type Builder interface {
	sync.Locker
	// Build compiles or loads kernel i for a device and passes the result to tvmgo_kernel_set_built. k is the kernel's
	// tvmgo_kernel.
	Build(k unsafe.Pointer, i, device int) error
	// Free is called once, after the module and all its functions have been released. It is not called when the process
	// exits, because the driver then frees everything.
	Free()
}

// Module is a device module whose kernels can be launched. Its functions remain callable after Close.
type Module struct {
	*Code
	c *C.tvmgo_kernels
}

// NewModule returns a module that launches the kernels of code. It takes ownership of the builder, even if it fails.
func (d Device) NewModule(code *Code, b Builder) (*Module, error) {
	h := cgo.NewHandle(b)
	c := C.tvmgo_kernels_new((*C.tvmgo_kernel_class)(d.Class), C.int32_t(len(code.Kernels)), C.uintptr_t(h))
	if c == nil {
		h.Delete()
		b.Free()
		return nil, runtime.Errorf(runtime.ErrOutOfMemory, "no memory for %d kernels", len(code.Kernels))
	}
	for i := range code.Kernels {
		if err := d.describe(c, i, &code.Kernels[i]); err != nil {
			C.tvmgo_kernels_release(c)
			return nil, err
		}
	}
	return &Module{Code: code, c: c}, nil
}

// C returns the module's tvmgo_kernels.
func (m *Module) C() unsafe.Pointer { return unsafe.Pointer(m.c) }

// Function returns a kernel by name. It also returns the function blob.OffsetAlignment, if kernels take tensors.
func (m *Module) Function(name string) (*runtime.Function, error) {
	if m.c.cls.offset_alignment != nil && name == blob.OffsetAlignment(m.Kind) {
		return FunctionOf(C.tvmgo_kernels_alignment_object(m.c))
	}
	i := slices.IndexFunc(m.Kernels, func(f blob.Function) bool { return f.Key == name })
	if i < 0 {
		return nil, runtime.ErrNotFound
	}
	return FunctionOf(C.tvmgo_kernel_object(m.c, C.int32_t(i)))
}

// KernelResources implements runtime.KernelReporter.
func (m *Module) KernelResources(name string, device int, c runtime.LaunchConfig) (r runtime.KernelResources,
	err error) {
	i := slices.IndexFunc(m.Kernels, func(f blob.Function) bool { return f.Key == name })
	if i < 0 {
		return r, runtime.ErrNotFound
	}
	threads := max(c.Block[0], 0)
	for _, n := range c.Block[1:] {
		threads *= max(n, 1)
	}
	goruntime.LockOSThread() // an error is raised on the calling thread
	defer goruntime.UnlockOSThread()
	var out C.tvmgo_kernel_report
	switch C.tvmgo_kernel_report_on(m.c, C.int32_t(i), C.int32_t(device), C.int64_t(threads),
		C.size_t(max(c.SharedBytes, 0)), &out) {
	case 1:
		return r, NotSupported("the driver of %v reports nothing about kernels", m.Device)
	case -1:
		return r, Raised()
	}
	return runtime.KernelResources{Registers: int64(out.registers), LocalBytes: int64(out.local_bytes),
		SharedBytes: int64(out.shared_bytes), ConstantBytes: int64(out.constant_bytes), MaxThreads: int64(out.max_threads),
		Multiple: int64(out.multiple), Blocks: int64(out.blocks)}, nil
}

// FunctionOf returns a function object that C created, and takes ownership of it. If object is nil it returns the error
// that C raised.
func FunctionOf(object unsafe.Pointer) (*runtime.Function, error) {
	if object == nil {
		return nil, Raised()
	}
	return runtime.FunctionFromHandle(object)
}

// Close releases the module's own reference to its kernels. Functions that are in use keep the kernels alive.
func (m *Module) Close() error {
	C.tvmgo_kernels_release(m.c)
	return nil
}

// tvmgoKernelBuild builds a kernel for a device when it is first launched there.
//
//export tvmgoKernelBuild
func tvmgoKernelBuild(module C.uintptr_t, k *C.tvmgo_kernel, index, device C.int32_t) C.int {
	return C.int(Guard(func() error {
		b := cgo.Handle(module).Value().(Builder)
		b.Lock()
		defer b.Unlock()
		if C.tvmgo_kernel_is_built(k, device) != 0 {
			return nil // another thread was first
		}
		return b.Build(unsafe.Pointer(k), int(index), int(device))
	}))
}

// tvmgoKernelsFree is called after a module and all its functions have been released.
//
//export tvmgoKernelsFree
func tvmgoKernelsFree(module C.uintptr_t) {
	b := cgo.Handle(module).Value().(Builder)
	cgo.Handle(module).Delete()
	b.Free()
}
