package runtime

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/modulekind"
)

// saved is a payload as it came from a file, of which nothing is lost on the way back.
type saved struct {
	data   []byte
	layout blob.Layout
}

func savedFrom(p Payload) saved {
	s := saved{p.Data, blob.Modern}
	if p.Legacy {
		s.layout = blob.Legacy
	}
	return s
}

// deviceCode is what the modules of device kinds share while no device is there to run them.
type deviceCode struct {
	ModuleBase
	kind      string
	functions []blob.Function
	payload   interface {
		Encode(layout blob.Layout) ([]byte, error)
	}
	saved saved
}

func (m *deviceCode) Functions() []string {
	names := make([]string, len(m.functions))
	for i, f := range m.functions {
		names[i] = f.Key
	}
	slices.Sort(names)
	return names
}

func (m *deviceCode) Function(name string) (*Function, error) {
	if !slices.ContainsFunc(m.functions, func(f blob.Function) bool { return f.Key == name }) {
		return nil, ErrNotFound
	}
	cure := "register the kind with runtime.RegisterModuleKind"
	if path := blob.LoaderImport(m.kind); path != "" {
		cure = "import " + path + ", or use a libtvmgo that was built with it"
	}
	if why := whyNoDevice(m.kind); why != "" {
		cure = why
	}
	return nil, fault.New("get function", ErrDeviceUnavailable, "kernel %q: nothing here can run modules of kind %q: %s",
		name, m.kind, cure)
}

// whyNoDevice is what the device that a kind is named after says of itself; "" when it is not registered, or works.
func whyNoDevice(kind string) string {
	t, err := dlpack.ParseDeviceType(kind)
	if err != nil || !deviceRegistered(t) || DeviceExists(dlpack.Device{Type: t}) {
		return ""
	}
	err = deviceError(t)
	if e := (*Error)(nil); errors.As(err, &e) && e.Message != "" {
		return e.Message
	}
	return err.Error()
}

// deviceSource is a module of kind cuda, opencl and their relatives.
type deviceSource struct {
	deviceCode
	module *blob.DeviceModule
}

// NewDeviceSource makes a module of a device kind ("cuda", "opencl", "hip", "rocm" or "hsaco") that is data to be saved
// or exported. Its kernels run once it is loaded in a program where the device is enabled. It keeps m, which must not
// be changed afterwards. Any other kind is ErrInvalidArgument.
func NewDeviceSource(kind string, m *blob.DeviceModule) (*Module, error) {
	const op = "make device module"
	if known := modulekind.OfForm(modulekind.Device); !slices.Contains(known, kind) {
		return nil, fault.New(op, ErrInvalidArgument, "kind %q is none of %s", kind, strings.Join(known, ", "))
	}
	if m == nil || m.Format == "" || len(m.Data) == 0 {
		return nil, fault.New(op, ErrInvalidArgument, "a module of kind %q needs a format and code", kind)
	}
	if _, err := (&blob.DeviceModule{Format: m.Format, Functions: m.Functions}).Encode(blob.Modern); err != nil {
		return nil, fault.Wrap(op, ErrInvalidArgument, err)
	}
	return newBuiltin(kind, &deviceSource{deviceCode{kind: kind, functions: m.Functions, payload: m}, m})
}

// NewDeviceCode is NewDeviceSource for a module whose kernels also run at once, if the program imports the package of
// the kind, such as tvmgo/runtime/opencl. It does not touch a device before a kernel is launched.
func NewDeviceCode(kind string, m *blob.DeviceModule) (*Module, error) {
	data, err := NewDeviceSource(kind, m)
	if err != nil {
		return nil, err
	}
	return running(kind, func(layout blob.Layout) ([]byte, error) {
		defer data.Close()
		return m.Encode(layout)
	}, func() (*Module, error) { return data, nil })
}

func loadDeviceSource(p Payload) (ModuleImpl, error) {
	layout := savedFrom(p).layout
	m, err := blob.ParseDeviceModule(p.Data, layout)
	if err != nil {
		return nil, fault.Wrap("load "+p.Kind, ErrCorruptModule, err)
	}
	return &deviceSource{deviceCode{kind: p.Kind, functions: m.Functions, payload: m, saved: savedFrom(p)}, m}, nil
}

// GetSource returns device code that is text.
func (m *deviceSource) GetSource(format string) (string, error) {
	const op = "get source"
	if !modulekind.CodeFormat(m.module.Format).Text {
		return "", fault.New(op, ErrNotSupported, "the module of kind %q holds %s, which is no text", m.kind,
			m.module.Format)
	}
	if format != "" && format != m.module.Format && format != m.module.Suffix() {
		return "", fault.New(op, ErrNotSupported, "the module of kind %q holds %s, not %s", m.kind, m.module.Format, format)
	}
	return string(m.module.Data), nil
}

func (m *deviceSource) WriteFormats() []string { return []string{m.module.Suffix()} }

// SaveToFile writes the code, and beside it the description of its kernels.
func (m *deviceSource) SaveToFile(path, format string) error {
	const op = "save module"
	if f := fileFormat(path, format); f != m.module.Suffix() && f != m.module.Format {
		return wrongFormat(op, m.kind, path, f, m.WriteFormats())
	}
	return m.writeWithMeta(op, path, m.module.Data)
}

func (m *deviceCode) SaveToBinary() ([]byte, error) { return m.SaveToBinaryFor(blob.Modern) }

func (m *deviceCode) SaveToBinaryFor(layout blob.Layout) ([]byte, error) {
	if m.saved.data != nil && m.saved.layout == layout {
		return m.saved.data, nil
	}
	data, err := m.payload.Encode(layout)
	return data, fault.Wrap("save module", ErrInvalidArgument, err)
}

