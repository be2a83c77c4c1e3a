/* A program whose functions and data have the names of internal symbols of the static library. The two must not
 * conflict. */
#include "vadd.h"

static int calls;

#define OWN(name) \
  int name(void); \
  int name(void) { return ++calls; }
OWN(cuInit)
OWN(cuCtxCreate_v2)
OWN(cuMemAlloc_v2)
OWN(clCreateContext)
OWN(clGetPlatformIDs)
OWN(vkCreateInstance)
OWN(process)
OWN(crosscall2)
OWN(x_cgo_init)
OWN(x_cgo_inittls)
OWN(x_cgo_thread_start)
OWN(_cgo_panic)
OWN(_cgo_init)
OWN(_cgo_wait_runtime_init_done)
OWN(fatalf)
OWN(tvmgo_raise)
OWN(tvmgo_raise_oom)
OWN(tvmgo_loaded_look)
OWN(tvmgo_cpu_device)
OWN(runtime_init)

int main(int argc, char** argv) {
  if (add_and_enter(argc, argv) != 0) return 1;
  if (calls != 0) return printf("the library called this program's functions %d times\n", calls), 1;
  if (cuInit() != 1 || clCreateContext() != 2 || process() != 3) return printf("other functions took these names\n"), 1;
  puts("ok");
  return 0;
}
