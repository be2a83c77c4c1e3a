package cuda

import (
	"fmt"

	"tvmgo/blob"
	"tvmgo/codegen"
	"tvmgo/internal/cudaimage"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// The kinds of targets, of which the first is also the kind of all modules.
const (
	kind    = "cuda"
	kindPTX = "nvptx"
)

// Build is target.build.cuda and target.build.nvptx: it generates code for the kernels that transform.ForDevice makes
// of a program for [Language], and compiles it by NVRTC: see the package comment.
func Build(m *tir.IRModule, t *target.Target) (*runtime.Module, error) {
	return codegen.BuildKernels(kind, m, func(module *blob.DeviceModule) error {
		text, err := New().Emit(m, t)
		if err != nil {
			return err
		}
		c, format, err := compilerFor(t)
		if err != nil {
			return err
		}
		if format == cudaimage.Source {
			module.Format, module.Data = string(format), []byte(text)
			return nil
		}
		r, err := compile(c, t, text, format)
		if err != nil {
			return err
		}
		module.Format, module.Data = string(format), cudaimage.Record(r.Image, r.Kernels)
		module.Source, module.SourceFormat = text, string(cudaimage.Source)
		return nil
	})
}

func init() {
	// the first pass asks Language for vectors
	Language.Last = []transform.Step{{Name: "async copies", Pass: asyncCopies}, {Name: "verify arch", Pass: verifyLimits}}
	err := codegen.AsDevice(kind, Language)
	if err == nil {
		err = codegen.Register(kind, Build)
	}
	if err == nil {
		err = codegen.AsDevice(kindPTX, Language)
	}
	if err == nil {
		err = codegen.Register(kindPTX, Build)
	}
	for _, k := range []string{kind, kindPTX} {
		if err == nil {
			err = target.SetAttr(k, codegen.ColumnResources, codegen.ResourcesFunc(resources))
		}
	}
	if err != nil {
		panic(fmt.Sprintf("cuda: %v", err)) // another package has taken a kind
	}
}
