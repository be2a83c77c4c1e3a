// The calls of the driver that the tests make, by the names that libcuda.so.1 exports.
#ifndef CALLS_H
#define CALLS_H
#include "../driver/cutypes.h"

typedef size_t (*shared_of)(int threads);
CUresult cuStreamBeginCapture_v2(CUstream handle, int mode);
CUresult cuStreamEndCapture(CUstream handle, CUgraph *out);
CUresult cuStreamIsCapturing(CUstream handle, int *status);
CUresult cuStreamGetCaptureInfo(CUstream handle, int *status, unsigned long long *id);
CUresult cuStreamGetCaptureInfo_v2(CUstream handle, int *status, unsigned long long *id, CUgraph *out,
    const CUgraphNode **deps, size_t *n);
CUresult cuStreamGetCaptureInfo_v3(CUstream handle, int *status, unsigned long long *id, CUgraph *out,
    const CUgraphNode **deps, const void **edges, size_t *n);
CUresult cuThreadExchangeStreamCaptureMode(int *mode);
CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active);
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);
CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned flags, CUdevice device);
CUresult cuCtxDestroy_v2(CUcontext ctx);
CUresult cuCtxSetCurrent(CUcontext ctx);
CUresult cuCtxGetCurrent(CUcontext *ctx);
CUresult cuCtxPushCurrent_v2(CUcontext ctx);
CUresult cuCtxPopCurrent_v2(CUcontext *ctx);
CUresult cuCtxGetDevice(CUdevice *device);
CUresult cuCtxGetFlags(unsigned *flags);
CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned *version);
CUresult cuCtxSynchronize(void);
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags);
CUresult cuCtxDisablePeerAccess(CUcontext peer);
CUresult cuCtxGetLimit(size_t *value, int limit);
CUresult cuCtxSetLimit(int limit, size_t value);
CUresult cuCtxSetCacheConfig(int preference);
CUresult cuCtxGetCacheConfig(int *preference);
CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes);
CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes);
CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes);
CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes);
CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream on);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream on);
CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream on);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream on);
CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t bytes);
CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t bytes, CUstream on);
CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t count);
CUresult cuMemsetD16_v2(CUdeviceptr dst, unsigned short value, size_t count);
CUresult cuMemsetD32_v2(CUdeviceptr dst, unsigned value, size_t count);
CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream on);
CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t count, CUstream on);
CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t count, CUstream on);
CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGet(CUdevice *device, int i);
CUresult cuDeviceGetName(char *name, int size, CUdevice device);
CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device);
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device);
CUresult cuDeviceGetUuid(CUuuid *out, CUdevice device);
CUresult cuDeviceGetUuid_v2(CUuuid *out, CUdevice device);
CUresult cuDeviceGetPCIBusId(char *id, int size, CUdevice device);
CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id);
CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer);
CUresult cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice device, CUdevice peer);
CUresult cuGetErrorName(CUresult code, const char **out);
CUresult cuGetErrorString(CUresult code, const char **out);
CUresult cuEventCreate(CUevent *out, unsigned flags);
CUresult cuEventDestroy_v2(CUevent handle);
CUresult cuEventRecord(CUevent handle, CUstream on);
CUresult cuEventRecordWithFlags(CUevent handle, CUstream on, unsigned flags);
CUresult cuEventQuery(CUevent handle);
CUresult cuEventSynchronize(CUevent handle);
CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to);
CUresult cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to);
CUresult cuStreamWaitEvent(CUstream on, CUevent handle, unsigned flags);
CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph gr, CUgraphNode *node, char *log, size_t size);
CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph gr, CUgraphNode *node, char *log, size_t size);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph gr, unsigned long long flags);
CUresult cuGraphLaunch(CUgraphExec handle, CUstream on);
CUresult cuGraphUpload(CUgraphExec handle, CUstream on);
CUresult cuGraphExecDestroy(CUgraphExec handle);
CUresult cuGraphCreate(CUgraph *out, unsigned flags);
CUresult cuGraphDestroy(CUgraph handle);
CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *n);
CUresult cuGraphNodeGetType(CUgraphNode node, int *type);
CUresult cuInit(unsigned flags);
CUresult cuDriverGetVersion(int *version);
CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction handle);
CUresult cuFuncSetAttribute(CUfunction handle, int attribute, int value);
CUresult cuFuncSetCacheConfig(CUfunction handle, int preference);
CUresult cuFuncGetModule(CUmodule *out, CUfunction handle);
CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, CUstream on, void **params, void **extra);
CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
    unsigned bz, unsigned shared, CUstream on, void **params);
CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra);
CUresult cuOccupancyMaxActiveClusters(int *out, CUfunction handle, const CUlaunchConfig *c);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, CUfunction f, int threads, size_t shared);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *out, CUfunction f, int threads, size_t shared,
    unsigned flags);
CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *threads, CUfunction handle, shared_of shared, size_t fixed,
                                          int most);
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction handle, int nblocks_wanted, int threads);
CUresult cuMemGetInfo_v2(size_t *available, size_t *total);
CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes);
CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags);
CUresult cuMemFree_v2(CUdeviceptr at);
CUresult cuMemAllocHost_v2(void **out, size_t bytes);
CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags);
CUresult cuMemFreeHost(void *p);
CUresult cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags);
CUresult cuMemHostUnregister(void *p);
CUresult cuModuleLoadData(CUmodule *out, const void *data);
CUresult cuModuleLoadDataEx(CUmodule *out, const void *data, unsigned count, int *options, void **values);
CUresult cuModuleLoadFatBinary(CUmodule *out, const void *data);
CUresult cuModuleLoad(CUmodule *out, const char *path);
CUresult cuModuleUnload(CUmodule handle);
CUresult cuModuleGetFunction(CUfunction *out, CUmodule handle, const char *name);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, CUmodule handle, const char *name);
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr at);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned flags);
CUresult cuMemHostGetFlags(unsigned *flags, void *p);
CUresult cuPointerGetAttribute(void *out, int what, CUdeviceptr at);
CUresult cuPointerGetAttributes(unsigned count, int *what, void **out, CUdeviceptr at);
CUresult cuPointerSetAttribute(const void *value, int what, CUdeviceptr at);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice device);
CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice device);
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle);
CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props);
CUresult cuMemPoolDestroy(CUmemoryPool handle);
CUresult cuMemPoolGetAttribute(CUmemoryPool handle, int attribute, void *value);
CUresult cuMemPoolSetAttribute(CUmemoryPool handle, int attribute, void *value);
CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep);
CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map, size_t count);
CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream on);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool handle, CUstream on);
CUresult cuMemFreeAsync(CUdeviceptr at, CUstream on);
CUresult cuGetProcAddress(const char *symbol, void **out, int version, uint64_t flags);
CUresult cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags, int *status);
CUresult cuStreamCreate(CUstream *out, unsigned flags);
CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority);
CUresult cuStreamDestroy_v2(CUstream handle);
CUresult cuStreamSynchronize(CUstream handle);
CUresult cuStreamQuery(CUstream handle);
CUresult cuStreamGetPriority(CUstream handle, int *priority);
CUresult cuStreamGetFlags(CUstream handle, unsigned *flags);
CUresult cuStreamGetCtx(CUstream handle, CUcontext *ctx);
CUresult cuLaunchHostFunc(CUstream handle, CUhostFn fn, void *data);
CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void *data, unsigned flags);
CUresult cuTensorMapEncodeTiled(void *out, int type, uint32_t rank, void *address, const uint64_t *dims,
    const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion,
        int fill);

#endif
