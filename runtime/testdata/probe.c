/* Functions that tests call through the tvm-ffi C ABI: what a C program or generated code would do.
 *
 * With -DBLOB_ROOM=n the file also carries a library blob that the test writes into it. */
#include <dlpack/dlpack.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvmgo/device_api.h>

#define PROBE(name)                                                                       \
  __attribute__((visibility("default"))) int __tvm_ffi_##name(                            \
      void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result)
#define UNUSED (void)self, (void)args, (void)n, (void)result

__attribute__((visibility("default"))) void* __tvm_ffi__library_ctx = NULL;

#ifdef BLOB_ROOM
__attribute__((visibility("default"), aligned(8)))
const char __tvm_ffi__library_bin[BLOB_ROOM] = "blob of the test";
#endif

static int give_int(int64_t v, TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = v;
  return 0;
}

static int give_ptr(void* p, TVMFFIAny* result) {
  result->type_index = kTVMFFIOpaquePtr;
  result->v_ptr = p;
  return 0;
}

static TVMFFIByteArray text_of(const TVMFFIAny* v) {
  TVMFFIByteArray t = {v->v_bytes, v->small_str_len};
  if (v->type_index == kTVMFFIStr || v->type_index == kTVMFFIBytes)
    t = *(TVMFFIByteArray*)(v->v_obj + 1);
  return t;
}

/* ---- values ---- */

/* An owned copy of the argument. */
PROBE(echo) {
  UNUSED;
  return n == 1 ? TVMFFIAnyViewToOwnedAny(&args[0], result) : give_int(n, result);
}

PROBE(type_index) {
  UNUSED;
  return give_int(args[0].type_index, result);
}

/* Calls a function with the kinds of views that only arguments can be: a C string, a byte array, a
 * bare DLTensor, and a text of three bytes in an object. */
