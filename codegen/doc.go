// Package codegen builds runtime modules from tir modules: it runs the passes and the code generator of each target
// kind.
//
//	m, err := codegen.Build(program, target)
//	f, err := m.Function("vadd")
//
// Kind c is always available: it generates C (package codegen/c). Its functions can be called at once if there is a C
// compiler, and package export writes them into a library. A program enables other kinds by importing their packages,
// which call [Register]; package codegen/all imports all of this module. Package codegen/hello is the smallest
// generator. A third-party kind needs no package of this module if it sets attributes on itself ([ColumnExternal] and
// those beside it); package internal/testing/byoctest/dnnl is an example.
//
// # Several targets
//
// Functions of one program are built for several targets if they have the attribute "target", or if the target is
// composite: its members then share the functions. The result is one module that has all functions; see [Build].
//
// # Variants
//
// Build with several targets, and [BuildVariants] with a program for each of them, make a fat module: it has a variant
// of each function for each target, and the device of a call's tensors selects one. The selection is C code beside the
// variants, so that it works in every runtime that loads the module's library.
//
// # Libraries
//
// With option libs of a target of kind c, as in "c -libs=cblas", a library computes matrix products. It is linked when
// the code is compiled: see transform.LibraryCalls.
//
// # In C
//
// The global functions codegen.Build(program, target) and target.build.<kind>(program[, target]) do the same for C. A
// program is its text, its JSON, or a module of kind "tir", which tir.FromText and tir.FromJSON make. codegen.Kinds
// lists the kinds.
//
// Package codegen imports no device.
package codegen
