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

// Compiler is an opened NVRTC. It is used by any number of goroutines at once, and is not closed once it was found.
type Compiler struct {
	api          *C.tvmgo_nvrtc // C's, as long as this is
	library      *dl.Handle
	path         string
	size         int64 // of the file: releases of one version differ in it
	major, minor int
	archs        []int // that it has, ascending: 75, 80, …; nil when it does not say
	include      []string
}

// Path is the file of the library.
func (c *Compiler) Path() string { return c.path }

// Version is NVRTC's: 13, 0.
func (c *Compiler) Version() (major, minor int) { return c.major, c.minor }

// Archs are the architectures that it compiles for, ascending: 75, 80, 90, …; nil when this NVRTC does not say.
func (c *Compiler) Archs() []int { return slices.Clone(c.archs) }

// IncludeDirs are the folders of CUDA's headers that are given to each compilation; none when there are none.
func (c *Compiler) IncludeDirs() []string { return slices.Clone(c.include) }

func (c *Compiler) String() string { return fmt.Sprintf("NVRTC %d.%d", c.major, c.minor) }

// open takes a library for NVRTC: a path, or a name for the dynamic linker.
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
	// NVRTC opens this by its name alone, which the linker knows once the file is open. Some find theirs without help.
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

// close gives up a library that was opened to see what it is; nothing was compiled with it.
func (c *Compiler) close() {
	if c != nil {
		C.free(unsafe.Pointer(c.api))
		c.library.Close()
	}
}

// fill takes the addresses, and asks for the version.
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
			return fmt.Errorf("%s is no NVRTC: it has no function %s", c.path, s.name)
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
