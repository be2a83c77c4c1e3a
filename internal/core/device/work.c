#include "device/work.h"

#include "device/graph.h"

static const tvmgo_profile_timers timers = {tvmgo_timer_read, tvmgo_timer_free};

/* Recorded work does not run now, and a graph must not contain events of the profile. */
static int is_timed(DLDevice dev, TVMFFIStreamHandle stream) {
  return dev.device_type != kDLCPU && !tvmgo_recording_on(dev, stream);
}

void tvmgo_work_begin(tvmgo_work* w, DLDevice dev, TVMFFIStreamHandle stream) {
  *w = (tvmgo_work){.thread = tvmgo_profiling, .dev = dev, .stream = stream};
  if (is_timed(dev, stream)) {
    TVMFFIObject* earlier = tvmgo_error_take();
    int rc = tvmgo_timer_new(dev, &w->timer);
    w->begin = tvmgo_profile_now();
    if (rc == 0 && tvmgo_timer_mark(dev, w->timer, stream, 0) != 0) {
      tvmgo_timer_free(dev, w->timer);
      rc = -1;
    }
    if (rc != 0) {
      w->timer = NULL;
      tvmgo_object_release(tvmgo_error_take());
    }
    tvmgo_error_put_back(earlier);
  } else {
    w->begin = tvmgo_profile_now();
  }
}

void tvmgo_work_end(tvmgo_work* w, tvmgo_profile_site* site, uint32_t shapes, int64_t value, int rc) {
  TVMFFIObject* earlier = tvmgo_error_take();
  if (w->timer != NULL && (rc != 0 || tvmgo_timer_mark(w->dev, w->timer, w->stream, 1) != 0)) {
    tvmgo_timer_free(w->dev, w->timer);
    w->timer = NULL;
    tvmgo_object_release(tvmgo_error_take());
  }
  site->stream = w->stream;
  site->waits = w->timer != NULL && !tvmgo_timer_on_device(w->dev);
  tvmgo_profile_thread* t = w->thread;
  tvmgo_profile_event* e = tvmgo_profile_add(t, w->begin, tvmgo_profile_now(),
                                             tvmgo_profile_site_of(t->profile, site), shapes, value);
  if (w->timer != NULL && e != NULL) tvmgo_profile_time(t, e, &timers, w->dev, w->timer);
  else if (w->timer != NULL) tvmgo_timer_free(w->dev, w->timer);
  tvmgo_error_put_back(earlier);
}
