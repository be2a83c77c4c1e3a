/* Loads a file while signatures are checked: trust_test FILE "" if that succeeds, or trust_test FILE TEXT if it fails
 * with an error that has TEXT. TVMGO_TRUSTED_KEYS is in the environment, or the program sets it first: trust_test FILE
 * TEXT KEYS. */
#include "ffi_abi_test.h"
#include <tvm/runtime/c_runtime_api.h>

int failures;

static void check_ffi(const char* name, const char* file, const char* text) {
  TVMFFIAny m;
  if (text[0] != 0) {
    FAILS(CALL(name, &m, text_view(file)), "UntrustedError", text);
    return;
  }
  OK(CALL(name, &m, text_view(file)));
  CHECK(m.type_index == kTVMFFIModule);
  drop(&m);
}

static void check_classic(const char* file, const char* text) {
  TVMModuleHandle m = NULL;
  TVMFunctionHandle f = NULL;
  if (text[0] != 0) {
    CHECK(TVMModLoadFromFile(file, "so", &m) != 0);
    CHECK(strstr(TVMGetLastError(), text) != NULL && strstr(TVMGetLastError(), file) != NULL);
    return;
  }
  CHECK(TVMModLoadFromFile(file, "so", &m) == 0);
  CHECK(TVMModGetFunction(m, "addone", 0, &f) == 0 && f != NULL);
  TVMFuncFree(f);
  TVMModFree(m);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (argc > 3) setenv("TVMGO_TRUSTED_KEYS", argv[3], 1);
  check_classic(argv[1], argv[2]);
  unsetenv("TVMGO_TRUSTED_KEYS"); /* too late */
  check_classic(argv[1], argv[2]);
  check_ffi("ffi.ModuleLoadFromFile", argv[1], argv[2]);
  check_ffi("runtime.ModuleLoadFromFile", argv[1], argv[2]);
  check_ffi("ffi.Module.load_from_file.so", argv[1], argv[2]);
  check_ffi("runtime.module.loadfile_so", argv[1], argv[2]);
  return report();
}
