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

/* The folder of the file; 0 if it is too long. */
static int folder_of(const char* path, char* to, size_t cap) {
  const char* slash = strrchr(path, '/');
  int len = slash == NULL ? snprintf(to, cap, ".") : snprintf(to, cap, "%.*s", (int)(slash - path), path);
  if (slash == path) strcpy(to, "/");
  return len >= 0 && (size_t)len < cap;
}

/* DT_RPATH counts only where there is no DT_RUNPATH. NULL: neither. */
static const char* run_path_of(const tvmgo_elf* elf) {
  const char* run_path = NULL;
  for (const Elf64_Dyn* d = elf->dynamic.data; d->d_tag != DT_NULL; d++)
    if (d->d_tag == DT_RUNPATH || (d->d_tag == DT_RPATH && run_path == NULL))
      run_path = tvmgo_elf_string(elf, d->d_un.d_val);
  return run_path;
}

int tvmgo_elf_open_origin(const tvmgo_elf* elf, const char* path, void*** handles, size_t* n) {
  char origin[4096], file[4096];
  const char* run_path = run_path_of(elf);
  if (!folder_of(path, origin, sizeof origin)) return 0;
  for (const Elf64_Dyn* d = elf->dynamic.data; run_path != NULL && d->d_tag != DT_NULL; d++) {
    if (d->d_tag != DT_NEEDED) continue;
    const char* needed = tvmgo_elf_string(elf, d->d_un.d_val);
    if (strchr(needed, '/') == NULL && find(run_path, origin, needed, file, sizeof file) &&
        open_one(elf, file, needed, handles, n) != 0)
      return -1;
  }
  return 0;
}

static int raise_beside(const tvmgo_elf* elf, const char* needed, const char* where) {
  return tvmgo_raise(TVMGO_UNTRUSTED_ERROR,
                     "load %s: it needs the library %s, which the dynamic linker would take from %s, and whose "
                     "signature would not be checked: link it statically, or install it in a folder of the system",
                     elf->name, needed, where);
}

int tvmgo_elf_check_beside(const tvmgo_elf* elf, const char* path) {
  char origin[4096], file[4096];
  const char* run_path = run_path_of(elf);
  if (!folder_of(path, origin, sizeof origin)) return raise_beside(elf, "of its run path", "a folder of a long name");
  for (const Elf64_Dyn* d = elf->dynamic.data; d->d_tag != DT_NULL; d++) {
    if (d->d_tag != DT_NEEDED) continue;
    const char* needed = tvmgo_elf_string(elf, d->d_un.d_val);
    if (strchr(needed, '/') != NULL && needed[0] != '/') return raise_beside(elf, needed, "the current folder");
    if (strchr(needed, '/') != NULL || run_path == NULL) continue;
    for (const char* p = run_path;; p++) {
      int has_origin;
      p += expand(p, origin, file, sizeof file, &has_origin);
      size_t n = strlen(file), len = strlen(needed);
      if (!has_origin && file[0] != '/') return raise_beside(elf, needed, "the current folder");
      int is_there = 0;
      if (n + len + 2 <= sizeof file) {
        file[n] = '/';
        memcpy(file + n + 1, needed, len + 1);
        is_there = access(file, F_OK) == 0;
      }
      if (is_there && has_origin) return raise_beside(elf, needed, "the folder of the file ($ORIGIN)");
      if (is_there || *p == 0) break;
    }
  }
  return 0;
}
