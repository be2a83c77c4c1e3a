// Package include holds the headers with which the Go bindings of drivers are compiled; machines without development
// files lack them. Go does not find the headers of another module by itself: command tvmgo/build/env sets the path.
package include

import "embed"

// Files has every header by its path, as programs include it.
//
//go:embed cuda.h CL/opencl.h vulkan/tvmgo_vulkan.h
var Files embed.FS
