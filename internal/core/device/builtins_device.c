/* Global functions about devices, streams, workspaces and tensors. */
#include "call/builtin.h"
#include "device/device.h"

#include <string.h>

/* ---- devices ---- */

/* Streams are passed as integers or pointers. */
static int arg_stream(const char* f, const TVMFFIAny* args, int32_t i, TVMFFIStreamHandle* out) {
  int32_t type = args[i].type_index;
  if (type != kTVMFFINone && type != kTVMFFIInt && type != kTVMFFIOpaquePtr)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument %d must be a stream (int or void*), got %s", f,
                       (int)i, tvmgo_type_name(type));
  *out = type == kTVMFFINone ? NULL : args[i].v_ptr;
  return 0;
}

/* Reads a device, passed as a Device or as two integers, and then `least` to `most` streams; missing ones are NULL. */
static int arg_device(const char* f, const TVMFFIAny* args, int32_t n, DLDevice* dev, int32_t least, int32_t most,
                      TVMFFIStreamHandle* streams) {
  int32_t type, id, took = 1;
  if (n >= 1 && args[0].type_index == kTVMFFIDevice) {
    *dev = args[0].v_device;
  } else {
    if (tvmgo_check_count(f, n, 2, -1) != 0 || tvmgo_arg_int32(f, args, 0, &type) != 0 ||
        tvmgo_arg_int32(f, args, 1, &id) != 0)
      return -1;
    *dev = (DLDevice){(DLDeviceType)type, id};
    took = 2;
  }
  if (tvmgo_check_count(f, n, took + least, took + most) != 0) return -1;
  for (int32_t i = 0; i < most; i++) {
    streams[i] = NULL;
    if (took + i < n && arg_stream(f, args, took + i, &streams[i]) != 0) return -1;
  }
  return 0;
}

TVMGO_BUILTIN(set_device) {
  DLDevice dev;
  if (arg_device(f, args, n, &dev, 0, 0, NULL) != 0) return -1;
  return tvmgo_device_set(dev.device_type, dev.device_id);
}

TVMGO_BUILTIN(device_attr) {
  int32_t type, id, kind;
  if (tvmgo_check_count(f, n, 3, 3) != 0 || tvmgo_arg_int32(f, args, 0, &type) != 0 ||
      tvmgo_arg_int32(f, args, 1, &id) != 0 || tvmgo_arg_int32(f, args, 2, &kind) != 0)
    return -1;
  return tvmgo_device_attr(type, id, kind, result);
}

/* RuntimeEnabled reports for these names whether a global function exists (docs/abi.md A.6). For other device names the
 * function is "device_api." and the name. */
static const struct {
  const char *name, *global;
  int prefix; /* the name may have text behind it */
} enabled_by[] = {
    {"gpu", "device_api.cuda", 0},           {"nvptx", "device_api.cuda", 1},
    {"cl", "device_api.opencl", 0},          {"sdaccel", "device_api.opencl", 0},
    {"mtl", "device_api.metal", 0},          {"rocm", "device_api.rocm", 1},
    {"rpc", "device_api.rpc", 0},            {"tflite", "target.runtime.tflite", 0},
    {"stackvm", "target.build.stackvm", 0}, {"llvm", "codegen.llvm_target_enabled", 1},
};

