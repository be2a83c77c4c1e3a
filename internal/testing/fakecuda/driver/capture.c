// Capture: work that is recorded in a graph instead of being run, streams that join a capture through events, and the
// calls that invalidate a capture.
#include <stdlib.h>

#include "fake.h"

capture *captures;
static __thread int thread_mode = CAPTURE_GLOBAL;

void capture_break(capture *c) { c->invalid = true; }

bool capture_forbids(const char *call) {
  bool forbidden = false;
  if (thread_mode == CAPTURE_RELAXED) return false;
  for (capture *c = captures; c; c = c->next) {
    bool mine = pthread_equal(c->thread, pthread_self());
    if ((c->mode == CAPTURE_GLOBAL && thread_mode == CAPTURE_GLOBAL) || (mine && c->mode != CAPTURE_RELAXED)) {
      report("%s: may synchronise while %s is being captured, and ends the capture", call, object_name(&c->origin->o));
      capture_break(c);
      forbidden = true;
    }
  }
  return forbidden;
}

// Waiting for a context invalidates every capture in it, whatever the mode of the capture and of the thread.
bool capture_waits(const char *call, const context *ctx) {
  bool broken = false;
  for (capture *c = captures; c; c = c->next) {
    if (c->origin->o.ctx != ctx) continue;
    report("%s: waits for %s, which is being captured, and ends the capture", call, object_name(&c->origin->o));
    capture_break(c);
    broken = true;
  }
  return broken;
}

void capture_drop(capture *c) {
  for (object *o = objects; o; o = o->next) {
    if (o->kind == STREAM && ((stream *)o)->capture == c) {
      ((stream *)o)->capture = NULL;
      ((stream *)o)->ncap_deps = 0;
    }
    if (o->kind == EVENT && ((event *)o)->capture == c) event_uncapture((event *)o);
  }
  for (capture **at = &captures; *at; at = &(*at)->next) {
    if (*at == c) {
      *at = c->next;
      break;
    }
  }
  free(c);
}

static void graph_drop(graph *gr) {
  graph_nodes_free(gr->nodes, gr->nnodes);
  free(gr);
}

void capture_abandon(capture *c) {
  graph_drop(c->graph);
  capture_drop(c);
}

