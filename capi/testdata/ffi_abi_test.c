/* The tvm-ffi C ABI, with valid and with invalid input: functions and globals here, the rest in the other files. Prints
 * failures and exits 1, or prints "ok". */
#include "ffi_abi_test.h"

int failures;

static int finalized;
static void finalize(void* self) { finalized += *(int*)self; }

/* Returns the sum of its integers, plus the number that self points to. */
static int sum(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  int64_t total = self == NULL ? 0 : *(int*)self;
  for (int32_t i = 0; i < n; i++) {
    if (args[i].type_index != kTVMFFIInt) {
      TVMFFIErrorSetRaisedFromCStr("TypeError", "sum wants integers");
      return -1;
    }
    total += args[i].v_int64;
  }
  *result = int_view(total);
  return 0;
}

/* Returns its first argument, owned. */
static int echo(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self;
  return n == 0 ? 0 : TVMFFIAnyViewToOwnedAny(&args[0], result);
}

static int raised_by_front_end(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n, (void)result;
  return -2;
}

static TVMFFIObjectHandle make(TVMFFISafeCallType f) {
  TVMFFIObjectHandle out = NULL;
  OK(TVMFFIFunctionCreate(NULL, f, NULL, &out));
  return out;
}

static void test_functions(void) {
  int self = 100;
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny args[2] = {int_view(20), int_view(3)}, result = any_of(kTVMFFINone);
  finalized = 0;
  OK(TVMFFIFunctionCreate(&self, sum, finalize, &f));
  NEED(f != NULL);
  CHECK(TVMFFIObjectGetTypeIndex(f) == kTVMFFIFunction && strong_count(f) == 1);
  CHECK(TVMFFIFunctionGetCellPtr(f)->cpp_call == NULL);
  OK(TVMFFIFunctionCall(f, args, 2, &result));
  CHECK(result.type_index == kTVMFFIInt && result.v_int64 == 123);
  OK(TVMFFIFunctionGetCellPtr(f)->safe_call(f, args, 1, &result)); /* inlined, as in C++ */
  CHECK(result.v_int64 == 120);
  args[1] = text_view("three");
  FAILS(TVMFFIFunctionCall(f, args, 2, &result), "TypeError", "sum wants integers");
  OK(TVMFFIObjectDecRef(f));
  CHECK(finalized == 100);

  f = make(raised_by_front_end);
  CHECK(TVMFFIFunctionCall(f, NULL, 0, &result) == -2); /* passed on unchanged */
  FAILS(TVMFFIFunctionCall(NULL, NULL, 0, &result), "ValueError", "NULL");
  TVMFFIAny array;
  OK(call_global("ffi.Array", NULL, 0, &array));
  FAILS(TVMFFIFunctionCall(array.v_obj, NULL, 0, &result), "TypeError", "not Function");
  drop(&array);
  TVMFFIObjectDecRef(f);
  f = &self;
  FAILS(TVMFFIFunctionCreate(NULL, NULL, NULL, &f), "ValueError", "safe_call is NULL");
  FAILS(TVMFFIFunctionCreate(NULL, sum, NULL, NULL), "ValueError", "out is NULL");
}

