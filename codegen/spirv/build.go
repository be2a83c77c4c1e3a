package spirv

import (
	"fmt"

	"tvmgo/blob"
	"tvmgo/codegen"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

const kind = "vulkan"

// Build is target.build.vulkan: it generates code for the kernels that transform.ForDevice makes of a program for
// [Language], a module for each.
func Build(m *tir.IRModule, t *target.Target) (*runtime.Module, error) {
	has := featuresOf(t)
	return codegen.BuildShaders(kind, m, func(f *tir.PrimFunc) (blob.Shader, error) {
		code, uniform, err := emit(f, has)
		s := blob.Shader{Code: code}
		if uniform {
			s.Flag = blob.ShaderUniformScalars
		}
		return s, err
	})
}

func init() {
	err := codegen.AsDevice(kind, Language)
	if err == nil {
		err = codegen.Register(kind, Build)
	}
	if err != nil {
		panic(fmt.Sprintf("vulkan: %v", err)) // another package has taken the kind
	}
}
