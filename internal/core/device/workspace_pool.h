/* Workspaces of a device without workspace functions: its data space, kept for reuse in the order of its
 * streams. Any thread may call any of these. */
#pragma once

#include "object/thread.h"
#include <tvmgo/device_api.h>

/* nbytes of the device's memory for work on a stream, from the pool if it has any: memory that was returned on this
 * stream, or on another one that has finished the work of that time. */
int tvmgo_pool_alloc(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, TVMFFIStreamHandle stream,
                     void** out);

/* Returns the workspace, whose work may still be queued. `on` is the stream that used it last. If it was made for
 * another stream, it is returned to the device, which waits for every stream. */
int tvmgo_pool_free(DLDevice dev, void* p, TVMFFIStreamHandle on);

/* Whether p is memory of the pool, in use or idle. */
int tvmgo_pool_has(DLDevice dev, const void* p);

/* A stream is about to be freed, or was made and may have the handle of a former one. */
void tvmgo_pool_stream_gone(DLDevice dev, TVMFFIStreamHandle stream);

/* Called before and after a wait for a stream: memory that was returned before the wait is available to every stream
 * after it. */
typedef struct {
  void* stream; /* NULL: nothing to report */
  uint64_t freed;
} tvmgo_pool_mark;
tvmgo_pool_mark tvmgo_pool_before_sync(DLDevice dev, TVMFFIStreamHandle stream);
void tvmgo_pool_after_sync(DLDevice dev, tvmgo_pool_mark mark);

/* Returns all idle memory to the device; *freed is its number of bytes. */
int tvmgo_pool_trim(DLDevice dev, int64_t* freed);
/* The same for every device that has a pool. */
int tvmgo_pool_trim_all(int64_t* freed);

/* Limits what the pool holds, in use or idle; 0: no limit. A request beyond it returns idle memory to the device first,
 * and fails with MemoryError if that is not enough. *old is the limit before. */
int tvmgo_pool_set_limit(const TVMGODeviceAPI* api, DLDevice dev, int64_t bytes, int64_t* old);

/* Returns memory to its device, in all pools, that was idle at each of the last `ages` calls of this function. The
 * result is how many bytes are still idle. *freed is the number of returned bytes of the CPU. */
int64_t tvmgo_pool_age(int64_t ages, int64_t* freed);
int64_t tvmgo_pool_idle(void); /* bytes that are idle in all pools */

typedef struct {
  int64_t held, in_use, peak; /* bytes; peak is the most that was in use, or kept by slots, at one time */
  int64_t hits, misses;       /* requests served from held memory, and requests served by the device */
  int64_t blocks;             /* behind held */
  int64_t limit;              /* of held; 0: none */
} tvmgo_workspace_stats;

/* ---- workspace_slots.c: small blocks of the CPU that threads keep ----
 * As tvmgo_pool_alloc and tvmgo_pool_free, for any device, with the bytes that were requested; but a small block of the
 * CPU may stay with the slot of the thread that returns it, up to 1 MiB for each slot. */
int tvmgo_slots_alloc(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, TVMFFIStreamHandle stream, void** out);
int tvmgo_slots_free(DLDevice dev, void* p, size_t nbytes, TVMFFIStreamHandle on);
/* Only the pool calls these: return to it what is kept; return to the device what was kept at each of the last `ages`
 * calls (the result is its bytes); the bytes that are kept; count them as idle, and the requests that they served. */
void tvmgo_slots_flush(DLDevice dev);
int64_t tvmgo_slots_age(int64_t ages);
int64_t tvmgo_slots_idle(void);
void tvmgo_slots_stats(DLDevice dev, tvmgo_workspace_stats* out);

/* ---- workspace_idle.c: memory that is idle for long ---- */

/* A thread ages the pools while they hold idle memory, and ends when there is none; it sleeps in between. Called after
 * a return of memory, outside of locks. */
extern _Atomic uint32_t tvmgo_idle_watched; /* 1: there is such a thread, or none is wanted */
void tvmgo_idle_watch(void);
static inline void tvmgo_idle_noted(void) {
  if (TVMGO_UNLIKELY(atomic_load_explicit(&tvmgo_idle_watched, memory_order_relaxed) == 0)) tvmgo_idle_watch();
}
/* How long memory may be idle, in nanoseconds: it goes back to its device within another quarter of this time. 0: for
 * ever. The result is the time before. */
int64_t tvmgo_idle_set_time(int64_t ns);
/* Called after many bytes of the CPU were freed: the C library, which keeps them in its heaps, returns them to the
 * system. */
void tvmgo_idle_freed(int64_t bytes);

void tvmgo_pool_stats(DLDevice dev, tvmgo_workspace_stats* out);
