/* Targets in C, through both C ABIs: global functions, objects by reflection, and each thread's current targets. */
#include <pthread.h>
#include <tvm/runtime/c_runtime_api.h>

#include "ffi_abi_test.h"
#include "usage.h"

int failures;

/* ---- The tvm-ffi C ABI --------------------------------------------------------------------- */

static TVMFFIAny made(TVMFFIAny x) {
  TVMFFIAny t;
  OK(CALL("target.Target", &t, x));
  return t;
}

/* Returns a field by its name, owned. */
static TVMFFIAny field(TVMFFIAny object, const char* name) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(object.type_index);
  TVMFFIAny v = any_of(kTVMFFINone);
  for (int i = 0; i < info->num_fields; i++)
    if (is_text(info->fields[i].name, name)) {
      OK(info->fields[i].getter((char*)object.v_obj + info->fields[i].offset, &v));
      return v;
    }
  FAIL("%.*s has no field %s", (int)info->type_key.size, info->type_key.data, name);
  return v;
}

static int type_of(const char* key) {
  TVMFFIByteArray text = bytes_of(key);
  int32_t index = -1;
  OK(TVMFFITypeKeyToIndex(&text, &index));
  return index;
}

static void check_objects(void) {
  TVMFFIAny map, keys, host, tag, kind, kind2, name, item, size, got, again;
  TVMFFIAny inner;
  OK(CALL("ffi.Map", &inner, text_view("kind"), text_view("llvm"), text_view("mcpu"), text_view("core2")));
  OK(CALL("ffi.Map", &map, text_view("kind"), text_view("cuda"), text_view("arch"), text_view("sm_90"),
          text_view("host"), inner));
  TVMFFIAny t = made(map), second = made(map);
  CHECK(t.type_index == type_of("target.Target") && t.v_obj != second.v_obj);
  again = made(t);
  CHECK(again.v_obj == t.v_obj); /* returns the same object */
  drop(&again);
  kind = field(t, "kind"), kind2 = field(second, "kind");
  CHECK(kind.type_index == type_of("target.TargetKind") && kind.v_obj == kind2.v_obj); /* one object per kind */
  name = field(kind, "name");
  CHECK(is_text(text_of(&name), "cuda"));
  drop(&name);
  got = field(kind, "default_device_type");
  CHECK(got.type_index == kTVMFFIInt && got.v_int64 == 2);
  keys = field(kind, "default_keys");
  OK(CALL("ffi.ArraySize", &size, keys));
  CHECK(size.v_int64 == 2);
  drop(&keys);
  tag = field(t, "tag");
  CHECK(is_text(text_of(&tag), ""));
  keys = field(t, "keys");
  OK(CALL("ffi.ArrayGetItem", &item, keys, int_view(1)));
  CHECK(is_text(text_of(&item), "gpu"));
  drop(&item), drop(&keys);
  got = field(t, "attrs");
  OK(CALL("ffi.MapGetItem", &item, got, text_view("max_num_threads")));
  CHECK(item.type_index == kTVMFFIInt && item.v_int64 == 1024);
  drop(&got);
  host = field(t, "host");
  CHECK(host.type_index == t.type_index);
  got = field(host, "host");
  CHECK(got.type_index == kTVMFFINone);
  got = field(host, "attrs");
  OK(CALL("ffi.MapGetItem", &item, got, text_view("mcpu")));
  CHECK(is_text(text_of(&item), "core2"));
  drop(&item), drop(&got), drop(&host), drop(&tag);

  OK(CALL("ffi.StructuralEqual", &got, t, second, int_view(0), int_view(0)));
  CHECK(got.v_int64 == 1);
  TVMFFIAny hash1, hash2;
  OK(CALL("ffi.StructuralHash", &hash1, t, int_view(0), int_view(0)));
  OK(CALL("ffi.StructuralHash", &hash2, second, int_view(0), int_view(0)));
  CHECK(hash1.v_int64 == hash2.v_int64);
  TVMFFIAny other;
  OK(CALL("target.WithHost", &other, t, any_of(kTVMFFINone)));
  OK(CALL("ffi.StructuralEqual", &got, t, other, int_view(0), int_view(0)));
  CHECK(got.v_int64 == 0);
  OK(CALL("ffi.ReprPrint", &got, other));
  OK(CALL("target.TargetAsJSON", &again, other));
  CHECK(is_text(text_of(&again), "{\"kind\":\"cuda\",\"tag\":\"\",\"keys\":[\"cuda\",\"gpu\"],\"arch\":\"sm_90\","
                                 "\"max_num_threads\":1024,\"thread_warp_size\":32}"));
  CHECK(text_of(&got).size == text_of(&again).size && memcmp(text_of(&got).data, text_of(&again).data,
      text_of(&got).size) == 0);
  drop(&got), drop(&again), drop(&other), drop(&kind), drop(&kind2), drop(&t), drop(&second), drop(&map), drop(&inner);
}

