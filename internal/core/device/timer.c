#include "device/device.h"

#include <stdlib.h>
#include <time.h>

/* The timer for devices without timers. */
typedef struct {
  int64_t start, stop; /* ns; 0 = not yet */
} host_timer;

static int has_own(const TVMGODeviceAPI* api) { return TVMGODeviceAPIHas(api, timer_create); }

int tvmgo_timer_on_device(DLDevice dev) {
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  return api != NULL && has_own(api);
}

int tvmgo_timer_new(DLDevice dev, void** timer) {
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  *timer = NULL;
  if (api == NULL) return -1;
  if (has_own(api)) return api->timer_create(api, dev, timer);
  if (api->set_device(api, dev.device_id) != 0) return -1; /* there is no such device */
  *timer = calloc(1, sizeof(host_timer));
  return *timer == NULL ? tvmgo_raise_oom() : 0;
}

static int host_mark(const TVMGODeviceAPI* api, DLDevice dev, host_timer* t,
                     TVMFFIStreamHandle stream, int stop) {
  struct timespec now;
  if (stop && t->start == 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "stop timer: it was not started");
  if (api->stream_sync(api, dev, stream) != 0) return -1;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
  if (stop)
    t->stop = ns;
  else
    *t = (host_timer){ns, 0};
  return 0;
}

int tvmgo_timer_mark(DLDevice dev, void* timer, TVMFFIStreamHandle stream, int stop) {
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api == NULL) return -1;
  if (!has_own(api)) return host_mark(api, dev, timer, stream, stop);
  return (stop ? api->timer_stop : api->timer_start)(api, timer, stream);
}

int tvmgo_timer_read(DLDevice dev, void* timer, int64_t* ns) {
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api == NULL) return -1;
  if (has_own(api)) return api->timer_elapsed_ns(api, timer, ns);
  const host_timer* t = timer;
  if (t->stop == 0) return tvmgo_raise(TVMGO_VALUE_ERROR, "read timer: it was not stopped");
  *ns = t->stop - t->start;
  return 0;
}

void tvmgo_timer_free(DLDevice dev, void* timer) {
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api != NULL && !has_own(api))
    free(timer);
  else if (api == NULL || api->timer_free(api, timer) != 0)
    tvmgo_object_release(tvmgo_error_take()); /* a destructor cannot report it */
}
