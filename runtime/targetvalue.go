package runtime

/*
#include <stdlib.h>
#include "target/target.h"
*/
import "C"

import (
	"fmt"
	"maps"
	"runtime/cgo"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/target"
)

// Targets and their kinds are values: *target.Target and *target.Kind in Go, objects of the types target.Target and
// target.TargetKind in C.

// kindObjects has the one object of each kind, which is never freed: C compares kinds by their address.
var kindObjects sync.Map // *target.Kind → object

// kindObject is an owned reference to a kind's object.
func kindObject(k *target.Kind) (object, error) {
	v, made := kindObjects.Load(k)
	if !made {
		o, err := makeKind(k)
		if err != nil {
			return 0, err
		}
		var first bool
		if v, first = kindObjects.LoadOrStore(k, o); first {
			o.release()
		}
	}
	o := v.(object)
	o.retain()
	return o, nil
}

func makeKind(k *target.Kind) (object, error) {
	if k.Name() == "" {
		return 0, fail("", ErrInvalidArgument, "the target kind was not made by target.RegisterKind")
	}
	var p packer
	defer p.release()
	if err := p.addAll("target kind", []any{k.Name(), int(k.DeviceType()), anyList(k.DefaultKeys())}); err != nil {
		return 0, err
	}
	return result("make target kind", C.tvmgo_bridge_target_kind(p.views()))
}

// takeKind is the kind of an owned object, by its name.
func takeKind(o object) (any, error) {
	defer o.release()
	name, err := borrowedField(&(*C.tvmgo_target_kind)(o.pointer()).name)
	if err != nil {
		return nil, err
	}
	text, _ := name.(string)
	k, err := target.LookupKind(text)
	if err != nil {
		return nil, targetError(err)
	}
	return k, nil
}

// makeTarget makes an owned object for a target, from which the target is found again.
func makeTarget(t *target.Target, depth int) (object, error) {
	if t.Kind() == nil {
		return 0, fail("", ErrInvalidArgument, "the target was not made by target.New")
	}
	endHolds()
	p := packer{depth: depth}
	defer p.release()
	if err := p.addAll("target", []any{t.Kind(), t.Host(), t.Tag(), anyList(t.Keys()), attributes(t)}); err != nil {
		return 0, err
	}
	h := cgo.NewHandle(t)
	o, err := result("make target", C.tvmgo_bridge_target(p.views(), C.uintptr_t(h)))
	if err != nil {
		h.Delete()
	}
	return o, err
}

// endHolds lets go of the targets whose objects are gone.
func endHolds() {
	for hold := C.tvmgo_bridge_target_dropped(); hold != nil; {
		next := hold.next
		cgo.Handle(hold.handle).Delete()
		C.free(unsafe.Pointer(hold))
		hold = next
	}
}

// attributes are the values of a target's options, and its features, sorted by name.
func attributes(t *target.Target) Map {
	all := t.Attrs()
	m := make(Map, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m = append(m, Entry{name, attribute(all[name])})
	}
	return m
}

// attribute is a value of an option as the C ABI has it.
func attribute(v any) any {
	switch v := v.(type) {
	case []int64:
		return boxed(v)
	case []bool:
		return boxed(v)
	case []float64:
		return boxed(v)
	case []string:
		return boxed(v)
	case []*target.Target:
		return boxed(v)
	}
	return v
}

func boxed[T any](list []T) []any {
	all := make([]any, len(list))
	for i, v := range list {
		all[i] = v
	}
	return all
}

// takeTarget is the target of an owned object. One that reflection made of fields has to say what a target says.
func takeTarget(o object) (any, error) {
	defer o.release()
	c := (*C.tvmgo_target)(o.pointer())
	if c.hold != nil {
		return cgo.Handle(c.hold.handle).Value().(*target.Target), nil
	}
	t, err := targetOfFields(c)
	if err != nil {
		return nil, targetError(err)
	}
	return t, nil
}

func targetOfFields(c *C.tvmgo_target) (*target.Target, error) {
	attrs, err := borrowedObject(c.attrs)
	if err != nil {
		return nil, err
	}
	config, err := configuration("$", attrs, 0)
	if err != nil {
		return nil, err
	}
	m, ok := config.(map[string]any)
	if !ok {
		return nil, fail("", ErrInvalidArgument, "the target has no attributes, not even an empty Map")
	}
	for name, field := range map[string]*C.TVMFFIObject{"kind": c.kind, "keys": c.keys, "host": c.host} {
		v, err := borrowedObject(field)
		if err == nil {
			v, err = configuration("$."+name, v, 0)
		}
		if err != nil {
			return nil, err
		}
		if v != nil || name != "host" {
			m[name] = v
		}
	}
	if m["tag"], err = borrowedField(&c.tag); err != nil {
		return nil, err
	}
	return target.New(m)
}

func borrowedObject(o *C.TVMFFIObject) (any, error) {
	if o == nil {
		return nil, nil
	}
	p := object(uintptr(unsafe.Pointer(o)))
	return anyValue{index: p.typeIndex(), bits: uint64(p)}.borrowed()
}

func borrowedField(v *C.TVMFFIAny) (any, error) { return (*anyValue)(unsafe.Pointer(v)).borrowed() }

// configuration turns a value of the C ABI into what target.New takes.
func configuration(path string, v any, depth int) (any, error) {
	if depth > target.MaxDepth {
		return nil, &target.Error{Path: path, Err: target.ErrTooDeep, Message: "containers are nested too deeply"}
	}
	var err error
	switch v := v.(type) {
	case nil, bool, int64, float64, string, *target.Target, Shape:
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
	case Map:
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
	return foreign{nameOf(v)}, nil // whoever refuses it knows what is expected
}

// foreign is a value of the C ABI that no option takes.
type foreign struct{ name string }

// GoString is how errors of package target call it.
func (f foreign) GoString() string { return f.name }

// memberPath is the JSON path of a member, with quotes about what could be misread.
func memberPath(path, name string) string {
	for i := range len(name) {
		c := name[i]
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return fmt.Sprintf("%s[%q]", path, name)
		}
	}
	return path + "." + name
}

// nameOf says what a value is, as messages for C name it.
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
	case Ptr:
		return "a pointer"
	case Shape:
		return "a shape"
	case []any:
		return "a list"
	case Map:
		return "a map"
	case *target.Target:
		return "a target"
	case *target.Kind:
		return "a target kind"
	case *Function, *Tensor, *Module:
		return fmt.Sprintf("a %s", strings.TrimPrefix(fmt.Sprintf("%T", v), "*runtime."))
	case *Object:
		return fmt.Sprintf("an object of type index %d", v.TypeIndex())
	}
	return fmt.Sprintf("a %T", v)
}
