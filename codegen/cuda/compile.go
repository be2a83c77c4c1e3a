package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tvmgo/codegen/explain"
	"tvmgo/internal/cudaimage"
	"tvmgo/internal/nvrtc"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// optionFormat is the option of kind cuda for the form of the kernels.
const optionFormat = "code-format"

// compileCallback is the name of a global function that compiles source when a module is loaded. If a program registers
// it, it replaces NVRTC.
const compileCallback = "tvm_callback_cuda_compile"

// archOf returns the architecture of a target: "sm_90a" and 90.
func archOf(t *target.Target) (name string, number int) {
	option := "arch"
	if t.Kind().Name() == kindPTX {
		option = "mcpu"
	}
	name, _ = target.Get[string](t, option)
	number, _ = strconv.Atoi(strings.TrimRight(strings.TrimPrefix(name, "sm_"), "af"))
	return name, number
}

// compilerFor returns the format of the kernels for a target, and the compiler that makes it; nil for source.
func compilerFor(t *target.Target) (*nvrtc.Compiler, cudaimage.Format, error) {
	name, arch := archOf(t)
	wanted, _ := target.Get[string](t, optionFormat)
	isPTX := t.Kind().Name() == kindPTX
	var c *nvrtc.Compiler
	var missing error
	if isPTX || wanted != "source" {
		c, missing = nvrtc.FindArch(arch)
	}
	if err := checkArch(name, arch, c); err != nil {
		return nil, "", err
	}
	switch {
	case isPTX && missing != nil:
		return nil, "", runtime.Errorf(runtime.ErrNotSupported, "kind %s makes PTX, for which it needs NVRTC: %v; or build "+
			"for \"%s -arch=%s -%s=source\", which is compiled when it is loaded", kindPTX, missing, kind, name, optionFormat)
	case isPTX:
		return c, cudaimage.PTX, nil
	case wanted == "source":
		return nil, cudaimage.Source, nil
	case wanted == "cubin" && missing != nil:
		return nil, "", runtime.Errorf(runtime.ErrNotSupported, "%s=cubin needs NVRTC: %v; or build with %s=source, which "+
			"is compiled when it is loaded", optionFormat, missing, optionFormat)
	case wanted == "cubin":
		return c, cudaimage.CUBIN, nil
	case missing != nil || !c.Supports(arch) || name == target.DefaultCUDAArch || hasCallback():
		return nil, cudaimage.Source, nil
	}
	return c, cudaimage.CUBIN, nil
}

func hasCallback() bool {
	f, err := runtime.Global(compileCallback)
	if err == nil {
		f.Close()
	}
	return err == nil
}

// checkArch returns an error if no NVRTC from 11.2 on compiles for an architecture. c may be nil.
func checkArch(name string, arch int, c *nvrtc.Compiler) error {
	var others []int
	if c != nil {
		others = c.Archs()
	}
	known := knownArchs(others)
	if slices.Contains(known, arch) {
		return nil
	}
	var list []string
	for _, a := range known {
		list = append(list, fmt.Sprintf("sm_%d", a))
	}
	return runtime.Errorf(runtime.ErrInvalidArgument, "the architecture %q is not known: want one of %s", name,
		strings.Join(list, ", "))
}

// compile compiles CUDA C for the architecture of a target.
func compile(c *nvrtc.Compiler, t *target.Target, code string, format cudaimage.Format) (nvrtc.Result, error) {
	arch, _ := archOf(t)
	want := nvrtc.CUBIN
	if format == cudaimage.PTX {
		want = nvrtc.PTX
	}
	r, err := c.CompileCached(context.Background(), nvrtc.Source{Name: "kernels.cu", Code: code, Arch: arch, Want: want,
		Resources: true})
	switch {
	case errors.Is(err, nvrtc.ErrInvalid):
		return r, runtime.Errorf(runtime.ErrNotSupported, "%v: set %s to another NVRTC", err, nvrtc.Variable)
	case err != nil:
		return r, runtime.Errorf(runtime.ErrFailed, "%v", err)
	}
	return r, nil
}

// resources returns what the assembler reports about the kernels of a program for a target; nil if the build would not
// use it.
func resources(m *tir.IRModule, t *target.Target) (map[string]explain.Resources, error) {
	c, format, err := compilerFor(t)
	if err != nil || format == cudaimage.Source {
		return nil, err
	}
	text, err := New().Emit(m, t)
	if err != nil {
		return nil, err
	}
	r, err := compile(c, t, text, format)
	if err != nil {
		return nil, err
	}
	of := map[string]explain.Resources{}
	for _, k := range r.Kernels {
		if k.Resources == nil || k.Resources.Spills == nil {
			continue
		}
		of[k.Name] = explain.Resources{Registers: int64(k.Resources.Registers),
			SpillStores: int64(k.Resources.Spills.Stores), SpillLoads: int64(k.Resources.Spills.Loads)}
	}
	return of, nil
}
