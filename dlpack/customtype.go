package dlpack

import (
	"fmt"
	"strings"
	"sync"
)

// customTypes maps type codes from CodeCustomBegin on to names, one to one.
var customTypes struct {
	sync.RWMutex
	names map[uint8]string
	codes map[string]uint8
}

// RegisterCustomType gives the name `custom[name]` to a type code from CodeCustomBegin on. Repeating a registration is
// allowed; it is an error if the code or the name is in use. It is safe for concurrent use.
func RegisterCustomType(name string, code uint8) error {
	if code < CodeCustomBegin {
		return fmt.Errorf("register custom type %q: code %d must lie between %d and 255", name, code, CodeCustomBegin)
	}
	if name == "" || strings.ContainsAny(name, "[] \t\n") {
		return fmt.Errorf("register custom type %q: the name must be text without brackets and spaces", name)
	}
	customTypes.Lock()
	defer customTypes.Unlock()
	if old, taken := customTypes.names[code]; taken && old != name {
		return fmt.Errorf("register custom type %q: code %d belongs to %q", name, code, old)
	}
	if old, taken := customTypes.codes[name]; taken && old != code {
		return fmt.Errorf("register custom type %q: the name has code %d already", name, old)
	}
	if customTypes.names == nil {
		customTypes.names, customTypes.codes = map[uint8]string{}, map[string]uint8{}
	}
	customTypes.names[code], customTypes.codes[name] = name, code
	return nil
}

// customTypeName returns the name of a code, "" if it is not registered.
func customTypeName(code uint8) string {
	customTypes.RLock()
	defer customTypes.RUnlock()
	return customTypes.names[code]
}

// cutCustom reads `[name]` at the beginning of s.
func cutCustom(s string) (code uint8, after string, err error) {
	inner, ok := strings.CutPrefix(s, "[")
	name, after, closed := strings.Cut(inner, "]")
	if !ok || !closed {
		return 0, "", fmt.Errorf("a custom type is written custom[name]")
	}
	customTypes.RLock()
	code, known := customTypes.codes[name]
	customTypes.RUnlock()
	if !known {
		return 0, "", fmt.Errorf("no custom type is called %q: register it with dlpack.RegisterCustomType", name)
	}
	return code, after, nil
}
