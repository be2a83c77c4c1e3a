/* Calls: a C function with two integers, and a generated function with three tensors. */
#include "program.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef BENCH_CLASSIC
#include <tvm/runtime/c_runtime_api.h>
#endif

static int add(void* handle, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)handle, (void)n;
  *result = bench_int(args[0].v_int64 + args[1].v_int64);
  return 0;
}

/* 64 functions with code of their own, so that the processor has to predict 64 targets of calls. */
#define ADD(n)                                                                               \
  static int add_##n(void* handle, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) { \
    (void)handle, (void)count;                                                               \
    *result = bench_int(args[0].v_int64 + args[1].v_int64 + 0##n);                           \
    return 0;                                                                                \
  }
#define NAME(n) add_##n,
#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define ALL(X) EIGHT(X, 0) EIGHT(X, 1) EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7)
ALL(ADD)
enum { MANY = 64 };
static const TVMFFISafeCallType many[MANY] = {ALL(NAME)};

static TVMFFIObjectHandle add_function, add_without_self, many_functions[MANY];
static TVMFFISafeCallType volatile add_address = add;

static void prepare_add(void) {
  static int self;
  if (add_function != NULL) return;
  bench_check(TVMFFIFunctionCreate(&self, add, NULL, &add_function), "create");
  bench_check(TVMFFIFunctionCreate(NULL, add, NULL, &add_without_self), "create");
}

static void call_add(TVMFFIObjectHandle f, int64_t n) {
  TVMFFIAny args[2] = {bench_int(1), bench_int(2)}, result;
  for (int64_t i = 0; i < n; i++) {
    args[0].v_int64 = i;
    result = (TVMFFIAny){0};
    bench_check(TVMFFIFunctionCall(f, args, 2, &result), "call");
  }
}

static void prepare_many(void) {
  static int self;
  if (many_functions[0] != NULL) return;
  for (int i = 0; i < MANY; i++) bench_check(TVMFFIFunctionCreate(&self, many[i], NULL, &many_functions[i]), "create");
}

static void call_many(int64_t n) {
  TVMFFIAny args[2] = {bench_int(1), bench_int(2)}, result;
  for (int64_t i = 0; i < n; i++) {
    args[0].v_int64 = i;
    result = (TVMFFIAny){0};
    bench_check(TVMFFIFunctionCall(many_functions[i % MANY], args, 2, &result), "call");
  }
}

static void call_two_ints(int64_t n) { call_add(add_function, n); }
static void call_without_self(int64_t n) { call_add(add_without_self, n); }

static void call_two_ints_directly(int64_t n) {
  TVMFFIAny args[2] = {bench_int(1), bench_int(2)}, result;
  for (int64_t i = 0; i < n; i++) {
    args[0].v_int64 = i;
    result = (TVMFFIAny){0};
    bench_check(add_address(NULL, args, 2, &result), "call");
  }
}

/* addone of a library with tensors of one element: as a function object, and called directly by its address. */
static TVMFFIAny addone, addone_args[2];
static TVMFFISafeCallType volatile addone_address;

static void prepare_addone(void) {
  if (addone_address != NULL) return;
  TVMFFIAny module = bench_load(bench_addone_so);
  addone = bench_module_function(module, "addone", 0);
  bench_release(module);
  for (int i = 0; i < 2; i++) addone_args[i] = bench_tensor(1, (DLDataType){kDLFloat, 32, 1}, (DLDevice){kDLCPU, 0});
  *(float*)TVMFFITensorGetDLTensorPtr(addone_args[0].v_obj)->data = 1;
  bench_call(addone.v_obj, addone_args, 2);
  if (*(float*)TVMFFITensorGetDLTensorPtr(addone_args[1].v_obj)->data != 2.0f) {
    fprintf(stderr, "bench: addone has a wrong result\n");
    exit(1);
  }
  void* file = dlopen(bench_addone_so, RTLD_LAZY);
  addone_address = file == NULL ? NULL : (TVMFFISafeCallType)dlsym(file, "__tvm_ffi_addone");
  bench_check(addone_address == NULL, "find addone");
}

static void call_addone(int64_t n) {
  TVMFFIAny result;
  for (int64_t i = 0; i < n; i++) {
    result = (TVMFFIAny){0};
    bench_check(TVMFFIFunctionCall(addone.v_obj, addone_args, 2, &result), "call addone");
  }
}

