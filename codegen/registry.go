package codegen

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// BuildFunc makes a module of the runtime for a target.
type BuildFunc func(m *tir.IRModule, t *target.Target) (*runtime.Module, error)

// Pass makes a program of another one, for a target.
type Pass func(m *tir.IRModule, t *target.Target) (*tir.IRModule, error)

// ColumnPasses is the column of a kind's attributes (target.SetAttr) that has what runs before its code is generated: a []Pass, in
// order.
const ColumnPasses = "codegen.passes"

func init() {
	if err := target.SetAttr(hostKind, ColumnPasses, passesForC()); err != nil {
		panic(err)
	}
}

// passesForC are the passes of package transform.
func passesForC() []Pass {
	var all []Pass
	for _, p := range transform.ForC() {
		all = append(all, p)
	}
	return all
}

// prefix is what a kind's generator is called in messages, as in Apache TVM.
const prefix = "target.build."

var registry = struct {
	sync.RWMutex
	build map[string]BuildFunc
}{build: map[string]BuildFunc{hostKind: buildHost}}

// Register makes build the code generator of a kind of target, target.build.<kind>. A kind has one; it is declared before by
// target.RegisterKind, if it is not one that is always there. It may be called by many at once, as from init functions.
func Register(kind string, build BuildFunc) error {
	if build == nil {
		return fail(runtime.ErrInvalidArgument, "ValueError", "register %s%s: the function is nil", prefix, kind)
	}
	if _, err := target.LookupKind(kind); err != nil {
		return fail(runtime.ErrInvalidArgument, "ValueError", "register %s%s: %w: declare it by target.RegisterKind", prefix, kind, err)
	}
	registry.Lock()
	defer registry.Unlock()
	if registry.build[kind] != nil {
		return fail(runtime.ErrInvalidArgument, "ValueError", "register %s%s: there is one already", prefix, kind)
	}
	registry.build[kind] = build
	return nil
}

// Kinds lists the kinds of target that have a code generator.
func Kinds() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.build))
}

// Build makes a module of the runtime: the passes of the target's kind run first, then its code generator. The caller closes it.
func Build(m *tir.IRModule, t *target.Target) (*runtime.Module, error) {
	switch {
	case m == nil:
		return nil, fail(runtime.ErrInvalidArgument, "ValueError", "build: the module is nil")
	case t == nil:
		return nil, fail(runtime.ErrInvalidArgument, "ValueError", "build: the target is nil: make one by target.New, as in target.New(\"c\")")
	}
	kind := t.Kind()
	if kind.IsComposite() {
		return nil, fail(runtime.ErrInvalidArgument, "ValueError", "build for kind %q: its targets are made of others: build for each of them", kind)
	}
	registry.RLock()
	build := registry.build[kind.Name()]
	registry.RUnlock()
	if build == nil {
		return nil, fail(runtime.ErrNotSupported, "NotSupportedError", "build for kind %q: no code generator %s%s is enabled: there are those of %s: "+
			"import the package that registers it", kind, prefix, kind, strings.Join(Kinds(), ", "))
	}
	passes, err := passesOf(kind)
	if err != nil {
		return nil, err
	}
	for i, pass := range passes {
		next, err := pass(m, t)
		if err != nil {
			return nil, fmt.Errorf("build for kind %q: pass %d: %w", kind, i, err)
		}
		if next == nil {
			return nil, fail(runtime.ErrFailed, "RuntimeError", "build for kind %q: pass %d gave no module", kind, i)
		}
		m = next
	}
	out, err := build(m, t)
	switch {
	case err != nil:
		return nil, fmt.Errorf("build for kind %q: %w", kind, err)
	case out == nil:
		return nil, fail(runtime.ErrFailed, "RuntimeError", "build for kind %q: the code generator gave no module", kind)
	}
	return out, nil
}

// passesOf are the passes of a kind.
func passesOf(kind *target.Kind) ([]Pass, error) {
	value, ok := target.Attr[any](kind, ColumnPasses)
	if !ok {
		return nil, nil
	}
	passes, ok := value.([]Pass)
	if !ok {
		return nil, fail(runtime.ErrInvalidArgument, "TypeError", "build for kind %q: its column %s holds a %T: want a []codegen.Pass", kind, ColumnPasses, value)
	}
	for i, p := range passes {
		if p == nil {
			return nil, fail(runtime.ErrInvalidArgument, "ValueError", "build for kind %q: pass %d in column %s is nil", kind, i, ColumnPasses)
		}
	}
	return passes, nil
}

// fail makes an error of the runtime; code is the kind's spelling in C.
func fail(kind error, code, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &runtime.Error{Kind: kind, Code: code, Message: err.Error(), Err: err}
}
