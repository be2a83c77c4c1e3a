//go:build opencl

/* Streams, which are in-order command queues, events and timers. Queues record times, so that timers need no queue of
 * their own. */
#include "driver.h"

cl_command_queue tvmgo_cl_queue_new(const cl_device* d) {
  cl_int rc;
  cl_command_queue q = clCreateCommandQueue(d->context, d->id, CL_QUEUE_PROFILING_ENABLE, &rc);
  if (q == NULL) tvmgo_cl_raise(rc, "create a stream of opencl:%d", (int)d->index);
  return q;
}

cl_command_queue tvmgo_cl_queue(const cl_device* d, TVMFFIStreamHandle stream) {
  if (stream == NULL) return d->queue;
  cl_handle* h = tvmgo_cl_handle_need(stream, HANDLE_STREAM, "stream");
  if (h == NULL) return NULL;
  if (TVMGO_LIKELY(h->device == d->index)) return h->queue;
  tvmgo_raise(TVMGO_VALUE_ERROR, "stream: %p belongs to opencl:%d, but the operation is on opencl:%d", stream,
              (int)h->device, (int)d->index);
  return NULL;
}

int tvmgo_cl_stream_sync(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  const cl_device* d = tvmgo_cl_device(dev.device_id);
  cl_command_queue q = d == NULL ? NULL : tvmgo_cl_queue(d, stream);
  if (q == NULL) return -1;
  tvmgo_cl_enter(d);
  cl_int rc = clFinish(q);
  tvmgo_cl_leave(d);
  return rc == CL_SUCCESS ? 0 : tvmgo_cl_raise(rc, "wait for opencl:%d", dev.device_id);
}

int tvmgo_cl_stream_create(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle* out) {
  const cl_device* d = tvmgo_cl_device(dev.device_id);
  cl_command_queue q = d == NULL ? NULL : tvmgo_cl_queue_new(d);
  if (q == NULL) return -1;
  cl_handle* h = tvmgo_cl_handle_new(HANDLE_STREAM, d->index);
  if (h == NULL) {
    clReleaseCommandQueue(q);
    return -1;
  }
  h->queue = q;
  *out = h;
  return 0;
}

int tvmgo_cl_stream_free(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  const cl_device* d = tvmgo_cl_device(dev.device_id);
  cl_handle* h = d == NULL ? NULL : tvmgo_cl_handle_need(stream, HANDLE_STREAM, "free stream");
  if (h == NULL || tvmgo_cl_queue(d, stream) == NULL) return -1;
  cl_command_queue q = h->queue;
  tvmgo_cl_enter(d);
  cl_int rc = clFlush(q); /* the driver deletes a released queue when its commands are done */
  if (rc == CL_SUCCESS) rc = clReleaseCommandQueue(q);
  tvmgo_cl_leave(d);
  if (rc != CL_SUCCESS) return tvmgo_cl_raise(rc, "free a stream of opencl:%d", dev.device_id);
  tvmgo_cl_handle_free(h);
  return 0;
}

int tvmgo_cl_stream_set(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  const cl_device* d = tvmgo_cl_device(dev.device_id);
  return d == NULL || tvmgo_cl_queue(d, stream) == NULL ? -1 : 0;
}

/* Enqueues a marker and flushes the queue, so that the marker completes without further calls. */
static cl_int enqueue_marker(cl_command_queue q, cl_event* out) {
  cl_int rc = clEnqueueMarkerWithWaitList(q, 0, NULL, out);
  return rc == CL_SUCCESS ? clFlush(q) : rc;
}

int tvmgo_cl_stream_order(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle src, TVMFFIStreamHandle dst) {
  const cl_device* d = tvmgo_cl_device(dev.device_id);
  if (d == NULL) return -1;
  cl_command_queue from = tvmgo_cl_queue(d, src), to = from == NULL ? NULL : tvmgo_cl_queue(d, dst);
  if (to == NULL) return -1;
  if (from == to) return 0;
  cl_event e = NULL;
  tvmgo_cl_enter(d);
  cl_int rc = enqueue_marker(from, &e);
  if (rc == CL_SUCCESS) rc = clEnqueueBarrierWithWaitList(to, 1, &e, NULL);
  tvmgo_cl_leave(d);
  if (e != NULL) clReleaseEvent(e);
  return rc == CL_SUCCESS ? 0 : tvmgo_cl_raise(rc, "order streams of opencl:%d", dev.device_id);
}

/* ---- events and timers: handles with one marker or two ---- */

static int event_or_timer_new(DLDevice dev, handle_kind kind, void** out) {
  const cl_device* d = tvmgo_cl_device(dev.device_id);
  cl_handle* h = d == NULL ? NULL : tvmgo_cl_handle_new(kind, d->index);
  if (h == NULL) return -1;
  pthread_mutex_init(&h->lock, NULL);
  *out = h;
  return 0;
}

int tvmgo_cl_event_create(const TVMGODeviceAPI* api, DLDevice dev, void** event) {
  return event_or_timer_new(dev, HANDLE_EVENT, event);
}

int tvmgo_cl_timer_create(const TVMGODeviceAPI* api, DLDevice dev, void** timer) {
  return event_or_timer_new(dev, HANDLE_TIMER, timer);
}

int tvmgo_cl_event_or_timer_free(const TVMGODeviceAPI* api, void* p) {
  cl_handle* h = tvmgo_cl_handle_need(p, tvmgo_cl_handle_kind(p) == HANDLE_TIMER ? HANDLE_TIMER : HANDLE_EVENT,
                                      "free event");
  if (h == NULL) return -1;
  for (int i = 0; i < 2; i++)
    if (h->marker[i] != NULL) clReleaseEvent(h->marker[i]);
  pthread_mutex_destroy(&h->lock);
  tvmgo_cl_handle_free(h);
  return 0;
}

