/* Libraries of drivers, which rows call without the runtime. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "program.h"

void bench_need(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "bench: %s fails\n", what);
  exit(1);
}

void* bench_driver(const char* variable, const char* file) {
  const char* name = getenv(variable);
  if (name == NULL || *name == 0) name = file;
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  bench_need(library != NULL, name);
  return library;
}

void* bench_symbol(void* library, const char* name) {
  void* p = dlsym(library, name);
  bench_need(p != NULL, name);
  return p;
}
