package datamodule

import (
	"strings"

	"tvmgo/blob"
	"tvmgo/internal/fault"
	"tvmgo/internal/modulekind"
	"tvmgo/internal/spirv"
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

// GetSource returns the SPIR-V of the kernels as text, in the form of spirv-dis: formats "" and "spvasm". If there are
// several modules of SPIR-V, each follows a comment with the names of its kernels, in the order of Functions.
func (m *vulkanSource) GetSource(format string) (string, error) {
	const op = "get source"
	if format != "" && format != modulekind.SpirvText {
		return "", fault.New(op, fault.NotSupported, "a module of kind %q has SPIR-V, which it shows as %q, not %q",
			modulekind.Vulkan.Name, modulekind.SpirvText, format)
	}
	kernels := map[string][]string{} // the kernels of each module of SPIR-V
	var order []string
	for _, f := range m.module.Functions {
		s, ok := m.module.Shader(f.Key)
		if !ok {
			return "", fault.New(op, fault.CorruptModule, "kernel %q has no shader", f.Key)
		}
		code := string(s.Code)
		if kernels[code] == nil {
			order = append(order, code)
		}
		kernels[code] = append(kernels[code], f.Key)
	}
	var text strings.Builder
	for _, code := range order {
		one, err := spirv.Disassemble([]byte(code), spirv.TextOptions{})
		if err != nil {
			return "", fault.New(op, fault.CorruptModule, "the shader of kernel %q: %v", kernels[code][0], err)
		}
		if len(order) > 1 {
			text.WriteString("; kernels: " + strings.Join(kernels[code], ", ") + "\n")
		}
		text.WriteString(one)
	}
	return text.String(), nil
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
