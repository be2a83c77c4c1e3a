// Operations: the work of a stream, executed in order on the stream's own thread, and what each operation waits for.
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"

static long long executed;
static int fail_next, pending, workers;

op *op_hold(op *o) {
  if (o) o->refs++;
  return o;
}

void op_drop(op *o) {
  if (!o || --o->refs) return;
  work_done(&o->w);
  free(o->deps);
  free(o);
}

void work_done(work *w) {
  free(w->staged);
  free(w->params);
  w->staged = NULL;
  w->params = NULL;
}

static bool ready(const op *o) {
  for (int i = 0; i < o->ndeps; i++) {
    if (!o->deps[i]->done) return false;
  }
  return true;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void run(stream *s, op *o) {
  context *c = s->o.ctx;
  CUresult status = context_state(c);
  bool lost = status && !c->sticky;
  if (!status && fail_next) {
    status = fail_next;
    fail_next = 0;
    c->sticky = status;
  }
  long long delay = config.delay_us;
  pthread_mutex_unlock(&fake_lock);
  if (delay) usleep((useconds_t)delay);
  CUresult result = work_run(&o->w, s, status);
  double time = now();
  pthread_mutex_lock(&fake_lock);
  if (result && !lost && !c->sticky) c->sticky = result; // a device that was lost may be repaired
  if (o->w.kind == DO_FREE) block_release(o->w.block, o->w.call);
  o->time = time;
  o->done = true;
  order_finished(s->slot, o->seq);
  for (int i = 0; i < o->ndeps; i++) op_drop(o->deps[i]);
  o->ndeps = 0;
  work_done(&o->w); // operations that wait for this one still refer to it, but not to its work
  executed++;
  pending--;
}

static void *worker(void *arg) {
  stream *s = arg;
  pthread_mutex_lock(&fake_lock);
  for (;;) {
    op *o = s->head;
    if (!o && s->closing) break;
    if (!o || !ready(o)) {
      pthread_cond_wait(&fake_changed, &fake_lock);
      continue;
    }
    run(s, o);
    s->head = o->next;
    if (!s->head) s->tail = NULL;
    op_drop(o);
    pthread_cond_broadcast(&fake_changed);
  }
  stream_unlink(s);
  workers--;
  pthread_cond_broadcast(&fake_changed);
  pthread_mutex_unlock(&fake_lock);
  return NULL;
}

// The threads of a driver block all signals: the host program handles them.
static void start(stream *s) {
  pthread_t thread;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  s->started = true;
  workers++;
  if (pthread_create(&thread, NULL, worker, s)) abort();
  pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void follow(op *o, op *before) {
  order_join(&o->clock, &before->clock);
  if (before->done) return;
  o->deps = realloc(o->deps, (size_t)(o->ndeps + 1) * sizeof *o->deps);
  o->deps[o->ndeps++] = op_hold(before);
}

// The default stream and the blocking streams of a context wait for each other.
static void follow_default(op *o, const stream *s) {
  if (s->flags & STREAM_NON_BLOCKING) return;
  if (!s->legacy) {
    if (s->o.ctx->legacy->last) follow(o, s->o.ctx->legacy->last);
    return;
  }
  for (stream *other = s->o.ctx->streams; other; other = other->next) {
    if (other != s && !(other->flags & STREAM_NON_BLOCKING) && other->last) follow(o, other->last);
  }
}

static void touch(op *o) {
  access_range ranges[MAX_ACCESS];
  int n = work_accesses(&o->w, ranges);
  for (int i = 0; i < n; i++) {
    block *b = block_find(ranges[i].at);
    if (!b) continue;
    size_t lo = ranges[i].at - b->base;
    order_access(b, lo, lo + ranges[i].bytes, ranges[i].write, o);
  }
}

op *op_enqueue(stream *s, work w, op *const *after, int nafter) {
  op *o = calloc(1, sizeof *o);
  *o = (op){.refs = 3, .stream = s, .w = w}; // references: the queue, last, the caller
  o->clock = s->clock;
  order_host(&o->clock);
  for (int i = 0; i < nafter; i++) {
    if (after[i]) follow(o, after[i]);
  }
  follow_default(o, s);
  o->seq = order_tick(s->slot);
  o->clock.at[s->slot] = o->seq;
  touch(o);
  s->clock = o->clock;
  if (s->tail) {
    s->tail->next = o;
  } else {
    s->head = o;
  }
  s->tail = o;
  op_drop(s->last);
  s->last = o;
  pending++;
  if (!s->started) {
    start(s);
  }
  pthread_cond_broadcast(&fake_changed);
  return o;
}

void op_forget(void) {
  while (workers) pthread_cond_wait(&fake_changed, &fake_lock);
  executed = fail_next = 0;
}

void op_wait(op *o) {
  op_hold(o);
  while (!o->done) pthread_cond_wait(&fake_changed, &fake_lock);
  order_known(&o->clock);
  op_drop(o);
}

API void fakecuda_fail_async(int code) {
  pthread_mutex_lock(&fake_lock);
  fail_next = code;
  pthread_mutex_unlock(&fake_lock);
}

API long long fakecuda_executed(void) {
  pthread_mutex_lock(&fake_lock);
  long long n = executed;
  pthread_mutex_unlock(&fake_lock);
  return n;
}

API int fakecuda_pending(void) {
  pthread_mutex_lock(&fake_lock);
  int n = pending;
  pthread_mutex_unlock(&fake_lock);
  return n;
}
