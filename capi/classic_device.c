/* Classic C ABI: streams and raw device memory. */
#include "classic.h"

#include <string.h>

#include "device/validate.h"

enum { DATA_ALIGNMENT = 64, MAX_ALIGNMENT = 1 << 30 };

static DLDevice device_of(int device_type, int device_id) {
  return (DLDevice){(DLDeviceType)device_type, device_id};
}

static const TVMGODeviceAPI* api_of(int device_type, const char* op) {
  if (tvmgo_check_usable(op) != 0) return NULL;
  const TVMGODeviceAPI* api = tvmgo_device_api(device_type);
  if (api == NULL) tvmgo_raise_context("%s", op);
  return api;
}

/* ---- streams ---- */

int TVMStreamCreate(int device_type, int device_id, TVMStreamHandle* out) {
  static const char op[] = "create stream";
  if (classic_need(out, op, "out") != 0) return -1;
  *out = NULL;
  if (api_of(device_type, op) == NULL) return -1;
  return tvmgo_device_stream_create(device_of(device_type, device_id), out);
}

int TVMStreamFree(int device_type, int device_id, TVMStreamHandle stream) {
  static const char op[] = "free stream";
  const TVMGODeviceAPI* api = api_of(device_type, op);
  if (api == NULL) return -1;
  if (stream == NULL) return 0;
  if (!TVMGODeviceAPIHas(api, free_stream))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: device %s has no streams: %p is not a stream of this device", op,
                       tvmgo_device_type_name(device_type), stream);
  if (tvmgo_stream_get(device_type, device_id) == stream)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "%s: %p is this thread's current stream: set another with TVMSetStream "
                       "first",
                       op, stream);
  return tvmgo_device_stream_free(device_of(device_type, device_id), stream);
}

int TVMSetStream(int device_type, int device_id, TVMStreamHandle handle) {
  if (api_of(device_type, "set stream") == NULL) return -1;
  return tvmgo_stream_set(device_type, device_id, handle, NULL);
}

int TVMSynchronize(int device_type, int device_id, TVMStreamHandle stream) {
  return tvmgo_device_sync(device_of(device_type, device_id), stream);
}

int TVMStreamStreamSynchronize(int device_type, int device_id, TVMStreamHandle src,
                               TVMStreamHandle dst) {
  const TVMGODeviceAPI* api = api_of(device_type, "synchronize streams");
  if (api == NULL) return -1;
  if (src == dst || !TVMGODeviceAPIHas(api, sync_stream_from_to)) return 0; /* one queue */
  return api->sync_stream_from_to(api, device_of(device_type, device_id), src, dst);
}

/* ---- memory ---- */

static int alloc_flat(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, size_t alignment,
                      DLDataType hint, void** out, const char* op) {
  if (alignment == 0) alignment = DATA_ALIGNMENT;
  if ((alignment & (alignment - 1)) != 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: alignment %zu is not a power of two", op, alignment);
  if (alignment > MAX_ALIGNMENT)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: alignment %zu is more than %d", op, alignment,
                       MAX_ALIGNMENT);
  return api->alloc_data_space(api, dev, nbytes, alignment, hint, out);
}

int TVMDeviceAllocDataSpace(DLDevice dev, size_t nbytes, size_t alignment, DLDataType type_hint,
                            void** out_data) {
  static const char op[] = "allocate device memory";
  if (classic_need(out_data, op, "out_data") != 0) return -1;
  *out_data = NULL;
  const TVMGODeviceAPI* api = api_of(dev.device_type, op);
  return api == NULL ? -1 : alloc_flat(api, dev, nbytes, alignment, type_hint, out_data, op);
}

int TVMDeviceAllocDataSpaceWithScope(DLDevice dev, int ndim, const int64_t* shape, DLDataType dtype,
                                     const char* mem_scope, void** out_data) {
  static const char op[] = "allocate device memory";
  size_t nbytes;
  DLTensor t = {.device = dev, .ndim = ndim, .dtype = dtype, .shape = (int64_t*)shape};
  if (classic_need(out_data, op, "out_data") != 0) return -1;
  *out_data = NULL;
  if (tvmgo_dl_check_dims(ndim, shape, op) != 0 || tvmgo_dl_check_place(&t, op) != 0) return -1;
  if (tvmgo_dl_bytes(&t, &nbytes) != 0) return tvmgo_raise_context("%s", op);
  const TVMGODeviceAPI* api = api_of(dev.device_type, op);
  if (api == NULL) return -1;
  if (mem_scope == NULL || mem_scope[0] == 0 || strcmp(mem_scope, "global") == 0)
    return alloc_flat(api, dev, nbytes, 0, dtype, out_data, op);
  if (!TVMGODeviceAPIHas(api, alloc_data_space_with_scope))
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "%s: device %s has no memory of scope \"%s\": use \"global\"", op,
                       tvmgo_device_type_name(dev.device_type), mem_scope);
  return api->alloc_data_space_with_scope(api, dev, ndim, shape, dtype, mem_scope, out_data);
}

int TVMDeviceFreeDataSpace(DLDevice dev, void* ptr) {
  const TVMGODeviceAPI* api = api_of(dev.device_type, "free device memory");
  if (api == NULL) return -1;
  if (ptr == NULL) return 0;
  /* Third-party devices need not know the pool. With TVMGO_VALIDATE=1, the validation layer does this check with more
   * data. */
  if (!tvmgo_validating && tvmgo_workspace_refuse(dev, ptr) != 0) return -1;
  return api->free_data_space(api, dev, ptr);
}

int TVMDeviceCopyDataFromTo(DLTensor* from, DLTensor* to, TVMStreamHandle stream) {
  return tvmgo_dl_copy(from, to, stream);
}
