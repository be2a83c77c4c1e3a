/* Which load gets the file itself and which a copy: the same path again, other owners, other runtimes,
 * replaced files, bytes, dependencies, threads, and constructors that load. */
#include "loader/ctest/image_build.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>

#include "loader/elf_check.h"
#include "loader/elf_copy.h"

static const char* const with_context =
    "void* __tvm_ffi__library_ctx; int state; int next(void) { return ++state; }\n" CALLS_VERSION;
static const char* const without_context =
    "int state; int next(void) { return ++state; }\n" CALLS_VERSION;

static void* symbol(const tvmgo_image* image, const char* name) {
  return tvmgo_image_symbol(image, name, strlen(name), NULL);
}

static void test_same_path_with_context(void) {
  const char* path = build_so("ctx.so", "", with_context);
  tvmgo_image *a = build_open(path, 0), *b = build_open(path, 0);
  REQUIRE(a != NULL && b != NULL);
  CHECK(!a->is_private && b->is_private);
  CHECK(symbol(a, "__tvm_ffi__library_ctx") != symbol(b, "__tvm_ffi__library_ctx"));
  CHECK_EQ_INT(build_call(a, "next"), 1);
  CHECK_EQ_INT(build_call(b, "next"), 1);
  CHECK_EQ_INT(build_call(b, "version"), OUR_VERSION);
  tvmgo_object_release(a);
  CHECK_EQ_INT(build_call(b, "next"), 2);
  tvmgo_image* c = build_open(path, 0); /* the file is free again */
  CHECK(c != NULL && !c->is_private && build_call(c, "next") == 1);
  tvmgo_object_release(b);
  tvmgo_object_release(c);
}

static void test_same_path_shared(void) {
  const char* path = build_so("shared.so", "", without_context);
  int64_t before = check_live(TVMGO_LIVE_MAPPINGS);
  tvmgo_image *a = build_open(path, 0), *b = build_open(path, 0);
  REQUIRE(a != NULL && b != NULL);
  CHECK(a != b && !a->is_private && !b->is_private);
  CHECK_EQ_PTR(symbol(a, "next"), symbol(b, "next"));
  CHECK_EQ_INT(check_live(TVMGO_LIVE_MAPPINGS), before + 1);
  tvmgo_object_release(a);
  CHECK_EQ_INT(build_call(b, "version"), OUR_VERSION);
  tvmgo_image* c = build_open(path, TVMGO_IMAGE_PRIVATE);
  CHECK(c != NULL && c->is_private && symbol(c, "next") != symbol(b, "next"));
  tvmgo_object_release(b);
  tvmgo_object_release(c);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_MAPPINGS), before);
}

/* Somebody else has the file open: its memory does not change. */
static void test_file_of_another(void) {
  const char* path = build_so("other.so", "", "int TVMFFIFunctionCall(void); int state; int f(void) "
                                              "{ return TVMFFIFunctionCall(); }\n" CALLS_VERSION);
  void* other = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  tvmgo_image* image = build_open(path, 0);
  REQUIRE(other != NULL && image != NULL);
  CHECK(image->is_private);
  CHECK(dlsym(other, "state") != symbol(image, "state"));
  CHECK_EQ_INT(build_call(image, "version"), OUR_VERSION);
  tvmgo_object_release(image);
  dlclose(other);
}

/* Exported again under the same name while the old one is in use. */
static void test_replaced_file(void) {
  const char* path = build_so("again.so", "", "int which(void) { return 1; }");
  tvmgo_image* old = build_open(path, 0);
  REQUIRE(old != NULL && unlink(path) == 0);
  tvmgo_image* fresh = build_open(build_so("again.so", "", "int which(void) { return 2; }"), 0);
  REQUIRE(fresh != NULL);
  CHECK_EQ_INT(build_call(old, "which"), 1);
  CHECK_EQ_INT(build_call(fresh, "which"), 2);
  tvmgo_object_release(old);
  tvmgo_object_release(fresh);
}

/* The same file with other content. (Had it been truncated first, the system would have taken the
 * memory of the old image away: only private copies survive that.) */
static void test_overwritten_file(void) {
  size_t size = 0;
  const char* path = build_so("over.so", "", "int which(void) { return 1; }");
  const char* other = build_so("over2.so", "", "int which(void) { return 2; }");
  unsigned char* content = other == NULL ? NULL : build_read(other, &size);
  tvmgo_image* old = build_open(path, 0);
  REQUIRE(old != NULL && content != NULL);
  FILE* f = fopen(path, "r+b");
  CHECK(f != NULL && fwrite(content, 1, size, f) == size && fclose(f) == 0);
  tvmgo_image* fresh = build_open(path, 0);
  CHECK(fresh != NULL && fresh->is_private && build_call(fresh, "which") == 2);
  tvmgo_object_release(fresh);
  tvmgo_object_release(old);
  free(content);
}

