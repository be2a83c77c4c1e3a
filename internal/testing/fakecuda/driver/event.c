// Events: positions in the work of a stream, to wait for or to measure time between.
#include <stdlib.h>

#include "fake.h"

API CUresult cuEventCreate(CUevent *out, unsigned flags) {
  ENTER(F_CTX);
  if (!out || flags > 7) return CUDA_ERROR_INVALID_VALUE;
  event *e = calloc(1, sizeof *e);
  e->flags = flags;
  object_add(&e->o, EVENT, g.ctx);
  *out = e;
  return CUDA_SUCCESS;
}

API CUresult cuEventDestroy_v2(CUevent handle) {
  ENTER(F_RELEASE);
  event *e = object_find(&g, handle, EVENT);
  if (!e) return CUDA_ERROR_INVALID_HANDLE;
  event_uncapture(e);
  op_drop(e->op);
  e->op = NULL;
  object_kill(&e->o);
  return g.fault ? g.fault : context_state(e->o.ctx);
}

API CUresult cuEventRecord(CUevent handle, CUstream on) {
  ENTER(0);
  event *e = object_find(&g, handle, EVENT);
  stream *s;
  if (!e) return CUDA_ERROR_INVALID_HANDLE;
  CUresult result = stream_find(&g, on, &s);
  if (result) return result;
  if (e->o.ctx != s->o.ctx) {
    report("%s: %s is of %s, %s of %s", g.name, object_name(&e->o), object_name(&e->o.ctx->o), object_name(&s->o),
        object_name(&s->o.ctx->o));
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (s->capture) {
    if (s->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    capture_event(s, e);
    return CUDA_SUCCESS;
  }
  if (capture_implicit(&g, s)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  event_uncapture(e);
  op_drop(e->op);
  e->op = op_enqueue(s, (work){.kind = DO_MARK, .call = g.name}, NULL, 0);
  return CUDA_SUCCESS;
}

static CUresult event_find(const guard *g, CUevent handle, event **e) {
  *e = object_find(g, handle, EVENT);
  if (!*e) return CUDA_ERROR_INVALID_HANDLE;
  if ((*e)->capture) {
    report("%s: %s was recorded in a capture", g->name, object_name(&(*e)->o));
    capture_break((*e)->capture);
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  return context_state((*e)->o.ctx);
}

API CUresult cuEventQuery(CUevent handle) {
  ENTER(0);
  event *e;
  CUresult result = event_find(&g, handle, &e);
  if (result) return result;
  if (capture_forbids(g.name)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (!e->op) return CUDA_SUCCESS;
  if (!e->op->done) return CUDA_ERROR_NOT_READY;
  order_known(&e->op->clock);
  return CUDA_SUCCESS;
}

API CUresult cuEventSynchronize(CUevent handle) {
  ENTER(0);
  event *e;
  CUresult result = event_find(&g, handle, &e);
  if (result) return result;
  if (capture_forbids(g.name)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (e->op) op_wait(e->op);
  pools_trim();
  return context_state(e->o.ctx);
}

// The shortest time is half a microsecond, the resolution of a device's events.
static CUresult elapsed(const guard *g, float *ms, CUevent from, CUevent to) {
  event *a, *b;
  CUresult result = event_find(g, from, &a);
  if (!result) result = event_find(g, to, &b);
  if (result) return result;
  if (!ms) return CUDA_ERROR_INVALID_VALUE;
  if ((a->flags | b->flags) & EVENT_DISABLE_TIMING || !a->op || !b->op) {
    report("%s: %s", g->name, a->op && b->op ? "an event was made without timing" : "an event was never recorded");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (!a->op->done || !b->op->done) return CUDA_ERROR_NOT_READY;
  *ms = (float)(b->op->time - a->op->time);
  return CUDA_SUCCESS;
}

API CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to) {
  ENTER(0);
  return elapsed(&g, ms, from, to);
}

API CUresult cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to) {
  ENTER(0);
  return elapsed(&g, ms, from, to);
}

API CUresult cuStreamWaitEvent(CUstream on, CUevent handle, unsigned flags) {
  ENTER(0);
  stream *s;
  CUresult result = stream_find(&g, on, &s);
  if (result) return result;
  event *e = object_find(&g, handle, EVENT);
  if (!e) return CUDA_ERROR_INVALID_HANDLE;
  if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
  if (s->capture || e->capture) return capture_wait(&g, s, e);
  if (capture_implicit(&g, s)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  if (e->op) op_drop(op_enqueue(s, (work){.kind = DO_MARK, .call = g.name}, &e->op, 1));
  return CUDA_SUCCESS;
}