TVMGO_BUILTIN(runtime_enabled) {
  TVMFFIByteArray t;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || tvmgo_arg_text(f, args, 0, &t) != 0) return -1;
  if (t.size == 3 && memcmp(t.data, "cpu", 3) == 0) {
    *result = tvmgo_any_bool(1);
    return 0;
  }
  for (size_t i = 0; i < sizeof enabled_by / sizeof *enabled_by; i++) {
    size_t len = strlen(enabled_by[i].name);
    if (t.size < len || memcmp(t.data, enabled_by[i].name, len) != 0 ||
        (t.size > len && !enabled_by[i].prefix))
      continue;
    TVMFFIObject* found = tvmgo_global_get(enabled_by[i].global, strlen(enabled_by[i].global));
    *result = tvmgo_any_bool(found != NULL);
    int rc = 0;
    if (found != NULL && strcmp(enabled_by[i].name, "llvm") == 0) {
      *result = tvmgo_any_none();
      rc = tvmgo_function_call(found, args, 1, result);
    }
    tvmgo_object_release(found);
    return rc;
  }
  char name[64];
  int len = (int)(t.size < 40 ? t.size : 40);
  memcpy(name, "device_api.", 11);
  memcpy(name + 11, t.data, (size_t)len);
  if (tvmgo_device_type_number(t.data, t.size) >= 0) { /* a device, registered or not */
    TVMFFIObject* found = tvmgo_global_get(name, 11 + (size_t)len);
    *result = tvmgo_any_bool(found != NULL);
    tvmgo_object_release(found);
    return 0;
  }
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: \"%.*s\" is not a runtime that can be asked for", f,
                     tvmgo_quoted(t.size), t.data);
}

/* ---- streams ---- */

TVMGO_BUILTIN(stream_create) {
  DLDevice dev;
  TVMFFIStreamHandle s = NULL;
  if (arg_device(f, args, n, &dev, 0, 0, NULL) != 0 || tvmgo_device_stream_create(dev, &s) != 0) return -1;
  *result = tvmgo_any_int((int64_t)(intptr_t)s);
  return 0;
}

TVMGO_BUILTIN(stream_free) {
  DLDevice dev;
  TVMFFIStreamHandle s;
  if (arg_device(f, args, n, &dev, 1, 1, &s) != 0) return -1;
  return tvmgo_device_stream_free(dev, s);
}

TVMGO_BUILTIN(stream_set) {
  DLDevice dev;
  TVMFFIStreamHandle s;
  if (arg_device(f, args, n, &dev, 1, 1, &s) != 0) return -1;
  return tvmgo_stream_set(dev.device_type, dev.device_id, s, NULL);
}

TVMGO_BUILTIN(stream_sync) {
  DLDevice dev;
  TVMFFIStreamHandle s;
  if (arg_device(f, args, n, &dev, 0, 1, &s) != 0) return -1;
  return tvmgo_device_sync(dev, s);
}

TVMGO_BUILTIN(stream_sync_from_to) {
  DLDevice dev;
  TVMFFIStreamHandle s[2];
  if (arg_device(f, args, n, &dev, 2, 2, s) != 0) return -1;
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api == NULL) return -1;
  if (!TVMGODeviceAPIHas(api, sync_stream_from_to)) return 0; /* a single queue is in order anyway */
  return api->sync_stream_from_to(api, dev, s[0], s[1]);
}

/* ---- workspaces ---- */

TVMGO_BUILTIN(workspace_trim) {
  DLDevice dev;
  int64_t freed;
  if (arg_device(f, args, n, &dev, 0, 0, NULL) != 0 || tvmgo_workspace_trim_device(dev, &freed) != 0) return -1;
  *result = tvmgo_any_int(freed);
  return 0;
}

/* (device, bytes), 0: no limit; returns the limit before. */
TVMGO_BUILTIN(workspace_set_limit) {
  DLDevice dev;
  int64_t bytes, old;
  if (n < 1) return tvmgo_check_count(f, n, 2, 3);
  if (arg_device(f, args, n - 1, &dev, 0, 0, NULL) != 0 || tvmgo_arg_int(f, args, n - 1, &bytes) != 0 ||
      tvmgo_workspace_set_limit(dev, bytes, &old) != 0)
    return -1;
  *result = tvmgo_any_int(old);
  return 0;
}

/* (milliseconds), 0: for ever; returns the time before. */
TVMGO_BUILTIN(workspace_set_idle_time) {
  static const int64_t ms = 1000000;
  int64_t time;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || tvmgo_arg_int(f, args, 0, &time) != 0) return -1;
  if (time < 0 || time > INT64_MAX / ms)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the time is %lld ms: want 0 (for ever) to %lld", f, (long long)time,
                       (long long)(INT64_MAX / ms));
  *result = tvmgo_any_int(tvmgo_idle_set_time(time * ms) / ms);
  return 0;
}

