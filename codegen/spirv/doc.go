// Package spirv generates code for target kind "vulkan": SPIR-V, without a compiler at build or run time. Importing it
// enables the kind:
//
//	import _ "tvmgo/codegen/spirv"
//
//	m, err := codegen.Build(program, target) // of "vulkan", with kind c or llvm as its host
//
// A function whose loops are bound to blockIdx and threadIdx (te's Bind) becomes kernels, and a host function that
// checks its arguments and launches them. Each kernel is a module with one entry point of its name, so that a kernel
// needs only the features that it uses.
package spirv
