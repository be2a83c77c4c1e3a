/* The tvm-ffi C ABI: modules, through the global functions ffi.Module* and runtime.Module*. Compiles small libraries as
 * Apache TVM exports them today and loads them. */
#define _GNU_SOURCE
#include "ffi_abi_test.h"
#include "scratch.h"

#define PROLOGUE                                                                                       \
  "#include <string.h>\n"                                                                               \
  "#include <tvm/ffi/extra/c_env_api.h>\n"                                                              \
  "#define FUNCTION(name) TVM_FFI_DLL_EXPORT int __tvm_ffi_##name(void* self, const TVMFFIAny* args, " \
  "int32_t n, TVMFFIAny* result)\n"

static const char scale_source[] = PROLOGUE
    "TVM_FFI_DLL_EXPORT void* __tvm_ffi__library_ctx;\n"
    "TVM_FFI_DLL_EXPORT void* ffi_abi_test_slot;\n"
    "FUNCTION(scale) {\n"
    "  if (self != NULL || n != 2 || args[1].type_index != kTVMFFIInt) {\n"
    "    const char* parts[] = {\"scale wants \", \"(tensor, int)\"};\n"
    "    TVMFFIErrorSetRaisedFromCStrParts(\"TypeError\", parts, 2);\n"
    "    return -1;\n"
    "  }\n"
    "  DLTensor* t = args[0].type_index == kTVMFFITensor ? TVMFFITensorGetDLTensorPtr(args[0].v_obj) : args[0].v_ptr;\n"
    "  for (int64_t i = 0; i < t->shape[0]; i++) ((float*)t->data)[i] *= (float)args[1].v_int64;\n"
    "  result->type_index = kTVMFFIInt, result->v_int64 = t->shape[0];\n"
    "  return 0;\n"
    "}\n"
    "FUNCTION(slot) { result->type_index = kTVMFFIOpaquePtr, result->v_ptr = ffi_abi_test_slot; return 0; }\n"
    "static int text(const char* s, TVMFFIAny* out) { TVMFFIByteArray b = {s, strlen(s)}; return "
        "TVMFFIStringFromByteArray(&b, out); }\n"
    "FUNCTION(_metadata_scale) { return text(\"{\\\"type_schema\\\":\\\"...\\\"}\", result); }\n"
    "FUNCTION(_doc_scale) { return text(\"scales a tensor in place\", result); }\n";

static const char caller_source[] = PROLOGUE
    "TVM_FFI_DLL_EXPORT void* __tvm_ffi__library_ctx;\n"
    "FUNCTION(scale_twice) {\n"
    "  TVMFFIObjectHandle scale;\n"
    "  (void)self;\n"
    "  if (TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, \"scale\", &scale) != 0) return -1;\n"
    "  if (TVMFFIFunctionCall(scale, (TVMFFIAny*)args, n, result) != 0) return -1;\n"
    "  return TVMFFIFunctionCall(scale, (TVMFFIAny*)args, n, result);\n"
    "}\n";

/* A library whose blob contains, after the library itself, a module of a kind for which this program has a loader. */
static const char blob_source[] = PROLOGUE
    "TVM_FFI_DLL_EXPORT void* __tvm_ffi__library_ctx;\n"
    "TVM_FFI_DLL_EXPORT const struct __attribute__((packed)) {\n"
    "  uint64_t nbytes, num_rows, rows[3], num_children, children[1], n1; char lib[4];\n"
    "  uint64_t n2; char kind[12]; uint64_t n3; char payload[7];\n"
    "} __tvm_ffi__library_bin = {95, 3, {0, 1, 1}, 1, {1}, 4, \"_lib\", 12, KIND, 7, \"PAYLOAD\"};\n";

static float values[3];
static TVMFFIAny tensor_of(DLTensor* t) {
  static int64_t three = 3;
  for (int i = 0; i < 3; i++) values[i] = (float)(i + 1);
  *t = (DLTensor){.data = values, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = &three};
  return ptr_view(kTVMFFIDLTensorPtr, t);
}

static int is_scaled(float by) { return values[0] == by && values[1] == 2 * by && values[2] == 3 * by; }

