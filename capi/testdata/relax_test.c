/* Runs Relax executables through both C ABIs, tvmgo/model.h and tvmgo.hpp, and compares with what Apache TVM computed.
 *   relax_test THREADS (LIBRARY CASES)...
 * THREADS above 1: that many threads share one session of each library. CASES is a file of calls: int64 values; a text
 * or the elements of a tensor are their size and bytes, a NUL after them and as many more as fill eight bytes. */
#include <pthread.h>

#include "relax_test.h"

int failures;

typedef struct {
  const char *at, *end;
} reader;

static int64_t number(reader* r) {
  int64_t n = 0;
  if (r->end - r->at < 8) {
    FAIL("the file of cases is cut short");
    exit(1);
  }
  memcpy(&n, r->at, 8);
  r->at += 8;
  return n;
}

static const char* bytes(reader* r, size_t* size) {
  *size = (size_t)number(r);
  const char* b = r->at;
  r->at += (*size + 8) / 8 * 8;
  return b;
}

static DLDataType dtype(reader* r) {
  int64_t code = number(r), bits = number(r), lanes = number(r);
  return (DLDataType){(uint8_t)code, (uint8_t)bits, (uint16_t)lanes};
}

static const int64_t* dims(reader* r, int64_t* n) {
  *n = number(r);
  const int64_t* d = (const int64_t*)r->at;
  r->at += 8 * *n;
  return d;
}

static value read_value(reader* r) {
  value v = {.kind = number(r)};
  switch (v.kind) {
    case V_TENSOR:
      v.dtype = dtype(r);
      v.dims = dims(r, &v.n);
      v.bytes = bytes(r, &v.nbytes);
      break;
    case V_TUPLE:
      v.n = number(r);
      v.items = calloc((size_t)v.n + 1, sizeof *v.items);
      for (int64_t i = 0; i < v.n; i++) v.items[i] = read_value(r);
      break;
    case V_SHAPE: v.dims = dims(r, &v.n); break;
    case V_INT:
    case V_BOOL: v.i = number(r); break;
    case V_FLOAT: {
      int64_t bits = number(r);
      memcpy(&v.f, &bits, 8);
      break;
    }
    case V_TEXT: v.bytes = bytes(r, &v.nbytes); break;
    case V_DTYPE: v.dtype = dtype(r); break;
  }
  return v;
}

static void free_value(value* v) {
  for (int64_t i = 0; v->kind == V_TUPLE && i < v->n; i++) free_value(&v->items[i]);
  free(v->items);
}

static call_case read_case(reader* r) {
  size_t size;
  call_case c = {.function = bytes(r, &size)};
  c.fails = number(r);
  c.num_inputs = number(r);
  if (c.num_inputs > 16) abort();
  for (int64_t i = 0; i < c.num_inputs; i++) {
    c.inputs[i] = read_value(r);
    c.after[i] = read_value(r);
  }
  c.output = read_value(r);
  return c;
}

/* Apache TVM computed the results with code for x86-64. Code for another machine rounds sums differently. */
static int is_near(const value* want, const DLTensor* got, const void* data) {
#ifdef __x86_64__
  const float most = 0;
#else
  const float most = 1e-4f;
#endif
  if (got->dtype.code != kDLFloat || got->dtype.bits != 32) return 0;
  for (size_t i = 0; i < want->nbytes; i += sizeof(float)) {
    float a, b;
    memcpy(&a, (const char*)want->bytes + i, sizeof a);
    memcpy(&b, (const char*)data + i, sizeof b);
    const float size = a < 0 ? -a : a, off = a < b ? b - a : a - b;
    if (!(off <= most * (size < 1 ? 1 : size)) || most == 0) return 0;
  }
  return 1;
}

int same_tensor(const value* want, const DLTensor* got, const void* data, const char* what) {
  if (memcmp(&got->dtype, &want->dtype, sizeof got->dtype) != 0 || got->ndim != want->n ||
      memcmp(got->shape, want->dims, 8 * (size_t)want->n) != 0) {
    FAIL("%s: the type or the shape differs", what);
    return 0;
  }
  if (memcmp(data, want->bytes, want->nbytes) != 0 && !is_near(want, got, data)) {
    FAIL("%s: the elements differ", what);
    return 0;
  }
  return 1;
}

typedef struct {
  pthread_t thread;
  void* session;
  const call_case* cases;
  int64_t n;
  int first;
  void (*run)(void*, const call_case*);
} worker;

static void* work(void* arg) {
  worker* w = arg;
  for (int i = 0; i < 8; i++) w->run(w->session, &w->cases[(w->first + i) % w->n]);
  return NULL;
}

void run_cases(void* session, const call_case* cases, int64_t n, int threads, void (*run)(void*, const call_case*)) {
  if (threads <= 1) {
    for (int64_t i = 0; i < n; i++) run(session, &cases[i]);
    return;
  }
  worker* all = calloc((size_t)threads, sizeof *all);
  for (int i = 0; i < threads; i++) {
    all[i] = (worker){.session = session, .cases = cases, .n = n, .first = i, .run = run};
    if (pthread_create(&all[i].thread, NULL, work, &all[i]) != 0) abort();
  }
  for (int i = 0; i < threads; i++) pthread_join(all[i].thread, NULL);
  free(all);
}

static void run_file(const char* library, const char* path, int threads) {
  FILE* f = fopen(path, "rb");
  NEED(f != NULL);
  fseek(f, 0, SEEK_END);
  size_t size = (size_t)ftell(f);
  rewind(f);
  char* all = malloc(size + 8);
  CHECK(fread(all, 1, size, f) == size);
  fclose(f);
  reader r = {all, all + size};
  int64_t n = number(&r);
  call_case* cases = calloc((size_t)n + 1, sizeof *cases);
  for (int64_t i = 0; i < n; i++) cases[i] = read_case(&r);
  CHECK(r.at == r.end);
  int before = failures;
  run_classic(library, cases, n, threads);
  run_ffi(library, cases, n, threads);
  run_model(library, cases, n, threads);
  run_hpp(library, cases, n, threads);
  if (failures != before) printf("these failures are of %s\n", library);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = 0; k < cases[i].num_inputs; k++) free_value(&cases[i].inputs[k]), free_value(&cases[i].after[k]);
    free_value(&cases[i].output);
  }
  free(cases);
  free(all);
}

int main(int argc, char** argv) {
  if (argc < 4 || argc % 2 != 0) return 2;
  register_globals();
  for (int i = 2; i < argc; i += 2) run_file(argv[i], argv[i + 1], atoi(argv[1]));
  return report();
}