static void call_addone_directly(int64_t n) {
  TVMFFIAny result;
  for (int64_t i = 0; i < n; i++) {
    result = (TVMFFIAny){0};
    bench_check(addone_address(NULL, addone_args, 2, &result), "call addone");
  }
}

/* vadd, or another addition, with tensors of one element. */
typedef struct {
  TVMFFIAny function, args[3];
} vadd_call;

static vadd_call vadd_parallel, vadd_serial, fat, fat_variant;

static void prepare_adding(const char* file, const char* name, vadd_call* v) {
  TVMFFIAny module = bench_load(file);
  v->function = bench_module_function(module, name, 0);
  bench_release(module);
  for (int i = 0; i < 3; i++) {
    v->args[i] = bench_tensor(1, (DLDataType){kDLFloat, 32, 1}, (DLDevice){kDLCPU, 0});
    *(float*)TVMFFITensorGetDLTensorPtr(v->args[i].v_obj)->data = (float)(i + 1);
  }
  bench_call(v->function.v_obj, v->args, 3);
  if (*(float*)TVMFFITensorGetDLTensorPtr(v->args[2].v_obj)->data != 3.0f) {
    fprintf(stderr, "bench: %s of %s has a wrong result\n", name, file);
    exit(1);
  }
}

static void prepare_vadd_parallel(void) { prepare_adding(bench_multi_llvm_so, "vadd", &vadd_parallel); }
static void prepare_vadd_serial(void) { prepare_adding(bench_multi_c_so, "vadd", &vadd_serial); }
static void prepare_fat(void) { prepare_adding(bench_fat_so, "fatadd", &fat); }
static void prepare_fat_variant(void) { prepare_adding(bench_fat_so, "fatadd__c", &fat_variant); }

static void call_vadd(vadd_call* v, int64_t n) {
  TVMFFIAny result;
  for (int64_t i = 0; i < n; i++) {
    result = (TVMFFIAny){0};
    bench_check(TVMFFIFunctionCall(v->function.v_obj, v->args, 3, &result), "call vadd");
  }
}

static void call_vadd_parallel(int64_t n) { call_vadd(&vadd_parallel, n); }
static void call_vadd_serial(int64_t n) { call_vadd(&vadd_serial, n); }
static void call_fat(int64_t n) { call_vadd(&fat, n); }
static void call_fat_variant(int64_t n) { call_vadd(&fat_variant, n); }

#ifdef BENCH_CLASSIC
static int classic_add(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* resource) {
  (void)codes, (void)n, (void)resource;
  TVMValue sum = {.v_int64 = args[0].v_int64 + args[1].v_int64};
  int code = kTVMArgInt;
  return TVMCFuncSetReturn(ret, &sum, &code, 1);
}

static TVMFunctionHandle classic_function;

static void prepare_classic_callback(void) {
  bench_check(TVMFuncCreateFromCFunc(classic_add, NULL, NULL, &classic_function), "create");
}

static void classic_call(TVMFunctionHandle f, int64_t n) {
  TVMValue args[2] = {{.v_int64 = 1}, {.v_int64 = 2}}, result;
  int codes[2] = {kTVMArgInt, kTVMArgInt}, code;
  for (int64_t i = 0; i < n; i++) {
    args[0].v_int64 = i;
    bench_check(TVMFuncCall(f, args, codes, 2, &result, &code), "call");
  }
}

static void classic_two_ints(int64_t n) { classic_call(add_function, n); }
static void classic_callback(int64_t n) { classic_call(classic_function, n); }
#endif

const bench_row bench_call_rows[] = {
    {"call", prepare_add, call_two_ints},
    {"call-64", prepare_many, call_many},
    {"call-null", prepare_add, call_without_self},
    {"call-direct", NULL, call_two_ints_directly},
    {"addone", prepare_addone, call_addone},
    {"addone-direct", prepare_addone, call_addone_directly},
    {"vadd-parallel", prepare_vadd_parallel, call_vadd_parallel},
    {"vadd-serial", prepare_vadd_serial, call_vadd_serial},
    {"fat", prepare_fat, call_fat},
    {"fat-variant", prepare_fat_variant, call_fat_variant},
#ifdef BENCH_CLASSIC
    {"call-classic", prepare_add, classic_two_ints},
    {"call-classic-callback", prepare_classic_callback, classic_callback},
#endif
    {0},
};
