// Package spirv reads the interface of a SPIR-V module: its entry points with their local sizes; the buffers, push
// constants and shared memory that each entry point uses; and the capabilities that a device must have. Check finds
// errors on which drivers crash; spirv-val and the driver check everything else. For any input, Parse returns a module
// or an error. Disassemble returns a module as text, in the form of spirv-dis.
//
// The numbers of instructions, decorations and capabilities are those of sections 3.1 to 3.42 of the SPIR-V
// specification.
package spirv