/* Every kind of value through a call and back. */
static void test_values(void) {
  TVMFFIObjectHandle f = make(echo);
  DLTensor tensor;
  memset(&tensor, 0, sizeof tensor);
  TVMFFIAny in[] = {any_of(kTVMFFINone),
                    int_view(INT64_MIN),
                    any_of(kTVMFFIBool),
                    any_of(kTVMFFIFloat),
                    ptr_view(kTVMFFIOpaquePtr, &tensor),
                    any_of(kTVMFFIDataType),
                    any_of(kTVMFFIDevice),
                    ptr_view(kTVMFFIDLTensorPtr, &tensor),
                    object_view(f)},
            out;
  in[2].v_int64 = 1;
  in[3].v_float64 = 0.1;
  in[5].v_dtype = (DLDataType){kDLFloat, 32, 4};
  in[6].v_device = (DLDevice){kDLCUDA, 3};
  for (size_t i = 0; i < sizeof in / sizeof in[0]; i++) {
    out = any_of(kTVMFFINone);
    OK(TVMFFIFunctionCall(f, &in[i], 1, &out));
    CHECK(memcmp(&in[i], &out, sizeof out) == 0);
    drop(&out);
  }
  CHECK(strong_count(f) == 1);

  for (int long_one = 0; long_one < 2; long_one++) {
    const char* text = long_one ? "eight by" : "seven b";
    TVMFFIAny view = text_view(text);
    OK(TVMFFIFunctionCall(f, &view, 1, &out));
    CHECK(out.type_index == (long_one ? kTVMFFIStr : kTVMFFISmallStr) && is_text(text_of(&out), text));
    drop(&out);
    TVMFFIByteArray bytes = bytes_of(text);
    view = ptr_view(kTVMFFIByteArrayPtr, &bytes);
    OK(TVMFFIFunctionCall(f, &view, 1, &out));
    CHECK(out.type_index == (long_one ? kTVMFFIBytes : kTVMFFISmallBytes) && is_text(text_of(&out), text));
    drop(&out);
  }

  TVMFFIObjectHandle moved = make(sum), slot = moved;
  TVMFFIAny rvalue = ptr_view(kTVMFFIObjectRValueRef, &slot);
  OK(TVMFFIFunctionCall(f, &rvalue, 1, &out));
  CHECK(slot == NULL && out.v_obj == moved && strong_count(moved) == 1);
  drop(&out);

  TVMFFIAny bad = any_of(63);
  out = any_of(kTVMFFINone);
  FAILS(TVMFFIAnyViewToOwnedAny(&bad, &out), "TypeError", "63");
  FAILS(TVMFFIAnyViewToOwnedAny(NULL, &out), "ValueError", "NULL");
  FAILS(TVMFFIAnyViewToOwnedAny(&bad, NULL), "ValueError", "NULL");
  for (int i = 0; i < 5; i++) {
    static const int32_t with_pointer[] = {kTVMFFIRawStr, kTVMFFIByteArrayPtr, kTVMFFIObjectRValueRef, kTVMFFIStr,
                                           kTVMFFIObject};
    bad = any_of(with_pointer[i]);
    FAILS(TVMFFIAnyViewToOwnedAny(&bad, &out), "ValueError", "NULL");
  }
  TVMFFIObjectDecRef(f);
}

