/* A program with an exported static library linked in. It checks the library's results about exporting. */
#include "ffi_abi_test.h"

int failures;

static TVMFFIAny system_library(void) {
  TVMFFIAny prefix = text_view("app_"), m = any_of(kTVMFFINone);
  OK(call_global("ffi.SystemLib", &prefix, 1, &m));
  return m;
}

static void test_system_library(void) {
  TVMFFIAny m = system_library(), result = any_of(kTVMFFINone), f = any_of(kTVMFFINone);
  NEED(m.type_index == kTVMFFIModule);
  TVMFFIAny get[3] = {m, text_view("five"), int_view(1)};
  OK(call_global("ffi.ModuleGetFunction", get, 3, &f));
  NEED(f.type_index == kTVMFFIFunction);
  OK(TVMFFIFunctionCall(f.v_obj, NULL, 0, &result));
  CHECK(result.type_index == kTVMFFIInt && result.v_int64 == 5);
  OK(call_global("runtime.ModuleImportsSize", &m, 1, &result));
  CHECK(result.v_int64 == 1);
  TVMFFIObjectDecRef(f.v_obj);
  TVMFFIObjectDecRef(m.v_obj);
}

static void test_pack(void) {
  TVMFFIAny args[4] = {text_view("int a;"), text_view("c")}, m = any_of(kTVMFFINone), text = any_of(kTVMFFINone);
  OK(call_global("runtime.CSourceModuleCreate", args, 2, &m));
  NEED(m.type_index == kTVMFFIModule);
  TVMFFIAny pack[3] = {m, int_view(1), text_view("x_")};
  OK(call_global("runtime.ModulePackImportsToC", pack, 3, &text));
  NEED(text.type_index == kTVMFFIStr);
  const char* c = ((TVMFFIByteArray*)(text.v_obj + 1))->data;
  CHECK(strstr(c, "const unsigned char x___tvm_ffi__library_bin[52]") != NULL);
  CHECK(strstr(c, "TVMFFIEnvModRegisterSystemLibSymbol(\"x___tvm_ffi__library_bin\"") != NULL);
  FAILS(call_global("runtime.ModulePackImportsToC", &args[0], 1, &text), "ValueError", "argument 0");
  TVMFFIObjectDecRef(text.v_obj);
  TVMFFIObjectDecRef(m.v_obj);
}

int main(void) {
  test_system_library();
  test_pack();
  return report();
}
