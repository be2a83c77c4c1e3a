// Package include has the headers for the Go bindings of drivers, because machines without development files lack them.
// The go command does not find headers of another module by itself: command tvmgo/build/env sets the path.
package include

import "embed"

// Files has the headers by the paths in #include directives.
//
//go:embed cuda.h CL/opencl.h vulkan/tvmgo_vulkan.h
var Files embed.FS
