#include "call/call.h"
#include "object/usable.h"

#include <alloca.h>
#include <stdlib.h>

/* ---- the three trampolines: what cell.safe_call of our functions points at ---- */

/* Ends a successful call: drops errors that were raised during the call, so that a later function that fails without
 * raising one does not report them. before: the number of errors before the call. An error that was raised before the
 * call is kept. */
static __attribute__((noinline)) void drop_error(void) {
  tvmgo_thread_get()->python_error = NULL;
  tvmgo_object_release(tvmgo_error_take());
}
static inline void drop_handled(uint32_t before) {
  if (TVMGO_UNLIKELY(before != tvmgo_errors_raised)) drop_error();
}

/* Ends a call whose result this library uses: checks that the result is valid for the ABI, and raises an error if not.
 * Plain results are checked first, because they are the most frequent. */
static __attribute__((noinline)) int finish_slow(int rc, TVMFFIAny* result, uint32_t before) {
  if (rc == 0) {
    drop_handled(before);
    return tvmgo_check_result(result);
  }
  if (rc == -2) return -2; /* a front end holds its own exception */
  tvmgo_thread* t = tvmgo_thread_get();
  if (t->error == NULL && t->python_error == NULL)
    tvmgo_raise(TVMGO_RUNTIME_ERROR,
                "call function: it returned %d without raising an error: it must raise one first, "
                "for example with TVMFFIErrorSetRaisedFromCStr",
                rc);
  return -1;
}
static inline int finish(int rc, TVMFFIAny* result, uint32_t before) {
  if (TVMGO_LIKELY(((unsigned)rc | ((uint32_t)result->type_index > kTVMFFIDLTensorPtr) |
                    (before ^ tvmgo_errors_raised)) == 0))
    return 0;
  return finish_slow(rc, result, before);
}

/* A safe call gets its own self; an exported symbol has none, and the ABI promises it NULL. */
static int call_entry(void* handle, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const tvmgo_function* f = handle;
  return ((TVMFFISafeCallType)f->entry)(f->self, args, n, result);
}

static int bad_call(int32_t n, const TVMFFIAny* result) {
  if (result == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "call function: result is NULL");
  return tvmgo_raise(TVMGO_VALUE_ERROR, "call function: %d arguments, but args is %s", (int)n,
                     n < 0 ? "of a negative length" : "NULL");
}

/* A call with all checks, for TVMGO_VALIDATE=1. */
static int check_call(TVMFFISafeCallType callee, void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (n < 0 || (n > 0 && args == NULL) || result == NULL) return bad_call(n, result);
  uint32_t before = tvmgo_errors_raised;
  return finish(callee(self, args, n, result), result, before);
}

static int call_entry_checked(void* handle, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const tvmgo_function* f = handle;
  return check_call((TVMFFISafeCallType)f->entry, f->self, args, n, result);
}

/* What cell.safe_call of a safe call points at: with TVMGO_VALIDATE=1 another function, so that the checks cost nothing
 * without it. */
static TVMFFISafeCallType entry_trampoline = call_entry;

void tvmgo_function_validate(void) { entry_trampoline = call_entry_checked; }

static inline int is_entry(const tvmgo_function* f) {
  return f->cell.safe_call == call_entry || f->cell.safe_call == call_entry_checked;
}

int tvmgo_function_call(void* func, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const tvmgo_function* f = func;
  uint32_t before = tvmgo_errors_raised;
  if (TVMGO_LIKELY(f->cell.safe_call == call_entry)) /* without the jump through it */
    return finish(((TVMFFISafeCallType)f->entry)(f->self, args, n, result), result, before);
  return finish(f->cell.safe_call(func, args, n, result), result, before);
}

int tvmgo_builtin_end(int rc, TVMFFIAny* result, uint32_t before) { return finish(rc, result, before); }

void* tvmgo_function_self_of(TVMFFIObject* f, TVMFFISafeCallType entry) {
  tvmgo_function* own = (tvmgo_function*)f;
  if (f == NULL || f->type_index != kTVMFFIFunction || !is_entry(own) || own->entry != (void*)entry)
    return NULL;
  return own->self;
}

/* Arguments that fit the stack; more are taken from the heap. */
enum { FEW_ARGS = 8, STACK_ARGS = 64 };

typedef struct {
  TVMValue* values;
  int* codes;
  void* heap;
  TVMByteArray* bytes; /* for arguments that are short bytes, which are not stored as a TVMByteArray */
} classic_args;

