/* A program that is linked with libtvmgo_runtime.so, which has no code generators. */
#include <tvm/runtime/c_runtime_api.h>

#include "ffi_abi_test.h"

int failures;

int main(void) {
  static const char* const absent[] = {"target.build.c", "target.build.llvm", "codegen.Build", "tir.FromText",
                                       "tvmgo.compile"};
  TVMFFIAny out;
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
    TVMFunctionHandle f = &out;
    CHECK(TVMFuncGetGlobal(absent[i], &f) == 0 && f == NULL);
    FAILS(CALL(absent[i], &out, any_of(kTVMFFINone)), "LookupError", absent[i]);
  }
  OK(call_global("runtime.NumThreads", NULL, 0, &out));
  FAILS(CALL("target.ListTargetKinds", &out, any_of(kTVMFFINone)), "NotSupportedError", "use libtvmgo.so");
  FAILS(CALL("runtime.ModuleImportsBlobName", &out, any_of(kTVMFFINone)), "NotSupportedError", "tvmgo/export");
  return report();
}
