// Package c writes a module of tir as readable C, for the CPU or, with hooks, for languages that resemble C.
//
//	var e c.Emitter
//	code, err := e.Emit(m, target)
//
// # The C of a function
//
// Each function becomes two. NAME_body does the work: it takes addresses, numbers, and the sizes that the shapes of
// tensors bind, and returns 0 or an error code. __tvm_ffi_NAME is exported by the tvm-ffi convention (with
// [Emitter.Classic]: NAME, by the convention of TVM v0.20 and older): it checks its arguments and calls the body. An
// error names the argument, what it is and what was expected. The first use of a name (n in float32[n]) sets its value;
// later uses are compared with it.
//
// Memory is on the stack if its size is constant and at most [StackLimit] bytes ([LocalLimit] in scope local). Other
// memory is a workspace of the runtime, which is freed however the function ends. A parallel loop is divided into as
// many contiguous parts as there are threads; a parallel loop within another runs serially, because the runtime's
// threads start no others. Functions of packed calls are looked up once.
//
// Loops over threads of a device are an error. The passes of package tir/transform run before: they vectorize and
// unroll. Vectorized loops that remain are written as loops; unrolled loops that remain are unrolled up to 64
// iterations. For a loop with the annotation unroll, the compiler is asked to unroll that many iterations.
//
// Vectors of at most 64 bytes whose number of lanes is a power of two are vectors of the compiler; others are loops
// over their lanes. float16 and bfloat16 have two bytes in memory and are float everywhere else, rounded after each
// operation as if it were an operation of 16 bits. Integers of 1 and 4 bits and floats of 8 bits and less are not
// supported here: [transform.LegalizeTypes] replaces them before, and parameters of these types are bytes in memory.
//
// # What tir leaves open
//
// The code has defined behaviour with all compiler flags, as long as indices are within their buffers. Integers wrap
// around at the width of their type; 32-bit indices that consist of loop variables and sizes alone are computed in 64
// bits where they could overflow. Division by 0 gives 0, and the dividend as the remainder; the least integer divided
// by -1 is itself. A shift by a negative count, or by the number of bits or more, gives the same as shifting all bits
// out. A float is converted to an integer by rounding towards 0 and saturates at the limits of the type; NaN becomes 0.
// min and max of NaN are their second operand. A product and a sum of floats may be rounded once, if the compiler
// contracts them into one instruction (-ffp-contract=off forbids it).
//
// # Arguments that share memory
//
// An exported function rejects a tensor that overlaps another one which the function writes; the error names both.
// Tensors that are only read may overlap. One tensor may be passed for two parameters if each element is read before it
// is written, as in c[i] = a[i] + b[i]; see [alias.Pairs]. Tensors without elements overlap nothing,
// byte_offset counts, and a tensor with strides occupies everything from its first to its last byte. On devices whose
// tensors are handles, only tensors of the same handle are compared. Target option alias-check=0 omits the comparison;
// such a function must not be passed memory that overlaps.
//
// # Indices
//
// With target option bounds-check, codegen.Build checks each index that package arith cannot prove to be within its
// buffer: an index outside ends the function with an IndexError, and its memory is freed. Addresses that are passed to
// C functions and packed functions are not checked.
package c
