// Package opencl generates code for target kind "opencl": OpenCL C, by the emitter of package codegen/c. Importing
// it enables the kind:
//
//	import _ "tvmgo/codegen/opencl"
//
//	m, err := codegen.Build(program, target) // of "opencl", with kind c or llvm as its host
//
// A function whose loops are bound to blockIdx and threadIdx (te's Bind) becomes kernels, and a host function that
// checks its arguments and launches them. The passes of transform.ForDevice do this; [Language] describes OpenCL C
// to them. The host's module imports the one with the kernels, so that both are exported as one library.
//
// # The code
//
// Memory of scope "shared" is __local, "local" is private. Vectors have 2, 4, 8 or 16 lanes; stores of other widths
// are split into these, and what cannot be split is a loop over lanes. float16 and bfloat16 have 16 bits in memory
// and are computed as float, rounded after each operation, which needs no cl_khr_fp16; float64 requires
// cl_khr_fp64. Constant block sizes become part of the kernel (reqd_work_group_size). Warp shuffles are functions of
// cl_khr_subgroup_shuffle or cl_intel_subgroups, of which the target option extensions lists one; a warp is a subgroup
// of thread_warp_size work items, neighbors in dimension 0 first.
//
// With the target option bounds-check, an access that is out of bounds is skipped, and a read gives 0. Kernels
// report the first one in 24 bytes of scratch memory that the host function passes to them; it waits for its
// kernels, and returns an IndexError as functions on the CPU do. Kernels that a program launches itself report
// nothing. With alias-check=0, the host function does not compare the memory of its arguments.
//
// A tensor may begin inside its buffer, at a multiple of the device's alignment, if tvmgo's runtime launches the
// kernels. Apache TVM's runtime accepts whole buffers only: there such a call is an error.
//
// Generating code needs no device. To run the kernels, a program also imports runtime/opencl.
package opencl
