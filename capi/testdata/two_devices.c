/* Whether there are two devices of a type: two_devices TYPE; says why not. */
#include <tvm/runtime/c_runtime_api.h>

#include "check.h"

int failures;

int main(int argc, char** argv) {
  int64_t shape = 1;
  if (argc != 2) return 2;
  for (int id = 0; id < 2; id++) {
    TVMArrayHandle a = NULL;
    if (TVMArrayAlloc(&shape, 1, kDLFloat, 32, 1, atoi(argv[1]), id, &a) != 0) return puts(TVMGetLastError()), 1;
    TVMArrayFree(a);
  }
  return report();
}