func (m *deviceCode) writeWithMeta(op, path string, code []byte) error {
	meta, err := blob.EncodeMetaJSON(m.functions)
	if err != nil {
		return fault.Wrap(op, ErrInvalidArgument, err)
	}
	return writeFiles(op, outFile{path, code}, outFile{metaPath(path), meta})
}

// metaPath is where the description of a device file's kernels lies.
func metaPath(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + ".tvm_meta.json"
}

// readMeta reads the description of the kernels of a device file.
func readMeta(path string) ([]blob.Function, error) {
	data, err := readModuleFile(metaPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		missing := fault.New("load "+path, ErrNotFound,
			"%s is missing: it describes the kernels, and is written together with %s",
			metaPath(path), filepath.Base(path))
		missing.Err = err
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	meta, err := blob.ParseMetaJSON(data)
	if err != nil {
		return nil, &Error{Op: "load " + metaPath(path), Kind: ErrCorruptModule, Code: CodeOf(ErrCorruptModule),
			Message: err.Error(), Err: err}
	}
	return meta.Functions, nil
}

// loadDeviceFile loads a file with the code of a kind.
func loadDeviceFile(kind, path, suffix string) (*Module, error) {
	code, err := readModuleFile(path)
	if err != nil {
		return nil, err
	}
	functions, err := readMeta(path)
	if err != nil {
		return nil, err
	}
	format := modulekind.CodeFormat(suffix)
	m := &blob.DeviceModule{Format: format.Name(), Functions: functions, Data: code}
	return running(kind, m.Encode, func() (*Module, error) { return NewDeviceSource(kind, m) })
}

// running makes a module by the loader that was registered for its kind, which can run it, or else as
// data.
func running(kind string, encode func(blob.Layout) ([]byte, error), asData func() (*Module, error)) (*Module, error) {
	const op = "load module"
	if isBuiltin(modernLoader + kind) {
		return asData()
	}
	loader, err := Global(modernLoader + kind)
	if err != nil {
		return nil, err
	}
	defer loader.Close()
	payload, err := encode(blob.Modern)
	if err != nil {
		return nil, fault.Wrap(op, ErrInvalidArgument, err)
	}
	v, err := loader.Call(payload)
	if err != nil {
		return nil, err
	}
	m, ok := v.(*Module)
	if !ok {
		closeAll([]any{v})
		return nil, fault.New(op, ErrFailed, "the loader of module kind %q returned no module", kind)
	}
	return m, nil
}

// vulkanSource is a module of kind vulkan.
type vulkanSource struct {
	deviceCode
	module *blob.VulkanModule
}

// NewVulkanSource makes a module of kind "vulkan" that is data to be saved or exported, as NewDeviceSource does. Every
// function needs a shader with its key. It keeps m, which must not be changed afterwards.
func NewVulkanSource(m *blob.VulkanModule) (*Module, error) {
	const op = "make device module"
	if m == nil || len(m.Shaders) == 0 {
		return nil, fault.New(op, ErrInvalidArgument, "a module of kind %q needs shaders", modulekind.Vulkan.Name)
	}
	own := *m
	if own.Format == "" {
		own.Format = modulekind.Vulkan.Name
	}
	for _, f := range own.Functions {
		if _, ok := own.Shader(f.Key); !ok {
			return nil, fault.New(op, ErrInvalidArgument, "function %q has no shader of this key", f.Key)
		}
	}
	if _, err := own.Encode(blob.Modern); err != nil {
		return nil, fault.Wrap(op, ErrInvalidArgument, err)
	}
	return newBuiltin(modulekind.Vulkan.Name,
		&vulkanSource{deviceCode{kind: modulekind.Vulkan.Name, functions: own.Functions, payload: &own}, &own})
}

func loadVulkanSource(p Payload) (ModuleImpl, error) {
	m, err := blob.ParseVulkanModule(p.Data, savedFrom(p).layout)
	if err != nil {
		return nil, fault.Wrap("load "+p.Kind, ErrCorruptModule, err)
	}
	return &vulkanSource{deviceCode{kind: p.Kind, functions: m.Functions, payload: m, saved: savedFrom(p)}, m}, nil
}

func loadVulkanFile(kind, path, _ string) (*Module, error) {
	data, err := readModuleFile(path)
	if err != nil {
		return nil, err
	}
	shaders, err := blob.ParseVulkanFile(data)
	if err != nil {
		return nil, fault.Wrap("load "+path, ErrCorruptModule, err)
	}
	functions, err := readMeta(path)
	if err != nil {
		return nil, err
	}
	m := &blob.VulkanModule{Format: kind, Functions: functions, Shaders: shaders}
	return running(kind, m.Encode, func() (*Module, error) { return NewVulkanSource(m) })
}

// GetSource fails: shaders are saved without their source.
func (m *vulkanSource) GetSource(format string) (string, error) {
	return "", fault.New("get source", ErrNotSupported, "a module of kind %q holds SPIR-V, which is no text",
		modulekind.Vulkan.Name)
}

func (m *vulkanSource) WriteFormats() []string { return []string{modulekind.Vulkan.Name} }

// SaveToFile writes the shaders, and beside them the description of the kernels.
func (m *vulkanSource) SaveToFile(path, format string) error {
	const op = "save module"
	if f := fileFormat(path, format); f != modulekind.Vulkan.Name {
		return wrongFormat(op, modulekind.Vulkan.Name, path, f, m.WriteFormats())
	}
	data, err := blob.EncodeVulkanFile(m.module.Shaders)
	if err != nil {
		return fault.Wrap(op, ErrInvalidArgument, err)
	}
	return m.writeWithMeta(op, path, data)
}
