// Images, kernels, launches.
#include "check.h"

static char *changed(const char *from, const char *to) {
  const char *at = strstr(ptx, from);
  TRUE(at);
  char *text = calloc(1, strlen(ptx) + strlen(to) + 1);
  memcpy(text, ptx, (size_t)(at - ptx));
  strcat(text, to);
  strcat(text, at + strlen(from));
  return text;
}

static void load_fails(int code, const char *from, const char *to, const char *log_has) {
  char log[256] = "";
  int options[] = {5, 6};
  void *values[] = {log, (void *)sizeof log};
  CUmodule m = (CUmodule)77;
  char *text = changed(from, to);
  IS(code, cuModuleLoadDataEx(&m, text, 2, options, values));
  TRUE(m == (CUmodule)77);
  if (!strstr(log, log_has)) FAIL("log is: %s", log);
  free(text);
}

CASE(bad_images) {
  begin();
  CUmodule m;
  load_fails(CUDA_ERROR_INVALID_PTX, "sm_90", "sm_100", "sm_100");
  load_fails(CUDA_ERROR_INVALID_PTX, "ret;", "SYNTAX_ERROR", "syntax error");
  load_fails(CUDA_ERROR_INVALID_PTX, ".version 8.0", "", ".version");
  load_fails(CUDA_ERROR_INVALID_PTX, ".param .u64 x", ".param x", "add_one");
  IS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&m,
                                                "what is this text, which has more than sixty-four letters in a row?"));
  IS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&m,
      "\x7f" "ELFnot one of ours, and long enough to have a whole header of 64 bytes in it"));
  SILENT();
  end();
}

CASE(older_images_run) {
  begin();
  CUmodule m;
  CUfunction f;
  char *text = changed("sm_90", "sm_75");
  int v;
  CU(cuModuleLoadData(&m, text));
  CU(cuModuleGetFunction(&f, m, "add_one"));
  CU(cuFuncGetAttribute(&v, 5, f));
  IS(75, v);
  CU(cuFuncGetAttribute(&v, 6, f));
  IS(90, v);
  CU(cuModuleUnload(m));
  free(text);
  end();
}

// A fat binary: a header of 16 bytes, then images with headers of 64.
CASE(fat_binaries) {
  begin();
  size_t n = strlen(ptx) + 1;
  char *fat = calloc(1, 16 + 64 + n);
  uint32_t magic = 0xBA55ED50, head = 64;
  uint16_t header = 16, kind = 1;
  uint64_t total = 64 + n, payload = n;
  memcpy(fat, &magic, 4);
  memcpy(fat + 6, &header, 2);
  memcpy(fat + 8, &total, 8);
  memcpy(fat + 16, &kind, 2);
  memcpy(fat + 20, &head, 4);
  memcpy(fat + 24, &payload, 8);
  memcpy(fat + 80, ptx, n);
  CUmodule m;
  CUfunction f;
  CU(cuModuleLoadData(&m, fat));
  CU(cuModuleGetFunction(&f, m, "scale"));
  CU(cuModuleUnload(m));
  fat[16] = 9; // not a valid kind of image
  IS(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&m, fat));
  free(fat);
  end();
}

