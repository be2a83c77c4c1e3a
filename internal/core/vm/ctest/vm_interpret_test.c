/* The interpreter: each kind of instruction and operand, frames, closures, errors, many threads. */
#include "vm/ctest/programs.h"

#include <pthread.h>

static int run_ints(tvmgo_vm_model* m, int64_t f, const TVMFFIAny* args, int32_t n, int64_t* out) {
  TVMFFIAny r = tvmgo_any_none();
  int rc = tvmgo_vm_model_run(m, NULL, f, args, n, &r);
  *out = r.type_index == kTVMFFIInt ? r.v_int64 : INT64_MIN;
  tvmgo_any_clear(&r);
  return rc;
}

/* sum(n) = n == 0 ? 0 : n + sum(n - 1), and a loop that does the same with Goto. */
static tvmgo_vm_program* sums(void) {
  assembly a;
  begin_assembly(&a);
  int64_t add = add_function(&a, 0, "test.add", 0, 0);
  int64_t sum = add_function(&a, 1, "sum", 1, 4);
  add_param(&a, "n");
  EMIT_IF(&a, sum, 0, 5);
  EMIT_CALL(&a, sum, 1, add, 0, IMM(-1));
  EMIT_CALL(&a, sum, 2, sum, 1);
  EMIT_CALL(&a, sum, 3, add, 0, 2);
  EMIT_RET(&a, sum, 3);
  EMIT_RET(&a, sum, 0);
  int64_t loop = add_function(&a, 1, "loop", 1, 2);
  EMIT_CALL(&a, loop, 1, add, IMM(0));
  EMIT_IF(&a, loop, 0, 4);
  EMIT_CALL(&a, loop, 1, add, 1, 0);
  EMIT_CALL(&a, loop, 0, add, 0, IMM(-1));
  EMIT_GOTO(&a, loop, -3);
  EMIT_RET(&a, loop, 1);
  return tvmgo_vm_program_new(&a.d);
}

static void test_recursion_and_loops(void) {
  tvmgo_vm_model* m = model_of(sums());
  REQUIRE(m != NULL);
  int64_t out, want[] = {0, 1, 55, 50005000};
  int64_t of[] = {0, 1, 10, 10000};
  for (int i = 0; i < 4; i++)
    for (int64_t f = 1; f <= 2; f++) {
      TVMFFIAny n = tvmgo_any_int(of[i]);
      CHECK_OK(run_ints(m, f, &n, 1, &out));
      CHECK_EQ_INT(out, want[i]);
    }
  tvmgo_vm_model_release(m);
}

static void test_infinite_recursion_is_an_error(void) {
  tvmgo_vm_model* m = model_of(sums());
  REQUIRE(m != NULL);
  int64_t out;
  TVMFFIAny n = tvmgo_any_int(-1);
  CHECK_FAILS(run_ints(m, 1, &n, 1, &out), TVMGO_RUNTIME_ERROR, "function \"sum\" is called too deep: 100000 calls");
  CHECK_FAILS(run_ints(m, 1, &n, 1, &out), TVMGO_RUNTIME_ERROR, "more calls: in function \"sum\", instruction 2");
  n = tvmgo_any_int(3);
  CHECK_OK(run_ints(m, 1, &n, 1, &out));
  CHECK_EQ_INT(out, 6);
  tvmgo_vm_model_release(m);
}

static void test_errors_say_where(void) {
  tvmgo_vm_model* m = model_of(sums());
  REQUIRE(m != NULL);
  int64_t out;
  TVMFFIAny text = raw("abc");
  CHECK_FAILS(run_ints(m, 1, &text, 1, &out), TVMGO_TYPE_ERROR,
              "in function \"sum\", instruction 0 (if %0, 5): the condition must be an int or a bool, it is of type");
  CHECK_FAILS(run_ints(m, 2, &text, 1, &out), TVMGO_TYPE_ERROR, "in function \"loop\", instruction 1 (if %0, 4)");
  CHECK_FAILS(run_ints(m, 1, NULL, 0, &out), TVMGO_TYPE_ERROR,
              "function \"sum\" expects 1 argument (n), but 0 were given");
  TVMFFIAny two[] = {text, text};
  CHECK_FAILS(run_ints(m, 1, two, 2, &out), TVMGO_TYPE_ERROR, "but 2 were given");
  tvmgo_vm_model_release(m);
}