static void test_bytes(void) {
  size_t size;
  const char* path = build_so("bytes.so", "", with_context);
  unsigned char* file = path == NULL ? NULL : build_read(path, &size);
  REQUIRE(file != NULL);
  unsigned char* odd = malloc(size + 1); /* embedded data need not be aligned */
  REQUIRE(odd != NULL);
  memcpy(odd + 1, file, size);
  tvmgo_image *a, *b;
  REQUIRE(CHECK_OK(tvmgo_image_open("in memory", file, size, 0, &a)));
  REQUIRE(CHECK_OK(tvmgo_image_open(NULL, odd + 1, size, 0, &b)));
  memset(file, 0xee, size);
  free(file);
  free(odd);
  CHECK_STR(a->name, "in memory");
  CHECK(a->is_private && b->is_private);
  CHECK_EQ_INT(build_call(a, "next"), 1);
  CHECK_EQ_INT(build_call(b, "next"), 1);
  CHECK_EQ_INT(build_call(a, "version"), OUR_VERSION);
  tvmgo_object_release(a);
  tvmgo_object_release(b);
  CHECK_FAILS(tvmgo_image_open("x", "", 0, 0, &a), TVMGO_CORRUPT_ERROR, "load x: the file is empty");
}

/* A copy that cannot be unloaded keeps its path known to the dynamic linker. */
static void test_copy_that_stays(void) {
  const char* path = build_so("stays.so", "-Wl,-z,nodelete", without_context);
  for (int i = 0; i < 40; i++) { /* more than there are numbers to try */
    tvmgo_image* image = build_open(path, TVMGO_IMAGE_PRIVATE);
    REQUIRE(image != NULL);
    CHECK_EQ_INT(build_call(image, "next"), 1);
    tvmgo_object_release(image);
  }
}

static void test_copy_in_a_file(void) {
  const char* path = build_so("tmp.so", "", without_context);
  int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  tvmgo_elf* elf = malloc(sizeof *elf);
  tvmgo_elf_copy copy;
  REQUIRE(elf != NULL);
  REQUIRE(CHECK_OK(tvmgo_elf_check(elf, path, fd, NULL, (uint64_t)lseek(fd, 0, SEEK_END))));
  if (CHECK_OK(tvmgo_elf_copy_make(elf, TVMGO_COPY_NAMED, &copy))) {
    void* h = dlopen(copy.path, RTLD_NOW | RTLD_LOCAL);
    CHECK(access(copy.path, F_OK) == 0);
    tvmgo_elf_copy_opened(&copy);
    CHECK(access(copy.path, F_OK) != 0);
    CHECK(copy.fd == -1);
    int (*version)(void) = h == NULL ? NULL : (int (*)(void))dlsym(h, "version");
    CHECK(version != NULL && version() == OUR_VERSION); /* bound by the dynamic linker alone */
    if (h != NULL) dlclose(h);
  }
  tvmgo_elf_release(elf);
  free(elf);
  close(fd);
}

static void test_paths(void) {
  char old[512];
  REQUIRE(getcwd(old, sizeof old) != NULL && build_so("here.so", "", without_context) != NULL);
  REQUIRE(chdir(build_dir) == 0);
  tvmgo_image* image = build_open("here.so", 0);
  CHECK(image != NULL && !image->is_private);
  tvmgo_object_release(image);
  CHECK_FAILS(tvmgo_image_open("libm.so.6", NULL, 0, 0, &image), TVMGO_NOT_FOUND_ERROR,
              "load libm.so.6: no such file");
  /* In other directories, a name without a slash is searched for where the dynamic linker searches. */
  char folders[1024];
  snprintf(folders, sizeof folders, "/nowhere::%s/absent:%s;/", build_dir, build_dir);
  REQUIRE(chdir("/") == 0);
  CHECK_FAILS(tvmgo_image_open("here.so", NULL, 0, 0, &image), TVMGO_NOT_FOUND_ERROR,
              "load here.so: no such file");
  const char* before = getenv("LD_LIBRARY_PATH");
  char* kept = before == NULL ? NULL : strdup(before);
  REQUIRE(setenv("LD_LIBRARY_PATH", folders, 1) == 0);
  image = build_open("here.so", 0);
  CHECK(image != NULL && build_call(image, "version") == OUR_VERSION);
  tvmgo_object_release(image);
  CHECK_FAILS(tvmgo_image_open("absent.so", NULL, 0, 0, &image), TVMGO_NOT_FOUND_ERROR,
              "load absent.so: no such file");
  CHECK_FAILS(tvmgo_image_open("./here.so", NULL, 0, 0, &image), TVMGO_NOT_FOUND_ERROR,
              "load ./here.so: no such file");
  CHECK((kept == NULL ? unsetenv("LD_LIBRARY_PATH") : setenv("LD_LIBRARY_PATH", kept, 1)) == 0);
  free(kept);
  REQUIRE(chdir(build_dir) == 0);
  CHECK(rename("here.so", "$ORIGIN.so") == 0);
  image = build_open("$ORIGIN.so", 0);
  CHECK(image != NULL && build_call(image, "version") == OUR_VERSION);
  tvmgo_object_release(image);
  CHECK_EQ_INT(chdir(old), 0);
  CHECK_FAILS(tvmgo_image_open("", NULL, 0, 0, &image), TVMGO_VALUE_ERROR, "empty");
  CHECK_FAILS(tvmgo_image_open(NULL, NULL, 0, 0, &image), TVMGO_VALUE_ERROR, "NULL");
}