static int short_bytes(const TVMFFIAny* args, int32_t i, int32_t n, classic_args* out) {
  if (out->bytes == NULL) {
    out->bytes = malloc((size_t)n * sizeof *out->bytes);
    if (out->bytes == NULL) return tvmgo_raise_oom();
  }
  out->bytes[i] = (TVMByteArray){args[i].v_bytes, args[i].small_str_len};
  out->values[i].v_handle = &out->bytes[i];
  out->codes[i] = kTVMBytes;
  return 0;
}

static int classic_args_from(const TVMFFIAny* args, int32_t n, int bool_code, classic_args* out) {
  for (int32_t i = 0; i < n; i++) {
    if (args[i].type_index == kTVMFFISmallBytes) {
      if (tvmgo_check_value(&args[i]) != 0) return tvmgo_raise_context("argument %d", (int)i);
      if (short_bytes(args, i, n, out) != 0) return -1;
      continue;
    }
    if (tvmgo_classic_from_view(&args[i], bool_code, &out->values[i], &out->codes[i]) != 0)
      return tvmgo_raise_context("argument %d", (int)i);
  }
  return 0;
}

#define WITH_CLASSIC_ARGS(var, n)                                                       \
  classic_args var = {NULL, NULL, NULL, NULL};                                          \
  if ((n) < 0 || ((n) > 0 && args == NULL)) return bad_call(n, result);                 \
  if ((n) <= STACK_ARGS) {                                                              \
    var.values = alloca((size_t)(n) * sizeof(TVMValue) + 1);                            \
    var.codes = alloca((size_t)(n) * sizeof(int) + 1);                                  \
  } else {                                                                              \
    var.heap = malloc((size_t)(n) * (sizeof(TVMValue) + sizeof(int)));                  \
    if (var.heap == NULL) return tvmgo_raise_oom();                                     \
    var.values = var.heap;                                                              \
    var.codes = (int*)(var.values + (n));                                               \
  }

/* A classic function failed: make sure that there is an error to read. */
static int classic_failed(int rc) {
  tvmgo_thread* t = tvmgo_thread_get();
  if (rc == -2) return -2; /* a front end holds its own exception */
  if (t->error == NULL && t->python_error == NULL)
    tvmgo_raise(TVMGO_RUNTIME_ERROR,
                "call function: it returned %d without setting an error: it must set one first, with "
                "TVMAPISetLastError",
                rc);
  return -1;
}

/* A generated 6-argument function. */
static int call_packed(void* handle, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  tvmgo_function* f = handle;
  WITH_CLASSIC_ARGS(a, n);
  TVMValue ret = {0};
  int ret_code = kTVMNullptr;
  uint32_t before = tvmgo_errors_raised;
  int rc = classic_args_from(args, n, kTVMArgInt, &a);
  if (rc == 0) {
    rc = ((TVMBackendPackedCFunc)f->entry)(a.values, a.codes, n, &ret, &ret_code, NULL);
    if (rc == 0) drop_handled(before);
    if (rc != 0)
      rc = classic_failed(rc);
    else if (ret_code != kTVMNullptr && tvmgo_any_from_classic_result(&ret, ret_code, result) != 0)
      rc = tvmgo_raise_context("call function: its result is wrong");
  }
  free(a.bytes);
  free(a.heap);
  return rc;
}

/* A classic C callback; ret handle = the result itself, filled by TVMCFuncSetReturn. */
static int call_callback(void* handle, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  tvmgo_function* f = handle;
  WITH_CLASSIC_ARGS(a, n);
  uint32_t before = tvmgo_errors_raised;
  int rc = classic_args_from(args, n, kTVMArgBool, &a);
  if (rc == 0) {
    rc = ((TVMPackedCFunc)f->entry)(a.values, a.codes, n, result, f->self);
    if (rc == 0) drop_handled(before);
    if (rc != 0) {
      tvmgo_any_clear(result);
      rc = classic_failed(rc);
    }
  }
  free(a.bytes);
  free(a.heap);
  return rc;
}

/* ---- objects ---- */