/* Every kind of operand, a dropped result, and objects that must be counted right. */
static void test_operands(void) {
  assembly a;
  begin_assembly(&a);
  int64_t list = add_function(&a, 0, "test.list", 0, 0);
  int64_t one = add_function(&a, 1, "pair", 1, 2);
  EMIT_CALL(&a, one, VOID_REGISTER, list, 0, 0);
  EMIT_CALL(&a, one, 1, list, 0, IMM(-5), CONST(0), CONST(1), VOID_REGISTER, FUNC(1), FUNC(0));
  EMIT_CALL(&a, one, 0, list, 1, 1);
  EMIT_RET(&a, one, 0);
  int64_t none = add_function(&a, 1, "none", 0, 0);
  EMIT_RET(&a, none, VOID_REGISTER);
  a.d.num_constants = 2;
  tvmgo_vm_program* p = tvmgo_vm_program_new(&a.d);
  REQUIRE(p != NULL);
  float data[3] = {1, 2, 3};
  int64_t shape[] = {3};
  TVMFFIAny text = raw("a longer text than seven bytes");
  CHECK_OK(tvmgo_vm_program_add_tensor(p, (DLDataType){kDLFloat, 32, 1}, shape, 1, data, sizeof data, ""));
  CHECK_OK(tvmgo_vm_program_add_value(p, &text));
  CHECK_FAILS(tvmgo_vm_program_add_value(p, &text), TVMGO_VALUE_ERROR, "has 2 already");
  tvmgo_vm_model* m = model_of(p);
  REQUIRE(m != NULL);
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny r = tvmgo_any_none(), arg = raw("another text of many bytes");
  CHECK_OK(tvmgo_vm_model_run(m, NULL, 1, &arg, 1, &r));
  REQUIRE(r.type_index == kTVMFFIArray);
  const TVMFFIAny* inner = tvmgo_seq_cell(r.v_obj)->data;
  const TVMFFIAny* items = tvmgo_seq_cell(inner[1].v_obj)->data;
  CHECK_EQ_INT(tvmgo_seq_cell(inner[1].v_obj)->size, 7);
  CHECK_EQ_INT(items[1].v_int64, -5);
  CHECK_EQ_INT(((float*)tvmgo_tensor_dl(items[2].v_obj)->data)[2], 3);
  CHECK_STR(stringify(items[3]), "\"a longer text than seven bytes\"");
  CHECK_EQ_INT(items[4].type_index, kTVMFFINone);
  CHECK_STR(tvmgo_type_name(items[5].type_index), "relax.vm.Closure");
  CHECK_EQ_INT(items[6].type_index, kTVMFFIFunction);
  tvmgo_any_clear(&r);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
  CHECK_OK(tvmgo_vm_model_run(m, NULL, none, NULL, 0, &r));
  CHECK_EQ_INT(r.type_index, kTVMFFINone);
  tvmgo_vm_model_release(m);
}

/* outer(x) = invoke(bind(inner, x), 1, 2), where inner(a, b, c) = [a, b, c]. */
static tvmgo_vm_program* closures(void) {
  assembly a;
  begin_assembly(&a);
  int64_t list = add_function(&a, 0, "test.list", 0, 0), bind = add_function(&a, 0, "test.bind", 0, 0);
  int64_t invoke = add_function(&a, 0, "test.invoke", 0, 0);
  int64_t inner = add_function(&a, 1, "inner", 3, 4);
  EMIT_CALL(&a, inner, 3, list, 0, 1, 2);
  EMIT_RET(&a, inner, 3);
  int64_t outer = add_function(&a, 1, "outer", 1, 3);
  EMIT_CALL(&a, outer, 1, bind, FUNC(3), 0);
  EMIT_CALL(&a, outer, 2, invoke, MACHINE, 1, IMM(1), IMM(2));
  EMIT_RET(&a, outer, 2);
  int64_t make = add_function(&a, 1, "make", 2, 3);
  EMIT_CALL(&a, make, 2, bind, FUNC(3), 0);
  EMIT_CALL(&a, make, 2, bind, 2, 1);
  EMIT_RET(&a, make, 2);
  int64_t forever = add_function(&a, 1, "forever", 0, 1);
  EMIT_CALL(&a, forever, 0, invoke, MACHINE, FUNC(6));
  EMIT_RET(&a, forever, 0);
  int64_t wrong = add_function(&a, 1, "wrong", 1, 1);
  EMIT_CALL(&a, wrong, 0, invoke, 0, FUNC(6));
  EMIT_RET(&a, wrong, 0);
  return tvmgo_vm_program_new(&a.d);
}

