/* Storages: memory of a device behind an object, and tensors in it. */
#include "device/validate.h"
#include "profile/profile.h"
#include "vm/vm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, LONGEST_SCOPE = 64 };

typedef struct {
  TVMFFIObject header;
  DLDevice dev;
  size_t size; /* bytes that the account counts */
  void* data;
  const TVMGODeviceAPI* api;
  TVMFFIStreamHandle stream; /* of flat memory */
  int unpooled;              /* flat memory that is the device's data space */
  tvmgo_vm_account* account; /* counts this storage, which keeps it alive */
  tvmgo_profile* profile;    /* that counts it, kept alive; or NULL */
  char* scope;               /* NULL: flat memory; else in this allocation, after dims */
  int32_t ndim;              /* of an array in a scope */
  int64_t dims[];
} storage;

static _Atomic int32_t storage_type;

int32_t tvmgo_vm_storage_type(void) {
  int32_t type = atomic_load_explicit(&storage_type, memory_order_relaxed);
  if (TVMGO_LIKELY(type > 0)) return type;
  static const char key[] = "vm.Storage";
  const TVMFFIByteArray text = {key, sizeof key - 1};
  type = TVMFFITypeGetOrAllocIndex(&text, -1, 1, 0, 0, kTVMFFIObject);
  atomic_store_explicit(&storage_type, type, memory_order_relaxed);
  return type;
}

static int is_flat(const char* scope) { return scope == NULL || scope[0] == 0 || strcmp(scope, "global") == 0; }

/* ---- the device's memory ---- */

/* On the CPU the pool serves, never the cache of a thread: another thread may release the storage. */
static int from_pool(const TVMGODeviceAPI* api, DLDevice dev) {
  return dev.device_type == kDLCPU || !TVMGODeviceAPIHas(api, alloc_workspace) ||
         !TVMGODeviceAPIHas(api, free_workspace);
}

static int take_once(storage* s, DLDataType dtype) {
  if (s->scope != NULL)
    return s->api->alloc_data_space_with_scope(s->api, s->dev, s->ndim, s->dims, dtype, s->scope, &s->data);
  if (TVMGO_UNLIKELY(s->unpooled))
    return s->api->alloc_data_space(s->api, s->dev, s->size, tvmgo_dl_alignment(dtype), dtype, &s->data);
  if (from_pool(s->api, s->dev)) return tvmgo_slots_alloc(s->api, s->dev, s->size, s->stream, &s->data);
  return s->api->alloc_workspace(s->api, s->dev, s->size, dtype, s->stream, &s->data);
}

/* Takes memory; if there is none, trims what is idle on the device and tries again. */
static int take(storage* s, DLDataType dtype) {
  if (TVMGO_LIKELY(take_once(s, dtype) == 0)) return 0;
  TVMFFIObject* first = tvmgo_error_take();
  int64_t freed = 0;
  if (tvmgo_workspace_trim_device(s->dev, &freed) != 0) tvmgo_object_release(tvmgo_error_take());
  if (freed > 0) {
    tvmgo_object_release(first);
    return take_once(s, dtype);
  }
  tvmgo_thread_get()->error = first;
  return -1;
}

static int give_back(storage* s) {
  if (s->scope != NULL || s->unpooled) return s->api->free_data_space(s->api, s->dev, s->data);
  if (s->dev.device_type == kDLCPU) return tvmgo_slots_free(s->dev, s->data, s->size, s->stream);
  return tvmgo_workspace_give(s->dev, s->data, s->stream);
}

/* A destructor cannot report an error, and keeps the one that the thread has. */
static void give(storage* s) {
  TVMFFIObject* earlier = tvmgo_error_take();
  if (give_back(s) != 0) tvmgo_validate_forget_error();
  tvmgo_error_put_back(earlier);
}

