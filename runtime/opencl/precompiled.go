//go:build opencl

package opencl

/*
#include <stdlib.h>
#include "gobridge.h"
*/
import "C"

import (
	"runtime/cgo"
	"slices"
	"strings"
	"unsafe"

	"github.com/go-gl/cl/v1.2/cl"

	"tvmgo/blob"
	"tvmgo/runtime"
)

// Names of the functions of every module that return its programs, compiled for the active device, and that load such
// programs, also in another process (docs/abi.md D.3).
const (
	savePrograms = "opencl.GetPreCompiledPrograms"
	loadPrograms = "opencl.SetPreCompiledPrograms"
)

//export tvmgoOpenCLSavePrograms
func tvmgoOpenCLSavePrograms(module C.uintptr_t, device C.int32_t, out *unsafe.Pointer, size *C.size_t) C.int {
	return guard(func() error {
		data, err := cgo.Handle(module).Value().(*code).savePrograms(int(device))
		if err == nil {
			*out, *size = C.CBytes(data), C.size_t(len(data))
		}
		return err
	})
}

//export tvmgoOpenCLLoadPrograms
func tvmgoOpenCLLoadPrograms(module C.uintptr_t, device C.int32_t, data unsafe.Pointer, size C.size_t) C.int {
	return guard(func() error {
		return cgo.Handle(module).Value().(*code).loadPrograms(int(device), unsafe.Slice((*byte)(data), size))
	})
}

// savePrograms compiles the programs that are not compiled yet, and returns each function's name and program.
func (c *code) savePrograms(dev int) ([]byte, error) {
	c.Lock()
	defer c.Unlock()
	d := &(*devices.Load())[dev]
	var w blob.Writer
	w.Count(len(c.functions))
	for _, f := range c.functions {
		p, err := c.program(f.Key, dev, d)
		if err != nil {
			return nil, err
		}
		binary := programBinary(p)
		if binary == nil {
			return nil, runtime.Errorf(runtime.ErrNotSupported,
				"%s: the driver of opencl:%d (%s) does not return compiled programs", savePrograms, dev, d.name)
		}
		w.Str(f.Key)
		w.Bytes(binary)
	}
	return w.Data(), nil
}

// loadPrograms loads programs that savePrograms returned: all of them, or none and an error. It skips functions that
// already have a program on the device.
func (c *code) loadPrograms(dev int, data []byte) error {
	binaries, err := c.parsePrograms(data)
	if err != nil {
		return err
	}
	c.Lock()
	defer c.Unlock()
	d := &(*devices.Load())[dev]
	made := map[programKey]cl.Program{}
	for _, f := range c.functions { // a fixed order, unlike the map's
		binary, given := binaries[f.Key]
		key := c.programKey(f.Key, dev)
		if !given || c.programs[key] != nil || made[key] != nil {
			continue
		}
		p, err := d.fromBinary(binary)
		if err == nil {
			if err = c.holds(p, key); err == nil {
				made[key] = p
				continue
			}
			cl.ReleaseProgram(p)
		}
		for _, p := range made {
			cl.ReleaseProgram(p)
		}
		return corrupt("%s: opencl:%d (%s) cannot load the program of kernel %s, which was compiled for another device or "+
			"driver: %v", loadPrograms, dev, d.name, f.Key, err)
	}
	for key, p := range made {
		c.programs[key] = p
	}
	return nil
}

// holds checks that a program contains all kernels that would use it.
func (c *code) holds(p cl.Program, key programKey) error {
	names := kernelNames(p)
	for _, f := range c.functions {
		if c.programKey(f.Key, key.device) == key && !slices.Contains(strings.Split(names, ", "), f.Name) {
			return corrupt("kernel %s is not in the program, which has: %s", f.Name, names)
		}
	}
	return nil
}

func (c *code) parsePrograms(data []byte) (map[string][]byte, error) {
	r := blob.NewReader(data)
	list := map[string][]byte{}
	for range r.Count(16, "compiled programs") {
		name := r.Str("name of a kernel")
		list[name] = r.Bytes("compiled program")
		if r.Err() == nil && !slices.ContainsFunc(c.functions, func(f blob.Function) bool { return f.Key == name }) {
			return nil, corrupt("%s: there is no kernel %q in this module", loadPrograms, name)
		}
	}
	if err := r.Finish("compiled programs"); err != nil {
		return nil, corrupt("%s: %v", loadPrograms, err)
	}
	return list, nil
}
