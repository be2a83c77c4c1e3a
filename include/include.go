// Package include holds the C headers of this module: DLPack, the tvm-ffi C ABI, the classic TVM C ABI and the C view of a device.
//
// C and C++ programs compile with this directory on their include path. Embedding the files makes them part of the package, so
// that `go mod vendor` copies them and `tvmgo env` can write them out for programs that have only the binary.
package include

import "embed"

// Files has the headers under the paths that C programs include them by, such as "tvm/runtime/c_runtime_api.h". Read-only.
//
//go:embed dlpack/*.h tvm/ffi/*.h tvm/ffi/extra/*.h tvm/runtime/*.h tvmgo/*.h
var Files embed.FS
