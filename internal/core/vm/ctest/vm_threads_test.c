/* What threads that run one model share: the state of a session, accounts, storages and arguments. */
#include "vm/ctest/programs.h"

#include "device/workspace_pool.h"
#include "vm/session_state.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8 };
static const DLDevice cpu = {kDLCPU, 0};
static const DLDataType u8 = {kDLUInt, 8, 1};

static tvmgo_vm_memory of(tvmgo_vm_account* a) {
  tvmgo_vm_memory m;
  tvmgo_vm_account_read(a, &m);
  return m;
}

static void on_a_thread(void* (*body)(void*), void* arg) {
  pthread_t t;
  REQUIRE(pthread_create(&t, NULL, body, arg) == 0);
  pthread_join(t, NULL);
}

static void on_threads(void* (*body)(void*), void* arg) {
  pthread_t t[THREADS];
  for (int i = 0; i < THREADS; i++) REQUIRE(pthread_create(&t[i], NULL, body, arg) == 0);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
}

/* ---- the state of a session ---- */

typedef struct {
  tvmgo_vm_value value;
  int64_t twice[2]; /* equal while the value exists */
} pair;
static _Atomic int dropped;

static pair* new_pair(int64_t v) {
  pair* p = calloc(1, sizeof *p);
  p->twice[0] = p->twice[1] = v;
  return p;
}
static void drop_pair(tvmgo_vm_value* v) {
  pair* p = (pair*)v;
  p->twice[0] = -1;
  free(p);
  dropped++;
}
static void replace(tvmgo_vm_current* c, int64_t v) {
  tvmgo_vm_current_retire(c, tvmgo_vm_current_swap(c, &new_pair(v)->value));
}

static void test_values_live_until_their_readers_leave(void) {
  uint32_t one, two;
  dropped = 0;
  tvmgo_vm_current* c = tvmgo_vm_current_new(drop_pair);
  REQUIRE(c != NULL);
  CHECK(tvmgo_vm_current_enter(c, &one) == NULL);
  tvmgo_vm_current_leave(c, one);
  replace(c, 1);
  pair* first = (pair*)tvmgo_vm_current_enter(c, &one);
  CHECK_EQ_INT(first->twice[1], 1);
  replace(c, 2);
  CHECK_EQ_INT(dropped, 0);
  pair* second = (pair*)tvmgo_vm_current_enter(c, &two);
  CHECK_EQ_INT(second->twice[1], 2);
  replace(c, 3); /* waits for the readers of both */
  CHECK_EQ_INT(first->twice[0], 1); /* asan looks */
  tvmgo_vm_current_leave(c, one);
  CHECK_EQ_INT(second->twice[0], 2);
  tvmgo_vm_current_leave(c, two);
  CHECK_EQ_INT(dropped, 2);
  replace(c, 4); /* nobody reads */
  CHECK_EQ_INT(dropped, 3);
  tvmgo_vm_current_free(c);
  CHECK_EQ_INT(dropped, 4);
}

static void* read_and_replace(void* arg) {
  tvmgo_vm_current* c = arg;
  int rounds = CHECK_TSAN || CHECK_ASAN ? 5000 : 50000;
  for (int i = 0; i < rounds; i++) {
    uint32_t slot, inner;
    const pair* p = (pair*)tvmgo_vm_current_enter(c, &slot);
    int64_t v = p->twice[0];
    const pair* q = (pair*)tvmgo_vm_current_enter(c, &inner);
    if (i % 16 == 0) replace(c, i);
    CHECK(p->twice[1] == v && q->twice[0] == q->twice[1]);
    tvmgo_vm_current_leave(c, inner);
    CHECK(p->twice[0] == v);
    tvmgo_vm_current_leave(c, slot);
  }
  return NULL;
}

static void test_values_are_replaced_while_threads_read(void) {
  dropped = 0;
  tvmgo_vm_current* c = tvmgo_vm_current_new(drop_pair);
  REQUIRE(c != NULL);
  replace(c, 0);
  on_threads(read_and_replace, c);
  replace(c, 1);
  int left = dropped;
  uint32_t slot;
  tvmgo_vm_current_enter(c, &slot);
  tvmgo_vm_current_leave(c, slot);
  CHECK_EQ_INT(dropped, left); /* all but the present one have been dropped when their readers left */
  tvmgo_vm_current_free(c);
  CHECK_EQ_INT(dropped, left + 1);
}

