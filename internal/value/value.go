// Package value has the types of C values that have no other type in Go, which package runtime exports, and checks the
// arguments of functions that C calls. It depends only on package fault.
package value

import (
	"unsafe"

	"tvmgo/internal/fault"
)

// Shape is the shape of a tensor: its dimensions in elements.
type Shape []int64

// Entry is a key and its value in a Map.
type Entry = struct{ Key, Value any }

// Map is an ordered map. Keys are unique: a later entry with an equal key replaces the earlier one.
type Map []Entry

// Ptr is an opaque C address.
type Ptr unsafe.Pointer

// List returns the elements of a slice as values.
func List[T any](list []T) []any {
	all := make([]any, len(list))
	for i, v := range list {
		all[i] = v
	}
	return all
}

// CheckCount checks the number of arguments.
func CheckCount(op string, args []any, least, most int) error {
	if least == most && len(args) != least {
		return fault.New(op, fault.InvalidArgument, "expected %d arguments, got %d", least, len(args))
	}
	if len(args) < least || len(args) > most {
		return fault.New(op, fault.InvalidArgument, "expected %d to %d arguments, got %d", least, most, len(args))
	}
	return nil
}

// Text returns argument i, a string or bytes.
func Text(op string, args []any, i int) (string, error) {
	switch v := args[i].(type) {
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	}
	return "", fault.New(op, fault.InvalidArgument, "argument %d: expected a string, got %T", i, args[i])
}

// Texts returns argument i, a list of strings; an empty list if it is None or absent.
func Texts(op string, args []any, i int) ([]string, error) {
	if i >= len(args) || args[i] == nil {
		return nil, nil
	}
	items, ok := args[i].([]any)
	if !ok {
		return nil, fault.New(op, fault.InvalidArgument, "argument %d: expected a list of strings, got %T", i, args[i])
	}
	list := make([]string, len(items))
	for k, v := range items {
		if list[k], ok = v.(string); !ok {
			return nil, fault.New(op, fault.InvalidArgument, "argument %d: item %d: expected a string, got %T", i, k, v)
		}
	}
	return list, nil
}

// Close closes a value if it can be closed, and the values in it.
func Close(v any) {
	switch v := v.(type) {
	case interface{ Close() error }:
		v.Close()
	case []any:
		CloseAll(v)
	case Map:
		for _, e := range v {
			Close(e.Key)
			Close(e.Value)
		}
	}
}

// CloseAll closes values.
func CloseAll(list []any) {
	for _, v := range list {
		Close(v)
	}
}
