/* Signatures, bound parameters and accounts of sessions, also while other threads call and bind. */
#include "vm/ctest/programs.h"
#include "vm/session.h"
#include "vm/signature.h"

#include <pthread.h>

static const DLDevice cpu = {kDLCPU, 0};
static const DLDataType f32 = {kDLFloat, 32, 1};

static TVMFFIAny vector(int64_t n) {
  return tvmgo_any_object(tvmgo_tensor_new(&n, 1, f32, cpu, NULL));
}

static int64_t length(const TVMFFIAny* v) {
  return v->type_index == kTVMFFITensor ? tvmgo_tensor_dl(v->v_obj)->shape[0] : -1;
}

/* main(x, v, w) = [x, v, w], where v is a vector of two elements; other(v) = v without a type */
static tvmgo_vm_program* functions_of_tests(void) {
  assembly a;
  begin_assembly(&a);
  int64_t list = add_function(&a, 0, "test.list", 0, 0);
  int64_t f = add_function(&a, 1, "main", 3, 4);
  add_param(&a, "x");
  add_param(&a, "v");
  add_param(&a, "w");
  EMIT_CALL(&a, f, 3, list, 0, 1, 2);
  EMIT_RET(&a, f, 3);
  int64_t other = add_function(&a, 1, "other", 1, 1);
  add_param(&a, "v");
  EMIT_RET(&a, other, 0);
  return tvmgo_vm_program_new(&a.d);
}

static int describe(tvmgo_vm_program* p, int64_t dim) {
  static const tvmgo_vm_dim dims[] = {{2, 0, 1}};
  const tvmgo_vm_type types[] = {
      {.ndim = -1},
      {.kind = TVMGO_VM_TENSOR, .ndim = 1, .dtype = f32, .num_dims = 1, .dims = dim, .size = 1},
      {.ndim = -1},
      {.kind = TVMGO_VM_TUPLE, .ndim = -1, .fields = 4, .num_fields = 1},
      {.kind = TVMGO_VM_NUMBER, .ndim = -1, .dtype = {kDLInt, 64, 1}}};
  const tvmgo_vm_signatures s = {(int64_t[]){-1, 0, -1}, types, 5, dims, 1, "2", 1};
  return tvmgo_vm_program_describe(p, &s);
}

static tvmgo_module* session_of(tvmgo_vm_program* p) {
  tvmgo_module* m = tvmgo_vm_session_new(p, NULL);
  return CHECK_OK(m == NULL) ? m : NULL;
}

static int of_module(tvmgo_module* m, const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* f = NULL;
  *result = tvmgo_any_none();
  if (tvmgo_module_get_function(m, name, strlen(name), 0, &f) != 0) return -1;
  if (f == NULL) return tvmgo_raise(TVMGO_NOT_FOUND_ERROR, "no function %s", name);
  int rc = tvmgo_function_call(f, args, n, result);
  tvmgo_object_release(f);
  return rc;
}
#define ARGS(...) (const TVMFFIAny[]){__VA_ARGS__}, (int32_t)(sizeof((TVMFFIAny[]){__VA_ARGS__}) / sizeof(TVMFFIAny))
#define OF(m, name, result, ...) of_module(m, name, ARGS(__VA_ARGS__), result)

static int plainly(tvmgo_module* m, const char* name, const TVMFFIAny* args, int32_t n) {
  TVMFFIAny r;
  int rc = of_module(m, name, args, n, &r);
  tvmgo_any_clear(&r);
  return rc;
}
#define DO(m, name, ...) plainly(m, name, ARGS(__VA_ARGS__))

/* Binds values, which are consumed, to one or two names (NULL: one). */
static int bind(tvmgo_module* m, const char* name, TVMFFIAny v, const char* second, TVMFFIAny w) {
  TVMFFIObject* map = tvmgo_map_new(kTVMFFIMap);
  TVMFFIAny key = raw(name), next = raw(second);
  CHECK_OK(tvmgo_map_set(&map, &key, &v));
  if (second != NULL) CHECK_OK(tvmgo_map_set(&map, &next, &w));
  tvmgo_any_clear(&v);
  tvmgo_any_clear(&w);
  int rc = DO(m, "tvmgo.bind", tvmgo_any_object(map));
  tvmgo_object_release(map);
  return rc;
}