static void* call_from_thread(void* closure) {
  TVMFFIAny r = tvmgo_any_none(), args[] = {tvmgo_any_none(), tvmgo_any_int(7)};
  TVMFFIObject* impl = *(TVMFFIObject**)((char*)closure + sizeof(TVMFFIObject) + sizeof(TVMFFIAny));
  CHECK_OK(TVMFFIFunctionCall(impl, args, 2, &r));
  CHECK_STR(stringify(r), "[7,6,5]");
  tvmgo_any_clear(&r);
  return NULL;
}

static void test_closures(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  tvmgo_vm_model* m = model_of(closures());
  REQUIRE(m != NULL);
  TVMFFIAny r = tvmgo_any_none(), x[] = {tvmgo_any_int(5), tvmgo_any_int(6)};
  CHECK_OK(tvmgo_vm_model_run(m, NULL, 4, x, 1, &r));
  CHECK_STR(stringify(r), "[1,2,5]");
  tvmgo_any_clear(&r);
  CHECK_FAILS(tvmgo_vm_model_run(m, NULL, 6, NULL, 0, &r), TVMGO_RUNTIME_ERROR, "is called too deep");
  CHECK_FAILS(tvmgo_vm_model_run(m, NULL, 7, x, 1, &r), TVMGO_TYPE_ERROR, "must be the virtual machine");
  TVMFFIAny no_machine = tvmgo_any_ptr(m);
  CHECK_FAILS(tvmgo_vm_model_run(m, NULL, 7, &no_machine, 1, &r), TVMGO_TYPE_ERROR, "must be the virtual machine");
  /* A closure lives longer than the model that made it, and is called by other threads. */
  CHECK_OK(tvmgo_vm_model_run(m, NULL, 5, x, 2, &r));
  tvmgo_vm_model_release(m);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, call_from_thread, r.v_obj);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  tvmgo_any_clear(&r);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

static void test_missing_function(void) {
  assembly a;
  begin_assembly(&a);
  int64_t nope = add_function(&a, 0, "nope.fn", 0, 0);
  int64_t f = add_function(&a, 1, "main", 0, 1);
  EMIT_CALL(&a, f, 0, nope);
  EMIT_RET(&a, f, 0);
  add_function(&a, 2, "compiled", 0, 1);
  DLDevice cpu = {kDLCPU, 0}, cuda = {kDLCUDA, 0};
  tvmgo_vm_program* p = tvmgo_vm_program_new(&a.d);
  REQUIRE(p != NULL);
  CHECK_FAILS(tvmgo_vm_model_new(p, NULL, &cpu, 1) == NULL ? -1 : 0, TVMGO_NOT_FOUND_ERROR,
              "function \"nope.fn\" is missing: function \"main\" of the module of kind \"relax.VMExecutable\"");
  CHECK_FAILS(tvmgo_vm_model_new(p, NULL, &cuda, 1) == NULL ? -1 : 0, TVMGO_VALUE_ERROR, "the host (cpu) last");
  tvmgo_vm_program_release(p);
  a.functions[0].kind = 1;
  a.functions[0].registers = 1;
  a.functions[0].end = 0;
  CHECK_FAILS(tvmgo_vm_program_new(&a.d) == NULL ? -1 : 0, TVMGO_CORRUPT_ERROR, "has no instructions");
}