/* ---- accounts ---- */

static void* take_and_give(void* a) {
  CHECK_OK(tvmgo_vm_account_take(a, 400000));
  tvmgo_vm_account_give(a, 400000);
  return NULL;
}

/* What a slot keeps does not count, and no request fails for it. */
static void test_limits_with_bytes_in_slots(void) {
  tvmgo_vm_account* model = tvmgo_vm_account_new(NULL, 500000);
  tvmgo_vm_account* session = tvmgo_vm_account_new(model, 0);
  tvmgo_vm_account* other = tvmgo_vm_account_new(model, 0);
  CHECK_OK(tvmgo_vm_account_take(other, 1000)); /* this thread has another slot than those below */
  on_a_thread(take_and_give, session);
  CHECK_EQ_INT(of(session).live, 0);
  CHECK_EQ_INT(of(model).live, 1000);
  CHECK_EQ_INT(of(model).peak, 401000);
  CHECK_OK(tvmgo_vm_account_take(other, 450000)); /* the 400000 are collected */
  CHECK_FAILS(tvmgo_vm_account_take(session, 49001), "MemoryError",
              "49001 bytes exceed the memory limit of the model: 451000 of 500000 bytes are in use");
  CHECK_OK(tvmgo_vm_account_take(session, 49000));
  tvmgo_vm_account_set_limit(model, 100000);
  tvmgo_vm_account_give(session, 49000); /* not kept: the limit is exceeded */
  CHECK_FAILS(tvmgo_vm_account_take(session, 1), "MemoryError", "451000 of 100000 bytes are in use");
  tvmgo_vm_account_give(other, 450000);
  tvmgo_vm_account_give(other, 1000);
  CHECK_OK(tvmgo_vm_account_take(session, 100000));
  tvmgo_vm_account_give(session, 100000);
  tvmgo_vm_account_release(other);
  CHECK_EQ_INT(of(model).live, 0);
  CHECK_EQ_INT(of(model).taken, 5);
  CHECK_EQ_INT(of(model).storages, 0);
  tvmgo_vm_account_release(session);
  tvmgo_vm_account_release(model);
}

static void* give_one(void* a) {
  tvmgo_vm_account_give(a, 5000);
  return NULL;
}

/* A storage that another thread returns, before and after the account has lost its last reference. */
static void test_returns_on_other_threads(void) {
  tvmgo_vm_account* model = tvmgo_vm_account_new(NULL, 0);
  tvmgo_vm_account* session = tvmgo_vm_account_new(model, 0);
  for (int i = 0; i < 1000; i++) {
    CHECK_OK(tvmgo_vm_account_take(session, 5000));
    if (i % 100 == 0) on_a_thread(give_one, session);
    else give_one(session);
  }
  CHECK_EQ_INT(of(session).live, 0);
  CHECK(of(session).peak <= 2 << 20);
  CHECK_OK(tvmgo_vm_account_take(session, 5000));
  CHECK_OK(tvmgo_vm_account_take(session, 5000));
  tvmgo_vm_account_release(session);
  CHECK_EQ_INT(of(model).live, 10000);
  CHECK_OK(tvmgo_vm_account_take(session, 5000)); /* a tensor in a scope takes more for the storage that it is of */
  CHECK_EQ_INT(of(model).storages, 3);
  give_one(session);
  on_a_thread(give_one, session);
  CHECK_EQ_INT(of(model).live, 5000);
  CHECK_EQ_INT(of(model).storages, 1);
  give_one(session); /* the last one: asan looks */
  CHECK_EQ_INT(of(model).live, 0);
  CHECK_EQ_INT(of(model).taken, 1003);
  tvmgo_vm_account_release(model);
}

static void* close_sessions(void* model) {
  int rounds = CHECK_TSAN || CHECK_ASAN ? 300 : 3000;
  for (int i = 0; i < rounds; i++) {
    tvmgo_vm_account* a = tvmgo_vm_account_new(model, i % 3 == 0 ? 90000 : 0);
    int taken = 0;
    for (int k = 0; k < 4; k++) {
      if (tvmgo_vm_account_take(a, 30000) == 0) taken++;
      else tvmgo_object_release(tvmgo_error_take());
    }
    if (i % 2 == 0) tvmgo_vm_account_set_limit(a, 50000);
    tvmgo_vm_memory m = of(a);
    CHECK_EQ_INT(m.live, taken * 30000);
    if (i % 5 == 0) {
      tvmgo_vm_account_release(a);
      while (taken-- > 0) tvmgo_vm_account_give(a, 30000);
    } else {
      while (taken-- > 0) tvmgo_vm_account_give(a, 30000);
      tvmgo_vm_account_release(a);
    }
    CHECK(of(model).live <= 2000000);
  }
  return NULL;
}

