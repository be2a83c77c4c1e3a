package datamodule

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tvmgo/blob"
	"tvmgo/internal/fault"
	"tvmgo/internal/modulekind"
)

// deviceCode is the common part of modules for devices that are not enabled.
type deviceCode struct {
	Base
	kind      string
	functions []blob.Function
	payload   interface {
		Encode(layout blob.Layout) ([]byte, error)
	}
	saved Payload // the loaded payload, which is saved unchanged
}

func (m *deviceCode) Functions() []string {
	names := make([]string, len(m.functions))
	for i, f := range m.functions {
		names[i] = f.Key
	}
	slices.Sort(names)
	return names
}

func (m *deviceCode) Function(name string) (Function, error) {
	if !slices.ContainsFunc(m.functions, func(f blob.Function) bool { return f.Key == name }) {
		return nil, fault.NotFound
	}
	cure := "register the kind with runtime.RegisterModuleKind"
	if path := blob.LoaderImport(m.kind); path != "" {
		cure = "import " + path + ", or use a libtvmgo that was built with it"
	}
	if why := Host.NoDevice(m.kind); why != "" {
		cure = why
	}
	return nil, fault.New("get function", fault.DeviceUnavailable,
		"kernel %q: nothing here can run modules of kind %q: %s", name, m.kind, cure)
}

// deviceSource is a module of kind cuda, opencl or another kind with one piece of device code.
type deviceSource struct {
	deviceCode
	module *blob.DeviceModule
}

// NewDeviceSource makes a module of device code.
func NewDeviceSource(kind string, m *blob.DeviceModule) (Module, error) {
	const op = "make device module"
	if known := modulekind.OfForm(modulekind.Device); !slices.Contains(known, kind) {
		return nil, fault.New(op, fault.InvalidArgument, "kind %q is none of %s", kind, strings.Join(known, ", "))
	}
	if m == nil || m.Format == "" || len(m.Data) == 0 {
		return nil, fault.New(op, fault.InvalidArgument, "a module of kind %q needs a format and code", kind)
	}
	if _, err := (&blob.DeviceModule{Format: m.Format, Functions: m.Functions}).Encode(blob.Modern); err != nil {
		return nil, fault.Wrap(op, fault.InvalidArgument, err)
	}
	return &deviceSource{deviceCode{kind: kind, functions: m.Functions, payload: m}, m}, nil
}

// LoadDeviceSource makes a module from a payload.
func LoadDeviceSource(p Payload) (Module, error) {
	m, err := blob.ParseDeviceModule(p.Data, p.Layout)
	if err != nil {
		return nil, fault.Wrap("load "+p.Kind, fault.CorruptModule, err)
	}
	return &deviceSource{deviceCode{kind: p.Kind, functions: m.Functions, payload: m, saved: p}, m}, nil
}

// GetSource returns the device code if it is text, or the text that it was compiled from.
func (m *deviceSource) GetSource(format string) (string, error) {
	const op = "get source"
	if from := modulekind.CodeFormat(m.module.SourceFormat); m.module.Source != "" &&
		(format == from.Suffix || format == from.Name() || format == "" && !modulekind.CodeFormat(m.module.Format).Text) {
		return m.module.Source, nil
	}
	if !modulekind.CodeFormat(m.module.Format).Text {
		return "", fault.New(op, fault.NotSupported, "the module of kind %q holds %s, which is no text", m.kind,
			m.module.Format)
	}
	if format != "" && format != m.module.Format && format != m.module.Suffix() {
		return "", fault.New(op, fault.NotSupported, "the module of kind %q holds %s, not %s", m.kind, m.module.Format,
			format)
	}
	return string(m.module.Data), nil
}

func (m *deviceSource) WriteFormats() []string { return []string{m.module.Suffix()} }

// SaveToFile writes the code, and a file with the description of its kernels.
func (m *deviceSource) SaveToFile(path, format string) error {
	const op = "save module"
	if f := fileFormat(path, format); f != m.module.Suffix() && f != m.module.Format {
		return wrongFormat(op, m.kind, path, f, m.WriteFormats())
	}
	return m.writeWithMeta(op, path, m.module.Data)
}

func (m *deviceCode) SaveToBinary() ([]byte, error) { return m.SaveToBinaryFor(blob.Modern) }

func (m *deviceCode) SaveToBinaryFor(layout blob.Layout) ([]byte, error) {
	if m.saved.Data != nil && m.saved.Layout == layout {
		return m.saved.Data, nil
	}
	data, err := m.payload.Encode(layout)
	return data, fault.Wrap("save module", fault.InvalidArgument, err)
}

func (m *deviceCode) writeWithMeta(op, path string, code []byte) error {
	meta, err := blob.EncodeMetaJSON(m.functions)
	if err != nil {
		return fault.Wrap(op, fault.InvalidArgument, err)
	}
	return writeFiles(op, outFile{path, code}, outFile{MetaPath(path), meta})
}

// MetaPath returns the path of the file that describes the kernels of a device file.
func MetaPath(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + ".tvm_meta.json"
}

// ReadMeta reads the description of the kernels of a device file.
func ReadMeta(path string) ([]blob.Function, error) {
	data, err := ReadFile(MetaPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		missing := fault.New("load "+path, fault.NotFound,
			"%s is missing: it describes the kernels, and is written together with %s",
			MetaPath(path), filepath.Base(path))
		missing.Err = err
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	meta, err := blob.ParseMetaJSON(data)
	if err != nil {
		return nil, fault.Wrap("load "+MetaPath(path), fault.CorruptModule, err)
	}
	return meta.Functions, nil
}
