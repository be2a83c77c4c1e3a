package datamodule

import (
	"tvmgo/blob"
	"tvmgo/internal/fault"
	"tvmgo/internal/modulekind"
)

// vulkanSource is a module of kind vulkan.
type vulkanSource struct {
	deviceCode
	module *blob.VulkanModule
}

// NewVulkanSource makes a module of shaders.
func NewVulkanSource(m *blob.VulkanModule) (Module, error) {
	const op = "make device module"
	if m == nil || len(m.Shaders) == 0 {
		return nil, fault.New(op, fault.InvalidArgument, "a module of kind %q needs shaders", modulekind.Vulkan.Name)
	}
	own := *m
	if own.Format == "" {
		own.Format = modulekind.Vulkan.Name
	}
	for _, f := range own.Functions {
		if _, ok := own.Shader(f.Key); !ok {
			return nil, fault.New(op, fault.InvalidArgument, "function %q has no shader of this key", f.Key)
		}
	}
	if _, err := own.Encode(blob.Modern); err != nil {
		return nil, fault.Wrap(op, fault.InvalidArgument, err)
	}
	code := deviceCode{kind: modulekind.Vulkan.Name, functions: own.Functions, payload: &own}
	return &vulkanSource{code, &own}, nil
}

// LoadVulkanSource makes a module from a payload.
func LoadVulkanSource(p Payload) (Module, error) {
	m, err := blob.ParseVulkanModule(p.Data, p.Layout)
	if err != nil {
		return nil, fault.Wrap("load "+p.Kind, fault.CorruptModule, err)
	}
	return &vulkanSource{deviceCode{kind: p.Kind, functions: m.Functions, payload: m, saved: p}, m}, nil
}

// GetSource fails: shaders are saved without their source.
func (m *vulkanSource) GetSource(format string) (string, error) {
	return "", fault.New("get source", fault.NotSupported, "a module of kind %q holds SPIR-V, which is no text",
		modulekind.Vulkan.Name)
}

func (m *vulkanSource) WriteFormats() []string { return []string{modulekind.Vulkan.Name} }

// SaveToFile writes the shaders, and a file with the description of the kernels.
func (m *vulkanSource) SaveToFile(path, format string) error {
	const op = "save module"
	if f := fileFormat(path, format); f != modulekind.Vulkan.Name {
		return wrongFormat(op, modulekind.Vulkan.Name, path, f, m.WriteFormats())
	}
	data, err := blob.EncodeVulkanFile(m.module.Shaders)
	if err != nil {
		return fault.Wrap(op, fault.InvalidArgument, err)
	}
	return m.writeWithMeta(op, path, data)
}
