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

typedef struct {
  int64_t held, in_use, peak; /* bytes; peak is the most that in_use ever was */
  int64_t hits, misses;       /* requests served from held memory, and requests served by the device */
  int64_t blocks;             /* behind held */
} tvmgo_workspace_stats;
void tvmgo_pool_stats(DLDevice dev, tvmgo_workspace_stats* out);
