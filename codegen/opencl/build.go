package opencl

import (
	"fmt"
	"slices"

	"tvmgo/blob"
	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/transform"
)

const kind = "opencl"

// Lower makes kernels of functions, and functions of the host, which have its target in their attributes.
func Lower(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
	for _, pass := range []transform.Pass{transform.VerifyMemory, transform.LegalizeTypes, arith.Simplify, transform.ThreadSync, transform.ReuseStorage,
		transform.VerifyLimits, transform.SplitHostDevice} {
		var err error
		if m, err = pass(m, t); err != nil {
			return nil, invalid(err)
		}
	}
	kernels := &tir.IRModule{Attrs: m.Attrs}
	for _, f := range m.Funcs {
		if transform.IsKernel(f) {
			kernels.Funcs = append(kernels.Funcs, f)
		}
	}
	for _, pass := range []transform.Pass{transform.Vectorize, transform.Unroll, arith.Simplify, splitVectors, unrollPairs} {
		var err error
		if kernels, err = pass(kernels, t); err != nil {
			return nil, invalid(err)
		}
	}
	out := &tir.IRModule{Attrs: m.Attrs, Funcs: slices.Clone(m.Funcs)}
	for i, f := range out.Funcs {
		if k := kernels.Func(f.Name); k != nil {
			out.Funcs[i] = k
		}
	}
	return out, nil
}

// Build is target.build.opencl, of kernels.
func Build(m *tir.IRModule, t *target.Target) (*runtime.Module, error) {
	for _, f := range m.Funcs {
		if !transform.IsKernel(f) {
			return nil, invalid(fmt.Errorf("function %s is no kernel: its loops are split from the host's by codegen.Build", f.Name))
		}
	}
	code, err := New().Emit(m, t)
	if err != nil {
		return nil, invalid(err)
	}
	module := &blob.DeviceModule{Format: "cl", Data: []byte(code)}
	for _, f := range m.Funcs {
		tags, err := launchTags(f)
		if err != nil {
			return nil, invalid(err)
		}
		info := blob.FunctionInfo{Name: f.Name, LaunchParamTags: tags}
		for _, p := range f.Params {
			if f.Buffers[p] == nil && tir.IsHandle(p.Type) {
				return nil, invalid(fmt.Errorf("kernel %s takes %s, an address of which nothing is known: pass a tensor", f.Name, p.Name))
			}
			if b := f.Buffers[p]; b != nil && b.StorageScope() != "global" {
				return nil, invalid(fmt.Errorf("kernel %s takes %s in scope %s, an image, which this generator does not have: use scope global", f.Name, b.Name,
					b.StorageScope()))
			}
			info.ArgTypes = append(info.ArgTypes, dlpack.DataType(p.Type))
		}
		module.Functions = append(module.Functions, blob.Function{Key: f.Name, FunctionInfo: info})
	}
	return runtime.NewDeviceCode(kind, module)
}

func invalid(err error) error {
	return runtime.Errorf(runtime.ErrInvalidArgument, "%w", err)
}

func init() {
	err := target.SetAttr(kind, codegen.ColumnLower, codegen.Pass(Lower))
	if err == nil {
		err = target.SetAttr(kind, target.ColumnPartitioner, target.Predicate(codegen.TakesKernels))
	}
	if err == nil {
		err = codegen.Register(kind, Build)
	}
	if err != nil {
		panic(fmt.Sprintf("opencl: %v", err)) // another package has taken the kind
	}
}
