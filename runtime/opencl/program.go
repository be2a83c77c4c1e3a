//go:build opencl

package opencl

/*
#include <stdlib.h>
#include "gobridge.h"
*/
import "C"

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/go-gl/cl/v1.2/cl"

	"tvmgo/internal/diskcache"
	"tvmgo/internal/kernels"
	"tvmgo/runtime"
)

// Build implements kernels.Builder.
func (c *code) Build(k unsafe.Pointer, i, dev int) error {
	p, built, err := c.kernel(i, dev)
	if err != nil {
		return err
	}
	if C.tvmgo_cl_built_set((*C.cl_function)(k), C.tvmgo_cl_at(C.int32_t(dev)), C.cl_program(unsafe.Pointer(p)),
		built) != 0 {
		return kernels.Raised()
	}
	return nil
}

// kernel creates a kernel object from its program. c owns the program.
func (c *code) kernel(function, dev int) (cl.Program, C.cl_kernel, error) {
	d := &(*devices.Load())[dev]
	f := &c.functions[function]
	p, err := c.program(f.Key, dev, d)
	if err != nil {
		return nil, nil, err
	}
	name := C.CString(f.Name)
	defer C.free(unsafe.Pointer(name))
	var rc cl.ErrorCode
	k := cl.CreateKernel(p, (*uint8)(unsafe.Pointer(name)), &rc)
	if rc == cl.SUCCESS {
		return p, C.cl_kernel(unsafe.Pointer(k)), nil
	}
	if rc == cl.INVALID_KERNEL_NAME {
		return nil, nil, corrupt("kernel %s is not in the source, which has: %s", f.Name, kernelNames(p))
	}
	return nil, nil, runtime.Errorf(runtime.ErrFailed, "kernel %s on opencl:%d (%s): %s", f.Name, dev, d.name,
		codeText(rc))
}

func kernelNames(p cl.Program) string {
	names := text(func(size uint64, data unsafe.Pointer, need *uint64) cl.ErrorCode {
		return cl.GetProgramInfo(p, cl.PROGRAM_KERNEL_NAMES, size, data, need)
	})
	if names == "" {
		return "none"
	}
	return strings.ReplaceAll(names, ";", ", ")
}

// programKey returns the key in c.programs of a function's program.
func (c *code) programKey(function string, dev int) programKey {
	if c.pieces == nil {
		return programKey{device: dev}
	}
	return programKey{dev, function}
}

// program returns the built program that contains a function. All functions share one program if the source is not
// split.
func (c *code) program(function string, dev int, d *device) (cl.Program, error) {
	key := c.programKey(function, dev)
	source := string(c.data)
	if c.pieces != nil {
		source = c.pieces[function]
	}
	if p, ok := c.programs[key]; ok {
		return p, nil
	}
	var p cl.Program
	var err error
	if c.format == sourceFormat {
		p, err = cachedProgram(function, source, dev, d)
	} else {
		p, err = d.fromBinary(c.data)
		if err != nil {
			err = corrupt("kernel %s: opencl:%d (%s) cannot load the module's binary (%s): %v", function, dev, d.name,
				c.format, err)
		}
	}
	if err == nil {
		c.programs[key] = p
	}
	return p, err
}

// buildOptions are the options of clBuildProgram.
const buildOptions = ""

// kept is the disk cache of compiled programs.
const kept diskcache.Cache = "opencl"

// cachedProgram loads a program from the disk cache, or compiles it and stores it there.
func cachedProgram(function, source string, dev int, d *device) (cl.Program, error) {
	key := diskcache.Key(source, buildOptions, d.platform.name, d.platform.version, d.name, d.version)
	if binary := kept.Read(key); binary != nil {
		p, err := d.fromBinary(binary)
		if err == nil {
			return p, nil
		}
		kept.Drop(key)
	}
	p, err := d.fromSource(function, source, dev)
	if err != nil {
		return nil, err
	}
	if binary := programBinary(p); binary != nil {
		_ = kept.Write(key, binary) // an error only makes the next start slower
	}
	return p, nil
}

