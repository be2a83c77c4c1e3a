/* Executors: construction, inputs and outputs, memory of the caller and of others, recordings, wrong calls. */
#include "executor/ctest/graphs.h"
#include "object/check.h"

#include <pthread.h>

static tvmgo_executor* new_executor(DLDevice dev, TVMFFIObject* weights) {
  graph g = {.dev = dev, .weights = weights};
  tvmgo_executor* e = executor_of(&g);
  CHECK_OK(e == NULL);
  return e;
}

static void set(tvmgo_executor* e, const char* input, DLDevice dev, float first, float step) {
  TVMFFIObject* t = filled(dev, first, step);
  CHECK_OK(DO(e, "set_input", raw(input), obj(t)));
  tvmgo_object_release(t);
}

static void test_runs(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  for (int on = 0; on < 2; on++) {
    tvmgo_executor* e = new_executor(on ? device : cpu, NULL);
    TVMFFIAny v;
    set(e, "w", cpu, 1, 1);
    set(e, "x", cpu, 10, 0);
    CHECK_OK(plainly(e, "run", NULL, 0));
    CHECK_OK(ON(e, "get_output", &v, int_(0)));
    CHECK_ELEMENTS(&v, 20, 10);
    CHECK_OK(ON(e, "get_output", &v, raw("w")));
    CHECK_ELEMENTS(&v, 1, 1);
    CHECK_OK(ON(e, "get_output", &v, raw("back")));
    CHECK_EQ_INT(tvmgo_tensor_dl(v.v_obj)->device.device_type, kDLCPU);
    CHECK_ELEMENTS(&v, 20, 10);
    TVMFFIObject* mine = filled(cpu, 0, 0);
    CHECK_OK(DO(e, "get_output", int_(0), obj(mine)));
    CHECK(has(tvmgo_tensor_dl(mine), 20, 10));
    CHECK_OK(DO(e, "debug_get_output", raw("product"), obj(mine)));
    CHECK(has(tvmgo_tensor_dl(mine), 10, 10));
    CHECK_OK(ON(e, "get_node_output", &v, raw("view"), int_(0)));
    CHECK_ELEMENTS(&v, 10, 0);
    tvmgo_object_release(mine);
    CHECK_OK(of_executor(e, "get_num_inputs", NULL, 0, &v));
    CHECK_EQ_INT(v.v_int64, 2);
    CHECK_OK(of_executor(e, "get_num_outputs", NULL, 0, &v));
    CHECK_EQ_INT(v.v_int64, 3);
    CHECK_OK(ON(e, "get_input_index", &v, raw("w")));
    CHECK_EQ_INT(v.v_int64, 1);
    CHECK_OK(ON(e, "get_output_index", &v, raw("product")));
    CHECK_EQ_INT(v.v_int64, -1);

    TVMFFIObject* x = filled(cpu, 1, 0);
    CHECK_OK(ON(e, "run_from_inputs", &v, int_(kDLCPU), int_(0), raw("x"), obj(x)));
    REQUIRE(v.type_index == kTVMFFIArray);
    CHECK_EQ_INT(tvmgo_seq_cell(v.v_obj)->size, 3);
    CHECK(has(tvmgo_tensor_dl(((TVMFFIAny*)tvmgo_seq_cell(v.v_obj)->data)[0].v_obj), 2, 1));
    tvmgo_any_clear(&v);
    tvmgo_object_release(x);
    CHECK_OK(DO(e, "execute_node", raw("product")));
    tvmgo_executor_release(e);
  }
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
  CHECK_EQ_INT(in_device, 0);
}

/* The first failed allocation of each construction leaves nothing behind. */
static void test_construction_fails(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  graph g = {.dev = device};
  int at = 0;
  for (;; at++) {
    calls = 0;
    fail_at = at;
    tvmgo_executor* e = executor_of(&g);
    fail_at = -1;
    if (e != NULL) {
      tvmgo_executor_release(e);
      break;
    }
    CHECK_ERROR(TVMGO_MEMORY_ERROR, "no memory left");
    CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
  }
  CHECK_EQ_INT(at, 4); /* x, w, product, sum */
  CHECK_EQ_INT(in_device, 0);
}

