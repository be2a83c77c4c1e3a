// Package codegen builds runtime modules from tir modules: it calls the passes and the code generator of each target
// kind.
//
//	m, err := codegen.Build(program, target)
//	f, err := m.Function("vadd")
//
// Kind c is always there: it writes C (package codegen/c), which can be called at once, where there is a C compiler, and exported into a
// library by package export. Other kinds are enabled by importing their package, which calls [Register]. Package codegen/hello shows how
// little that is. A kind that a third party brings along needs no more than columns of its attributes ([ColumnExternal] and those
// beside it); package internal/testing/byoctest/dnnl shows that.
//
// # Several targets
//
// Functions of one program may be built for several targets, by their attribute "target", or by a composite target, which is divided among
// its members. What comes out is one module, in which all functions are found; [Build] says how it is made.
//
// # Libraries
//
// The option libs of a target of kind c, as in "c -libs=cblas", has products of matrices computed by a library, which is linked when the code
// is compiled: see transform.LibraryCalls.
//
// # In C
//
// The global functions codegen.Build(program, target) and target.build.<kind>(program[, target]) do the same for C. A program is its text,
// its JSON, or a module of kind "tir", which tir.FromText and tir.FromJSON make; codegen.Kinds lists the kinds.
//
// Package codegen imports no device.
package codegen
