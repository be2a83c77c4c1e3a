package datamodule

import (
	"slices"

	"tvmgo/blob"
	"tvmgo/internal/fault"
	"tvmgo/internal/modulekind"
	"tvmgo/internal/value"
)

// staticLibrary is a module of compiled code that an exporter links into the library.
type staticLibrary struct {
	Base
	blob.StaticLibrary
}

// NewStaticLibrary makes a module of an object file.
func NewStaticLibrary(object []byte, functions []string) (Module, error) {
	const op = "make static library module"
	if len(object) == 0 {
		return nil, fault.New(op, fault.InvalidArgument, "the object file is empty")
	}
	if err := checkNames(op, "function", functions); err != nil {
		return nil, err
	}
	return &staticLibrary{StaticLibrary: blob.StaticLibrary{Object: object, Functions: slices.Clone(functions)}}, nil
}

// LoadStaticLibrary makes a module from a payload.
func LoadStaticLibrary(p Payload) (Module, error) {
	s, err := blob.ParseStaticLibrary(p.Data)
	if err != nil {
		return nil, fault.Wrap("load static_library", fault.CorruptModule, err)
	}
	return &staticLibrary{StaticLibrary: *s}, nil
}

// CreateStaticLibrary implements runtime.ModuleLoadStaticLibrary(path, functions).
func CreateStaticLibrary(args []any) (Module, error) {
	const op = "runtime.ModuleLoadStaticLibrary"
	if err := value.CheckCount(op, args, 1, 2); err != nil {
		return nil, err
	}
	path, err := value.Text(op, args, 0)
	if err != nil {
		return nil, err
	}
	functions, err := value.Texts(op, args, 1)
	if err != nil {
		return nil, err
	}
	if err := checkNames(op, "function", functions); err != nil {
		return nil, err
	}
	object, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &staticLibrary{StaticLibrary: blob.StaticLibrary{Object: object, Functions: functions}}, nil
}

func (m *staticLibrary) Functions() []string { return slices.Clone(m.StaticLibrary.Functions) }

func (m *staticLibrary) Function(name string) (Function, error) {
	if name == "get_func_names" {
		return answer(name, func() (any, error) { return value.List(m.StaticLibrary.Functions), nil })
	}
	if slices.Contains(m.StaticLibrary.Functions, name) {
		return nil, notLinked(modulekind.StaticLibrary.Name, name, "an object file")
	}
	return nil, fault.NotFound
}

func (m *staticLibrary) SaveToBinary() ([]byte, error) { return m.Encode(), nil }

func (m *staticLibrary) WriteFormats() []string { return []string{"o"} }

func (m *staticLibrary) SaveToFile(path, format string) error {
	const op = "save module"
	if f := fileFormat(path, format); f != "o" && f != "obj" {
		return wrongFormat(op, modulekind.StaticLibrary.Name, path, f, m.WriteFormats())
	}
	return writeFiles(op, outFile{path, m.Object})
}
