/* Opening libraries: binding however they were linked, look-up, extent, sharing and copies. */
#include "loader/ctest/image_build.h"
#include "loader/elf_symbol.h"

#include <dlfcn.h>

static void* symbol(const tvmgo_image* image, const char* name) {
  return tvmgo_image_symbol(image, name, strlen(name), NULL);
}

/* ---- binding ---- */

static const char* const all_imports =
    CALLS_VERSION
    "extern float expf(float);\n"
    "int TVMFFIFunctionCall(void); __attribute__((weak)) int TVMFFIErrorSetRaised(void);\n"
    "__attribute__((weak)) int TVMNobodyHasThis(void);\n"
    "void* table[] = {TVMFFIGetVersion, (char*)TVMFFIFunctionCall + 4};\n"
    "void* taken(void) { return TVMFFIGetVersion; }\n"
    "int weak(void) { return TVMFFIErrorSetRaised != 0; }\n"
    "int absent(void) { return TVMNobodyHasThis != 0; }\n"
    "int libm(void) { volatile float x = 0; return (int)expf(x); }\n";

static void check_binding(const char* name, const char* options, const char* source,
                          int want_private) {
  char file[64];
  snprintf(file, sizeof file, "%s.so", name);
  tvmgo_image* image = build_open(build_so(file, options, source), 0);
  REQUIRE(image != NULL);
  CHECK_EQ_INT(build_call(image, "version"), OUR_VERSION);
  if (want_private >= 0) CHECK_EQ_INT(image->is_private, want_private);
  if (source == all_imports) {
    void** table = symbol(image, "table");
    CHECK_EQ_PTR(table[0], (void*)TVMFFIGetVersion);
    CHECK_EQ_PTR(table[1], (char*)TVMFFIFunctionCall + 4);
    CHECK_EQ_PTR(((void* (*)(void))symbol(image, "taken"))(), (void*)TVMFFIGetVersion);
    CHECK_EQ_INT(build_call(image, "weak"), 1);
    CHECK_EQ_INT(build_call(image, "absent"), 0);
    CHECK_EQ_INT(build_call(image, "libm"), 1);
  }
  tvmgo_object_release(image);
}

static void test_bind_lazy(void) {
  check_binding("lazy", "", CALLS_VERSION, getenv("LD_BIND_NOW") != NULL);
}
static void test_bind_now(void) { check_binding("now", "-Wl,-z,now", CALLS_VERSION, 1); }
static void test_bind_no_plt(void) { check_binding("noplt", "-fno-plt", CALLS_VERSION, 1); }
static void test_bind_addresses(void) {
  check_binding("all", "-Wl,--no-as-needed -lm", all_imports, 1);
}
static void test_bind_addresses_now(void) {
  check_binding("allnow", "-Wl,--no-as-needed,-z,relro,-z,now -lm", all_imports, 1);
}
static void test_bind_addresses_lazy_relro(void) {
  check_binding("allrelro", "-Wl,--no-as-needed,-z,relro,-z,lazy -lm", all_imports, 1);
}

static void test_bind_weak_in_place(void) {
  tvmgo_image* image = build_open(
      build_so("weak.so", "-Wl,-z,relro",
               "__attribute__((weak)) int TVMFFIErrorSetRaised(void);\n"
               "int weak(void) { return TVMFFIErrorSetRaised != 0; }\n"
               "void* at(void) { return TVMFFIErrorSetRaised; }\n"),
      0);
  REQUIRE(image != NULL);
  CHECK_EQ_INT(image->is_private, 0);
  CHECK_EQ_INT(build_call(image, "weak"), 1);
  CHECK_EQ_PTR(((void* (*)(void))symbol(image, "at"))(), (void*)TVMFFIErrorSetRaised);
  tvmgo_object_release(image);
}

static void test_bind_classic_signature(void) {
  static const char* const source =
      "int TVMBackendAnyListResetItem(void); void* at(void) { return TVMBackendAnyListResetItem; }\n";
  const tvmgo_binding* b = tvmgo_bindings;
  while (b->name != NULL && strcmp(b->name, "TVMBackendAnyListResetItem") != 0) b++;
  REQUIRE(b->name != NULL);
  tvmgo_image* modern = build_open(build_so("anym.so", "", source), 0);
  char text[512];
  snprintf(text, sizeof text, "%s void* __TVMFuncCall;\n", source);
  tvmgo_image* classic = build_open(build_so("anyc.so", "", text), 0);
  REQUIRE(modern != NULL && classic != NULL);
  CHECK_EQ_INT(classic->generation, TVMGO_GENERATION_CLASSIC);
  CHECK_EQ_PTR(((void* (*)(void))symbol(modern, "at"))(), b->modern);
  CHECK_EQ_PTR(((void* (*)(void))symbol(classic, "at"))(), b->classic);
  tvmgo_object_release(modern);
  tvmgo_object_release(classic);
}

