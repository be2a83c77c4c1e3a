/* Sixteen threads use the core at once, each in its own order on the same names and objects. */
#include "ctest/check.h"

#include <pthread.h>

enum { THREADS = 16, NAMES = 8 };

static int rounds(void) { return CHECK_TSAN || CHECK_ASAN ? 300 : 3000; }

static const char* const names[NAMES] = {"hammer.a", "hammer.b", "hammer.c", "hammer.d",
                                         "hammer.e", "hammer.f", "hammer.g", "hammer.h"};

static _Atomic int64_t made, ended, calls;

static int answer(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
  if (n == 1 && args[0].type_index == kTVMFFINone)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "answer of %" PRIdPTR, (intptr_t)self);
  *result = tvmgo_any_int((intptr_t)self);
  return 0;
}

static int classic_answer(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* self) {
  (void)args, (void)codes, (void)n;
  TVMValue v = {.v_int64 = (intptr_t)self};
  int code = kTVMArgInt;
  atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
  return TVMCFuncSetReturn(ret, &v, &code, 1);
}

static void end(void* self) {
  (void)self;
  atomic_fetch_add_explicit(&ended, 1, memory_order_relaxed);
}

static TVMFFIObject* make_function(intptr_t id) {
  TVMFFIObjectHandle f = NULL;
  if (id % 2 != 0) {
    f = tvmgo_function_of_callback(classic_answer, (void*)id, end);
  } else if (TVMFFIFunctionCreate((void*)id, answer, end, &f) != 0) {
    return NULL;
  }
  atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
  return f;
}

static void call(TVMFFIObject* f) {
  TVMFFIAny arg = tvmgo_any_int(1), result = tvmgo_any_none();
  CHECK_OK(TVMFFIFunctionCall(f, &arg, 1, &result));
  CHECK_EQ_INT(result.type_index, kTVMFFIInt);
  CHECK(result.v_int64 > 0);
}

static void call_classic(TVMFFIObject* f) {
  TVMValue arg = {.v_int64 = 1}, ret;
  int code = kTVMArgInt, ret_code;
  CHECK_OK(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code));
  CHECK_EQ_INT(ret_code, kTVMArgInt);
}

/* An error raised here stays here, whatever the others raise. */
static void fail(TVMFFIObject* f, intptr_t id) {
  if (id % 2 != 0) return;
  char want[64];
  snprintf(want, sizeof want, "answer of %" PRIdPTR, id);
  TVMFFIAny none = tvmgo_any_none(), result = tvmgo_any_none();
  CHECK_FAILS(TVMFFIFunctionCall(f, &none, 1, &result), TVMGO_TYPE_ERROR, want);
}

static void* use_globals(void* arg) {
  intptr_t id = (intptr_t)arg;
  unsigned seed = (unsigned)id;
  for (int i = 0; i < rounds(); i++) {
    seed = seed * 1103515245 + 12345;
    const char* name = names[seed >> 16 & (NAMES - 1)];
    switch (seed >> 24 & 7) {
      case 0: {
        TVMFFIObject* f = make_function(id);
        if (f == NULL) return NULL;
        CHECK_OK(tvmgo_global_set(name, strlen(name), f, 1));
        call(f);
        fail(f, id);
        tvmgo_object_release(f);
        break;
      }
      case 1: {
        TVMFFIObject* f = make_function(id);
        if (f == NULL) return NULL;
        if (tvmgo_global_set(name, strlen(name), f, 0) != 0)
          CHECK_ERROR(TVMGO_RUNTIME_ERROR, name);
        tvmgo_object_release(f);
        break;
      }
      case 2: tvmgo_global_remove(name, strlen(name)); break;
      case 3: {
        if (i % 16 != 0) break;
        TVMFFIObject* all = tvmgo_global_names();
        CHECK(all != NULL);
        tvmgo_object_release(all);
        break;
      }
      default: {
        TVMFFIObject* f = tvmgo_global_get(name, strlen(name));
        if (f == NULL) break;
        call(f);
        call_classic(f);
        tvmgo_object_release(f);
      }
    }
  }
  return NULL;
}

