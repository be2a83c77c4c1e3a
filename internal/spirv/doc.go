// Package spirv reads what a SPIR-V module says of itself: its entry points with the sizes of their blocks, the buffers,
// push constants and shared memory that each uses, the capabilities that a device must have. Check looks for what drivers crash
// on; whether code is right beyond that is for spirv-val and the driver to say. Whatever the bytes are, reading them ends with a
// module or an error.
//
// Numbers are those of the SPIR-V specification, sections 3.1 to 3.42.
package spirv
