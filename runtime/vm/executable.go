package vm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"tvmgo/blob"
	"tvmgo/blob/vmcode"
	"tvmgo/internal/atomicfile"
	"tvmgo/internal/datamodule"
	"tvmgo/internal/fault"
	"tvmgo/internal/globals"
	"tvmgo/internal/memory"
	"tvmgo/runtime"
)

// Kind and OldKind are the kinds of this package's modules: OldKind is that of files of TVM v0.19 and older.
const (
	Kind    = "relax.VMExecutable"
	OldKind = "relax.Executable"
)

const properties = runtime.Serializable | runtime.Runnable

// fileLoader is the prefix of the global functions that load files of a kind.
const fileLoader = "ffi.Module.load_from_file."

func init() {
	for _, kind := range []string{Kind, OldKind} {
		err := runtime.RegisterModuleKind(runtime.ModuleKind{Name: kind, Properties: properties, Load: load})
		if err != nil {
			panic(err) // another package of the program registered the same kind
		}
		if err := runtime.RegisterModelKind(runtime.ModelKind{Name: kind, Open: open}); err != nil {
			panic(err)
		}
		globals.Set(fileLoader+kind, fileLoaderOf(kind))
	}
}

// fileLoaderOf returns the body of the global function that loads files of a kind.
func fileLoaderOf(kind string) globals.Function {
	return func(args ...any) (any, error) {
		path, ok := "", len(args) > 0
		if ok {
			path, ok = args[0].(string)
		}
		if !ok {
			return nil, fault.New("load "+kind, runtime.ErrInvalidArgument, "expected the path of a file")
		}
		m, err := loadFile(kind, path)
		if err != nil {
			return nil, err
		}
		return globals.Owned{Value: m}, nil
	}
}

// executable is a module of this package's kind.
type executable struct {
	runtime.ModuleBase
	code    *vmcode.Executable
	program *program
	module  uintptr // the handle of the module, which owns this
	saved   []byte  // what it was loaded from
	layout  blob.Layout
	mapped  []byte // the file that it was loaded from; nil for a payload
}

func load(p runtime.Payload) (runtime.ModuleImpl, error) {
	layout := blob.Modern
	if p.Legacy {
		layout = blob.Legacy
	}
	code, err := vmcode.ParsePayload(p.Data, layout)
	return newExecutable(code, err, p.Data, layout)
}

// loadFile loads a file that SaveToFile, or TVM, wrote.
func loadFile(kind, path string) (*runtime.Module, error) {
	data, err := mapFile(path)
	if err != nil {
		kind := runtime.ErrNotFound
		if errors.Is(err, runtime.ErrUntrusted) {
			kind = runtime.ErrUntrusted
		}
		return nil, fault.Wrap("load "+path, kind, err)
	}
	code, err := vmcode.Parse(data, vmcode.Automatic)
	impl, err := newExecutable(code, err, nil, blob.Modern)
	if err != nil {
		memory.Free(data)
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	impl.(*executable).mapped = data
	m, err := runtime.NewModule(kind, properties, impl)
	if err != nil {
		impl.Close()
	}
	return m, err
}

// mapFile maps a file, so that constants are views of it. memory.Free releases the mapping.
func mapFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // opening a pipe would wait
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file: copy it to one")
	}
	f, err := datamodule.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil || info.Size() == 0 {
		return nil, err
	}
	return memory.Map(f, info.Size(), false)
}

func newExecutable(code *vmcode.Executable, err error, saved []byte, layout blob.Layout) (runtime.ModuleImpl, error) {
	const op = "load Relax executable"
	if err != nil {
		kind := runtime.ErrCorruptModule
		if v := (*vmcode.VersionError)(nil); errors.As(err, &v) {
			kind = runtime.ErrNotSupported
		}
		return nil, fault.Wrap(op, kind, err)
	}
	p, err := newProgram(code)
	if err != nil {
		return nil, err
	}
	return &executable{code: code, program: p, saved: saved, layout: layout}, nil
}

// SetModule implements runtime.ModuleKnower.
func (e *executable) SetModule(handle uintptr) { e.module = handle }

// functions are the module's functions but vm_load_executable.
var functions = map[string]func(e *executable, args []any) (any, error){
	"stats":        func(e *executable, _ []any) (any, error) { return e.code.Stats(), nil },
	"as_text":      func(e *executable, _ []any) (any, error) { return e.code.Text(), nil },
	"as_python":    func(e *executable, _ []any) (any, error) { return e.code.Python(), nil },
	"has_function": func(e *executable, args []any) (any, error) { return e.has(args[0]) },
}

const loadFunction = "vm_load_executable"

// Functions lists the functions of the executable; those of the program belong to its sessions.
func (e *executable) Functions() []string {
	names := []string{loadFunction}
	for name := range functions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (e *executable) Function(name string) (*runtime.Function, error) {
	if name == loadFunction {
		return e.program.loader(e.module)
	}
	body := functions[name]
	if body == nil {
		return nil, runtime.ErrNotFound
	}
	want := 0
	if name == "has_function" {
		want = 1
	}
	return runtime.NewFunction(func(args ...any) (any, error) {
		if len(args) != want {
			return nil, fault.New(name, runtime.ErrInvalidArgument, "expected %d arguments, got %d", want, len(args))
		}
		return body(e, args)
	})
}

func (e *executable) has(name any) (any, error) {
	s, ok := name.(string)
	if !ok {
		return nil, fault.New("has_function", runtime.ErrInvalidArgument, "expected the name of a function, got %T", name)
	}
	return slices.ContainsFunc(e.code.Functions, func(f vmcode.Function) bool {
		return f.Kind != vmcode.Packed && f.Name == s
	}), nil
}

// GetSource returns the instructions as text.
func (e *executable) GetSource(format string) (string, error) {
	if format != "" && format != "txt" {
		return e.ModuleBase.GetSource(format)
	}
	return e.code.Text(), nil
}

// SaveToBinary returns the payload of the modern layout.
func (e *executable) SaveToBinary() ([]byte, error) { return e.SaveToBinaryFor(blob.Modern) }

// SaveToBinaryFor returns what the module was loaded from, if that has the layout.
func (e *executable) SaveToBinaryFor(layout blob.Layout) ([]byte, error) {
	if e.saved != nil && layout == e.layout {
		return bytes.Clone(e.saved), nil
	}
	data, err := e.code.EncodePayload(layout)
	if err != nil {
		return nil, fault.Wrap("save Relax executable", runtime.ErrNotSupported, err)
	}
	return data, nil
}

// SaveToFile writes the payload of the modern layout.
func (e *executable) SaveToFile(path, format string) error {
	data, err := e.SaveToBinary()
	if err != nil {
		return err
	}
	return atomicfile.Write(path, data, 0o644, atomicfile.FollowLinks)
}

// Close releases the program; sessions keep what they need.
func (e *executable) Close() error {
	e.program.close()
	memory.Free(e.mapped)
	return nil
}

// New makes a module of kind Kind from an executable, which must pass vmcode.Executable.Check. The module keeps code
// and the data of its constants, which must not be changed. Import the modules that have the functions which it calls.
func New(code *vmcode.Executable) (*runtime.Module, error) {
	if code == nil {
		return nil, fault.New("make Relax executable", runtime.ErrInvalidArgument, "the executable is nil")
	}
	impl, err := newExecutable(code, code.Check(), nil, blob.Modern)
	if err != nil {
		return nil, err
	}
	m, err := runtime.NewModule(Kind, properties, impl)
	if err != nil {
		impl.Close()
	}
	return m, err
}
