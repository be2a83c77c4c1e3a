package runtime

/*
#include "target/target.h"
*/
import "C"

import (
	"errors"
	"unsafe"

	"tvmgo/target"
)

// tvmgoTargetCall is the body of the global functions of targets.
//
//export tvmgoTargetCall
func tvmgoTargetCall(action C.int, name *C.char, args *C.TVMFFIAny, n C.int32_t, out *C.TVMFFIAny) C.int {
	return guard(func() error {
		endHolds()
		f, op := targetFunctions[action], C.GoString(name)
		return callPacked(func(args ...any) (any, error) {
			if err := argumentCount(op, args, f.least, f.most); err != nil {
				return nil, err
			}
			v, err := f.body(targetCall{op, args})
			return v, targetError(err)
		}, unsafe.Slice((*anyValue)(unsafe.Pointer(args)), int(n)), (*anyValue)(unsafe.Pointer(out)))
	})
}

type targetFunction struct {
	least, most int // arguments
	body        func(c targetCall) (any, error)
}

var targetFunctions = map[C.int]targetFunction{
	C.TVMGO_TARGET_NEW:          {1, 2, newTarget},
	C.TVMGO_TARGET_EXPORT:       {1, 1, exportOfTarget},
	C.TVMGO_TARGET_JSON:         {1, 1, jsonOfTarget},
	C.TVMGO_TARGET_WITH_HOST:    {2, 2, targetWithHost},
	C.TVMGO_TARGET_DEVICE_TYPE:  {1, 1, deviceTypeOfTarget},
	C.TVMGO_TARGET_FEATURE:      {2, 2, featureOfTarget},
	C.TVMGO_TARGET_KINDS:        {0, 0, func(targetCall) (any, error) { return anyList(target.Kinds()), nil }},
	C.TVMGO_TARGET_KIND_OPTIONS: {1, 1, optionsOfKind},
	C.TVMGO_TARGET_KIND_ATTR:    {2, 2, attrOfKind},
	C.TVMGO_TARGET_KIND_FIND:    {1, 1, func(c targetCall) (any, error) { return c.kind(0) }},
	C.TVMGO_TARGET_TAGS:         {0, 0, targetsOfTags},
	C.TVMGO_TARGET_ADD_TAG:      {3, 3, addTag},
}

// targetError gives an error of package target its kind in the C ABI. Its text stays.
func targetError(err error) error {
	var e *target.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	kind := ErrInvalidArgument
	if errors.Is(e, target.ErrDevice) {
		kind = ErrDeviceUnavailable
	}
	out := Errorf(kind, "%w", err)
	if errors.Is(e, target.ErrType) {
		out.Code = "TypeError"
	}
	return out
}

// targetCall is a call with its arguments.
type targetCall struct {
	op   string
	args []any
}

func (c targetCall) wrong(i int, want string) error {
	e := fail(c.op, ErrInvalidArgument, "argument %d: expected %s, got %s", i, want, nameOf(c.args[i]))
	e.Code = "TypeError"
	return e
}

func (c targetCall) target(i int) (*target.Target, error) {
	if t, ok := c.args[i].(*target.Target); ok {
		return t, nil
	}
	return nil, c.wrong(i, "a target (target.Target makes one)")
}

func (c targetCall) text(i int) (string, error) {
	if s, ok := c.args[i].(string); ok {
		return s, nil
	}
	return "", c.wrong(i, "a string")
}

// kind is a kind, or that of a name.
func (c targetCall) kind(i int) (*target.Kind, error) {
	switch v := c.args[i].(type) {
	case *target.Kind:
		return v, nil
	case string:
		return target.LookupKind(v)
	}
	return nil, c.wrong(i, "a target kind or the name of one")
}

// config is an argument as target.New takes it; path is what errors call it.
func (c targetCall) config(i int, path string) (any, error) {
	if b, ok := c.args[i].([]byte); ok { // JSON
		return b, nil
	}
	return configuration(path, c.args[i], 0)
}

func newTarget(c targetCall) (any, error) {
	x, err := c.config(0, "$")
	if err != nil {
		return nil, err
	}
	if len(c.args) == 1 {
		return target.New(x)
	}
	host, err := c.config(1, "$.host")
	if err != nil {
		return nil, err
	}
	return target.NewWithHost(x, host)
}

func targetWithHost(c targetCall) (any, error) {
	t, err := c.target(0)
	if err != nil {
		return nil, err
	}
	if c.args[1] == nil {
		return t.WithHost(nil)
	}
	host, err := c.config(1, "$.host")
	if err != nil {
		return nil, err
	}
	return target.NewWithHost(t, host)
}

func exportOfTarget(c targetCall) (any, error) {
	t, err := c.target(0)
	if err != nil {
		return nil, err
	}
	return exported(t), nil
}

// exported is the configuration that a target's JSON spells, in its order.
func exported(v any) any {
	switch v := v.(type) {
	case *target.Target:
		m := Map{{"kind", v.Kind().Name()}, {"tag", v.Tag()}, {"keys", anyList(v.Keys())}}
		if h := v.Host(); h != nil {
			m = append(m, Entry{"host", exported(h)})
		}
		for _, e := range attributes(v) {
			m = append(m, Entry{e.Key, exported(e.Value)})
		}
		return m
	case []any:
		for i := range v {
			v[i] = exported(v[i])
		}
	}
	return v
}

func jsonOfTarget(c targetCall) (any, error) {
	t, err := c.target(0)
	if err != nil {
		return nil, err
	}
	return t.JSON(), nil
}

func deviceTypeOfTarget(c targetCall) (any, error) {
	t, err := c.target(0)
	if err != nil {
		return nil, err
	}
	return int(t.DeviceType()), nil
}

func featureOfTarget(c targetCall) (any, error) {
	t, err := c.target(0)
	if err != nil {
		return nil, err
	}
	name, err := c.text(1)
	return t.Feature(name), err
}

// optionsOfKind has the types of options by their names.
func optionsOfKind(c targetCall) (any, error) {
	k, err := c.kind(0)
	if err != nil {
		return nil, err
	}
	m := Map{}
	for _, o := range k.Options() {
		m = append(m, Entry{o.Name, o.Type.String()})
	}
	return m, nil
}

func attrOfKind(c targetCall) (any, error) {
	k, err := c.kind(0)
	if err != nil {
		return nil, err
	}
	column, err := c.text(1)
	if err != nil {
		return nil, err
	}
	v, ok := target.Attr[any](k, column)
	if !ok {
		return nil, fail(c.op, ErrInvalidArgument, "target kind %q has no value in column %q", k.Name(), column)
	}
	return v, nil
}

func targetsOfTags(targetCall) (any, error) {
	m := Map{}
	for _, tag := range target.Tags() {
		t, err := tag.Target()
		if err != nil {
			return nil, err
		}
		m = append(m, Entry{tag.Name, t})
	}
	return m, nil
}

func addTag(c targetCall) (any, error) {
	name, err := c.text(0)
	if err != nil {
		return nil, err
	}
	v, err := c.config(1, "$")
	if err != nil {
		return nil, err
	}
	config, ok := v.(map[string]any)
	if !ok {
		return nil, c.wrong(1, "a map of options")
	}
	override, ok := c.args[2].(bool)
	if n, isInt := c.args[2].(int64); isInt { // the classic ABI
		override, ok = n != 0, true
	}
	if !ok {
		return nil, c.wrong(2, "a bool")
	}
	register := target.RegisterTag
	if override {
		register = target.ReplaceTag
	}
	if err := register(name, config); err != nil {
		return nil, err
	}
	return target.New(name)
}
