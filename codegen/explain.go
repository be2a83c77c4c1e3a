package codegen

import (
	"tvmgo/codegen/explain"
	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// ExplainOption is an option of [Explain].
type ExplainOption func(*explain.Options)

// WithSizes gives values to sizes that the program leaves open, by their names.
func WithSizes(sizes map[string]int64) ExplainOption {
	return func(o *explain.Options) { o.Sizes = sizes }
}

// Explain reports figures of the kernels that [Build] makes of a program for a target: threads, occupancy, sectors and
// bank conflicts of each access, bytes, operations, and the expected bound. It runs the passes of the build and needs
// no device. Package explain documents the figures. Registers and spills come from the kind's assembler, if there is
// one (ColumnResources): for CUDA from NVRTC, unless the build would not use it.
//
// It fails if the target is for a CPU, if the program has no kernels, or if a size is given that no kernel has.
func Explain(m *tir.IRModule, t *target.Target, options ...ExplainOption) (*explain.Report, error) {
	switch {
	case m == nil:
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "explain: the module is nil")
	case t == nil || t.Kind() == nil:
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "explain: the target is nil: make one by target.New")
	case t.Kind().IsComposite():
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "explain: target %q is composite: give the target of one "+
			"device", t.Kind())
	case t.DeviceType() == dlpack.CPU:
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "explain: code for kind %q runs on the CPU and has no "+
			"kernels: give the target of a device, such as cuda, opencl or vulkan", t.Kind())
	}
	if err := tir.Check(m); err != nil {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "explain: %w", err)
	}
	var o explain.Options
	for _, option := range options {
		option(&o)
	}
	b := &build{target: t, attrs: m.Attrs, wanted: names(m.Funcs)}
	defer b.close()
	if err := b.divide(m); err != nil {
		return nil, err
	}
	var kernels []*tir.PrimFunc
	for _, p := range b.parts {
		if !p.target.Equal(t) {
			continue
		}
		for _, f := range p.funcs {
			if explain.IsKernel(f) {
				kernels = append(kernels, f)
			}
		}
	}
	r, err := guarded(func() (_ *explain.Report, err error) {
		if o.Resources, err = resourcesOf(&tir.IRModule{Funcs: kernels, Attrs: m.Attrs}, t); err != nil {
			return nil, err
		}
		return explain.Kernels(kernels, t, o)
	})
	if err != nil {
		return nil, withContext("explain: %w", err)
	}
	return r, nil
}
