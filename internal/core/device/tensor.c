#include "device/device.h"
#include "device/validate.h"
#include "device/work.h"

#include <stdlib.h>
#include <string.h>

enum { DATA_ALIGNMENT = 64, MAX_NDIM = 1024 };

int tvmgo_dl_elements(const DLTensor* t, int64_t* out) {
  int64_t n = 1;
  int empty = 0;
  for (int32_t i = 0; i < t->ndim; i++) {
    if (t->shape[i] < 0)
      return tvmgo_raise(TVMGO_VALUE_ERROR, "dimension %d of the shape is negative: %lld", (int)i,
                         (long long)t->shape[i]);
    if (t->shape[i] == 0) empty = 1;
    else if (__builtin_mul_overflow(n, t->shape[i], &n))
      return tvmgo_raise(TVMGO_VALUE_ERROR, "the shape has more than 2^63 elements");
  }
  *out = empty ? 0 : n;
  return 0;
}

int tvmgo_dl_bytes(const DLTensor* t, size_t* out) {
  int64_t n;
  if (tvmgo_dl_elements(t, &n) != 0) return -1;
  return tvmgo_dtype_bytes(t->dtype, n, out);
}

int tvmgo_dl_contiguous(const DLTensor* t) {
  if (t->strides == NULL) return 1;
  for (int32_t i = 0; i < t->ndim; i++)
    if (t->shape[i] == 0) return 1;
  int64_t expected = 1;
  for (int32_t i = t->ndim - 1; i >= 0; i--) {
    if (t->shape[i] == 1) continue;
    if (t->strides[i] != expected) return 0;
    expected *= t->shape[i];
  }
  return 1;
}