func (d *device) fromSource(function, source string, dev int) (cl.Program, error) {
	lines := C.CString(source)
	defer C.free(unsafe.Pointer(lines))
	list := (*[1]*C.char)(C.malloc(C.size_t(unsafe.Sizeof(lines))))
	defer C.free(unsafe.Pointer(list))
	list[0] = lines
	length := uint64(len(source))
	var rc cl.ErrorCode
	p := cl.CreateProgramWithSource(d.context, 1, (**uint8)(unsafe.Pointer(list)), &length, &rc)
	if rc != cl.SUCCESS {
		return nil, runtime.Errorf(runtime.ErrFailed, "kernel %s on opencl:%d (%s): %s", function, dev, d.name, codeText(rc))
	}
	if rc := d.build(p); rc != cl.SUCCESS {
		log := d.buildLog(p)
		cl.ReleaseProgram(p)
		return nil, runtime.Errorf(runtime.ErrFailed, "kernel %s does not compile for opencl:%d (%s)%s: %s\n%s",
			function, dev, d.name, d.lacking(source), codeText(rc), log)
	}
	return p, nil
}

// enabled lists the extensions that a source enables, by lines such as "#pragma OPENCL EXTENSION cl_khr_fp16 : enable".
func enabled(source string) (list []string) {
	for line := range strings.Lines(source) {
		line = strings.Replace(strings.Replace(line, "#", "# ", 1), ":", " : ", 1)
		w := strings.Fields(line)
		if len(w) >= 7 && slices.Equal(w[:4], []string{"#", "pragma", "OPENCL", "EXTENSION"}) && w[5] == ":" &&
			strings.HasPrefix(w[6], "enable") {
			list = append(list, w[4])
		}
	}
	return list
}

// lacking explains which extensions a source enables that the device does not have; "" if there are none.
func (d *device) lacking(source string) string {
	have := strings.Fields(deviceText(d.id, cl.DEVICE_EXTENSIONS))
	var lacks []string
	for _, extension := range enabled(source) {
		if !slices.Contains(have, extension) && !slices.Contains(lacks, extension) {
			lacks = append(lacks, extension)
		}
	}
	if lacks == nil {
		return ""
	}
	return ", which lacks extension " + strings.Join(lacks, ", ") + " of OpenCL: run it on another device, or build it " +
		"without what needs the extension"
}

func (d *device) build(p cl.Program) cl.ErrorCode {
	options := C.CString(buildOptions)
	defer C.free(unsafe.Pointer(options))
	id := d.id
	return cl.BuildProgram(p, 1, &id, (*uint8)(unsafe.Pointer(options)), nil, nil)
}

// maxLog is the most bytes of the compiler's messages that an error contains.
const maxLog = 16 << 10

func (d *device) buildLog(p cl.Program) string {
	log := text(func(size uint64, data unsafe.Pointer, need *uint64) cl.ErrorCode {
		return cl.GetProgramBuildInfo(p, d.id, cl.PROGRAM_BUILD_LOG, size, data, need)
	})
	if len(log) > maxLog {
		log = log[:maxLog] + "…"
	}
	return log
}

// programBinary returns a built program in the driver's own format; nil if the driver does not return it.
func programBinary(p cl.Program) []byte {
	var size uint64
	if cl.GetProgramInfo(p, cl.PROGRAM_BINARY_SIZES, 8, unsafe.Pointer(&size), nil) != cl.SUCCESS || size == 0 {
		return nil
	}
	data := C.malloc(C.size_t(size))
	defer C.free(data)
	list := (*[1]unsafe.Pointer)(C.malloc(C.size_t(unsafe.Sizeof(data))))
	defer C.free(unsafe.Pointer(list))
	list[0] = data
	if cl.GetProgramInfo(p, cl.PROGRAM_BINARIES, uint64(unsafe.Sizeof(data)), unsafe.Pointer(list), nil) != cl.SUCCESS {
		return nil
	}
	return C.GoBytes(data, C.int(size))
}

// fromBinary creates a program from its binary in the driver's own format.
func (d *device) fromBinary(binary []byte) (cl.Program, error) {
	data := C.CBytes(binary)
	defer C.free(data)
	list := (*[1]unsafe.Pointer)(C.malloc(C.size_t(unsafe.Sizeof(data))))
	defer C.free(unsafe.Pointer(list))
	list[0] = data
	size := uint64(len(binary))
	var status int32
	id := d.id
	var rc cl.ErrorCode
	p := cl.CreateProgramWithBinary(d.context, 1, &id, &size, (**uint8)(unsafe.Pointer(list)), &status, &rc)
	if rc != cl.SUCCESS {
		return nil, runtime.Errorf(runtime.ErrFailed, "%s", codeText(rc))
	}
	if rc := d.build(p); rc != cl.SUCCESS {
		err := runtime.Errorf(runtime.ErrFailed, "%s\n%s", codeText(rc), d.buildLog(p))
		cl.ReleaseProgram(p)
		return nil, err
	}
	return p, nil
}