static void test_memory_of_the_caller(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  tvmgo_executor* e = new_executor(cpu, NULL);
  TVMFFIObject *x = filled(cpu, 1, 0), *out = filled(cpu, 0, 0), *w = filled(cpu, 1, 1);
  TVMFFIAny v;
  CHECK_OK(DO(e, "set_input_zero_copy", raw("w"), obj(w)));
  CHECK_OK(DO(e, "set_input_zero_copy", raw("x"), obj(x)));
  CHECK_OK(DO(e, "set_output_zero_copy", int_(0), obj(out)));
  tvmgo_object_release(w); /* the executor keeps it */
  CHECK_OK(plainly(e, "run", NULL, 0));
  CHECK(has(tvmgo_tensor_dl(out), 2, 1));
  elements(tvmgo_tensor_dl(x))[0] = 5;
  CHECK_OK(plainly(e, "run", NULL, 0));
  CHECK(elements(tvmgo_tensor_dl(out))[0] == 10);
  CHECK_OK(ON(e, "get_output", &v, int_(0)));
  CHECK_EQ_PTR(tvmgo_tensor_dl(v.v_obj)->data, tvmgo_tensor_dl(out)->data);
  tvmgo_any_clear(&v);

  /* An address without an owner, and one with an offset. */
  static _Alignas(64) float plain[COUNT + 16];
  DLTensor dl = {.data = plain, .device = cpu, .ndim = 2, .dtype = f32, .shape = (int64_t*)form, .byte_offset = 64};
  TVMFFIAny address = {.type_index = kTVMFFIDLTensorPtr, .v_ptr = &dl};
  for (int i = 0; i < COUNT; i++) plain[16 + i] = 2;
  CHECK_OK(DO(e, "set_input_zero_copy", raw("x"), address));
  CHECK_OK(plainly(e, "run", NULL, 0));
  CHECK(has(tvmgo_tensor_dl(out), 4, 2));
  CHECK_OK(ON(e, "get_input", &v, raw("x")));
  CHECK_EQ_PTR(tvmgo_tensor_dl(v.v_obj)->data, plain + 16);
  tvmgo_any_clear(&v);

  dl.byte_offset = 4;
  CHECK_FAILS(DO(e, "set_input_zero_copy", raw("x"), address), TVMGO_VALUE_ERROR, "not aligned to 64 bytes");
  dl.byte_offset = 0;
  dl.strides = (int64_t[]){1, ROWS};
  CHECK_FAILS(DO(e, "set_input_zero_copy", raw("x"), address), TVMGO_VALUE_ERROR, "\"x\" is not contiguous");
  dl.strides = NULL;
  dl.ndim = 1;
  CHECK_FAILS(DO(e, "set_input_zero_copy", raw("x"), address), TVMGO_VALUE_ERROR,
              "input \"x\" is float32[2, 4], the tensor is float32[2]");
  dl.ndim = 2;
  CHECK_FAILS(DO(e, "set_output_zero_copy", raw("w"), obj(out)), TVMGO_VALUE_ERROR,
              "output 1 \"w\" is an input of the graph");
  TVMFFIObject* far = filled(device, 0, 0);
  CHECK_FAILS(DO(e, "set_output_zero_copy", int_(0), obj(far)), TVMGO_VALUE_ERROR, "must be on one device");
  tvmgo_object_release(far);
  CHECK_OK(plainly(e, "run", NULL, 0)); /* nothing has changed */
  CHECK(has(tvmgo_tensor_dl(out), 4, 2));
  tvmgo_executor_release(e);
  tvmgo_object_release(x);
  tvmgo_object_release(out);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

/* A shared parameter that was replaced by the caller's memory is written there, as any other input. */
static void test_memory_of_the_caller_is_written(void) {
  TVMFFIObject *w = filled(cpu, 1, 1), *mine = filled(cpu, 1, 5), *flat = filled(cpu, 1, 0);
  tvmgo_executor* e = new_executor(cpu, w);
  CHECK_OK(DO(e, "set_input_zero_copy", raw("w"), obj(mine)));
  CHECK_OK(DO(e, "set_input", raw("w"), obj(flat)));
  CHECK(has(tvmgo_tensor_dl(mine), 1, 0));
  CHECK(has(tvmgo_tensor_dl(w), 1, 1));
  tvmgo_executor_release(e);
  tvmgo_object_release(w);
  tvmgo_object_release(mine);
  tvmgo_object_release(flat);
}

/* Memory in a scope can only be copied to. */
static void test_scopes(void) {
  graph g = {.dev = device, .scope = "global.texture"};
  tvmgo_executor* e = executor_of(&g);
  REQUIRE(e != NULL);
  TVMFFIObject* t = filled(device, 1, 1);
  CHECK_FAILS(DO(e, "set_input_zero_copy", raw("w"), obj(t)), TVMGO_VALUE_ERROR, "input \"w\" is in a storage scope");
  CHECK_OK(DO(e, "set_input", raw("w"), obj(t)));
  tvmgo_object_release(t);
  set(e, "x", device, 1, 0);
  CHECK_OK(plainly(e, "run", NULL, 0));
  TVMFFIAny v;
  CHECK_OK(ON(e, "get_output", &v, int_(2)));
  CHECK_ELEMENTS(&v, 2, 1);
  tvmgo_executor_release(e);
  CHECK_EQ_INT(in_device, 0);
}

static void check_sum(tvmgo_executor* e, float first, float step) {
  TVMFFIAny v;
  CHECK_OK(plainly(e, "run", NULL, 0));
  CHECK_OK(ON(e, "get_output", &v, raw("sum")));
  CHECK_ELEMENTS(&v, first, step);
}

static void test_shared_parameters(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIObject* w = filled(device, 1, 1);
  tvmgo_executor *a = new_executor(device, w), *b = new_executor(device, w);
  const void* shared = tvmgo_tensor_dl(w)->data;
  tvmgo_object_release(w);
  set(a, "x", cpu, 1, 0);
  set(b, "x", cpu, 1, 0);
  check_sum(a, 2, 1);

  calls = fail_at = 0; /* no memory: nothing changes */
  TVMFFIObject* zeros = filled(cpu, 0, 0);
  CHECK_FAILS(DO(a, "set_input", raw("w"), obj(zeros)), TVMGO_MEMORY_ERROR, "no memory left");
  fail_at = -1;
  check_sum(a, 2, 1);
  CHECK_OK(DO(a, "set_input", raw("w"), obj(zeros)));
  tvmgo_object_release(zeros);
  check_sum(a, 1, 0);
  check_sum(b, 2, 1);

  TVMFFIAny v;
  CHECK_OK(ON(b, "get_input", &v, raw("w"))); /* the caller may write to it */
  CHECK(tvmgo_tensor_dl(v.v_obj)->data != shared);
  elements(tvmgo_tensor_dl(v.v_obj))[0] = 100;
  tvmgo_any_clear(&v);
  CHECK_OK(plainly(b, "run", NULL, 0));
  CHECK_OK(ON(b, "get_output", &v, int_(0)));
  CHECK(elements(tvmgo_tensor_dl(v.v_obj))[0] == 101);
  tvmgo_any_clear(&v);

  /* b's own memory for a, too; then neither writes to it. */
  CHECK_OK(ON(b, "__share_input", &v, raw("w")));
  CHECK_OK(DO(a, "__use_shared", raw("w"), v));
  shared = tvmgo_tensor_dl(v.v_obj)->data;
  tvmgo_any_clear(&v);
  set(b, "w", cpu, 1, 1);
  check_sum(b, 2, 1);
  tvmgo_executor_release(b);
  CHECK_OK(plainly(a, "run", NULL, 0));
  CHECK_OK(ON(a, "get_output", &v, int_(0)));
  CHECK(elements(tvmgo_tensor_dl(v.v_obj))[0] == 101);
  tvmgo_any_clear(&v);
  tvmgo_executor_release(a);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
  CHECK_EQ_INT(in_device, 0);
}

static void test_recordings(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  tvmgo_executor* e = new_executor(device, NULL);
  set(e, "w", cpu, 1, 1);
  set(e, "x", cpu, 1, 0);
  CHECK_FAILS(plainly(e, "run_cuda_graph", NULL, 0), TVMGO_RUNTIME_ERROR, "no run was recorded");
  CHECK_FAILS(plainly(e, "end_capture", NULL, 0), TVMGO_RUNTIME_ERROR, "no run is being recorded");
  for (int i = 0; i < 2; i++) { /* the second recording replaces the first */
    CHECK_OK(plainly(e, "start_capture", NULL, 0));
    CHECK_FAILS(plainly(e, "start_capture", NULL, 0), TVMGO_RUNTIME_ERROR, "call end_capture first");
    CHECK_FAILS(plainly(e, "run_cuda_graph", NULL, 0), TVMGO_RUNTIME_ERROR, "no run was recorded");
    CHECK_OK(DO(e, "execute_node", raw("product")));
    CHECK_OK(plainly(e, "end_capture", NULL, 0));
    CHECK_EQ_INT(recordings, 1);
    CHECK_EQ_PTR(tvmgo_stream_get(DEVICE, 0), NULL);
  }
  launches = 0;
  CHECK_OK(plainly(e, "run_cuda_graph", NULL, 0));
  CHECK_EQ_INT(launches, 1);
  CHECK_OK(plainly(e, "start_capture", NULL, 0));
  tvmgo_executor_release(e); /* discards the recording */
  CHECK_EQ_INT(recordings, 0);
  CHECK_EQ_PTR(tvmgo_stream_get(DEVICE, 0), NULL);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);

  e = new_executor(cpu, NULL);
  CHECK(plainly(e, "start_capture", NULL, 0) != 0);
  CHECK_ERROR(TVMGO_NOT_SUPPORTED_ERROR, "start_capture");
  tvmgo_executor_release(e);
}

