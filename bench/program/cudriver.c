/* The fake driver (internal/testing/fakecuda) for measuring what a launch costs before the driver: its cuLaunchKernel,
 * and the calls about the current context, are as quick as a driver's can be, and nothing is launched. Its own are
 * compiled under the names fake_…; they are called where these here do not know the answer. */
#include <stddef.h>

#undef cuLaunchKernel /* the command line gives those of the fake driver their other names so */
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

/* Reads what a driver would: three parameters of 8, 8 and 4 bytes. */
int cuLaunchKernel(handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared,
                   handle stream, void** params, void** extra) {
  static _Thread_local volatile unsigned long long taken[3];
  (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
  taken[0] = *(const unsigned long long*)params[0], taken[1] = *(const unsigned long long*)params[1];
  taken[2] = *(const unsigned*)params[2];
  return f == NULL || taken[0] == 0 || taken[1] == 0 || taken[2] == 0;
}
