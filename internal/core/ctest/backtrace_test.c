/* TVMFFIBacktrace. */
#include "check.h"

static char text[1 << 16];

static const char* here(int cross, const char* file) {
  const TVMFFIByteArray* b = TVMFFIBacktrace(file, 12, "a_function", cross);
  snprintf(text, sizeof text, "%.*s", (int)b->size, b->data);
  CHECK_EQ_INT(b->data[b->size], 0);
  return text;
}

static int lines(const char* s) {
  int n = 0;
  for (; *s != 0; s++) n += *s == '\n';
  return n;
}

static __attribute__((noinline)) int deep(int n) {
  if (n == 0) return lines(here(0, "file.c"));
  int found = deep(n - 1);
  __asm__ volatile("" ::: "memory"); /* no tail call */
  return found;
}

static void test_first_line_is_what_the_caller_says(void) {
  unsetenv("TVM_TRACEBACK_LIMIT");
  const char* s = here(0, "a \"file\".c");
  CHECK(strncmp(s, "  File \"a \"file\".c\", line 12, in a_function\n", 44) == 0);
  CHECK(strstr(here(1, NULL), "line 12") == NULL);
  char* long_name = malloc(100001);
  memset(long_name, 'x', 100000);
  long_name[100000] = 0;
  CHECK(TVMFFIBacktrace(long_name, 1, long_name, 0)->size > 200000);
  free(long_name);
}

static void test_callers_follow(void) {
  unsetenv("TVM_TRACEBACK_LIMIT");
  int one = deep(1), six = deep(6);
  if (one <= 1) SKIP("this program cannot be unwound");
  CHECK_EQ_INT(six, one + 5);
  CHECK_EQ_INT(lines(here(0, NULL)), lines(here(0, "file.c"))); /* who tells nothing is shown by address */
  CHECK(strstr(here(0, "file.c"), "\", line 0, in ") != NULL);
}

static void test_limit(void) {
  static const struct {
    const char* limit;
    int want;
  } cases[] = {{"0", 0}, {"1", 1}, {"3", 3}, {"-1", 32}, {"many", 32}, {"", 32}, {"99999999", 128}};
  unsetenv("TVM_TRACEBACK_LIMIT");
  if (deep(50) <= 1) SKIP("this program cannot be unwound");
  CHECK_EQ_INT(deep(50), 32);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    setenv("TVM_TRACEBACK_LIMIT", cases[i].limit, 1);
    CHECK_EQ_INT(deep(200), cases[i].want);
  }
  unsetenv("TVM_TRACEBACK_LIMIT");
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_first_line_is_what_the_caller_says);
  RUN(test_callers_follow);
  RUN(test_limit);
  return check_end();
}
