// Package tirrun interprets functions of package tir: slowly, but with checks for every mistake that a compiled
// program would make silently. It is the reference with which passes and code generators are compared.
//
// [Compile] turns a module into closures, [Program.Call] runs one of its functions on numbers and on [Array]s, [Eval]
// computes one expression. What a program may not do is an [*Fault]: an index out of bounds, memory read before it is
// written, two turns of a parallel loop (or two threads between barriers) that touch one element and do not both read
// it.
//
// # What tir leaves open
//
//   - Ints wrap around at their type's width. Division by zero is an error, and so is a shift by less than 0 or by the
//     width or more.
//   - Floats are rounded to their type after each operation, to the nearest, ties to even. Functions (exp, …) are Go's
//     in float64,
//     rounded once; sqrt and fma are exact before they are rounded.
//   - min(a, b) is a where a < b, else b; max(a, b) is a where a > b, else b: b where one of them is no number.
//   - floordiv of floats is the floor of the rounded quotient; mod is C's fmod; floormod is the same moved to the sign
//     of b.
//   - Floats beyond an int's range become its least or greatest value, and what is no number becomes 0.
//   - Formats without infinities: what is too large becomes NaN where the format has one, else its greatest value; NaN
//     of a format
//     without one becomes -0. float8_e8m0fnu holds powers of two: it has no zero and no sign, and takes what is not positive as NaN.
//   - round goes away from zero at ties, nearbyint to even.
//   - A loop whose extent is negative has no turns.
//
// # Loops
//
// Turns of Parallel and ThreadBind loops are run in an order that [Options.Seed] shuffles. Vectorized and Unrolled
// loops are run turn by turn.
//
// A ThreadBind loop within no other begins a kernel. Turns over blockIdx.… are blocks; turns over threadIdx.…, vthread…
// and cthread are threads of the block, which meet at storage_sync("shared"); what stands in a block outside of such
// loops is a thread of its own. Loops of one name within a block are the same threads, and have the same extent. Memory
// of scope "local" is a thread's own, also where its function allocates it around the loop (the thread's copy begins as
// what the block has then); memory of scope "shared" is the block's, also where it is allocated within the loop, and
// then keeps its contents from one turn of a serial loop to the next. storage_sync("warp") is understood in blocks of
// up to 32 threads, where it is the same as "shared". A barrier that some threads of a block do not reach is an error.
//
// Packed and extern functions come from [Options.Funcs]. Memory that they are given counts as written afterwards, and
// what they touch is not seen by the detector of races. Arguments are one memory if they begin at one byte; it does not
// see that others overlap. tvm_struct_get and tvm_struct_set are about structures in memory, which there are none of
// here: they are taken from [Options.Funcs], too.
package tirrun