static void test_origin(void) {
  char options[1024];
  const char* source = "int dep(void); int f(void) { return dep() + 1; }\n" CALLS_VERSION;
  const char* dep = build_so("libdep.so", "-Wl,-soname,libdep.so", "int dep(void) { return 10; }");
  const char* bare = build_so("libbare.so", "", "int dep(void) { return 20; }");
  REQUIRE(dep != NULL && bare != NULL);
  snprintf(options, sizeof options, "-L'%s' -ldep -Wl,-rpath,'$ORIGIN' -Wl,-z,now", build_dir);
  const char* path = build_so("origin.so", options, source);
  tvmgo_image* image = build_open(path, 0);
  CHECK(image != NULL && image->is_private && build_call(image, "f") == 11);
  tvmgo_object_release(image);

  REQUIRE(chdir(build_dir) == 0); /* no slash in what the linker records */
  snprintf(options, sizeof options, "-L'%s' -lbare -Wl,-rpath,'${ORIGIN}/.' -Wl,-z,now", build_dir);
  path = build_so("originbare.so", options, source);
  REQUIRE(path != NULL);
  CHECK_FAILS(tvmgo_image_open(path, NULL, 0, 0, &image), TVMGO_NOT_SUPPORTED_ERROR,
              "-soname,libbare.so");
}

/* Linked with a runtime that is not installed: this library replaces it. */
static void test_needs_runtime_library(void) {
  char options[512];
  const char* stub =
      build_so("libtvm_ffi.so", "-Wl,-soname,libtvm_ffi.so", "void TVMFFIGetVersion(void) {}");
  snprintf(options, sizeof options, "-L'%s' -ltvm_ffi", build_dir);
  const char* path = build_so("linked.so", options, CALLS_VERSION);
  REQUIRE(stub != NULL && path != NULL && unlink(stub) == 0);
  tvmgo_image* image = build_open(path, 0);
  CHECK(image != NULL && build_call(image, "version") == OUR_VERSION);
  tvmgo_object_release(image);
  /* If another runtime is in the process, a file is never bound to it. */
  stub = build_so("libtvm_ffi.so", "-Wl,-soname,libtvm_ffi.so",
                  "void TVMFFIGetVersion(unsigned* v) { v[2] = 99; }");
  const char* plain = build_so("beside.so", "", without_context);
  const char* taken =
      build_so("besidetaken.so", "",
               "void TVMFFIGetVersion(void); void* at(void) { return TVMFFIGetVersion; }");
  REQUIRE(stub != NULL && plain != NULL && taken != NULL);
  tvmgo_image* before = build_open(plain, 0);
  void* peer = dlopen(stub, RTLD_NOW | RTLD_GLOBAL);
  REQUIRE(before != NULL && peer != NULL);
  CHECK(!before->is_private && build_call(before, "version") == OUR_VERSION);
  tvmgo_image* after = build_open(path, 0);
  tvmgo_image* address = build_open(taken, 0);
  CHECK(after != NULL && after->is_private && build_call(after, "version") == OUR_VERSION);
  CHECK(address != NULL && ((void* (*)(void))symbol(address, "at"))() == (void*)TVMFFIGetVersion);
  tvmgo_image* ordinary = build_open(build_so("ordinary.so", "", CALLS_VERSION), 0);
  CHECK(ordinary != NULL && ordinary->is_private); /* the other runtime may open it later */
  tvmgo_object_release(ordinary);
  void* theirs = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  CHECK(theirs != NULL && ((int (*)(void))dlsym(theirs, "version"))() == 99);
  CHECK(build_call(after, "version") == OUR_VERSION && build_call(before, "version") == OUR_VERSION);
  if (theirs != NULL) dlclose(theirs);
  tvmgo_object_release(after);
  tvmgo_object_release(address);
  tvmgo_object_release(before);
  dlclose(peer);
  tvmgo_image* alone = build_open(plain, 0);
  CHECK(alone != NULL && !alone->is_private);
  tvmgo_object_release(alone);
}