static void test_signature(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny v;
  tvmgo_vm_program* p = functions_of_tests();
  CHECK_FAILS(describe(p, 1), TVMGO_VALUE_ERROR, "out of its table");
  CHECK_OK(describe(p, 0));
  CHECK_OK(describe(p, 0)); /* replaces */
  tvmgo_module* m = session_of(p);
  CHECK_OK(of_module(m, "tvmgo.functions", NULL, 0, &v));
  CHECK_STR(stringify(v), "[\"main\",\"other\"]");
  tvmgo_any_clear(&v);
  CHECK_OK(OF(m, "tvmgo.signature", &v, raw("main")));
  const char* text = stringify(v);
  CHECK(strstr(text, "\"kind\":\"tensor\",\"dtype\":\"float32\",\"ndim\":1,\"shape\":[2],\"dims\":[\"2\"]"));
  CHECK(strstr(text, "\"device\":-1"));
  TVMFFIAny key = raw("result");
  text = stringify(*tvmgo_map_get(v.v_obj, &key));
  CHECK(strstr(text, "\"kind\":\"number\",\"dtype\":\"int64\""));
  CHECK(strstr(text, "\"kind\":\"tuple\""));
  tvmgo_any_clear(&v);
  CHECK_FAILS(DO(m, "tvmgo.signature", raw("mani")), TVMGO_VALUE_ERROR, "did you mean main?");
  tvmgo_object_release(m);
  tvmgo_vm_program_release(p);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

static void test_bound_parameters(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny v, none = tvmgo_any_none();
  tvmgo_vm_program* p = functions_of_tests();
  CHECK_OK(describe(p, 0));
  tvmgo_module* m = session_of(p);
  CHECK_FAILS(bind(m, "v", vector(2), NULL, none), TVMGO_RUNTIME_ERROR, "call vm_initialization");
  CHECK_OK(DO(m, "vm_initialization", tvmgo_any_int(kDLCPU), tvmgo_any_int(0), tvmgo_any_int(2)));
  CHECK_FAILS(bind(m, "v", vector(3), NULL, none), TVMGO_VALUE_ERROR, "got (3,) of float32");
  CHECK_FAILS(bind(m, "w", vector(2), "u", vector(1)), TVMGO_VALUE_ERROR, "no function has a parameter \"u\"");
  CHECK_FAILS(DO(m, "main", tvmgo_any_int(1)), TVMGO_TYPE_ERROR, "missing: v, w");
  CHECK_OK(bind(m, "w", vector(7), "v", vector(2)));
  CHECK_OK(OF(m, "main", &v, tvmgo_any_int(1)));
  const TVMFFIAny* items = tvmgo_seq_cell(v.v_obj)->data;
  CHECK_EQ_INT(items[0].v_int64, 1);
  CHECK_EQ_INT(length(&items[1]), 2);
  CHECK_EQ_INT(length(&items[2]), 7);
  tvmgo_any_clear(&v);
  CHECK_OK(of_module(m, "other", NULL, 0, &v));
  CHECK_EQ_INT(length(&v), 2);
  tvmgo_any_clear(&v);
  CHECK_OK(of_module(m, "tvmgo.memory", NULL, 0, &v));
  CHECK(strstr(stringify(v), "\"weights\":36"));
  tvmgo_any_clear(&v);
  tvmgo_object_release(m);
  tvmgo_vm_program_release(p);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

/* ---- threads ---- */

enum { THREADS = 8, ROUNDS = 100 };
static tvmgo_module* shared;
static TVMFFIAny vectors[2]; /* of one and two elements, for v; w has one more */

/* Even threads bind, odd ones call: v and w are always of one binding. */
static void* use_all(void* number) {
  for (int i = 0; i < ROUNDS; i++) {
    TVMFFIAny v;
    if ((intptr_t)number % 2 == 0) {
      TVMFFIAny first = vectors[i % 2];
      tvmgo_object_retain(first.v_obj);
      CHECK_OK(bind(shared, "v", first, "w", vector(length(&vectors[i % 2]) + 1)));
      continue;
    }
    CHECK_OK(OF(shared, "main", &v, tvmgo_any_int(i)));
    const TVMFFIAny* items = tvmgo_seq_cell(v.v_obj)->data;
    CHECK_EQ_INT(length(&items[1]) + 1, length(&items[2]));
    tvmgo_any_clear(&v);
    CHECK_OK(of_module(shared, "tvmgo.memory", NULL, 0, &v));
    tvmgo_any_clear(&v);
    CHECK_OK(of_module(shared, "tvmgo.model_memory", NULL, 0, &v));
    tvmgo_any_clear(&v);
    CHECK_OK(OF(shared, "tvmgo.signature", &v, raw("main")));
    tvmgo_any_clear(&v);
  }
  return NULL;
}

static void test_many_threads(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  tvmgo_vm_program* p = functions_of_tests();
  shared = session_of(p);
  tvmgo_vm_program_release(p);
  CHECK_OK(DO(shared, "vm_initialization", tvmgo_any_int(kDLCPU), tvmgo_any_int(0), tvmgo_any_int(2)));
  for (int i = 0; i < 2; i++) vectors[i] = vector(i + 1);
  CHECK_OK(bind(shared, "v", vector(1), "w", vector(2)));
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, use_all, (void*)i);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 2; i++) tvmgo_any_clear(&vectors[i]);
  tvmgo_object_release(shared);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  register_test_functions();
  RUN(test_signature);
  RUN(test_bound_parameters);
  RUN(test_many_threads);
  return check_end();
}
