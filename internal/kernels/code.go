package kernels

import (
	"slices"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// Code is a device module as data, which Module makes callable. It is constant after NewModule.
type Code struct {
	runtime.ModuleBase
	Kind    string
	Device  dlpack.DeviceType
	Kernels []blob.Function
	// Payload is the *blob.DeviceModule or *blob.VulkanModule that Kernels are of.
	Payload interface {
		Function(key string) (blob.FunctionInfo, bool)
		Encode(layout blob.Layout) ([]byte, error)
	}
	// Source returns the module as data in package runtime, which shows and saves it.
	Source func() (*runtime.Module, error)

	saved  []byte      // the payload that it was loaded from; nil for others
	layout blob.Layout // of saved
}

// Layout is the layout of a payload.
func Layout(p runtime.Payload) blob.Layout {
	if p.Legacy {
		return blob.Legacy
	}
	return blob.Modern
}

// SavedFrom makes SaveToBinary return a payload's bytes unchanged, for its layout. It keeps the bytes.
func (c *Code) SavedFrom(p runtime.Payload) { c.saved, c.layout = p.Data, Layout(p) }

// Parse reads the payload of a kind whose code is one piece. Saving returns the same bytes.
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

// New takes a module whose code is one piece, which is copied.
func New(kind string, device dlpack.DeviceType, m *blob.DeviceModule) *Code {
	return code(kind, device, &blob.DeviceModule{Format: m.Format, Functions: m.Functions, Data: slices.Clone(m.Data)})
}

func code(kind string, device dlpack.DeviceType, m *blob.DeviceModule) *Code {
	return &Code{Kind: kind, Device: device, Kernels: m.Functions, Payload: m,
		Source: func() (*runtime.Module, error) { return runtime.NewDeviceSource(kind, m) }}
}

// DeviceModule is the payload of a kind whose code is one piece.
func (c *Code) DeviceModule() *blob.DeviceModule { return c.Payload.(*blob.DeviceModule) }

// Functions lists the kernels.
func (c *Code) Functions() []string {
	var names []string
	for _, f := range c.Kernels {
		names = append(names, f.Key)
	}
	slices.Sort(names)
	return names
}

// Kernel describes a kernel.
func (c *Code) Kernel(name string) (blob.FunctionInfo, bool) { return c.Payload.Function(name) }

// DeviceType is the type of the devices that kernels run on.
func (c *Code) DeviceType() dlpack.DeviceType { return c.Device }

// GetSource returns code that is text.
func (c *Code) GetSource(format string) (string, error) {
	data, err := c.Source()
	if err != nil {
		return "", err
	}
	defer data.Close()
	return data.GetSource(format)
}

// SaveToFile writes the code, and beside it the description of its kernels.
func (c *Code) SaveToFile(path, format string) error {
	data, err := c.Source()
	if err != nil {
		return err
	}
	defer data.Close()
	return data.SaveToFile(path, format)
}

// WriteFormats is the suffix of files with such code.
func (c *Code) WriteFormats() []string {
	if m, ok := c.Payload.(*blob.DeviceModule); ok {
		return []string{m.Suffix()}
	}
	return []string{c.Kind}
}

// SaveToBinary is SaveToBinaryFor of the modern layout.
func (c *Code) SaveToBinary() ([]byte, error) { return c.SaveToBinaryFor(blob.Modern) }

// SaveToBinaryFor returns the payload for a file: the one that the module was loaded from, if its layout is that.
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