static void test_hammer_of_accounts(void) {
  tvmgo_vm_account* model = tvmgo_vm_account_new(NULL, 0);
  tvmgo_vm_account_set_limit(model, 400000);
  on_threads(close_sessions, model);
  CHECK_EQ_INT(of(model).live, 0);
  CHECK_EQ_INT(of(model).storages, 0);
  CHECK(of(model).taken > 0 && of(model).peak <= 400000);
  tvmgo_vm_account_release(model);
}

/* ---- storages ---- */

static tvmgo_workspace_stats pool(void) {
  tvmgo_workspace_stats s;
  tvmgo_pool_stats(cpu, &s);
  return s;
}

static void* storage_of_20000(void* arg) {
  TVMFFIObject* s = tvmgo_vm_storage_new(NULL, cpu, 20000, u8, NULL);
  CHECK(s != NULL);
  if (arg != NULL) *(TVMFFIObject**)arg = s;
  else tvmgo_object_release(s);
  return NULL;
}

static void* storage_of_4000(void* arg) {
  TVMFFIObject* s = tvmgo_vm_storage_new(NULL, cpu, 4000, u8, NULL);
  CHECK(s != NULL && arg == NULL);
  tvmgo_object_release(s);
  return NULL;
}

/* Blocks that slots keep are idle, and trimming, limits and ages reach those of other threads. */
static void test_blocks_in_slots(void) {
  int64_t freed, old;
  CHECK_OK(tvmgo_workspace_trim_device(cpu, &freed));
  tvmgo_workspace_stats before = pool();
  CHECK_EQ_INT(before.held, 0);
  on_a_thread(storage_of_20000, NULL);
  CHECK_EQ_INT(pool().held, 20480);
  CHECK_EQ_INT(pool().in_use, 0);
  CHECK_EQ_INT(tvmgo_pool_idle(), 20480);
  on_a_thread(storage_of_20000, NULL); /* the next thread in this slot has it */
  CHECK_EQ_INT(pool().held, 20480);
  CHECK_EQ_INT(pool().hits - before.hits, 1);
  CHECK_EQ_INT(pool().misses - before.misses, 1);
  CHECK_OK(tvmgo_workspace_trim_device(cpu, &freed));
  CHECK_EQ_INT(freed, 20480);
  CHECK_EQ_INT(pool().held, 0);

  on_a_thread(storage_of_20000, NULL);
  CHECK_OK(tvmgo_workspace_set_limit(cpu, 40000, &old));
  TVMFFIObject* s = tvmgo_vm_storage_new(NULL, cpu, 32768, u8, NULL); /* what the other slot keeps must go */
  REQUIRE(s != NULL);
  CHECK_EQ_INT(pool().held, 32768);
  CHECK(tvmgo_vm_storage_new(NULL, cpu, 20000, u8, NULL) == NULL);
  CHECK_ERROR("MemoryError", "32768 of 40000 bytes are in use");
  on_a_thread(storage_of_4000, NULL);
  void* more = NULL; /* a block of 4096 bytes is kept by the other slot */
  CHECK_OK(tvmgo_pool_alloc(tvmgo_device_api(kDLCPU), cpu, 5120, NULL, &more));
  CHECK_EQ_INT(pool().held, 32768 + 5120);
  CHECK_OK(tvmgo_pool_free(cpu, more, NULL));
  CHECK_OK(tvmgo_workspace_set_limit(cpu, 0, &old));
  TVMFFIObject* t = NULL;
  on_a_thread(storage_of_20000, &t);
  tvmgo_object_release(t); /* on another thread than the one that made it */
  tvmgo_object_release(s);
  CHECK_EQ_INT(pool().in_use, 0);
  CHECK_EQ_INT(tvmgo_pool_age(2, &freed), 58368);
  CHECK_EQ_INT(tvmgo_pool_age(2, &freed), 58368);
  CHECK_EQ_INT(tvmgo_pool_age(2, &freed), 0);
  CHECK_EQ_INT(freed, 58368);
  CHECK_EQ_INT(pool().held, 0);
}