PROBE(call_with_views) {
  UNUSED;
  static float elements[6] = {1, 2, 3, 4, 5, 6};
  static int64_t shape[2] = {2, 3};
  DLTensor dl = {elements, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
  TVMFFIByteArray bytes = {"a\0b", 3};
  TVMFFIAny views[4] = {{0}};
  views[0].type_index = kTVMFFIRawStr;
  views[0].v_c_str = "a C string";
  views[1].type_index = kTVMFFIByteArrayPtr;
  views[1].v_ptr = &bytes;
  views[2].type_index = kTVMFFIDLTensorPtr;
  views[2].v_ptr = &dl;
  views[3].type_index = kTVMFFIObjectRValueRef; /* of a kind that Go has no form for */
  return TVMFFIFunctionCall(args[0].v_obj, views, n == 2 ? 4 : 3, result);
}

PROBE(opaque) {
  UNUSED;
  TVMFFIObjectHandle o = NULL;
  if (TVMFFIObjectCreateOpaque(NULL, kTVMFFIOpaquePyObject, NULL, &o) != 0) return -1;
  result->type_index = kTVMFFIOpaquePyObject;
  result->v_obj = o;
  return 0;
}

/* An array of an array of ... so many. */
PROBE(nest) {
  UNUSED;
  static const TVMFFIByteArray name = {"ffi.Array", 9};
  TVMFFIObjectHandle make = NULL;
  TVMFFIAny inner = {0};
  if (TVMFFIFunctionGetGlobal(&name, &make) != 0) return -1;
  int rc = 0;
  for (int64_t i = 0; i < args[0].v_int64 && rc == 0; i++) {
    TVMFFIAny outer = {0};
    rc = TVMFFIFunctionCall(make, &inner, 1, &outer);
    if (inner.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(inner.v_obj);
    inner = outer;
  }
  TVMFFIObjectDecRef(make);
  *result = inner;
  return rc;
}

/* ---- errors ---- */

PROBE(raise) {
  UNUSED;
  TVMFFIByteArray kind = text_of(&args[0]), message = text_of(&args[1]);
  TVMFFIByteArray backtrace = {"probe.c:1\n", 10};
  TVMFFIObjectHandle e = NULL;
  if (TVMFFIErrorCreate(&kind, &message, &backtrace, &e) != 0) return -1;
  TVMFFIErrorSetRaised(e);
  TVMFFIObjectDecRef(e);
  return -1;
}

PROBE(fail_without_error) {
  UNUSED;
  return (int)args[0].v_int64;
}

/* Gives a result of this type index whose content is 0, or for a text a view of one. */
PROBE(give_wrong) {
  UNUSED;
  result->type_index = (int32_t)args[0].v_int64;
  if (result->type_index == kTVMFFIRawStr) result->v_c_str = "a view";
  return 0;
}

/* ---- calls ---- */

/* call(f, args...): f(args...), its error passed on untouched. */
PROBE(call) {
  UNUSED;
  return TVMFFIFunctionCall(args[0].v_obj, (TVMFFIAny*)args + 1, n - 1, result);
}

/* Calls a function and forgets its error. */
PROBE(call_and_forget) {
  UNUSED;
  TVMFFIAny ignored = {0};
  TVMFFIObjectHandle e = NULL;
  if (TVMFFIFunctionCall(args[0].v_obj, (TVMFFIAny*)args + 1, n - 1, &ignored) == 0) {
    if (ignored.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(ignored.v_obj);
    return give_int(0, result);
  }
  TVMFFIErrorMoveFromRaised(&e);
  int64_t had = e != NULL;
  if (e != NULL) TVMFFIObjectDecRef(e);
  return give_int(had, result);
}

static TVMFFIObjectHandle held;

/* Keeps a function beyond the call. */
PROBE(hold) {
  UNUSED;
  if (held != NULL) TVMFFIObjectDecRef(held);
  held = n == 1 && args[0].type_index == kTVMFFIFunction ? args[0].v_obj : NULL;
  if (held != NULL) TVMFFIObjectIncRef(held);
  return 0;
}

PROBE(call_held) {
  UNUSED;
  return TVMFFIFunctionCall(held, (TVMFFIAny*)args, n, result);
}

/* ---- what generated code asks its environment ---- */

/* env(name, args...): looks name up as generated code does and calls it. */
PROBE(env) {
  UNUSED;
  TVMFFIByteArray name = text_of(&args[0]);
  TVMFFIObjectHandle f = NULL;
  if (TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, name.data, &f) != 0) return -1;
  return TVMFFIFunctionCall(f, (TVMFFIAny*)args + 1, n - 1, result);
}

PROBE(context) {
  UNUSED;
  return give_int((int64_t)(intptr_t)__tvm_ffi__library_ctx, result);
}

static int64_t counter;

/* Counts its calls: state that two private copies do not share. */
PROBE(count) {
  UNUSED;
  return give_int(__atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED), result);
}

PROBE(current_stream) {
  UNUSED;
  void* s = TVMFFIEnvGetStream((int32_t)args[0].v_int64, (int32_t)args[1].v_int64);
  return give_int((int64_t)(intptr_t)s, result);
}

/* workspace(type, id, nbytes): allocates one, writes it, gives it back. */
PROBE(workspace) {
  UNUSED;
  int type = (int)args[0].v_int64, id = (int)args[1].v_int64;
  char* p = TVMBackendAllocWorkspace(type, id, (uint64_t)args[2].v_int64, kDLFloat, 32);
  if (p == NULL) return -1;
  int64_t misaligned = (int64_t)((uintptr_t)p % 64);
  memset(p, 1, (size_t)args[2].v_int64);
  if (TVMBackendFreeWorkspace(type, id, p) != 0) return -1;
  return give_int(misaligned, result);
}

/* on_threads(f, threads, calls): so many threads of C's call f(thread, call) so often; how many calls
 * did not give thread + call. The error of a failing one is raised here. */
typedef struct {
  pthread_t thread;
  TVMFFIObjectHandle f, error;
  int64_t index, calls, wrong;
} thread_work;

static void* work_on_thread(void* arg) {
  thread_work* w = arg;
  for (int64_t i = 0; i < w->calls; i++) {
    TVMFFIAny args[2] = {{0}}, r = {0};
    args[0].type_index = args[1].type_index = kTVMFFIInt;
    args[0].v_int64 = w->index;
    args[1].v_int64 = i;
    void* scratch = TVMBackendAllocWorkspace(kDLCPU, 0, 1000, kDLInt, 8);
    int rc = TVMFFIFunctionCall(w->f, args, 2, &r);
    if (TVMBackendFreeWorkspace(kDLCPU, 0, scratch) != 0) w->wrong++;
    if (rc == 0) {
      if (r.type_index != kTVMFFIInt || r.v_int64 != w->index + i) w->wrong++;
    } else {
      w->wrong++;
      if (w->error == NULL) TVMFFIErrorMoveFromRaised(&w->error);
    }
  }
  return NULL;
}

PROBE(on_threads) {
  UNUSED;
  enum { MAX_THREADS = 64 };
  thread_work work[MAX_THREADS];
  int64_t threads = args[1].v_int64, wrong = 0;
  int rc = 0;
  for (int64_t i = 0; i < threads; i++) {
    work[i] = (thread_work){.f = args[0].v_obj, .index = i, .calls = args[2].v_int64};
    if (pthread_create(&work[i].thread, NULL, work_on_thread, &work[i]) != 0) abort();
  }
  for (int64_t i = 0; i < threads; i++) {
    pthread_join(work[i].thread, NULL);
    wrong += work[i].wrong;
    if (work[i].error == NULL) continue;
    if (rc == 0) TVMFFIErrorSetRaised(work[i].error);
    TVMFFIObjectDecRef(work[i].error);
    rc = -1;
  }
  return rc != 0 ? rc : give_int(wrong, result);
}

#ifdef BLOB_ROOM
PROBE(blob_address) {
  UNUSED;
  return give_int((int64_t)(intptr_t)__tvm_ffi__library_bin, result);
}
#endif

/* ---- DLPack ---- */

static int64_t deleted; /* calls of the deleters below */
static float elements[8] = {0, 1, 2, 3, 4, 5, 6, 7};

static void delete_legacy(DLManagedTensor* m) {
  deleted++;
  free(m);
}

static void delete_versioned(DLManagedTensorVersioned* m) {
  deleted++;
  free(m);
}

/* A 2 by 3 part of the elements, its rows 4 apart, from the second element on. */
static DLTensor some_tensor(void) {
  static int64_t shape[2] = {2, 3}, strides[2] = {4, 1};
  DLTensor t = {elements, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, sizeof(float)};
  return t;
}

PROBE(give_legacy) {
  UNUSED;
  DLManagedTensor* m = calloc(1, sizeof *m);
  m->dl_tensor = some_tensor();
  m->deleter = delete_legacy;
  return give_ptr(m, result);
}

/* give_versioned(major, flags, ndim): the last two may be wrong on purpose. */
PROBE(give_versioned) {
  UNUSED;
  DLManagedTensorVersioned* m = calloc(1, sizeof *m);
  m->version.major = (uint32_t)args[0].v_int64;
  m->flags = (uint64_t)args[1].v_int64;
  m->dl_tensor = some_tensor();
  m->dl_tensor.ndim = (int32_t)args[2].v_int64;
  m->deleter = delete_versioned;
  return give_ptr(m, result);
}

PROBE(deleted) {
  UNUSED;
  return give_int(deleted, result);
}

/* Reads a managed tensor of this runtime's as a consumer would: [rank, dims, strides], then calls
 * its deleter. */
static int consume(DLTensor* t, TVMFFIAny* result) {
  double sum = 0;
  for (int64_t i = 0; i < t->shape[0]; i++)
    for (int64_t j = 0; j < t->shape[1]; j++)
      sum += ((float*)((char*)t->data + t->byte_offset))[i * t->strides[0] + j * t->strides[1]];
  result->type_index = kTVMFFIFloat;
  result->v_float64 = sum;
  return 0;
}

PROBE(consume_legacy) {
  UNUSED;
  DLManagedTensor* m = args[0].v_ptr;
  int rc = consume(&m->dl_tensor, result);
  m->deleter(m);
  return rc;
}

PROBE(consume_versioned) {
  UNUSED;
  DLManagedTensorVersioned* m = args[0].v_ptr;
  if (m->version.major != DLPACK_MAJOR_VERSION) return give_int(-1, result);
  int rc = consume(&m->dl_tensor, result);
  m->deleter(m);
  return rc;
}

/* free_managed(p, versioned): what the owner of a refused tensor does. */
PROBE(free_managed) {
  UNUSED;
  if (args[1].v_int64)
    delete_versioned(args[0].v_ptr);
  else
    delete_legacy(args[0].v_ptr);
  return 0;
}

/* ---- devices ---- */

/* Frees the data of a tensor by the table of its device. */
PROBE(free_data_space) {
  UNUSED;
  const TVMGODeviceAPI* api = args[0].v_ptr;
  return api->free_data_space(api, args[1].v_device, ((DLTensor*)(args[2].v_obj + 1))->data);
}
