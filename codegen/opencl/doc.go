// Package opencl generates code for target kind "opencl": OpenCL C, by the emitter of package codegen/c. Importing it enables the kind:
//
//	import _ "tvmgo/codegen/opencl"
//
//	m, err := codegen.Build(program, target) // of "opencl", with kind c or llvm as its host
//
// A function whose loops are bound to blockIdx and threadIdx (te's Bind) becomes one for the host, which checks its arguments and launches
// kernels, and the kernels: barriers are put between their threads, and functions are split, by the passes of package tir/transform. The module of
// the host imports that of the kernels, so that both are exported as one library.
//
// # The code
//
// Memory of scope "shared" is __local, "local" is private. Vectors of 2, 4, 8 and 16 lanes are OpenCL's, wider ones several of them, others loops over
// their lanes. float16 and bfloat16 are 16 bits in memory and float elsewhere, rounded after each operation, on devices without cl_khr_fp16, too; float64 asks
// for cl_khr_fp64. Sizes of blocks that are constant are the kernel's (reqd_work_group_size).
//
// With target option bounds-check, an access that is outside of its buffer is skipped, and what is read is 0. Kernels report the first one in 24 bytes of
// scratch memory that the host's function gives them; it waits for its kernels, and returns an IndexError as functions on the CPU do. Kernels that a program
// launches itself report nothing. With alias-check=0, the host's function does not compare the memory of its arguments.
//
// A tensor may begin inside of its buffer, at a multiple of the device's alignment, where our runtime launches the kernels; Apache TVM's takes whole buffers
// only, and there it is an error of the call.
//
// No device is asked for anything, and this package does not import runtime/opencl: which runs the kernels, where a program imports it.
package opencl
