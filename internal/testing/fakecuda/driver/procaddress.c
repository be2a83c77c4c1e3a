// cuGetProcAddress: the entry point of a name without its version, for the version of the caller's headers.
#include <dlfcn.h>
#include <stdio.h>

#include "fake.h"

// Names whose later form came with a later version; the others have one form each.
static const struct { const char *name, *form; int since; } forms[] = {
    {"cuCtxCreate", "cuCtxCreate_v2", 3020},
    {"cuEventElapsedTime", "cuEventElapsedTime_v2", 12080},
    {"cuEventElapsedTime", "cuEventElapsedTime", 2000},
    {"cuGraphInstantiate", "cuGraphInstantiateWithFlags", 12000},
    {"cuGraphInstantiate", "cuGraphInstantiate_v2", 11000},
    {"cuGraphInstantiate", "cuGraphInstantiate", 10000},
    {"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v3", 12030},
    {"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v2", 11030},
    {"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo", 10010},
    {"cuDeviceGetUuid", "cuDeviceGetUuid_v2", 11040},
    {"cuDeviceGetUuid", "cuDeviceGetUuid", 9020},
    {"cuGetProcAddress", "cuGetProcAddress_v2", 12000},
};

static void *self(void) {
  Dl_info info;
  return dladdr((void *)self, &info) ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
}

static int find(const char *symbol, void **out, int version) {
  void *library = self();
  *out = NULL;
  bool listed = false;
  for (size_t i = 0; i < sizeof forms / sizeof *forms && !*out; i++) {
    if (strcmp(forms[i].name, symbol)) continue;
    listed = true;
    if (version >= forms[i].since) *out = dlsym(library, forms[i].form);
  }
  char later[128];
  snprintf(later, sizeof later, "%s_v2", symbol);
  if (!listed && strncmp(symbol, "cu", 2) == 0) {
    *out = dlsym(library, later);
    if (!*out) *out = dlsym(library, symbol);
  }
  if (library) dlclose(library);
  return listed && !*out ? 2 : !*out; // 0 found, 1 unknown, 2 newer than the version
}

API CUresult cuGetProcAddress(const char *symbol, void **out, int version, uint64_t flags) {
  ENTER(F_NOINIT);
  if (!symbol || !out || flags > 2) return CUDA_ERROR_INVALID_VALUE;
  return find(symbol, out, version) ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

API CUresult cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags, int *status) {
  ENTER(F_NOINIT);
  if (!symbol || !out || flags > 2) return CUDA_ERROR_INVALID_VALUE;
  int answer = find(symbol, out, version);
  if (status) *status = answer;
  return answer && !status ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
