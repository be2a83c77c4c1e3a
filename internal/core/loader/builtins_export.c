/* Functions whose bodies are in Go, in a package that a program may leave out. The names are here, so that C's first
 * call finds them. */
#include "loader/loader.h"
#include "object/fork.h"

/* Go: calls the body that a package gave for a name. Absent in programs that link the core alone. */
__attribute__((weak)) int tvmgoCallGlobal(const char* name, const char* provider, const TVMFFIAny* args, int32_t n,
                                          TVMFFIAny* result);

/* The packages, by the flag of the function. */
static const char* const providers[] = {"tvmgo/export", "tvmgo/runtime/graph", "tvmgo/runtime", "tvmgo/runtime/vm"};
enum { EXPORT, GRAPH, RUNTIME, VM };

static int call_hook(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const char* name = ((const tvmgo_builtin*)self)->name;
  if (tvmgoCallGlobal == NULL)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "%s: this build of the core is without Go: link the whole library",
                       name);
  if (tvmgo_enter_go(name) != 0) return -1;
  return tvmgoCallGlobal(name, providers[((const tvmgo_builtin*)self)->flag], args, n, result);
}

__attribute__((constructor(110))) static void register_builtins(void) {
  static const struct {
    const char* name;
    int provider;
  } table[] = {
      {"runtime.ModulePackImportsToC", EXPORT},
      {"runtime.ModulePackImportsToLLVM", EXPORT},
      {"runtime.ModulePackImportsToTensor", EXPORT},
      {"runtime.ModulePackImportsToNDArray", EXPORT},
      {"runtime.ModuleImportsBlobName", EXPORT},
      {"tvm.graph_executor.create", GRAPH},
      {"tvm.graph_executor_cuda_graph.create", GRAPH},
      {"tvm.graph_executor_debug.create", GRAPH},
      {"tvm.graph_executor_factory.create", GRAPH},
      {"ffi.Module.load_from_file.json", GRAPH},
      {"ffi.Module.load_from_file.relax.Executable", VM},
      {"ffi.Module.load_from_file.relax.VMExecutable", VM},
      {"runtime.LoadParams", RUNTIME},
      {"runtime.LoadParamsFromFile", RUNTIME},
      {"runtime.SaveParams", RUNTIME},
      {"runtime.SaveParamsToFile", RUNTIME},
      {"tvmgo.load_model", RUNTIME},
      {"tvmgo.profile.start", RUNTIME},
      {"tvmgo.profile.stop", RUNTIME},
      {"vm.builtin.param_array_from_cache", RUNTIME},
      {"vm.builtin.param_array_from_cache_by_name", RUNTIME},
      {"vm.builtin.param_array_from_cache_by_name_unpacked", RUNTIME},
      {"vm.builtin.param_module_from_cache", RUNTIME},
      {"vm.builtin.param_module_from_cache_by_name", RUNTIME},
      {"vm.builtin.tensor_cache.clear", RUNTIME},
      {"vm.builtin.tensor_cache.get", RUNTIME},
      {"vm.builtin.tensor_cache.load", RUNTIME},
      {"vm.builtin.tensor_cache.remove", RUNTIME},
      {"vm.builtin.tensor_cache.update", RUNTIME},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    tvmgo_global_builtin_flag(table[i].name, call_hook, table[i].provider);
}
