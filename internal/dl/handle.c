/* Opens a library whose name is found at run time. */
#define _GNU_SOURCE
#include "dl.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

void* tvmgo_dl_handle(const char* name, char* path, size_t path_size, char* why, size_t why_size) {
  tvmgo_dl_quiet_begin();
  void* h = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (h == NULL) {
    const char* cause = dlerror();
    snprintf(why, why_size, "%s", cause != NULL ? cause : "dlopen failed");
  } else {
    struct link_map* map = NULL;
    snprintf(path, path_size, "%s", dlinfo(h, RTLD_DI_LINKMAP, &map) == 0 && map != NULL ? map->l_name : name);
  }
  tvmgo_dl_quiet_end();
  return h;
}

void* tvmgo_dl_address(void* handle, const char* name) { return dlsym(handle, name); }

void tvmgo_dl_drop(void* handle) { dlclose(handle); }
