package export

import (
	"errors"

	"tvmgo/runtime"
)

// FlagsQuery is the function by which a linked module of source code lists arguments that the compiler needs for it, such as the processor
// that it was generated for. They come before those of [Flags].
const FlagsQuery = "get_compile_flags"

// askFlags are the arguments that a module asks for; it is saved in a format.
func askFlags(m *runtime.Module, format string) ([]string, error) {
	if format == "o" {
		return nil, nil
	}
	f, err := m.Function(FlagsQuery)
	if errors.Is(err, runtime.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v, err := f.Call()
	if err != nil {
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
		return nil, invalid("its function %s gives %v: want a list of texts", FlagsQuery, v)
	}
	return flags, nil
}
