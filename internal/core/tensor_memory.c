/* Tensors in memory that is not plain data space: workspaces, and page-locked memory of the host. */
#include "core.h"
#include "validate.h"

#include <stdlib.h>

/* What a tensor gives back when its last reference goes. */
typedef struct {
  DLDevice dev;
  void* p;
  TVMFFIStreamHandle stream;
} lent;

/* A destructor has nobody to tell of an error. */
static void forget_error(int rc) {
  if (rc != 0) tvmgo_validate_forget_error();
}

static void give_workspace(void* owner) {
  lent* l = owner;
  forget_error(tvmgo_workspace_give(l->dev, l->p, l->stream));
  free(l);
}

static void give_pinned(void* owner) {
  lent* l = owner;
  const TVMGODeviceAPI* api = tvmgo_device_api(l->dev.device_type);
  forget_error(api == NULL ? -1 : api->pinned_free(api, l->dev, l->p));
  free(l);
}

/* The bytes of a new tensor; checks what the caller gave. */
static int size_of(const char* op, const DLTensor* dl, size_t* nbytes) {
  if (tvmgo_dl_check_dims(dl->ndim, dl->shape, op) != 0) return -1;
  if (tvmgo_dl_check_dtype(dl->dtype) != 0 || tvmgo_dl_bytes(dl, nbytes) != 0)
    return tvmgo_raise_context("%s", op);
  return 0;
}

/* Wraps l->p; on failure it is given back. */
static tvmgo_tensor* wrap(DLTensor* dl, lent* l, void (*give)(void*)) {
  dl->data = l->p;
  tvmgo_tensor* t = tvmgo_tensor_wrap(dl, l, give);
  if (t != NULL) return t;
  TVMFFIObject* error = tvmgo_error_take();
  give(l);
  tvmgo_thread_get()->error = error;
  return NULL;
}

static lent* make_lent(DLDevice dev, TVMFFIStreamHandle stream) {
  lent* l = malloc(sizeof *l);
  if (l == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  *l = (lent){dev, NULL, stream};
  return l;
}

tvmgo_tensor* tvmgo_tensor_workspace(const int64_t* shape, int32_t ndim, DLDataType dtype, DLDevice dev,
                                     TVMFFIStreamHandle stream) {
  size_t nbytes;
  DLTensor dl = {.device = dev, .ndim = ndim, .dtype = dtype, .shape = (int64_t*)shape};
  if (size_of("allocate workspace", &dl, &nbytes) != 0) return NULL;
  lent* l = make_lent(dev, stream);
  if (l == NULL) return NULL;
  if (tvmgo_workspace_take(dev, nbytes, dtype, stream, &l->p) != 0) {
    free(l);
    return NULL;
  }
  return wrap(&dl, l, give_workspace);
}

tvmgo_tensor* tvmgo_tensor_pinned(const int64_t* shape, int32_t ndim, DLDataType dtype, DLDevice dev) {
  static const char op[] = "allocate page-locked memory";
  size_t nbytes;
  DLTensor dl = {.device = {kDLCPU, 0}, .ndim = ndim, .dtype = dtype, .shape = (int64_t*)shape};
  if (size_of(op, &dl, &nbytes) != 0) return NULL;
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  int rc = api == NULL ? -1 : 0;
  if (rc == 0 && (!TVMGODeviceAPIHas(api, pinned_alloc) || !TVMGODeviceAPIHas(api, pinned_free)))
    rc = tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "device %s has none: use ordinary memory",
                     tvmgo_device_type_name(dev.device_type));
  lent* l = rc == 0 ? make_lent(dev, NULL) : NULL;
  if (l == NULL || api->pinned_alloc(api, dev, nbytes, &l->p) != 0) {
    free(l);
    tvmgo_raise_context(op);
    return NULL;
  }
  return wrap(&dl, l, give_pinned);
}
