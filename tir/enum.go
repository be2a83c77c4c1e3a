package tir

import (
	"fmt"
	"slices"
)

// Enum is implemented by the types of fields with a few named values: [BinaryOp], [CallKind], [ForKind], [IterKind].
type Enum interface {
	~uint8
	fmt.Stringer
}

// Names returns the names of all values of an enumeration, in order.
func Names[E Enum]() []string {
	var all []string
	for e := E(0); e.String() != "invalid"; e++ {
		all = append(all, e.String())
	}
	return all
}

// ByName returns the value of an enumeration with the given name; ok is false if no value has it.
func ByName[E Enum](name string) (value E, ok bool) {
	i := slices.Index(Names[E](), name)
	return E(max(i, 0)), i >= 0
}
