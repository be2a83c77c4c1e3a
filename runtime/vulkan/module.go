package vulkan

/*
#include "launch.h"
*/
import "C"

import (
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

// kernelsOf describes Vulkan's kernels.
var kernelsOf = kernels.Device{Title: "Vulkan", Class: unsafe.Pointer(&C.tvmgo_vk_kernels)}

// code makes pipelines. It lives as long as the module or one of its functions does; its lock is held while one is
// made.
type code struct {
	sync.Mutex
	of *blob.VulkanModule
}

func load(p runtime.Payload) (runtime.ModuleImpl, error) {
	p.Data = slices.Clone(p.Data) // shaders are views of it
	of, err := blob.ParseVulkanModule(p.Data, kernels.Layout(p))
	if err != nil {
		return nil, kernels.Corrupt("%v", err)
	}
	data := dataOf(of)
	data.SavedFrom(p)
	return newModule(data, of)
}

// fromCode makes a module of one SPIR-V module with all kernels.
func fromCode(m *blob.DeviceModule) (runtime.ModuleImpl, error) {
	if !slices.Contains(formats, m.Format) {
		return nil, kernels.NotSupported(`code of the format %q: modules of kind %q are made from SPIR-V, "spv"`, m.Format,
			Kind)
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
	return newModule(dataOf(of), of)
}

// dataOf is a module as data.
func dataOf(of *blob.VulkanModule) *kernels.Code {
	return &kernels.Code{Kind: Kind, Device: dlpack.Vulkan, Kernels: of.Functions, Payload: of,
		Source: func() (*runtime.Module, error) { return runtime.NewVulkanSource(of) }}
}

func newModule(data *kernels.Code, of *blob.VulkanModule) (runtime.ModuleImpl, error) {
	for _, f := range of.Functions {
		if _, ok := of.Shader(f.Key); !ok {
			return nil, kernels.Corrupt("kernel %s has no shader", f.Key)
		}
	}
	m, err := kernelsOf.NewModule(data, &code{of: of})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Free does nothing: C drops the pipelines.
func (c *code) Free() {}
