// Package tir is the intermediate representation between tensor expressions and code generators: loops over buffers, in
// functions, in a module.
//
// An [Expr] is a scalar or a vector value, a [Stmt] has an effect, a [PrimFunc] has parameters and a statement, an
// [IRModule] has functions. Nodes are pointers to structures, and do not change once they are part of another node: to
// change a program, make new nodes, most easily with a [Mutator]; what stays the same is shared. Variables and buffers
// are compared by pointer: two with the same name are different.
//
// Expressions are made by functions ([Add], [BufferAt], …) that match the types of their operands. If one cannot be
// made, the result is a [Bad] expression that carries the error to every expression made of it, so that formulas can be
// written as formulas; [Check] reports it.
//
// The fields of each node are described once, by a [NodeType], which is made from the node's definition. Walking,
// replacing, paths, comparison, hashes and JSON follow from it.
//
// Package text prints and parses programs, package json reads and writes them, and package compare compares them.
// Package tir imports none of them, and no runtime or device.
package tir
