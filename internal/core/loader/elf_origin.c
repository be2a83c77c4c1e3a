/* Dependencies that ld.so would find beside the file: $ORIGIN of a private copy is another folder. */
#include "loader/loader.h"
#include "loader/elf_copy.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One directory of a run path, up to ':' or the end, with $ORIGIN replaced. Returns the bytes used of
 * path; *has_origin reports whether $ORIGIN occurred. An empty result means that it does not fit. */
static size_t expand(const char* path, const char* origin, char* to, size_t cap, int* has_origin) {
  size_t used = strcspn(path, ":"), n = 0;
  *has_origin = 0;
  for (size_t i = 0; i < used && n < cap;) {
    size_t token = strncmp(path + i, "$ORIGIN", 7) == 0     ? 7
                   : strncmp(path + i, "${ORIGIN}", 9) == 0 ? 9
                                                            : 0;
    if (token == 0) {
      to[n++] = path[i++];
      continue;
    }
    *has_origin = 1;
    i += token;
    n += (size_t)snprintf(to + n, cap - n, "%s", origin);
  }
  to[n < cap ? n : 0] = 0;
  return used;
}

/* The first directory of the run path that has the library counts: the copy needs help only if that directory is
 * written with $ORIGIN. Writes the library's path; 0 = leave it to ld.so. */
static int find(const char* run_path, const char* origin, const char* needed, char* to, size_t cap) {
  for (const char* p = run_path;; p++) {
    int has_origin;
    p += expand(p, origin, to, cap, &has_origin);
    size_t n = strlen(to), len = strlen(needed);
    if (n > 0 && n + len + 2 <= cap) {
      to[n] = '/';
      memcpy(to + n + 1, needed, len + 1);
      if (access(to, F_OK) == 0) return has_origin;
    }
    if (*p == 0) return 0;
  }
}

static int open_one(const tvmgo_elf* elf, const char* file, const char* needed, void*** handles,
                    size_t* n) {
  void** grown = realloc(*handles, (*n + 1) * sizeof *grown);
  if (grown == NULL) return tvmgo_raise_oom();
  *handles = grown;
  void* h = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
  if (h == NULL) {
    const char* why = dlerror();
    return tvmgo_raise(TVMGO_NOT_FOUND_ERROR, "load %s: its dependency cannot be opened: %s",
                       elf->name, why == NULL ? file : why);
  }
  grown[(*n)++] = h;
  /* ld.so compares the name in the file with the sonames of loaded libraries. */
  void* same = dlopen(needed, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (same != NULL) dlclose(same);
  if (same == h) return 0;
  dlerror();
  return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                     "load %s: it needs a private copy, which finds no dependency through $ORIGIN "
                     "(\"%s\"): link that library with -Wl,-soname,%s",
                     elf->name, needed, needed);
}

int tvmgo_elf_open_origin(const tvmgo_elf* elf, const char* path, void*** handles, size_t* n) {
  char origin[4096], file[4096];
  const char *slash = strrchr(path, '/'), *run_path = NULL;
  int len = slash == NULL ? snprintf(origin, sizeof origin, ".")
                          : snprintf(origin, sizeof origin, "%.*s", (int)(slash - path), path);
  if (len < 0 || (size_t)len >= sizeof origin) return 0;
  if (slash == path) strcpy(origin, "/");
  for (const Elf64_Dyn* d = elf->dynamic.data; d->d_tag != DT_NULL; d++) {
    /* DT_RPATH counts only where there is no DT_RUNPATH. */
    if (d->d_tag == DT_RUNPATH || (d->d_tag == DT_RPATH && run_path == NULL))
      run_path = tvmgo_elf_string(elf, d->d_un.d_val);
  }
  for (const Elf64_Dyn* d = elf->dynamic.data; run_path != NULL && d->d_tag != DT_NULL; d++) {
    if (d->d_tag != DT_NEEDED) continue;
    const char* needed = tvmgo_elf_string(elf, d->d_un.d_val);
    if (strchr(needed, '/') == NULL && find(run_path, origin, needed, file, sizeof file) &&
        open_one(elf, file, needed, handles, n) != 0)
      return -1;
  }
  return 0;
}
