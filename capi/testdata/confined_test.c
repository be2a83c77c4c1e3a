/* Loads a file COUNT times, and calls a function of each module: confined_test COUNT FILE DIRECTORY FUNCTION, with the
 * files of sample.h in the directory. Prints "ok", or the message of the error. */
#include <tvm/runtime/c_runtime_api.h>

#include "sample.h"

int failures;

enum { LOADS_MOST = 4 };

static int call(TVMModuleHandle module, sample* s) {
  DLTensor t[MAX_INPUTS + 1];
  TVMFunctionHandle f = NULL;
  TVMValue args[MAX_INPUTS + 1], ret;
  int codes[MAX_INPUTS + 1], ret_code;
  if (TVMModGetFunction(module, s->name, 0, &f) != 0 || f == NULL) return -1;
  for (int i = 0; i <= s->n; i++) {
    npy* a = &s->value[i];
    t[i] = (DLTensor){.data = a->data, .device = {kDLCPU, 0}, .ndim = a->ndim, .dtype = {kDLFloat, 32, 1},
        .shape = a->shape};
    args[i].v_handle = &t[i], codes[i] = kTVMDLTensorHandle;
  }
  forget(s);
  int rc = TVMFuncCall(f, args, codes, s->n + 1, &ret, &ret_code);
  if (rc == 0) compare(s, "the classic ABI");
  TVMFuncFree(f);
  return rc;
}

int main(int argc, char** argv) {
  TVMModuleHandle modules[LOADS_MOST] = {NULL};
  int n = argc < 5 ? 0 : atoi(argv[1]), rc = 0;
  sample s;
  if (n < 1 || n > LOADS_MOST || !read_sample(&s, argv[3], argv[4])) return 2;
  for (int i = 0; i < n && rc == 0; i++) rc = TVMModLoadFromFile(argv[2], "", &modules[i]);
  for (int i = 0; i < n && rc == 0; i++) rc = call(modules[i], &s);
  if (rc != 0) puts(TVMGetLastError());
  for (int i = 0; i < n; i++)
    if (modules[i] != NULL) TVMModFree(modules[i]);
  if (rc == 0 && failures == 0) puts("ok");
  return rc != 0 || failures != 0;
}