static void test_runtime_names(void) {
  static const char* const yes[] = {"libtvm.so", "libtvm_ffi.so", "libtvm_runtime.so.0",
                                    "libtvm_ffi-1f2e3d4c.so", "libtvmgo.so.1"};
  static const char* const no[] = {"libtvm_model.so", "libtvmlike.so", "tvm.so", "libm.so.6"};
  for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) CHECK(tvmgo_elf_is_runtime_library(yes[i]));
  for (size_t i = 0; i < sizeof no / sizeof *no; i++) CHECK(!tvmgo_elf_is_runtime_library(no[i]));
}

/* ---- threads ---- */

enum { THREADS = 80, ROUNDS = 5 };
static const char* hammer_path[2];
static pthread_barrier_t hammer_start;

static void* hammer(void* arg) {
  unsigned seed = (unsigned)(uintptr_t)arg;
  pthread_barrier_wait(&hammer_start);
  for (int i = 0; i < ROUNDS; i++) {
    int keeps_state = (seed + (unsigned)i) % 2;
    tvmgo_image* image = build_open(hammer_path[keeps_state], 0);
    if (image == NULL) break;
    CHECK_EQ_INT(build_call(image, "version"), OUR_VERSION);
    if (keeps_state) { /* nobody else counts here */
      CHECK_EQ_INT(build_call(image, "next"), 1);
      CHECK_EQ_INT(build_call(image, "next"), 2);
    }
    tvmgo_object_release(image);
  }
  return NULL;
}

static void test_many_threads(void) {
  pthread_t threads[THREADS];
  int64_t before = check_live(TVMGO_LIVE_MAPPINGS);
  hammer_path[0] = strdup(build_so("hammer0.so", "", CALLS_VERSION));
  hammer_path[1] = strdup(build_so("hammer1.so", "", with_context));
  pthread_barrier_init(&hammer_start, NULL, THREADS);
  for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, hammer, (void*)i);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&hammer_start);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_MAPPINGS), before);
  free((void*)hammer_path[0]);
  free((void*)hammer_path[1]);
}

/* ---- constructors and destructors that load ---- */

static int nested_calls;

static int load_nested(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)args, (void)n, (void)result;
  tvmgo_image* image = build_open(self, 0);
  nested_calls += image != NULL && build_call(image, "version") == OUR_VERSION;
  tvmgo_object_release(image);
  return 0;
}

static void test_load_inside_constructor(void) {
  static const char* const source =
      "typedef struct { const char* s; unsigned long n; } B; typedef struct { long a, b; } A;\n"
      "int TVMFFIFunctionGetGlobal(const B*, void**); int TVMFFIObjectDecRef(void*);\n"
      "int TVMFFIFunctionCall(void*, A*, int, A*);\n"
      "static void call(void) { B b = {\"test.load_nested\", 16}; void* f = 0; A r = {0, 0};\n"
      "  if (TVMFFIFunctionGetGlobal(&b, &f) == 0 && f) {\n"
      "    TVMFFIFunctionCall(f, 0, 0, &r); TVMFFIObjectDecRef(f); } }\n"
      "__attribute__((constructor)) void up(void) { call(); }\n"
      "__attribute__((destructor)) void down(void) { call(); }\n";
  static char inner[512];
  snprintf(inner, sizeof inner, "%s", build_so("inner.so", "", with_context));
  TVMFFIObjectHandle f = NULL;
  REQUIRE(CHECK_OK(TVMFFIFunctionCreate(inner, load_nested, NULL, &f)));
  TVMFFIByteArray name = {"test.load_nested", 16};
  CHECK_OK(TVMFFIFunctionSetGlobal(&name, f, 1));
  tvmgo_image* image = build_open(build_so("outer.so", "", source), 0);
  CHECK_EQ_INT(nested_calls, 1);
  tvmgo_object_release(image);
  CHECK_EQ_INT(nested_calls, 2);
  tvmgo_global_remove("test.load_nested", 16);
  tvmgo_object_release(f);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  build_begin();
  int64_t before = check_live(TVMGO_LIVE_MAPPINGS);
  RUN(test_same_path_with_context);
  RUN(test_same_path_shared);
  RUN(test_file_of_another);
  RUN(test_replaced_file);
  RUN(test_overwritten_file);
  RUN(test_bytes);
  RUN(test_copy_that_stays);
  RUN(test_copy_in_a_file);
  RUN(test_paths);
  RUN(test_origin);
  RUN(test_needs_runtime_library);
  RUN(test_runtime_names);
  RUN(test_many_threads);
  RUN(test_load_inside_constructor);
  return check_end() || check_live(TVMGO_LIVE_MAPPINGS) != before;
}
