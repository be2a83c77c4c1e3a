package target

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
)

// The attribute columns that this module uses. Their values are set by the packages that own the types of the values.
const (
	ColumnPartitioner = "partitioner" // Predicate: which operations of a graph a target accepts
	ColumnStrategy    = "strategy"    // Strategy: how a composite kind divides a graph
	ColumnGenerator   = "generator"   // bool: whether package codegen has a code generator for the kind
)

// SetAttr sets an attribute of a kind, in the column with the given name: passes that run before code generation, a
// partitioner, a code generator. Each kind has at most one value in a column; it can be of any type and cannot be
// replaced. The columns above have the types given there, for which a plain function is accepted, too. Errors are of
// type *[Error]: ErrDuplicate if the kind has a value in the column, ErrRegister otherwise.
func SetAttr[T any](kind, column string, value T) error {
	if kept, err := setEarly(kind, column, value); kept {
		return err
	}
	k, err := LookupKind(kind)
	if err != nil {
		return err
	}
	if column == ColumnStrategy && !k.composite {
		return badAttr(k.name, errNoComposite)
	}
	return setAttr(k, column, value)
}

var errNoComposite = errors.New("a strategy divides work among members, and the kind has none: declare it with " +
	"target.Composite")

func setAttr(k *Kind, column string, value any) error {
	value, err := typed(column, value)
	if err != nil {
		return badAttr(k.name, err)
	}
	k.attrsMu.Lock()
	defer k.attrsMu.Unlock()
	all := map[string]any{}
	if p := k.attrs.Load(); p != nil {
		all = maps.Clone(*p)
	}
	if _, taken := all[column]; taken {
		return takenColumn(k.name, column)
	}
	all[column] = value
	k.attrs.Store(&all)
	return nil
}

func badAttr(kind string, err error) error {
	return &Error{Err: ErrRegister, Message: fmt.Sprintf("set attribute of kind %q: %v", kind, err)}
}

func takenColumn(kind, column string) error {
	return &Error{Err: ErrDuplicate, Message: fmt.Sprintf("kind %q has a value in column %q already", kind, column)}
}

// typed checks the name of a column, and converts values of known columns to their types, so that [Attr] finds them.
func typed(column string, value any) (any, error) {
	if err := checkName("column", column); err != nil {
		return nil, err
	}
	switch column {
	case ColumnPartitioner:
		p, ok := value.(Predicate)
		if f, plain := value.(func(*Target, *Op) (bool, string)); plain {
			p, ok = f, true
		}
		if !ok || p == nil {
			return nil, fmt.Errorf("column %q: want a target.Predicate that is not nil, found %T", column, value)
		}
		return p, nil
	case ColumnStrategy:
		s, ok := value.(Strategy)
		if f, plain := value.(func(*Graph, *Target) ([]Assignment, error)); plain {
			s, ok = f, true
		}
		if !ok || s == nil {
			return nil, fmt.Errorf("column %q: want a target.Strategy that is not nil, found %T", column, value)
		}
		return s, nil
	}
	return value, nil
}

// Attr returns the value of a kind in an attribute column; false if it has none of type T. T must be the exact type
// that was set, or an interface that it implements: a value of a named function type is not found as a plain func.
func Attr[T any](k *Kind, column string) (T, bool) {
	var none T
	if k == nil {
		return none, false
	}
	p := k.attrs.Load()
	if p == nil {
		return none, false
	}
	stored, set := (*p)[column]
	if set && stored == nil { // a nil interface, which has no dynamic type
		return none, reflect.TypeFor[T]().Kind() == reflect.Interface
	}
	v, ok := stored.(T)
	return v, ok
}
