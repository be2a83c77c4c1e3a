// Runs the case that the first argument names; without arguments, lists the cases.
#include "check.h"

test_case *cases;
CUcontext ctx;
CUmodule mod;
const char *ptx;

static char *text_of(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) FAIL("no %s", path);
  char *text = calloc(1, 1 << 20);
  TRUE(fread(text, 1, (1 << 20) - 1, f) > 0);
  fclose(f);
  return text;
}

void begin(void) {
  CU(cuInit(0));
  CU(cuDevicePrimaryCtxRetain(&ctx, 0));
  CU(cuCtxSetCurrent(ctx));
  CU(cuModuleLoadData(&mod, ptx));
}

void end(void) {
  char text[4096];
  fakecuda_release();
  CU(cuCtxSynchronize());
  CU(cuModuleUnload(mod));
  SILENT();
  int n = fakecuda_leaks(0, text, sizeof text);
  if (n) FAIL("left: %s", text);
  CU(cuDevicePrimaryCtxRelease_v2(0));
  SILENT();
  IS(0, fakecuda_leaks(1, NULL, 0));
}

CUfunction kernel(const char *name) {
  CUfunction f;
  CU(cuModuleGetFunction(&f, mod, name));
  return f;
}

int run(const char *name, CUstream on, CUdeviceptr x, float value) {
  int n = N;
  void *two[] = {&x, &n}, *three[] = {&x, &value, &n};
  return cuLaunchKernel(kernel(name), N / 256, 1, 1, 256, 1, 1, 0, on, !strcmp(name, "add_one") ? two : three, NULL);
}

CUdeviceptr memory(void) {
  CUdeviceptr at;
  CU(cuMemAlloc_v2(&at, BYTES));
  return at;
}

CUstream stream(void) {
  CUstream s;
  CU(cuStreamCreate(&s, STREAM_NON_BLOCKING));
  return s;
}

CUevent event(void) {
  CUevent e;
  CU(cuEventCreate(&e, EVENT_DISABLE_TIMING));
  return e;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    for (test_case *c = cases; c; c = c->next) puts(c->name);
    return 0;
  }
  ptx = text_of(argv[2]);
  for (test_case *c = cases; c; c = c->next) {
    if (strcmp(c->name, argv[1])) continue;
    c->run();
    free((void *)ptx);
    return 0;
  }
  FAIL("no case %s", argv[1]);
}
