/* Files with notes about the CPU: those that this CPU can run are opened, others are refused. */
#include "loader/ctest/image_build.h"
#include "loader/elf_check.h"

#if defined(__x86_64__) || defined(__aarch64__)

/* The note has room for the longest name. */
#define ROOM "################"
static const char source[] =
    "__asm__(\".pushsection .note.tvmgo.cpu,\\\"a\\\",@note\\n.balign 4\\n.long 6, 16, 1\\n.asciz \\\"tvmgo\\\"\\n"
    ".balign 4\\n.ascii \\\"" ROOM "\\\"\\n.popsection\\n\");\nint f(void) { return 7; }\n";

static unsigned char* file;
static size_t size;
static unsigned char* room; /* where the name of the feature is */

static int open_file(void) {
  tvmgo_image* image = NULL;
  int rc = tvmgo_image_open("m.so", file, size, 0, &image);
  if (rc == 0) tvmgo_object_release(image);
  return rc;
}

typedef struct {
  const char* name;
  int has;
} feature;

#if defined(__x86_64__)
#define FEATURE(name) {name, __builtin_cpu_supports(name) != 0}
static const feature* cpu_features(size_t* n) {
  __builtin_cpu_init();
  static feature all[22];
  const feature found[] = {FEATURE("sse3"),     FEATURE("ssse3"),    FEATURE("sse4.1"),   FEATURE("sse4.2"),
                           FEATURE("popcnt"),   FEATURE("avx"),      FEATURE("avx2"),     FEATURE("fma"),
                           FEATURE("fma4"),     FEATURE("xop"),      FEATURE("bmi"),      FEATURE("bmi2"),
                           FEATURE("avx512f"),  FEATURE("avx512vl"), FEATURE("avx512bw"), FEATURE("avx512dq"),
                           FEATURE("avx512cd"), FEATURE("avx512vbmi"), FEATURE("avx512vbmi2"), FEATURE("avx512vnni"),
                           {"of the future", 1}, {"", 1}};
  memcpy(all, found, sizeof found);
  *n = sizeof found / sizeof *found;
  return all;
}

/* A feature that this CPU lacks (none has both), and an option with which the compiler uses it. */
static const char* absent(void) { return __builtin_cpu_supports("fma4") ? "avx512f" : "fma4"; }
static const char* absent_option(void) { return __builtin_cpu_supports("fma4") ? "-mavx512f" : "-mfma4"; }
#else
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf before;
static void on_illegal(int signal) { siglongjmp(before, 1); }

/* Whether an instruction runs. */
#define FEATURE(name, instruction)                                                                             \
  if (sigsetjmp(before, 1) == 0) {                                                                             \
    __asm__ volatile(".arch armv8.6-a+sve2\n" instruction "\n" : : "r"(&word) : "x0", "x1", "v0", "memory"); \
    all[count++] = (feature){name, 1};                                                                         \
  } else                                                                                                       \
    all[count++] = (feature){name, 0};

static size_t count;
static feature all[16];

static const feature* cpu_features(size_t* n) {
  static uint32_t word;
  struct sigaction old, action = {.sa_handler = on_illegal};
  sigaction(SIGILL, &action, &old);
  count = 0;
  FEATURE("lse", "ldadd w0, w1, [%0]")
  FEATURE("rcpc", "ldapr w0, [%0]")
  FEATURE("rdm", "sqrdmlah v0.4s, v1.4s, v2.4s")
  FEATURE("fullfp16", "fadd v0.8h, v1.8h, v2.8h")
  FEATURE("complxnum", "fcmla v0.4s, v1.4s, v2.4s, #0")
  FEATURE("dotprod", "sdot v0.4s, v1.16b, v2.16b")
  FEATURE("i8mm", "smmla v0.4s, v1.16b, v2.16b")
  FEATURE("bf16", "bfdot v0.4s, v1.8h, v2.8h")
  FEATURE("sve", "ptrue p0.b")
  FEATURE("sve2", "saba z0.b, z1.b, z2.b")
  sigaction(SIGILL, &old, NULL);
  if (all[count - 2].has) { /* sve */
    static char text[sizeof ROOM];
    uint64_t bits;
    __asm__(".arch armv8.6-a+sve2\nrdvl %0, #8\n" : "=r"(bits));
    snprintf(text, sizeof text, "sve of %u bits", (unsigned)bits);
    all[count++] = (feature){text, 1};
  }
  all[count++] = (feature){"of the future", 1};
  all[count++] = (feature){"", 1};
  all[count++] = (feature){"sve of 384 bits", 0}; /* not a length that the compiler takes */
  *n = count;
  return all;
}