/* Every function with every number of arguments and values of every kind: an error, or no harm. */
static void test_wrong_calls(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  tvmgo_executor* e = new_executor(cpu, NULL);
  TVMFFIObject *t = filled(cpu, 1, 0), *shape = tvmgo_shape_new(form, 2);
  TVMFFIAny kinds[] = {tvmgo_any_none(), int_(-1), int_(99), int_(INT64_MAX), real(0.5), raw("nothing"), raw("x"),
                       raw(""), obj(t), obj(shape), {.type_index = kTVMFFIDLTensorPtr}, {.type_index = kTVMFFITensor}};
  enum { KINDS = sizeof kinds / sizeof *kinds };
  const char* name;
  for (int32_t f = 0; (name = tvmgo_executor_function_name(f)) != NULL; f++)
    for (int32_t n = 0; n <= 4; n++)
      for (int k = 0; k < KINDS * KINDS; k++) {
        TVMFFIAny args[4], r;
        for (int i = 0; i < 4; i++) args[i] = kinds[(i % 2 == 0 ? k : k / KINDS) % KINDS];
        if (of_executor(e, name, args, n, &r) != 0) tvmgo_object_release(tvmgo_error_take());
        tvmgo_any_clear(&r);
      }
  CHECK_FAILS(DO(e, "set_input", raw("y"), obj(t)), TVMGO_KEY_ERROR, "set_input: no 0 y");
  CHECK_FAILS(DO(e, "get_output", raw("y")), TVMGO_KEY_ERROR, "get_output: no 1 y");
  CHECK_FAILS(DO(e, "execute_node", raw("y")), TVMGO_KEY_ERROR, "execute_node: no 2 y");
  CHECK_FAILS(DO(e, "set_input", int_(2), obj(t)), TVMGO_INDEX_ERROR, "there is no input 2: the graph has 2");
  CHECK_FAILS(DO(e, "get_node_output", raw("sum"), int_(1)), TVMGO_INDEX_ERROR, "no output of this node 1");
  CHECK_FAILS(DO(e, "run_from_inputs", int_(kDLCPU), int_(0), raw("x")), TVMGO_VALUE_ERROR, "3 arguments");
  DLTensor broken = {.data = tvmgo_tensor_dl(t)->data, .device = cpu, .ndim = 2, .dtype = f32};
  TVMFFIAny address = {.type_index = kTVMFFIDLTensorPtr, .v_ptr = &broken};
  CHECK_FAILS(DO(e, "set_input", int_(0), address), TVMGO_VALUE_ERROR,
              "set_input: argument 1: ndim is 2, but shape is NULL");
  broken.shape = (int64_t*)form;
  broken.data = NULL;
  CHECK_FAILS(DO(e, "set_input_zero_copy", int_(0), address), TVMGO_VALUE_ERROR, "data is NULL");
  CHECK_FAILS(DO(e, "run_from_inputs", int_(77), int_(0)), TVMGO_VALUE_ERROR, "77");
  TVMFFIObject* none = e->data[0].bound;
  CHECK(none == NULL || none == t);
  TVMFFIObject* f = t;
  CHECK_OK(tvmgo_executor_function(e, "no_function", 11, &f));
  CHECK_EQ_PTR(f, NULL);
  set(e, "w", cpu, 1, 1);
  set(e, "x", cpu, -1, 0);
  CHECK_FAILS(plainly(e, "run", NULL, 0), TVMGO_VALUE_ERROR, "node 2 \"product\" (function \"mul\"): x is negative");
  set(e, "x", cpu, 1, 0);
  check_sum(e, 2, 1);
  tvmgo_executor_release(e);
  tvmgo_object_release(t);
  tvmgo_object_release(shape);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

static tvmgo_executor* reentered;
static _Atomic int refused;

static void run_again(void) {
  if (plainly(reentered, "run", NULL, 0) == 0) return;
  CHECK_ERROR(TVMGO_RUNTIME_ERROR, "another call of this graph executor is in progress");
  refused++;
}

static void* call_often(void* e) {
  for (int i = 0; i < 300; i++)
    if (plainly(e, "run", NULL, 0) != 0) CHECK_ERROR(TVMGO_RUNTIME_ERROR, "another call");
  return NULL;
}

/* A second call fails, from the same thread and from others. */
static void test_one_call_at_a_time(void) {
  reentered = new_executor(cpu, NULL);
  set(reentered, "w", cpu, 1, 1);
  set(reentered, "x", cpu, 1, 0);
  on_add = run_again;
  check_sum(reentered, 2, 1);
  CHECK_EQ_INT(refused, 1);
  on_add = NULL;
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, call_often, reentered);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  check_sum(reentered, 2, 1);
  tvmgo_executor_release(reentered);
}