static void check_functions(void) {
  TVMFFIAny out, t = made(text_view("cuda -arch=sm_90")), options, v, list;
  OK(CALL("target.ListTargetKindOptionsFromName", &options, text_view("cuda")));
  OK(CALL("ffi.MapGetItem", &v, options, text_view("keys")));
  CHECK(is_text(text_of(&v), "Array<str>"));
  drop(&v), drop(&options);
  OK(CALL("target.TargetGetDeviceType", &out, t));
  CHECK(out.v_int64 == 2);
  OK(CALL("target.TargetGetFeature", &out, t, text_view("none")));
  CHECK(out.type_index == kTVMFFINone);
  OK(call_global("target.ListTargetKinds", NULL, 0, &list));
  OK(CALL("ffi.ArraySize", &v, list));
  CHECK(v.v_int64 > 15);
  drop(&list);
  OK(call_global("target.TargetTagListTags", NULL, 0, &list));
  OK(CALL("ffi.MapGetItem", &v, list, text_view("nvidia/nvidia-h100")));
  CHECK(v.type_index == t.type_index);
  drop(&v), drop(&list);
  OK(CALL("ffi.Map", &options, text_view("kind"), text_view("llvm")));
  OK(CALL("target.TargetTagAddTag", &v, text_view("targets_test/board"), options, int_view(1)));
  CHECK(v.type_index == t.type_index);
  drop(&v), drop(&options);
  FAILS(CALL("target.TargetKindGetAttr", &out, text_view("cuda"), text_view("none")), "ValueError", "column \"none\"");
  FAILS(CALL("target.Target", &out, text_view("cudda")), "ValueError", "did you mean \"cuda\"?");
  FAILS(CALL("target.Target", &out, int_view(3)), "TypeError", "target: $: ");
  OK(CALL("ffi.Map", &options, text_view("kind"), text_view("cuda"), text_view("arch"), any_of(kTVMFFINone)));
  FAILS(CALL("target.Target", &out, options), "TypeError", "target: $.arch: ");
  drop(&options);
  OK(CALL("ffi.Map", &options, text_view("kind"), text_view("llvm"), text_view("libs"), t));
  FAILS(CALL("target.Target", &out, options), "TypeError", "target: $.libs: ");
  drop(&options), drop(&t);
}

/* ---- Current targets ----------------------------------------------------------------------- */

static void* enters_and_ends(void* arg) {
  TVMFFIAny out;
  FAILS(CALL("target.TargetCurrent", &out, int_view(0)), "ValueError", "no current target");
  for (int i = 0; i < 20; i++) OK(CALL("target.TargetEnterScope", &out, *(TVMFFIAny*)arg));
  TVMFFIAny own = made(text_view("llvm"));
  OK(CALL("target.TargetEnterScope", &out, own));
  drop(&own);
  return NULL; /* the end of the thread releases them */
}

