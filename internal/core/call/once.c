/* Handles that are made once, and functions that run once. */
#include "call/call.h"

#include <pthread.h>

static pthread_mutex_t once_lock;
static pthread_once_t once_lock_made = PTHREAD_ONCE_INIT;

/* Recursive: an initialiser may look up a function that initialises another handle. */
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
