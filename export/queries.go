package export

import (
	"errors"

	"tvmgo/runtime"
)

// The functions that an exporter calls to query a linked module about its code. A module defines those that it needs.
const (
	// FlagsQuery lists arguments that the compiler needs for source code, such as the processor that it was generated
	// for. They precede those of [Flags].
	FlagsQuery = "get_compile_flags"
	// LibrariesQuery lists the libraries that the code calls, as [Libraries] takes them.
	LibrariesQuery = "get_link_libraries"
	// UnitsQuery takes the format that the module is saved in, and lists texts, or objects, that may be compiled and
	// linked instead of the saved file, several at once. Texts include only files of this module and of the system, so
	// that the objects can be cached.
	UnitsQuery = "get_compile_units"
)

// query calls such a function of a module. The result is nil if the module does not have it.
func query(m *runtime.Module, name string, args ...any) (any, error) {
	f, err := m.Function(name)
	if errors.Is(err, runtime.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Call(args...)
}

// askFlags returns the compiler arguments that a module requests for the format in which it is saved.
func askFlags(m *runtime.Module, format string) ([]string, error) {
	if format == "o" {
		return nil, nil
	}
	v, err := query(m, FlagsQuery)
	if v == nil || err != nil {
		return nil, err
	}
	list, isList := v.([]any)
	flags := make([]string, len(list))
	for i, x := range list {
		text, isText := x.(string)
		if !isText || hasNUL(text) {
			isList = false
		}
		flags[i] = text
	}
	if !isList {
		return nil, invalid("its function %s returns %v: want a list of strings", FlagsQuery, v)
	}
	return flags, nil
}

// askLibraries returns the libraries that a module requests.
func askLibraries(m *runtime.Module) ([]string, error) {
	v, err := query(m, LibrariesQuery)
	list, _ := v.([]any)
	var names []string
	for _, x := range list {
		if s, ok := x.(string); ok {
			names = append(names, s)
		}
	}
	return names, err
}