/* A definition in global scope does not override a file's own slot. */
static void test_bind_own_slot(void) {
  const char* path = build_so("slot.so", "",
                              "__attribute__((weak)) void* __TVMFFIFunctionCall;\n"
                              "void** slot(void) { return &__TVMFFIFunctionCall; }\n");
  void* global = dlopen(build_so("globalslot.so", "", "void* __TVMFFIFunctionCall = (void*)7;"),
                        RTLD_NOW | RTLD_GLOBAL);
  tvmgo_image* image = build_open(path, 0);
  REQUIRE(image != NULL && global != NULL);
  CHECK_EQ_PTR(((void* (*)(void))symbol(image, "slot"))(), symbol(image, "__TVMFFIFunctionCall"));
  tvmgo_object_release(image);
  dlclose(global);
}

static void test_bind_constructor_calls_us(void) {
  tvmgo_image* image = build_open(
      build_so("ctor.so", "",
               CALLS_VERSION "static int seen; int ctor(void) { return seen; }\n"
                             "__attribute__((constructor)) void c(void) { seen = version(); }\n"),
      0);
  REQUIRE(image != NULL);
  CHECK_EQ_INT(build_call(image, "ctor"), OUR_VERSION);
  CHECK_EQ_INT(image->is_private, 1);
  tvmgo_object_release(image);
}

static int run_self(const char* environment, const char* tests) {
  char command[1024];
  snprintf(command, sizeof command, "%s '%s' %s", environment, check_state.argv[0], tests);
  fflush(stdout);
  return system(command);
}

static void test_ld_bind_now(void) {
  if (getenv("LD_BIND_NOW") != NULL) SKIP("this is the run with LD_BIND_NOW");
  CHECK_EQ_INT(run_self("LD_BIND_NOW=1", "test_bind test_missing"), 0);
}

static void test_private_by_environment(void) {
  if (getenv("LD_BIND_NOW") != NULL || getenv("TVMGO_PRIVATE_LOAD") != NULL)
    SKIP("this is the run with another environment");
  CHECK_EQ_INT(run_self("TVMGO_PRIVATE_LOAD=1", "test_default_is_private"), 0);
}

static void test_default_is_private(void) {
  const char* path = build_so("default.so", "", CALLS_VERSION);
  tvmgo_image *first = build_open(path, 0), *second = build_open(path, 0);
  REQUIRE(first != NULL && second != NULL);
  int want = getenv("TVMGO_PRIVATE_LOAD") != NULL;
  CHECK_EQ_INT(first->is_private, want);
  CHECK_EQ_INT(symbol(first, "version") != symbol(second, "version"), want);
  tvmgo_image_set_private_default(!want);
  tvmgo_image* third = build_open(path, 0);
  CHECK(third != NULL && third->is_private == !want);
  tvmgo_image_set_private_default(want);
  tvmgo_object_release(first);
  tvmgo_object_release(second);
  tvmgo_object_release(third);
}

/* ---- what cannot be bound ---- */

static void test_missing_function(void) {
  const char* source = "int zork(void); int f(void) { return zork(); }";
  tvmgo_image* image;
  CHECK_FAILS(tvmgo_image_open(build_so("undef.so", "", source), NULL, 0, 0, &image),
              TVMGO_NOT_FOUND_ERROR, "\"zork\"");
  CHECK_FAILS(tvmgo_image_open(build_so("undefnow.so", "-Wl,-z,now",
                                        CALLS_VERSION "int zork(void); int f(void) { return zork(); }"),
                               NULL, 0, 0, &image),
              TVMGO_NOT_FOUND_ERROR, "\"zork\"");
  source = "int TVMFromTheFuture(void); int f(void) { return TVMFromTheFuture(); }";
  CHECK_FAILS(tvmgo_image_open(build_so("undeftvm.so", "", source), NULL, 0, 0, &image),
              TVMGO_NOT_FOUND_ERROR, "\"TVMFromTheFuture\", which this runtime does not have");
}

