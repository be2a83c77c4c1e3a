//go:build cuda

package dl

/*
#include "dl.h"
*/
import "C"

// CUDA opens NVIDIA's driver. A failure is a *MissingError.
func CUDA() error { return open(&C.tvmgo_dl_cuda) }

// CUDAPath is the file of the driver; "" when it is not open.
func CUDAPath() string { return path(&C.tvmgo_dl_cuda) }

// CUDALacks are functions that the library which is open does not have. Calls of them fail with an error that names
// them.
func CUDALacks() []string { return lacking(&C.tvmgo_dl_cuda) }
