/* Relax executables through the tvm-ffi C ABI. */
#include <tvm/ffi/c_api.h>

#include "relax_test.h"

static void drop(TVMFFIAny a) {
  if (a.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(a.v_obj);
}

/* Prints the raised error, or only takes it off if it is expected. */
static void take_error(const char* what, int expected) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) {
    FAIL("%s fails without an error", what);
    return;
  }
  TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(error);
  if (!expected || cell->message.size < 20)
    FAIL("%s: the error is: %.*s", what, (int)cell->message.size, cell->message.data);
  TVMFFIObjectDecRef(error);
}

static TVMFFIAny call(void* f, TVMFFIAny* args, int n, const char* what, int may_fail, int* failed) {
  TVMFFIAny result = {.type_index = kTVMFFINone};
  int rc = TVMFFIFunctionCall(f, args, n, &result);
  if (rc != 0) take_error(what, may_fail);
  if (failed != NULL) *failed = rc != 0;
  return result;
}

static TVMFFIAny global(const char* name, TVMFFIAny* args, int n) {
  TVMFFIByteArray text = {name, strlen(name)};
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny result = {.type_index = kTVMFFINone};
  if (TVMFFIFunctionGetGlobal(&text, &f) != 0 || f == NULL) {
    FAIL("there is no %s", name);
    return result;
  }
  result = call(f, args, n, name, 0, NULL);
  TVMFFIObjectDecRef(f);
  return result;
}

static TVMFFIAny raw(const char* text) { return (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = text}; }
static TVMFFIAny integer(int64_t i) { return (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = i}; }
static TVMFFIAny object(void* o) { return (TVMFFIAny){.type_index = ((TVMFFIObject*)o)->type_index, .v_obj = o}; }

static TVMFFIAny function_of(void* module, const char* name) {
  TVMFFIAny f = global("ffi.ModuleGetFunction",
      (TVMFFIAny[]){object(module), raw(name), {.type_index = kTVMFFIBool, .v_int64 = 0}}, 3);
  if (f.type_index != kTVMFFIFunction) FAIL("there is no %s", name);
  return f;
}

static TVMFFIAny method(void* module, const char* name, TVMFFIAny* args, int n) {
  TVMFFIAny f = function_of(module, name), result = {.type_index = kTVMFFINone};
  if (f.type_index == kTVMFFIFunction) result = call(f.v_obj, args, n, name, 0, NULL);
  drop(f);
  return result;
}

/* A tensor that borrows memory of the program: a copy of the value's elements, which it frees. */
static void free_lent(DLManagedTensor* m) { free(m->dl_tensor.data), free(m); }
static TVMFFIAny tensor(const value* v) {
  DLManagedTensor* m = calloc(1, sizeof *m);
  TVMFFIObjectHandle t = NULL;
  m->dl_tensor = (DLTensor){.data = aligned_alloc(64, (v->nbytes + 64) / 64 * 64), .device = {kDLCPU, 0},
      .ndim = (int)v->n, .dtype = v->dtype, .shape = (int64_t*)v->dims};
  memcpy(m->dl_tensor.data, v->bytes, v->nbytes);
  m->deleter = free_lent;
  if (TVMFFITensorFromDLPack(m, 0, 0, &t) != 0) take_error("a tensor", 0), abort();
  return object(t);
}

static TVMFFIAny from(const value* v) {
  TVMFFIAny items[16], a = {.type_index = kTVMFFINone};
  switch (v->kind) {
    case V_TENSOR: return tensor(v);
    case V_TUPLE:
      for (int64_t i = 0; i < v->n; i++) items[i] = from(&v->items[i]);
      a = global("ffi.Array", items, (int)v->n);
      for (int64_t i = 0; i < v->n; i++) drop(items[i]);
      return a;
    case V_SHAPE:
      for (int64_t i = 0; i < v->n; i++) items[i] = integer(v->dims[i]);
      return global("ffi.Shape", items, (int)v->n);
    case V_INT: return integer(v->i);
    case V_BOOL: return (TVMFFIAny){.type_index = kTVMFFIBool, .v_int64 = v->i};
    case V_FLOAT: return (TVMFFIAny){.type_index = kTVMFFIFloat, .v_float64 = v->f};
    case V_TEXT: return raw(v->bytes);
    case V_DTYPE: return (TVMFFIAny){.type_index = kTVMFFIDataType, .v_dtype = v->dtype};
  }
  return a;
}

