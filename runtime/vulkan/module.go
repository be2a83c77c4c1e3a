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

// Kind is the kind of this package's modules.
const Kind = "vulkan"

// formats has the names of SPIR-V that NewDeviceModule accepts as a format.
var formats = []string{"", "spv", "spirv", Kind}

func init() {
	err := runtime.RegisterModuleKind(runtime.ModuleKind{Name: Kind, Properties: runtime.Serializable | runtime.Runnable,
		Load: load, Make: fromCode})
	if err != nil {
		panic(err) // another package of the program registered the same kind
	}
}

// kernelsOf describes the kernels of Vulkan devices.
var kernelsOf = kernels.Device{Title: "Vulkan", Class: unsafe.Pointer(&C.tvmgo_vk_kernels)}

// code is the kernels.Builder of a module. It lives as long as the module or one of its functions. Its lock is held
// while a pipeline is created.
type code struct {
	sync.Mutex
	of *blob.VulkanModule
}

func load(p runtime.Payload) (runtime.ModuleImpl, error) {
	p.Data = slices.Clone(p.Data) // the shaders are slices of it
	of, err := blob.ParseVulkanModule(p.Data, kernels.Layout(p))
	if err != nil {
		return nil, kernels.Corrupt("%v", err)
	}
	data := dataOf(of)
	data.SavedFrom(p)
	return newModule(data, of)
}

// fromCode creates a module from one SPIR-V module that contains all kernels.
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

// dataOf returns the Code of a module.
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

// Free does nothing, because C destroys the pipelines.
func (c *code) Free() {}
