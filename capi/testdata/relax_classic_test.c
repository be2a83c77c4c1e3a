/* Relax executables through the classic C ABI. */
#include <tvm/ffi/c_api.h>
#include <tvm/runtime/c_runtime_api.h>

#include "relax_test.h"

typedef struct {
  TVMValue v;
  int code;
} any;

static void drop(any a) {
  if (a.code == kTVMNDArrayHandle) TVMArrayFree(a.v.v_handle);
  if (a.code == kTVMObjectHandle) TVMObjectFree(a.v.v_handle);
  if (a.code == kTVMModuleHandle) TVMModFree(a.v.v_handle);
  if (a.code == kTVMPackedFuncHandle) TVMFuncFree(a.v.v_handle);
}

/* Returns none, and counts a failure unless may_fail, when the call fails. A text is valid until the next call. */
static any call(TVMFunctionHandle f, const any* args, int n, int may_fail, int* failed) {
  TVMValue values[16];
  int codes[16];
  any r = {.code = kTVMNullptr};
  for (int i = 0; i < n; i++) values[i] = args[i].v, codes[i] = args[i].code;
  int rc = TVMFuncCall(f, values, codes, n, &r.v, &r.code);
  if (rc != 0) r.code = kTVMNullptr;
  if (rc != 0 && !may_fail) FAIL("%s", TVMGetLastError());
  if (failed != NULL) *failed = rc != 0;
  return r;
}

static any global(const char* name, const any* args, int n) {
  TVMFunctionHandle f = NULL;
  any r = {.code = kTVMNullptr};
  if (TVMFuncGetGlobal(name, &f) != 0 || f == NULL)
    FAIL("there is no %s", name);
  else
    r = call(f, args, n, 0, NULL);
  TVMFuncFree(f);
  return r;
}

static any method(TVMModuleHandle m, const char* name, const any* args, int n) {
  TVMFunctionHandle f = NULL;
  any r = {.code = kTVMNullptr};
  if (TVMModGetFunction(m, name, 0, &f) != 0 || f == NULL)
    FAIL("there is no %s", name);
  else
    r = call(f, args, n, 0, NULL);
  TVMFuncFree(f);
  return r;
}

static any integer(int64_t i) { return (any){{.v_int64 = i}, kTVMArgInt}; }

static any from(const value* v) {
  any items[16], a = {.code = kTVMNullptr};
  switch (v->kind) {
    case V_TENSOR: {
      TVMArrayHandle t = NULL;
      if (TVMArrayAlloc(v->dims, (int)v->n, v->dtype.code, v->dtype.bits, v->dtype.lanes, kDLCPU, 0, &t) != 0 ||
          TVMArrayCopyFromBytes(t, (void*)v->bytes, v->nbytes) != 0)
        FAIL("%s", TVMGetLastError());
      return (any){{.v_handle = t}, kTVMNDArrayHandle};
    }
    case V_TUPLE:
      for (int64_t i = 0; i < v->n; i++) items[i] = from(&v->items[i]);
      a = global("ffi.Array", items, (int)v->n);
      for (int64_t i = 0; i < v->n; i++) drop(items[i]);
      return a;
    case V_SHAPE:
      for (int64_t i = 0; i < v->n; i++) items[i] = integer(v->dims[i]);
      return global("ffi.Shape", items, (int)v->n);
    case V_INT: return integer(v->i);
    case V_BOOL: return (any){{.v_int64 = v->i}, kTVMArgBool};
    case V_FLOAT: return (any){{.v_float64 = v->f}, kTVMArgFloat};
    case V_TEXT: return (any){{.v_str = v->bytes}, kTVMStr};
    case V_DTYPE: return (any){{.v_type = v->dtype}, kTVMDataType};
  }
  return a;
}

static void compare_tensor(const value* want, TVMArrayHandle t, const char* what) {
  char* bytes = malloc(want->nbytes + 1);
  if (TVMArrayCopyToBytes(t, bytes, want->nbytes) != 0)
    FAIL("%s: %s", what, TVMGetLastError());
  else
    same_tensor(want, t, bytes, what);
  free(bytes);
}

/* As in TVM, TVMFuncCall returns a data type as its name. */
static int same_dtype(const DLDataType* want, const char* name) {
  DLDataType got = {0};
  TVMFFIByteArray text = {name, strlen(name)};
  return TVMFFIDataTypeFromString(&text, &got) == 0 && memcmp(&got, want, sizeof got) == 0;
}