static TVMFFIAny load(const char* file) {
  TVMFFIAny module;
  OK(CALL("ffi.ModuleLoadFromFile", &module, text_view(in_dir(file))));
  CHECK(module.type_index == kTVMFFIModule);
  return module;
}

static TVMFFIAny get(TVMFFIAny module, const char* name, int query) {
  TVMFFIAny f;
  OK(CALL("ffi.ModuleGetFunction", &f, module, text_view(name), int_view(query)));
  return f;
}

static void test_load_and_call(void) {
  DLTensor t;
  TVMFFIAny module = load("scale.so"), out, arg[2] = {tensor_of(&t), int_view(3)};
  NEED(module.type_index == kTVMFFIModule);
  TVMFFIAny f = get(module, "scale", 0), none = get(module, "no_such_function", 1), libc = get(module, "strlen", 1);
  CHECK(none.type_index == kTVMFFINone && libc.type_index == kTVMFFINone);
  NEED(f.type_index == kTVMFFIFunction);
  out = any_of(kTVMFFINone);
  OK(TVMFFIFunctionCall(f.v_obj, arg, 2, &out));
  CHECK(out.v_int64 == 3 && is_scaled(3));
  arg[1] = text_view("three");
  FAILS(TVMFFIFunctionCall(f.v_obj, arg, 2, &out), "TypeError", "scale wants (tensor, int)");
  FAILS(TVMFFIFunctionCall(f.v_obj, arg, 1, &out), "TypeError", "scale wants (tensor, int)");
  drop(&module);
  arg[1] = int_view(2);
  OK(TVMFFIFunctionCall(f.v_obj, arg, 2, &out)); /* the function keeps its module */
  CHECK(is_scaled(6));
  drop(&f);
}

static void test_questions(void) {
  TVMFFIAny module = load("scale.so"), out;
  NEED(module.type_index == kTVMFFIModule);
  OK(CALL("ffi.ModuleGetKind", &out, module));
  CHECK(is_text(text_of(&out), "library"));
  drop(&out);
  for (int query = 0; query < 2; query++) {
    TVMFFIAny names, item;
    OK(CALL("ffi.ModuleListFunctions", &names, module, int_view(query)));
    OK(CALL("ffi.ArrayGetItem", &item, names, int_view(0)));
    CHECK(is_text(text_of(&item), "scale"));
    drop(&item);
    drop(&names);
  }
  FAILS(CALL("ffi.ModuleListFunctions", &out, int_view(1)), "TypeError", "Module");
  OK(CALL("runtime.ModuleGetTypeKey", &out, module));
  CHECK(is_text(text_of(&out), "library"));
  drop(&out);
  OK(CALL("ffi.ModuleGetPropertyMask", &out, module));
  CHECK(out.v_int64 == 3);
  OK(CALL("ffi.ModuleImplementsFunction", &out, module, text_view("scale"), int_view(0)));
  CHECK(out.type_index == kTVMFFIBool && out.v_int64 == 1);
  OK(CALL("ffi.ModuleImplementsFunction", &out, module, text_view("unscale"), int_view(1)));
  CHECK(out.v_int64 == 0);
  OK(CALL("ffi.ModuleGetFunctionMetadata", &out, module, text_view("scale"), int_view(1)));
  CHECK(is_text(text_of(&out), "{\"type_schema\":\"...\"}"));
  drop(&out);
  OK(CALL("ffi.ModuleGetFunctionDoc", &out, module, text_view("scale"), int_view(0)));
  CHECK(is_text(text_of(&out), "scales a tensor in place"));
  drop(&out);
  OK(CALL("ffi.ModuleGetFunctionDoc", &out, module, text_view("slot"), int_view(1)));
  CHECK(out.type_index == kTVMFFINone);
  OK(CALL("ffi.ModuleGetWriteFormats", &out, module));
  CHECK(out.type_index == kTVMFFIArray);
  drop(&out);
  FAILS(CALL("ffi.ModuleInspectSource", &out, module, text_view("")), "NotSupportedError", "library");
  FAILS(CALL("ffi.ModuleWriteToFile", &out, module, text_view(in_dir("copy.so")), text_view("so")), "NotSupportedError",
      "library");
  FAILS(CALL("ffi.ModuleGetKind", &out, int_view(1)), "TypeError", "Module");
  FAILS(CALL("ffi.ModuleGetFunction", &out, module, int_view(1), int_view(0)), "TypeError", "str");
  FAILS(CALL("ffi.ModuleGetFunction", &out, module), "TypeError", "2 to 3");
  FAILS(call_global("ffi.ModuleLoadFromFile", NULL, 0, &out), "TypeError", "1 to 2");
  FAILS(CALL("ffi.ModuleLoadFromFile", &out, int_view(1)), "TypeError", "str");
  FAILS(CALL("ffi.ModuleLoadFromFile", &out, text_view(in_dir("missing.so"))), "NotFoundError", "missing.so");
  FAILS(CALL("ffi.ModuleLoadFromFile", &out, text_view(in_dir("source.nonsense"))), "NotFoundError", "nonsense");
  drop(&module);
}