static void set_marker(cl_handle* h, int i, cl_event e) {
  pthread_mutex_lock(&h->lock);
  cl_event old = h->marker[i];
  h->marker[i] = e;
  pthread_mutex_unlock(&h->lock);
  if (old != NULL) clReleaseEvent(old);
}

/* Marker i, which the caller releases; NULL if it is not recorded. */
static cl_event get_marker(cl_handle* h, int i) {
  pthread_mutex_lock(&h->lock);
  cl_event e = h->marker[i];
  if (e != NULL) clRetainEvent(e);
  pthread_mutex_unlock(&h->lock);
  return e;
}

static int record(cl_handle* h, int i, TVMFFIStreamHandle stream, const char* op) {
  if (h == NULL) return -1;
  const cl_device* d = &tvmgo_cl_devices[h->device];
  cl_command_queue q = tvmgo_cl_queue(d, stream);
  if (q == NULL) return -1;
  cl_event e = NULL;
  tvmgo_cl_enter(d);
  cl_int rc = enqueue_marker(q, &e);
  tvmgo_cl_leave(d);
  if (rc != CL_SUCCESS) {
    if (e != NULL) clReleaseEvent(e);
    return tvmgo_cl_raise(rc, "%s on opencl:%d", op, (int)h->device);
  }
  set_marker(h, i, e);
  return 0;
}

int tvmgo_cl_event_record(const TVMGODeviceAPI* api, void* event, TVMFFIStreamHandle stream) {
  return record(tvmgo_cl_handle_need(event, HANDLE_EVENT, "record event"), 0, stream, "record event");
}

int tvmgo_cl_event_wait(const TVMGODeviceAPI* api, void* event, TVMFFIStreamHandle stream) {
  cl_handle* h = tvmgo_cl_handle_need(event, HANDLE_EVENT, "wait for event");
  if (h == NULL) return -1;
  const cl_device* d = &tvmgo_cl_devices[h->device];
  cl_command_queue q = tvmgo_cl_queue(d, stream);
  if (q == NULL) return -1;
  cl_event e = get_marker(h, 0);
  if (e == NULL) return 0;
  tvmgo_cl_enter(d);
  cl_int rc = clEnqueueBarrierWithWaitList(q, 1, &e, NULL);
  tvmgo_cl_leave(d);
  clReleaseEvent(e);
  return rc == CL_SUCCESS ? 0 : tvmgo_cl_raise(rc, "wait for event on opencl:%d", (int)h->device);
}

int tvmgo_cl_event_sync(const TVMGODeviceAPI* api, void* event) {
  cl_handle* h = tvmgo_cl_handle_need(event, HANDLE_EVENT, "wait for event");
  if (h == NULL) return -1;
  cl_event e = get_marker(h, 0);
  if (e == NULL) return 0;
  tvmgo_cl_enter(&tvmgo_cl_devices[h->device]);
  cl_int rc = clWaitForEvents(1, &e);
  tvmgo_cl_leave(&tvmgo_cl_devices[h->device]);
  clReleaseEvent(e);
  return rc == CL_SUCCESS ? 0 : tvmgo_cl_raise(rc, "wait for event on opencl:%d", (int)h->device);
}

int tvmgo_cl_event_query(const TVMGODeviceAPI* api, void* event, int32_t* done) {
  cl_handle* h = tvmgo_cl_handle_need(event, HANDLE_EVENT, "query event");
  if (h == NULL) return -1;
  cl_event e = get_marker(h, 0);
  cl_int status = CL_COMPLETE, rc = CL_SUCCESS;
  if (e != NULL) {
    rc = clGetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    clReleaseEvent(e);
  }
  if (rc == CL_SUCCESS && status < 0) rc = status;
  if (rc != CL_SUCCESS) return tvmgo_cl_raise(rc, "query event of opencl:%d", (int)h->device);
  *done = status == CL_COMPLETE;
  return 0;
}

int tvmgo_cl_timer_start(const TVMGODeviceAPI* api, void* timer, TVMFFIStreamHandle stream) {
  cl_handle* h = tvmgo_cl_handle_need(timer, HANDLE_TIMER, "start timer");
  if (record(h, 0, stream, "start timer") != 0) return -1;
  set_marker(h, 1, NULL);
  return 0;
}

int tvmgo_cl_timer_stop(const TVMGODeviceAPI* api, void* timer, TVMFFIStreamHandle stream) {
  cl_handle* h = tvmgo_cl_handle_need(timer, HANDLE_TIMER, "stop timer");
  if (h == NULL) return -1;
  if (h->marker[0] == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "stop timer: it was not started");
  return record(h, 1, stream, "stop timer");
}

int tvmgo_cl_timer_elapsed_ns(const TVMGODeviceAPI* api, void* timer, int64_t* ns) {
  cl_handle* h = tvmgo_cl_handle_need(timer, HANDLE_TIMER, "read timer");
  if (h == NULL) return -1;
  if (h->marker[1] == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "read timer: it was not stopped");
  cl_ulong at[2] = {0, 0};
  tvmgo_cl_enter(&tvmgo_cl_devices[h->device]);
  cl_int rc = clWaitForEvents(2, h->marker);
  tvmgo_cl_leave(&tvmgo_cl_devices[h->device]);
  for (int i = 0; i < 2 && rc == CL_SUCCESS; i++)
    rc = clGetEventProfilingInfo(h->marker[i], CL_PROFILING_COMMAND_END, sizeof at[i], &at[i], NULL);
  if (rc != CL_SUCCESS) return tvmgo_cl_raise(rc, "read timer of opencl:%d", (int)h->device);
  *ns = at[1] > at[0] ? (int64_t)(at[1] - at[0]) : 0;
  return 0;
}
