/* Opens the driver in the way the library does. */
#include "card.h"

#include <dlfcn.h>
#include <stdlib.h>

card_driver raw;

void raw_check(CUresult rc, const char* what) {
  if (__builtin_expect(rc != CUDA_SUCCESS, 0)) card_fail("the driver: %s returns %d", what, (int)rc);
}

#define NAME(f) NAME_OF(f)
#define NAME_OF(f) #f

static void* symbol(void* library, const char* name) {
  void* p = dlsym(library, name);
  if (p == NULL) card_fail("the driver has no %s: a driver of CUDA 11 or newer is needed", name);
  return p;
}

void raw_open(int device) {
  const char* name = getenv("TVMGO_CUDA_LIBRARY");
  if (name == NULL || *name == 0) name = "libcuda.so.1";
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) card_fail("open the driver: %s", dlerror());
#define OPEN(f) raw.f = (__typeof__(&f))symbol(library, NAME(f));
  CARD_FUNCTIONS(OPEN)
#undef OPEN
  CUdevice d;
  CUcontext context;
  raw_check(raw.cuInit(0), "cuInit");
  raw_check(raw.cuDeviceGet(&d, device), "cuDeviceGet");
  raw_check(raw.cuDevicePrimaryCtxRetain(&context, d), "cuDevicePrimaryCtxRetain");
  raw_check(raw.cuCtxSetCurrent(context), "cuCtxSetCurrent");
}