static void compare(const value* want, any got, const char* what) {
  int good = 0;
  switch (want->kind) {
    case V_NONE: good = got.code == kTVMNullptr; break;
    case V_TENSOR:
      if ((good = got.code == kTVMNDArrayHandle)) compare_tensor(want, got.v.v_handle, what);
      break;
    case V_TUPLE:
      if (got.code != kTVMObjectHandle || global("ffi.ArraySize", &got, 1).v.v_int64 != want->n) break;
      for (int64_t i = 0; i < want->n; i++) {
        any item = global("ffi.ArrayGetItem", (any[]){got, integer(i)}, 2);
        compare(&want->items[i], item, what);
        drop(item);
      }
      good = 1;
      break;
    case V_SHAPE: {
      if (got.code != kTVMObjectHandle) break;
      any expected = from(want);
      good = global("ffi.StructuralEqual", (any[]){got, expected, integer(0), integer(0)}, 4).v.v_int64 == 1;
      drop(expected);
      break;
    }
    case V_INT: good = got.code == kTVMArgInt && got.v.v_int64 == want->i; break;
    case V_BOOL: good = (got.code == kTVMArgBool || got.code == kTVMArgInt) && got.v.v_int64 == want->i; break;
    case V_FLOAT: good = got.code == kTVMArgFloat && got.v.v_float64 == want->f; break;
    case V_TEXT: good = got.code == kTVMStr && strcmp(got.v.v_str, want->bytes) == 0; break;
    case V_DTYPE: good = got.code == kTVMStr && same_dtype(&want->dtype, got.v.v_str); break;
    case V_OBJECT: good = got.code == kTVMObjectHandle || got.code == kTVMPackedFuncHandle; break;
  }
  if (!good) FAIL("%s: a result of code %d differs from one of kind %d", what, got.code, (int)want->kind);
}

static void run_case(void* session, const call_case* c) {
  char what[256];
  snprintf(what, sizeof what, "%s through the classic ABI", c->function);
  TVMFunctionHandle f = NULL;
  if (TVMModGetFunction(session, c->function, 0, &f) != 0 || f == NULL) FAIL("%s: no such function", what);
  NEED(f != NULL);
  any args[16];
  for (int64_t i = 0; i < c->num_inputs; i++) args[i] = from(&c->inputs[i]);
  int failed;
  any result = call(f, args, (int)c->num_inputs, (int)c->fails, &failed);
  if (failed != (int)c->fails) FAIL("%s: the call %s", what, failed ? "fails" : "does not fail");
  if (failed && strlen(TVMGetLastError()) < 20) FAIL("%s: the error is %s", what, TVMGetLastError());
  if (!failed) compare(&c->output, result, what);
  for (int64_t i = 0; i < c->num_inputs; i++) {
    if (c->after[i].kind == V_TENSOR) compare_tensor(&c->after[i], args[i].v.v_handle, what);
    drop(args[i]);
  }
  drop(result);
  TVMFuncFree(f);
}

/* name is the function's name, after "wheelmodels." */
static int answer(TVMValue* args, int* codes, int n, TVMRetValueHandle out, void* name) {
  int64_t result = n;
  int code = kTVMArgInt;
  if (strcmp(name, "count") != 0) {
    if (n != 2 || codes[0] != kTVMArgInt || codes[1] != kTVMArgInt) {
      TVMAPISetLastError("TypeError: two integers are needed");
      return -1;
    }
    int64_t a = args[0].v_int64, b = args[1].v_int64;
    result = strcmp(name, "less") == 0 ? a < b : a + b;
  }
  return TVMCFuncSetReturn(out, &(TVMValue){.v_int64 = result}, &code, 1);
}

void register_globals(void) {
  for (int i = 0; i < 3; i++) {
    char *names[] = {"wheelmodels.count", "wheelmodels.less", "wheelmodels.plus"};
    TVMFunctionHandle f = NULL;
    CHECK(TVMFuncCreateFromCFunc(answer, names[i] + strlen("wheelmodels."), NULL, &f) == 0);
    CHECK(TVMFuncRegisterGlobal(names[i], f, 0) == 0);
    TVMFuncFree(f);
  }
}

void run_classic(const char* library, const call_case* cases, int64_t n, int threads) {
  TVMModuleHandle module = NULL;
  if (TVMModLoadFromFile(library, "so", &module) != 0) FAIL("%s", TVMGetLastError());
  NEED(module != NULL);
  any session = method(module, "vm_load_executable", NULL, 0);
  TVMModFree(module);
  NEED(session.code == kTVMModuleHandle);
  any devices[] = {integer(kDLCPU), integer(0), integer(2)}; /* 2: pooled memory */
  method(session.v.v_handle, "vm_initialization", devices, 3);
  run_cases(session.v.v_handle, cases, n, threads, run_case);
  drop(session);
}
