//go:build opencl

package dl

/*
#include "dl.h"
*/
import "C"

// OpenCL opens the OpenCL loader. An error is a *MissingError.
func OpenCL() error { return open(&C.tvmgo_dl_opencl) }

// OpenCLPath returns the path of the loader's file; "" when it is not open.
func OpenCLPath() string { return path(&C.tvmgo_dl_opencl) }

// OpenCLLacks returns the names of the functions that the open loader does not have. A call of such a function fails
// with an error that names it.
func OpenCLLacks() []string { return lacking(&C.tvmgo_dl_opencl) }
