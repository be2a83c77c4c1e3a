// Package include holds the headers that the Go bindings of drivers are compiled with, and which
// machines without development files lack. Go finds no header of another module by itself: command
// tvmgo/build/env sets the path.
package include

import "embed"

// Files has every header by its path, as programs include it.
//
//go:embed cuda.h CL/opencl.h vulkan/tvmgo_vulkan.h
var Files embed.FS
