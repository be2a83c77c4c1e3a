package targetvalue

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/value"
	"tvmgo/target"
)

// Attributes returns the values of a target's options and features, sorted by name.
func Attributes(t *target.Target) value.Map {
	all := t.Attrs()
	m := make(value.Map, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m = append(m, value.Entry{name, attribute(all[name])})
	}
	return m
}

// attribute returns the value of an option as a value of the C ABI.
func attribute(v any) any {
	switch v := v.(type) {
	case []int64:
		return value.List(v)
	case []bool:
		return value.List(v)
	case []float64:
		return value.List(v)
	case []string:
		return value.List(v)
	case []*target.Target:
		return value.List(v)
	}
	return v
}

// OfFields makes a target from the fields of its object: tag, keys, host and kind by name, and the attributes.
func OfFields(fields map[string]any, attrs any) (*target.Target, error) {
	config, err := Configuration("$", attrs)
	if err != nil {
		return nil, err
	}
	m, ok := config.(map[string]any)
	if !ok {
		return nil, fault.New("", fault.InvalidArgument, "the target has no attributes, not even an empty Map")
	}
	for name, v := range fields {
		if v, err = Configuration("$."+name, v); err != nil {
			return nil, err
		}
		if v != nil || name != "host" {
			m[name] = v
		}
	}
	return target.New(m)
}

// Configuration converts a value of the C ABI to an argument of target.New. path is its name in errors.
func Configuration(path string, v any) (any, error) { return configuration(path, v, 0) }

func configuration(path string, v any, depth int) (any, error) {
	if depth > target.MaxDepth {
		return nil, &target.Error{Path: path, Err: target.ErrTooDeep, Message: "containers are nested too deeply"}
	}
	var err error
	switch v := v.(type) {
	case nil, bool, int64, float64, string, *target.Target, value.Shape:
		return v, nil
	case *target.Kind:
		return v.Name(), nil
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			if list[i], err = configuration(fmt.Sprintf("%s[%d]", path, i), item, depth+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case value.Map:
		m := make(map[string]any, len(v))
		for _, e := range v {
			name, ok := e.Key.(string)
			if !ok {
				return nil, &target.Error{Path: path, Err: target.ErrType, Expected: "names as keys",
					Found: "the key " + nameOf(e.Key)}
			}
			if m[name], err = configuration(memberPath(path, name), e.Value, depth+1); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return foreign{nameOf(v)}, nil // package target rejects it, and knows what it expects
}

// foreign is a value of the C ABI that no option takes.
type foreign struct{ name string }

// GoString returns its name in errors of package target.
func (f foreign) GoString() string { return f.name }

// memberPath returns the JSON path of a member, quoted if it could be misread.
func memberPath(path, name string) string {
	for i := range len(name) {
		c := name[i]
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return fmt.Sprintf("%s[%q]", path, name)
		}
	}
	return path + "." + name
}

// nameOf returns the name of a value's type in messages for C.
func nameOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return fmt.Sprintf("bool %v", v)
	case int64:
		return fmt.Sprintf("int %d", v)
	case float64:
		return fmt.Sprintf("float %v", v)
	case string:
		return fmt.Sprintf("str %q", v)
	case []byte:
		return "bytes"
	case dlpack.Device:
		return "device " + v.String()
	case dlpack.DataType:
		return "data type " + v.String()
	case value.Ptr:
		return "a pointer"
	case value.Shape:
		return "a shape"
	case []any:
		return "a list"
	case value.Map:
		return "a map"
	case *target.Target:
		return "a target"
	case *target.Kind:
		return "a target kind"
	case error:
		return "an error"
	case interface{ TypeIndex() int }: // an object without a type of its own in Go
		return fmt.Sprintf("an object of type index %d", v.TypeIndex())
	}
	return "a " + strings.TrimPrefix(fmt.Sprintf("%T", v), "*runtime.")
}
