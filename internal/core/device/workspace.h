/* Temporary memory of generated code: per thread, stack-like, never a system call in steady state. */
#pragma once

#include "object/thread.h"
#include "device/workspace_pool.h"

/* The device type whose workspaces belong to the calling thread: the CPU, or -1 for none (validate.c). */
extern int32_t tvmgo_workspace_cached_type;

/* CPU workspaces of the calling thread; 64-byte aligned; 0 bytes gives a valid pointer. */
void* tvmgo_workspace_alloc(size_t nbytes);
int tvmgo_workspace_free(void* p);
/* Returns the calling thread's cached CPU workspaces to the system. The result is their number of bytes. */
size_t tvmgo_workspace_trim(void);

/* Any device, any thread: memory for work on a stream, from the device's own workspaces or from the pool
 * over its data space. `on` is the stream that had it last. */
int tvmgo_workspace_take(DLDevice dev, size_t nbytes, DLDataType hint, TVMFFIStreamHandle stream,
                         void** out);
int tvmgo_workspace_give(DLDevice dev, void* p, TVMFFIStreamHandle on);
/* Called first by free_data_space of every device: 0, or -1 with an error raised if p is a workspace, which is freed by
 * free_workspace alone. */
int tvmgo_workspace_refuse(DLDevice dev, const void* p);
/* Returns a workspace that work on any stream may have used. */
int tvmgo_workspace_give_late(DLDevice dev, void* p);
/* Returns idle workspaces to the device. On the CPU, threads other than the calling one do so later: when they need
 * more memory, or after they have returned some thousand blocks. */
int tvmgo_workspace_trim_device(DLDevice dev, int64_t* freed);
int tvmgo_workspace_stats_of(DLDevice dev, tvmgo_workspace_stats* out);
/* Limits the bytes of workspaces and storages that the runtime holds for a device; on the CPU only storages and tensors
 * in workspaces count, not the workspaces of threads. Not for devices with workspaces of their own. */
int tvmgo_workspace_set_limit(DLDevice dev, int64_t bytes, int64_t* old);