static void test_globals(void) {
  TVMFFIByteArray name = bytes_of("ffi_abi_test.sum"), prefix = {"ffi_abi_test.sum.not", 16}, none = {NULL, 3},
      empty = {"", 0};
  TVMFFIObjectHandle f = make(sum), other = make(echo), got = NULL;
  TVMFFIAny result;
  OK(TVMFFIFunctionSetGlobal(&name, f, 0));
  FAILS(TVMFFIFunctionSetGlobal(&name, other, 0), "RuntimeError", "ffi_abi_test.sum");
  OK(TVMFFIFunctionGetGlobal(&prefix, &got)); /* the size determines the end, not a NUL */
  CHECK(got == f && strong_count(f) == 3);
  TVMFFIObjectDecRef(got);
  OK(TVMFFIFunctionSetGlobal(&name, other, 1));
  CHECK(strong_count(f) == 1 && strong_count(other) == 2);
  OK(TVMFFIFunctionGetGlobal(&name, &got));
  CHECK(got == other);
  TVMFFIObjectDecRef(got);

  /* f(-1) is the number of names, f(i) one of them. */
  TVMFFIAny list, item, arg = int_view(-1);
  int64_t found = 0;
  OK(call_global("ffi.FunctionListGlobalNamesFunctor", NULL, 0, &list));
  NEED(list.type_index == kTVMFFIFunction);
  OK(TVMFFIFunctionCall(list.v_obj, &arg, 1, &item));
  int64_t count = item.v_int64;
  CHECK(item.type_index == kTVMFFIInt && count > 50);
  for (int64_t i = 0; i < count; i++) {
    arg = int_view(i), item = any_of(kTVMFFINone);
    OK(TVMFFIFunctionCall(list.v_obj, &arg, 1, &item));
    found += is_text(text_of(&item), "ffi_abi_test.sum");
    drop(&item);
  }
  CHECK(found == 1);
  arg = int_view(count);
  FAILS(TVMFFIFunctionCall(list.v_obj, &arg, 1, &item), "IndexError", "names");
  drop(&list);

  for (int i = 0; i < 2; i++) { /* the second time it is already removed */
    OK(CALL("ffi.FunctionRemoveGlobal", &result, text_view("ffi_abi_test.sum")));
    CHECK(result.type_index == kTVMFFIBool && result.v_int64 == !i);
  }
  OK(TVMFFIFunctionGetGlobal(&name, &got));
  CHECK(got == NULL);
  CHECK(strong_count(other) == 1);

  OK(CALL("ffi.FunctionFromExternC", &result, any_of(kTVMFFINone), ptr_view(kTVMFFIOpaquePtr, (void*)sum),
      any_of(kTVMFFINone)));
  arg = int_view(5), item = any_of(kTVMFFINone);
  OK(TVMFFIFunctionCall(result.v_obj, &arg, 1, &item));
  CHECK(item.v_int64 == 5);
  drop(&result);
  FAILS(CALL("ffi.FunctionFromExternC", &result, int_view(1), int_view(2), int_view(3)), "TypeError", "void*");
  FAILS(CALL("ffi.FunctionRemoveGlobal", &result, int_view(1)), "TypeError", "str");
  FAILS(CALL("ffi.GetGlobalFuncMetadata", &result, text_view("no.such.function")), "RuntimeError", "no.such.function");

  FAILS(TVMFFIFunctionSetGlobal(NULL, f, 0), "ValueError", "NULL");
  FAILS(TVMFFIFunctionSetGlobal(&none, f, 0), "ValueError", "NULL");
  FAILS(TVMFFIFunctionSetGlobal(&empty, f, 0), "ValueError", "empty");
  FAILS(TVMFFIFunctionSetGlobal(&name, NULL, 0), "TypeError", "NULL");
  OK(call_global("ffi.Array", NULL, 0, &result));
  FAILS(TVMFFIFunctionSetGlobal(&name, result.v_obj, 0), "TypeError", "Array");
  drop(&result);
  FAILS(TVMFFIFunctionGetGlobal(NULL, &got), "ValueError", "NULL");
  FAILS(TVMFFIFunctionGetGlobal(&name, NULL), "ValueError", "NULL");
  TVMFFIObjectDecRef(f);
  TVMFFIObjectDecRef(other);
}

static void test_global_with_metadata(void) {
  TVMFFIObjectHandle f = make(sum);
  TVMFFIMethodInfo info;
  TVMFFIAny out;
  memset(&info, 0, sizeof info);
  info.name = bytes_of("ffi_abi_test.described"), info.doc = bytes_of("adds"), info.method = object_view(f);
  char metadata[] = "{\"type_schema\":\"...\"}";
  info.metadata = bytes_of(metadata);
  OK(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0));
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), "RuntimeError", "ffi_abi_test.described");
  metadata[0] = 'X'; /* copied */
  OK(CALL("ffi.GetGlobalFuncMetadata", &out, text_view("ffi_abi_test.described")));
  CHECK(is_text(text_of(&out), "{\"type_schema\":\"...\"}"));
  drop(&out);
  OK(TVMFFIFunctionSetGlobal(&info.name, f, 1)); /* replaced: the new one has no metadata */
  OK(CALL("ffi.GetGlobalFuncMetadata", &out, text_view("ffi_abi_test.described")));
  CHECK(is_text(text_of(&out), ""));
  OK(CALL("ffi.FunctionRemoveGlobal", &out, text_view("ffi_abi_test.described")));
  CHECK(strong_count(f) == 1);
  info.method = int_view(1);
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), "TypeError", "not a Function");
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(NULL, 0), "ValueError", "NULL");
  info.name = bytes_of("");
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), "ValueError", "empty");
  TVMFFIObjectDecRef(f);
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc == 2 && strcmp(argv[1], "results") == 0) {
    test_bad_results();
    return report();
  }
  test_functions();
  test_values();
  test_globals();
  test_global_with_metadata();
  test_objects();
  test_types();
  test_errors();
  test_texts();
  test_containers();
  test_tensors();
  test_environment();
  test_own_device();
  test_modules();
  test_bad_values();
  test_bad_results();
  test_bad_types();
  test_bad_names();
  test_bad_tensors();
  test_kinds();
  test_wrong_arguments();
  return report();
}
