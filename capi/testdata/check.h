/* Checks for the programs that use the built library as users do, with public headers only. A failed check prints a
 * line, and the program continues. */
#ifndef CHECK_H_
#define CHECK_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int failures; /* failed checks so far; threads count one at a time */

#define FAIL(...) \
  (__atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED), printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), \
      putchar('\n'))

#define CHECK(x)                       \
  do {                                 \
    if (!(x)) FAIL("%s is false", #x); \
  } while (0)

/* Leaves the test if x is false, because the following code needs it. */
#define NEED(x)                \
  do {                         \
    if (!(x)) {                \
      FAIL("%s is false", #x); \
      return;                  \
    }                          \
  } while (0)

#define SAME_TEXT(got, want)                                                         \
  do {                                                                               \
    const char* got_ = (got);                                                        \
    if (got_ == NULL || strcmp(got_, (want)) != 0)                                   \
      FAIL("%s is \"%s\", want \"%s\"", #got, got_ == NULL ? "NULL" : got_, (want)); \
  } while (0)

/* Last line of every program, and its exit status. */
static inline int report(void) {
  if (failures == 0)
    puts("ok");
  else
    printf("%d checks failed\n", failures);
  fflush(stdout);
  return failures != 0;
}

#endif
