/* Loads a whole model with its parameters, lists its functions, and runs one from two threads with different batch
 * sizes.
 *
 *   deploy_model MODEL.so PARAMS IN.npy OUT.npy [FUNCTION]
 *
 * IN and OUT are float32: the first input of the function and what it must return. The first dimension is the batch.
 * The program needs two headers and the library (-ltvmgo). Functions return 0, or -1 with the reason in
 * TVMGetLastError. */
#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/model.h>

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 100, MAX_NDIM = 8 };

/* ---- arrays in NumPy's format ---- */

typedef struct {
  float* data;
  int64_t shape[MAX_NDIM];
  int ndim;
} array;

/* The elements of the first `rows` of a. */
static size_t elements(const array* a, int64_t rows) {
  size_t n = (size_t)rows;
  for (int i = 1; i < a->ndim; i++) n *= (size_t)a->shape[i];
  return n;
}

/* Reads float32 in C order. */
static int read_npy(const char* path, array* out) {
  unsigned char magic[10];
  char header[1024] = "";
  FILE* f = fopen(path, "rb");
  int good = f != NULL && fread(magic, 1, sizeof magic, f) == sizeof magic && memcmp(magic, "\x93NUMPY\1", 7) == 0;
  size_t size = good ? (size_t)magic[8] | (size_t)magic[9] << 8 : 0;
  good = good && size < sizeof header && fread(header, 1, size, f) == size;
  char* p = good ? strstr(header, "'shape': (") : NULL;
  good = p != NULL && strstr(header, "'<f4'") != NULL && strstr(header, "'fortran_order': False") != NULL;
  if (good) p += strlen("'shape': (");
  while (good && *p >= '0' && *p <= '9' && out->ndim < MAX_NDIM) {
    out->shape[out->ndim++] = strtoll(p, &p, 10);
    p += strspn(p, ", ");
  }
  size_t n = good && out->ndim > 0 ? elements(out, out->shape[0]) : 0;
  out->data = n > 0 ? malloc(n * sizeof(float)) : NULL;
  good = out->data != NULL && fread(out->data, sizeof(float), n, f) == n;
  if (f != NULL) fclose(f);
  if (!good) fprintf(stderr, "%s: a NumPy file with float32 in C order and a first dimension is needed\n", path);
  return good ? 0 : -1;
}

/* ---- calls ---- */

/* What a thread does: all threads use the same model. */
typedef struct {
  TVMModuleHandle model;
  const TVMGOFunctionInfo* function;
  const char* input; /* the name of its first parameter that is not bound */
  const array *in, *out;
  int64_t rows;
  int failed;
} work;

/* Calls the function with the first rows of the input, and checks the result. */
static int call(const work* w) {
  int64_t shape[MAX_NDIM];
  size_t in_bytes = elements(w->in, w->rows) * sizeof(float), n = elements(w->out, w->rows);
  TVMArrayHandle x = NULL, y = NULL;
  int num_y = 1, rc = -1;
  float* got = malloc(n * sizeof(float));
  memcpy(shape, w->in->shape, sizeof shape);
  shape[0] = w->rows;
  if (got == NULL || TVMArrayAlloc(shape, w->in->ndim, kDLFloat, 32, 1, kDLCPU, 0, &x) != 0 ||
      TVMArrayCopyFromBytes(x, w->in->data, in_bytes) != 0 ||
      TVMGOModelRunNamed(w->model, w->function, &w->input, &x, 1, &y, &num_y) != 0 ||
      TVMArrayCopyToBytes(y, got, n * sizeof(float)) != 0) {
    fprintf(stderr, "%s\n", TVMGetLastError()); /* the error of this thread */
  } else {
    rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
      if (!(fabsf(got[i] - w->out->data[i]) <= 1e-5f)) {
        fprintf(stderr, "wrong result: element %zu is %g, not %g\n", i, got[i], w->out->data[i]);
        rc = -1;
      }
  }
  TVMArrayFree(x);
  TVMArrayFree(y);
  free(got);
  return rc;
}

static void* run_thread(void* arg) {
  work* w = arg;
  for (int i = 0; i < CALLS && !w->failed; i++) w->failed = call(w) != 0;
  return NULL;
}

static int run(TVMModuleHandle model, const TVMGOModelInfo* info, const char* function, const array* in,
               const array* out) {
  const TVMGOFunctionInfo* f = NULL;
  const char* input = NULL;
  for (int i = 0; i < info->num_functions; i++) {
    char text[1024];
    TVMGOFunctionInfoText(&info->functions[i], text, sizeof text);
    puts(text);
    if (strcmp(info->functions[i].name, function) == 0) f = &info->functions[i];
  }
  for (int i = 0; f != NULL && i < f->num_params; i++)
    if (input == NULL && !f->params[i].bound) input = f->params[i].name;
  if (input == NULL) {
    fprintf(stderr, "the model has no function \"%s\" with an input\n", function);
    return -1;
  }

  pthread_t threads[2];
  work works[2] = {{model, f, input, in, out, 1, 0}, {model, f, input, in, out, in->shape[0], 0}};
  int rc = 0, started = 0;
  while (started < 2 && pthread_create(&threads[started], NULL, run_thread, &works[started]) == 0) started++;
  for (int i = 0; i < started; i++) {
    pthread_join(threads[i], NULL);
    if (works[i].failed) rc = -1;
  }
  if (started < 2 || rc != 0) return -1;
  for (int i = 0; i < 2; i++)
    printf("thread %d: %d calls with a batch of %lld, and all are right\n", i + 1, CALLS, (long long)works[i].rows);

  TVMGOModelMemory memory;
  if (TVMGOModelGetMemory(model, &memory) != 0) {
    fprintf(stderr, "%s\n", TVMGetLastError());
    return -1;
  }
  printf("memory: %lld bytes of weights for both threads\n", (long long)memory.weights);
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 5 || argc > 6) {
    fprintf(stderr, "usage: %s MODEL.so PARAMS IN.npy OUT.npy [FUNCTION]\n", argv[0]);
    return 2;
  }
  array in = {0}, out = {0};
  TVMModuleHandle model = NULL;
  TVMGOModelInfo* info = NULL;
  int rc = -1;
  if (read_npy(argv[3], &in) == 0 && read_npy(argv[4], &out) == 0) {
    if (TVMGOModelLoad(argv[1], NULL, 0, argv[2], &model) != 0 || TVMGOModelGetInfo(model, &info) != 0)
      fprintf(stderr, "%s\n", TVMGetLastError());
    else if (in.shape[0] != out.shape[0])
      fprintf(stderr, "%s and %s have other batches\n", argv[3], argv[4]);
    else
      rc = run(model, info, argc > 5 ? argv[5] : "forward", &in, &out);
  }
  TVMGOModelFreeInfo(info);
  TVMModFree(model);
  free(in.data);
  free(out.data);
  return rc == 0 ? 0 : 1;
}