static void test_missing_library(void) {
  char options[512];
  const char* dep = build_so("libgone.so", "-Wl,-soname,libgone.so", "int gone(void) { return 1; }");
  REQUIRE(dep != NULL);
  snprintf(options, sizeof options, "'%s'", dep);
  const char* path = build_so("needs.so", options, "int gone(void); int f(void) { return gone(); }");
  REQUIRE(path != NULL && unlink(dep) == 0);
  tvmgo_image* image;
  CHECK_FAILS(tvmgo_image_open(path, NULL, 0, 0, &image), TVMGO_NOT_FOUND_ERROR, "libgone.so");
}

static void test_system_library_object(void) {
  tvmgo_image* image;
  const char* path =
      build_so("system.so", "",
               "int TVMFFIEnvModRegisterSystemLibSymbol(const char*, void*);\n"
               "int f(void) { return 0; }\n"
               "__attribute__((constructor)) void c(void) {\n"
               "  TVMFFIEnvModRegisterSystemLibSymbol(\"f\", f); }\n");
  CHECK_FAILS(tvmgo_image_open(path, NULL, 0, 0, &image), TVMGO_NOT_SUPPORTED_ERROR,
              "link it into the program");
}

/* ---- look-up ---- */

static const char* const exports =
    "int counter = 3; int zeros[100]; static int hidden(void) { return 1; }\n"
    "int one(void) { return hidden(); } int two(void) { return 2; }\n"
    "float expf(float); float use(float x) { return expf(x); }\n";

static int count_export(void* ctx, const char* name, int type, void* address) {
  int* seen = ctx;
  int bit = strcmp(name, "one") == 0       ? 1
            : strcmp(name, "two") == 0     ? 2
            : strcmp(name, "use") == 0     ? 4
            : strcmp(name, "counter") == 0 ? 8
            : strcmp(name, "zeros") == 0   ? 16
                                           : 0;
  CHECK_EQ_INT(type, bit >= 8 ? 1 : bit > 0 ? 2 : type);
  CHECK(address != NULL);
  *seen |= bit;
  return strcmp(name, "expf") == 0 ? 99 : 0;
}

static void check_lookup(const char* name, const char* options) {
  tvmgo_image* image = build_open(build_so(name, options, exports), 0);
  REQUIRE(image != NULL);
  int type = -1, seen = 0;
  CHECK(tvmgo_image_symbol(image, "one", 3, &type) != NULL && type == 2);
  CHECK(tvmgo_image_symbol(image, "counter", 7, &type) != NULL && type == 1);
  CHECK(tvmgo_image_symbol(image, "counterfeit", 7, &type) != NULL);
  CHECK_EQ_INT(build_call(image, "two"), 2);
  CHECK(symbol(image, "three") == NULL);
  CHECK(symbol(image, "hidden") == NULL);
  CHECK(symbol(image, "expf") == NULL);   /* libm's */
  CHECK(symbol(image, "printf") == NULL); /* libc's */
  CHECK(tvmgo_image_symbol(image, "", 0, NULL) == NULL);
  CHECK(tvmgo_image_symbol(image, "one\0", 4, NULL) == NULL);
  CHECK(tvmgo_image_symbol(image, "on", 2, NULL) == NULL);
  CHECK_EQ_INT(tvmgo_image_each(image, count_export, &seen), 0);
  CHECK_EQ_INT(seen, 31);
  tvmgo_object_release(image);
}

static void test_lookup_gnu(void) { check_lookup("gnu.so", "-lm -Wl,--hash-style=gnu"); }
static void test_lookup_sysv(void) { check_lookup("sysv.so", "-lm -Wl,--hash-style=sysv"); }
static void test_lookup_both(void) { check_lookup("both.so", "-lm -Wl,--hash-style=both"); }
static void test_lookup_relr(void) { check_lookup("relr.so", "-lm -Wl,-z,pack-relative-relocs"); }

static void test_lookup_many(void) {
  enum { N = 3000 };
  char* source = malloc(N * 48);
  REQUIRE(source != NULL);
  size_t n = 0;
  for (int i = 0; i < N; i++)
    n += (size_t)sprintf(source + n, "int f_%d(void) { return %d; }\n", i, i);
  tvmgo_image* image = build_open(build_so("many.so", "-O0", source), 0);
  free(source);
  REQUIRE(image != NULL);
  for (int i = 0; i < N; i++) {
    char name[16];
    snprintf(name, sizeof name, "f_%d", i);
    CHECK_EQ_INT(build_call(image, name), i);
  }
  CHECK(symbol(image, "f_3000") == NULL);
  tvmgo_object_release(image);
}