/* {"held": bytes, "in_use": bytes, "peak": bytes, "hits": n, "misses": n, "limit": bytes} */
TVMGO_BUILTIN(workspace_stats) {
  DLDevice dev;
  tvmgo_workspace_stats s;
  if (arg_device(f, args, n, &dev, 0, 0, NULL) != 0 || tvmgo_workspace_stats_of(dev, &s) != 0) return -1;
  const struct {
    const char* name;
    int64_t value;
  } entries[] = {{"held", s.held}, {"in_use", s.in_use}, {"peak", s.peak}, {"hits", s.hits}, {"misses", s.misses},
                 {"limit", s.limit}};
  TVMFFIObject* map = tvmgo_map_new(kTVMFFIMap);
  for (size_t i = 0; map != NULL && i < sizeof entries / sizeof *entries; i++) {
    TVMFFIAny key = {.type_index = kTVMFFIRawStr}, value = tvmgo_any_int(entries[i].value);
    key.v_c_str = entries[i].name;
    if (tvmgo_map_set(&map, &key, &value) != 0) {
      tvmgo_object_release(map);
      return -1;
    }
  }
  return tvmgo_give_new(map, result);
}

/* ---- tensors ---- */

/* A shape that is too long must not become a valid one. */
static int32_t ndim_of(const TVMFFIShapeCell* shape) {
  return shape->size < INT32_MAX ? (int32_t)shape->size : INT32_MAX;
}

TVMGO_BUILTIN(tensor_alloc) {
  TVMFFIByteArray scope = {"", 0};
  char name[64] = "";
  if (tvmgo_check_count(f, n, 3, 4) != 0) return -1;
  if (tvmgo_arg_kind(f, args, 0, kTVMFFIShape) != 0 ||
      tvmgo_arg_kind(f, args, 1, kTVMFFIDataType) != 0 ||
      tvmgo_arg_kind(f, args, 2, kTVMFFIDevice) != 0)
    return -1;
  if (n == 4 && args[3].type_index != kTVMFFINone && tvmgo_arg_text(f, args, 3, &scope) != 0)
    return -1;
  if (scope.size >= sizeof name)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the scope is longer than %zu bytes", f,
                       sizeof name - 1);
  memcpy(name, scope.data, scope.size);
  const TVMFFIShapeCell* shape = (const TVMFFIShapeCell*)(args[0].v_obj + 1);
  tvmgo_tensor* t = tvmgo_tensor_new(shape->data, ndim_of(shape), args[1].v_dtype,
                                     args[2].v_device, name);
  return tvmgo_give_new(t, result);
}

static int arg_dl(const char* f, const TVMFFIAny* args, int32_t i, DLTensor** out) {
  if (args[i].type_index == kTVMFFITensor)
    *out = tvmgo_tensor_dl(args[i].v_obj);
  else if (args[i].type_index == kTVMFFIDLTensorPtr)
    *out = args[i].v_ptr;
  else
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument %d must be a Tensor, got %s", f, (int)i,
                       tvmgo_type_name(args[i].type_index));
  return 0;
}

/* (tensor, void* bytes, size); the direction is self. */
static int tensor_copy_bytes(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const tvmgo_builtin* b = self;
  const char* f = b->name;
  DLTensor* t = NULL;
  int64_t size;
  if (tvmgo_check_count(f, n, 3, 3) != 0 || arg_dl(f, args, 0, &t) != 0 ||
      tvmgo_arg_int(f, args, 2, &size) != 0)
    return -1;
  if (tvmgo_arg_kind(f, args, 1, kTVMFFIOpaquePtr) != 0) return -1;
  if (size < 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: argument 2, the number of bytes, is negative: %lld", f,
                       (long long)size);
  return tvmgo_dl_copy_bytes(t, args[1].v_ptr, (size_t)size, b->flag);
}

TVMGO_BUILTIN(tensor_copy) {
  DLTensor *from = NULL, *to = NULL;
  TVMFFIStreamHandle s = NULL;
  if (tvmgo_check_count(f, n, 2, 3) != 0 || arg_dl(f, args, 0, &from) != 0 ||
      arg_dl(f, args, 1, &to) != 0 || (n == 3 && arg_stream(f, args, 2, &s) != 0))
    return -1;
  return tvmgo_dl_copy(from, to, s);
}

