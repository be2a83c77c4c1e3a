/* Loads that check signatures, with a function of this program in the place of Go's. */
#include "loader/ctest/image_build.h"
#include "loader/copy_file.h"
#include "loader/kinds.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* What the check of this program does, and what it was called with. */
static void (*during)(const char* path);
static int refuses, calls;
static uintptr_t seen_verifier;
static char seen_path[512];
static unsigned long seen_inode;

/* Where the system has no files in memory. */
static int without_memory_files;

int tvmgoTrustCheck(const char* name, const char* path, int fd, size_t size, const char* keys, uintptr_t verifier);
int tvmgoTrustCheck(const char* name, const char* path, int fd, size_t size, const char* keys, uintptr_t verifier) {
  size_t n = 0;
  struct stat file;
  CHECK_EQ_INT(fstat(fd, &file), 0);
  seen_inode = file.st_ino;
  unsigned char *original = build_read(path, &n), *copy = malloc(n);
  calls++;
  seen_verifier = verifier;

  snprintf(seen_path, sizeof seen_path, "%s", path);
  CHECK(keys == NULL);
  CHECK_EQ_INT(n, size);
  CHECK(copy != NULL && pread(fd, copy, n, 0) == (ssize_t)n && memcmp(copy, original, n) == 0);
  CHECK_EQ_INT(tvmgo_is_sealed(fd), !without_memory_files);
  CHECK_EQ_INT(ftruncate(fd, 0), without_memory_files ? 0 : -1); /* a mapping of it stays valid */
  if (without_memory_files) CHECK_EQ_INT(pwrite(fd, copy, n, 0), n);
  free(original);
  free(copy);
  if (during != NULL) during(path);
  return refuses ? tvmgo_raise(TVMGO_UNTRUSTED_ERROR, "load %s: refused", name) : 0;
}

int memfd_create(const char* name, unsigned flags) {
  if (!without_memory_files) return (int)syscall(SYS_memfd_create, name, flags);
  errno = EACCES;
  return -1;
}

static int num_open(void) {
  int n = 0;
  for (int fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD) >= 0;
  return n;
}

static const char* const plain = CALLS_VERSION "int f(void) { return 7; }\n";

static void empty(const char* path) { CHECK_EQ_INT(truncate(path, 0), 0); }

/* The file in which an address lies; 0: none. */
static unsigned long inode_of(const void* p) {
  FILE* maps = fopen("/proc/self/maps", "re");
  char line[512];
  unsigned long found = 0, inode;
  uintptr_t begin, end, at = (uintptr_t)p;
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
    if (sscanf(line, "%zx-%zx %*s %*s %*s %lu", &begin, &end, &inode) == 3 && at >= begin && at < end) found = inode;
  if (maps != NULL) fclose(maps);
  return found;
}

/* What is loaded is the copy that was checked: the file is empty when its code runs for the first time. */
static void check_copy(const char* name, const char* options) {
  const char* path = build_so(name, options, plain);
  int open_before = num_open();
  uintptr_t before = tvmgo_trust_enter(5);
  tvmgo_image* image = build_open(path, 0);
  tvmgo_trust_leave(before);
  REQUIRE(image != NULL);
  empty(path);
  CHECK(seen_inode != 0 && inode_of(tvmgo_image_symbol(image, "f", 1, NULL)) == seen_inode);
  CHECK_EQ_INT(build_call(image, "f"), 7);
  CHECK_EQ_INT(build_call(image, "version"), OUR_VERSION);
  CHECK_EQ_INT(image->is_private, 1);
  CHECK_EQ_INT(seen_verifier, 5);
  CHECK(strcmp(seen_path, path) == 0);
  CHECK(num_open() <= open_before + 1);
  tvmgo_object_release(image);
  CHECK_EQ_INT(num_open(), open_before);
}

static void test_copy(void) {
  check_copy("copy.so", "");
  check_copy("copynow.so", "-Wl,-z,now");
  without_memory_files = 1;
  check_copy("copytmp.so", "");
  without_memory_files = 0;
}

/* The fallback has no name: after the check the folder for temporary files is as before. */
static int num_names(const char* path) {
  int n = 0;
  DIR* d = opendir(path);
  while (d != NULL && readdir(d) != NULL) n++;
  if (d != NULL) closedir(d);
  return n;
}

static int names_during;
static void count_names(const char* path) { names_during = num_names(build_dir); }

static void test_fallback_has_no_name(void) {
  const char* path = build_so("nameless.so", "", plain);
  const char* old = getenv("TMPDIR");
  char* kept = old == NULL ? NULL : strdup(old);
  setenv("TMPDIR", build_dir, 1);
  int before_load = num_names(build_dir);
  without_memory_files = 1;
  during = count_names;
  uintptr_t before = tvmgo_trust_enter(5);
  tvmgo_image* image = build_open(path, 0);
  tvmgo_trust_leave(before);
  during = NULL;
  without_memory_files = 0;
  CHECK_EQ_INT(names_during, before_load);
  CHECK_EQ_INT(num_names(build_dir), before_load);
  CHECK(seen_inode != 0 && inode_of(tvmgo_image_symbol(image, "f", 1, NULL)) == seen_inode);
  tvmgo_object_release(image);
  if (kept == NULL) unsetenv("TMPDIR");
  else setenv("TMPDIR", kept, 1);
  free(kept);
}

static const char* const ends = "__attribute__((constructor)) static void f(void) { __builtin_trap(); }\n";