/* A slot keeps a megabyte at most. */
static void test_slots_are_bounded(void) {
  enum { MANY = 40 };
  TVMFFIObject* s[MANY];
  for (int i = 0; i < MANY; i++) s[i] = tvmgo_vm_storage_new(NULL, cpu, 65536, u8, NULL);
  for (int i = 0; i < MANY; i++) tvmgo_object_release(s[i]);
  int64_t freed;
  CHECK_EQ_INT(tvmgo_slots_idle(), 1 << 20);
  CHECK_EQ_INT(pool().in_use, 0);
  CHECK_EQ_INT(pool().held, MANY * 65536);
  CHECK_OK(tvmgo_workspace_trim_device(cpu, &freed));
  CHECK_EQ_INT(freed, MANY * 65536);
}

static int call_module(tvmgo_module* m, const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* f = NULL;
  if (tvmgo_module_get_function(m, name, strlen(name), 0, &f) != 0 || f == NULL) return -1;
  int rc = tvmgo_function_call(f, args, n, result);
  tvmgo_object_release(f);
  return rc;
}

/* ---- stacks ---- */

/* deep(f) calls the closure f with itself: without end, through C; once(f) calls id. */
static tvmgo_vm_program* endless(void) {
  assembly a;
  begin_assembly(&a);
  int64_t invoke = add_function(&a, 0, "test.invoke", 0, 0);
  int64_t deep = add_function(&a, 1, "deep", 1, 2);
  EMIT_CALL(&a, deep, 1, invoke, MACHINE, 0, 0);
  EMIT_RET(&a, deep, 1);
  int64_t start = add_function(&a, 1, "start", 0, 2);
  EMIT_CALL(&a, start, 1, deep, FUNC(deep));
  EMIT_RET(&a, start, 1);
  int64_t id = add_function(&a, 1, "id", 1, 1);
  EMIT_RET(&a, id, 0);
  int64_t once = add_function(&a, 1, "once", 1, 2);
  EMIT_CALL(&a, once, 1, invoke, MACHINE, FUNC(id), 0);
  EMIT_RET(&a, once, 1);
  return tvmgo_vm_program_new(&a.d);
}

typedef struct {
  tvmgo_vm_model* model;
  const char* error; /* of start */
} recursion;

static void* recur(void* arg) {
  const recursion* r = arg;
  for (int i = 0; i < 2; i++) { /* the thread is as usable as before */
    TVMFFIAny out = tvmgo_any_none(), x = tvmgo_any_int(7);
    CHECK_FAILS(tvmgo_vm_model_run(r->model, NULL, 2, NULL, 0, &out), TVMGO_RUNTIME_ERROR, r->error);
    CHECK_OK(tvmgo_vm_model_run(r->model, NULL, 4, &x, 1, &out));
    CHECK_EQ_INT(out.v_int64, 7);
  }
  return NULL;
}

static void on_a_stack(size_t size, recursion* r) {
  pthread_attr_t attr;
  pthread_t t;
  REQUIRE(pthread_attr_init(&attr) == 0);
  CHECK_OK(pthread_attr_setstacksize(&attr, size));
  REQUIRE(pthread_create(&t, &attr, recur, r) == 0);
  pthread_join(t, NULL);
  pthread_attr_destroy(&attr);
}

static void test_endless_recursion_on_any_stack(void) {
  static const char deep[] = "\"deep\" is called too deep: ";
  recursion r = {model_of(endless()), deep};
  REQUIRE(r.model != NULL);
  on_a_stack(256 << 10, &r);
  on_a_stack(128 << 10, &r);
  r.error = "KiB of stack left: does the recursion end?";
  on_a_stack(200 << 10, &r);
  r.error = "1000 calls are in progress through closures or other functions in C";
  on_a_stack(64 << 20, &r);
  on_a_stack(8 << 20, &r);
  tvmgo_vm_model_release(r.model);
}

/* ---- arguments ---- */

