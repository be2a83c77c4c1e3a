//go:build opencl

#include "icd.h"

#include <dlfcn.h>
#include <stdio.h>

#include "../../internal/dl/dl.h"

int tvmgo_cl_opens(const char* library, char* why, size_t size) {
  tvmgo_dl_quiet_begin(); /* the library's constructors may print */
  void* h = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (h == NULL) {
    const char* cause = dlerror();
    snprintf(why, size, "%s", cause != NULL ? cause : library);
  }
  tvmgo_dl_quiet_end();
  return h != NULL; /* never closed: threads that the driver started would lose their code */
}
