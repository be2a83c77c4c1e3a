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
	"regexp"
	"slices"
	"strings"

	"tvmgo/internal/nvrtc"
	"tvmgo/runtime"
)

// sourceFormat is CUDA C++; the others are compiled.
const sourceFormat = "cuda"

const (
	// compileCallback is the global function that compiles in place of NVRTC, where somebody registered one: source to
	// code.
	compileCallback = "tvm_callback_cuda_compile"
	// optionsVariable has more options for NVRTC, with spaces between them.
	optionsVariable = "TVMGO_NVRTC_OPTIONS"
)

// compile makes code for a device of the module's source.
func (c *code) compile(dev int, what string) ([]byte, error) {
	source := string(c.of.Data)
	f, err := runtime.Global(compileCallback)
	if err == nil {
		defer f.Close()
		return callCompiler(f, source, what)
	}
	if !errors.Is(err, runtime.ErrNotFound) {
		return nil, err
	}
	n, err := nvrtc.FindFor(driverVersionNumber())
	if err != nil {
		return nil, unavailable("%s: its module holds source without NVRTC to compile it: %v; or compile it to PTX or a "+
			"cubin when the module is made, or register %s",
			what, err, compileCallback)
	}
	named, options, err := archOption(strings.Fields(os.Getenv(optionsVariable)))
	if err != nil {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "%s on %s: %v (%s is %q)", what, deviceText(dev), err,
			optionsVariable, os.Getenv(optionsVariable))
	}
	d := C.tvmgo_cu_at(C.int32_t(dev))
	arch, kind := target(int(d.major)*10+int(d.minor), n.Archs(), needsLetter(source))
	if named != "" {
		arch, kind = named, nvrtc.CUBIN
		if strings.HasPrefix(named, "compute_") {
			kind = nvrtc.PTX
		}
	}
	r, err := n.CompileCached(context.Background(), nvrtc.Source{Name: "kernels.cu", Code: source, Arch: arch, Want: kind,
		Options: options})
	if errors.Is(err, nvrtc.ErrInvalid) && os.Getenv(optionsVariable) != "" {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "%s on %s: %v (%s is %q)", what, deviceText(dev), err,
			optionsVariable, os.Getenv(optionsVariable))
	}
	if err != nil {
		return nil, runtime.Errorf(runtime.ErrFailed, "%s on %s: %v", what, deviceText(dev), err)
	}
	return r.Image, nil
}

// archOption takes the architecture out of options, in any of NVRTC's spellings; the last one counts, "" without one.
func archOption(options []string) (arch string, rest []string, err error) {
	for i := 0; i < len(options); i++ {
		name, value, given := strings.Cut(options[i], "=")
		if name != "-arch" && name != "--gpu-architecture" {
			rest = append(rest, options[i])
			continue
		}
		if !given {
			if i++; i == len(options) {
				return "", nil, fmt.Errorf("%s names no architecture: write %s=sm_90a", name, name)
			}
			value = options[i]
		}
		arch = value
	}
	return arch, rest, nil
}

// needsLetter tells whether source uses instructions that only the architecture's own set has, with the letter a: the
// products of warp groups and what goes with them. Comments do not count.
func needsLetter(source string) bool {
	return ownInstructions.MatchString(comments.ReplaceAllString(source, " "))
}

var (
	ownInstructions = regexp.MustCompile(`(^|[^0-9A-Za-z])(wgmma|setmaxnreg|tcgen05)([^0-9A-Za-z]|$)`)
	comments        = regexp.MustCompile(`//[^\n]*|(?s:/\*.*?\*/)`)
)

// firstWithLetter is the first architecture that has a set of its own.
const firstWithLetter = 90

// target is what to compile for: machine code of the device's architecture, which every driver that knows the device
// takes; or else PTX of the newest architecture that is not newer, which the driver compiles further. letter asks for
// the architecture's own instructions (sm_90a), where the device has such; they run on it alone.
func target(device int, known []int, letter bool) (arch string, kind nvrtc.Kind) {
	own := ""
	if letter && device >= firstWithLetter {
		own = "a"
	}
	if known == nil { // it does not say
		return fmt.Sprintf("compute_%d%s", device, own), nvrtc.PTX
	}
	if slices.Contains(known, device) {
		return fmt.Sprintf("sm_%d%s", device, own), nvrtc.CUBIN
	}
	best := device // which it will refuse, and say what it has
	for _, a := range known {
		if a < device {
			best = a
		}
	}
	return fmt.Sprintf("compute_%d", best), nvrtc.PTX
}

// callCompiler has the source compiled by a registered function: PTX or a cubin, which the driver tells apart by
// itself.
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
		e := runtime.Errorf(runtime.ErrFailed, "%s: %s returned %T, bytes are needed", what, compileCallback, v)
		e.Code = "TypeError"
		return nil, e
	}
	if len(code) == 0 {
		e := runtime.Errorf(runtime.ErrFailed, "%s: %s returned no code", what, compileCallback)
		e.Code = runtime.CodeOf(runtime.ErrInvalidArgument)
		return nil, e
	}
	return code, nil
}
