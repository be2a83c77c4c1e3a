/* Opens libraries in a fresh process and prints the time in nanoseconds.
 *
 *   open LIBRARY.so... */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char** argv) {
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (int i = 1; i < argc; i++)
    if (dlopen(argv[i], RTLD_NOW | RTLD_LOCAL) == NULL) {
      fprintf(stderr, "open: %s\n", dlerror());
      return 1;
    }
  clock_gettime(CLOCK_MONOTONIC, &to);
  printf("%lld\n", (long long)(to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec);
  return 0;
}
