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
