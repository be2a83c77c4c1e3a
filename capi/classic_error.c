/* Classic C ABI: reading the last error, and Python exceptions as errors.
 *
 * The error itself is stored by the core: one slot per thread for both ABIs. A Python exception replaces the error
 * there. A reference to it is held if the front end has set the functions that count references. */
#include "classic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "Kind: message", in the thread's buffer. */
static const char* render(tvmgo_thread* t) {
  const TVMFFIErrorCell* cell = tvmgo_error_cell(t->error);
  size_t kind = cell->kind.size, message = cell->message.size;
  char* text = realloc(t->error_text, kind + 2 + message + 1);
  if (text == NULL) return cell->message.data; /* NUL-terminated, valid as long as the error */
  t->error_text = text;
  char* p = text;
  if (kind > 0) {
    memcpy(p, cell->kind.data, kind);
    memcpy(p + kind, ": ", 2);
    p += kind + 2;
  }
  if (message > 0) memcpy(p, cell->message.data, message);
  p[message] = 0;
  return text;
}

const char* TVMGetLastError(void) {
  tvmgo_thread* t = tvmgo_thread_get();
  if (t->python_error != NULL) return NULL;
  return t->error == NULL ? "" : render(t);
}

const char* TVMGetLastBacktrace(void) {
  tvmgo_thread* t = tvmgo_thread_get();
  if (t->python_error != NULL || t->error == NULL) return NULL;
  const TVMFFIErrorCell* cell = tvmgo_error_cell(t->error);
  return cell->backtrace.size == 0 ? NULL : cell->backtrace.data;
}

void TVMThrowLastError(void) {
  const char* text = TVMGetLastError();
  if (text == NULL) text = "a Python exception";
  fprintf(stderr, "tvmgo: TVMThrowLastError: %s\n", text[0] == 0 ? "no error was set" : text);
  abort();
}

/* ---- Python ---- */

static _Atomic(void*) py_inc_ref, py_dec_ref, gil_ensure, gil_release;

int TVMBackendRegisterEnvCAPI(const char* name, void* ptr) {
  if (classic_need(name, "register C API", "the name") != 0 ||
      TVMFFIEnvRegisterCAPI(name, ptr) != 0)
    return -1;
  if (strcmp(name, "Py_IncRef") == 0) atomic_store(&py_inc_ref, ptr);
  if (strcmp(name, "Py_DecRef") == 0) atomic_store(&py_dec_ref, ptr);
  if (strcmp(name, "PyGILState_Ensure") == 0) atomic_store(&gil_ensure, ptr);
  if (strcmp(name, "PyGILState_Release") == 0) atomic_store(&gil_release, ptr);
  return 0;
}

/* Calls Py_IncRef or Py_DecRef with the GIL held. Returns 1 if that was possible. */
static int count_reference(_Atomic(void*) * function, void* py_object) {
  void (*count)(void*) = (void (*)(void*))atomic_load(function);
  int (*ensure)(void) = (int (*)(void))atomic_load(&gil_ensure);
  void (*release)(int) = (void (*)(int))atomic_load(&gil_release);
  if (count == NULL || ensure == NULL || release == NULL) return 0;
  int state = ensure();
  count(py_object);
  release(state);
  return 1;
}

/* The exception that this thread holds a reference to. It differs from the core's python_error only after an ordinary
 * error has replaced that; the next call here then drops the reference. */
static __thread void* held __attribute__((tls_model("initial-exec")));

static void let_go(void) {
  void* old = held;
  held = NULL;
  if (old != NULL) count_reference(&py_dec_ref, old);
}

void TVMAPISetLastPythonError(void* py_object) {
  tvmgo_thread* t = tvmgo_thread_get();
  int counted = py_object != NULL && count_reference(&py_inc_ref, py_object);
  let_go();
  if (counted) held = py_object;
  tvmgo_object_release(tvmgo_error_take());
  t->python_error = py_object;
  tvmgo_errors_raised++;
}

void* TVMGetLastPythonError(void) { return tvmgo_thread_get()->python_error; }

void TVMDropLastPythonError(void) {
  tvmgo_thread_get()->python_error = NULL;
  let_go();
}