static void test_imports(void) {
  DLTensor t;
  TVMFFIAny scale = load("scale.so"), caller = load("caller.so"), out, arg[2] = {tensor_of(&t), int_view(2)}, none;
  NEED(scale.type_index == kTVMFFIModule && caller.type_index == kTVMFFIModule);
  TVMFFIAny f = get(caller, "scale_twice", 0);
  NEED(f.type_index == kTVMFFIFunction);
  out = any_of(kTVMFFINone);
  FAILS(TVMFFIFunctionCall(f.v_obj, arg, 2, &out), "RuntimeError", "Cannot find function scale");
  OK(CALL("ffi.ModuleImportModule", &out, caller, scale));
  OK(TVMFFIFunctionCall(f.v_obj, arg, 2, &out));
  CHECK(is_scaled(4));
  arg[1] = text_view("two");
  FAILS(TVMFFIFunctionCall(f.v_obj, arg, 2, &out), "TypeError", "scale wants (tensor, int)"); /* through two files */
  none = get(caller, "scale", 0);
  CHECK(none.type_index == kTVMFFINone);
  TVMFFIAny imported = get(caller, "scale", 1);
  CHECK(imported.type_index == kTVMFFIFunction);
  drop(&imported);
  OK(CALL("runtime.ModuleImportsSize", &out, caller));
  CHECK(out.v_int64 == 1);
  OK(CALL("runtime.ModuleGetImport", &out, caller, int_view(0)));
  CHECK(out.v_obj == scale.v_obj);
  drop(&out);
  FAILS(CALL("runtime.ModuleGetImport", &out, caller, int_view(1)), "IndexError", "1");
  FAILS(CALL("ffi.ModuleImportModule", &out, scale, caller), "ValueError", "Cyclic dependency detected during import");
  FAILS(CALL("ffi.ModuleImportModule", &out, scale, scale), "ValueError", "Cyclic dependency detected during import");
  FAILS(CALL("ffi.ModuleImportModule", &out, scale, f), "TypeError", "Module");
  OK(CALL("ffi.ModuleClearImports", &out, caller));
  OK(CALL("runtime.ModuleImportsSize", &out, caller));
  CHECK(out.v_int64 == 0);

  for (int i = 0; i < 2; i++) OK(CALL("ffi.ModuleGlobalsAdd", &out, scale)); /* keeps it alive, once */
  CHECK(strong_count(scale.v_obj) >= 2);
  for (int i = 0; i < 2; i++) OK(CALL("ffi.ModuleGlobalsRemove", &out, scale));
  FAILS(CALL("ffi.ModuleGlobalsAdd", &out, f), "TypeError", "Module");
  drop(&f);
  drop(&caller);
  drop(&scale);

  TVMFFIObjectHandle looked_up = NULL;
  OK(TVMFFIEnvModLookupFromImports(NULL, "ffi.Array", &looked_up)); /* borrowed */
  CHECK(looked_up != NULL);
  FAILS(TVMFFIEnvModLookupFromImports(NULL, "no.such.function", &looked_up), "RuntimeError", "no.such.function");
  FAILS(TVMFFIEnvModLookupFromImports(NULL, NULL, &looked_up), "ValueError", "NULL");
  FAILS(TVMFFIEnvModLookupFromImports(NULL, "ffi.Array", NULL), "ValueError", "NULL");
}

