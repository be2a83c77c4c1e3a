//go:build cuda

package dl

/*
#include "dl.h"
*/
import "C"

// CUDA opens the NVIDIA driver. An error is a *MissingError.
func CUDA() error { return open(&C.tvmgo_dl_cuda) }

// CUDAPath returns the path of the driver's file; "" when it is not open.
func CUDAPath() string { return path(&C.tvmgo_dl_cuda) }

// CUDALacks returns the names of the functions that the open driver does not have. A call of such a function fails with
// an error that names it.
func CUDALacks() []string { return lacking(&C.tvmgo_dl_cuda) }
