/* TVMFFIBacktrace. */
#include "ctest/check.h"

#include <pthread.h>

static char text[1 << 20];

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
  CHECK_EQ_INT(lines(here(0, NULL)), lines(here(0, "file.c"))); /* a caller that passes nothing is shown by address */
  CHECK(strstr(here(0, "file.c"), "\", line 0, in ") != NULL);
}

static void test_limit(void) {
  static const struct {
    const char* limit;
    int want;
  } cases[] = {{"0", 0}, {"1", 1}, {"3", 3}, {"-1", 512}, {"many", 512}, {"", 512}, {"513", 513}, {"99999999", 4096}};
  unsetenv("TVM_TRACEBACK_LIMIT");
  if (deep(50) <= 1) SKIP("this program cannot be unwound");
  CHECK_EQ_INT(deep(700), 512);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    setenv("TVM_TRACEBACK_LIMIT", cases[i].limit, 1);
    CHECK_EQ_INT(deep(5000), cases[i].want);
  }
  unsetenv("TVM_TRACEBACK_LIMIT");
}

/* A function that is in no dynamic symbol table. */
static __attribute__((noinline)) const char* local_function(int cross) {
  const char* s = here(cross, NULL);
  __asm__ volatile("" ::: "memory");
  return s;
}

static void test_local_functions_have_names(void) {
  unsetenv("TVM_TRACEBACK_LIMIT");
  if (deep(1) <= 1) SKIP("this program cannot be unwound");
  for (int again = 0; again < 2; again++) { /* read, and kept */
    const char* s = local_function(again);
    CHECK(strstr(s, "in local_function+0x") != NULL);
    CHECK(strstr(s, "in test_local_functions_have_names+0x") != NULL);
  }
}

/* Each thread raises from a hundred locations, so that lines are cached and dropped while others read them. */
static void* raise_often(void* arg) {
  (void)arg;
  for (int i = 0; i < 300; i++) {
    const TVMFFIByteArray* b = TVMFFIBacktrace("f.c", i, "f", 0);
    if (b->size == 0 || b->data[b->size - 1] != '\n') return "a backtrace is not whole";
  }
  return NULL;
}

static void test_threads(void) {
  pthread_t threads[8];
  for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, raise_often, NULL);
  for (int i = 0; i < 8; i++) {
    void* wrong = NULL;
    pthread_join(threads[i], &wrong);
    CHECK_EQ_PTR(wrong, NULL);
  }
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_first_line_is_what_the_caller_says);
  RUN(test_callers_follow);
  RUN(test_limit);
  RUN(test_local_functions_have_names);
  RUN(test_threads);
  return check_end();
}
