/* Targets as objects, and each thread's stack of current targets. */
#include "ctest/call.h"
#include "target/target.h"

#include <stdlib.h>

static TVMFFIAny text(const char* s) {
  TVMFFIAny v = tvmgo_any_none();
  CHECK_OK(tvmgo_string_make(s, strlen(s), &v));
  return v;
}

/* A target of a kind with a tag, owned. */
static TVMFFIAny target_of(const char* tag, uintptr_t handle) {
  TVMFFIAny keys = tvmgo_any_object(tvmgo_array_new(NULL, 0)), attrs = tvmgo_any_object(tvmgo_map_new(kTVMFFIMap));
  TVMFFIAny kind_parts[3] = {text("c"), tvmgo_any_int(kDLCPU), keys};
  tvmgo_ret kind = tvmgo_bridge_target_kind(kind_parts);
  CHECK(kind.err == 0);
  TVMFFIAny parts[5] = {tvmgo_any_object((void*)kind.value), tvmgo_any_none(), text(tag), keys, attrs};
  tvmgo_ret target = tvmgo_bridge_target(parts, handle);
  CHECK(target.err == 0);
  for (int i = 0; i < 5; i++) tvmgo_any_clear(&parts[i]);
  tvmgo_any_clear(&kind_parts[0]);
  return tvmgo_any_object((void*)target.value);
}

/* Until targets are used, the process has neither their types nor their functions. */
static void test_first_use_registers(void) {
  static const TVMFFIByteArray key = {"target.Target", 13};
  int32_t type = -1;
  CHECK_EQ_INT(tvmgo_target_type, -1);
  CHECK_OK(TVMFFITypeKeyToIndex(&key, &type));
  CHECK(type >= 0);
  CHECK_EQ_INT(type, tvmgo_target_type);
}

static void test_current_targets(void) {
  TVMFFIAny a = target_of("a", 1), b = target_of("b", 2), result, none_allowed = tvmgo_any_bool(1);
  TVMFFIAny required = tvmgo_any_bool(0);
  CHECK_FAILS(call("target.TargetCurrent", &required, 1, &result), "ValueError", "no current target");
  CHECK_OK(call("target.TargetEnterScope", &a, 1, &result));
  CHECK_OK(call("target.TargetEnterScope", &b, 1, &result));
  CHECK_OK(call("target.TargetCurrent", &required, 1, &result));
  CHECK_EQ_PTR(result.v_obj, b.v_obj);
  tvmgo_any_clear(&result);
  CHECK_FAILS(call("target.TargetExitScope", &a, 1, &result), "ValueError", "not the innermost");
  CHECK_OK(call("target.TargetExitScope", &b, 1, &result));
  CHECK_OK(call("target.TargetExitScope", &a, 1, &result));
  CHECK_OK(call("target.TargetCurrent", &none_allowed, 1, &result));
  CHECK_EQ_INT(result.type_index, kTVMFFINone);
  CHECK_FAILS(call("target.TargetExitScope", &a, 1, &result), "ValueError", "in no target's scope");
  tvmgo_any_clear(&a);
  tvmgo_any_clear(&b);
  int holds = 0;
  for (tvmgo_target_hold *h = tvmgo_bridge_target_dropped(), *next; h != NULL; h = next, holds++) {
    next = h->next;
    free(h);
  }
  CHECK_EQ_INT(holds, 2);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_first_use_registers);
  RUN(test_current_targets);
  return check_end();
}
