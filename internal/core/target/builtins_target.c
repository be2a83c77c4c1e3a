/* The global functions of targets, which are registered at their first use (deferred.h). Their bodies are in Go
 * (internal/targetvalue), except those for a thread's current targets. */
#include "call/builtin.h"
#include "call/deferred.h"
#include "target/target.h"
#include "record/record.h"

#include <stdlib.h>

/* Absent in libtvmgo_runtime.so, and in programs that link the core alone. */
__attribute__((weak)) int tvmgoTargetCall(int action, const char* name, const TVMFFIAny* args, int32_t n,
    TVMFFIAny* result);

static int call_go(int action, const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (tvmgoTargetCall == NULL)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "%s: a build that only runs modules has no targets: "
        "use libtvmgo.so", name);
  if (tvmgo_enter_go(name) != 0) return -1;
  return tvmgoTargetCall(action, name, args, n, result);
}

static int call_target(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const tvmgo_builtin* b = self;
  if (b->flag == TVMGO_TARGET_NEW && n == 1 && args[0].type_index == tvmgo_target_type) { /* the object itself */
    tvmgo_object_retain(args[0].v_obj);
    *result = args[0];
    return 0;
  }
  return call_go(b->flag, b->name, args, n, result);
}

static int target_repr(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  static const char f[] = "target.Target.__ffi_repr__";
  if (tvmgo_check_count(f, n, 2, 2) != 0) return -1;
  return call_go(TVMGO_TARGET_JSON, f, args, 1, result);
}

static int kind_from_json(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return call_go(TVMGO_TARGET_KIND_FIND, "target.TargetKind.__data_from_json__", args, n, result);
}

/* ---- Current targets, a stack per thread --------------------------------------------------- */

/* A goroutine that uses them must stay on its thread. */

TVMGO_BUILTIN(enter) {
  tvmgo_thread* t = tvmgo_thread_get();
  void* target;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || tvmgo_arg_object(f, args, 0, tvmgo_target_type, &target) != 0) return -1;
  if (t->num_targets == t->cap_targets) {
    int32_t cap = t->cap_targets == 0 ? 8 : 2 * t->cap_targets;
    TVMFFIObject** grown = realloc(t->targets, (size_t)cap * sizeof *grown);
    if (grown == NULL) return tvmgo_raise_oom();
    t->targets = grown;
    t->cap_targets = cap;
  }
  tvmgo_object_retain(target);
  t->targets[t->num_targets++] = target;
  return 0;
}

/* Calls the global function, which raises an error in a build without reflection. */
static int are_equal(TVMFFIObject* a, TVMFFIObject* b, int* equal) {
  static const char name[] = "ffi.StructuralEqual";
  TVMFFIAny args[4] = {tvmgo_any_object(a), tvmgo_any_object(b), tvmgo_any_bool(0), tvmgo_any_bool(0)};
  TVMFFIAny result = tvmgo_any_none();
  TVMFFIObject* f = tvmgo_global_get(name, sizeof name - 1);
  if (f == NULL) return tvmgo_raise(TVMGO_NOT_FOUND_ERROR, "compare targets: there is no global function %s", name);
  int rc = tvmgo_function_call(f, args, 4, &result);
  tvmgo_object_release(f);
  if (rc != 0) return rc;
  *equal = result.type_index == kTVMFFIBool && result.v_int64 != 0;
  tvmgo_any_clear(&result);
  return 0;
}

/* The argument must be the object that was entered, or an equal one. */
TVMGO_BUILTIN(exit_scope) {
  tvmgo_thread* t = tvmgo_thread_get();
  void* target;
  int same;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || tvmgo_arg_object(f, args, 0, tvmgo_target_type, &target) != 0) return -1;
  if (t->num_targets == 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: this thread is in no target's scope: call "
        "target.TargetEnterScope before", f);
  TVMFFIObject* innermost = t->targets[t->num_targets - 1];
  same = innermost == target;
  if (!same && are_equal(innermost, target, &same) != 0) return -1;
  if (!same)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "%s: argument 0 is not the innermost current target of this thread: leave scopes in the reverse "
                       "order of entering them",
                       f);
  t->num_targets--;
  tvmgo_object_release(innermost); /* last, because it may run foreign code */
  return 0;
}

TVMGO_BUILTIN(current) {
  const tvmgo_thread* t = tvmgo_thread_get();
  int64_t allow_none;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || tvmgo_arg_int(f, args, 0, &allow_none) != 0) return -1;
  if (t->num_targets == 0 && !allow_none)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: this thread has no current target: call target.TargetEnterScope "
        "before, or pass "
                       "true to get None", f);
  *result = t->num_targets == 0 ? tvmgo_any_none() : tvmgo_any_object(t->targets[t->num_targets - 1]);
  if (t->num_targets > 0) tvmgo_object_retain(result->v_obj);
  return 0;
}

/* ---- Registration -------------------------------------------------------------------------- */

int tvmgo_register_target_hooks(int32_t target_type, int32_t kind_type) {
  int rc = tvmgo_record_try_hook(target_type, "__ffi_repr__", target_repr);
  return rc == 0 ? tvmgo_record_try_hook(kind_type, "__data_from_json__", kind_from_json) : rc;
}

__attribute__((constructor(112))) static void declare_targets(void) {
  static const struct {
    const char* name;
    int action;
  } table[] = {
      {"target.Target", TVMGO_TARGET_NEW},
      {"target.TargetExport", TVMGO_TARGET_EXPORT},
      {"target.TargetAsJSON", TVMGO_TARGET_JSON},
      {"target.WithHost", TVMGO_TARGET_WITH_HOST},
      {"target.TargetGetDeviceType", TVMGO_TARGET_DEVICE_TYPE},
      {"target.TargetGetFeature", TVMGO_TARGET_FEATURE},
      {"target.ListTargetKinds", TVMGO_TARGET_KINDS},
      {"target.ListTargetKindOptions", TVMGO_TARGET_KIND_OPTIONS},
      {"target.ListTargetKindOptionsFromName", TVMGO_TARGET_KIND_OPTIONS},
      {"target.TargetKindGetOptions", TVMGO_TARGET_KIND_OPTIONS},
      {"target.TargetKindGetAttr", TVMGO_TARGET_KIND_ATTR},
      {"target.TargetTagListTags", TVMGO_TARGET_TAGS},
      {"target.TargetTagAddTag", TVMGO_TARGET_ADD_TAG},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    tvmgo_deferred_builtin(table[i].name, call_target, table[i].action);
  tvmgo_deferred_builtin("target.TargetEnterScope", enter, 0);
  tvmgo_deferred_builtin("target.TargetExitScope", exit_scope, 0);
  tvmgo_deferred_builtin("target.TargetCurrent", current, 0);
}
