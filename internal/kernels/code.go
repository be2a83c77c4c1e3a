package kernels

import (
	"slices"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// Code is the data of a device module; Module makes its kernels callable. Nothing changes a Code after NewModule.
type Code struct {
	runtime.ModuleBase
	Kind    string
	Device  dlpack.DeviceType
	Kernels []blob.Function
	// Payload is the *blob.DeviceModule or *blob.VulkanModule that contains the kernels.
	Payload interface {
		Function(key string) (blob.FunctionInfo, bool)
		Encode(layout blob.Layout) ([]byte, error)
	}
	// Source returns a module of package runtime with the same code, which can be printed and saved but not run.
	Source func() (*runtime.Module, error)

	saved  []byte      // the payload from which the module was loaded; nil if it was not loaded
	layout blob.Layout // the layout of saved
}

// Layout returns the layout of a payload.
func Layout(p runtime.Payload) blob.Layout {
	if p.Legacy {
		return blob.Legacy
	}
	return blob.Modern
}

// SavedFrom makes SaveToBinaryFor return the payload's bytes unchanged if the layouts are the same. It keeps a
// reference to the bytes.
func (c *Code) SavedFrom(p runtime.Payload) { c.saved, c.layout = p.Data, Layout(p) }

// Parse reads a payload whose code is a single binary or text. Saving the result returns the same bytes.
func Parse(p runtime.Payload, device dlpack.DeviceType) (*Code, error) {
	p.Data = slices.Clone(p.Data)
	m, err := blob.ParseDeviceModule(p.Data, Layout(p))
	if err != nil {
		return nil, Corrupt("%v", err)
	}
	c := code(p.Kind, device, m)
	c.SavedFrom(p)
	return c, nil
}

// New returns the Code of a module whose code is a single binary or text. It copies the code.
func New(kind string, device dlpack.DeviceType, m *blob.DeviceModule) *Code {
	own := *m
	own.Data = slices.Clone(m.Data)
	return code(kind, device, &own)
}

func code(kind string, device dlpack.DeviceType, m *blob.DeviceModule) *Code {
	return &Code{Kind: kind, Device: device, Kernels: m.Functions, Payload: m,
		Source: func() (*runtime.Module, error) { return runtime.NewDeviceSource(kind, m) }}
}

// DeviceModule returns the payload of a module that Parse or New made.
func (c *Code) DeviceModule() *blob.DeviceModule { return c.Payload.(*blob.DeviceModule) }

// Functions returns the sorted names of the kernels.
func (c *Code) Functions() []string {
	var names []string
	for _, f := range c.Kernels {
		names = append(names, f.Key)
	}
	slices.Sort(names)
	return names
}

// Kernel returns the description of a kernel, and whether the kernel exists.
func (c *Code) Kernel(name string) (blob.FunctionInfo, bool) { return c.Payload.Function(name) }

// KernelCode implements runtime.KernelReporter.
func (c *Code) KernelCode(name string) (runtime.KernelCode, error) {
	switch m := c.Payload.(type) {
	case *blob.DeviceModule:
		return runtime.KernelCode{Format: m.Suffix(), Data: slices.Clone(m.Data), Source: m.Source}, nil
	case *blob.VulkanModule:
		if s, ok := m.Shader(name); ok {
			return runtime.KernelCode{Format: "spv", Data: slices.Clone(s.Code)}, nil
		}
	}
	return runtime.KernelCode{}, runtime.ErrNotFound
}

// DeviceType returns the type of the devices on which the kernels run.
func (c *Code) DeviceType() dlpack.DeviceType { return c.Device }

// GetSource returns the code if it is text, and an error otherwise.
func (c *Code) GetSource(format string) (string, error) {
	data, err := c.Source()
	if err != nil {
		return "", err
	}
	defer data.Close()
	return data.GetSource(format)
}

// SaveToFile writes the code to a file, and the description of its kernels to a second file beside it.
func (c *Code) SaveToFile(path, format string) error {
	data, err := c.Source()
	if err != nil {
		return err
	}
	defer data.Close()
	return data.SaveToFile(path, format)
}

// WriteFormats returns the suffix of files that SaveToFile writes.
func (c *Code) WriteFormats() []string {
	if m, ok := c.Payload.(*blob.DeviceModule); ok {
		return []string{m.Suffix()}
	}
	return []string{c.Kind}
}

// SaveToBinary returns the payload in the modern layout.
func (c *Code) SaveToBinary() ([]byte, error) { return c.SaveToBinaryFor(blob.Modern) }

// SaveToBinaryFor returns the payload in a layout. A module that was loaded from this layout returns the same bytes.
func (c *Code) SaveToBinaryFor(layout blob.Layout) ([]byte, error) {
	if c.saved != nil && c.layout == layout {
		return c.saved, nil
	}
	data, err := c.Payload.Encode(layout)
	if err != nil {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "save module: %v", err)
	}
	return data, nil
}
