/* Work on streams as events of the calling thread's profile: kernels and copies, with the time that the device took. */
#pragma once

#include "device/device.h"
#include "profile/profile.h"

typedef struct {
  tvmgo_profile_thread* thread;
  DLDevice dev;
  TVMFFIStreamHandle stream;
  int64_t begin;
  void* timer; /* NULL: none, because the work is the host's, or is being recorded as a graph */
} tvmgo_work;

/* Call both around what queues the work, only while tvmgo_profiling is not NULL. Neither fails, and both keep the error
 * that is raised. site: kind, name and devices; the stream is filled in. rc: 0 if the work was queued.
 *
 * A device without timers is synchronized before and after the work. */
void tvmgo_work_begin(tvmgo_work* w, DLDevice dev, TVMFFIStreamHandle stream);
void tvmgo_work_end(tvmgo_work* w, tvmgo_profile_site* site, uint32_t shapes, int64_t value, int rc);
