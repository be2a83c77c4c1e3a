package suite

import (
	"context"
	"fmt"

	"tvmgo/bench"
	"tvmgo/codegen"
	_ "tvmgo/codegen/all" // the generators of the devices' kinds
	"tvmgo/dlpack"
	"tvmgo/internal/cc"
	"tvmgo/internal/clang"
	"tvmgo/internal/cpufeatures"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// Target returns the target for which programs of a device are built: what the device reports; of the CPU, all
// instructions that this machine has, by clang or else by the C compiler. If the device exists, but no code can be
// generated for it, the error is bench.ErrNotMeasured.
func Target(on *bench.Device) (t *target.Target, err error) {
	if cpu, more := cpufeatures.HostCPU(); on.Handle.Type == dlpack.CPU {
		kind := map[string]any{"kind": "c"}
		if cpu != "" {
			kind["mcpu"] = cpu
		}
		if _, err := clang.Find(context.Background()); err == nil {
			kind["kind"], kind["mtriple"] = "llvm", cpufeatures.HostTriple()
			if cpu != "" {
				kind["mattr"] = more
			}
		}
		t, err = target.New(kind)
	} else {
		t, err = runtime.DetectTarget(on.Handle)
	}
	if err != nil && runtime.DeviceExists(on.Handle) {
		return nil, notMeasured("no code can be generated for %s: %v", on.Name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("target of %s: %w", on.Name, err)
	}
	return t, nil
}

// forHost reports whether code for a target runs on the CPU itself, and not behind a driver.
func forHost(to *target.Target) bool {
	kind := to.Kind().Name()
	return kind == "llvm" || kind == "c"
}

// build generates code of a program for the target of a device. The caller closes the module. A kernel in it,
// Module.Kernel, needs no C compiler on this machine; a host function, Module.Function, does.
func build(on *bench.Device, program *tir.IRModule) (*runtime.Module, error) {
	t, err := Target(on)
	if err != nil {
		return nil, err
	}
	m, err := codegen.Build(program, t)
	if err != nil {
		return nil, fmt.Errorf("build for %s: %w", on.Name, err)
	}
	return m, nil
}

// needCompiler returns an ErrNotMeasured if this machine has no C compiler, which host functions need.
func needCompiler() error {
	if _, err := cc.Find(cc.C, ""); err != nil {
		return notMeasured("generated host functions are compiled on this machine: %v", err)
	}
	return nil
}