static void function_delete(void* self, int flags) {
  tvmgo_function* f = self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    if (f->deleter != NULL) f->deleter(f->self);
    tvmgo_object_release(f->owner);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

static tvmgo_function* function_new(TVMFFISafeCallType trampoline, void* entry, void* self,
                                    void (*deleter)(void*), TVMFFIObject* owner) {
  tvmgo_function* f = tvmgo_object_new_uninit(sizeof *f, kTVMFFIFunction, function_delete);
  if (f == NULL) return NULL;
  f->cell.safe_call = trampoline;
  f->cell.cpp_call = NULL;
  f->entry = entry;
  f->self = self;
  f->deleter = deleter;
  f->owner = owner;
  if (owner != NULL) tvmgo_object_retain(owner);
  return f;
}

tvmgo_function* tvmgo_function_of_safe_call(TVMFFISafeCallType entry, TVMFFIObject* owner) {
  return function_new(entry_trampoline, (void*)entry, NULL, NULL, owner);
}

tvmgo_function* tvmgo_function_of_packed(TVMBackendPackedCFunc entry, TVMFFIObject* owner) {
  return function_new(call_packed, (void*)entry, NULL, NULL, owner);
}

tvmgo_function* tvmgo_function_of_callback(TVMPackedCFunc entry, void* self,
                                           TVMPackedCFuncFinalizer fin) {
  return function_new(call_callback, (void*)entry, self, fin, NULL);
}

TVMFFIObject* tvmgo_function_without_owner(TVMFFIObject* f, TVMFFIObject* owner) {
  tvmgo_function* own = (tvmgo_function*)f;
  if ((!is_entry(own) && own->cell.safe_call != call_packed) ||
      own->owner != owner || owner == NULL)
    return f;
  tvmgo_function* twin = function_new(own->cell.safe_call, own->entry, NULL, NULL, NULL);
  tvmgo_object_release(f);
  return (TVMFFIObject*)twin;
}

int TVMFFIFunctionCreate(void* self, TVMFFISafeCallType safe_call, void (*deleter)(void* self),
                         TVMFFIObjectHandle* out) {
  if (out == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "create function: out is NULL");
  if (tvmgo_check_usable("create function") != 0) return -1;
  if (safe_call == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "create function: safe_call is NULL");
  *out = function_new(entry_trampoline, (void*)safe_call, self, deleter, NULL);
  return *out == NULL ? -1 : 0;
}

static int not_a_call(void* func) {
  if (func == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "call function: the handle is NULL (was the lookup's result checked?)");
  return tvmgo_raise(TVMGO_TYPE_ERROR, "call function: the handle is of type %s, not Function",
                     tvmgo_type_name(((TVMFFIObject*)func)->type_index));
}

static __attribute__((noinline)) int call_other(void* func, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (func == NULL || ((TVMFFIObject*)func)->type_index != kTVMFFIFunction) return not_a_call(func);
  TVMFFISafeCallType callee = tvmgo_function_cell(func)->safe_call;
  if (entry_trampoline == call_entry_checked) return check_call(callee, func, args, n, result);
  return callee(func, args, n, result);
}

/* Ends in a jump: the caller gets what the function gave. The jump through call_entry is left out, since a second
 * indirect jump takes longer than the checks of the handle. */
__attribute__((aligned(64))) int TVMFFIFunctionCall(TVMFFIObjectHandle func, TVMFFIAny* args,
                                                    int32_t num_args, TVMFFIAny* result) {
  const tvmgo_function* f = func;
  if (TVMGO_UNLIKELY(f == NULL) || TVMGO_UNLIKELY(f->header.type_index != kTVMFFIFunction) ||
      TVMGO_UNLIKELY(f->cell.safe_call != call_entry))
    return call_other(func, args, num_args, result);
  return ((TVMFFISafeCallType)f->entry)(f->self, args, num_args, result);
}

/* ---- the classic call path, which loaded files import too ---- */

/* The type codes that are frequent in calls; 0 for any other, which tvmgo_view_from_classic handles. */
static inline int plain_view(const TVMValue* v, int code, TVMFFIAny* out) {
  if (TVMGO_LIKELY(code == kTVMArgInt)) {
    *out = tvmgo_any_int(v->v_int64);
    return 1;
  }
  if (code == kTVMDLTensorHandle && v->v_handle != NULL) {
    *out = (TVMFFIAny){.type_index = kTVMFFIDLTensorPtr, .v_ptr = v->v_handle};
    return 1;
  }
  if (code == kTVMNDArrayHandle && v->v_handle != NULL) {
    *out = tvmgo_any_object(tvmgo_tensor_of_array(v->v_handle));
    return TVMGO_LIKELY(out->type_index == kTVMFFITensor);
  }
  if (code == kTVMArgFloat) {
    *out = (TVMFFIAny){.type_index = kTVMFFIFloat, .v_float64 = v->v_float64};
    return 1;
  }
  return 0;
}

static inline int result_of(TVMFFIAny* result, TVMValue* ret, int* ret_code) {
  int32_t type = result->type_index;
  ret->v_int64 = result->v_int64;
  if (type == kTVMFFINone)
    *ret_code = kTVMNullptr;
  else if (type == kTVMFFIInt)
    *ret_code = kTVMArgInt;
  else
    return tvmgo_classic_result_from_any(result, ret, ret_code);
  return 0;
}

static int views_from(const TVMValue* values, const int* codes, int n, TVMFFIAny* out) {
  for (int i = 0; i < n; i++) {
    if (tvmgo_view_from_classic(&values[i], codes[i], &out[i]) != 0)
      return tvmgo_raise_context("call function: argument %d", i);
  }
  return 0;
}

/* A generated classic function called with classic values: nothing is converted. Objects and
 * plain values come back as they are; text is not allowed in this convention. */
static int call_packed_directly(tvmgo_function* f, TVMValue* args, int* codes, int n, TVMValue* ret,
                                int* ret_code) {
  ret->v_handle = NULL;
  *ret_code = kTVMNullptr;
  uint32_t before = tvmgo_errors_raised;
  int rc = ((TVMBackendPackedCFunc)f->entry)(args, codes, n, ret, ret_code, NULL);
  if (TVMGO_LIKELY(rc == 0)) {
    drop_handled(before);
    if (TVMGO_LIKELY((unsigned)*ret_code <= kTVMNullptr && *ret_code != kDLUInt)) return 0;
    TVMFFIAny owned;
    if (tvmgo_any_from_classic_result(ret, *ret_code, &owned) != 0)
      return tvmgo_raise_context("call function: its result is wrong");
    return tvmgo_classic_result_from_any(&owned, ret, ret_code);
  }
  return classic_failed(rc);
}

/* A classic callback called with classic values: only its result is converted. */
static int call_callback_directly(tvmgo_function* f, TVMValue* args, int* codes, int n,
                                  TVMValue* ret, int* ret_code) {
  TVMFFIAny result = tvmgo_any_none();
  uint32_t before = tvmgo_errors_raised;
  int rc = ((TVMPackedCFunc)f->entry)(args, codes, n, &result, f->self);
  if (TVMGO_LIKELY(rc == 0)) {
    drop_handled(before);
    return result_of(&result, ret, ret_code);
  }
  tvmgo_any_clear(&result);
  return classic_failed(rc);
}

static int call_converted(tvmgo_function* f, const TVMValue* args, const int* codes, int n,
                          TVMValue* ret, int* ret_code) {
  TVMFFIAny space[STACK_ARGS], *views = space, result = tvmgo_any_none();
  space[0] = result; /* the compiler wants it set for n = 0, too */
  if (n > STACK_ARGS) views = malloc((size_t)n * sizeof *views);
  if (views == NULL) return tvmgo_raise_oom();
  int rc = views_from(args, codes, n, views);
  if (rc == 0) rc = tvmgo_function_call(f, views, n, &result);
  if (rc == 0) rc = result_of(&result, ret, ret_code);
  if (views != space) free(views);
  return rc;
}

/* Generated files of v0.17 and older refuse code 15, so bools take the converting path. */
static int any_bool(const int* codes, int n) {
  for (int i = 0; i < n; i++)
    if (codes[i] == kTVMArgBool) return 1;
  return 0;
}

/* Any call; TVMFuncCall handles the most frequent ones itself. */
static __attribute__((noinline)) int call_classic(TVMFunctionHandle func, TVMValue* arg_values,
                                                  int* type_codes, int num_args, TVMValue* ret_val,
                                                  int* ret_type_code) {
  if (func == NULL || ((TVMFFIObject*)func)->type_index != kTVMFFIFunction)
    return not_a_call(func);
  if (num_args < 0 || (num_args > 0 && (arg_values == NULL || type_codes == NULL)))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "call function: %d arguments, but the arrays are %s",
                       num_args, num_args < 0 ? "of a negative length" : "NULL");
  TVMValue no_value;
  int no_code;
  if (ret_val == NULL) ret_val = &no_value;
  if (ret_type_code == NULL) ret_type_code = &no_code;
  tvmgo_function* f = func;
  if (f->cell.safe_call == call_packed && !any_bool(type_codes, num_args))
    return call_packed_directly(f, arg_values, type_codes, num_args, ret_val, ret_type_code);
  if (f->cell.safe_call == call_callback)
    return call_callback_directly(f, arg_values, type_codes, num_args, ret_val, ret_type_code);
  return call_converted(f, arg_values, type_codes, num_args, ret_val, ret_type_code);
}

