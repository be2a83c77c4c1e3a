/* runtime.ModulePackImports*: the imports of a module in forms for a compiler. The bodies are in Go, in a
 * package that a program may leave out; the names are here, so that C's first call finds them. */
#include "loader/loader.h"
#include "object/fork.h"

/* Go: calls the body that a package gave for a name. Absent in programs that link the core alone. */
__attribute__((weak)) int tvmgoCallGlobal(const char* name, const char* provider, const TVMFFIAny* args, int32_t n,
                                          TVMFFIAny* result);

static int call_hook(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const char* name = ((const tvmgo_builtin*)self)->name;
  if (tvmgoCallGlobal == NULL)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "%s: this build of the core is without Go: link the whole library",
                       name);
  if (tvmgo_enter_go(name) != 0) return -1;
  return tvmgoCallGlobal(name, "tvmgo/export", args, n, result);
}

__attribute__((constructor(110))) static void register_builtins(void) {
  static const char* const names[] = {
      "runtime.ModulePackImportsToC",       "runtime.ModulePackImportsToLLVM", "runtime.ModulePackImportsToTensor",
      "runtime.ModulePackImportsToNDArray", "runtime.ModuleImportsBlobName",
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) tvmgo_global_builtin(names[i], call_hook);
}
