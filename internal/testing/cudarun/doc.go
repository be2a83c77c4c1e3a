// Package cudarun executes CUDA C, and generated OpenCL C, on the CPU, for tests on machines without a GPU. It
// translates a source to C++, compiles it, and runs each thread of a block as a fiber, with the semantics of a GPU and
// checks for what a GPU does not report.
//
//	library, err := cudarun.Compile(source, cudarun.Options{Arch: 90})
//	err = library.Launch("add", cudarun.Grid{Blocks: cudarun.Dim{4}, Threads: cudarun.Dim{256}}, x, y, int32(1000))
//
// Slices are arguments in device memory; numbers are passed by value. [Use] runs whole programs: it makes the fake CUDA
// driver (package fakecuda) run the kernels of every module with CUDA C, so that a program built for kind "cuda"
// executes on device cuda:0 with the real host code.
//
// # What is executed
//
// Thread and block indices, static and dynamic shared memory, barriers, warp shuffles, votes and reductions, atomics,
// vector types, math functions, and inline PTX: cp.async, mma.sync, ldmatrix, and conversions and arithmetic of 16-bit
// floats. An instruction that the interpreter of PTX does not know is an error when it is reached (engine/ptx.cpp).
// The headers of 16-bit types (cuda_fp16.h, …) are in folder device.
//
// With [Options].Subgroup, a source is OpenCL C as package codegen/opencl writes it, with the shuffles of both
// extensions in subgroups of that size; device/opencl.h has its vectors and functions. There are no images. A shuffle
// that reads beyond the subgroup, which OpenCL leaves undefined, gives a value with all bits set.
//
// # What is an error
//
//   - An access outside of the allocations of the arguments or of a variable in shared memory; a write through a const
//     pointer; an address that is not a multiple of the type's alignment; an index outside of an array.
//   - A read of shared memory that the block has not written. Such memory also holds NaN.
//   - A data race: two threads access the same bytes of shared or global memory, at least one of them writes, and no
//     barrier orders them. __syncthreads orders all threads of a block, __syncwarp those of its mask. Blocks have no
//     order. The order in which threads run here does not matter for this check; it is forwards in the first launch of
//     a library, backwards in the second, then random. CUDARUN_SEED sets it: 0, 1, or another number.
//   - A barrier that some threads do not reach, or that they reach in different lines. An operation of a warp that a
//     lane of its mask does not reach; a shuffle that reads a lane that does not take part.
//   - An access to bytes that cp.async copies, before the thread has waited for the copy's group; an access by another
//     thread without a barrier after that; a thread that ends with copies in flight.
//
// An error names the kernel, the block, the thread and, where it is known, the line of the source.
//
// # How
//
// The compiler instruments loads and stores as for the thread sanitizer, and calls the engine's checks in place of the
// sanitizer's (engine/memory.cpp). translate.go and opencl.go rewrite what C++ cannot express. The engine is C++17 for
// GCC or Clang on x86-64 and AArch64.
package cudarun