/* id(x) returns its argument, pair(x) a list of it twice, again(x) calls id, over(x) writes its argument's register. */
static tvmgo_vm_program* functions(void) {
  assembly a;
  begin_assembly(&a);
  int64_t list = add_function(&a, 0, "test.list", 0, 0), bind = add_function(&a, 0, "test.bind", 0, 0);
  int64_t invoke = add_function(&a, 0, "test.invoke", 0, 0);
  int64_t id = add_function(&a, 1, "id", 1, 1);
  EMIT_RET(&a, id, 0);
  int64_t twice = add_function(&a, 1, "pair", 1, 2);
  EMIT_CALL(&a, twice, 1, list, 0, 0);
  EMIT_RET(&a, twice, 1);
  int64_t again = add_function(&a, 1, "again", 1, 3);
  EMIT_CALL(&a, again, 1, id, 0);
  EMIT_CALL(&a, again, 2, id, 1);
  EMIT_RET(&a, again, 2);
  int64_t over = add_function(&a, 1, "over", 1, 2);
  EMIT_CALL(&a, over, 1, id, 0);
  EMIT_CALL(&a, over, 0, list, 0);
  EMIT_RET(&a, over, 1);
  int64_t outer = add_function(&a, 1, "outer", 1, 2); /* overwrites the register that it passes on */
  EMIT_CALL(&a, outer, 1, list, 0);
  EMIT_CALL(&a, outer, 1, over, 1);
  EMIT_CALL(&a, outer, 1, id, 1);
  EMIT_RET(&a, outer, 1);
  int64_t captures = add_function(&a, 1, "captures", 1, 3);
  EMIT_CALL(&a, captures, 1, bind, FUNC(id), 0);
  EMIT_CALL(&a, captures, 2, invoke, MACHINE, 1);
  EMIT_RET(&a, captures, 2);
  return tvmgo_vm_program_new(&a.d);
}

/* Arguments are counted right, whether the frame borrows them or not. */
static void test_arguments_are_counted(void) {
  int64_t objects = check_live(TVMGO_LIVE_OBJECTS);
  tvmgo_vm_model* m = model_of(functions());
  REQUIRE(m != NULL);
  static const int64_t kinds[] = {3, 4, 5, 6, 7, 8};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    TVMFFIAny x = tvmgo_any_object(tvmgo_array_new(NULL, 0)), r = tvmgo_any_none();
    CHECK_OK(tvmgo_vm_model_run(m, NULL, kinds[i], &x, 1, &r));
    uint64_t strong = (uint32_t)x.v_obj->combined_ref_count;
    CHECK_EQ_INT(strong, i == 1 ? 3 : 2); /* mine, and those of the result */
    tvmgo_any_clear(&x);
    CHECK_EQ_INT(r.type_index, kTVMFFIArray); /* asan looks */
    tvmgo_any_clear(&r);
    int64_t dims[1] = {2};
    int32_t numbers[2] = {7, 8};
    DLTensor view = {.data = numbers, .device = cpu, .ndim = 1, .dtype = {kDLInt, 32, 1}, .shape = dims};
    x = (TVMFFIAny){.type_index = kTVMFFIDLTensorPtr, .v_ptr = &view};
    CHECK_OK(tvmgo_vm_model_run(m, NULL, kinds[i], &x, 1, &r)); /* a copy, of which nobody else has a reference */
    tvmgo_any_clear(&r);
  }
  tvmgo_vm_model_release(m);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), objects);
}

/* ---- many calls ---- */

/* like(x) returns a new tensor of the shape of x, which may have any two dimensions. */
static tvmgo_vm_program* allocating(void) {
  enum { STORE = 1, LOAD = 1 };
  assembly a;
  begin_assembly(&a);
  a.d.num_constants = 2;
  int64_t heap = add_function(&a, 0, "vm.builtin.alloc_shape_heap", 0, 0);
  int64_t match = add_function(&a, 0, "vm.builtin.match_shape", 0, 0);
  int64_t shape = add_function(&a, 0, "vm.builtin.make_shape", 0, 0);
  int64_t storage = add_function(&a, 0, "vm.builtin.alloc_storage", 0, 0);
  int64_t tensor = add_function(&a, 0, "vm.builtin.alloc_tensor", 0, 0);
  int64_t like = add_function(&a, 1, "like", 1, 5);
  EMIT_CALL(&a, like, 1, heap, MACHINE, IMM(2));
  EMIT_CALL(&a, like, VOID_REGISTER, match, 0, 1, IMM(2), IMM(STORE), IMM(0), IMM(STORE), IMM(1));
  EMIT_CALL(&a, like, 2, shape, 1, IMM(2), IMM(LOAD), IMM(0), IMM(LOAD), IMM(1));
  EMIT_CALL(&a, like, 3, storage, MACHINE, 2, IMM(-1), CONST(0), CONST(1));
  EMIT_CALL(&a, like, 4, tensor, 3, IMM(0), 2, CONST(0));
  EMIT_RET(&a, like, 4);
  tvmgo_vm_program* p = tvmgo_vm_program_new(&a.d);
  TVMFFIAny dtype = {.type_index = kTVMFFIDataType, .v_dtype = {kDLFloat, 32, 1}}, scope = raw("global");
  if (p != NULL) CHECK_OK(tvmgo_vm_program_add_value(p, &dtype) | tvmgo_vm_program_add_value(p, &scope));
  return p;
}

