package runtime

/*
#include "bridge/bridge.h"
*/
import "C"

import (
	"fmt"
	"strings"
	"unsafe"

	"tvmgo/internal/nearest"
)

func cPointer(o *C.TVMFFIObject) unsafe.Pointer { return unsafe.Pointer(o) }

// takeStrings turns an owned Array of Str into a slice.
func (o object) takeStrings() []string {
	v, err := takeObject(o, 0)
	if err != nil {
		return nil
	}
	items, _ := v.([]any)
	names := make([]string, 0, len(items))
	for _, i := range items {
		if s, ok := i.(string); ok {
			names = append(names, s)
		}
	}
	return names
}

// suggest returns the end of a message about a missing name, with the most similar existing one.
func suggest(name string, names []string) string {
	if n := nearest.Name(name, names); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}

// listed returns at most a dozen of the existing names, for a message.
func listed(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(", and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
