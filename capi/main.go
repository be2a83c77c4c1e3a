// Command capi is built with -buildmode=c-shared into libtvmgo.so: the classic C ABI of
// c_runtime_api.h and c_backend_api.h, and the tvm-ffi C ABI, over package runtime.
//
// With the build tag runtimeonly it becomes libtvmgo_runtime.so, which has the same ABI, and neither code generators
// nor compilers; with the tag cpuonly it has no device but the CPU. The library exports what exports.map names and
// nothing else.
package main

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../internal/core -I${SRCDIR}/../include
*/
import "C"

func main() {}
