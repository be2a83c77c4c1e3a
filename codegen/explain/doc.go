// Package explain finds the figures of kernels that otherwise take a device and a profiler: threads, shared memory,
// occupancy, sectors and bank conflicts of each access, bytes, operations, and the expected bound. It reads kernels in
// the form that transform.ForDevice gives them, and runs nothing: codegen.Explain calls it for a program.
//
// The figures come from evaluating the kernel's indices, conditions and loop bounds for the threads of a warp, as the
// device would. Of a grid, of a block's warps above 8 and of loops with many iterations, the first, a middle and the
// last are evaluated; the middle one stands for all between. Figures are exact if these are alike, which holds for
// kernels whose edges alone differ. What depends on loaded values is not known: such accesses are marked, their figures
// are the worst, and such conditions count as true and as false. A value that all threads of a warp load from one
// position is the same for all of them: the sectors of a row that it selects are known.
//
// A request is the execution of one load or store of at most 16 bytes a thread by a warp. For global memory, its
// sectors are the pieces of 32 bytes that its threads touch: 4 for threads that read consecutive float32, 16 for
// consecutive vectors of 16 bytes, 32 for threads that are further apart. For shared memory, its ways are the number
// of different words of 4 bytes in the most used of the 32 banks: 1 means no conflict. Vectors of 8 and 16 bytes are
// read by half and by quarter warps. Addresses of tensors are assumed to be aligned to 256 bytes.
//
// Loads and stores of fragments (tir.FragmentCall) are requests of the threads that hold the elements in the registers
// of mma.sync; their operations count under the name "tensor:" and the type of the operands.
//
// Occupancy counts registers if they are known (Options.Resources); otherwise it assumes that they do not limit.
// Occupancy and peak figures use tables of NVIDIA's GPUs from compute capability 6.0; other targets are
// compared with their limits.
package explain
