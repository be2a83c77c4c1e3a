/* The tables of a workspace pool: its blocks by address, and its streams by handle. Only workspace_pool.c uses
 * this. */
#pragma once

#include "device/device.h"
#include "device/workspace_class.h"

#include <stdlib.h>

enum { CLASSES = TVMGO_WORKSPACE_CLASSES, HANDLE_BUCKETS = 64 };

typedef struct pool_stream pool_stream;

typedef struct pool_block {
  void* address; /* in the device's terms */
  size_t size;   /* of the class */
  pool_stream* stream;
  struct pool_block* next;  /* older idle one of the class */
  struct pool_block* chain; /* in the table of addresses */
  uint64_t freed;           /* number of the return */
  int64_t returned;         /* the pool's age at that return */
  uint32_t class;
  uint32_t idle;
} pool_block;

struct pool_stream {
  TVMFFIStreamHandle handle;
  pool_stream* next;  /* all streams of the pool; never removed, immutable */
  pool_stream* chain; /* in the table of handles, while open */
  int closed;         /* the stream was freed; no block is returned to it any more */
  int64_t blocks;
  uint64_t freed; /* returned workspaces so far, for all streams that used this struct */
  uint64_t done;  /* returned workspaces up to this number are no longer in use */
  tvmgo_spin marking; /* held while a driver is queried about the fields below, and while the stream closes */
  void* event;
  uint64_t marked; /* returned workspaces that precede the event */
  pool_block* idle[CLASSES];
};

typedef struct pool {
  DLDevice dev;
  struct pool* next;
  const TVMGODeviceAPI* api;
  tvmgo_spin lock; /* of all that follows */
  tvmgo_workspace_stats stats;
  int64_t window_peak, last_peak; /* most bytes in use in this window of returns, and in the previous one */
  uint32_t countdown;             /* returns until the window ends */
  int64_t age;                    /* calls of tvmgo_pool_age */
  int64_t asked;                  /* bytes that the device is being asked for; counted only with a limit */
  _Atomic(pool_stream*) streams;
  pool_stream* by_handle[HANDLE_BUCKETS];
  pool_block** by_address;
  size_t buckets; /* a power of two */
} pool;

/* ---- tables, under the lock ---- */

static inline size_t bucket_of(const pool* d, const void* address) {
  return ((uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (d->buckets - 1);
}

static inline void grow_table(pool* d) {
  pool_block** table = calloc(d->buckets * 4, sizeof *table);
  if (table == NULL) return; /* chains get longer */
  pool_block** old = d->by_address;
  size_t n = d->buckets;
  d->by_address = table;
  d->buckets *= 4;
  for (size_t i = 0; i < n; i++)
    for (pool_block *b = old[i], *next; b != NULL; b = next) {
      next = b->chain;
      pool_block** at = &d->by_address[bucket_of(d, b->address)];
      b->chain = *at;
      *at = b;
    }
  free(old);
}

static inline void add_block(pool* d, pool_block* b) {
  if ((size_t)d->stats.blocks >= d->buckets) grow_table(d);
  pool_block** at = &d->by_address[bucket_of(d, b->address)];
  b->chain = *at;
  *at = b;
  b->stream->blocks++;
  d->stats.blocks++;
  d->stats.held += (int64_t)b->size;
}

/* Removes a block that is in no list from the pool. */
static inline void drop_block(pool* d, pool_block* b) {
  pool_block** at = &d->by_address[bucket_of(d, b->address)];
  while (*at != b) at = &(*at)->chain;
  *at = b->chain;
  b->stream->blocks--;
  d->stats.blocks--;
  d->stats.held -= (int64_t)b->size;
}

static inline pool_block* find_block(const pool* d, const void* address) {
  pool_block* b = d->by_address[bucket_of(d, address)];
  while (b != NULL && b->address != address) b = b->chain;
  return b;
}

static inline pool_stream** handle_bucket(pool* d, TVMFFIStreamHandle handle) {
  uintptr_t h = (uintptr_t)handle;
  return &d->by_handle[(h >> 4 ^ h >> 12) & (HANDLE_BUCKETS - 1)];
}

static inline pool_stream* find_stream(pool* d, TVMFFIStreamHandle handle) {
  pool_stream* s = *handle_bucket(d, handle);
  while (s != NULL && s->handle != handle) s = s->chain;
  return s;
}

/* Removes idle blocks of one stream, or of all (NULL), from the pool, the largest first, until at most keep bytes are
 * idle. Under the lock. */
static inline pool_block* detach(pool* d, pool_stream* only, int64_t keep) {
  pool_block* list = NULL;
  for (int c = CLASSES - 1; c >= 0; c--)
    for (pool_stream* s = only != NULL ? only : atomic_load_explicit(&d->streams, memory_order_relaxed);
         s != NULL; s = only != NULL ? NULL : s->next)
      while (s->idle[c] != NULL && d->stats.held - d->stats.in_use > keep) {
        pool_block* b = s->idle[c];
        s->idle[c] = b->next;
        drop_block(d, b);
        b->next = list;
        list = b;
      }
  return list;
}

/* Cuts the blocks off each list that were returned before the pool had this age: lists are newest first. Under the
 * lock. */
static inline pool_block* detach_old(pool* d, int64_t age) {
  pool_block* list = NULL;
  for (pool_stream* s = atomic_load_explicit(&d->streams, memory_order_relaxed); s != NULL; s = s->next)
    for (int c = 0; c < CLASSES; c++) {
      pool_block** at = &s->idle[c];
      while (*at != NULL && (*at)->returned >= age) at = &(*at)->next;
      for (pool_block *b = *at, *next; b != NULL; b = next) {
        next = b->next;
        drop_block(d, b);
        b->next = list;
        list = b;
      }
      *at = NULL;
    }
  return list;
}
