// Package abi writes the C that the host functions of code generators and those of packed kernels share: how they take
// their arguments from a caller, check them, report errors, and call functions of the runtime and of imported modules.
//
// The C is in the folder snippets, as named pieces that list the pieces which they need ([Snippets]). A [Set] collects
// the snippets of one C file. [Checks] writes the statements that call them.
//
// The package imports only package dlpack, whose names of devices and data types the error messages contain.
package abi