/* Ends a call that failed, raised an error, or has another result than None or an int. */
static __attribute__((noinline)) int end_classic(int rc, uint32_t before, TVMFFIAny* result, TVMValue* ret,
                                                 int* ret_code) {
  rc = finish(rc, result, before);
  return rc != 0 ? rc : result_of(result, ret, ret_code);
}

/* call_classic checks the arrays of arguments; here a NULL crashes, as for any function of C, except with
 * TVMGO_VALIDATE=1, where every call goes there. */
__attribute__((aligned(64))) int TVMFuncCall(TVMFunctionHandle func, TVMValue* arg_values,
                                             int* type_codes, int num_args, TVMValue* ret_val,
                                             int* ret_type_code) {
  const tvmgo_function* f = func;
  TVMFFIAny views[FEW_ARGS], result = tvmgo_any_none();
  uint32_t before;
  if (TVMGO_UNLIKELY(f == NULL) || TVMGO_UNLIKELY(f->header.type_index != kTVMFFIFunction)) goto other;
  if (TVMGO_UNLIKELY(ret_val == NULL)) goto other;
  if (TVMGO_UNLIKELY(f->cell.safe_call != call_entry)) goto other;
  if (TVMGO_UNLIKELY(ret_type_code == NULL)) goto other;
  if (TVMGO_UNLIKELY(num_args <= 0)) {
    if (num_args == 0) goto ready;
    goto other;
  }
#pragma GCC unroll 8
  for (int i = 0; i < FEW_ARGS; i++) { /* without a comparison of num_args with FEW_ARGS first, which costs a cycle */
    if (i > 0 && i == num_args) goto ready;
    if (TVMGO_UNLIKELY(!plain_view(&arg_values[i], type_codes[i], &views[i]))) goto other;
  }
  if (num_args != FEW_ARGS) goto other;
ready:
  before = tvmgo_errors_raised;
  int rc = ((TVMFFISafeCallType)f->entry)(f->self, views, num_args, &result);
  int32_t type = result.type_index;
  if (TVMGO_UNLIKELY((rc | (before ^ tvmgo_errors_raised)) != 0) || TVMGO_UNLIKELY((uint32_t)type > kTVMFFIInt)) {
    TVMFFIAny copy = result; /* result itself then needs no register during the call */
    return end_classic(rc, before, &copy, ret_val, ret_type_code);
  }
  ret_val->v_int64 = result.v_int64;
  *ret_type_code = type == kTVMFFIInt ? kTVMArgInt : kTVMNullptr;
  return 0;
other:
  return call_classic(func, arg_values, type_codes, num_args, ret_val, ret_type_code);
}