int tvmgo_dl_check_dims(int32_t ndim, const int64_t* shape, const char* what) {
  if (ndim < 0) return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: ndim is negative: %d", what, (int)ndim);
  if (ndim > MAX_NDIM)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: ndim is %d, more than %d", what, (int)ndim, MAX_NDIM);
  if (ndim > 0 && shape == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: ndim is %d, but shape is NULL", what, (int)ndim);
  return 0;
}

/* Checks a tensor as tvmgo_dl_check does, and sets *bytes to its size. */
static int check_sized(const DLTensor* t, const char* what, size_t* bytes) {
  if (t == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the tensor is NULL", what);
  if (tvmgo_dl_check_dims(t->ndim, t->shape, what) != 0) return -1;
  if (tvmgo_dl_bytes(t, bytes) != 0) return tvmgo_raise_context("%s", what);
  if (t->data == NULL && *bytes > 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the tensor has %zu bytes, but data is NULL", what,
                       *bytes);
  return 0;
}

int tvmgo_dl_check(const DLTensor* t, const char* what) {
  size_t bytes;
  return check_sized(t, what, &bytes);
}

/* Element types that memory can be made for (docs/abi.md E.3). */
int tvmgo_dl_check_dtype(DLDataType t) {
  int ok = t.lanes >= 1 && (int16_t)t.lanes > 0 && t.bits > 0;
  if (ok && t.bits % 8 != 0) ok = t.bits == 1 || t.bits == 2 || t.bits == 4 || t.bits == 6;
  if (ok) return 0;
  char name[64];
  int32_t code = t.code;
  if (tvmgo_dtype_print(t, name, sizeof name) != 0) {
    tvmgo_object_release(tvmgo_error_take());
    return tvmgo_raise(TVMGO_VALUE_ERROR, "no memory can hold elements of dtype code %d, %d bits, "
                       "%d lanes", (int)code, (int)t.bits, (int)t.lanes);
  }
  return tvmgo_raise(TVMGO_VALUE_ERROR, "no memory can hold elements of dtype \"%s\" (%d bits, %d "
                     "lanes)", name, (int)t.bits, (int)t.lanes);
}

int tvmgo_dl_check_place(const DLTensor* t, const char* what) {
  if (t == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the tensor is NULL", what);
  if (tvmgo_dl_check_dtype(t->dtype) != 0) return tvmgo_raise_context("%s", what);
  if (t->byte_offset > PTRDIFF_MAX || t->byte_offset > UINTPTR_MAX - (uintptr_t)t->data)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: byte_offset is %llu, which leads out of memory", what,
                       (unsigned long long)t->byte_offset);
  if (t->device.device_type <= 0 || t->device.device_id < 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "%s: there is no device of type %d and id %d: the CPU is type %d, id 0", what,
                       (int)t->device.device_type, (int)t->device.device_id, (int)kDLCPU);
  return 0;
}

/* The strides before a dimension of 0 are 0, as TVM's are: its kernels compare them with the products of the
 * dimensions. */
static void compact_strides(const int64_t* shape, int32_t ndim, int64_t* strides) {
  int64_t stride = 1;
  for (int32_t i = ndim - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= shape[i];
  }
}

/* Counts the memory of a tensor that owns it, sign 1 or -1. */
static void count_bytes(const tvmgo_tensor* t, int sign) {
  int64_t n = sign * (int64_t)t->nbytes;
  tvmgo_live_add(TVMGO_LIVE_TENSOR_BYTES, n);
  if (t->api != NULL || t->release != NULL || n == 0) return;
  tvmgo_live_add(TVMGO_LIVE_INLINE_BYTES, n);
  tvmgo_live_add(TVMGO_LIVE_INLINE_COUNT, sign);
}

static void tensor_delete(void* self, int flags) {
  tvmgo_tensor* t = self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    if (t->nbytes > 0) count_bytes(t, -1);
    if (t->api != NULL && t->dl.data != NULL &&
        t->api->free_data_space(t->api, t->dl.device, t->dl.data) != 0)
      tvmgo_validate_forget_error(); /* a deleter cannot report an error */
    if (t->release != NULL) t->release(t->owner);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

/* An object followed by memory for shape, strides and extra bytes. */
static tvmgo_tensor* tensor_alloc(const DLTensor* dl, size_t extra) {
  size_t dims = (size_t)dl->ndim * sizeof(int64_t);
  tvmgo_tensor* t =
      tvmgo_object_new_uninit(sizeof *t + 2 * dims + extra, kTVMFFITensor, tensor_delete);
  if (t == NULL) return NULL;
  t->dl = *dl;
  t->dl.shape = t->dims;
  t->dl.strides = t->dims + dl->ndim;
  t->api = NULL;
  t->nbytes = 0;
  t->owner = NULL;
  t->release = NULL;
  if (dims > 0) memcpy(t->dl.shape, dl->shape, dims);
  if (dl->strides != NULL && dims > 0)
    memcpy(t->dl.strides, dl->strides, dims);
  else
    compact_strides(t->dl.shape, dl->ndim, t->dl.strides);
  return t;
}

size_t tvmgo_dl_alignment(DLDataType t) {
  size_t align = DATA_ALIGNMENT, element = (size_t)t.bits / 8 * t.lanes;
  while (TVMGO_UNLIKELY(align * 2 <= element)) align *= 2;
  return align;
}

tvmgo_tensor* tvmgo_tensor_new(const int64_t* shape, int32_t ndim, DLDataType dtype, DLDevice dev,
                               const char* scope) {
  static const char op[] = "allocate tensor";
  size_t nbytes;
  DLTensor dl = {.device = dev, .ndim = ndim, .dtype = dtype, .shape = (int64_t*)shape};
  if (tvmgo_dl_check_dims(ndim, shape, op) != 0) return NULL;
  if (tvmgo_dl_check_dtype(dtype) != 0 || tvmgo_dl_bytes(&dl, &nbytes) != 0) {
    tvmgo_raise_context(op);
    return NULL;
  }
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api == NULL) {
    tvmgo_raise_context(op);
    return NULL;
  }
  int flat = scope == NULL || scope[0] == 0 || strcmp(scope, "global") == 0;
  size_t align = tvmgo_dl_alignment(dtype);
  if (dev.device_type == kDLCPU && flat && !tvmgo_validating) { /* header and data in one allocation */
    if (nbytes > PTRDIFF_MAX / 2) {
      tvmgo_raise(TVMGO_MEMORY_ERROR, "%s: %zu bytes are more than a CPU can address", op, nbytes);
      return NULL;
    }
    if (dev.device_id < 0) {
      tvmgo_raise(TVMGO_VALUE_ERROR, "%s: device index %d is negative", op, dev.device_id);
      return NULL;
    }
    tvmgo_tensor* t = tensor_alloc(&dl, nbytes + align - 1);
    if (t == NULL) return NULL;
    uintptr_t data = (uintptr_t)(t->dims + 2 * ndim);
    t->dl.data = (void*)((data + align - 1) & ~(uintptr_t)(align - 1));
    t->nbytes = nbytes;
    count_bytes(t, 1);
    return t;
  }
  tvmgo_tensor* t = tensor_alloc(&dl, 0);
  if (t == NULL) return NULL;
  int rc;
  if (flat) {
    rc = api->alloc_data_space(api, dev, nbytes, align, dtype, &t->dl.data);
  } else if (TVMGODeviceAPIHas(api, alloc_data_space_with_scope)) {
    rc = api->alloc_data_space_with_scope(api, dev, ndim, shape, dtype, scope, &t->dl.data);
  } else {
    rc = tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                     "device %s has no memory of scope \"%s\": use \"global\"",
                     tvmgo_device_type_name(dev.device_type), scope);
  }
  if (rc != 0) {
    tvmgo_object_release(t);
    tvmgo_raise_context(op);
    return NULL;
  }
  t->api = api;
  t->nbytes = nbytes;
  count_bytes(t, 1);
  return t;
}

tvmgo_tensor* tvmgo_tensor_wrap(const DLTensor* dl, void* owner, void (*release)(void*)) {
  if (tvmgo_dl_check_dims(dl->ndim, dl->shape, "wrap tensor") != 0) return NULL;
  tvmgo_tensor* t = tensor_alloc(dl, 0);
  if (t == NULL) return NULL;
  t->owner = owner;
  t->release = release;
  return t;
}

/* The number of bytes from the first element to the end of the last one, for a view's bounds. */
static int span_bytes(const DLTensor* t, size_t* out) {
  int64_t n, last = 0;
  if (tvmgo_dl_elements(t, &n) != 0) return -1;
  *out = 0;
  if (n == 0) return 0;
  if (t->strides == NULL) return tvmgo_dtype_bytes(t->dtype, n, out);
  for (int32_t i = 0; i < t->ndim; i++) {
    int64_t reach;
    if (t->shape[i] == 1) continue;
    if (t->strides[i] < 0)
      return tvmgo_raise(TVMGO_VALUE_ERROR, "stride %d is negative: %lld", (int)i,
                         (long long)t->strides[i]);
    if (__builtin_mul_overflow(t->shape[i] - 1, t->strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return tvmgo_raise(TVMGO_VALUE_ERROR, "the strides reach beyond 2^63 elements");
  }
  if (last == INT64_MAX) return tvmgo_raise(TVMGO_VALUE_ERROR, "the strides reach too far");
  return tvmgo_dtype_bytes(t->dtype, last + 1, out);
}

void tvmgo_tensor_release_source(void* source) { tvmgo_object_release(source); }

tvmgo_tensor* tvmgo_tensor_view(tvmgo_tensor* source, const int64_t* shape, int32_t ndim,
                                DLDataType dtype, const int64_t* strides, uint64_t byte_offset) {
  static const char op[] = "view tensor";
  DLTensor dl = source->dl;
  dl.ndim = ndim;
  dl.dtype = dtype;
  dl.shape = (int64_t*)shape;
  dl.strides = (int64_t*)strides;
  size_t need, have;
  if (tvmgo_dl_check_dims(ndim, shape, op) != 0) return NULL;
  if (tvmgo_dl_check_dtype(dtype) != 0 || span_bytes(&dl, &need) != 0 ||
      span_bytes(&source->dl, &have) != 0) {
    tvmgo_raise_context(op);
    return NULL;
  }
  if (strides == NULL && !tvmgo_dl_contiguous(&source->dl)) {
    tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the source is not contiguous: give strides or copy it", op);
    return NULL;
  }
  if (byte_offset > have || need > have - byte_offset) {
    tvmgo_raise(TVMGO_VALUE_ERROR,
                "%s: %zu bytes at offset %llu do not fit into the source's %zu bytes", op, need,
                (unsigned long long)byte_offset, have);
    return NULL;
  }
  dl.byte_offset = source->dl.byte_offset + byte_offset;
  /* A view of a view keeps the memory alive, not the other view: a chain of them would grow without end. */
  void* owner = source;
  while (((TVMFFIObject*)owner)->deleter == tensor_delete &&
         ((tvmgo_tensor*)owner)->release == tvmgo_tensor_release_source)
    owner = ((tvmgo_tensor*)owner)->owner;
  tvmgo_tensor* t = tvmgo_tensor_wrap(&dl, owner, tvmgo_tensor_release_source);
  if (t != NULL) tvmgo_object_retain(owner);
  return t;
}

static int is_host(int32_t device_type) {
  return device_type == kDLCPU || device_type == kDLCUDAHost || device_type == kDLROCMHost;
}

/* Copies between two host tensors of one shape, of which at least one has strides. */
static void copy_strided(const DLTensor* from, const DLTensor* to, int32_t dim, const char* src,
                         char* dst, size_t elem, const int64_t* from_strides,
                         const int64_t* to_strides) {
  if (dim == from->ndim) {
    memcpy(dst, src, elem);
    return;
  }
  int64_t fs = from_strides[dim], ts = to_strides[dim];
  if (dim == from->ndim - 1 && fs == 1 && ts == 1) {
    memcpy(dst, src, elem * (size_t)from->shape[dim]);
    return;
  }
  for (int64_t i = 0; i < from->shape[dim]; i++)
    copy_strided(from, to, dim + 1, src + i * fs * (int64_t)elem, dst + i * ts * (int64_t)elem, elem,
                 from_strides, to_strides);
}

static int copy_host_strided(const DLTensor* from, const DLTensor* to) {
  size_t elem;
  int same = from->ndim == to->ndim && memcmp(&from->dtype, &to->dtype, sizeof from->dtype) == 0;
  for (int32_t i = 0; same && i < from->ndim; i++) same = from->shape[i] == to->shape[i];
  if (!same || (from->dtype.bits * from->dtype.lanes) % 8 != 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "copy tensor: a tensor with strides copies only to one of its own shape and "
                       "a dtype of whole bytes");
  if (tvmgo_dtype_bytes(from->dtype, 1, &elem) != 0) return -1;
  int64_t* own = malloc(2 * (size_t)from->ndim * sizeof *own + 1);
  if (own == NULL) return tvmgo_raise_oom();
  const int64_t* fs = from->strides;
  const int64_t* ts = to->strides;
  if (fs == NULL) compact_strides(from->shape, from->ndim, own), fs = own;
  if (ts == NULL) compact_strides(to->shape, to->ndim, own + from->ndim), ts = own + from->ndim;
  copy_strided(from, to, 0, (const char*)from->data + from->byte_offset,
               (char*)to->data + to->byte_offset, elem, fs, ts);
  free(own);
  return 0;
}

/* Records a copy. Its stream is that of the side that is not the host's. */
static __attribute__((noinline)) int copy_profiled(const TVMGODeviceAPI* api, const DLTensor* from, const DLTensor* to,
                                                   TVMFFIStreamHandle stream, size_t nbytes) {
  tvmgo_work w;
  tvmgo_profile_site site = {.kind = TVMGO_PROFILE_COPY, .device = from->device, .other = to->device, .name = "",
                             .function = ""};
  tvmgo_work_begin(&w, is_host(from->device.device_type) ? to->device : from->device, stream);
  int rc = api == NULL ? copy_host_strided(from, to) : api->copy_data_from_to(api, from, to, stream);
  tvmgo_work_end(&w, &site, 0, (int64_t)nbytes, rc);
  return rc;
}

/* Copies between two contiguous tensors that were checked. */
static inline int copy_compact(const TVMGODeviceAPI* api, const DLTensor* from, const DLTensor* to,
                               TVMFFIStreamHandle stream, size_t nbytes) {
  if (TVMGO_UNLIKELY(tvmgo_profiling != NULL)) return copy_profiled(api, from, to, stream, nbytes);
  return api->copy_data_from_to(api, from, to, stream);
}

int tvmgo_dl_copy(const DLTensor* from, const DLTensor* to, TVMFFIStreamHandle stream) {
  size_t from_bytes, to_bytes;
  if (check_sized(from, "copy tensor: source", &from_bytes) != 0 ||
      check_sized(to, "copy tensor: destination", &to_bytes) != 0)
    return -1;
  if (from_bytes != to_bytes)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "copy tensor: the source has %zu bytes, the destination "
                       "%zu: they must be equal", from_bytes, to_bytes);
  int32_t f = from->device.device_type, t = to->device.device_type;
  if (tvmgo_device_family(f) != tvmgo_device_family(t) && !is_host(f) && !is_host(t)) {
    const char *fname = tvmgo_device_type_name(f), *tname = tvmgo_device_type_name(t);
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "copy tensor: from %s (%d) to %s (%d): copy through the CPU",
                       fname ? fname : "an unknown device", f, tname ? tname : "an unknown device",
                       t);
  }
  const TVMGODeviceAPI* api = tvmgo_device_api(f != kDLCPU ? f : t);
  if (api == NULL) return tvmgo_raise_context("copy tensor");
  if (from_bytes == 0) return 0;
  if (!tvmgo_dl_contiguous(from) || !tvmgo_dl_contiguous(to)) {
    if (f == kDLCPU && t == kDLCPU)
      return tvmgo_profiling == NULL ? copy_host_strided(from, to) : copy_profiled(NULL, from, to, NULL, from_bytes);
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "copy tensor: the %s is not contiguous: copy it to a compact tensor first",
                       tvmgo_dl_contiguous(from) ? "destination" : "source");
  }
  return copy_compact(api, from, to, stream, from_bytes);
}

int tvmgo_dl_copy_bytes(const DLTensor* t, void* bytes, size_t nbytes, int to_tensor) {
  const char* op = to_tensor ? "copy bytes to tensor" : "copy tensor to bytes";
  size_t have;
  if (check_sized(t, op, &have) != 0) return -1;
  if (have != nbytes)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the tensor has %zu bytes, %zu were given", op, have,
                       nbytes);
  if (nbytes == 0) return 0;
  if (bytes == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the address is NULL", op);
  if (!tvmgo_dl_contiguous(t))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the tensor is not contiguous: copy it to a compact "
                       "one first", op);
  DLTensor host = *t;
  host.data = bytes;
  host.byte_offset = 0;
  host.strides = NULL;
  host.device = (DLDevice){kDLCPU, 0};
  const TVMGODeviceAPI* api = tvmgo_device_api(t->device.device_type);
  if (api == NULL) return tvmgo_raise_context("copy tensor");
  TVMFFIStreamHandle stream = tvmgo_stream_get(t->device.device_type, t->device.device_id);
  if (copy_compact(api, to_tensor ? &host : t, to_tensor ? t : &host, stream, nbytes) != 0) return -1;
  return tvmgo_device_sync(t->device, stream);
}
