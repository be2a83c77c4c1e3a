//go:build !runtimeonly

package runtime

/*
#include <stdlib.h>
#include "target/target.h"
*/
import "C"

import (
	"runtime/cgo"
	"sync"
	"unsafe"

	"tvmgo/internal/fault"
	"tvmgo/internal/targetvalue"
	"tvmgo/internal/value"
	"tvmgo/target"
)

// Targets and their kinds are values: *target.Target and *target.Kind in Go, objects of the types target.Target and
// target.TargetKind in C.

var targetFunctions = map[C.int]targetvalue.Function{
	C.TVMGO_TARGET_NEW:          targetvalue.New,
	C.TVMGO_TARGET_EXPORT:       targetvalue.Export,
	C.TVMGO_TARGET_JSON:         targetvalue.JSON,
	C.TVMGO_TARGET_WITH_HOST:    targetvalue.WithHost,
	C.TVMGO_TARGET_DEVICE_TYPE:  targetvalue.DeviceType,
	C.TVMGO_TARGET_FEATURE:      targetvalue.Feature,
	C.TVMGO_TARGET_KINDS:        targetvalue.Kinds,
	C.TVMGO_TARGET_KIND_OPTIONS: targetvalue.KindOptions,
	C.TVMGO_TARGET_KIND_ATTR:    targetvalue.KindAttr,
	C.TVMGO_TARGET_KIND_FIND:    targetvalue.FindKind,
	C.TVMGO_TARGET_TAGS:         targetvalue.Tags,
	C.TVMGO_TARGET_ADD_TAG:      targetvalue.AddTag,
}

// tvmgoTargetCall is the body of the global functions of targets.
//
//export tvmgoTargetCall
func tvmgoTargetCall(action C.int, name *C.char, args *C.TVMFFIAny, n C.int32_t, out *C.TVMFFIAny) C.int {
	return guard(func() error {
		endHolds()
		f, op := targetFunctions[action], C.GoString(name)
		return callPacked(func(args ...any) (any, error) { return f.Call(op, args) },
			unsafe.Slice((*anyValue)(unsafe.Pointer(args)), int(n)), (*anyValue)(unsafe.Pointer(out)))
	})
}

// addTarget returns false for what is neither a target nor a kind.
func (p *packer) addTarget(arg any) (added bool, err error) {
	switch v := arg.(type) {
	case *target.Target:
		if v == nil {
			p.push(indexNone, 0)
			return true, nil
		}
		return true, p.own(makeTarget(v, p.depth+1))
	case *target.Kind:
		if v == nil {
			p.push(indexNone, 0)
			return true, nil
		}
		return true, p.own(kindObject(v))
	}
	return false, nil
}

// takeTarget returns the target or kind of an owned object; false for another object, which it keeps.
func takeTarget(o object) (v any, isTarget bool, err error) {
	switch o.typeIndex() {
	case int32(C.tvmgo_target_type):
		v, err = targetOf(o)
	case int32(C.tvmgo_target_kind_type):
		v, err = kindOf(o)
	default:
		return nil, false, nil
	}
	return v, true, err
}

// kindObjects has the one object of each kind, which is never freed: C compares kinds by their address.
var kindObjects sync.Map // *target.Kind → object

// kindObject returns an owned reference to a kind's object.
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
		return 0, fault.New("", ErrInvalidArgument, "the target kind was not made by target.RegisterKind")
	}
	var p packer
	defer p.release()
	if err := p.addAll("target kind", []any{k.Name(), int(k.DeviceType()), value.List(k.DefaultKeys())}); err != nil {
		return 0, err
	}
	return result("make target kind", C.tvmgo_bridge_target_kind(p.views()))
}

// kindOf returns the kind of an owned object, found by its name.
func kindOf(o object) (any, error) {
	defer o.release()
	name, err := borrowedField(&(*C.tvmgo_target_kind)(o.pointer()).name)
	if err != nil {
		return nil, err
	}
	text, _ := name.(string)
	k, err := target.LookupKind(text)
	if err != nil {
		return nil, targetvalue.Error(err)
	}
	return k, nil
}

// makeTarget makes an owned object for a target. The object refers to the target.
func makeTarget(t *target.Target, depth int) (object, error) {
	if t.Kind() == nil {
		return 0, fault.New("", ErrInvalidArgument, "the target was not made by target.New")
	}
	endHolds()
	p := packer{depth: depth}
	defer p.release()
	parts := []any{t.Kind(), t.Host(), t.Tag(), value.List(t.Keys()), targetvalue.Attributes(t)}
	if err := p.addAll("target", parts); err != nil {
		return 0, err
	}
	h := cgo.NewHandle(t)
	o, err := result("make target", C.tvmgo_bridge_target(p.views(), C.uintptr_t(h)))
	if err != nil {
		h.Delete()
	}
	return o, err
}

// endHolds releases the targets whose objects were freed.
func endHolds() {
	for hold := C.tvmgo_bridge_target_dropped(); hold != nil; {
		next := hold.next
		cgo.Handle(hold.handle).Delete()
		C.free(unsafe.Pointer(hold))
		hold = next
	}
}

// targetOf returns the target of an owned object. The fields of an object made by reflection must describe a valid
// target.
func targetOf(o object) (any, error) {
	defer o.release()
	c := (*C.tvmgo_target)(o.pointer())
	if c.hold != nil {
		return cgo.Handle(c.hold.handle).Value().(*target.Target), nil
	}
	attrs, err := borrowedObject(c.attrs)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	for name, field := range map[string]*C.TVMFFIObject{"kind": c.kind, "keys": c.keys, "host": c.host} {
		if fields[name], err = borrowedObject(field); err != nil {
			return nil, err
		}
	}
	if fields["tag"], err = borrowedField(&c.tag); err != nil {
		return nil, err
	}
	t, err := targetvalue.OfFields(fields, attrs)
	if err != nil {
		return nil, targetvalue.Error(err)
	}
	return t, nil
}

func borrowedObject(o *C.TVMFFIObject) (any, error) {
	if o == nil {
		return nil, nil
	}
	p := object(uintptr(unsafe.Pointer(o)))
	return anyValue{index: p.typeIndex(), bits: uint64(p)}.borrowed()
}

func borrowedField(v *C.TVMFFIAny) (any, error) { return (*anyValue)(unsafe.Pointer(v)).borrowed() }