int TVMCFuncSetReturn(TVMRetValueHandle ret, TVMValue* value, int* type_code, int num_ret) {
  if (ret == NULL || value == NULL || type_code == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "set return value: a pointer is NULL");
  if (num_ret != 1)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "set return value: num_ret is %d, only 1 is possible",
                       num_ret);
  TVMFFIAny view, owned;
  TVMFFIAny* result = ret;
  if (type_code[0] == kTVMArgInt && result->type_index == kTVMFFINone) {
    *result = tvmgo_any_int(value->v_int64);
    return 0;
  }
  if (tvmgo_view_from_classic(value, type_code[0], &view) != 0 ||
      TVMFFIAnyViewToOwnedAny(&view, &owned) != 0)
    return tvmgo_raise_context("set return value");
  tvmgo_any_clear(result); /* a second call replaces the first one's value */
  *result = owned;
  return 0;
}

void TVMAPISetLastError(const char* msg) {
  /* Generated code gives "Kind: message"; other text has the kind RuntimeError. */
  size_t n = 0;
  if (msg == NULL) msg = "";
  while ((msg[n] >= 'A' && msg[n] <= 'Z') || (msg[n] >= 'a' && msg[n] <= 'z')) n++;
  if (n > 5 && msg[n] == ':' && msg[n + 1] == ' ' && msg[n - 5] == 'E' && msg[n - 4] == 'r' &&
      msg[n - 3] == 'r' && msg[n - 2] == 'o' && msg[n - 1] == 'r') {
    char kind[64];
    if (n < sizeof kind) {
      __builtin_memcpy(kind, msg, n);
      kind[n] = 0;
      TVMFFIErrorSetRaisedFromCStr(kind, msg + n + 2);
      return;
    }
  }
  TVMFFIErrorSetRaisedFromCStr(TVMGO_RUNTIME_ERROR, msg);
}
