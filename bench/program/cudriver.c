/* A variant of the fake driver (internal/testing/fakecuda) that measures the time of a launch before it reaches the
 * driver: cuLaunchKernel and the functions of the current context are as fast as possible, and nothing is launched. The
 * fake driver's own functions are compiled with the names fake_…; these call them if needed. */
#include <stddef.h>

#undef cuLaunchKernel /* macros of the command line, which rename the functions of the fake driver */
#undef cuCtxGetCurrent
#undef cuCtxSetCurrent
#pragma GCC visibility push(default)

typedef void* handle;

int fake_cuCtxGetCurrent(handle* out);
int fake_cuCtxSetCurrent(handle context);

static __thread handle current;

int cuCtxGetCurrent(handle* out) {
  if (current == NULL) return fake_cuCtxGetCurrent(out);
  *out = current;
  return 0;
}

int cuCtxSetCurrent(handle context) {
  int rc = fake_cuCtxSetCurrent(context);
  current = rc == 0 ? context : NULL;
  return rc;
}

/* Reads the parameters as a driver does: they have 8, 8 and 4 bytes. */
int cuLaunchKernel(handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, handle stream, void** params, void** extra) {
  static _Thread_local volatile unsigned long long taken[3];
  (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
  taken[0] = *(const unsigned long long*)params[0], taken[1] = *(const unsigned long long*)params[1];
  taken[2] = *(const unsigned*)params[2];
  return f == NULL || taken[0] == 0 || taken[1] == 0 || taken[2] == 0;
}
