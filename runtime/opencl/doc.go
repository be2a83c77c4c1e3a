// Package opencl implements the device interface with OpenCL. Its devices are GPUs, accelerators and CPUs with a driver
// of OpenCL 1.2 or newer.
// Import it to enable the device "opencl" and to load modules of kind "opencl":
//
//	import _ "tvmgo/runtime/opencl"
//
// It is built with the tag opencl (go run tvmgo/build/env -- build -tags opencl). Without the tag, the import registers
// a device whose error explains how to build it. A plain "go build -tags opencl" fails ("unknown field buffer in struct
// literal of type _Ctype_cl_image_desc"), because it compiles the Go binding of OpenCL with the system's headers or
// none. The binding needs the headers in this repository. tvmgo/build/env sets their path, for one command or, with -w,
// for all commands. The build prints this advice beside that error.
//
// Devices. The devices of all platforms are numbered together: GPUs first, then accelerators, CPUs and others. Devices
// of the same type are in the order of the platforms and of each platform's devices. TVMGO_OPENCL_PLATFORM selects one
// platform, by its number in the loader's order or by a part of its name. Devices with a version below OpenCL 1.2 are
// not used. The loader (libOpenCL.so.1, or TVMGO_OPENCL_LIBRARY) is opened when a device is first used.
//
// Memory. The data pointer of an array is a handle of this package, not an address; byte_offset is where the array
// begins in its buffer. Arrays in the scopes global.texture, global.texture-weight and global.texture-nhwc are images.
//
// Streams are in-order command queues. A copy from or to host memory waits until it is done. A copy within a device is
// enqueued. A copy between two devices goes through host memory.
//
// Programs are compiled when a kernel is first used on a device, and cached on disk: in TVMGO_CACHE_DIR, or by default
// in the folder tvmgo of the user's cache directory ($XDG_CACHE_HOME). TVMGO_CACHE_DIR=off disables the cache. The
// function opencl.GetPreCompiledPrograms of a module compiles all its programs for the active device and returns the
// binaries. opencl.SetPreCompiledPrograms loads such binaries, also in another process, which then compiles nothing.
package opencl

import _ "tvmgo/internal/needsheaders"
