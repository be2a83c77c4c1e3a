package kernels

import (
	"slices"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// Code is a device module as data: what a runtime.ModuleImpl of a device kind embeds. Constant once it is made.
type Code struct {
	runtime.ModuleBase
	Kind   string
	Device dlpack.DeviceType
	Module *blob.DeviceModule
	saved  []byte      // the payload that it was loaded from; nil for others
	layout blob.Layout // of that payload
}

// Parse reads a payload, of which nothing is lost on the way back.
func Parse(p runtime.Payload, device dlpack.DeviceType) (*Code, error) {
	layout := blob.Modern
	if p.Legacy {
		layout = blob.Legacy
	}
	m, err := blob.ParseDeviceModule(p.Data, layout)
	if err != nil {
		return nil, Corrupt("%v", err)
	}
	c := New(p.Kind, device, m)
	c.saved, c.layout = slices.Clone(p.Data), layout
	return c, nil
}

// New takes a module that comes from no file. Its code is copied.
func New(kind string, device dlpack.DeviceType, m *blob.DeviceModule) *Code {
	own := &blob.DeviceModule{Format: m.Format, Functions: m.Functions, Data: slices.Clone(m.Data)}
	return &Code{Kind: kind, Device: device, Module: own}
}

// Index finds a kernel; -1 when there is none of this name.
func (c *Code) Index(name string) int {
	return slices.IndexFunc(c.Module.Functions, func(f blob.Function) bool { return f.Key == name })
}

// Functions lists the kernels.
func (c *Code) Functions() []string {
	var names []string
	for _, f := range c.Module.Functions {
		names = append(names, f.Key)
	}
	slices.Sort(names)
	return names
}

// Kernel describes a kernel.
func (c *Code) Kernel(name string) (blob.FunctionInfo, bool) { return c.Module.Function(name) }

// DeviceType is where kernels run.
func (c *Code) DeviceType() dlpack.DeviceType { return c.Device }

// data is the module as data, which knows how it is shown and saved.
func (c *Code) data() (*runtime.Module, error) { return runtime.NewDeviceSource(c.Kind, c.Module) }

// GetSource returns code that is text.
func (c *Code) GetSource(format string) (string, error) {
	data, err := c.data()
	if err != nil {
		return "", err
	}
	defer data.Close()
	return data.GetSource(format)
}

// SaveToFile writes the code, and beside it the description of its kernels.
func (c *Code) SaveToFile(path, format string) error {
	data, err := c.data()
	if err != nil {
		return err
	}
	defer data.Close()
	return data.SaveToFile(path, format)
}

// WriteFormats is the suffix of the one format that the code is in.
func (c *Code) WriteFormats() []string { return []string{c.Module.Suffix()} }

// SaveToBinary is SaveToBinaryFor of the modern layout.
func (c *Code) SaveToBinary() ([]byte, error) { return c.SaveToBinaryFor(blob.Modern) }

// SaveToBinaryFor returns the payload for a file; the one that the module came from where it fits.
func (c *Code) SaveToBinaryFor(layout blob.Layout) ([]byte, error) {
	if c.saved != nil && c.layout == layout {
		return c.saved, nil
	}
	data, err := c.Module.Encode(layout)
	if err != nil {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "save module: %v", err)
	}
	return data, nil
}
