/* Loads a compiled module and calls a function f(A, B, C) that adds two float32 vectors; checks the result and measures
 * a call.
 *
 *   deploy_c MODULE [FUNCTION] [LENGTH] [DEVICE]      DEVICE is cpu, cuda:0, opencl:1, …
 *
 * An application needs only this header and the library (-ltvmgo). Every function returns 0, or -1 with the reason in
 * TVMGetLastError. */
#include <tvm/runtime/c_runtime_api.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES = 101, SAMPLE_NS = 200000 };

/* Everything that must be freed. */
typedef struct {
  TVMModuleHandle module;
  TVMFunctionHandle function;
  TVMArrayHandle a, b, c;
  float* host; /* memory of a, b and c */
  DLDevice device;
} program;

/* Parses "cuda:1"; the default index is 0. */
static int parse_device(const char* text, DLDevice* out) {
  static const struct {
    const char* name;
    DLDeviceType type;
  } known[] = {{"cpu", kDLCPU}, {"cuda", kDLCUDA}, {"opencl", kDLOpenCL}, {"vulkan", kDLVulkan}};
  size_t n = strcspn(text, ":");
  char* end = "";
  long id = text[n] == 0 ? 0 : strtol(text + n + 1, &end, 10);
  if (*end != 0 || id < 0 || id > 1000) return -1;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strlen(known[i].name) == n && strncmp(known[i].name, text, n) == 0) {
      *out = (DLDevice){known[i].type, (int32_t)id};
      return 0;
    }
  return -1;
}

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, TVMGetLastError());
  return -1;
}

static int load(program* p, const char* path, const char* name) {
  if (TVMModLoadFromFile(path, "so", &p->module) != 0) return failed("cannot load the module");
  if (TVMModGetFunction(p->module, name, 0, &p->function) != 0) return failed("cannot look up the function");
  if (p->function == NULL) { /* a missing function is not an error of TVMModGetFunction */
    fprintf(stderr, "%s has no function \"%s\": see `tvmgo inspect %s`\n", path, name, path);
    return -1;
  }
  return 0;
}

static int make_arrays(program* p, int64_t n) {
  size_t bytes = (size_t)n * sizeof(float);
  TVMArrayHandle* arrays[] = {&p->a, &p->b, &p->c};
  for (int i = 0; i < 3; i++)
    if (TVMArrayAlloc(&n, 1, kDLFloat, 32, 1, (int)p->device.device_type, p->device.device_id, arrays[i]) != 0)
      return failed("cannot allocate an array");
  p->host = malloc(3 * bytes + 1);
  if (p->host == NULL) {
    fprintf(stderr, "cannot allocate %zu bytes\n", 3 * bytes);
    return -1;
  }
  float *a = p->host, *b = a + n;
  for (int64_t i = 0; i < n; i++) {
    a[i] = (float)(i % 1000);
    b[i] = 0.5f * (float)(i % 100);
  }
  if (TVMArrayCopyFromBytes(p->a, a, bytes) != 0 || TVMArrayCopyFromBytes(p->b, b, bytes) != 0)
    return failed("cannot fill an array");
  return 0;
}

static int call(program* p) {
  TVMValue args[3], result;
  int codes[3] = {kTVMNDArrayHandle, kTVMNDArrayHandle, kTVMNDArrayHandle}, result_code;
  args[0].v_handle = p->a;
  args[1].v_handle = p->b;
  args[2].v_handle = p->c;
  if (TVMFuncCall(p->function, args, codes, 3, &result, &result_code) != 0) return failed("the call failed");
  return 0;
}

/* Calls on a device are only queued; this waits for them. */
static int finish(program* p) {
  return TVMSynchronize((int)p->device.device_type, p->device.device_id, NULL) == 0 ? 0 : failed("the work failed");
}

static int check(program* p, int64_t n) {
  const float *a = p->host, *b = a + n;
  float* c = p->host + 2 * n;
  if (TVMArrayCopyToBytes(p->c, c, (size_t)n * sizeof(float)) != 0) return failed("cannot read the result");
  for (int64_t i = 0; i < n; i++)
    if (!(fabsf(c[i] - (a[i] + b[i])) <= 1e-5f)) {
      fprintf(stderr, "wrong result: element %lld is %g, not %g\n", (long long)i, c[i], a[i] + b[i]);
      return -1;
    }
  return 0;
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int ascending(const void* x, const void* y) {
  double a = *(const double*)x, b = *(const double*)y;
  return (a > b) - (a < b);
}

/* Measures the median time of a call. A sample has so many calls that the time to read the clock is negligible. */
static int measure(program* p, double* median_ns, int* calls) {
  double samples[SAMPLES], begin = now_ns();
  if (call(p) != 0 || finish(p) != 0) return -1;
  double once = now_ns() - begin;
  *calls = once >= SAMPLE_NS ? 1 : once < 20 ? 10000 : (int)(SAMPLE_NS / once);
  for (int i = 0; i < SAMPLES; i++) {
    begin = now_ns();
    for (int k = 0; k < *calls; k++)
      if (call(p) != 0) return -1;
    if (finish(p) != 0) return -1;
    samples[i] = (now_ns() - begin) / *calls;
  }
  qsort(samples, SAMPLES, sizeof *samples, ascending);
  *median_ns = samples[SAMPLES / 2];
  return 0;
}

static int run(program* p, const char* path, const char* name, int64_t n) {
  double ns;
  int calls;
  if (load(p, path, name) != 0 || make_arrays(p, n) != 0 || call(p) != 0 || check(p, n) != 0 ||
      measure(p, &ns, &calls) != 0)
    return -1;
  printf("%s of %s added %lld elements, and all are right\n", name, path, (long long)n);
  printf("time of a call: %.3f us (median of %d samples of %d calls)\n", ns / 1e3, SAMPLES, calls);
  return 0;
}

/* Frees everything. The functions accept NULL handles. */
static int close_all(program* p) {
  int rc = 0;
  TVMArrayHandle arrays[] = {p->a, p->b, p->c};
  for (int i = 0; i < 3; i++)
    if (TVMArrayFree(arrays[i]) != 0) rc = failed("cannot free an array");
  if (TVMFuncFree(p->function) != 0) rc = failed("cannot free the function");
  if (TVMModFree(p->module) != 0) rc = failed("cannot free the module");
  free(p->host);
  return rc;
}

int main(int argc, char** argv) {
  program p = {0};
  const char* name = argc > 2 ? argv[2] : "add";
  char* end = "";
  errno = 0;
  long long n = argc > 3 ? strtoll(argv[3], &end, 10) : 1024;
  if (argc < 2 || argc > 5 || errno != 0 || *end != 0 || n < 1 || n > 1 << 28 ||
      parse_device(argc > 4 ? argv[4] : "cpu", &p.device) != 0) {
    fprintf(stderr,
            "usage: %s MODULE [FUNCTION] [LENGTH from 1 to %d] [DEVICE: cpu, cuda:0, opencl:0, vulkan:0, ...]\n",
            argv[0], 1 << 28);
    return 2;
  }
  int rc = run(&p, argv[1], name, n);
  if (close_all(&p) != 0) rc = -1;
  return rc == 0 ? 0 : 1;
}
