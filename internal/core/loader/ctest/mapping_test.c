/* The table of open files. */
#include "ctest/foreign_error.h"
#include "loader/mapping.h"

#include <string.h>

/* A file as another load is opening it: it must be opened once only. */
static tvmgo_mapping* mapping_of(ino_t number) {
  tvmgo_elf elf;
  struct stat file;
  memset(&elf, 0, sizeof elf);
  memset(&file, 0, sizeof file);
  file.st_ino = number;
  tvmgo_mapping* m = tvmgo_mapping_new(&elf, &file);
  if (m != NULL) m->is_shareable = m->is_kept = 1;
  return m;
}

static void open_another(void) {
  tvmgo_mapping* other = mapping_of(2);
  CHECK_OK(tvmgo_mapping_enter(&other, "other.so"));
  tvmgo_mapping_release(other);
}

static void* load_twice(void* arg) {
  tvmgo_mapping *first = mapping_of(1), *again = mapping_of(1);
  (void)arg;
  CHECK_OK(tvmgo_mapping_enter(&first, "a.so"));
  raise_foreign_error(open_another);
  CHECK_FAILS(tvmgo_mapping_enter(&again, "a.so"), "RuntimeError", "a constructor of it loads it again");
  tvmgo_mapping_release(first);
  return NULL;
}

/* An error replaces the thread's earlier one, whose release may load a file: not under the lock. */
static void test_earlier_errors_may_load(void) {
  REQUIRE(ends_in_time(load_twice, NULL));
  CHECK_EQ_INT(foreign_calls, 1);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_earlier_errors_may_load);
  return check_end();
}
