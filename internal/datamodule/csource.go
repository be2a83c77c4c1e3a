package datamodule

import (
	"slices"
	"strings"

	"tvmgo/blob"
	"tvmgo/internal/fault"
	"tvmgo/internal/modulekind"
	"tvmgo/internal/value"
)

// cFormats are the languages of sources, which are also the suffixes of their files.
var cFormats = modulekind.C.Suffixes()

// cSource is a module of source code that an exporter compiles into the library.
type cSource struct {
	Base
	blob.CSource
}

// NewCSource makes a module of source code.
func NewCSource(s blob.CSource) (Module, error) {
	const op = "make c module"
	if s.Format == "" {
		s.Format = cFormats[0]
	}
	if !slices.Contains(cFormats, s.Format) {
		return nil, fault.New(op, fault.InvalidArgument, "format %q is none of %s", s.Format, strings.Join(cFormats, ", "))
	}
	if err := checkNames(op, "function", s.Functions); err != nil {
		return nil, err
	}
	if err := checkNames(op, "constant", s.Constants); err != nil {
		return nil, err
	}
	return &cSource{CSource: s}, nil
}

// LoadCSource accepts any format of a payload, because other producers may use other formats.
func LoadCSource(p Payload) (Module, error) {
	s, err := blob.ParseCSource(p.Data)
	if err != nil {
		return nil, fault.Wrap("load c", fault.CorruptModule, err)
	}
	return &cSource{CSource: *s}, nil
}

// CreateCSource implements runtime.CSourceModuleCreate(code, format[, functions[, constants]]).
func CreateCSource(args []any) (Module, error) {
	const op = "runtime.CSourceModuleCreate"
	if err := value.CheckCount(op, args, 2, 4); err != nil {
		return nil, err
	}
	var s blob.CSource
	var err error
	if s.Code, err = value.Text(op, args, 0); err != nil {
		return nil, err
	}
	if s.Format, err = value.Text(op, args, 1); err != nil {
		return nil, err
	}
	if s.Functions, err = value.Texts(op, args, 2); err != nil {
		return nil, err
	}
	if s.Constants, err = value.Texts(op, args, 3); err != nil {
		return nil, err
	}
	return NewCSource(s)
}

func (m *cSource) Functions() []string { return slices.Clone(m.CSource.Functions) }

func (m *cSource) Function(name string) (Function, error) {
	switch name {
	case "get_func_names":
		return answer(name, func() (any, error) { return value.List(m.CSource.Functions), nil })
	case "get_const_vars":
		return answer(name, func() (any, error) { return value.List(m.Constants), nil })
	case "get_symbol":
		if len(m.CSource.Functions) > 0 {
			return answer(name, func() (any, error) { return m.CSource.Functions[0], nil })
		}
	}
	if slices.Contains(m.CSource.Functions, name) {
		return nil, notLinked(modulekind.C.Name, name, "source code")
	}
	return nil, fault.NotFound
}

func (m *cSource) language() string {
	if m.Format == "" {
		return cFormats[0]
	}
	return m.Format
}

// GetSource returns the code. There is only one form of it.
func (m *cSource) GetSource(format string) (string, error) {
	if format != "" && format != m.language() && format != modulekind.C.Name {
		return "", fault.New("get source", fault.NotSupported, "the module is written in %q, not in %q", m.language(), format)
	}
	return m.Code, nil
}

func (m *cSource) SaveToBinary() ([]byte, error) { return m.Encode(), nil }

func (m *cSource) WriteFormats() []string { return []string{m.language()} }

func (m *cSource) SaveToFile(path, format string) error {
	const op = "save module"
	f := fileFormat(path, format)
	if f != m.language() && !slices.Contains(cFormats, f) {
		return wrongFormat(op, modulekind.C.Name, path, f, m.WriteFormats())
	}
	return writeFiles(op, outFile{path, []byte(m.Code)})
}
