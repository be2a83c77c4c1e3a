//go:build !runtimeonly

/* Global functions that build programs. Their bodies are in Go, in package codegen and those of kinds; the names are
 * here, so that C's first call finds them. */
#include "core.h"
#include "object/fork.h"
#include "generators_gen.h"
#include "call/deferred.h"

int tvmgoCallGlobal(const char* name, const char* provider, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);

static int call_hook(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const char* name = ((const tvmgo_builtin*)self)->name;
  if (tvmgo_enter_go(name) != 0) return -1;
  return tvmgoCallGlobal(name, "tvmgo/codegen", args, n, result);
}

__attribute__((constructor(110))) static void register_builtins(void) {
  static const char* const names[] = {
      "codegen.Build", "codegen.BuildVariants", "codegen.Kinds", "tir.FromText", "tir.FromJSON", "tvmgo.compile",
  };
  static const char* const deferred[] = {TVMGO_GENERATORS};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) tvmgo_global_builtin(names[i], call_hook);
  for (size_t i = 0; i < sizeof deferred / sizeof *deferred; i++) tvmgo_deferred_builtin(deferred[i], call_hook, 0);
}