/* A function keeps its executor, and a kept function its module. */
static void test_functions_keep(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  tvmgo_executor* e = new_executor(cpu, NULL);
  TVMFFIObject* run = NULL;
  CHECK_OK(tvmgo_executor_function(e, "run", 3, &run));
  set(e, "w", cpu, 1, 1);
  set(e, "x", cpu, 1, 0);
  tvmgo_executor_release(e);
  TVMFFIAny r = tvmgo_any_none();
  CHECK_OK(tvmgo_function_call(run, NULL, 0, &r));
  tvmgo_object_release(run);

  tvmgo_module* m = tvmgo_module_new(&(tvmgo_module_class){0}, "test", 0, NULL);
  REQUIRE(m != NULL);
  TVMFFIObject *keeper = tvmgo_executor_keeper(m), *f = function(unknown, NULL);
  TVMFFIAny arg = obj(f);
  CHECK_OK(tvmgo_function_call(keeper, &arg, 1, &r));
  CHECK_FAILS(tvmgo_function_call(keeper, NULL, 0, &(TVMFFIAny){0}), TVMGO_TYPE_ERROR, "keep module");
  tvmgo_object_release(keeper);
  tvmgo_object_release(f);
  tvmgo_object_release(m);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_MODULES), 1);
  TVMFFIAny name[2] = {raw("n"), int_(7)}, none = tvmgo_any_none();
  CHECK_FAILS(tvmgo_function_call(r.v_obj, name, 2, &none), TVMGO_KEY_ERROR, "no 7 n");
  tvmgo_any_clear(&r);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  register_device();
  RUN(test_runs);
  RUN(test_construction_fails);
  RUN(test_memory_of_the_caller);
  RUN(test_memory_of_the_caller_is_written);
  RUN(test_scopes);
  RUN(test_shared_parameters);
  RUN(test_recordings);
  RUN(test_wrong_calls);
  RUN(test_one_call_at_a_time);
  RUN(test_functions_keep);
  return check_end();
}