/* Scratch memory, parallel launches and objects at the same time. */
static int sum_ids(int id, TVMParallelGroupEnv* env, void* cdata) {
  (void)env;
  char* p = TVMBackendAllocWorkspace(kDLCPU, 0, 3000 + (uint64_t)id * 5000, kDLFloat, 32);
  if (p == NULL) return -1;
  memset(p, id, 3000);
  atomic_fetch_add((_Atomic int*)cdata, id + 1);
  return TVMBackendFreeWorkspace(kDLCPU, 0, p);
}

static void* use_everything(void* arg) {
  intptr_t id = (intptr_t)arg;
  for (int i = 0; i < rounds() / 10; i++) {
    _Atomic int sum = 0;
    CHECK_OK(TVMBackendParallelLaunch(sum_ids, &sum, 2));
    CHECK_EQ_INT(atomic_load(&sum), 3);
    void* p = TVMBackendAllocWorkspace(kDLCPU, 0, (uint64_t)(i % 50) * 1000, kDLInt, 8);
    TVMFFIObject* f = make_function(id);
    TVMFFIAny view = tvmgo_any_object(f);
    TVMFFIObject* array = tvmgo_array_new(&view, 1);
    CHECK(array != NULL);
    tvmgo_object_release(f);
    if (array != NULL) call(((TVMFFIAny*)tvmgo_seq_cell(array)->data)->v_obj);
    tvmgo_object_release(array);
    CHECK_OK(TVMBackendFreeWorkspace(kDLCPU, 0, p));
  }
  return NULL;
}

static void run_threads(void* (*body)(void*)) {
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; i++)
    REQUIRE(pthread_create(&threads[i], NULL, body, (void*)(i + 1)) == 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

/* All objects are freed, whichever thread made them. */
static void check_back_to(const int64_t before[TVMGO_LIVE_KINDS]) {
  int64_t after[TVMGO_LIVE_KINDS];
  tvmgo_live_snapshot(after);
  for (int k = 0; k < TVMGO_LIVE_KINDS; k++)
    if (k != TVMGO_LIVE_WORKSPACE_CACHED) CHECK_EQ_INT(after[k], before[k]);
  CHECK_EQ_INT(atomic_load(&ended), atomic_load(&made));
  CHECK(atomic_load(&calls) > 0);
}

static void test_globals(void) {
  int64_t before[TVMGO_LIVE_KINDS];
  tvmgo_live_snapshot(before);
  run_threads(use_globals);
  for (int i = 0; i < NAMES; i++) tvmgo_global_remove(names[i], strlen(names[i]));
  check_back_to(before);
}

static void test_everything(void) {
  int64_t before[TVMGO_LIVE_KINDS];
  tvmgo_live_snapshot(before);
  run_threads(use_everything);
  check_back_to(before);
}

/* Threads that end at once, each with an error left in its slot and workspaces cached. */
static void* short_life(void* arg) {
  tvmgo_raise(TVMGO_VALUE_ERROR, "left behind by %p", arg);
  TVMBackendFreeWorkspace(kDLCPU, 0, TVMBackendAllocWorkspace(kDLCPU, 0, 10000, kDLInt, 8));
  return NULL;
}

static void test_short_threads(void) {
  int64_t before[TVMGO_LIVE_KINDS];
  tvmgo_live_snapshot(before);
  for (int i = 0; i < 20; i++) run_threads(short_life);
  check_back_to(before);
}

int main(int argc, char** argv) {
  setenv("TVM_NUM_THREADS", "3", 1);
  check_begin(argc, argv);
  RUN(test_globals);
  RUN(test_everything);
  RUN(test_short_threads);
  return check_end();
}
