// Package include holds the C headers of this module: DLPack, the tvm-ffi C ABI, the classic TVM C ABI, the C view of a device,
// and the C++ classes over the classic ABI.
//
// C and C++ programs compile with this directory on their include path. Embedding the files makes them part of the package, so
// that `go mod vendor` copies them and `tvmgo env` can write them out for programs that have only the binary.
package include

import "embed"

// Files has the headers under the paths that C programs include them by, such as "tvm/runtime/c_runtime_api.h". Read-only.
//
//go:embed dlpack/*.h tvm/ffi/*.h tvm/ffi/extra/*.h tvm/runtime/*.h tvmgo/*.h tvmgo/*.hpp
var Files embed.FS
