// Package targetvalue implements the global functions of targets, and converts targets from and to values of the C ABI:
// their attributes, and the configurations from which targets are made. Package runtime makes and reads the objects.
// This package does not depend on C code.
package targetvalue

import (
	"errors"

	"tvmgo/internal/fault"
	"tvmgo/internal/value"
	"tvmgo/target"
)

// Function is the body of a global function.
type Function struct {
	least, most int // arguments
	body        func(c call) (any, error)
}

// Call checks the number of arguments and runs the body. op is the name of the function.
func (f Function) Call(op string, args []any) (any, error) {
	if err := value.CheckCount(op, args, f.least, f.most); err != nil {
		return nil, err
	}
	v, err := f.body(call{op, args})
	return v, Error(err)
}

// The functions. docs/abi.md lists their arguments and results.
var (
	New         = Function{1, 2, newTarget}
	Export      = Function{1, 1, exportOfTarget}
	JSON        = Function{1, 1, jsonOfTarget}
	WithHost    = Function{2, 2, targetWithHost}
	DeviceType  = Function{1, 1, deviceTypeOfTarget}
	Feature     = Function{2, 2, featureOfTarget}
	Kinds       = Function{0, 0, func(call) (any, error) { return value.List(target.Kinds()), nil }}
	KindOptions = Function{1, 1, optionsOfKind}
	KindAttr    = Function{2, 2, attrOfKind}
	FindKind    = Function{1, 1, func(c call) (any, error) { return c.kind(0) }}
	Tags        = Function{0, 0, targetsOfTags}
	AddTag      = Function{3, 3, addTag}
)

// Error adds the kind of the C ABI to an error of package target, and keeps its text.
func Error(err error) error {
	var e *target.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	kind := fault.InvalidArgument
	if errors.Is(e, target.ErrDevice) {
		kind = fault.DeviceUnavailable
	}
	out := &fault.Error{Kind: kind, Code: fault.CodeOf(kind), Message: err.Error(), Err: err}
	if errors.Is(e, target.ErrType) {
		out.Code = "TypeError"
	}
	return out
}

// call is a call with its arguments.
type call struct {
	op   string
	args []any
}

func (c call) wrong(i int, want string) error {
	e := fault.New(c.op, fault.InvalidArgument, "argument %d: expected %s, got %s", i, want, nameOf(c.args[i]))
	e.Code = "TypeError"
	return e
}

func (c call) target(i int) (*target.Target, error) {
	if t, ok := c.args[i].(*target.Target); ok {
		return t, nil
	}
	return nil, c.wrong(i, "a target (target.Target makes one)")
}

func (c call) text(i int) (string, error) {
	if s, ok := c.args[i].(string); ok {
		return s, nil
	}
	return "", c.wrong(i, "a string")
}

// kind returns argument i, which is a kind or the name of one.
func (c call) kind(i int) (*target.Kind, error) {
	switch v := c.args[i].(type) {
	case *target.Kind:
		return v, nil
	case string:
		return target.LookupKind(v)
	}
	return nil, c.wrong(i, "a target kind or the name of one")
}

// config returns argument i in the form that target.New takes. path is its name in errors.
func (c call) config(i int, path string) (any, error) {
	if b, ok := c.args[i].([]byte); ok { // JSON
		return b, nil
	}
	return Configuration(path, c.args[i])
}

func newTarget(c call) (any, error) {
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

func targetWithHost(c call) (any, error) {
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

func exportOfTarget(c call) (any, error) {
	t, err := c.target(0)
	if err != nil {
		return nil, err
	}
	return exported(t), nil
}

// exported returns the configuration in a target's JSON, in its order.
func exported(v any) any {
	switch v := v.(type) {
	case *target.Target:
		m := value.Map{{"kind", v.Kind().Name()}, {"tag", v.Tag()}, {"keys", value.List(v.Keys())}}
		if h := v.Host(); h != nil {
			m = append(m, value.Entry{"host", exported(h)})
		}
		for _, e := range Attributes(v) {
			m = append(m, value.Entry{e.Key, exported(e.Value)})
		}
		return m
	case []any:
		for i := range v {
			v[i] = exported(v[i])
		}
	}
	return v
}

func jsonOfTarget(c call) (any, error) {
	t, err := c.target(0)
	if err != nil {
		return nil, err
	}
	return t.JSON(), nil
}

func deviceTypeOfTarget(c call) (any, error) {
	t, err := c.target(0)
	if err != nil {
		return nil, err
	}
	return int(t.DeviceType()), nil
}

func featureOfTarget(c call) (any, error) {
	t, err := c.target(0)
	if err != nil {
		return nil, err
	}
	name, err := c.text(1)
	return t.Feature(name), err
}

// optionsOfKind returns the types of a kind's options by name.
func optionsOfKind(c call) (any, error) {
	k, err := c.kind(0)
	if err != nil {
		return nil, err
	}
	m := value.Map{}
	for _, o := range k.Options() {
		m = append(m, value.Entry{o.Name, o.Type.String()})
	}
	return m, nil
}

func attrOfKind(c call) (any, error) {
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
		return nil, fault.New(c.op, fault.InvalidArgument, "target kind %q has no value in column %q", k.Name(), column)
	}
	return v, nil
}

func targetsOfTags(call) (any, error) {
	m := value.Map{}
	for _, tag := range target.Tags() {
		t, err := tag.Target()
		if err != nil {
			return nil, err
		}
		m = append(m, value.Entry{tag.Name, t})
	}
	return m, nil
}

func addTag(c call) (any, error) {
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
