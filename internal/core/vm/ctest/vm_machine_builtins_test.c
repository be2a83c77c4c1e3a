/* The global functions vm.builtin.* that ask the machine for its devices, its account, or a call. */
#include "vm/ctest/programs.h"

static TVMFFIAny dtype(const char* name) {
  TVMFFIAny v = {.type_index = kTVMFFIDataType};
  CHECK_OK(tvmgo_dtype_parse(name, strlen(name), &v.v_dtype));
  return v;
}

/* A model whose function 1 hands its arguments to a builtin, behind the machine. */
static tvmgo_vm_model* with_machine(const char* builtin, int32_t arity) {
  assembly a;
  begin_assembly(&a);
  int64_t f = add_function(&a, 0, builtin, 0, 0);
  int64_t main = add_function(&a, 1, "main", arity, arity + 1);
  int64_t words[16] = {1, arity, f, arity + 1, MACHINE};
  for (int32_t i = 0; i < arity; i++) words[5 + i] = i;
  add_words(&a, main, words, 5 + arity);
  EMIT_RET(&a, main, arity);
  return model_of(tvmgo_vm_program_new(&a.d));
}

static int run(tvmgo_vm_model* m, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  *result = tvmgo_any_none();
  return tvmgo_vm_model_run(m, NULL, 1, args, n, result);
}

static void test_alloc_storage(void) {
  tvmgo_vm_model* m = with_machine("vm.builtin.alloc_storage", 4);
  REQUIRE(m != NULL);
  TVMFFIAny r;
  const int64_t dims[] = {64, 100}, negative[] = {-4}, huge[] = {INT64_MAX};
  TVMFFIAny args[] = {tvmgo_any_object(tvmgo_shape_new(dims, 2)), tvmgo_any_int(0), dtype("float32"), raw("global")};
  for (int64_t device = -1; device <= 0; device++) {
    args[1] = tvmgo_any_int(device);
    CHECK_OK(run(m, args, 4, &r));
    REQUIRE(r.type_index == tvmgo_vm_storage_type());
    CHECK_EQ_INT(tvmgo_vm_storage_bytes(r.v_obj), 28672); /* 25600 in pages */
    CHECK_EQ_INT(tvmgo_vm_storage_device(r.v_obj).device_type, kDLCPU);
    tvmgo_any_clear(&r);
  }
  args[1] = tvmgo_any_int(1);
  CHECK_FAILS(run(m, args, 4, &r), TVMGO_INDEX_ERROR, "vm.builtin.alloc_storage: device 1 of the model");
  args[1] = tvmgo_any_int(-2);
  CHECK_FAILS(run(m, args, 4, &r), TVMGO_INDEX_ERROR, "device -2 of the model");
  args[1] = tvmgo_any_int(0);
  args[3] = raw("texture");
  CHECK_FAILS(run(m, args, 4, &r), TVMGO_NOT_SUPPORTED_ERROR, "\"texture\"");
  args[3] = raw("");
  args[2] = raw("floot");
  CHECK_FAILS(run(m, args, 4, &r), TVMGO_VALUE_ERROR, "argument 3");
  args[2] = dtype("uint8");
  tvmgo_any_clear(&args[0]);
  args[0] = tvmgo_any_object(tvmgo_shape_new(negative, 1));
  CHECK_FAILS(run(m, args, 4, &r), TVMGO_VALUE_ERROR, "dimension 0 of the shape is negative: -4");
  tvmgo_any_clear(&args[0]);
  args[0] = tvmgo_any_object(tvmgo_shape_new(huge, 1));
  CHECK_FAILS(run(m, args, 4, &r), TVMGO_VALUE_ERROR, "more than memory can hold");
  tvmgo_any_clear(&args[0]);
  CHECK_FAILS(run(m, args, 4, &r), TVMGO_TYPE_ERROR, "argument 1 must be a Shape, got None");
  args[0] = tvmgo_any_int(3);
  CHECK_FAILS(CALL("vm.builtin.alloc_storage", &r, tvmgo_any_ptr(&r), args[0], args[1], args[2], args[3]),
              TVMGO_TYPE_ERROR, "the first argument must be the virtual machine");
  tvmgo_vm_model_release(m);
}

/* The session's limit leads to an error, and the session stays usable. */
static void test_limit(void) {
  tvmgo_vm_model* m = with_machine("vm.builtin.alloc_storage", 4);
  tvmgo_vm_account* a = tvmgo_vm_account_new(NULL, 8192);
  REQUIRE(m != NULL && a != NULL);
  const tvmgo_vm_options o = {.account = a};
  const int64_t small[] = {4096}, large[] = {8193};
  TVMFFIAny r = tvmgo_any_none(), one;
  TVMFFIAny args[] = {tvmgo_any_object(tvmgo_shape_new(small, 1)), tvmgo_any_int(0), dtype("uint8"), raw("global")};
  CHECK_OK(tvmgo_vm_model_run(m, &o, 1, args, 4, &r));
  one = r;
  tvmgo_vm_memory now;
  tvmgo_vm_account_read(a, &now);
  CHECK_EQ_INT(now.live, 4096);
  TVMFFIAny too_large = tvmgo_any_object(tvmgo_shape_new(large, 1)), first = args[0];
  args[0] = too_large;
  r = tvmgo_any_none();
  CHECK_FAILS(tvmgo_vm_model_run(m, &o, 1, args, 4, &r), TVMGO_MEMORY_ERROR, "8192");
  args[0] = first;
  CHECK_OK(tvmgo_vm_model_run(m, &o, 1, args, 4, &r));
  tvmgo_any_clear(&r), tvmgo_any_clear(&one), tvmgo_any_clear(&too_large), tvmgo_any_clear(&first);
  tvmgo_vm_account_read(a, &now);
  CHECK_EQ_INT(now.live, 0);
  tvmgo_vm_account_release(a), tvmgo_vm_model_release(m);
}

