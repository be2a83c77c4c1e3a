/* Opens a library, and disables it in a child of fork. */
#define _GNU_SOURCE
#include "dl.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LIBRARIES = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tvmgo_dl_library* opened[MAX_LIBRARIES];

/* Runs in a child of fork. Threads that the child does not have may hold the lock, and locks of the driver. */
static void in_child(void) {
  pthread_mutex_init(&lock, NULL);
  tvmgo_dl_quiet_forked();
  for (int i = 0; i < MAX_LIBRARIES && opened[i] != NULL; i++) {
    snprintf(opened[i]->why, sizeof opened[i]->why,
             "this process is a fork of a process that uses the library, without the driver's threads");
    opened[i]->cure = "start a program with exec, or fork before the first use";
    atomic_store(&opened[i]->state, TVMGO_DL_FORKED);
  }
}

/* Before anything is opened: a handler that another thread adds after a fork has begun does not run in the child. */
__attribute__((constructor)) static void watch_forks(void) {
  pthread_atfork(NULL, NULL, in_child);
}

static void remember(tvmgo_dl_library* lib) {
  for (int i = 0; i < MAX_LIBRARIES; i++) {
    if (opened[i] != NULL) continue;
    opened[i] = lib;
    break;
  }
}

static void* open_one(tvmgo_dl_library* lib) {
  const char* other = getenv(lib->variable);
  const char* only[] = {other, NULL};
  const char* const* names = other != NULL && *other != 0 ? only : lib->names;
  lib->why[0] = 0;
  for (; *names != NULL; names++) {
    void* h = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    if (h != NULL) return h;
    const char* cause = dlerror();
    if (lib->why[0] == 0) snprintf(lib->why, sizeof lib->why, "%s", cause != NULL ? cause : "dlopen failed");
  }
  return NULL;
}

/* Looks up the functions. The library must have the function lib->first; an older library may not have all others. */
static int fill(tvmgo_dl_library* lib, void* h) {
  struct link_map* map = NULL;
  if (dlinfo(h, RTLD_DI_LINKMAP, &map) == 0 && map != NULL) snprintf(lib->path, sizeof lib->path, "%s", map->l_name);
  if (dlsym(h, lib->first) == NULL) {
    snprintf(lib->why, sizeof lib->why, "%.300s has no function %s", lib->path, lib->first);
    return 0;
  }
  for (size_t i = 0; i < lib->num_symbols; i++) *lib->symbols[i].slot = dlsym(h, lib->symbols[i].name);
  return 1;
}

int tvmgo_dl_open(tvmgo_dl_library* lib) {
  if (atomic_load(&lib->state) == TVMGO_DL_CLOSED) {
    tvmgo_dl_quiet_begin(); /* the library's constructors may change signal handlers */
    pthread_mutex_lock(&lock);
    if (atomic_load(&lib->state) == TVMGO_DL_CLOSED) {
      void* h = open_one(lib);
      int good = h != NULL && fill(lib, h);
      if (good) remember(lib);
      if (good && lib->start != NULL) lib->start();
      atomic_store(&lib->state, good ? TVMGO_DL_OPEN : TVMGO_DL_MISSING);
    }
    pthread_mutex_unlock(&lock);
    tvmgo_dl_quiet_end();
  }
  return tvmgo_dl_is_open(lib);
}

int tvmgo_dl_has(const tvmgo_dl_library* lib, const char* name) {
  for (size_t i = 0; i < lib->num_symbols; i++)
    if (strcmp(lib->symbols[i].name, name) == 0) return *lib->symbols[i].slot != NULL;
  return 0;
}

enum { LACKED = 0x6c000000 }; /* the code of the first symbol; no API has such codes */

int tvmgo_dl_lacks(tvmgo_dl_library* lib, const char* name, int code) {
  if (!tvmgo_dl_is_open(lib)) return code;
  for (size_t i = 0; i < lib->num_symbols; i++)
    if (strcmp(lib->symbols[i].name, name) == 0) return LACKED + (int)i;
  return code;
}

const char* tvmgo_dl_lacked(const tvmgo_dl_library* lib, int code) {
  size_t i = (size_t)(code - LACKED);
  return code >= LACKED && i < lib->num_symbols ? lib->symbols[i].name : NULL;
}
