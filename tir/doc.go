// Package tir is the intermediate representation between tensor expressions and code generators: loops over buffers, in functions, in a
// module.
//
// An [Expr] is a scalar or a vector value, a [Stmt] does something, a [PrimFunc] has parameters and a statement, an [IRModule] has
// functions. Nodes are pointers to structures, and are not changed once they are part of another node: whoever wants another
// program makes new nodes, most easily with [Mutate]; what stays the same is shared. Variables and buffers are themselves: two of the
// same name are two.
//
// Expressions are made by functions ([Add], [BufferAt], …) that match the types of their operands. What cannot be made becomes a [Bad]
// expression, which carries the error to whoever uses the expression, so that formulas can be written as formulas; [Check] finds it.
//
// Two programs are the same if they are [Equal], where what is bound is known by its place and not by its name; [Difference] says where they
// are not, and [Hash] is the same for equal ones in every process.
//
// Package tir imports no runtime and no device.
package tir