/* main(x): inner(x, 10, 20), through two closures; and the pair of builtins for graphs. */
static void test_closures_and_graphs(void) {
  assembly a;
  begin_assembly(&a);
  int64_t tuple = add_function(&a, 0, "vm.builtin.make_tuple", 0, 0);
  int64_t make = add_function(&a, 0, "vm.builtin.make_closure", 0, 0);
  int64_t invoke = add_function(&a, 0, "vm.builtin.invoke_closure", 0, 0);
  int64_t alloc = add_function(&a, 0, "vm.builtin.cuda_graph.get_cached_alloc", 0, 0);
  int64_t capture = add_function(&a, 0, "vm.builtin.cuda_graph.run_or_capture", 0, 0);
  int64_t inner = add_function(&a, 1, "inner", 3, 4);
  EMIT_CALL(&a, inner, 3, tuple, 0, 1, 2);
  EMIT_RET(&a, inner, 3);
  int64_t main = add_function(&a, 1, "main", 1, 3);
  EMIT_CALL(&a, main, 1, make, FUNC(inner), IMM(10));
  EMIT_CALL(&a, main, 1, make, 1, IMM(20));
  EMIT_CALL(&a, main, 2, invoke, MACHINE, 1, 0);
  EMIT_RET(&a, main, 2);
  int64_t none = add_function(&a, 1, "none", 0, 1);
  EMIT_CALL(&a, none, 0, tuple, IMM(1), IMM(2), IMM(3));
  EMIT_RET(&a, none, 0);
  int64_t graph = add_function(&a, 1, "graph", 1, 2);
  EMIT_CALL(&a, graph, 1, alloc, MACHINE, FUNC(none), IMM(0));
  EMIT_CALL(&a, graph, 1, capture, MACHINE, 0, 1, IMM(0));
  EMIT_RET(&a, graph, 1);
  int64_t wrong = add_function(&a, 1, "wrong", 1, 2);
  EMIT_CALL(&a, wrong, 1, make, 0, IMM(10));
  EMIT_RET(&a, wrong, 1);
  int64_t get = add_function(&a, 1, "get", 0, 1);
  EMIT_CALL(&a, get, 0, make, FUNC(inner));
  EMIT_RET(&a, get, 0);
  tvmgo_vm_model* m = model_of(tvmgo_vm_program_new(&a.d));
  REQUIRE(m != NULL);
  TVMFFIAny r = tvmgo_any_none(), x = tvmgo_any_int(1), closure = tvmgo_any_none(), s = tvmgo_any_none();
  CHECK_OK(tvmgo_vm_model_run(m, NULL, main, &x, 1, &r));
  CHECK_STR(repr(r), "(1, 20, 10)"); /* as in Apache TVM: what was bound last comes first */
  tvmgo_any_clear(&r);
  CHECK_OK(tvmgo_vm_model_run(m, NULL, get, NULL, 0, &closure));
  CHECK_OK(CALL("vm.builtin.check_func_info", &s, closure, tvmgo_any_none()));
  CHECK_OK(tvmgo_vm_model_run(m, NULL, graph, &closure, 1, &r));
  CHECK_STR(repr(r), "(1, 2, 3)");
  tvmgo_any_clear(&r);
  CHECK_FAILS(tvmgo_vm_model_run(m, NULL, wrong, &x, 1, &r), TVMGO_TYPE_ERROR, "must be a closure");
  CHECK_FAILS(tvmgo_vm_model_run(m, NULL, graph, &x, 1, &r), TVMGO_TYPE_ERROR,
              "argument 1 must be a closure or a function, got int");
  tvmgo_any_clear(&closure);
  tvmgo_vm_model_release(m);
}

static void test_clear(void) {
  tvmgo_vm_account* a = tvmgo_vm_account_new(NULL, 0);
  tvmgo_workspace_stats before, after;
  const DLDevice cpu = {kDLCPU, 0};
  TVMFFIAny r;
  TVMFFIObject* s = tvmgo_vm_storage_new(a, cpu, 1 << 20, dtype("uint8").v_dtype, NULL);
  tvmgo_object_release(s);
  CHECK_OK(tvmgo_workspace_stats_of(cpu, &before));
  CHECK(before.held >= 1 << 20);
  CHECK_OK(call("vm.builtin.memory_manager.clear", NULL, 0, &r));
  CHECK_OK(tvmgo_workspace_stats_of(cpu, &after));
  CHECK(after.held <= before.held - (1 << 20));
  CHECK_FAILS(CALL("vm.builtin.memory_manager.clear", &r, tvmgo_any_int(1)), TVMGO_TYPE_ERROR, "");
  tvmgo_vm_account_release(a);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_alloc_storage);
  RUN(test_limit);
  RUN(test_closures_and_graphs);
  RUN(test_clear);
  return check_end();
}