CUresult capture_touch(const guard *g, stream *s) {
  report("%s: not possible on %s, which is being captured", g->name, object_name(&s->o));
  if (s->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  capture_break(s->capture);
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

// Work of the default stream would have to wait for blocking streams that only record their work.
bool capture_implicit(const guard *g, stream *s) {
  if (!s->legacy) return false;
  bool broken = false;
  for (stream *o = s->o.ctx->streams; o; o = o->next) {
    if (!o->capture || o->flags & STREAM_NON_BLOCKING) continue;
    report("%s: the default stream waits for %s, which is being captured", g->name, object_name(&o->o));
    capture_break(o->capture);
    broken = true;
  }
  return broken;
}

static void deps_set(int **deps, int *n, const int *from, int count) {
  int *copy = malloc((size_t)(count + 1) * sizeof *copy);
  if (count) memcpy(copy, from, (size_t)count * sizeof *copy);
  free(*deps);
  *deps = copy;
  *n = count;
}

static void deps_join(int **deps, int *n, const int *from, int count) {
  *deps = realloc(*deps, (size_t)(*n + count + 1) * sizeof **deps);
  for (int i = 0; i < count; i++) {
    bool there = false;
    for (int k = 0; k < *n; k++) there |= (*deps)[k] == from[i];
    if (!there) (*deps)[(*n)++] = from[i];
  }
}

CUresult capture_note(const guard *g, stream *s, work w) {
  if (s->capture->invalid) {
    work_done(&w);
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  graph *gr = s->capture->graph;
  if (gr->nnodes == gr->cap) {
    gr->cap = gr->cap ? 2 * gr->cap : 8;
    gr->nodes = realloc(gr->nodes, (size_t)gr->cap * sizeof *gr->nodes);
  }
  int at = gr->nnodes++;
  w.call = g->name;
  w.summed = false;
  gr->nodes[at] = (graph_node){.w = w};
  deps_set(&gr->nodes[at].deps, &gr->nodes[at].ndeps, s->cap_deps, s->ncap_deps);
  deps_set(&s->cap_deps, &s->ncap_deps, &at, 1);
  return CUDA_SUCCESS;
}

void event_uncapture(event *e) {
  free(e->cap_deps);
  e->cap_deps = NULL;
  e->ncap_deps = 0;
  e->capture = NULL;
}

void capture_event(stream *s, event *e) {
  op_drop(e->op);
  e->op = NULL;
  e->capture = s->capture;
  deps_set(&e->cap_deps, &e->ncap_deps, s->cap_deps, s->ncap_deps);
}

CUresult capture_wait(const guard *g, stream *s, event *e) {
  if (s->capture && s->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!e->capture) {
    report("%s: %s is being captured, %s was recorded outside", g->name, object_name(&s->o), object_name(&e->o));
    capture_break(s->capture);
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (s->capture && s->capture != e->capture) {
    report("%s: %s and %s are in different captures", g->name, object_name(&s->o), object_name(&e->o));
    capture_break(s->capture);
    capture_break(e->capture);
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (s->legacy) {
    report("%s: the default stream cannot join a capture", g->name);
    capture_break(e->capture);
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  s->capture = e->capture;
  deps_join(&s->cap_deps, &s->ncap_deps, e->cap_deps, e->ncap_deps);
  return CUDA_SUCCESS;
}

static capture *capture_begin(stream *s, int mode, pthread_t thread) {
  capture *c = calloc(1, sizeof *c);
  *c = (capture){.mode = mode, .thread = thread, .origin = s, .next = captures};
  c->graph = calloc(1, sizeof *c->graph);
  captures = c;
  s->capture = c;
  s->ncap_deps = 0;
  return c;
}

API CUresult cuStreamBeginCapture_v2(CUstream handle, int mode) {
  ENTER(0);
  stream *s;
  CUresult result = stream_find(&g, handle, &s);
  if (result) return result;
  if (mode < 0 || mode > 2) return CUDA_ERROR_INVALID_VALUE;
  if (s->legacy) {
    report("%s: the default stream cannot be captured", g.name);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (s->capture) {
    report("%s: %s is being captured already", g.name, object_name(&s->o));
    capture_break(s->capture);
    return CUDA_ERROR_ILLEGAL_STATE;
  }
  capture_begin(s, mode, pthread_self());
  return CUDA_SUCCESS;
}

API void *fakecuda_capture_begin(int device, int mode, unsigned flags) {
  stream *s = NULL;
  pthread_mutex_lock(&fake_lock);
  if (device >= 0 && device < MAX_DEVICES && devices[device].primary) {
    s = stream_make(devices[device].primary, flags, 0);
    capture_begin(s, mode, (pthread_t)0);
  }
  pthread_mutex_unlock(&fake_lock);
  return s;
}

API int fakecuda_capture_end(void *handle) {
  stream *s = handle;
  pthread_mutex_lock(&fake_lock);
  int result = s->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
  capture_abandon(s->capture);
  stream_close(s);
  pthread_mutex_unlock(&fake_lock);
  return result;
}

// All other work of the graph must come before the last work of the stream on which the capture began.
static bool joined(const graph *gr, const stream *origin) {
  bool *reached = calloc((size_t)gr->nnodes + 1, 1), all = true;
  for (int i = 0; i < origin->ncap_deps; i++) reached[origin->cap_deps[i]] = true;
  for (int n = gr->nnodes; n-- > 0;) {
    all &= reached[n];
    for (int i = 0; reached[n] && i < gr->nodes[n].ndeps; i++) reached[gr->nodes[n].deps[i]] = true;
  }
  free(reached);
  return all;
}

API CUresult cuStreamEndCapture(CUstream handle, CUgraph *out) {
  ENTER(F_RELEASE);
  stream *s;
  CUresult result = stream_find(&g, handle, &s);
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = NULL;
  if (result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_INVALID_CONTEXT) return result;
  capture *c = s->capture;
  if (!c) {
    report("%s: %s is not being captured", g.name, object_name(&s->o));
    return CUDA_ERROR_ILLEGAL_STATE;
  }
  if (c->origin != s) {
    report("%s: %s joined the capture that %s began", g.name, object_name(&s->o), object_name(&c->origin->o));
    capture_break(c);
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  if (c->mode != CAPTURE_RELAXED && !pthread_equal(c->thread, pthread_self())) {
    report("%s: the capture of %s was begun by another thread", g.name, object_name(&s->o));
    capture_break(c);
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  if (c->invalid) {
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if (!joined(c->graph, s)) {
    report("%s: work of other streams was not joined to %s", g.name, object_name(&s->o));
    result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  if (g.fault) result = g.fault;
  if (result) {
    capture_abandon(c);
    return result;
  }
  object_add(&c->graph->o, GRAPH, s->o.ctx);
  *out = c->graph;
  capture_drop(c);
  return result;
}

API CUresult cuStreamIsCapturing(CUstream handle, int *status) {
  ENTER(0);
  stream *s;
  CUresult result = stream_find(&g, handle, &s);
  if (result) return result;
  if (!status) return CUDA_ERROR_INVALID_VALUE;
  for (stream *o = s->legacy ? s->o.ctx->streams : NULL; o; o = o->next) { // a query does not invalidate a capture
    if (o->capture && !(o->flags & STREAM_NON_BLOCKING)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  *status = !s->capture ? CAPTURE_STATUS_NONE : s->capture->invalid ? CAPTURE_STATUS_INVALIDATED
      : CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

API CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
  ENTER(0);
  if (!mode || *mode < 0 || *mode > 2) return CUDA_ERROR_INVALID_VALUE;
  int old = thread_mode;
  thread_mode = *mode;
  *mode = old;
  return CUDA_SUCCESS;
}