CASE(functions) {
  begin();
  CUfunction f, old = kernel("fill");
  CUdeviceptr at;
  size_t bytes;
  int v;
  IS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&f, mod, "no_such"));
  SILENT();
  IS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&f, mod, "unregistered"));
  REPORTED("kernel unregistered is in the image, and has no host function");
  CU(cuModuleGetGlobal_v2(&at, &bytes, mod, "counter"));
  IS(16, (int)bytes);
  unsigned zero[4] = {1, 1, 1, 1};
  CU(cuMemcpyDtoH_v2(zero, at, 16));
  IS(0, (int)(zero[0] | zero[3]));
  CU(cuFuncGetAttribute(&v, 0, kernel("shared_sum")));
  IS(256, v);
  CU(cuFuncGetAttribute(&v, 1, kernel("shared_sum")));
  IS(1024, v);
  CU(cuModuleUnload(mod));
  IS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(mod));
  REPORTED("was destroyed before");
  IS(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction(&f, mod, "fill"));
  REPORTED("module 1 was destroyed before");
  IS(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(old, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  REPORTED("function 1 was destroyed before");
  CU(cuModuleLoadData(&mod, ptx));
  CU(cuLaunchKernel(kernel("wait_released"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  fakecuda_release();
  end();
}

CASE(unload_under_work) {
  begin();
  CUmodule m;
  CUfunction f;
  CU(cuModuleLoadData(&m, ptx));
  CU(cuModuleGetFunction(&f, m, "wait_released"));
  fakecuda_set("delay_us", 20000);
  fakecuda_release();
  CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  CU(cuModuleUnload(m));
  REPORTED("kernel wait_released of module 2 is pending");
  end();
}

CASE(launch_limits) {
  begin();
  CUdeviceptr x = memory();
  int n = N;
  float v = 1;
  void *params[] = {&x, &v, &n};
  CUfunction f = kernel("fill");
  static const unsigned bad[][6] = {{0, 1, 1, 1, 1, 1}, {1, 65536, 1, 1, 1, 1}, {1, 1, 65536, 1, 1, 1}, {1, 1, 1, 1025,
      1, 1},
                                    {1, 1, 1, 1, 1, 65}, {1, 1, 1, 1, 0, 1}, {1, 1, 1, 512, 4, 1}, {2147483648u, 1, 1,
                                        1, 1, 1}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const unsigned *b = bad[i];
    IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, b[0], b[1], b[2], b[3], b[4], b[5], 0, NULL, params, NULL));
    REPORTED("kernel fill");
  }
  IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 49153, NULL, params, NULL));
  REPORTED("cuFuncSetAttribute allows more");
  IS(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(f, 8, 232449));
  CU(cuFuncSetAttribute(f, 8, 232448));
  CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 232448, NULL, params, NULL));
  IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  REPORTED("without its 3 parameters");
  struct { CUdeviceptr x; float v; int n; } buffer = {x, 2, N};
  size_t size = sizeof buffer;
  void *extra[] = {(void *)1, &buffer, (void *)2, &size, NULL};
  CU(cuLaunchKernel(f, 4, 1, 1, 256, 1, 1, 0, NULL, NULL, extra));
  float back[N];
  CU(cuMemcpyDtoH_v2(back, x, BYTES));
  TRUE(back[N - 1] == 2);
  CUlaunchAttribute cluster = {.id = LAUNCH_CLUSTER, .value.cluster = {2, 1, 1}};
  CUlaunchConfig c = {{4, 1, 1}, {256, 1, 1}, 0, NULL, &cluster, 1};
  CU(cuLaunchKernelEx(&c, f, params, NULL));
  cluster.value.cluster.x = 3;
  IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(&c, f, params, NULL));
  REPORTED("clusters of (3, 1, 1)");
  CUlaunchAttribute together = {.id = LAUNCH_COOPERATIVE, .value.cooperative = 1};
  CUlaunchConfig most = {{132 * 8, 1, 1}, {256, 1, 1}, 0, NULL, &together, 1};
  CU(cuLaunchKernelEx(&most, f, params, NULL));
  most.grid[0]++;
  IS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, cuLaunchKernelEx(&most, f, params, NULL));
  CU(cuMemFree_v2(x));
  end();
}

CASE(parameters_are_copied_at_the_launch) {
  begin();
  CUstream s = stream();
  CUdeviceptr x = memory();
  float v = 3, back[N];
  int n = N;
  void *params[] = {&x, &v, &n};
  CU(cuLaunchKernel(kernel("wait_released"), 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
  CU(cuLaunchKernel(kernel("fill"), 4, 1, 1, 256, 1, 1, 0, s, params, NULL));
  v = 4;
  n = 0;
  fakecuda_release();
  CU(cuMemcpyDtoHAsync_v2(back, x, BYTES, s));
  TRUE(back[0] == 3 && back[N - 1] == 3);
  CU(cuMemFree_v2(x));
  CU(cuStreamDestroy_v2(s));
  end();
}

CASE(names_of_errors) {
  const char *text;
  CU(cuGetErrorName(700, &text));
  TRUE(!strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
  CU(cuGetErrorString(2, &text));
  TRUE(!strcmp(text, "out of memory"));
  IS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(12345, &text));
}
