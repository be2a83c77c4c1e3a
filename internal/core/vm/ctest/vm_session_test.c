/* Sessions: modules of kind relax.VirtualMachine, their functions and state, wrong calls, many threads. */
#include "vm/ctest/programs.h"
#include "vm/session.h"

#include <pthread.h>

static const DLDevice cpu = {kDLCPU, 0};
static const DLDataType f32 = {kDLFloat, 32, 1};

static TVMFFIObject* tensor(float v) {
  int64_t shape[1] = {1};
  tvmgo_tensor* t = tvmgo_tensor_new(shape, 1, f32, cpu, NULL);
  if (!CHECK_OK(t == NULL)) return NULL;
  *(float*)t->dl.data = v;
  return &t->header;
}

static float value_of(const TVMFFIAny* v) {
  return v->type_index == kTVMFFITensor ? *(float*)tvmgo_tensor_dl(v->v_obj)->data : -1;
}

/* sum(a, b) = a + b; pair(x, y) = [x, y]; first(x) = x */
static tvmgo_vm_program* functions_of_tests(void) {
  assembly a;
  begin_assembly(&a);
  int64_t add = add_function(&a, 0, "test.add", 0, 0), list = add_function(&a, 0, "test.list", 0, 0);
  int64_t sum = add_function(&a, 1, "sum", 2, 3);
  add_param(&a, "a");
  add_param(&a, "b");
  EMIT_CALL(&a, sum, 2, add, 0, 1);
  EMIT_RET(&a, sum, 2);
  int64_t pair = add_function(&a, 1, "pair", 2, 3);
  add_param(&a, "x");
  add_param(&a, "y");
  EMIT_CALL(&a, pair, 2, list, 0, 1);
  EMIT_RET(&a, pair, 2);
  int64_t first = add_function(&a, 1, "first", 1, 1);
  add_param(&a, "x");
  EMIT_RET(&a, first, 0);
  return tvmgo_vm_program_new(&a.d);
}

/* A session, on the CPU if `ready`. */
static tvmgo_module* session(int ready);

/* Calls a function of a module; *result is owned by the caller. */
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

static TVMFFIAny int_(int64_t v) { return tvmgo_any_int(v); }

static tvmgo_module* session(int ready) {
  tvmgo_vm_program* p = functions_of_tests();
  if (!CHECK_OK(p == NULL)) return NULL;
  TVMFFIObject* load = tvmgo_vm_loader_new(p, NULL);
  tvmgo_vm_program_release(p);
  TVMFFIAny r = tvmgo_any_none();
  CHECK_OK(tvmgo_function_call(load, NULL, 0, &r));
  CHECK_FAILS(tvmgo_function_call(load, (TVMFFIAny[]){int_(1)}, 1, &(TVMFFIAny){0}), TVMGO_TYPE_ERROR, "vm_load");
  tvmgo_object_release(load);
  tvmgo_module* m = (tvmgo_module*)r.v_obj;
  if (ready) CHECK_OK(DO(m, "vm_initialization", int_(kDLCPU), int_(0), int_(2)));
  return m;
}

