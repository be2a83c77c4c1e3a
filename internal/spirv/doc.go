// Package spirv reads the interface of a SPIR-V module: its entry points with their block sizes, the buffers, push
// constants and shared memory that each uses, and the capabilities that a device must have. Check finds mistakes on
// which drivers crash; spirv-val and the driver check everything else. For any input, reading ends with a module or
// an error.
//
// Numbers are those of the SPIR-V specification, sections 3.1 to 3.42.
package spirv
