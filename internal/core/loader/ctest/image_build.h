/* Builds shared libraries for the image tests, in a folder that is removed at the end. The compiler is $CC, else cc. */
#pragma once

#include "ctest/check.h"

#include <unistd.h>

#if CHECK_TSAN
/* The dynamic linker's own locks are invisible to the sanitizer. */
const char* __tsan_default_suppressions(void);
const char* __tsan_default_suppressions(void) { return "called_from_lib:ld-linux\n"; }
#endif

static char build_dir[256];

static inline void build_remove(void) {
  char command[512];
  snprintf(command, sizeof command, "rm -rf '%s'", build_dir);
  if (build_dir[0] != 0 && system(command) != 0) fprintf(stderr, "cannot remove %s\n", build_dir);
}

static inline void build_begin(void) {
  const char* tmp = getenv("TMPDIR");
  snprintf(build_dir, sizeof build_dir, "%s/tvmgo-image-XXXXXX", tmp == NULL ? "/tmp" : tmp);
  if (mkdtemp(build_dir) == NULL) {
    perror(build_dir);
    exit(1);
  }
  atexit(build_remove);
}

/* A path in the folder; up to eight at a time. */
static inline const char* build_path(const char* name) {
  static __thread char paths[8][512];
  static __thread unsigned next;
  char* p = paths[next++ % 8];
  snprintf(p, sizeof paths[0], "%s/%s", build_dir, name);
  return p;
}

static inline int build_write(const char* path, const void* data, size_t size) {
  FILE* f = fopen(path, "wb");
  if (f == NULL) return -1;
  size_t n = fwrite(data, 1, size, f);
  return fclose(f) == 0 && n == size ? 0 : -1;
}

/* The whole file in a malloc'ed block of exactly its size, so that reading past its end is detected. */
static inline unsigned char* build_read(const char* path, size_t* size) {
  FILE* f = fopen(path, "rb");
  if (f == NULL) return NULL;
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  unsigned char* p = malloc(*size);
  if (p != NULL && fread(p, 1, *size, f) != *size) {
    free(p);
    p = NULL;
  }
  fclose(f);
  return p;
}

/* Compiles source with the options and returns the path of name, or NULL. */
static inline const char* build(const char* name, const char* options, const char* source) {
  char file[512], command[3072];
  const char *cc = getenv("CC"), *out = build_path(name);
  snprintf(file, sizeof file, "%s.c", out);
  if (build_write(file, source, strlen(source)) != 0) return NULL;
  /* All output options come last: -l after what needs it. */
  snprintf(command, sizeof command, "%s -w -O1 -o '%s' '%s' %s", cc == NULL ? "cc" : cc, out, file,
           options);
  if (system(command) != 0) {
    check_fail(__FILE__, __LINE__, "%s failed", command);
    return NULL;
  }
  return out;
}

/* A library: options for cc -shared. */
static inline const char* build_so(const char* name, const char* options, const char* source) {
  char all[1536];
  snprintf(all, sizeof all, "-shared -fPIC %s", options);
  return build(name, all, source);
}

/* Calls int name(void) of the image; -1000 when it has none. */
static inline int build_call(const tvmgo_image* image, const char* name) {
  int type;
  void* p = tvmgo_image_symbol(image, name, strlen(name), &type);
  return p == NULL || type != 2 ? -1000 : ((int (*)(void))p)();
}

/* Opens and reports; NULL after a failed check. */
static inline tvmgo_image* build_open(const char* path, unsigned flags) {
  tvmgo_image* image = NULL;
  if (path == NULL || !CHECK_OK(tvmgo_image_open(path, NULL, 0, flags, &image))) return NULL;
  return image;
}

/* Source of a library with version(), which returns the version of the runtime that it is bound to: ours (16) or
 * another. */
#define CALLS_VERSION                                                     \
  "typedef struct { unsigned a, b, c; } V; void TVMFFIGetVersion(V*);\n"  \
  "int version(void) { V v = {0, 0, 0}; TVMFFIGetVersion(&v); return (int)v.c; }\n"
#define OUR_VERSION TVM_FFI_VERSION_PATCH
