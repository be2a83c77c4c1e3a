// Package opencl is OpenCL behind the device interface: GPUs, accelerators and CPUs with an OpenCL 1.2 driver.
// Import it to enable the device "opencl" and to load modules of kind "opencl":
//
//	import _ "tvmgo/runtime/opencl"
//
// It is built with the tag opencl (go run tvmgo/build/env -- build -tags opencl). Without the tag, the import registers
// a device that says so. A plain "go build -tags opencl" compiles the binding of OpenCL against the system's headers,
// or none, and fails ("unknown field buffer in struct literal of type _Ctype_cl_image_desc"): the binding fits the
// headers that this module carries, and tvmgo/build/env sets their path, for one command or, with -w, for all. The
// build says so beside that error.
//
// Devices. The devices of all platforms are numbered together: GPUs first, then accelerators, CPUs and others;
// within a kind in the order of the platforms and of each platform's devices. TVMGO_OPENCL_PLATFORM keeps those
// of one platform: a number, as the loader counts them, or a part of its name. Devices below OpenCL 1.2 are left
// out. The loader (libOpenCL.so.1, or TVMGO_OPENCL_LIBRARY) is opened when a device is first asked for.
//
// Memory. Data of an array is a handle of this package, not an address; byte_offset says where in its buffer an
// array begins. Arrays in the scopes global.texture, global.texture-weight and global.texture-nhwc are images.
//
// Streams are command queues in order. A copy from or to the host waits until it is done, one within a device is
// queued; one between two devices goes by way of the host.
//
// Programs are compiled when a kernel is first used on a device, and kept on disk: in TVMGO_CACHE_DIR, or else in
// tvmgo of the user's cache ($XDG_CACHE_HOME); TVMGO_CACHE_DIR=off keeps nothing. The function
// opencl.GetPreCompiledPrograms of a module compiles all of them for the active device and returns them as bytes;
// opencl.SetPreCompiledPrograms takes such bytes, in another process too, so that nothing is compiled there.
package opencl

import _ "tvmgo/internal/needsheaders"
