// The calls of the driver that the tests make, with the names that libcuda.so.1 exports.
#ifndef CALLS_H
#define CALLS_H
#include "../driver/cutypes.h"

CUresult cuStreamBeginCapture_v2(CUstream handle, int mode);
CUresult cuStreamEndCapture(CUstream handle, CUgraph *out);
CUresult cuStreamIsCapturing(CUstream handle, int *status);
CUresult cuThreadExchangeStreamCaptureMode(int *mode);
CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);
CUresult cuCtxSetCurrent(CUcontext ctx);
CUresult cuCtxGetCurrent(CUcontext *ctx);
CUresult cuCtxSynchronize(void);
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags);
CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes);
CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream on);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream on);
CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream on);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream on);
CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t bytes, CUstream on);
CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t count, CUstream on);
CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGet(CUdevice *device, int i);
CUresult cuDeviceGetName(char *name, int size, CUdevice device);
CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device);
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device);
CUresult cuDeviceGetUuid(CUuuid *out, CUdevice device);
CUresult cuDeviceGetUuid_v2(CUuuid *out, CUdevice device);
CUresult cuDeviceGetPCIBusId(char *id, int size, CUdevice device);
CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer);
CUresult cuGetErrorName(CUresult code, const char **out);
CUresult cuGetErrorString(CUresult code, const char **out);
CUresult cuEventCreate(CUevent *out, unsigned flags);
CUresult cuEventDestroy_v2(CUevent handle);
CUresult cuEventRecord(CUevent handle, CUstream on);
CUresult cuEventQuery(CUevent handle);
CUresult cuEventSynchronize(CUevent handle);
CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to);
CUresult cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to);
CUresult cuStreamWaitEvent(CUstream on, CUevent handle, unsigned flags);
CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph gr, CUgraphNode *node, char *log, size_t size);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph gr, unsigned long long flags);
CUresult cuGraphLaunch(CUgraphExec handle, CUstream on);
CUresult cuGraphExecDestroy(CUgraphExec handle);
CUresult cuGraphDestroy(CUgraph handle);
CUresult cuInit(unsigned flags);
CUresult cuDriverGetVersion(int *version);
CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction handle);
CUresult cuFuncSetAttribute(CUfunction handle, int attribute, int value);
CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, CUstream on, void **params, void **extra);
CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra);
CUresult cuMemGetInfo_v2(size_t *available, size_t *total);
CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes);
CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags);
CUresult cuMemFree_v2(CUdeviceptr at);
CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags);
CUresult cuMemFreeHost(void *p);
CUresult cuModuleLoadData(CUmodule *out, const void *data);
CUresult cuModuleLoadDataEx(CUmodule *out, const void *data, unsigned count, int *options, void **values);
CUresult cuModuleUnload(CUmodule handle);
CUresult cuModuleGetFunction(CUfunction *out, CUmodule handle, const char *name);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, CUmodule handle, const char *name);
CUresult cuPointerGetAttribute(void *out, int what, CUdeviceptr at);
CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props);
CUresult cuMemPoolDestroy(CUmemoryPool handle);
CUresult cuMemPoolGetAttribute(CUmemoryPool handle, int attribute, void *value);
CUresult cuMemPoolSetAttribute(CUmemoryPool handle, int attribute, void *value);
CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool handle, CUstream on);
CUresult cuMemFreeAsync(CUdeviceptr at, CUstream on);
CUresult cuStreamCreate(CUstream *out, unsigned flags);
CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority);
CUresult cuStreamDestroy_v2(CUstream handle);
CUresult cuStreamSynchronize(CUstream handle);
CUresult cuStreamQuery(CUstream handle);
CUresult cuStreamGetCtx(CUstream handle, CUcontext *ctx);

#endif
