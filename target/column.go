package target

import (
	"fmt"
	"maps"
)

// Attribute columns that this project knows; their values are set by the packages that own their types.
const (
	ColumnPartitioner = "partitioner" // Predicate: which operations of a graph a target takes
	ColumnStrategy    = "strategy"    // Strategy: how a composite kind divides a graph
)

// SetAttr attaches a value to a kind, in the column of a name: passes that run before code is generated, a partitioner, a code
// generator. A column has one value a kind, of any type, and keeps it: a second one is an error.
func SetAttr[T any](kind, column string, value T) error {
	k, err := LookupKind(kind)
	if err != nil {
		return err
	}
	return setAttr(k, column, value)
}

func setAttr(k *Kind, column string, value any) error {
	if err := checkName("column", column); err != nil {
		return &Error{Err: ErrRegister, Message: fmt.Sprintf("set attribute of kind %q: %v", k.name, err)}
	}
	k.attrsMu.Lock()
	defer k.attrsMu.Unlock()
	all := map[string]any{}
	if p := k.attrs.Load(); p != nil {
		all = maps.Clone(*p)
	}
	if _, taken := all[column]; taken {
		return &Error{Err: ErrDuplicate, Message: fmt.Sprintf("kind %q has a value in column %q already", k.name, column)}
	}
	all[column] = value
	k.attrs.Store(&all)
	return nil
}

// Attr is the value of a kind in a column; false when it has none of type T there.
func Attr[T any](k *Kind, column string) (T, bool) {
	var none T
	if k == nil {
		return none, false
	}
	p := k.attrs.Load()
	if p == nil {
		return none, false
	}
	v, ok := (*p)[column].(T)
	return v, ok
}
