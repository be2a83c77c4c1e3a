package opencl

import (
	"fmt"

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

// Passes are what runs before code of this kind is generated: kernels come out of it, and functions of the host.
func Passes() []codegen.Pass {
	return []codegen.Pass{arith.Simplify, transform.ThreadSync, transform.SplitHostDevice, transform.Vectorize, splitVectors, transform.Unroll, arith.Simplify}
}

// Build is target.build.opencl. Of a module that has functions of the host, too, it makes theirs, which imports the kernels'.
func Build(m *tir.IRModule, t *target.Target) (*runtime.Module, error) {
	kernels, host := &tir.IRModule{Attrs: m.Attrs}, &tir.IRModule{Attrs: m.Attrs}
	for _, f := range m.Funcs {
		if transform.IsKernel(f) {
			kernels.Funcs = append(kernels.Funcs, f)
		} else {
			host.Funcs = append(host.Funcs, f)
		}
	}
	if len(host.Funcs) == 0 {
		return buildKernels(kernels, t)
	}
	h := t.Host()
	if h == nil {
		var err error
		if h, err = target.New("c"); err != nil {
			return nil, err
		}
	}
	out, err := codegen.Build(host, h)
	if err != nil || len(kernels.Funcs) == 0 {
		return out, err
	}
	device, err := buildKernels(kernels, t)
	if err != nil {
		out.Close()
		return nil, err
	}
	defer device.Close()
	if err := out.Import(device); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// buildKernels makes the module of kernels.
func buildKernels(m *tir.IRModule, t *target.Target) (*runtime.Module, error) {
	code, err := New().Emit(m, t)
	if err != nil {
		return nil, invalid(err)
	}
	module := &blob.DeviceModule{Format: "cl", Data: []byte(code)}
	for _, f := range m.Funcs {
		if err := checkLimits(f, t); err != nil {
			return nil, invalid(err)
		}
		tags, err := launchTags(f)
		if err != nil {
			return nil, invalid(err)
		}
		info := blob.FunctionInfo{Name: f.Name, LaunchParamTags: tags}
		for _, p := range f.Params {
			if f.Buffers[p] == nil && tir.IsHandle(p.Type) {
				return nil, invalid(fmt.Errorf("kernel %s takes %s, an address of which nothing is known: pass a tensor", f.Name, p.Name))
			}
			info.ArgTypes = append(info.ArgTypes, dlpack.DataType(p.Type))
		}
		module.Functions = append(module.Functions, blob.Function{Key: f.Name, FunctionInfo: info})
	}
	return runtime.NewDeviceSource(kind, module)
}

func invalid(err error) error {
	return &runtime.Error{Kind: runtime.ErrInvalidArgument, Code: "ValueError", Message: err.Error(), Err: err}
}

func init() {
	err := target.SetAttr(kind, codegen.ColumnPasses, Passes())
	if err == nil {
		err = codegen.Register(kind, Build)
	}
	if err != nil {
		panic(fmt.Sprintf("opencl: %v", err)) // another package has taken the kind
	}
}
