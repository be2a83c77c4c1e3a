// Package relax makes functions of package graph of the Relax functions in a module that Apache TVM has saved as JSON
// (tvm.ir.save_json, all versions).
//
//   - Sizes that the module names stay open. Calls of other Relax functions are inlined.
//   - A parameter that is a tuple becomes one parameter for each field, name.0, name.1, and so on; a parameter that is
//     a shape becomes a tensor of int64 with one dimension, and a scalar one without dimensions. Results that are
//     tuples become a list.
//   - call_tir of a PrimFunc becomes a kernel of the program as it is.
//   - What match_cast claims is checked where sizes are not known when the model is compiled: at run time, by the
//     number of elements.
//   - An operator is converted by the rule of its name (rules_*.go), which adds nodes of package graph/operators.
package relax