static void check_current(void) {
  TVMFFIAny out, a = made(text_view("llvm")), b = made(text_view("c"));
  OK(CALL("target.TargetCurrent", &out, int_view(1)));
  CHECK(out.type_index == kTVMFFINone);
  FAILS(CALL("target.TargetExitScope", &out, a), "ValueError", "in no target's scope");
  OK(CALL("target.TargetEnterScope", &out, a));
  OK(CALL("target.TargetEnterScope", &out, b));
  OK(CALL("target.TargetCurrent", &out, int_view(0)));
  CHECK(out.v_obj == b.v_obj);
  drop(&out);
  FAILS(CALL("target.TargetExitScope", &out, a), "ValueError", "not the innermost");
  FAILS(CALL("target.TargetEnterScope", &out, text_view("llvm")), "TypeError", "argument 0");
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, enters_and_ends, &a) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(strong_count(a.v_obj) == 2);
  OK(CALL("target.TargetExitScope", &out, b));
  OK(CALL("target.TargetExitScope", &out, a));
  CHECK(strong_count(a.v_obj) == 1);
  drop(&a), drop(&b);
}

/* ---- The classic C ABI --------------------------------------------------------------------- */

static int classic(const char* name, TVMValue* ret, int* code, int n, TVMValue* args, int* codes) {
  TVMFunctionHandle f = NULL;
  if (TVMFuncGetGlobal(name, &f) != 0 || f == NULL) return FAIL("there is no function %s", name), -2;
  int rc = TVMFuncCall(f, args, codes, n, ret, code);
  TVMFuncFree(f);
  return rc;
}

static void check_classic(void) {
  TVMValue args[2] = {{.v_str = "cuda -arch=sm_90 -libs=cudnn"}, {.v_str = "llvm"}}, target, ret;
  int codes[2] = {kTVMStr, kTVMStr}, code = -1;
  unsigned index = 0, want = 0;
  CHECK(classic("target.Target", &target, &code, 2, args, codes) == 0);
  CHECK(code == kTVMObjectHandle);
  CHECK(TVMObjectGetTypeIndex(target.v_handle, &index) == 0 && TVMObjectTypeKey2Index("target.Target", &want) == 0);
  CHECK(index == want);
  codes[0] = kTVMObjectHandle, args[0] = target;
  CHECK(classic("target.TargetAsJSON", &ret, &code, 1, args, codes) == 0 && code == kTVMStr);
  static const char start[] = "{\"kind\":\"cuda\",\"tag\":\"\",\"keys\":[\"cuda\",\"gpu\"],\"host\":{\"kind\":\"llvm\"";
  CHECK(strncmp(ret.v_str, start, sizeof start - 1) == 0);
  CHECK(classic("target.TargetGetDeviceType", &ret, &code, 1, args, codes) == 0 && ret.v_int64 == 2);
  CHECK(classic("target.TargetEnterScope", &ret, &code, 1, args, codes) == 0);
  CHECK(classic("target.TargetExitScope", &ret, &code, 1, args, codes) == 0);
  CHECK(TVMObjectFree(target.v_handle) == 0);
  codes[0] = kTVMStr, args[0].v_str = "cuda -arch=90";
  CHECK(classic("target.Target", &ret, &code, 1, args, codes) == -1);
  CHECK(strstr(TVMGetLastError(), "target: $.arch: ") != NULL);
}

/* ---- Nothing is leaked --------------------------------------------------------------------- */

static void* hammer(void* arg) {
  TVMFFIAny out, json;
  for (int i = 0; i < 100; i++) {
    TVMFFIAny t = made(text_view(i % 2 ? "nvidia/nvidia-h100" : "llvm"));
    OK(CALL("target.TargetEnterScope", &out, t));
    OK(CALL("target.TargetAsJSON", &json, t));
    drop(&json);
    OK(CALL("target.TargetExitScope", &out, t));
    drop(&t);
  }
  return arg;
}

static void all(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, hammer, NULL) == 0);
  check_objects();
  check_functions();
  check_current();
  check_classic();
  for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  TVMFFIAny last = made(text_view("llvm")); /* Go releases freed objects when the next one is created */
  drop(&last);
}

/* Go's threads, which are created as needed, keep one block each. A leaked target would be 40 times as large. */
int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (int i = 0; i < 5; i++) all();
  usage before = measure();
  for (int i = 0; i < 40; i++) all();
  compare(before, measure(), 24 << 10, 64);
  return report();
}
