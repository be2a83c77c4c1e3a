// Package tirrun interprets functions of package tir: slowly, but with checks for every mistake that a compiled
// program would make silently. It is the reference with which passes and code generators are compared.
//
// [Compile] compiles a module to closures, [Program.Call] runs one of its functions on numbers and on [Array]s, and
// [Eval] computes one expression. A mistake in the program is a [*Fault]: an index out of bounds, a read of memory that
// was not written, or a data race: two iterations of a parallel loop, or two threads between barriers, that access the
// same element, unless both read it.
//
// # Semantics that tir does not define
//
//   - Integers wrap at the width of their type. Division by zero is an error, and so is a shift by a negative number,
//     or by the width or more.
//   - Floats are rounded to their type after each operation, to nearest, ties to even. Functions (exp, …) are computed
//     in float64 by Go, and rounded once; sqrt and fma are exact before rounding.
//   - min(a, b) is a if a < b, else b; max(a, b) is a if a > b, else b. So both are b if an operand is NaN.
//   - floordiv of floats is the floor of the rounded quotient; mod is C's fmod; floormod is that, adjusted to the sign
//     of b.
//   - Casts of floats to integers saturate; NaN becomes 0.
//   - In float formats without infinities, values that are too large become NaN if the format has it, else the greatest
//     value; in formats without NaN, it becomes -0. float8_e8m0fnu has powers of two only: no zero and no sign. Values
//     that are not positive become NaN.
//   - round rounds ties away from zero, nearbyint to even.
//   - A loop with a negative extent has no iterations.
//
// # Loops
//
// The iterations of Parallel and ThreadBind loops run in an order that [Options.Seed] determines. Vectorized and
// Unrolled loops run in order.
//
// A ThreadBind loop that is inside no other begins a kernel. Iterations over blockIdx.… are blocks. Iterations over
// threadIdx.…, vthread… and cthread are threads of the block, which synchronize at storage_sync("shared"). Code of a
// block outside of such loops is executed by one additional thread. Loops with the same thread index in a block are the
// same threads, and must have the same extent.
//
// Memory of scope "local" is private to a thread, even if it is allocated around the loop over threads: each thread
// gets a copy of the block's contents. Memory of scope "shared" belongs to the block, even if it is allocated inside
// the loop over threads; then it keeps its contents between iterations of a serial loop. storage_sync("warp") is
// supported in blocks of up to 32 threads, where it equals "shared". A barrier that some threads of a block do not
// reach is an error, and so is a shuffle that some threads of a warp do not reach: Options.Warp threads of a block with
// consecutive indices. The value of a thread that the warp does not have is NaN, or a strange integer.
//
// The intrinsics of fragments (fragment_load, …) take place when all threads of a warp have arrived at them, with equal
// arguments. Each thread accesses some elements of the matrix in memory, so that the race detector sees a missing
// barrier. A product with sums of floats computes them exactly, adds all products of its k at once, and rounds once.
//
// An asynchronous copy (async_copy, or a store that attribute "async" marks in a function with async_commit) reads its
// source at once. Its destination gets the value when the thread waits for the copy's group: until then, any access to
// it is an error. The copy counts as two writes of its thread, when it starts and when it arrives, so that other
// threads need a barrier before the start, and one after the wait. A thread that ends with copies in flight is an
// error.
//
// Packed and extern functions come from [Options.Funcs]. Memory that is passed to them counts as written afterwards,
// and the race detector does not see their accesses. Arguments that start at the same byte share memory; other overlaps
// are not detected. tvm_struct_get and tvm_struct_set access C structures, which do not exist here; they are taken from
// [Options.Funcs], too.
package tirrun