static void storage_delete(void* self, int flags) {
  storage* s = self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    give(s);
    if (TVMGO_UNLIKELY(s->profile != NULL)) tvmgo_profile_freed(s->profile, s->dev, (int64_t)s->size);
    tvmgo_vm_account_give(s->account, (int64_t)s->size);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

/* ---- new storages ---- */

static int describe(storage* s, DLDevice dev, size_t size, const char* scope) {
  s->dev = dev;
  s->api = tvmgo_device_api(dev.device_type);
  if (s->api == NULL) return -1;
  if (s->scope != NULL && !TVMGODeviceAPIHas(s->api, alloc_data_space_with_scope))
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "device %s has no memory of scope \"%s\": use \"global\"",
                       tvmgo_device_type_name(dev.device_type), scope);
  s->size = size;
  s->data = NULL;
  s->stream = dev.device_type == kDLCPU ? NULL : tvmgo_stream_get(dev.device_type, dev.device_id);
  return 0;
}

static TVMFFIObject* make(tvmgo_vm_account* a, DLDevice dev, size_t nbytes, const int64_t* shape, int32_t ndim,
                          DLDataType dtype, const char* scope) {
  int flat = is_flat(scope);
  size_t length = flat ? 0 : strnlen(scope, LONGEST_SCOPE), dims = flat ? 0 : (size_t)ndim * sizeof *shape;
  if (length == LONGEST_SCOPE) {
    tvmgo_raise(TVMGO_VALUE_ERROR, "the scope is longer than %d bytes", LONGEST_SCOPE - 1);
    return NULL;
  }
  if (nbytes > PTRDIFF_MAX / 2) {
    tvmgo_raise(TVMGO_MEMORY_ERROR, "%zu bytes are more than a device can have", nbytes);
    return NULL;
  }
  size_t size = !flat ? nbytes : nbytes == 0 ? PAGE : (nbytes + PAGE - 1) / PAGE * PAGE;
  storage* s = malloc(sizeof *s + dims + length + 1);
  if (s == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  s->scope = NULL;
  s->ndim = 0;
  if (!flat) {
    s->ndim = ndim;
    if (dims > 0) memcpy(s->dims, shape, dims);
    s->scope = memcpy((char*)s->dims + dims, scope, length + 1);
  }
  s->account = a;
  s->unpooled = flat && (uint32_t)dev.device_type < 64 && tvmgo_vm_account_unpooled(a) >> dev.device_type & 1;
  if (describe(s, dev, size, scope) != 0 || tvmgo_vm_account_take(a, (int64_t)size) != 0) {
    free(s);
    return NULL;
  }
  if (take(s, dtype) != 0) {
    tvmgo_vm_memory now = {0};
    tvmgo_vm_account_give(a, (int64_t)size);
    if (a != NULL) tvmgo_vm_account_read(a, &now);
    if (now.live > 0) tvmgo_raise_context("%lld bytes are in storages", (long long)now.live);
    free(s);
    return NULL;
  }
  s->profile = TVMGO_UNLIKELY(tvmgo_profiling != NULL) ? tvmgo_profile_allocated(dev, (int64_t)size) : NULL;
  return tvmgo_object_init(s, tvmgo_vm_storage_type(), storage_delete);
}

/* Adds what was asked for to the raised error. */
static TVMFFIObject* named(TVMFFIObject* made, DLDevice dev, size_t nbytes, const char* scope) {
  if (TVMGO_LIKELY(made != NULL)) return made;
  const char* name = tvmgo_device_type_name(dev.device_type);
  char number[32], in[LONGEST_SCOPE + 16] = "";
  snprintf(number, sizeof number, "device type %d", (int)dev.device_type);
  if (!is_flat(scope)) snprintf(in, sizeof in, " in scope \"%.*s\"", LONGEST_SCOPE, scope);
  tvmgo_raise_context("allocate storage of %zu bytes on %s:%d%s", nbytes, name != NULL ? name : number,
                      (int)dev.device_id, in);
  return NULL;
}

TVMFFIObject* tvmgo_vm_storage_new_array(tvmgo_vm_account* a, DLDevice dev, const int64_t* shape, int32_t ndim,
                                         DLDataType dtype, const char* scope) {
  static const char op[] = "allocate storage";
  DLTensor dl = {.device = dev, .ndim = ndim, .dtype = dtype, .shape = (int64_t*)shape};
  size_t nbytes;
  if (tvmgo_dl_check_dims(ndim, shape, op) != 0) return NULL;
  if (tvmgo_dl_check_dtype(dtype) != 0 || tvmgo_dl_bytes(&dl, &nbytes) != 0) {
    tvmgo_raise_context(op);
    return NULL;
  }
  return named(make(a, dev, nbytes, shape, ndim, dtype, scope), dev, nbytes, scope);
}

TVMFFIObject* tvmgo_vm_storage_new(tvmgo_vm_account* a, DLDevice dev, size_t nbytes, DLDataType hint,
                                   const char* scope) {
  size_t element;
  if (tvmgo_dl_check_dtype(hint) != 0 || tvmgo_dtype_bytes(hint, 1, &element) != 0) {
    tvmgo_raise_context("allocate storage");
    return NULL;
  }
  int64_t elements = (int64_t)(nbytes / element);
  return named(make(a, dev, nbytes, &elements, 1, hint, scope), dev, nbytes, scope);
}

/* ---- tensors ---- */

/* Whether an array lies where the one that the storage was made for does. */
static int same_array(const storage* s, const char* scope, int64_t offset, const DLTensor* dl) {
  return (scope == NULL || strcmp(scope, s->scope) == 0) && offset == 0 && dl->ndim == s->ndim &&
         memcmp(dl->shape, s->dims, (size_t)s->ndim * sizeof *s->dims) == 0;
}

/* A tensor of a storage; owner is a reference that it takes over. */
static TVMFFIObject* wrap(DLTensor* dl, size_t nbytes, storage* owner) {
  dl->data = owner->data;
  tvmgo_tensor* t = tvmgo_tensor_wrap(dl, owner, tvmgo_tensor_release_ordered);
  if (t == NULL) {
    tvmgo_object_release(owner);
    return NULL;
  }
  t->nbytes = nbytes; /* Go's garbage collector counts it */
  tvmgo_live_add(TVMGO_LIVE_TENSOR_BYTES, (int64_t)nbytes);
  return &t->header;
}

TVMFFIObject* tvmgo_vm_storage_tensor(TVMFFIObject* obj, int64_t offset, const int64_t* shape, int32_t ndim,
                                      DLDataType dtype, const char* scope) {
  static const char op[] = "allocate tensor";
  if (obj == NULL || obj->type_index != tvmgo_vm_storage_type()) {
    tvmgo_raise(TVMGO_TYPE_ERROR, "%s: want a vm.Storage, got %s", op,
                tvmgo_type_name(obj == NULL ? kTVMFFINone : obj->type_index));
    return NULL;
  }
  storage* s = (storage*)obj;
  DLTensor dl = {.device = s->dev, .ndim = ndim, .dtype = dtype, .shape = (int64_t*)shape};
  size_t nbytes;
  if (tvmgo_dl_check_dims(ndim, shape, op) != 0) return NULL;
  if (tvmgo_dl_check_dtype(dtype) != 0 || tvmgo_dl_bytes(&dl, &nbytes) != 0) {
    tvmgo_raise_context(op);
    return NULL;
  }
  if (offset < 0) {
    tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the byte offset is negative: %lld", op, (long long)offset);
    return NULL;
  }
  if (s->scope != NULL ? !same_array(s, scope, offset, &dl) : !is_flat(scope)) {
    if (scope == NULL) scope = s->scope;
    TVMFFIObject* own = tvmgo_vm_storage_new_array(s->account, s->dev, shape, ndim, dtype, scope);
    return own == NULL ? NULL : wrap(&dl, nbytes, (storage*)own);
  }
  if ((uint64_t)offset > s->size || nbytes > s->size - (size_t)offset) {
    tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %zu bytes at offset %lld do not fit into the storage's %zu bytes", op, nbytes,
                (long long)offset, s->size);
    return NULL;
  }
  dl.byte_offset = (uint64_t)offset;
  tvmgo_object_retain(s);
  return wrap(&dl, nbytes, s);
}

size_t tvmgo_vm_storage_bytes(const TVMFFIObject* obj) { return ((const storage*)obj)->size; }

DLDevice tvmgo_vm_storage_device(const TVMFFIObject* obj) { return ((const storage*)obj)->dev; }