static void test_context_symbols(void) {
  int first, last;
  TVMFFIAny out = any_of(kTVMFFINone);
  OK(TVMFFIEnvModRegisterContextSymbol("ffi_abi_test_slot", &first));
  OK(TVMFFIEnvModRegisterContextSymbol("ffi_abi_test_slot", &last));
  FAILS(TVMFFIEnvModRegisterContextSymbol(NULL, &last), "ValueError", "NULL");
  FAILS(TVMFFIEnvModRegisterContextSymbol("", &last), "ValueError", "empty");
  TVMFFIAny module = load("scale.so"), f = get(module, "slot", 0);
  NEED(f.type_index == kTVMFFIFunction);
  OK(TVMFFIFunctionCall(f.v_obj, NULL, 0, &out));
  CHECK(out.v_ptr == &last); /* the last registration of a name wins */
  drop(&f);
  drop(&module);
}

/* ---- system library ---- */

static int eight(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n;
  *result = int_view(8);
  return 0;
}

static void test_system_library(void) {
  TVMFFIAny module, again, out = any_of(kTVMFFINone);
  OK(TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_ffiabi_eight", (void*)eight));
  OK(CALL("ffi.SystemLib", &module, text_view("ffiabi_")));
  OK(CALL("ffi.SystemLib", &again, text_view("ffiabi_")));
  CHECK(module.v_obj == again.v_obj);
  TVMFFIAny f = get(module, "eight", 0);
  NEED(f.type_index == kTVMFFIFunction);
  OK(TVMFFIFunctionCall(f.v_obj, NULL, 0, &out));
  CHECK(out.v_int64 == 8);
  drop(&f);
  drop(&again);
  drop(&module);
  OK(call_global("ffi.SystemLib", NULL, 0, &module));
  drop(&module);
  FAILS(TVMFFIEnvModRegisterSystemLibSymbol(NULL, NULL), "ValueError", "NULL");
  FAILS(CALL("ffi.SystemLib", &module, int_view(1)), "TypeError", "str");
}

/* ---- other modules in a file ---- */

static int blob_loads;
static TVMFFIAny given; /* the result of the loader: a module, or another value */
static int load_payload(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self;
  blob_loads++;
  CHECK(n == 1 && is_text(text_of(&args[0]), "PAYLOAD"));
  return TVMFFIAnyViewToOwnedAny(&given, result);
}

static void test_blob(void) {
  static const char name[] = "ffi.Module.load_from_bytes.ffi_abi_kind";
  TVMFFIByteArray key = bytes_of(name);
  TVMFFIObjectHandle loader = NULL;
  TVMFFIAny out;
  FAILS(CALL("ffi.ModuleLoadFromFile", &out, text_view(in_dir("blob.so"))), "NotFoundError", "\"ffi_abi_kind\"");
  OK(TVMFFIFunctionCreate(NULL, load_payload, NULL, &loader));
  OK(TVMFFIFunctionSetGlobal(&key, loader, 0));
  TVMFFIObjectDecRef(loader);

  given = int_view(5);
  FAILS(CALL("ffi.ModuleLoadFromFile", &out, text_view(in_dir("blob.so"))), "RuntimeError", "no module");
  given = load("scale.so");
  TVMFFIAny root = load("blob.so");
  NEED(root.type_index == kTVMFFIModule);
  CHECK(blob_loads == 2);
  OK(CALL("runtime.ModuleGetImport", &out, root, int_view(0)));
  CHECK(out.v_obj == given.v_obj);
  drop(&out);
  TVMFFIAny f = get(root, "scale", 1);
  CHECK(f.type_index == kTVMFFIFunction);
  drop(&f);
  drop(&root);
  CHECK(strong_count(given.v_obj) == 1);
  drop(&given);
  OK(CALL("ffi.FunctionRemoveGlobal", &out, text_view(name)));
}

void test_modules(void) {
  char kind_source[2048];
  snprintf(kind_source, sizeof kind_source, "#define KIND \"ffi_abi_kind\"\n%s", blob_source);
  NEED(scratch_make() && compile(scale_source, "scale.so", "") && compile(caller_source, "caller.so", "-Wl,-z,now") &&
       compile(kind_source, "blob.so", ""));
  test_load_and_call();
  test_questions();
  test_imports();
  test_context_symbols();
  test_system_library();
  test_blob();
  scratch_remove();
}
