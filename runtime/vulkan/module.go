package vulkan

/*
#include "launch.h"
*/
import "C"

import (
	"runtime/cgo"
	"slices"
	"sync"
	"unsafe"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/kernels"
	"tvmgo/runtime"
)

// Kind is the kind of the modules of this package.
const Kind = "vulkan"

// formats are what SPIR-V is called in NewDeviceModule.
var formats = []string{"", "spv", "spirv", Kind}

func init() {
	err := runtime.RegisterModuleKind(runtime.ModuleKind{Name: Kind, Properties: runtime.Serializable | runtime.Runnable,
		Load: load, Make: fromCode})
	if err != nil {
		panic(err) // two packages for one kind are in the program
	}
}

// module is what runtime holds of a module; its kernels may be used after it is closed.
type module struct {
	runtime.ModuleBase
	of     *blob.VulkanModule
	saved  []byte // the payload that it was loaded from; nil for others
	layout blob.Layout
	c      *C.tvmgo_kernels
}

// code is what pipelines are made from. It lives as long as the module or one of its functions does.
type code struct {
	c  *C.tvmgo_kernels
	of *blob.VulkanModule
	mu sync.Mutex // held while a pipeline is made
}

func load(p runtime.Payload) (runtime.ModuleImpl, error) {
	layout := blob.Modern
	if p.Legacy {
		layout = blob.Legacy
	}
	data := slices.Clone(p.Data) // shaders are views of it
	of, err := blob.ParseVulkanModule(data, layout)
	if err != nil {
		return nil, kernels.Corrupt("%v", err)
	}
	return newModule(&module{of: of, saved: data, layout: layout})
}

// fromCode makes a module of one SPIR-V module with all kernels.
func fromCode(m *blob.DeviceModule) (runtime.ModuleImpl, error) {
	if !slices.Contains(formats, m.Format) {
		return nil, kernels.NotSupported(`code of the format %q: modules of kind %q are made from SPIR-V, "spv"`, m.Format, Kind)
	}
	words, err := parse(m.Data)
	if err != nil {
		return nil, kernels.Corrupt("%v", err)
	}
	of := &blob.VulkanModule{Format: Kind, Functions: m.Functions}
	for _, f := range m.Functions {
		e, err := entryPoint(words, f.Name)
		if err != nil {
			return nil, err
		}
		s := blob.Shader{Key: f.Key, Code: words.Bytes()}
		if e.ScalarsInUniform() {
			s.Flag = blob.ShaderUniformScalars
		}
		of.Shaders = append(of.Shaders, s)
	}
	return newModule(&module{of: of})
}

func newModule(m *module) (runtime.ModuleImpl, error) {
	n := len(m.of.Functions)
	c := &code{of: m.of}
	h := cgo.NewHandle(c)
	c.c = C.tvmgo_kernels_new(&C.tvmgo_vk_kernels, C.int32_t(n), C.uintptr_t(h))
	if c.c == nil {
		h.Delete()
		return nil, runtime.Errorf(runtime.ErrOutOfMemory, "no memory for %d kernels", n)
	}
	for i := range m.of.Functions {
		if err := c.describe(i); err != nil {
			C.tvmgo_kernels_release(c.c)
			return nil, err
		}
	}
	m.c = c.c
	return m, nil
}

// describe tells C what a call of kernel i looks like.
func (c *code) describe(i int) error {
	f := &c.of.Functions[i]
	if _, ok := c.of.Shader(f.Key); !ok {
		return kernels.Corrupt("kernel %s has no shader", f.Key)
	}
	if _, err := (kernels.Device{Title: "Vulkan"}).Describe(unsafe.Pointer(c.c), i, f); err != nil {
		return err
	}
	if C.tvmgo_vk_function_ready(c.c, C.int32_t(i)) != 0 {
		return kernels.Raised()
	}
	return nil
}

// Functions lists the kernels.
func (m *module) Functions() []string {
	var names []string
	for _, f := range m.of.Functions {
		names = append(names, f.Key)
	}
	slices.Sort(names)
	return names
}

// Function returns a kernel as a function.
func (m *module) Function(name string) (*runtime.Function, error) {
	if name == blob.OffsetAlignment("vulkan") {
		return functionFrom(C.tvmgo_kernels_alignment_object(m.c))
	}
	i := slices.IndexFunc(m.of.Functions, func(f blob.Function) bool { return f.Key == name })
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

// Kernel describes a kernel.
func (m *module) Kernel(name string) (blob.FunctionInfo, bool) { return m.of.Function(name) }

// DeviceType is where kernels run.
func (m *module) DeviceType() dlpack.DeviceType { return dlpack.Vulkan }

// Close gives the module's own reference to its kernels up; functions that are in use keep them.
func (m *module) Close() error {
	C.tvmgo_kernels_release(m.c)
	return nil
}

//export tvmgoVulkanModuleFree
func tvmgoVulkanModuleFree(h C.uintptr_t) { cgo.Handle(h).Delete() }

// data is the module as data, which knows how it is shown and saved.
func (m *module) data() (*runtime.Module, error) { return runtime.NewVulkanSource(m.of) }

// GetSource fails: SPIR-V is no text.
func (m *module) GetSource(format string) (string, error) {
	data, err := m.data()
	if err != nil {
		return "", err
	}
	defer data.Close()
	return data.GetSource(format)
}

// SaveToFile writes the shaders, and beside them the description of the kernels.
func (m *module) SaveToFile(path, format string) error {
	data, err := m.data()
	if err != nil {
		return err
	}
	defer data.Close()
	return data.SaveToFile(path, format)
}

// WriteFormats is the suffix of files with shaders.
func (m *module) WriteFormats() []string { return []string{Kind} }

// SaveToBinary is SaveToBinaryFor of the modern layout.
func (m *module) SaveToBinary() ([]byte, error) { return m.SaveToBinaryFor(blob.Modern) }

// SaveToBinaryFor returns the payload for a file; the one that the module came from where it fits.
func (m *module) SaveToBinaryFor(layout blob.Layout) ([]byte, error) {
	if m.saved != nil && m.layout == layout {
		return m.saved, nil
	}
	data, err := m.of.Encode(layout)
	if err != nil {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "save module: %v", err)
	}
	return data, nil
}
