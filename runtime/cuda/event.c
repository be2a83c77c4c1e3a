//go:build cuda

/* Events and timers, and the unused events for ordering streams. */
#include "driver.h"

#include <stdlib.h>

CUresult tvmgo_cu_spare_event(cu_device* d, CUevent* out) {
  pthread_mutex_lock(&d->lock);
  CUresult rc = tvmgo_cu_spare_event_locked(d, out);
  pthread_mutex_unlock(&d->lock);
  return rc;
}

CUresult tvmgo_cu_spare_event_locked(cu_device* d, CUevent* out) {
  *out = d->num_spare > 0 ? d->spare[--d->num_spare] : NULL;
  return *out != NULL ? CUDA_SUCCESS : cuEventCreate(out, CU_EVENT_DISABLE_TIMING);
}

void tvmgo_cu_event_done(cu_device* d, CUevent e) {
  pthread_mutex_lock(&d->lock);
  int kept = d->num_spare < (int)(sizeof d->spare / sizeof *d->spare);
  if (kept) d->spare[d->num_spare++] = e;
  pthread_mutex_unlock(&d->lock);
  if (!kept) cuEventDestroy(e);
}

void tvmgo_cu_drop_spare_events(cu_device* d) {
  CUevent taken[sizeof d->spare / sizeof *d->spare];
  pthread_mutex_lock(&d->lock);
  int n = d->num_spare;
  for (int i = 0; i < n; i++) taken[i] = d->spare[i];
  d->num_spare = 0;
  pthread_mutex_unlock(&d->lock);
  for (int i = 0; i < n; i++) cuEventDestroy(taken[i]);
}

/* The object behind an event or timer. A timer has two CUevents. */
typedef struct {
  uint64_t magic; /* EVENT or TIMER */
  uint32_t epoch; /* the device's epoch at its creation */
  cu_device* d;
  CUevent at[2];
  int set[2]; /* whether a timer's CUevents are recorded */
} cu_event;

static const uint64_t EVENT = 0x746e657665756374, TIMER = 0x72656d6974756374;

static cu_event* need(void* p, uint64_t magic, const char* what) {
  cu_event* m = p;
  if (m != NULL && m->magic == magic) return tvmgo_cu_check_epoch(m->d, m->epoch, what) == 0 ? m : NULL;
  tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %p was created elsewhere, or already freed", what, p);
  return NULL;
}

static int make(DLDevice dev, uint64_t magic, void** out) {
  cu_scope s;
  cu_device* d = tvmgo_cu_device(dev.device_id);
  cu_event* m = d == NULL ? NULL : calloc(1, sizeof *m);
  if (m == NULL) return d == NULL ? -1 : tvmgo_raise_oom();
  m->magic = magic;
  m->d = d;
  m->epoch = atomic_load(&d->epoch);
  if (tvmgo_cu_enter_relaxed(d, &s) != 0) {
    free(m);
    return -1;
  }
  unsigned int flags = magic == TIMER ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING;
  CUresult rc = cuEventCreate(&m->at[0], flags);
  if (rc == CUDA_SUCCESS && magic == TIMER) {
    rc = cuEventCreate(&m->at[1], flags);
    if (rc != CUDA_SUCCESS) cuEventDestroy(m->at[0]);
  }
  tvmgo_cu_leave(&s);
  if (rc != CUDA_SUCCESS) {
    free(m);
    return tvmgo_cu_raise(rc, "create %s of cuda:%d", magic == TIMER ? "a timer" : "an event", dev.device_id);
  }
  *out = m;
  return 0;
}

int tvmgo_cu_event_create(const TVMGODeviceAPI* api, DLDevice dev, void** event) {
  return make(dev, EVENT, event);
}

int tvmgo_cu_timer_create(const TVMGODeviceAPI* api, DLDevice dev, void** timer) {
  return make(dev, TIMER, timer);
}

int tvmgo_cu_event_or_timer_free(const TVMGODeviceAPI* api, void* p) {
  cu_scope s;
  cu_event* m = p;
  /* a lost event does not exist in the driver any more */
  if (m != NULL && (m->magic == TIMER || m->magic == EVENT) && m->epoch != atomic_load(&m->d->epoch)) {
    m->magic = 0;
    free(m);
    return 0;
  }
  m = need(p, m != NULL && m->magic == TIMER ? TIMER : EVENT, "free event");
  if (m == NULL || tvmgo_cu_enter_to_free(m->d, &s) != 0) return -1;
  CUresult rc = CUDA_SUCCESS;
  for (int i = 0; i < 2; i++)
    if (m->at[i] != NULL) {
      CUresult one = cuEventDestroy(m->at[i]); /* the driver deletes it when it is complete */
      if (one != CUDA_SUCCESS) rc = one;
    }
  tvmgo_cu_leave(&s);
  int index = m->d->index;
  m->magic = 0;
  free(m);
  return rc == CUDA_SUCCESS || tvmgo_cu_is_sticky(rc) ? 0 : tvmgo_cu_raise(rc, "free an event of cuda:%d", index);
}

