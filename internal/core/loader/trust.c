/* Checks the copy of a file by a function of Go. */
#include "loader/loader.h"
#include "loader/copy_file.h"
#include "object/fork.h"
#include "object/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Go: checks the content of fd, which has size bytes, by the signature of path. keys is the value of the environment
 * variable, or NULL; verifier a handle, or 0. Absent in programs that link the core alone. */
__attribute__((weak)) int tvmgoTrustCheck(const char* name, const char* path, int fd, size_t size, const char* keys,
                                          uintptr_t verifier);

uintptr_t tvmgo_trust_enter(uintptr_t verifier) {
  tvmgo_thread* t = tvmgo_thread_get();
  uintptr_t before = t->verifier;
  if (verifier != 0) t->verifier = verifier;
  return before;
}

void tvmgo_trust_leave(uintptr_t before) { tvmgo_thread_get()->verifier = before; }

uintptr_t tvmgo_trust_verifier(void) { return tvmgo_thread_get()->verifier; }

static const char* keys;
static pthread_once_t keys_once = PTHREAD_ONCE_INIT;

/* Once: a program cannot lose the check by a change of its environment. */
static void read_keys(void) {
  const char* s = getenv("TVMGO_TRUSTED_KEYS");
  if (s != NULL && (keys = strdup(s)) == NULL) keys = ""; /* without memory nothing is loaded */
}

const char* tvmgo_trust_keys(void) {
  pthread_once(&keys_once, read_keys);
  return keys;
}

int tvmgo_trust_is_needed(void) { return tvmgo_trust_keys() != NULL || tvmgo_trust_verifier() != 0; }

static int raise_changed(const char* name) {
  return tvmgo_raise(TVMGO_UNTRUSTED_ERROR,
                     "load %s: the file changed while its signature was checked: load it again when it is complete",
                     name);
}

static int same_time(const struct timespec* a, const struct timespec* b) {
  return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static int is_same(const struct stat* a, const struct stat* b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
         same_time(&a->st_mtim, &b->st_mtim) && same_time(&a->st_ctim, &b->st_ctim);
}

/* The open file, and the one that has its name now. */
static int check_unchanged(const char* name, const char* path, int fd, const struct stat* then) {
  struct stat now;
  if (fstat(fd, &now) != 0 || !is_same(then, &now)) return raise_changed(name);
  return stat(path, &now) != 0 || !is_same(then, &now) ? raise_changed(name) : 0;
}

static int failed(const char* name, const char* what) {
  if (errno == ENOMEM) return tvmgo_raise_oom();
  return tvmgo_raise_system(errno, TVMGO_RUNTIME_ERROR, "load %s: copying it to check its signature: %s: %s", name,
                            what, strerror(errno));
}

/* Where memory files are forbidden, the copy is a file without a name, which other users cannot open either. */
static int copy_of(const char* name, int fd, uint64_t size) {
  int copy = tvmgo_memory_file(name), why = errno;
  if (copy < 0 && (copy = tvmgo_nameless_file()) < 0)
    return tvmgo_raise_system(errno, TVMGO_RUNTIME_ERROR,
                              "load %s: copying it to check its signature: a file in memory (memfd_create): %s; a file "
                              "in %s: %s: allow memfd_create, or set TMPDIR to a folder where this process may write "
                              "and execute code",
                              name, strerror(why), tvmgo_temporary_folder(), strerror(errno));
  int rc = tvmgo_copy_file(fd, copy, size);
  if (rc == 0 && lseek(copy, 0, SEEK_SET) == 0) { /* loaders read it from the start */
    tvmgo_seal_size(copy);
    return copy;
  }
  if (rc > 0) raise_changed(name);
  else failed(name, "copy");
  close(copy);
  return -1;
}

int tvmgo_trust_open_file(const char* path, int fd, int* copy) {
  struct stat file;
  if (fstat(fd, &file) != 0)
    return tvmgo_raise_system(errno, TVMGO_RUNTIME_ERROR, "load %s: %s", path, strerror(errno));
  return (*copy = tvmgo_trust_open(path, path, fd, &file)) < 0 ? -1 : 0;
}

int tvmgo_trust_open(const char* name, const char* path, int fd, const struct stat* file) {
  if (tvmgoTrustCheck == NULL)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "load %s: TVMGO_TRUSTED_KEYS is set, and this build of the core is without Go, which checks "
                       "signatures: link the whole library",
                       name);
  if (tvmgo_enter_go("checking a signature") != 0) return -1;
  if (!S_ISREG(file->st_mode))
    return tvmgo_raise(TVMGO_UNTRUSTED_ERROR,
                       "load %s: it is no ordinary file, so that its signature cannot be checked: copy it to one",
                       name);
  int copy = copy_of(name, fd, (uint64_t)file->st_size);
  if (copy < 0) return -1;
  if (tvmgoTrustCheck(name, path, copy, (size_t)file->st_size, tvmgo_trust_keys(), tvmgo_trust_verifier()) == 0 &&
      check_unchanged(name, path, fd, file) == 0)
    return copy;
  close(copy);
  return -1;
}
