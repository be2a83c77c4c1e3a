/* What front ends and loaded modules share: tensor allocator, signal check, names that later
 * libraries get, handles made once. */
#include "core.h"
#include "fork_locks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- once ---- */

static pthread_mutex_t once_lock;
static pthread_once_t once_lock_made = PTHREAD_ONCE_INIT;

/* Recursive: an initialiser may well look up a function that initialises another handle. */
static void make_once_lock(void) {
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&once_lock, &attr);
  pthread_mutexattr_destroy(&attr);
}

void tvmgo_once_lock_renew(void) {
  pthread_once(&once_lock_made, make_once_lock);
  make_once_lock();
}

/* A callback failed: make sure that there is an error to read. */
static int failed(const char* who, int rc) {
  tvmgo_thread* t = tvmgo_thread_get();
  if (rc != -2 && t->error == NULL && t->python_error == NULL)
    tvmgo_raise(TVMGO_RUNTIME_ERROR, "%s returned %d without raising an error", who, rc);
  return rc;
}

int TVMFFIHandleInitOnce(void** handle_addr, int (*init_func)(void** result)) {
  if (handle_addr == NULL || init_func == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "init once: %s is NULL",
                       handle_addr == NULL ? "handle_addr" : "init_func");
  if (__atomic_load_n(handle_addr, __ATOMIC_ACQUIRE) != NULL) return 0;
  pthread_once(&once_lock_made, make_once_lock);
  pthread_mutex_lock(&once_lock);
  int rc = 0;
  if (__atomic_load_n(handle_addr, __ATOMIC_RELAXED) == NULL) {
    void* made = NULL;
    rc = init_func(&made);
    if (rc == 0 && made == NULL)
      rc = tvmgo_raise(TVMGO_RUNTIME_ERROR, "init once: the initialiser gave NULL");
    else if (rc != 0)
      rc = failed("init once: the initialiser", rc);
    if (rc == 0) __atomic_store_n(handle_addr, made, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&once_lock);
  return rc;
}

int TVMFFIHandleDeinitOnce(void** handle_addr, int (*deinit_func)(void* handle)) {
  if (handle_addr == NULL || deinit_func == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "deinit once: %s is NULL",
                       handle_addr == NULL ? "handle_addr" : "deinit_func");
  void* handle = __atomic_exchange_n(handle_addr, NULL, __ATOMIC_ACQ_REL);
  int rc = handle == NULL ? 0 : deinit_func(handle);
  return rc == 0 ? 0 : failed("deinit once: deinit_func", rc);
}

int TVMBackendRunOnce(void** handle, int (*f)(void*), void* cdata, int nbytes) {
  (void)nbytes;
  if (handle == NULL || f == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "run once: %s is NULL", handle == NULL ? "handle" : "f");
  if (__atomic_load_n(handle, __ATOMIC_ACQUIRE) != NULL) return 0;
  pthread_once(&once_lock_made, make_once_lock);
  pthread_mutex_lock(&once_lock);
  int rc = 0;
  if (__atomic_load_n(handle, __ATOMIC_RELAXED) == NULL) {
    rc = f(cdata);
    __atomic_store_n(handle, (void*)1, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&once_lock);
  return rc;
}

/* ---- tensor allocator ---- */

static _Atomic(DLPackManagedTensorAllocator) global_allocator;

int TVMFFIEnvSetDLPackManagedTensorAllocator(DLPackManagedTensorAllocator allocator,
                                             int write_to_global_context,
                                             DLPackManagedTensorAllocator* opt_out_original) {
  tvmgo_thread* t = tvmgo_thread_get();
  if (opt_out_original != NULL) *opt_out_original = t->dlpack_allocator;
  t->dlpack_allocator = allocator;
  if (write_to_global_context) atomic_store(&global_allocator, allocator);
  return 0;
}

DLPackManagedTensorAllocator TVMFFIEnvGetDLPackManagedTensorAllocator(void) {
  DLPackManagedTensorAllocator own = tvmgo_thread_get()->dlpack_allocator;
  return own != NULL ? own : atomic_load(&global_allocator);
}

static void allocator_error(void* ctx, const char* kind, const char* message) {
  (void)ctx;
  TVMFFIErrorSetRaisedFromCStr(kind, message);
}

int TVMFFIEnvTensorAlloc(DLTensor* prototype, TVMFFIObjectHandle* out) {
  static const char op[] = "allocate tensor";
  if (prototype == NULL || out == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %s is NULL", op,
                       prototype == NULL ? "the prototype" : "out");
  DLPackManagedTensorAllocator alloc = TVMFFIEnvGetDLPackManagedTensorAllocator();
  if (alloc == NULL) { /* no front end: the device's own data space */
    tvmgo_tensor* t = tvmgo_tensor_new(prototype->shape, prototype->ndim, prototype->dtype,
                                       prototype->device, NULL);
    *out = t;
    return t == NULL ? -1 : 0;
  }
  DLManagedTensorVersioned* made = NULL;
  if (alloc(prototype, &made, NULL, allocator_error) != 0) {
    if (tvmgo_thread_get()->error == NULL)
      tvmgo_raise(TVMGO_MEMORY_ERROR, "%s: the front end's allocator failed without a reason", op);
    return -1;
  }
  if (TVMFFITensorFromDLPackVersioned(made, 0, 0, out) == 0) return 0;
  if (made != NULL && made->deleter != NULL) made->deleter(made);
  return -1;
}

/* ---- front end's interpreter ---- */

enum { CHECK_SIGNALS, GIL_ENSURE, GIL_RELEASE, INC_REF, DEC_REF, NUM_CAPI };
static const char* const capi_names[NUM_CAPI] = {"PyErr_CheckSignals", "PyGILState_Ensure",
                                                 "PyGILState_Release", "Py_IncRef", "Py_DecRef"};
static _Atomic(void*) capi[NUM_CAPI];

int TVMFFIEnvRegisterCAPI(const char* name, void* symbol) {
  for (int i = 0; name != NULL && i < NUM_CAPI; i++) {
    if (strcmp(name, capi_names[i]) == 0) {
      atomic_store(&capi[i], symbol);
      return 0;
    }
  }
  return tvmgo_raise(TVMGO_VALUE_ERROR,
                     "register C API: \"%.99s\" is unknown: known are PyErr_CheckSignals, "
                     "PyGILState_Ensure, PyGILState_Release, Py_IncRef, Py_DecRef",
                     name == NULL ? "" : name);
}

int TVMFFIEnvCheckSignals(void) {
  int (*check)(void) = (int (*)(void))atomic_load(&capi[CHECK_SIGNALS]);
  if (check == NULL) return 0;
  int (*ensure)(void) = (int (*)(void))atomic_load(&capi[GIL_ENSURE]);
  void (*release)(int) = (void (*)(int))atomic_load(&capi[GIL_RELEASE]);
  int gil = ensure != NULL && release != NULL;
  int state = gil ? ensure() : 0;
  int rc = check() == 0 ? 0 : -1;
  if (gil) release(state);
  return rc;
}

/* ---- names for later libraries ---- */

typedef struct context_symbol {
  _Atomic(struct context_symbol*) next;
  void* address;
  char name[];
} context_symbol;

/* Appended to, never shortened: readers need no lock. */
static _Atomic(context_symbol*) context_symbols;
pthread_mutex_t tvmgo_context_symbols_lock = PTHREAD_MUTEX_INITIALIZER;

int TVMFFIEnvModRegisterContextSymbol(const char* name, void* symbol) {
  if (tvmgo_check_cname("register context symbol", "the name", name) != 0) return -1;
  context_symbol* s = calloc(1, sizeof *s + strlen(name) + 1);
  if (s == NULL) return tvmgo_raise_oom();
  s->address = symbol;
  strcpy(s->name, name);
  pthread_mutex_lock(&tvmgo_context_symbols_lock);
  _Atomic(context_symbol*)* at = &context_symbols;
  while (atomic_load(at) != NULL) at = &atomic_load(at)->next;
  atomic_store(at, s);
  pthread_mutex_unlock(&tvmgo_context_symbols_lock);
  return 0;
}

/* A mapping may be shared with a module that is in use: what is right already is left alone. */
static void fill(tvmgo_image* image, const char* name, void* address) {
  void** at = tvmgo_image_slot(image, name, strlen(name));
  if (at != NULL && __atomic_load_n(at, __ATOMIC_RELAXED) != address)
    __atomic_store_n(at, address, __ATOMIC_RELEASE);
}

void tvmgo_context_symbols_fill(tvmgo_image* image) {
  int classic = image->generation == TVMGO_GENERATION_CLASSIC;
  for (const tvmgo_binding* b = tvmgo_bindings; b->name != NULL; b++)
    if (b->slot != NULL) fill(image, b->slot, classic ? b->classic : b->modern);
  /* Those of the program come later, in their order: the last registration of a name wins. */
  for (context_symbol* s = atomic_load(&context_symbols); s != NULL; s = atomic_load(&s->next))
    fill(image, s->name, s->address);
}