/* Checks that a stream belongs to the event's device. */
static int check_stream(const cu_event* m, CUstream stream, const char* op) {
  const cu_device* of = tvmgo_cu_device_of_stream(stream, m->d);
  if (of == m->d) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: stream %p belongs to cuda:%d, but the event to cuda:%d", op, (void*)stream,
                     (int)of->index, (int)m->d->index);
}

static int record(cu_event* m, int i, CUstream stream, const char* op) {
  cu_scope s;
  if (m == NULL || tvmgo_cu_check_stream(stream, op) != 0 || check_stream(m, stream, op) != 0 ||
      tvmgo_cu_enter(m->d, &s) != 0)
    return -1;
  CUresult rc = cuEventRecord(m->at[i], stream);
  tvmgo_cu_leave(&s);
  return rc == CUDA_SUCCESS ? 0 : tvmgo_cu_raise(rc, "%s on cuda:%d", op, (int)m->d->index);
}

int tvmgo_cu_event_record(const TVMGODeviceAPI* api, void* event, TVMFFIStreamHandle stream) {
  return record(need(event, EVENT, "record event"), 0, stream, "record event");
}

/* The stream may belong to another device. */
int tvmgo_cu_event_wait(const TVMGODeviceAPI* api, void* event, TVMFFIStreamHandle stream) {
  cu_scope s;
  cu_event* m = need(event, EVENT, "wait for event");
  if (m == NULL || tvmgo_cu_check_stream(stream, "wait for event") != 0) return -1;
  if (tvmgo_cu_enter(tvmgo_cu_device_of_stream(stream, m->d), &s) != 0) return -1;
  CUresult rc = cuStreamWaitEvent(stream, m->at[0], 0);
  tvmgo_cu_leave(&s);
  return rc == CUDA_SUCCESS ? 0 : tvmgo_cu_raise(rc, "wait for event on cuda:%d", (int)m->d->index);
}

int tvmgo_cu_event_sync(const TVMGODeviceAPI* api, void* event) {
  cu_scope s;
  cu_event* m = need(event, EVENT, "wait for event");
  if (m == NULL || tvmgo_cu_enter_relaxed(m->d, &s) != 0) return -1;
  CUresult rc = cuEventSynchronize(m->at[0]);
  tvmgo_cu_leave(&s);
  return rc == CUDA_SUCCESS ? 0 : tvmgo_cu_raise(rc, "wait for event of cuda:%d", (int)m->d->index);
}

int tvmgo_cu_event_query(const TVMGODeviceAPI* api, void* event, int32_t* done) {
  cu_scope s;
  cu_event* m = need(event, EVENT, "query event");
  if (m == NULL || tvmgo_cu_enter_relaxed(m->d, &s) != 0) return -1;
  CUresult rc = cuEventQuery(m->at[0]);
  tvmgo_cu_leave(&s);
  /* An event that was recorded in a capture never completes. */
  if (rc != CUDA_SUCCESS && rc != CUDA_ERROR_NOT_READY && rc != CUDA_ERROR_CAPTURED_EVENT)
    return tvmgo_cu_raise(rc, "query event of cuda:%d", (int)m->d->index);
  *done = rc == CUDA_SUCCESS;
  return 0;
}

int tvmgo_cu_timer_start(const TVMGODeviceAPI* api, void* timer, TVMFFIStreamHandle stream) {
  cu_event* m = need(timer, TIMER, "start timer");
  if (record(m, 0, stream, "start timer") != 0) return -1;
  m->set[0] = 1;
  m->set[1] = 0;
  return 0;
}

int tvmgo_cu_timer_stop(const TVMGODeviceAPI* api, void* timer, TVMFFIStreamHandle stream) {
  cu_event* m = need(timer, TIMER, "stop timer");
  if (m == NULL) return -1;
  if (!m->set[0]) return tvmgo_raise(TVMGO_VALUE_ERROR, "stop timer: it was not started");
  if (record(m, 1, stream, "stop timer") != 0) return -1;
  m->set[1] = 1;
  return 0;
}

int tvmgo_cu_timer_elapsed_ns(const TVMGODeviceAPI* api, void* timer, int64_t* ns) {
  cu_scope s;
  cu_event* m = need(timer, TIMER, "read timer");
  if (m == NULL) return -1;
  if (!m->set[1]) return tvmgo_raise(TVMGO_VALUE_ERROR, "read timer: it was not stopped");
  if (tvmgo_cu_enter_relaxed(m->d, &s) != 0) return -1;
  float ms = 0;
  CUresult rc = cuEventSynchronize(m->at[1]);
  if (rc == CUDA_SUCCESS) rc = cuEventSynchronize(m->at[0]); /* it may be on another stream */
  if (rc == CUDA_SUCCESS) rc = cuEventElapsedTime(&ms, m->at[0], m->at[1]);
  tvmgo_cu_leave(&s);
  if (rc != CUDA_SUCCESS) return tvmgo_cu_raise(rc, "read timer of cuda:%d", (int)m->d->index);
  *ns = ms > 0 ? (int64_t)((double)ms * 1e6) : 0;
  return 0;
}