static const char* absent(void) { return "sve of 384 bits"; }
static const char* absent_option(void) {
  size_t n;
  const feature* f = cpu_features(&n);
  for (size_t i = 0; i < n; i++)
    if (strcmp(f[i].name, "sve2") == 0 && !f[i].has) return "-march=armv8-a+sve2";
  return NULL;
}
#endif

static void test_features(void) {
  size_t n;
  const feature* features = cpu_features(&n);
  int present = 0, missing = 0;
  for (size_t i = 0; i < n; i++) {
    memset(room, 0, sizeof ROOM - 1);
    memcpy(room, features[i].name, strlen(features[i].name));
    if (features[i].has) {
      if (!CHECK_OK(open_file())) fprintf(stderr, "feature %s\n", features[i].name);
      present++;
    } else {
      char says[64];
      snprintf(says, sizeof says, "does not have (%s): build it", features[i].name);
      CHECK_FAILS(open_file(), TVMGO_NOT_SUPPORTED_ERROR, says);
      missing++;
    }
  }
  CHECK(present >= 2 && missing > 0);
}

/* Notes of others, and damaged ones, are not taken for ours, and nothing outside of them is read. */
static void test_other_notes(void) {
  uint32_t* head = (uint32_t*)(void*)(room - 8 - 12); /* three numbers, the owner */
  memset(room, 0, sizeof ROOM - 1);
  memcpy(room, absent(), strlen(absent()));
  CHECK_FAILS(open_file(), TVMGO_NOT_SUPPORTED_ERROR, absent());
  const uint32_t values[][3] = {{6, 16, 2}, {4, 16, 1}, {6, 0xfffffff0, 1}, {0xffffffff, 16, 1}, {6, 17, 1}, {6, 0, 1},
                                {0xfffffffd, 0xfffffffd, 1}};
  uint32_t before[3];
  memcpy(before, head, sizeof before);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    memcpy(head, values[i], sizeof values[i]);
    CHECK_OK(open_file());
  }
  memcpy(head, before, sizeof before);
  memcpy(room - 8, "other", 5);
  CHECK_OK(open_file());
  memcpy(room - 8, "tvmgo", 5);
  memset(room, 'a', sizeof ROOM - 1); /* without an end */
  CHECK_OK(open_file());
}

/* The header that writes them: a compiled file has notes of the features that the options of the compiler enable. */
static void test_header(void) {
  const char* path = build_so("plain.so", "-include include/tvmgo/cpu_note.h", "int f(void) { return 7; }\n");
  tvmgo_object_release(build_open(path, 0));
  if (absent_option() == NULL) return; /* this CPU has all */
  char options[96];
  snprintf(options, sizeof options, "%s -include include/tvmgo/cpu_note.h", absent_option());
  path = build_so("newer.so", options, "int f(void) { return 7; }\n");
  tvmgo_image* image = NULL;
  CHECK_FAILS(tvmgo_image_open(path, NULL, 0, 0, &image), TVMGO_NOT_SUPPORTED_ERROR,
              strchr(absent_option(), '+') == NULL ? absent() : "sve2");
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  build_begin();
  const char* path = build_so("m.so", "", source);
  file = path == NULL ? NULL : build_read(path, &size);
  room = file == NULL ? NULL : memmem(file, size, ROOM, sizeof ROOM - 1);
  if (room == NULL) return 1;
  RUN(test_features);
  RUN(test_other_notes);
  RUN(test_header);
  free(file);
  return check_end();
}

#else
int main(int argc, char** argv) { return 0; } /* no notes are written for other machines */
#endif
