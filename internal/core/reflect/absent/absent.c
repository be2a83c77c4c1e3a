#include "reflect/absent/absent.h"

TVMGO_BUILTIN(refuse) {
  return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                     "%s: this build has no reflection: it was built with the tag noreflect: build it without that tag",
                     f);
}

#define REGISTER(id, name, body) tvmgo_global_builtin(name, refuse);

__attribute__((constructor(111))) static void register_builtins(void) { TVMGO_REFLECT_ALL(REGISTER) }
