// Package codegen makes modules of the runtime out of modules of tir: it knows, for each kind of target, who does that.
//
//	m, err := codegen.Build(program, target)
//	f, err := m.Function("vadd")
//
// Kind c is always there: it writes C (package codegen/c), which can be called at once, where there is a C compiler, and exported into a
// library by package export. Other kinds are enabled by importing their package, which calls [Register]. Package codegen/hello shows how
// little that is.
//
// Package codegen imports no device.
package codegen
