package cuda

import (
	"fmt"

	"tvmgo/codegen"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

const kind = "cuda"

// Build is target.build.cuda: it generates code for the kernels that transform.ForDevice makes of a program for
// [Language].
func Build(m *tir.IRModule, t *target.Target) (*runtime.Module, error) {
	return codegen.BuildKernels(kind, m, func() (format string, code []byte, err error) {
		text, err := New().Emit(m, t)
		return "cuda", []byte(text), err
	})
}

func init() {
	Language.Last = []transform.Step{{Name: "async copies", Pass: asyncCopies}} // the pass asks Language for vectors
	err := codegen.AsDevice(kind, Language)
	if err == nil {
		err = codegen.Register(kind, Build)
	}
	if err != nil {
		panic(fmt.Sprintf("cuda: %v", err)) // another package has taken the kind
	}
}
