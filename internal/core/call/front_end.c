/* Asks the interpreter of a front end whether a signal has arrived that it must handle. */
#include "call/call.h"

#include <string.h>

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
