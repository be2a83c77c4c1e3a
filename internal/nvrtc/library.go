package nvrtc

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden
#include <stdlib.h>
#include "compile.h"
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"tvmgo/internal/dl"
)

// Compiler is an open NVRTC library. Goroutines may use it concurrently. A Compiler that Find returned is never closed.
type Compiler struct {
	api          *C.tvmgo_nvrtc // allocated by C; close frees it
	library      *dl.Handle
	path         string
	size         int64 // the size of the file, which distinguishes releases of one version
	major, minor int
	archs        []int // the supported architectures, ascending: 75, 80, …; nil when the library does not report them
	include      []string
}

// Path returns the absolute path of the library's file.
func (c *Compiler) Path() string { return c.path }

// Version returns the version of NVRTC: 13, 0.
func (c *Compiler) Version() (major, minor int) { return c.major, c.minor }

// Archs returns the architectures that this NVRTC supports, ascending: 75, 80, 90, …; nil when it does not report them.
func (c *Compiler) Archs() []int { return slices.Clone(c.archs) }

// IncludeDirs returns the folders of CUDA headers that each compilation gets; nil when none were found.
func (c *Compiler) IncludeDirs() []string { return slices.Clone(c.include) }

func (c *Compiler) String() string { return fmt.Sprintf("NVRTC %d.%d", c.major, c.minor) }

// open opens an NVRTC library, which is given by a path, or by a name that the dynamic linker searches for.
func open(name string) (*Compiler, error) {
	h, err := dl.OpenFile(name)
	if err != nil {
		if !strings.Contains(err.Error(), name) {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return nil, err
	}
	c := &Compiler{library: h, path: h.Path(), api: (*C.tvmgo_nvrtc)(C.calloc(1, C.sizeof_tvmgo_nvrtc))}
	good := false
	defer func() {
		if !good {
			C.free(unsafe.Pointer(c.api))
			h.Close()
		}
	}()
	if err := c.fill(h); err != nil {
		return nil, err
	}
	if full, err := filepath.Abs(c.path); err == nil {
		c.path = full
	}
	if info, err := os.Stat(c.path); err == nil {
		c.size = info.Size()
	}
	// NVRTC opens this library by its name without a folder. The linker finds it by that name once the file is open.
	// Some versions of NVRTC find it without this.
	builtins := filepath.Join(filepath.Dir(c.path), fmt.Sprintf("libnvrtc-builtins.so.%d.%d", c.major, c.minor))
	if _, err := os.Stat(builtins); err == nil {
		if _, err := dl.OpenFile(builtins); err != nil {
			return nil, fmt.Errorf("%s cannot be used without the library beside it: %w", c.path, err)
		}
	}
	c.include = includeDirs(c.path)
	good = true
	return c, nil
}

// close closes a library that was opened only to read its version.
func (c *Compiler) close() {
	if c != nil {
		C.free(unsafe.Pointer(c.api))
		c.library.Close()
	}
}

// fill looks up the functions and reads the version and the architectures.
func (c *Compiler) fill(h *dl.Handle) error {
	a := c.api
	for _, s := range []struct {
		name   string
		slot   unsafe.Pointer
		needed bool
	}{
		{"nvrtcVersion", unsafe.Pointer(&a.version), true},
		{"nvrtcGetErrorString", unsafe.Pointer(&a.error_string), true},
		{"nvrtcCreateProgram", unsafe.Pointer(&a.create), true},
		{"nvrtcDestroyProgram", unsafe.Pointer(&a.destroy), true},
		{"nvrtcCompileProgram", unsafe.Pointer(&a.compile), true},
		{"nvrtcGetProgramLogSize", unsafe.Pointer(&a.log_size), true},
		{"nvrtcGetProgramLog", unsafe.Pointer(&a.log), true},
		{"nvrtcGetPTXSize", unsafe.Pointer(&a.ptx_size), true},
		{"nvrtcGetPTX", unsafe.Pointer(&a.ptx), true},
		{"nvrtcAddNameExpression", unsafe.Pointer(&a.add_name), true},
		{"nvrtcGetLoweredName", unsafe.Pointer(&a.lowered), true},
		{"nvrtcGetCUBINSize", unsafe.Pointer(&a.cubin_size), false},
		{"nvrtcGetCUBIN", unsafe.Pointer(&a.cubin), false},
		{"nvrtcGetNumSupportedArchs", unsafe.Pointer(&a.num_archs), false},
		{"nvrtcGetSupportedArchs", unsafe.Pointer(&a.archs), false},
		{"nvrtcSetFlowCallback", unsafe.Pointer(&a.on_flow), false},
	} {
		at := h.Symbol(s.name)
		if at == nil && s.needed {
			return fmt.Errorf("%s is not an NVRTC: it has no function %s", c.path, s.name)
		}
		*(*unsafe.Pointer)(s.slot) = at
	}
	var major, minor C.int
	if rc := C.tvmgo_nvrtc_version(a, &major, &minor); rc != 0 {
		return fmt.Errorf("%s: nvrtcVersion: %s", c.path, c.errorText(rc))
	}
	c.major, c.minor = int(major), int(minor)
	if c.major < 11 || c.major == 11 && c.minor < 2 {
		return fmt.Errorf("%s is NVRTC %d.%d, older than 11.2", c.path, c.major, c.minor)
	}
	var list [256]C.int
	n := int(C.tvmgo_nvrtc_archs(a, &list[0], C.int(len(list))))
	for _, arch := range list[:n] {
		c.archs = append(c.archs, int(arch))
	}
	slices.Sort(c.archs)
	return nil
}

func (c *Compiler) errorText(rc C.int) string { return C.GoString(C.tvmgo_nvrtc_error(c.api, rc)) }
