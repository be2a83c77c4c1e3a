/* Tensors in memory that is not plain data space: workspaces, memory in the order of a stream, and page-locked
 * memory of the host. */
#include "device/device.h"
#include "device/graph.h"
#include "device/stream_home.h"
#include "device/validate.h"

#include <stdlib.h>

/* The memory that a tensor returns when its last reference is released. */
typedef struct {
  DLDevice dev;
  void* p;
  TVMFFIStreamHandle stream;
} lent;

/* A destructor cannot report an error. */
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

/* Computes the bytes of a new tensor; checks the caller's arguments. */
static int size_of(const char* op, const DLTensor* dl, size_t* nbytes) {
  if (tvmgo_dl_check_dims(dl->ndim, dl->shape, op) != 0) return -1;
  if (tvmgo_dl_check_dtype(dl->dtype) != 0 || tvmgo_dl_bytes(dl, nbytes) != 0)
    return tvmgo_raise_context("%s", op);
  return 0;
}

/* Wraps l->p; on failure the memory is returned. */
static tvmgo_tensor* wrap(DLTensor* dl, size_t nbytes, lent* l, void (*give)(void*)) {
  dl->data = l->p;
  tvmgo_tensor* t = tvmgo_tensor_wrap(dl, l, give);
  if (t != NULL) {
    t->nbytes = nbytes;
    tvmgo_live_add(TVMGO_LIVE_TENSOR_BYTES, (int64_t)nbytes);
    return t;
  }
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
  return wrap(&dl, nbytes, l, give_workspace);
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
  return wrap(&dl, nbytes, l, give_pinned);
}

/* ---- in the order of a stream ---- */

static void give_ordered(void* owner);

void tvmgo_tensor_release_ordered(void* owner) { tvmgo_object_release(owner); }

int tvmgo_tensor_goes_to_stream(TVMFFIObject* obj) {
  while (obj->type_index == kTVMFFITensor) {
    tvmgo_tensor* t = (tvmgo_tensor*)obj;
    if (t->release == give_workspace || t->release == give_ordered || t->release == tvmgo_tensor_release_ordered)
      return 1;
    if (t->release != tvmgo_tensor_release_source) return 0;
    obj = t->owner; /* a view */
  }
  return 0;
}

typedef struct {
  tvmgo_kept kept; /* first: a recording may take it over */
  const TVMGODeviceAPI* api;
  DLDevice dev;
  void* p;
  TVMFFIStreamHandle stream;
  tvmgo_stream_home* home;
} ordered;

static void free_ordered(ordered* o) {
  tvmgo_stream_home_put(o->home);
  free(o);
}

static void give_kept(tvmgo_kept* k) { give_ordered(k); }

/* Recorded work may use it, again in each launch. */
static void give_ordered(void* owner) {
  ordered* o = owner;
  if (tvmgo_recording_keep(o->dev, o->stream, &o->kept)) return;
  int rc;
  if (tvmgo_stream_home_enter(o->home)) {
    rc = o->api->free_on_stream(o->api, o->dev, o->p, o->stream);
    tvmgo_stream_home_leave(o->home);
  } else {
    rc = o->api->free_data_space(o->api, o->dev, o->p);
  }
  forget_error(rc);
  free_ordered(o);
}

static ordered* make_ordered(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  ordered* o = malloc(sizeof *o);
  if (o == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  *o = (ordered){{NULL, give_kept}, api, dev, NULL, stream, tvmgo_stream_home_get(dev, stream)};
  if (o->home != NULL) return o;
  free(o);
  return NULL;
}

tvmgo_tensor* tvmgo_tensor_on_stream(const int64_t* shape, int32_t ndim, DLDataType dtype, DLDevice dev,
                                     TVMFFIStreamHandle stream) {
  static const char op[] = "allocate tensor";
  size_t nbytes;
  DLTensor dl = {.device = dev, .ndim = ndim, .dtype = dtype, .shape = (int64_t*)shape};
  if (size_of(op, &dl, &nbytes) != 0) return NULL;
  if (tvmgo_recording_on(dev, stream)) {
    tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the stream records, and a graph brings no memory along: make it before", op);
    return NULL;
  }
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api != NULL && (!TVMGODeviceAPIHas(api, alloc_on_stream) || !TVMGODeviceAPIHas(api, free_on_stream)))
    return tvmgo_tensor_new(shape, ndim, dtype, dev, NULL);
  ordered* o = api == NULL ? NULL : make_ordered(api, dev, stream);
  if (o == NULL) {
    tvmgo_raise_context(op);
    return NULL;
  }
  if (api->alloc_on_stream(api, dev, nbytes, tvmgo_dl_alignment(dtype), dtype, stream, &o->p) != 0) {
    free_ordered(o);
    tvmgo_raise_context(op);
    return NULL;
  }
  dl.data = o->p;
  tvmgo_tensor* t = tvmgo_tensor_wrap(&dl, o, give_ordered);
  if (t == NULL) {
    TVMFFIObject* error = tvmgo_error_take();
    give_ordered(o);
    tvmgo_thread_get()->error = error;
    return NULL;
  }
  t->nbytes = nbytes;
  tvmgo_live_add(TVMGO_LIVE_TENSOR_BYTES, (int64_t)nbytes);
  return t;
}