static void test_functions(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  tvmgo_module* m = session(0);
  TVMFFIAny v;
  CHECK_FAILS(OF(m, "sum", &v, int_(1), int_(2)), TVMGO_RUNTIME_ERROR, "call vm_initialization");
  CHECK_FAILS(DO(m, "set_input", raw("sum"), int_(1), int_(2)), TVMGO_RUNTIME_ERROR, "call vm_initialization");
  CHECK_FAILS(plainly(m, "vm_initialization", NULL, 0), TVMGO_VALUE_ERROR, "got 0 arguments");
  CHECK_FAILS(DO(m, "vm_initialization", int_(1), int_(0), int_(3)), TVMGO_VALUE_ERROR, "allocator type: 3");
  CHECK_FAILS(DO(m, "vm_initialization", int_(2), int_(0), int_(2)), TVMGO_VALUE_ERROR, "must be the host");
  for (int i = 0; i < 2; i++) CHECK_OK(DO(m, "vm_initialization", int_(kDLCPU), int_(0), int_(2))); /* again */
  CHECK_OK(OF(m, "sum", &v, int_(1), int_(2)));
  CHECK_EQ_INT(v.v_int64, 3);
  CHECK_OK(OF(m, "get_function_arity", &v, raw("pair")));
  CHECK_EQ_INT(v.v_int64, 2);
  CHECK_OK(OF(m, "get_function_param_name", &v, raw("pair"), int_(1)));
  CHECK_STR(stringify(v), "\"y\"");
  tvmgo_any_clear(&v);
  CHECK_FAILS(DO(m, "get_function_param_name", raw("pair"), int_(2)), TVMGO_VALUE_ERROR, "2 out of 2");
  CHECK_FAILS(DO(m, "get_function_arity", raw("paire")), TVMGO_VALUE_ERROR, "Unknown function: paire");
  TVMFFIObject* names = NULL;
  CHECK_OK(m->cls->function_names(m, &names));
  CHECK(strstr(stringify(tvmgo_any_object(names)), "\"first\"") != NULL);
  tvmgo_object_release(names);
  TVMFFIObject* sum = NULL;
  CHECK_OK(tvmgo_module_get_function(m, "sum", 3, 0, &sum));
  tvmgo_object_release(m);
  CHECK_OK(tvmgo_function_call(sum, ARGS(int_(3), int_(4)), &v)); /* keeps the session */
  CHECK_EQ_INT(v.v_int64, 7);
  tvmgo_object_release(sum);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

static void test_stored_inputs(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  tvmgo_module* m = session(1);
  TVMFFIObject *t = tensor(5), *u = tensor(6);
  TVMFFIAny v, both = tvmgo_any_object(tvmgo_array_new((TVMFFIAny[]){tvmgo_any_object(t), tvmgo_any_object(u)}, 2));
  CHECK_FAILS(DO(m, "invoke_stateful", raw("sum")), TVMGO_VALUE_ERROR, "No inputs set");
  CHECK_FAILS(DO(m, "get_output", raw("sum")), TVMGO_VALUE_ERROR, "No output saved");
  CHECK_OK(DO(m, "set_input", raw("sum"), int_(1), int_(2)));
  CHECK_OK(DO(m, "invoke_stateful", raw("sum")));
  CHECK_OK(OF(m, "get_output", &v, raw("sum")));
  CHECK_EQ_INT(v.v_int64, 3);
  CHECK_OK(OF(m, "get_output_arity", &v, raw("sum")));
  CHECK_EQ_INT(v.v_int64, -1);

  float memory = 9; /* an address: the session has a copy */
  DLTensor dl = {.data = &memory, .device = cpu, .ndim = 1, .dtype = f32, .shape = (int64_t[]){1}};
  TVMFFIAny address = {.type_index = kTVMFFIDLTensorPtr, .v_ptr = &dl};
  CHECK_OK(DO(m, "set_input", raw("pair"), both, address));
  memory = 0;
  tvmgo_any_clear(&both);
  CHECK_OK(DO(m, "invoke_stateful", raw("pair")));
  CHECK_OK(OF(m, "get_output_arity", &v, raw("pair")));
  CHECK_EQ_INT(v.v_int64, 2);
  CHECK_OK(OF(m, "get_output", &v, raw("pair"), int_(1)));
  CHECK(value_of(&v) == 9);
  tvmgo_any_clear(&v);
  CHECK_OK(OF(m, "get_output_arity", &v, raw("pair"), int_(0)));
  CHECK_EQ_INT(v.v_int64, 2);
  CHECK_OK(OF(m, "get_output", &v, raw("pair"), int_(0), int_(1)));
  CHECK(value_of(&v) == 6);
  tvmgo_any_clear(&v);
  CHECK_FAILS(DO(m, "get_output", raw("pair")), TVMGO_VALUE_ERROR, "cannot return a tuple");
  CHECK_FAILS(DO(m, "get_output", raw("pair"), int_(2)), TVMGO_INDEX_ERROR, "(2 >= 2)");
  CHECK_FAILS(DO(m, "get_output", raw("pair"), int_(1), int_(0)), TVMGO_VALUE_ERROR, "not an Array");
  CHECK_FAILS(DO(m, "set_input", raw("pair"), int_(1)), TVMGO_TYPE_ERROR, "set_input");
  CHECK_FAILS(DO(m, "set_input_with_param_module", raw("first"), int_(1)), TVMGO_TYPE_ERROR, "get_params");
  CHECK_OK(OF(m, "get_output", &v, raw("pair"), int_(1))); /* the last output stays */
  CHECK(value_of(&v) == 9);
  tvmgo_object_release(m);
  CHECK(value_of(&v) == 9);
  tvmgo_any_clear(&v);
  tvmgo_object_release(t);
  tvmgo_object_release(u);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

static void test_saved_functions(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  tvmgo_module* m = session(1);
  TVMFFIObject* t = tensor(5);
  TVMFFIAny v;
  CHECK_OK(DO(m, "save_function", raw("first"), raw("five"), tvmgo_any_bool(1), tvmgo_any_object(t)));
  CHECK_OK(DO(m, "save_function", raw("first"), raw("quiet"), tvmgo_any_bool(0), tvmgo_any_object(t)));
  tvmgo_object_release(t);
  CHECK_OK(of_module(m, "five", NULL, 0, &v));
  CHECK(value_of(&v) == 5);
  tvmgo_any_clear(&v);
  CHECK_OK(of_module(m, "quiet", NULL, 0, &v));
  CHECK_EQ_INT(v.type_index, kTVMFFINone);
  CHECK_FAILS(DO(m, "five", int_(1)), TVMGO_TYPE_ERROR, "first");
  TVMFFIObject* five = NULL;
  CHECK_OK(tvmgo_module_get_function(m, "five", 4, 0, &five));
  CHECK_OK(DO(m, "save_function", raw("sum"), raw("five"), tvmgo_any_bool(1), int_(2), int_(3))); /* replaces it */
  CHECK_OK(of_module(m, "five", NULL, 0, &v));
  CHECK_EQ_INT(v.v_int64, 5);
  CHECK_OK(tvmgo_function_call(five, NULL, 0, &v)); /* the earlier one */
  CHECK(value_of(&v) == 5);
  tvmgo_any_clear(&v);
  CHECK_OK(DO(m, "save_function", raw("sum"), raw("bad"), tvmgo_any_bool(1), int_(2)));
  CHECK_FAILS(plainly(m, "bad", NULL, 0), TVMGO_TYPE_ERROR, "\"sum\" expects 2 arguments");
  CHECK_FAILS(DO(m, "save_function", raw("sum"), raw("bad"), raw("yes")), TVMGO_TYPE_ERROR, "expected a bool");
  tvmgo_object_release(m);
  CHECK_OK(tvmgo_function_call(five, NULL, 0, &v));
  tvmgo_any_clear(&v);
  tvmgo_object_release(five);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

static _Atomic int64_t seen;

static int observe(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n, (void)result;
  seen++;
  return 0;
}

static int make_observer(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObjectHandle f = NULL;
  (void)self, (void)args;
  if (n != 1) return tvmgo_raise(TVMGO_VALUE_ERROR, "want an argument");
  if (TVMFFIFunctionCreate(NULL, observe, NULL, &f) != 0) return -1;
  *result = tvmgo_any_object(f);
  return 0;
}

static void test_instruments_and_closures(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  tvmgo_module* m = session(1);
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny v;
  CHECK_OK(TVMFFIFunctionCreate(NULL, observe, NULL, &f));
  CHECK_OK(DO(m, "set_instrument", tvmgo_any_object(f)));
  tvmgo_object_release(f);
  seen = 0;
  CHECK_OK(DO(m, "sum", int_(1), int_(2)));
  CHECK_EQ_INT(seen, 2); /* before and after */
  CHECK_OK(DO(m, "set_instrument", tvmgo_any_none()));
  CHECK_OK(DO(m, "sum", int_(1), int_(2)));
  CHECK_EQ_INT(seen, 2);
  CHECK_OK(DO(m, "set_instrument", raw("test.make_observer"), int_(1)));
  CHECK_OK(DO(m, "sum", int_(1), int_(2)));
  CHECK_EQ_INT(seen, 4);
  CHECK_FAILS(DO(m, "set_instrument", raw("test.make_observer")), TVMGO_VALUE_ERROR, "want an argument");
  CHECK_FAILS(DO(m, "set_instrument", raw("no.such")), TVMGO_NOT_FOUND_ERROR, "Cannot find factory no.such");
  CHECK_FAILS(DO(m, "set_instrument", int_(1)), TVMGO_TYPE_ERROR, "got int");
  CHECK_FAILS(DO(m, "set_instrument", raw("test.list")), TVMGO_TYPE_ERROR, "expected a function");

  TVMFFIObject* add = tvmgo_global_get("test.add", 8);
  CHECK_OK(OF(m, "invoke_closure", &v, tvmgo_any_object(add), int_(1), int_(4)));
  CHECK_EQ_INT(v.v_int64, 5);
  tvmgo_object_release(add);
  CHECK_FAILS(DO(m, "invoke_closure", int_(3)), TVMGO_TYPE_ERROR, "expected a closure or a function, got int");
  tvmgo_object_release(m);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

/* Every function with every number of arguments and values of every kind: an error, or no harm. */
static void test_wrong_calls(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  tvmgo_module *ready = session(1), *bare = session(0);
  TVMFFIObject *t = tensor(1), *list = tvmgo_array_new((TVMFFIAny[]){tvmgo_any_object(t)}, 1), *names = NULL;
  TVMFFIAny kinds[] = {tvmgo_any_none(), int_(-1), int_(1), int_(INT64_MAX), real(0.5), raw("nothing"), raw("sum"),
                       raw("pair"), raw(""), tvmgo_any_object(t), tvmgo_any_object(list), tvmgo_any_bool(1),
                       {.type_index = kTVMFFIDLTensorPtr}};
  enum { KINDS = sizeof kinds / sizeof *kinds };
  CHECK_OK(bare->cls->function_names(bare, &names));
  for (int64_t f = 0; f < tvmgo_seq_cell(names)->size; f++) {
    TVMFFIByteArray name;
    REQUIRE(tvmgo_any_text((TVMFFIAny*)tvmgo_seq_cell(names)->data + f, &name));
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)name.size, name.data);
    for (int32_t n = 0; n <= 4; n++)
      for (int k = 0; k < KINDS * KINDS; k++) {
        TVMFFIAny args[4], r;
        for (int i = 0; i < 4; i++) args[i] = kinds[(i % 2 == 0 ? k : k / KINDS) % KINDS];
        if (of_module(k % 2 ? ready : bare, text, args, n, &r) != 0) tvmgo_object_release(tvmgo_error_take());
        tvmgo_any_clear(&r);
      }
  }
  CHECK_OK(DO(ready, "set_instrument", tvmgo_any_none()));
  TVMFFIAny v;
  CHECK_OK(OF(ready, "sum", &v, int_(1), int_(2)));
  CHECK_EQ_INT(v.v_int64, 3);
  tvmgo_object_release(names);
  tvmgo_object_release(list);
  tvmgo_object_release(t);
  tvmgo_object_release(ready);
  tvmgo_object_release(bare);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

enum { THREADS = 64, ROUNDS = 30 };
static tvmgo_module* shared;

static void* use_all(void* arg) {
  int64_t k = (intptr_t)arg;
  for (int64_t i = 0; i < ROUNDS; i++) {
    TVMFFIAny v;
    CHECK_OK(OF(shared, "sum", &v, int_(k), int_(i)));
    CHECK_EQ_INT(v.v_int64, k + i);
    CHECK_OK(DO(shared, "set_input", raw("sum"), int_(k), int_(-k)));
    CHECK_OK(DO(shared, "invoke_stateful", raw("sum")));
    CHECK_OK(OF(shared, "get_output", &v, raw("sum")));
    CHECK_EQ_INT(v.v_int64, 0); /* of some thread: inputs are replaced together */
    if (k % 16 != 0) continue;
    TVMFFIObject* t = tensor((float)k);
    CHECK_OK(DO(shared, "save_function", raw("first"), raw("saved"), tvmgo_any_bool(1), tvmgo_any_object(t)));
    tvmgo_object_release(t);
    CHECK_OK(of_module(shared, "saved", NULL, 0, &v));
    CHECK((int64_t)value_of(&v) % 16 == 0);
    tvmgo_any_clear(&v);
    CHECK_OK(DO(shared, "set_instrument", raw("test.make_observer"), int_(1)));
    CHECK_OK(DO(shared, "vm_initialization", int_(kDLCPU), int_(0), int_(2)));
  }
  return NULL;
}

static void test_many_threads(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  shared = session(1);
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, use_all, (void*)i);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  tvmgo_object_release(shared);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  register_test_functions();
  tvmgo_global_builtin("test.make_observer", make_observer);
  RUN(test_functions);
  RUN(test_stored_inputs);
  RUN(test_saved_functions);
  RUN(test_instruments_and_closures);
  RUN(test_wrong_calls);
  RUN(test_many_threads);
  return check_end();
}
