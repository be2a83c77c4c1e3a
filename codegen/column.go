package codegen

import (
	"tvmgo/blob"
	"tvmgo/codegen/explain"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// Attributes of a kind (target.SetAttr) that Build reads. target.ColumnPartitioner and target.ColumnStrategy decide
// which functions of a program the members of a composite target get.
const (
	// Pass: lowers a kind's functions for its other passes and its generator; it runs first
	ColumnLower     = "codegen.lower"
	ColumnPasses    = "codegen.passes"    // []Pass: the other passes before code generation, in order
	ColumnExternal  = "codegen.external"  // BuildFunc: the code generator of a kind without a registered one
	ColumnConstants = "codegen.constants" // ConstantsFunc: constants for the generated module, set before its first call
	ColumnResources = "codegen.resources" // ResourcesFunc: registers and spills of kernels, for Explain
)

// ConstantsFunc returns the constants that the module of these functions needs, nil for none. runtime.NewConstants
// passes them to the module's functions __init_<name>.
type ConstantsFunc func(m *tir.IRModule, t *target.Target) (*blob.Constants, error)

// ResourcesFunc returns what a kind's assembler reports about kernels, by their names; nil if it is not available. m
// has the kernels after the kind's passes.
type ResourcesFunc func(m *tir.IRModule, t *target.Target) (map[string]explain.Resources, error)

// resourcesOf returns the resources of kernels; nil if they are not known.
func resourcesOf(m *tir.IRModule, t *target.Target) (map[string]explain.Resources, error) {
	f, set, err := column(t.Kind(), ColumnResources,
		func(f func(*tir.IRModule, *target.Target) (map[string]explain.Resources, error)) ResourcesFunc {
			return f
		})
	if err != nil || !set || f == nil {
		return nil, err
	}
	return f(m, t)
}

// column reads a kind's column, whose value is of type T or the plain function type F.
func column[T, F any](kind *target.Kind, name string, named func(F) T) (value T, set bool, err error) {
	v, set := target.Attr[any](kind, name)
	if !set {
		return value, false, nil
	}
	if x, ok := v.(T); ok {
		return x, true, nil
	}
	if f, ok := v.(F); ok {
		return named(f), true, nil
	}
	return value, true, wrongType("build for kind %q: its column %s holds a %T: want a %s", kind, name, v,
		columnTypes[name])
}

var columnTypes = map[string]string{ColumnLower: "codegen.Pass", ColumnPasses: "[]codegen.Pass",
	ColumnExternal:  "codegen.BuildFunc",
	ColumnConstants: "codegen.ConstantsFunc", ColumnResources: "codegen.ResourcesFunc"}

type constantsResult struct{ value *blob.Constants }

// passesOf returns the passes of a kind.
func passesOf(kind *target.Kind) ([]Pass, error) {
	lower, set, err := column(kind, ColumnLower,
		func(f func(*tir.IRModule, *target.Target) (*tir.IRModule, error)) Pass { return f })
	if err != nil {
		return nil, err
	}
	if set && lower == nil {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "build for kind %q: the pass in column %s is nil", kind,
			ColumnLower)
	}
	passes, _, err := column(kind, ColumnPasses,
		func(all []func(*tir.IRModule, *target.Target) (*tir.IRModule, error)) []Pass {
			list := make([]Pass, len(all))
			for i, f := range all {
				list[i] = f
			}
			return list
		})
	if err != nil {
		return nil, err
	}
	for i, p := range passes {
		if p == nil {
			return nil, runtime.Errorf(runtime.ErrInvalidArgument, "build for kind %q: pass %d in column %s is nil", kind, i,
				ColumnPasses)
		}
	}
	if set {
		passes = append([]Pass{lower}, passes...)
	}
	return passes, nil
}

func constantsOf(kind *target.Kind, m *tir.IRModule, t *target.Target) (*blob.Constants, error) {
	f, set, err := column(kind, ColumnConstants,
		func(f func(*tir.IRModule, *target.Target) (*blob.Constants, error)) ConstantsFunc { return f })
	if err != nil || !set {
		return nil, err
	}
	if f == nil {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "build for kind %q: the function in column %s is nil", kind,
			ColumnConstants)
	}
	return f(m, t)
}