typedef struct {
  TVMFFIObject* function;
  int64_t calls; /* of each thread */
} many;

static void* call_with_changing_shapes(void* arg) {
  enum { KEPT = 3 };
  const many* job = arg;
  TVMFFIAny kept[KEPT] = {{0}};
  float data[1];
  for (int64_t i = 0; i < job->calls; i++) {
    uint32_t random = (uint32_t)(i * 2654435761u);
    int64_t dims[2] = {1 + (random >> 8) % 64, 1 + (random >> 16) % 300}; /* up to 75 KiB */
    DLTensor x = {.data = data, .device = cpu, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = dims};
    tvmgo_tensor* t = tvmgo_tensor_wrap(&x, NULL, NULL);
    TVMFFIAny view = tvmgo_any_object(t), *result = &kept[i % KEPT];
    tvmgo_any_clear(result);
    CHECK_OK(tvmgo_function_call(job->function, &view, 1, result));
    tvmgo_object_release(t);
    const DLTensor* y = tvmgo_tensor_dl(result->v_obj);
    CHECK(y->shape[0] == dims[0] && y->shape[1] == dims[1]);
    memset((char*)y->data + y->byte_offset, 1, (size_t)(dims[0] * dims[1] * 4));
  }
  for (int i = 0; i < KEPT; i++) tvmgo_any_clear(&kept[i]);
  return NULL;
}

/* Bytes of the process in physical memory. */
static int64_t resident(void) {
  long pages = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  if (f == NULL || fscanf(f, "%*d %ld", &pages) != 1) pages = 0;
  if (f != NULL) fclose(f);
  return pages * sysconf(_SC_PAGESIZE);
}

/* Memory stays flat, and every counter returns to what it was. TVMGO_TEST_ALL: a million calls. */
static void test_many_calls_with_changing_shapes(void) {
  int64_t objects = check_live(TVMGO_LIVE_OBJECTS), bytes = check_live(TVMGO_LIVE_TENSOR_BYTES), freed;
  int64_t calls = getenv("TVMGO_TEST_ALL") != NULL ? 1000000 : CHECK_TSAN || CHECK_ASAN ? 16000 : 100000;
  tvmgo_vm_program* p = allocating();
  REQUIRE(p != NULL);
  tvmgo_module* m = tvmgo_vm_session_new(p, NULL);
  tvmgo_vm_program_release(p);
  TVMFFIAny host[3] = {tvmgo_any_int(kDLCPU), tvmgo_any_int(0), tvmgo_any_int(2)}, r = tvmgo_any_none();
  REQUIRE(m != NULL && call_module(m, "vm_initialization", host, 3, &r) == 0);
  many job = {.calls = calls / THREADS / 8};
  CHECK_OK(tvmgo_module_get_function(m, "like", 4, 0, &job.function));
  REQUIRE(job.function != NULL);
  on_threads(call_with_changing_shapes, &job);
  int64_t warm = resident();
  for (int i = 0; i < 7; i++) on_threads(call_with_changing_shapes, &job);
  if (!CHECK_TSAN && !CHECK_ASAN) CHECK(resident() - warm < 16 << 20);
  tvmgo_vm_memory now = of(((vm_session*)m->self)->account);
  CHECK_EQ_INT(now.taken, job.calls * THREADS * 8);
  CHECK_EQ_INT(now.live, 0);
  CHECK_EQ_INT(now.storages, 0);
  CHECK(now.peak <= THREADS * (4 * 81920 + (1 << 20)));
  tvmgo_object_release(job.function);
  tvmgo_object_release(m);
  CHECK_EQ_INT(pool().in_use, 0);
  CHECK_OK(tvmgo_workspace_trim_device(cpu, &freed));
  CHECK_EQ_INT(pool().held, 0);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), objects);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_TENSOR_BYTES), bytes);
}

