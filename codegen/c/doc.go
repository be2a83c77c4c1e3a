// Package c writes a module of tir as readable C, for the CPU or, with hooks, for languages that resemble C.
//
//	var e c.Emitter
//	code, err := e.Emit(m, target)
//
// # What becomes of a function
//
// Each function becomes two. NAME_body does the work: it takes addresses, numbers, and the sizes that the tensors' shapes bind, and
// returns 0 or an error's code. __tvm_ffi_NAME is what a library exports by the tvm-ffi convention (with [Emitter.Classic]: NAME, by the
// convention of TVM v0.20 and older): it checks what it is given, with an error that says which argument is wrong, what it is and what
// was expected, and calls the body. A name of a size (n in float32[n]) is bound where it first stands, and compared from there on.
//
// Memory whose size is a constant of at most [StackLimit] bytes, in scope local [LocalLimit], lies on the stack; all other is the runtime's scratch memory, which is
// given back however the function ends. Parallel loops run their turns in as many contiguous pieces as there are threads; one within another
// runs serially, since the runtime's threads start none. Functions that are called by packed calls are looked up once.
//
// Loops over threads of a device are refused. The passes of package tir/transform, which run before, make vectors and write loops out; vectorized loops that are left
// are loops, unrolled ones are written out up to 64 turns. Of loops with the annotation unroll the compiler is asked to write out so many turns.
//
// Vectors of a power of two of lanes, at most 64 bytes, are vectors of the compiler; all others are loops over their lanes. float16 and
// bfloat16 are two bytes in memory and float everywhere else, rounded after each operation as if the operation were one of
// 16 bits. Whole numbers of 1 and 4 bits and floats of 8 and less have no values here: [transform.LegalizeTypes] makes programs of others
// of them before, and parameters of such types lie in memory as bytes.
//
// # What tir leaves open
//
// The code is defined C, whatever flags it is compiled with, as long as indices are within their buffers. Whole numbers wrap around at their type's
// width; indices of 32 bits that are made of loops' variables and sizes alone are computed in 64 bits where they could leave 32 on their way.
// Division by 0 gives 0 and leaves the dividend as the rest; the least number divided by -1 is itself. A shift by less than 0 or by as
// many bits as there are, or more, gives what is left when all bits have gone. A float as a whole number goes towards 0, and stays within the type;
// what is no number becomes 0. min and max of what is no number are their second operand. A product and a sum of floats may be rounded once, if
// the compiler makes one instruction of them (-ffp-contract=off forbids it).
//
// # Memory that arguments share
//
// What is exported refuses a tensor that overlaps another one that the function writes, with an error that names both. Tensors that are only read may overlap.
// One tensor may be passed for two parameters where each element is read before it is written, as in c[i] = a[i] + b[i]; see [transform.AliasPairs], which
// says what is known of a function. Tensors without elements overlap nothing, byte_offset counts, and a tensor with strides is taken for all that
// lies between its first and its last byte, gaps among them. On devices whose tensors are handles, only tensors of the same handle are compared. Target option
// alias-check=0 leaves the comparison out; such a function must not be given memory that overlaps.
//
// # Indices
//
// With target option bounds-check, codegen.Build has each index checked that package arith does not prove to be within its buffer: one that is not ends the
// function with an IndexError, its memory given back. Addresses that C functions and packed functions are given are not checked.
package c