/* A name that is cut off by the end of the string table: bytes after the table are not part of it. */
static void test_lookup_at_the_end_of_the_names(void) {
  static const char names[] = "\0foo"; /* and a zero byte behind the table's four */
  static const Elf64_Sym symbols[2] = {
      {0}, {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1}};
  static const uint32_t table[] = {1, 2, 1, 0, 0};
  tvmgo_elf_symbols t = {symbols, names, 2, 4, NULL, table};
  CHECK_EQ_PTR(tvmgo_elf_symbols_find(&t, "foo", 3), NULL);
  t.strings_size = 5;
  CHECK_EQ_PTR(tvmgo_elf_symbols_find(&t, "foo", 3), &symbols[1]);
  CHECK_EQ_PTR(tvmgo_elf_symbols_find(&t, "fo", 2), NULL);
}

static void test_lookup_ifunc(void) {
  tvmgo_image* image = build_open(
      build_so("ifunc.so", "",
               "static int a(void) { return 41; } static void* pick(void) { return a; }\n"
               "int chosen(void) __attribute__((ifunc(\"pick\")));\n"),
      0);
  REQUIRE(image != NULL);
  CHECK_EQ_INT(build_call(image, "chosen"), 41);
  tvmgo_object_release(image);
}

static void test_no_exports(void) {
  tvmgo_image* image = build_open(
      build_so("none.so", "-lm -Wl,--version-script=/dev/stdin <<'E'\n{ local: *; };\nE\n", exports), 0);
  REQUIRE(image != NULL);
  int seen = 0;
  CHECK(symbol(image, "one") == NULL);
  CHECK_EQ_INT(tvmgo_image_each(image, count_export, &seen), 0);
  CHECK_EQ_INT(seen, 0);
  tvmgo_object_release(image);
}

static void test_extent(void) {
  tvmgo_image* image = build_open(build_so("extent.so", "-lm", exports), 0);
  REQUIRE(image != NULL);
  int *counter = symbol(image, "counter"), *zeros = symbol(image, "zeros");
  size_t room = tvmgo_image_extent(image, counter);
  CHECK(room >= sizeof *counter && room < 4096);
  CHECK_EQ_INT(tvmgo_image_extent(image, (char*)counter + room - 1), 1);
  CHECK_EQ_INT(tvmgo_image_extent(image, (char*)counter + room), 0); /* .bss is not in the file */
  CHECK_EQ_INT(tvmgo_image_extent(image, zeros + 50), 0);
  CHECK(tvmgo_image_extent(image, symbol(image, "one")) > 0);
  CHECK_EQ_INT(tvmgo_image_extent(image, &room), 0);
  CHECK_EQ_INT(tvmgo_image_extent(image, NULL), 0);
  tvmgo_object_release(image);
}

static void test_slot(void) {
  tvmgo_image* image = build_open(
      build_so("slots.so", "-Wl,-z,relro",
               "void* __TVMFuncCall; void* filled = &filled; void* const fixed = (void*)1;\n"
               "void* const late = (void*)&filled; char text[9]; int f(void) { return text[1]; }\n"),
      0);
  REQUIRE(image != NULL);
  CHECK(tvmgo_image_slot(image, "__TVMFuncCall", 13) == symbol(image, "__TVMFuncCall"));
  CHECK(tvmgo_image_slot(image, "filled", 6) != NULL);
  CHECK(symbol(image, "fixed") != NULL && tvmgo_image_slot(image, "fixed", 5) == NULL);
  CHECK(symbol(image, "late") != NULL && tvmgo_image_slot(image, "late", 4) == NULL);
  CHECK(tvmgo_image_slot(image, "f", 1) == NULL);
  CHECK(tvmgo_image_slot(image, "absent", 6) == NULL);
  *tvmgo_image_slot(image, "__TVMFuncCall", 13) = NULL;
  tvmgo_object_release(image);
}