/* ---- forks ---- */

/* Uses everything that has a lock; 0 if all went well. */
static int use_session(tvmgo_module* m) {
  TVMFFIAny host[3] = {tvmgo_any_int(kDLCPU), tvmgo_any_int(0), tvmgo_any_int(2)}, none = tvmgo_any_none();
  TVMFFIAny args[2] = {raw("pair"), tvmgo_any_int(5)}, r = tvmgo_any_none();
  int rc = call_module(m, "vm_initialization", host, 3, &r) | call_module(m, "set_instrument", &none, 1, &r);
  rc |= call_module(m, "set_input", args, 2, &r) | call_module(m, "invoke_stateful", args, 1, &r);
  rc |= call_module(m, "pair", &args[1], 1, &r);
  if (rc != 0 || r.type_index != kTVMFFIArray) return 1;
  tvmgo_any_clear(&r);
  TVMFFIObject* s = tvmgo_vm_storage_new(((vm_session*)m->self)->account, cpu, 20000, u8, NULL);
  if (s == NULL) return 1;
  tvmgo_object_release(s);
  return 0;
}

static int child_can_use(tvmgo_module* m) {
  pid_t child = fork();
  if (child == 0) {
    alarm(60); /* a lock that is held for ever */
    int bad = use_session(m);
    tvmgo_object_release(m);
    _exit(bad);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

typedef struct {
  tvmgo_module* session;
  _Atomic int state; /* 1: the locks are held; 2: stop */
} forked;

static void* hold_locks(void* arg) {
  forked* f = arg;
  vm_session* s = f->session->self;
  uint32_t slot;
  tvmgo_vm_current_enter(s->state, &slot);
  pthread_mutex_lock(&s->lock);
  pthread_mutex_lock(&s->program->lock);
  pthread_mutex_lock(&s->state->lock);
  f->state = 1;
  while (f->state == 1) usleep(1000);
  pthread_mutex_unlock(&s->state->lock);
  pthread_mutex_unlock(&s->program->lock);
  pthread_mutex_unlock(&s->lock);
  tvmgo_vm_current_leave(s->state, slot);
  return NULL;
}

static void* use_until_stopped(void* arg) {
  forked* f = arg;
  while (f->state != 2) CHECK_EQ_INT(use_session(f->session), 0);
  return NULL;
}

/* A child made while other threads of the parent are inside of a session uses this session. */
static void test_forked_child(void) {
  if (CHECK_TSAN) SKIP("ThreadSanitizer reports mutexes that a child initializes again");
  pthread_t t, u;
  tvmgo_vm_program* p = functions();
  REQUIRE(p != NULL);
  forked f = {tvmgo_vm_session_new(p, NULL), 0};
  tvmgo_vm_program_release(p);
  REQUIRE(f.session != NULL && use_session(f.session) == 0);
  REQUIRE(pthread_create(&t, NULL, hold_locks, &f) == 0);
  while (f.state == 0) usleep(1000);
  CHECK(child_can_use(f.session));
  f.state = 2;
  pthread_join(t, NULL);
  f.state = 0;
  REQUIRE(pthread_create(&t, NULL, use_until_stopped, &f) == 0 && pthread_create(&u, NULL, use_until_stopped, &f) == 0);
  for (int i = 0; i < 20; i++) CHECK(child_can_use(f.session));
  f.state = 2;
  pthread_join(t, NULL);
  pthread_join(u, NULL);
  CHECK_EQ_INT(use_session(f.session), 0);
  tvmgo_object_release(f.session);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  tvmgo_idle_set_time(0); /* the tests count what is idle */
  register_test_functions();
  RUN(test_values_live_until_their_readers_leave);
  RUN(test_values_are_replaced_while_threads_read);
  RUN(test_limits_with_bytes_in_slots);
  RUN(test_returns_on_other_threads);
  RUN(test_hammer_of_accounts);
  RUN(test_blocks_in_slots);
  RUN(test_slots_are_bounded);
  RUN(test_endless_recursion_on_any_stack);
  RUN(test_arguments_are_counted);
  RUN(test_many_calls_with_changing_shapes);
  RUN(test_forked_child);
  return check_end();
}
