/* Workspaces of a device without workspace functions: its data space, kept for reuse in the order of its
 * streams. Any thread may call any of these. */
#pragma once

#include "object/thread.h"
#include <tvmgo/device_api.h>

/* nbytes of the device's memory for work on a stream, from the pool when it has some: what was given back
 * on this very stream, or on another one whose work of that time is done. */
int tvmgo_pool_alloc(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, TVMFFIStreamHandle stream,
                     void** out);

/* Gives it back while its work may still be queued. `on` is the stream that had it last; when that is not
 * the one that it was made for, it goes back to the device, which waits for every stream. */
int tvmgo_pool_free(DLDevice dev, void* p, TVMFFIStreamHandle on);

/* Whether p is memory of the pool, in use or idle. */
int tvmgo_pool_has(DLDevice dev, const void* p);

/* A stream is about to be freed, or was made and may have the handle of a former one. */
void tvmgo_pool_stream_gone(DLDevice dev, TVMFFIStreamHandle stream);

/* Around a wait for a stream: what was given back before it is free for every stream after it. */
typedef struct {
  void* stream; /* NULL: nothing to tell */
  uint64_t freed;
} tvmgo_pool_mark;
tvmgo_pool_mark tvmgo_pool_before_sync(DLDevice dev, TVMFFIStreamHandle stream);
void tvmgo_pool_after_sync(DLDevice dev, tvmgo_pool_mark mark);

/* Gives everything idle back to the device; *freed are its bytes. */
int tvmgo_pool_trim(DLDevice dev, int64_t* freed);

typedef struct {
  int64_t held, in_use, peak; /* bytes; peak is the most that in_use ever was */
  int64_t hits, misses;       /* requests served from what was held; and by the device */
  int64_t blocks;             /* behind held */
} tvmgo_workspace_stats;
void tvmgo_pool_stats(DLDevice dev, tvmgo_workspace_stats* out);
