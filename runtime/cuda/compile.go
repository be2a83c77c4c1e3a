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

	"tvmgo/internal/nvrtc"
	"tvmgo/runtime"
)

// sourceFormat is the format of CUDA C++ source. Other formats are compiled code.
const sourceFormat = "cuda"

const (
	// compileCallback is the name of a global function that takes source and returns compiled code. If it is registered,
	// it is used instead of NVRTC.
	compileCallback = "tvm_callback_cuda_compile"
	// optionsVariable is an environment variable with more options for NVRTC, separated by spaces.
	optionsVariable = "TVMGO_NVRTC_OPTIONS"
)

// compile compiles the module's source for a device.
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
		return nil, unavailable("%s: its module contains source, which needs NVRTC: %v; or compile it to PTX or a cubin "+
			"when the module is built, or register %s",
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

// archOption removes the option for the architecture, in any of NVRTC's spellings, from options. arch is the value of
// the last one; "" if there is none.
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

// needsLetter reports whether source uses architecture-specific instructions, which need an architecture with the
// letter a, such as sm_90a. These are the matrix products of warp groups and related instructions. Comments do not
// count.
func needsLetter(source string) bool {
	words := strings.FieldsFunc(withoutComments(source), func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
	})
	return slices.ContainsFunc(words, func(word string) bool {
		return word == "wgmma" || word == "setmaxnreg" || word == "tcgen05"
	})
}

// withoutComments returns source with spaces in place of comments.
func withoutComments(source string) string {
	var code strings.Builder
	for {
		at := strings.IndexByte(source, '/')
		if at < 0 || at+1 == len(source) {
			code.WriteString(source)
			return code.String()
		}
		end := 0 // of the comment
		switch rest := source[at:]; rest[1] {
		case '/':
			if end = strings.IndexByte(rest, '\n'); end < 0 {
				end = len(rest)
			}
		case '*':
			if n := strings.Index(rest[2:], "*/"); n >= 0 {
				end = 2 + n + 2
			}
		}
		code.WriteString(source[:at])
		if end == 0 {
			code.WriteByte('/')
			end = 1
		} else {
			code.WriteByte(' ')
		}
		source = source[at+end:]
	}
}

// firstWithLetter is the first architecture with architecture-specific instructions.
const firstWithLetter = 90

// target returns the architecture and the kind of code for a device. If the compiler knows the device's architecture,
// it is machine code, which every driver for the device can load. Otherwise it is PTX for the newest known architecture
// that is older, which the driver compiles. letter requests architecture-specific instructions (sm_90a), which run only
// on that architecture.
func target(device int, known []int, letter bool) (arch string, kind nvrtc.Kind) {
	own := ""
	if letter && device >= firstWithLetter {
		own = "a"
	}
	if known == nil { // the compiler does not report the architectures that it knows
		return fmt.Sprintf("compute_%d%s", device, own), nvrtc.PTX
	}
	if slices.Contains(known, device) {
		return fmt.Sprintf("sm_%d%s", device, own), nvrtc.CUBIN
	}
	best := device // without an older one, the compiler's error lists the architectures that it knows
	for _, a := range known {
		if a < device {
			best = a
		}
	}
	return fmt.Sprintf("compute_%d", best), nvrtc.PTX
}

// callCompiler compiles source with a registered function. The result is PTX or a cubin, which the driver
// distinguishes.
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
		e := runtime.Errorf(runtime.ErrFailed, "%s: %s returned %T, but must return bytes", what, compileCallback, v)
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
