package codegen

import (
	"fmt"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/alias"
	"tvmgo/tir/transform"
)

// AsDevice sets the attributes of a device's kind of target by which it takes part in a build: the passes of
// transform.ForDevice, which make kernels and host functions of a program, and a partitioner that takes functions with
// kernels. A kind that is not registered, or has these attributes already, is an error.
func AsDevice(kind string, l transform.Language) error {
	passes := transform.ForDevice(l)
	err := passes.CheckOrder()
	if err == nil {
		err = target.SetAttr(kind, ColumnLower, Pass(func(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
			return passes.Run(alias.Declare(m), t) // before passes change the accesses
		}))
	}
	if err == nil {
		err = target.SetAttr(kind, target.ColumnPartitioner, target.Predicate(TakesKernels))
	}
	if err != nil {
		return runtime.Errorf(runtime.ErrInvalidArgument, "build kind %q as a device: %w", kind, err)
	}
	return nil
}

// BuildKernels makes a device module of kernels, for the code generator of a kind that [AsDevice] was called for. kind
// is that of the module. generate sets the module's code and its format.
func BuildKernels(kind string, m *tir.IRModule, generate func(*blob.DeviceModule) error) (*runtime.Module, error) {
	module := &blob.DeviceModule{}
	for _, f := range m.Funcs {
		info, err := kernelInfo(f)
		if err != nil {
			return nil, runtime.Errorf(runtime.ErrInvalidArgument, "%w", err)
		}
		module.Functions = append(module.Functions, blob.Function{Key: f.Name, FunctionInfo: info})
	}
	if err := generate(module); err != nil {
		return nil, withContext("%w", err)
	}
	return runtime.NewDeviceCode(kind, module)
}

// maxKernelArgs is the number of arguments that the runtime passes to kernels: TVMGO_MAX_KERNEL_ARGS of
// internal/kernels.
const maxKernelArgs = 256

// kernelInfo describes a kernel's arguments and launch parameters.
func kernelInfo(f *tir.PrimFunc) (blob.FunctionInfo, error) {
	info := blob.FunctionInfo{Name: f.Name, LaunchParamTags: transform.LaunchTags(f)}
	if !transform.IsKernel(f) {
		return info, fmt.Errorf("function %s is not a kernel: build the program with codegen.Build, which separates "+
			"kernels from host code", f.Name)
	}
	if n := len(f.Params); n > maxKernelArgs {
		return info, fmt.Errorf("kernel %s takes %d arguments, %d more than a launch can pass (%d): read and write fewer "+
			"tensors in one kernel", f.Name, n, n-maxKernelArgs, maxKernelArgs)
	}
	for _, p := range f.Params {
		if f.Buffers[p] == nil && tir.IsHandle(p.Type) {
			return info, fmt.Errorf("kernel %s takes %s, an address of which nothing is known: pass a tensor", f.Name,
				p.Name)
		}
		info.ArgTypes = append(info.ArgTypes, dlpack.DataType(p.Type))
	}
	return info, nil
}

// BuildShaders makes a device module of kind "vulkan", for a code generator that [AsDevice] was called for. generate
// returns the shader of a kernel; its key is set here.
func BuildShaders(kind string, m *tir.IRModule, generate func(f *tir.PrimFunc) (blob.Shader, error)) (*runtime.Module,
	error) {
	module := &blob.VulkanModule{Format: kind}
	for _, f := range m.Funcs {
		info, err := kernelInfo(f)
		if err != nil {
			return nil, runtime.Errorf(runtime.ErrInvalidArgument, "%w", err)
		}
		s, err := generate(f)
		if err != nil {
			return nil, withContext("%w", err)
		}
		s.Key = f.Name
		module.Functions = append(module.Functions, blob.Function{Key: f.Name, FunctionInfo: info})
		module.Shaders = append(module.Shaders, s)
	}
	return runtime.NewVulkanCode(module)
}
