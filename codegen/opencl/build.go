package opencl

import (
	"fmt"

	"tvmgo/blob"
	"tvmgo/codegen"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

const kind = "opencl"

// Build is target.build.opencl: it generates code for the kernels that transform.ForDevice makes of a program for
// [Language].
func Build(m *tir.IRModule, t *target.Target) (*runtime.Module, error) {
	return codegen.BuildKernels(kind, m, func(module *blob.DeviceModule) error {
		e := New()
		if onCPU(t) {
			e.Hooks.Vectors, e.Hooks.Snippet = cpuVectors{}, cpuSnippet
		}
		text, err := e.Emit(m, t)
		module.Format, module.Data = "cl", []byte(text)
		return err
	})
}

func init() {
	err := codegen.AsDevice(kind, Language)
	if err == nil {
		err = codegen.Register(kind, Build)
	}
	if err != nil {
		panic(fmt.Sprintf("opencl: %v", err)) // another package has taken the kind
	}
}
