//go:build cuda

package cuda

/*
#include "gobridge.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"tvmgo/internal/kernels"
	"tvmgo/internal/nvrtc"
	"tvmgo/runtime"
)

// sourceFormat is CUDA C++; the others are compiled.
const sourceFormat = "cuda"

const (
	// compileCallback is the global function that compiles in place of NVRTC, where somebody registered one: source to code.
	compileCallback = "tvm_callback_cuda_compile"
	// optionsVariable has more options for NVRTC, with spaces between them.
	optionsVariable = "TVMGO_NVRTC_OPTIONS"
)

// compile makes code for a device of the module's source.
func (c *code) compile(dev int, what string) ([]byte, error) {
	source := string(c.of.Module.Data)
	f, err := runtime.Global(compileCallback)
	if err == nil {
		defer f.Close()
		return callCompiler(f, source, what)
	}
	if !errors.Is(err, runtime.ErrNotFound) {
		return nil, err
	}
	n, err := nvrtc.Find()
	if err != nil {
		return nil, unavailable("%s: its module holds source without NVRTC to compile it: %v; or compile it to PTX or a cubin when the module is made, or register %s",
			what, err, compileCallback)
	}
	arch, kind := target(int(C.tvmgo_cu_devices[dev].major)*10+int(C.tvmgo_cu_devices[dev].minor), n.Archs())
	r, err := n.CompileCached(context.Background(), nvrtc.Source{Name: "kernels.cu", Code: source, Arch: arch, Want: kind,
		Options: strings.Fields(os.Getenv(optionsVariable))})
	if errors.Is(err, nvrtc.ErrInvalid) && os.Getenv(optionsVariable) != "" {
		return nil, kernels.Fail(runtime.ErrInvalidArgument, "ValueError", "%s on %s: %v (%s is %q)", what, deviceText(dev), err, optionsVariable, os.Getenv(optionsVariable))
	}
	if err != nil {
		return nil, kernels.Fail(runtime.ErrFailed, "RuntimeError", "%s on %s: %v", what, deviceText(dev), err)
	}
	return r.Image, nil
}

// target is what to compile for: machine code of the device's architecture, which every driver that knows the device takes; or
// else PTX of the newest architecture that is not newer, which the driver compiles further.
func target(device int, known []int) (arch string, kind nvrtc.Kind) {
	if known == nil { // it does not say
		return fmt.Sprintf("compute_%d", device), nvrtc.PTX
	}
	if slices.Contains(known, device) {
		return fmt.Sprintf("sm_%d", device), nvrtc.CUBIN
	}
	best := device // which it will refuse, and say what it has
	for _, a := range known {
		if a < device {
			best = a
		}
	}
	return fmt.Sprintf("compute_%d", best), nvrtc.PTX
}

// callCompiler has the source compiled by a registered function: PTX or a cubin, which the driver tells apart by itself.
func callCompiler(f *runtime.Function, source, what string) ([]byte, error) {
	v, err := f.Call(source)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", what, compileCallback, err)
	}
	var code []byte
	switch v := v.(type) {
	case []byte:
		code = v
	case string:
		code = []byte(v)
	default:
		return nil, kernels.Fail(runtime.ErrFailed, "TypeError", "%s: %s returned %T, bytes are needed", what, compileCallback, v)
	}
	if len(code) == 0 {
		return nil, kernels.Fail(runtime.ErrFailed, "ValueError", "%s: %s returned no code", what, compileCallback)
	}
	return code, nil
}
