#include "call.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

const char *cudarun_open(const char *path, void **library) {
  *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return *library ? NULL : dlerror();
}

const fakecuda_kernel *cudarun_find(void *library, const char *name) {
  fakecuda_node **list = dlsym(library, "fakecuda_kernel_list");
  for (fakecuda_node *n = list ? *list : NULL; n; n = n->next) {
    if (!strcmp(n->kernel->name, name)) return n->kernel;
  }
  return NULL;
}

static __thread char *report_text;
static __thread size_t report_size;
static void report(const char *text) { snprintf(report_text, report_size, "%s", text); }

int cudarun_launch(const fakecuda_kernel *k, const unsigned *dims, unsigned shared, const void *const *params,
                   const fakecuda_extent *extents, char *text, size_t size) {
  fakecuda_launch l = {{dims[0], dims[1], dims[2]}, {dims[3], dims[4], dims[5]}, {1, 1, 1}, shared, 0, params,
                       extents, NULL, report};
  report_text = text;
  report_size = size;
  return k->run(&l);
}