static void compare_tensor(const value* want, void* t, const char* what) {
  const DLTensor* dl = TVMFFITensorGetDLTensorPtr(t);
  same_tensor(want, dl, (char*)dl->data + dl->byte_offset, what);
}

static int same_text(const value* want, const TVMFFIAny* got) {
  TVMFFIByteArray b = {NULL, 0};
  if (got->type_index == kTVMFFISmallStr) b = TVMFFISmallBytesGetContentByteArray(got);
  else if (got->type_index == kTVMFFIStr) b = *TVMFFIBytesGetByteArrayPtr(got->v_obj);
  return b.data != NULL && b.size == want->nbytes && memcmp(b.data, want->bytes, b.size) == 0;
}

static void compare(const value* want, TVMFFIAny got, const char* what) {
  int good = 0;
  switch (want->kind) {
    case V_NONE: good = got.type_index == kTVMFFINone; break;
    case V_TENSOR:
      if ((good = got.type_index == kTVMFFITensor)) compare_tensor(want, got.v_obj, what);
      break;
    case V_TUPLE:
      if (got.type_index != kTVMFFIArray || global("ffi.ArraySize", &got, 1).v_int64 != want->n) break;
      for (int64_t i = 0; i < want->n; i++) {
        TVMFFIAny item = global("ffi.ArrayGetItem", (TVMFFIAny[]){got, integer(i)}, 2);
        compare(&want->items[i], item, what);
        drop(item);
      }
      good = 1;
      break;
    case V_SHAPE:
      if (got.type_index != kTVMFFIShape) break;
      TVMFFIShapeCell* shape = TVMFFIShapeGetCellPtr(got.v_obj);
      good = (int64_t)shape->size == want->n && memcmp(shape->data, want->dims, 8 * shape->size) == 0;
      break;
    case V_INT: good = got.type_index == kTVMFFIInt && got.v_int64 == want->i; break;
    case V_BOOL: good = got.type_index == kTVMFFIBool && got.v_int64 == want->i; break;
    case V_FLOAT: good = got.type_index == kTVMFFIFloat && got.v_float64 == want->f; break;
    case V_TEXT: good = same_text(want, &got); break;
    case V_DTYPE:
      good = got.type_index == kTVMFFIDataType && memcmp(&got.v_dtype, &want->dtype, sizeof want->dtype) == 0;
      break;
    case V_OBJECT: good = got.type_index >= kTVMFFIStaticObjectBegin; break;
  }
  if (!good) FAIL("%s: a result of type %d differs from one of kind %d", what, got.type_index, (int)want->kind);
}

static void run_case(void* session, const call_case* c) {
  char what[256];
  snprintf(what, sizeof what, "%s through the tvm-ffi ABI", c->function);
  TVMFFIAny f = function_of(session, c->function), args[16];
  NEED(f.type_index == kTVMFFIFunction);
  for (int64_t i = 0; i < c->num_inputs; i++) args[i] = from(&c->inputs[i]);
  int failed;
  TVMFFIAny result = call(f.v_obj, args, (int)c->num_inputs, what, (int)c->fails, &failed);
  if (failed != (int)c->fails) FAIL("%s: the call %s", what, failed ? "fails" : "does not fail");
  if (!failed) compare(&c->output, result, what);
  for (int64_t i = 0; i < c->num_inputs; i++) {
    if (c->after[i].kind == V_TENSOR) compare_tensor(&c->after[i], args[i].v_obj, what);
    drop(args[i]);
  }
  drop(result);
  drop(f);
}

void run_ffi(const char* library, const call_case* cases, int64_t n, int threads) {
  TVMFFIAny path = raw(library), module = global("ffi.ModuleLoadFromFile", &path, 1);
  NEED(module.type_index == kTVMFFIModule);
  TVMFFIAny session = method(module.v_obj, "vm_load_executable", NULL, 0);
  drop(module);
  NEED(session.type_index == kTVMFFIModule);
  TVMFFIAny devices[] = {integer(kDLCPU), integer(0), integer(2)}; /* 2: pooled memory */
  method(session.v_obj, "vm_initialization", devices, 3);
  run_cases(session.v_obj, cases, n, threads, run_case);
  drop(session);
}
