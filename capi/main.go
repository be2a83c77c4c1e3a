// Command capi is built with -buildmode=c-shared into libtvmgo.so: the classic C ABI of
// c_runtime_api.h and c_backend_api.h, and the tvm-ffi C ABI, over package runtime.
//
// The library exports what exports.map names and nothing else.
package main

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../internal/core -I${SRCDIR}/../include
*/
import "C"

import (
	_ "tvmgo/codegen/all" // codegen.Build, and target.build.<kind> of each kind
	_ "tvmgo/export"      // its global functions: runtime.ModulePackImports, …
	_ "tvmgo/runtime"     // the runtime, with the CPU
	_ "tvmgo/runtime/all" // every device; those whose build tag is missing report how to build them in
)

func main() {}
