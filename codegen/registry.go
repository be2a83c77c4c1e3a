package codegen

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// BuildFunc makes a module of the runtime for a target. The caller closes the module.
type BuildFunc func(m *tir.IRModule, t *target.Target) (*runtime.Module, error)

// Pass transforms a program for a target. It returns a new program, or the same one if it changes nothing.
type Pass func(m *tir.IRModule, t *target.Target) (*tir.IRModule, error)

// prefix precedes a kind in the name of its generator, in messages and among the global functions, as in Apache TVM.
const prefix = "target.build."

var registry = struct {
	sync.RWMutex
	build map[string]BuildFunc
}{build: map[string]BuildFunc{hostKind: buildHost}}

// Register makes build the code generator of a kind of target, which C finds as the global function
// target.build.<kind>. Unless the kind is built in, declare it first by target.RegisterKind. A kind has one generator:
// a second one is an error. Register may be called from init functions and is safe for concurrent use. A third-party
// kind may set ColumnExternal instead.
func Register(kind string, build BuildFunc) error {
	if build == nil {
		return runtime.Errorf(runtime.ErrInvalidArgument, "register %s%s: the function is nil", prefix, kind)
	}
	declared, composite := target.Declared(kind)
	if !declared {
		_, err := target.LookupKind(kind)
		return runtime.Errorf(runtime.ErrInvalidArgument, "register %s%s: %w: declare it by target.RegisterKind", prefix,
			kind, err)
	}
	if composite {
		return runtime.Errorf(runtime.ErrInvalidArgument, "register %s%s: the kind is composite: its members' generators "+
			"make its code", prefix, kind)
	}
	if err := addGenerator(kind, build); err != nil {
		return err
	}
	if err := target.SetAttr(kind, target.ColumnGenerator, true); err != nil && !errors.Is(err, target.ErrDuplicate) {
		return err
	}
	return registerGlobal(kind)
}

func addGenerator(kind string, build BuildFunc) error {
	registry.Lock()
	defer registry.Unlock()
	if registry.build[kind] != nil {
		return runtime.Errorf(runtime.ErrInvalidArgument, "register %s%s: there is one already", prefix, kind)
	}
	registry.build[kind] = build
	return nil
}

// Kinds lists the kinds of target that have a code generator.
func Kinds() []string {
	registry.RLock()
	all := slices.Collect(maps.Keys(registry.build))
	registry.RUnlock()
	for _, name := range target.Kinds() {
		k, err := target.LookupKind(name)
		if _, ok := target.Attr[any](k, ColumnExternal); err == nil && ok && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// generator is the code generator of a kind.
func generator(kind *target.Kind) (BuildFunc, error) {
	registry.RLock()
	build := registry.build[kind.Name()]
	registry.RUnlock()
	external, set, err := column(kind, ColumnExternal,
		func(f func(*tir.IRModule, *target.Target) (*runtime.Module, error)) BuildFunc { return f })
	switch {
	case err != nil:
		return nil, err
	case set && external == nil:
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "build for kind %q: the function in column %s is nil", kind,
			ColumnExternal)
	case set && build != nil:
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "build for kind %q: it has a code generator %s%s and "+
			"another one in column %s: leave one out", kind, prefix, kind, ColumnExternal)
	case set:
		return external, nil
	case build == nil:
		return nil, runtime.Errorf(runtime.ErrNotSupported, "build for kind %q: no code generator %s%s is enabled: "+
			"enabled are %s: %s", kind, prefix, kind, strings.Join(Kinds(), ", "), wayToGenerator(kind.Name()))
	}
	return build, nil
}

// wayToGenerator describes how a program enables a generator that it lacks.
func wayToGenerator(kind string) string {
	if path := packages[kind]; path != "" {
		return fmt.Sprintf("import %s, which registers it", path)
	}
	all := Kinds()
	for k := range packages {
		if !slices.Contains(all, k) {
			all = append(all, k)
		}
	}
	slices.Sort(all)
	return fmt.Sprintf("no package of tvmgo generates code for %s: build for one of %s, or register a generator by "+
		"codegen.Register", kind, strings.Join(all, ", "))
}

// wrongType makes an error of a value of a wrong type, or of a wrong number of arguments: Python's TypeError.
func wrongType(format string, args ...any) error {
	e := runtime.Errorf(runtime.ErrInvalidArgument, format, args...)
	e.Code = "TypeError"
	return e
}
