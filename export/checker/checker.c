/* Loads a shared library as a runtime would, in a process of its own: prover LIBRARY SYMBOL...
 *
 * All symbols that the library refers to must be found at once. Those of the runtime are defined here as functions that
 * do nothing, so that the library's constructors can call them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#define RUNTIME(name) \
  __attribute__((visibility("default"), used)) int name(void) { return 0; }
#include "runtime_symbols.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  for (int i = 2; i < argc; i++)
    if (dlsym(library, argv[i]) == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
  puts("loaded"); /* a constructor may have ended the process with status 0 */
  fflush(stdout);
  _exit(0); /* no destructor of the library runs */
}
