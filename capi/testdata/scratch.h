/* A directory for files of a test program, and for small libraries that replace exported modules ($CC, else cc).
 * $TVMGO_INCLUDE is the include directory, in case the compiler does not find it by itself. */
#ifndef SCRATCH_H_
#define SCRATCH_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char scratch_dir[] = "/tmp/tvmgo_abi_XXXXXX";

/* Returns a path in the directory; valid until the eighth call after this one. */
static inline const char* in_dir(const char* name) {
  static char path[8][256];
  static int next;
  char* p = path[next++ % 8];
  snprintf(p, sizeof path[0], "%s/%s", scratch_dir, name);
  return p;
}

static inline int scratch_make(void) { return mkdtemp(scratch_dir) != NULL; }

static inline void scratch_remove(void) {
  char command[300];
  snprintf(command, sizeof command, "rm -rf '%s'", scratch_dir);
  if (system(command) != 0) printf("cannot remove %s\n", scratch_dir);
}

static inline int write_file(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  return f != NULL && fputs(text, f) >= 0 && fclose(f) == 0;
}

/* Makes a shared library in the directory. flags are the linker's, "" for none. */
static inline int compile(const char* source, const char* name, const char* flags) {
  char command[1024];
  const char *cc = getenv("CC"), *include = getenv("TVMGO_INCLUDE");
  if (!write_file(in_dir("source.c"), source)) return 0;
  snprintf(command, sizeof command, "%s -shared -fPIC -O1 '-I%s' -o '%s' '%s' %s", cc ? cc : "cc",
      include ? include : ".",
           in_dir(name), in_dir("source.c"), flags);
  return system(command) == 0;
}

#endif
