/* Hooks: functions that types register for an operation on whole values. */
#include "reflect/recursive.h"
#include "object/type_internal.h"

#include <stdlib.h>

/* The data of the function that is passed to a hook; state is NULL when the hook has returned. */
typedef struct {
  tvmgo_hook_answer answer;
  void* state;
} hook_link;

static int hook_answer(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  hook_link* link = self;
  if (link->state == NULL)
    return tvmgo_raise(TVMGO_RUNTIME_ERROR, "the function given to a hook was called after the hook");
  return link->answer(link->state, args, n, result);
}

int tvmgo_hook_call_args(const char* op, const TVMFFIAny* hook, const TVMFFIAny* given, int32_t n,
                         tvmgo_hook_answer answer, void* state, TVMFFIAny* result) {
  if (hook->type_index != kTVMFFIFunction)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: a hook must be a Function, got %s", op,
                       tvmgo_type_name(hook->type_index));
  hook_link* link = malloc(sizeof *link);
  if (link == NULL) return tvmgo_raise_oom();
  *link = (hook_link){answer, state};
  TVMFFIObjectHandle f;
  if (TVMFFIFunctionCreate(link, hook_answer, free, &f) != 0) {
    free(link);
    return -1;
  }
  TVMFFIAny args[3] = {given[0]};
  if (n == 2) args[1] = given[1];
  args[n] = tvmgo_any_object(f);
  *result = tvmgo_any_none();
  int rc = tvmgo_function_call(hook->v_obj, args, n + 1, result);
  link->state = NULL;
  tvmgo_object_release(f);
  return rc;
}

int tvmgo_hook_call(const char* op, const TVMFFIAny* hook, TVMFFIObject* obj, TVMFFIObject* other,
                    tvmgo_hook_answer answer, void* state, TVMFFIAny* result) {
  TVMFFIAny args[2] = {tvmgo_any_object(obj), tvmgo_any_object(other)};
  return tvmgo_hook_call_args(op, hook, args, other == NULL ? 1 : 2, answer, state, result);
}

int tvmgo_hook_call_int(const char* op, const TVMFFIAny* hook, TVMFFIObject* obj,
                        TVMFFIObject* other, tvmgo_hook_answer answer, void* state,
                        int64_t* result) {
  TVMFFIAny r;
  int rc = tvmgo_hook_call(op, hook, obj, other, answer, state, &r);
  if (rc != 0) return rc;
  *result = r.v_int64;
  if (r.type_index != kTVMFFIInt && r.type_index != kTVMFFIBool) {
    const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(obj->type_index);
    rc = tvmgo_raise(TVMGO_TYPE_ERROR, "%s: the hook of type %.*s must answer an int, got %s", op,
                     (int)info->type_key.size, info->type_key.data, tvmgo_type_name(r.type_index));
  }
  tvmgo_any_clear(&r);
  return rc;
}