/* Each changed word of a program is refused, or gives a program that the interpreter can run. */
static void test_every_changed_word(void) {
  assembly a;
  const int64_t values[] = {-1, 0, 1, 2, 3, 4, 5, 7, 100, 1 << 20, INT64_C(1) << 40, VOID_REGISTER, MACHINE, IMM(3),
                            CONST(0), FUNC(1), FUNC(9), INT64_MIN, INT64_MAX};
  for (int64_t w = 0; w < 18; w++)
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
      begin_assembly(&a);
      int64_t add = add_function(&a, 0, "test.add", 0, 0), f = add_function(&a, 1, "f", 1, 2);
      EMIT_IF(&a, f, 0, 3);
      EMIT_CALL(&a, f, 1, add, 0, IMM(-1));
      EMIT_CALL(&a, f, 0, f, 1);
      EMIT_RET(&a, f, 0);
      REQUIRE(a.d.num_words == 16);
      if (w < 16) a.words[w] = values[k];
      else a.offsets[w - 15] = values[k];
      tvmgo_vm_program* p = tvmgo_vm_program_new(&a.d);
      if (p == NULL) {
        tvmgo_object_release(tvmgo_error_take());
        continue;
      }
      tvmgo_vm_model* m = model_of(p);
      TVMFFIAny n = tvmgo_any_int(4), r = tvmgo_any_none();
      if (m != NULL && tvmgo_vm_model_run(m, NULL, 1, &n, 1, &r) != 0) tvmgo_object_release(tvmgo_error_take());
      tvmgo_any_clear(&r);
      tvmgo_vm_model_release(m);
    }
}

static int64_t told;
static int instrument(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  told += 1 + (args[2].v_int64 == 0 ? 100 : 0);
  if (self != NULL) *result = tvmgo_any_int(1);
  return 0;
}

static void test_instrument(void) {
  tvmgo_vm_model* m = model_of(sums());
  REQUIRE(m != NULL);
  for (int skip = 0; skip < 2; skip++) {
    TVMFFIObjectHandle f = NULL;
    told = 0;
    REQUIRE(TVMFFIFunctionCreate(skip ? &told : NULL, instrument, NULL, &f) == 0);
    tvmgo_vm_options o = {.instrument = f};
    TVMFFIAny n = tvmgo_any_int(2), r = tvmgo_any_none();
    CHECK_OK(tvmgo_vm_model_run(m, &o, 1, &n, 1, &r));
    CHECK_EQ_INT(told, skip ? 3 : 6 * 2 + 600);
    CHECK_EQ_INT(r.type_index == kTVMFFIInt ? r.v_int64 : -1, skip ? -1 : 3);
    tvmgo_any_clear(&r);
    tvmgo_object_release(f);
  }
  tvmgo_vm_model_release(m);
}

static void* hammer(void* model) {
  for (int i = 0; i < 200; i++) {
    int64_t out;
    TVMFFIAny n = tvmgo_any_int(i % 40);
    CHECK_OK(run_ints(model, 1 + i % 2, &n, 1, &out));
    CHECK_EQ_INT(out, (int64_t)(i % 40) * (i % 40 + 1) / 2);
    DLDevice cpu = {kDLCPU, 0};
    if (i % 20 == 0) {
      TVMFFIAny minus = tvmgo_any_ptr(&cpu);
      CHECK_FAILS(run_ints(model, 1, &minus, 1, &out), TVMGO_TYPE_ERROR, "condition");
    }
  }
  return NULL;
}

static void test_many_threads(void) {
  tvmgo_vm_model* m = model_of(sums());
  REQUIRE(m != NULL);
  pthread_t threads[64];
  for (int i = 0; i < 64; i++) pthread_create(&threads[i], NULL, hammer, m);
  for (int i = 0; i < 64; i++) pthread_join(threads[i], NULL);
  tvmgo_vm_model_release(m);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  register_test_functions();
  RUN(test_recursion_and_loops);
  RUN(test_infinite_recursion_is_an_error);
  RUN(test_errors_say_where);
  RUN(test_operands);
  RUN(test_closures);
  RUN(test_missing_function);
  RUN(test_every_changed_word);
  RUN(test_instrument);
  RUN(test_many_threads);
  return check_end();
}
