/* A whole model that tvmgo compiled; ort.py does the same with ONNX Runtime.
 *
 *   model serve MODEL SAMPLE_NS  prints the nanoseconds of a run for each line that it reads, the best of some batches
 *   model once MODEL OUT         runs the model once, and writes the elements of its results to OUT
 *   model first MODEL            nanoseconds from loading the file until the first result
 *   model peak MODEL             most bytes of memory of the process, which loads the model and runs it ten times
 *   model more MODEL             the same less the most before the model is loaded
 *
 * MODEL.so is the library; MODEL.0.bin, MODEL.1.bin, … are the elements of the inputs. */
#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/model.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 5, RUNS = 10, MAX_VALUES = 8, MAX_PATH = 4096 };

typedef struct {
  TVMModuleHandle module;
  TVMArrayHandle inputs[MAX_VALUES];
  int num_inputs;
} model;

static _Noreturn void fail(const char* what) {
  fprintf(stderr, "model: %s: %s\n", what, TVMGetLastError());
  exit(1);
}

static void check(int rc, const char* what) {
  if (rc != 0) fail(what);
}

static int64_t now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000000000 + t.tv_nsec;
}

static size_t bytes_of(const DLTensor* t) {
  size_t n = t->dtype.bits / 8;
  for (int i = 0; i < t->ndim; i++) n *= (size_t)t->shape[i];
  return n;
}

static TVMArrayHandle read_input(const char* path, const TVMGOValueInfo* v) {
  TVMArrayHandle x = NULL;
  check(TVMArrayAlloc(v->shape, v->ndim, v->dtype.code, v->dtype.bits, 1, kDLCPU, 0, &x), "make an input");
  FILE* f = fopen(path, "rb");
  if (f == NULL || fread(x->data, 1, bytes_of(x), f) != bytes_of(x) || fgetc(f) != EOF) {
    fprintf(stderr, "model: %s must have %zu bytes\n", path, bytes_of(x));
    exit(1);
  }
  fclose(f);
  return x;
}

static model load(const char* base) {
  char path[MAX_PATH];
  model m = {0};
  TVMGOModelInfo* info = NULL;
  snprintf(path, sizeof path, "%s.so", base);
  check(TVMGOModelLoad(path, NULL, 0, NULL, &m.module), "load");
  check(TVMGOModelGetInfo(m.module, &info), "describe");
  for (int f = 0; f < info->num_functions; f++) {
    if (strcmp(info->functions[f].name, "main") != 0) continue;
    for (; m.num_inputs < info->functions[f].num_params && m.num_inputs < MAX_VALUES; m.num_inputs++) {
      snprintf(path, sizeof path, "%s.%d.bin", base, m.num_inputs);
      m.inputs[m.num_inputs] = read_input(path, &info->functions[f].params[m.num_inputs]);
    }
  }
  TVMGOModelFreeInfo(info);
  return m;
}

/* Runs a model. Its results are written to out, unless that is NULL. */
static void run(const model* m, FILE* out) {
  TVMArrayHandle results[MAX_VALUES];
  int n = MAX_VALUES;
  check(TVMGOModelRun(m->module, "main", m->inputs, m->num_inputs, results, &n), "run");
  for (int i = 0; i < n; i++) {
    if (out != NULL) fwrite(results[i]->data, 1, bytes_of(results[i]), out);
    TVMArrayFree(results[i]);
  }
}

static int64_t time_of(const model* m, int64_t n) {
  int64_t from = now(CLOCK_MONOTONIC);
  for (int64_t i = 0; i < n; i++) run(m, NULL);
  return now(CLOCK_MONOTONIC) - from;
}

/* Waits until the threads of this process sleep: they spin for a while after a run, and would take the time of the
 * other side. */
static void settle(void) {
  struct timespec pause = {.tv_nsec = 2000000};
  int64_t used = now(CLOCK_PROCESS_CPUTIME_ID), before;
  int left = 100;
  do {
    before = used;
    nanosleep(&pause, NULL);
    used = now(CLOCK_PROCESS_CPUTIME_ID);
  } while (used - before > pause.tv_nsec / 10 && --left > 0);
}

static void serve(const model* m, int64_t sample_ns) {
  char line[64];
  int64_t n = 0;
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (n == 0)
      for (n = 1; time_of(m, n) < sample_ns / BATCHES;) n *= 2;
    int64_t best = INT64_MAX;
    for (int i = 0; i < BATCHES; i++) {
      int64_t took = time_of(m, n);
      if (took < best) best = took;
    }
    settle();
    printf("%.4f\n", (double)best / (double)n);
    fflush(stdout);
  }
}

/* The most memory of this process so far, in bytes. */
static long long peak(void) {
  char line[256];
  long long kib = -1;
  FILE* f = fopen("/proc/self/status", "r");
  while (f != NULL && fgets(line, sizeof line, f) != NULL) sscanf(line, "VmHWM: %lld", &kib);
  if (f == NULL || kib < 0) fail("read VmHWM in /proc/self/status");
  fclose(f);
  return kib << 10;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  int more = strcmp(what, "more") == 0, memory = more || strcmp(what, "peak") == 0, serves = strcmp(what, "serve") == 0;
  int once = strcmp(what, "once") == 0;
  if (argc != (serves || once ? 4 : 3) || !(serves || once || memory || strcmp(what, "first") == 0)) {
    fprintf(stderr, "usage: model serve MODEL SAMPLE_NS | once MODEL OUT | first|peak|more MODEL\n");
    return 2;
  }
  long long before = peak();
  int64_t from = now(CLOCK_MONOTONIC);
  model m = load(argv[2]);
  if (serves) {
    serve(&m, atoll(argv[3]));
  } else if (once) {
    FILE* out = fopen(argv[3], "wb");
    if (out == NULL) fail(argv[3]);
    run(&m, out);
    if (fclose(out) != 0) fail(argv[3]);
  } else if (memory) {
    for (int i = 0; i < RUNS; i++) run(&m, NULL);
    printf("%lld\n", peak() - (more ? before : 0));
  } else {
    run(&m, NULL);
    printf("%lld\n", (long long)(now(CLOCK_MONOTONIC) - from));
  }
  for (int i = 0; i < m.num_inputs; i++) TVMArrayFree(m.inputs[i]);
  TVMModFree(m.module);
  return 0;
}