static void test_refused(void) {
  const char* path = build_so("refused.so", "", ends);
  tvmgo_image* image = NULL;
  int open_before = num_open();
  uintptr_t before = tvmgo_trust_enter(5);
  refuses = 1;
  CHECK_FAILS(tvmgo_image_open(path, NULL, 0, 0, &image), TVMGO_UNTRUSTED_ERROR, "refused");
  refuses = 0;
  CHECK_FAILS(tvmgo_image_open(build_path("none.so"), NULL, 0, 0, &image), TVMGO_NOT_FOUND_ERROR, "no such file");
  CHECK_FAILS(tvmgo_image_open(build_dir, NULL, 0, 0, &image), TVMGO_CORRUPT_ERROR, "a directory");
  tvmgo_trust_leave(before);
  CHECK_EQ_INT(num_open(), open_before);
}

/* ---- changes during the check ---- */

static void append(const char* path) {
  FILE* f = fopen(path, "ab");
  CHECK(f != NULL && fputc('x', f) == 'x' && fclose(f) == 0);
}
static void removed(const char* path) { CHECK_EQ_INT(unlink(path), 0); }
static void replaced(const char* path) {
  const char* other = build_path("other.so");
  CHECK(build_write(other, "x", 1) == 0 && rename(other, path) == 0);
}

static void test_changes(void) {
  static void (*const changes[])(const char*) = {empty, append, removed, replaced};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    const char* path = build_so("changes.so", "", ends);
    tvmgo_image* image = NULL;
    uintptr_t before = tvmgo_trust_enter(5);
    during = changes[i];
    CHECK_FAILS(tvmgo_image_open(path, NULL, 0, 0, &image), TVMGO_UNTRUSTED_ERROR,
                "changed while its signature was checked");
    during = NULL;
    tvmgo_trust_leave(before);
  }
}

/* ---- which loads check ---- */

static void test_threads_verifier(void) {
  CHECK_EQ_INT(tvmgo_trust_enter(0), 0);
  CHECK(!tvmgo_trust_is_needed());
  uintptr_t outer = tvmgo_trust_enter(5), inner = tvmgo_trust_enter(0);
  CHECK_EQ_INT(tvmgo_trust_verifier(), 5); /* 0 changes nothing */
  CHECK(tvmgo_trust_is_needed());
  tvmgo_trust_leave(inner);
  inner = tvmgo_trust_enter(6);
  CHECK_EQ_INT(tvmgo_trust_verifier(), 6);
  tvmgo_trust_leave(inner);
  CHECK_EQ_INT(tvmgo_trust_verifier(), 5);
  tvmgo_trust_leave(outer);
  CHECK(!tvmgo_trust_is_needed());

  calls = 0;
  tvmgo_object_release(build_open(build_so("unchecked.so", "", plain), 0));
  CHECK_EQ_INT(calls, 0);
}

/* The loader of another format would open the file by itself. */
static int own_calls;
static int own_loader(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  own_calls++;
  return tvmgo_raise(TVMGO_RUNTIME_ERROR, "called");
}

static void test_own_loader(void) {
  static const char name[] = "ffi.Module.load_from_file.own";
  tvmgo_module* m = NULL;
  TVMFFIObjectHandle f = NULL;
  REQUIRE(CHECK_OK(TVMFFIFunctionCreate(NULL, own_loader, NULL, &f)));
  CHECK_OK(tvmgo_global_set(name, sizeof name - 1, f, 0));
  CHECK_FAILS(tvmgo_load_from_file("m.own", "", 0, &m), TVMGO_RUNTIME_ERROR, "called");
  uintptr_t before = tvmgo_trust_enter(5);
  CHECK_FAILS(tvmgo_load_from_file("m.own", "", 0, &m), TVMGO_UNTRUSTED_ERROR, name);
  tvmgo_trust_leave(before);
  CHECK_EQ_INT(own_calls, 1);
  tvmgo_global_remove(name, sizeof name - 1);
  tvmgo_object_release(f);
}

/* ---- files that are loaded once ---- */

static const char* const registers =
    "typedef struct { const char* p; unsigned long n; } B; int TVMFFIFunctionSetGlobal(B*, void*, int);\n"
    "int f(void) { B b = {0, 0}; return TVMFFIFunctionSetGlobal(&b, 0, 0); }\n"
    "static int n; __attribute__((constructor)) static void up(void) { n++; }\n"
    "int count(void) { return n; }\n";

static void test_loaded_before(void) {
  const char* path = build_so("kept.so", "", registers);
  tvmgo_image *first = build_open(path, 0), *image = NULL;
  uintptr_t before = tvmgo_trust_enter(5);
  CHECK_FAILS(tvmgo_image_open(path, NULL, 0, 0, &image), TVMGO_UNTRUSTED_ERROR,
              "has loaded it before without a check");
  const char* other = build_so("kepttoo.so", "", registers);
  tvmgo_image* checked = build_open(other, 0);
  tvmgo_image* again = build_open(other, 0);
  tvmgo_trust_leave(before);
  tvmgo_image* unchecked = build_open(other, 0);
  REQUIRE(checked != NULL && again != NULL && unchecked != NULL);
  CHECK_EQ_INT(build_call(checked, "count"), 1);
  CHECK_EQ_PTR(tvmgo_image_symbol(checked, "f", 1, NULL), tvmgo_image_symbol(again, "f", 1, NULL));
  CHECK_EQ_PTR(tvmgo_image_symbol(checked, "f", 1, NULL), tvmgo_image_symbol(unchecked, "f", 1, NULL));
  tvmgo_object_release(first);
  tvmgo_object_release(checked);
  tvmgo_object_release(again);
  tvmgo_object_release(unchecked);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  build_begin();
  RUN(test_copy);
  RUN(test_fallback_has_no_name);
  RUN(test_refused);
  RUN(test_changes);
  RUN(test_threads_verifier);
  RUN(test_own_loader);
  RUN(test_loaded_before);
  return check_end();
}