static void test_generations(void) {
  static const struct {
    const char* source;
    tvmgo_generation want;
  } cases[] = {
      {"int f(void) { return 0; }", TVMGO_GENERATION_PLAIN},
      {"int __tvm_ffi_f(void) { return 0; }", TVMGO_GENERATION_MODERN},
      {"int __tvm_ffi_f(void) { return 0; } void* __TVMBackendGetFuncFromEnv;", TVMGO_GENERATION_MODERN},
      {"void* __tvm_ffi__library_ctx;", TVMGO_GENERATION_MODERN},
      {"void* __tvm_ffi_library_ctx; int __tvm_ffi_f(void) { return 0; }", TVMGO_GENERATION_V21},
      {"char __tvm_ffi_library_bin[8];", TVMGO_GENERATION_V21},
      {"void* __TVMFFIFunctionCall; int f(void) { return 0; }", TVMGO_GENERATION_V21},
      {"void* __tvm_module_ctx;", TVMGO_GENERATION_CLASSIC},
      {"char __tvm_dev_mblob[8];", TVMGO_GENERATION_CLASSIC},
      {"void* __TVMFuncCall;", TVMGO_GENERATION_CLASSIC},
      {"void* __TVMAPISetLastError;", TVMGO_GENERATION_CLASSIC},
      {"void* __TVMBackendGetFuncFromEnv;", TVMGO_GENERATION_CLASSIC},
      {"void TVMAPISetLastError(const char*); void f(void) { TVMAPISetLastError(\"\"); }",
       TVMGO_GENERATION_CLASSIC},
      {"int TVMBackendGetFuncFromEnv(void); int f(void) { return TVMBackendGetFuncFromEnv(); }",
       TVMGO_GENERATION_CLASSIC},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char name[32];
    snprintf(name, sizeof name, "gen%zu.so", i);
    tvmgo_image* image = build_open(build_so(name, "", cases[i].source), 0);
    REQUIRE(image != NULL);
    if (image->generation != cases[i].want)
      check_fail(__FILE__, __LINE__, "%s: generation %d, want %d", cases[i].source,
                 image->generation, cases[i].want);
    tvmgo_object_release(image);
  }
}

/* Real modules, if the caller has them. */
static void test_exported_modules(void) {
  static const char* const names[] = {"modern/addone_llvm", "modern/multi_llvm", "modern/multi_c",
                                      "classic/addone_llvm", "classic/multi_llvm"};
#ifndef __x86_64__
  SKIP("the modules are for x86-64");
#endif
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char name[64];
    int modern = names[i][0] == 'm';
    snprintf(name, sizeof name, "artifacts/%s.so", names[i]);
    if (access(check_testdata(name), R_OK) != 0) SKIP("TVMGO_TESTDATA names no folder with modules");
    tvmgo_image* plain = build_open(check_testdata(name), 0);
    tvmgo_image* copy = build_open(check_testdata(name), TVMGO_IMAGE_PRIVATE);
    REQUIRE(plain != NULL && copy != NULL);
    CHECK_EQ_INT(plain->generation, modern ? TVMGO_GENERATION_MODERN : TVMGO_GENERATION_CLASSIC);
    const char* f = modern ? "__tvm_ffi_addone" : "addone";
    CHECK(symbol(plain, f) != NULL && symbol(copy, f) != NULL && symbol(plain, f) != symbol(copy, f));
    CHECK(symbol(plain, "expf") == NULL);
    tvmgo_object_release(plain);
    tvmgo_object_release(copy);
  }
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  build_begin();
  int64_t before = check_live(TVMGO_LIVE_MAPPINGS);
  RUN(test_bind_lazy);
  RUN(test_bind_now);
  RUN(test_bind_no_plt);
  RUN(test_bind_addresses);
  RUN(test_bind_addresses_now);
  RUN(test_bind_addresses_lazy_relro);
  RUN(test_bind_weak_in_place);
  RUN(test_bind_classic_signature);
  RUN(test_bind_own_slot);
  RUN(test_bind_constructor_calls_us);
  RUN(test_ld_bind_now);
  RUN(test_private_by_environment);
  RUN(test_default_is_private);
  RUN(test_missing_function);
  RUN(test_missing_library);
  RUN(test_system_library_object);
  RUN(test_lookup_gnu);
  RUN(test_lookup_sysv);
  RUN(test_lookup_both);
  RUN(test_lookup_relr);
  RUN(test_lookup_many);
  RUN(test_lookup_at_the_end_of_the_names);
  RUN(test_lookup_ifunc);
  RUN(test_no_exports);
  RUN(test_extent);
  RUN(test_slot);
  RUN(test_generations);
  RUN(test_exported_modules);
  return check_end() || check_live(TVMGO_LIVE_MAPPINGS) != before;
}