TVMGO_BUILTIN(tensor_view) {
  int64_t offset = 0;
  if (tvmgo_check_count(f, n, 3, 4) != 0) return -1;
  if (tvmgo_arg_kind(f, args, 0, kTVMFFITensor) != 0 ||
      tvmgo_arg_kind(f, args, 1, kTVMFFIShape) != 0 ||
      tvmgo_arg_kind(f, args, 2, kTVMFFIDataType) != 0)
    return -1;
  if (n == 4 && tvmgo_arg_int(f, args, 3, &offset) != 0) return -1;
  if (offset < 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: argument 3, the byte offset, is negative: %lld", f,
                       (long long)offset);
  const TVMFFIShapeCell* shape = (const TVMFFIShapeCell*)(args[1].v_obj + 1);
  tvmgo_tensor* t = tvmgo_tensor_view((tvmgo_tensor*)args[0].v_obj, shape->data,
                                      ndim_of(shape), args[2].v_dtype, NULL, (uint64_t)offset);
  return tvmgo_give_new(t, result);
}

/* Two tensors share memory only if both begin and end at the same byte of the same device. */
TVMGO_BUILTIN(storage_shared) {
  const char* fname = f;
  const DLTensor* t[2];
  uintptr_t begin[2];
  size_t size[2];
  if (tvmgo_check_count(fname, n, 2, 2) != 0) return -1;
  for (int32_t i = 0; i < 2; i++) {
    void* object;
    if (args[i].type_index == kTVMFFIDLTensorPtr)
      t[i] = args[i].v_ptr;
    else if (tvmgo_arg_object(fname, args, i, kTVMFFITensor, &object) == 0)
      t[i] = tvmgo_tensor_dl(object);
    else
      return -1;
    if (tvmgo_dl_check(t[i], fname) != 0 || tvmgo_dl_bytes(t[i], &size[i]) != 0) return -1;
    begin[i] = (uintptr_t)t[i]->data + t[i]->byte_offset;
  }
  *result = tvmgo_any_bool(t[0]->device.device_type == t[1]->device.device_type &&
                           t[0]->device.device_id == t[1]->device.device_id &&
                           begin[0] == begin[1] && size[0] == size[1]);
  return 0;
}

__attribute__((constructor(111))) static void register_builtins(void) {
  static const struct {
    const char* name;
    TVMFFISafeCallType entry;
  } table[] = {
      {"__tvm_set_device", set_device},
      {"runtime.GetDeviceAttr", device_attr},
      {"runtime.RuntimeEnabled", runtime_enabled},
      {"runtime.Device_StreamCreate", stream_create},
      {"runtime.Device_StreamFree", stream_free},
      {"runtime.Device_SetStream", stream_set},
      {"runtime.TVMSetStream", stream_set},
      {"runtime.Device_StreamSync", stream_sync},
      {"runtime.Device_StreamSyncFromTo", stream_sync_from_to},
      {"tvmgo.workspace.trim", workspace_trim},
      {"tvmgo.workspace.stats", workspace_stats},
      {"tvmgo.workspace.set_limit", workspace_set_limit},
      {"tvmgo.workspace.set_idle_time", workspace_set_idle_time},
      {"runtime.TVMTensorAllocWithScope", tensor_alloc},
      {"runtime.TVMArrayAllocWithScope", tensor_alloc},
      {"runtime.TVMTensorCopyFromTo", tensor_copy},
      {"runtime.TVMTensorCreateView", tensor_view},
      {"runtime.TVMArrayCreateView", tensor_view},
      {"runtime.TVMTensorIsStorageShared", storage_shared},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    tvmgo_global_builtin(table[i].name, table[i].entry);
  tvmgo_global_builtin_flag("runtime.TVMTensorCopyToBytes", tensor_copy_bytes, 0);
  tvmgo_global_builtin_flag("runtime.TVMTensorCopyFromBytes", tensor_copy_bytes, 1);
}
