//go:build opencl

package dl

/*
#include "dl.h"
*/
import "C"

// OpenCL opens the OpenCL loader. A failure is a *MissingError.
func OpenCL() error { return open(&C.tvmgo_dl_opencl) }

// OpenCLPath is the file of the OpenCL loader; "" when it is not open.
func OpenCLPath() string { return path(&C.tvmgo_dl_opencl) }

// OpenCLLacks are functions that the library which is open does not have. Calls of them fail with an error that names
// them.
func OpenCLLacks() []string { return lacking(&C.tvmgo_dl_opencl) }
