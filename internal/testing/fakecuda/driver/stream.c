// Streams: creation, lookup by handle, waits, destruction.
#include <stdlib.h>

#include "fake.h"

stream *stream_make(context *c, unsigned flags, int priority) {
  stream *s = calloc(1, sizeof *s);
  s->flags = flags;
  s->priority = priority;
  s->slot = order_slot();
  object_add(&s->o, STREAM, c);
  s->next = c->streams;
  c->streams = s;
  return s;
}

// Queued work still runs; then the thread of the stream ends.
void stream_close(stream *s) {
  s->closing = true;
  if (!s->started) stream_unlink(s);
  object_kill(&s->o);
  pthread_cond_broadcast(&fake_changed);
}

// Waits for the context, and the default stream, are still ordered after the work of this stream.
void stream_unlink(stream *s) {
  context *c = s->o.ctx;
  order_join(&c->closed, &s->clock);
  if (!(s->flags & STREAM_NON_BLOCKING) && s != c->legacy) order_join(&c->legacy->clock, &s->clock);
  for (stream **at = &c->streams; *at; at = &(*at)->next) {
    if (*at == s) {
      *at = s->next;
      break;
    }
  }
  op_drop(s->last);
  s->last = NULL;
  free(s->cap_deps);
  s->cap_deps = NULL;
  s->ncap_deps = 0;
  order_slot_free(s->slot);
}

bool stream_idle(const stream *s) { return !s->head; }

static stream *own_stream(context *c) {
  for (stream *s = c->streams; s; s = s->next) {
    if (s->per_thread && pthread_equal(s->owner, pthread_self())) return s;
  }
  stream *s = stream_make(c, 0, 0);
  s->per_thread = true;
  s->owner = pthread_self();
  return s;
}

CUresult stream_find(const guard *g, CUstream handle, stream **out) {
  if ((uintptr_t)handle <= 2) {
    context *c = g->ctx;
    if (!c || !c->o.alive) {
      report("%s: the default stream needs a current context", g->name);
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    *out = (uintptr_t)handle == 2 ? own_stream(c) : c->legacy;
  } else {
    *out = object_find(g, handle, STREAM);
    if (!*out) return CUDA_ERROR_INVALID_HANDLE;
  }
  return context_state((*out)->o.ctx);
}

CUresult stream_do(const guard *g, stream *s, work w) {
  w.call = g->name;
  if (s->capture) return capture_note(g, s, w);
  if (capture_implicit(g, s)) {
    work_done(&w);
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  op_drop(op_enqueue(s, w, NULL, 0));
  return CUDA_SUCCESS;
}

static CUresult make(const guard *g, CUstream *out, unsigned flags, int priority) {
  if (!out || flags > STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  if (priority > 0) priority = 0;
  if (priority < -5) priority = -5;
  *out = stream_make(g->ctx, flags, priority);
  return CUDA_SUCCESS;
}

API CUresult cuStreamCreate(CUstream *out, unsigned flags) {
  ENTER(F_CTX);
  return make(&g, out, flags, 0);
}

API CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority) {
  ENTER(F_CTX);
  return make(&g, out, flags, priority);
}

API CUresult cuStreamDestroy_v2(CUstream handle) {
  ENTER(F_RELEASE);
  if ((uintptr_t)handle <= 2) {
    report("%s: the default stream cannot be destroyed", g.name);
    return CUDA_ERROR_INVALID_HANDLE;
  }
  stream *s = object_find(&g, handle, STREAM);
  if (!s) return CUDA_ERROR_INVALID_HANDLE;
  if (s->capture) {
    report("%s: %s is being captured", g.name, object_name(&s->o));
    if (s->capture->origin == s) {
      capture_abandon(s->capture);
    } else {
      capture_break(s->capture);
    }
  }
  if (config.strict_destroy && !stream_idle(s)) report("%s: %s has pending work", g.name, object_name(&s->o));
  stream_close(s);
  return g.fault ? g.fault : context_state(s->o.ctx);
}

// Waiting for the default stream waits for the blocking streams too: it queues an operation behind their work.
static void wait_stream(stream *s) {
  if (s->legacy) op_drop(op_enqueue(s, (work){.kind = DO_MARK, .call = "cuStreamSynchronize"}, NULL, 0));
  if (s->last) op_wait(s->last);
  pools_trim();
}

API CUresult cuStreamSynchronize(CUstream handle) {
  ENTER(0);
  stream *s;
  CUresult result = stream_find(&g, handle, &s);
  if (result) return result;
  if (s->capture) return capture_touch(&g, s);
  if (capture_implicit(&g, s)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  if (capture_forbids(g.name)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  wait_stream(s);
  return context_state(s->o.ctx);
}

API CUresult cuStreamQuery(CUstream handle) {
  ENTER(0);
  stream *s;
  CUresult result = stream_find(&g, handle, &s);
  if (result) return result;
  if (s->capture) return capture_touch(&g, s);
  if (capture_implicit(&g, s)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  if (capture_forbids(g.name)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (!stream_idle(s)) return CUDA_ERROR_NOT_READY;
  if (s->legacy) {
    for (stream *other = s->o.ctx->streams; other; other = other->next) {
      if (!(other->flags & STREAM_NON_BLOCKING) && !stream_idle(other)) return CUDA_ERROR_NOT_READY;
    }
  }
  order_known(&s->clock);
  return context_state(s->o.ctx);
}

API CUresult cuStreamGetCtx(CUstream handle, CUcontext *ctx) {
  ENTER(0);
  stream *s;
  CUresult result = stream_find(&g, handle, &s);
  if (result) return result;
  if (!ctx) return CUDA_ERROR_INVALID_VALUE;
  *ctx = s->o.ctx;
  return CUDA_SUCCESS;
}

