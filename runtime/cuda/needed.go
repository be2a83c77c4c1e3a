//go:build cuda

package cuda

import (
	"slices"

	"tvmgo/internal/dl"
)

// needed lists the functions of the driver that this package calls. A test compares it with the sources.
var needed = []string{
	"cuCtxEnablePeerAccess", "cuCtxGetCurrent", "cuCtxGetStreamPriorityRange", "cuCtxSetCurrent", "cuCtxSynchronize",
	"cuDeviceCanAccessPeer",
	"cuDeviceGet", "cuDeviceGetAttribute", "cuDeviceGetCount", "cuDeviceGetName", "cuDeviceGetPCIBusId", "cuDeviceGetUuid",
	"cuDeviceGetUuid_v2", "cuDevicePrimaryCtxGetState", "cuDevicePrimaryCtxRetain", "cuDeviceTotalMem_v2",
	"cuDriverGetVersion", "cuEventCreate", "cuEventDestroy_v2",
	"cuEventElapsedTime", "cuEventQuery", "cuEventRecord", "cuEventSynchronize", "cuFuncGetAttribute",
	"cuFuncSetAttribute", "cuGetErrorName",
	"cuGetErrorString", "cuGraphDestroy", "cuGraphExecDestroy", "cuGraphInstantiateWithFlags", "cuGraphInstantiate_v2",
	"cuGraphLaunch",
	"cuInit", "cuLaunchKernel", "cuLaunchKernelEx", "cuMemAllocFromPoolAsync", "cuMemAllocManaged", "cuMemAlloc_v2",
	"cuMemFreeAsync",
	"cuMemFreeHost", "cuMemFree_v2", "cuMemGetInfo_v2", "cuMemHostAlloc", "cuMemPoolCreate", "cuMemPoolDestroy",
	"cuMemPoolGetAttribute",
	"cuMemPoolSetAttribute", "cuMemPoolTrimTo", "cuMemcpyAsync", "cuMemcpyDtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
	"cuMemcpyHtoDAsync_v2",
	"cuMemcpyPeerAsync", "cuMemsetD32Async", "cuModuleGetFunction", "cuModuleGetGlobal_v2", "cuModuleLoadDataEx",
	"cuModuleUnload",
	"cuPointerGetAttribute", "cuStreamBeginCapture_v2", "cuStreamCreate", "cuStreamCreateWithPriority",
	"cuStreamDestroy_v2",
	"cuStreamEndCapture", "cuStreamGetCtx", "cuStreamIsCapturing", "cuStreamQuery", "cuStreamSynchronize",
	"cuStreamWaitEvent",
	"cuThreadExchangeStreamCaptureMode",
}

// lacking returns the needed functions that the open driver does not have, because it is too old.
func lacking() []string {
	return slices.DeleteFunc(dl.CUDALacks(), func(name string) bool { return !slices.Contains(needed, name) })
}
