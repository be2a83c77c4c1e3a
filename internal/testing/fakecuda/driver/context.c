// The primary contexts of the devices: which one is current to a thread, the objects in it, and access to peers.
#include <stdlib.h>

#include "fake.h"

static __thread context *current;

context *context_current(void) { return current; }

CUresult context_state(const context *c) { return devices[c->device].lost ? devices[c->device].lost : c->sticky; }

static context *context_make(int device) {
  context *c = calloc(1, sizeof *c);
  c->device = device;
  object_add(&c->o, CONTEXT, c);
  c->legacy = stream_make(c, 0, 0);
  c->legacy->legacy = true;
  return c;
}

void context_wait(context *c) {
  for (;;) {
    stream *s = c->streams;
    while (s && stream_idle(s)) s = s->next;
    if (!s) break;
    pthread_cond_wait(&fake_changed, &fake_lock);
  }
  for (stream *s = c->streams; s; s = s->next) order_known(&s->clock);
  order_known(&c->closed);
  pools_trim();
}

// Destroys every object in the context. Objects that the program did not release are reported, unless call is NULL.
void context_destroy(context *c, const char *call) {
  for (stream *s = c->streams; s && call; s = s->next) {
    if (!stream_idle(s)) report("%s: %s has pending work in %s", call, object_name(&c->o), object_name(&s->o));
  }
  context_wait(c);
  for (capture *a = captures, *next; a; a = next) {
    next = a->next;
    if (a->origin->o.ctx == c) capture_abandon(a);
  }
  for (object *o = objects; o; o = o->next) {
    if (!o->alive || o->ctx != c || o == &c->o) continue;
    bool own = o->kind == FUNCTION || (o->kind == STREAM && (((stream *)o)->legacy || ((stream *)o)->per_thread));
    if (call && !own) report("%s: %s is left in %s", call, object_name(o), object_name(&c->o));
    if (o->kind == STREAM) {
      stream_close((stream *)o);
    } else if (o->kind == MODULE) {
      module_close((module *)o);
    } else if (o->kind == EVENT) {
      op_drop(((event *)o)->op);
      ((event *)o)->op = NULL;
    }
    object_kill(o);
  }
  for (int i = nblocks; i-- > 0;) {
    block *b = blocks[i];
    if (b->ctx != c || b->pool) continue; // a pool belongs to the device
    if (call) report("%s: %zu bytes at 0x%llx are left in %s", call, b->size, b->base, object_name(&c->o));
    block_release(b, call ? call : "reset");
  }
  object_kill(&c->o);
}

void contexts_forget(void) {
  while (captures) capture_abandon(captures);
  for (object *o = objects; o; o = o->next) {
    if (o->kind == CONTEXT && o->alive) context_destroy((context *)o, NULL);
  }
  memset(devices, 0, sizeof devices);
}

API CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device) {
  ENTER(0);
  if (!device_ok(&g, device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!ctx) return CUDA_ERROR_INVALID_VALUE;
  device_state *d = &devices[device];
  if (d->lost) return d->lost;
  if (!d->primary) d->primary = context_make(device);
  d->retained++;
  *ctx = d->primary;
  return CUDA_SUCCESS;
}

API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  ENTER(F_RELEASE);
  if (!device_ok(&g, device)) return CUDA_ERROR_INVALID_DEVICE;
  device_state *d = &devices[device];
  if (!d->retained) {
    report("%s: the primary context of device %d is not retained", g.name, device);
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (--d->retained == 0) {
    context_destroy(d->primary, g.name);
    d->primary = NULL;
  }
  return g.fault;
}

API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
  ENTER(0);
  if (!device_ok(&g, device)) return CUDA_ERROR_INVALID_DEVICE;
  if (flags) *flags = 0;
  if (active) *active = devices[device].primary != NULL;
  return CUDA_SUCCESS;
}

API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  ENTER(F_RELEASE);
  if (!device_ok(&g, device)) return CUDA_ERROR_INVALID_DEVICE;
  device_state *d = &devices[device];
  if (d->primary) context_destroy(d->primary, g.name);
  d->primary = NULL;
  d->retained = 0;
  return g.fault;
}

API CUresult cuCtxSetCurrent(CUcontext ctx) {
  ENTER(0);
  if (ctx && !object_find(&g, ctx, CONTEXT)) return CUDA_ERROR_INVALID_CONTEXT;
  current = ctx;
  return CUDA_SUCCESS;
}

API CUresult cuCtxGetCurrent(CUcontext *ctx) {
  ENTER(0);
  if (!ctx) return CUDA_ERROR_INVALID_VALUE;
  *ctx = g.ctx;
  return CUDA_SUCCESS;
}

API CUresult cuCtxSynchronize(void) {
  ENTER(F_CTX | F_UNSAFE);
  if (capture_waits(g.name, g.ctx)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  context_wait(g.ctx);
  return context_state(g.ctx);
}

API CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  ENTER(F_CTX);
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return CUDA_SUCCESS;
}

API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  ENTER(F_CTX);
  context *c = object_find(&g, peer, CONTEXT);
  if (!c) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  if (c->device == g.ctx->device || config.no_peer) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  if (g.ctx->peers & 1u << c->device) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  g.ctx->peers |= 1u << c->device;
  return CUDA_SUCCESS;
}

