/* Package device: the table of devices, and their streams, memory, tensors, workspaces, recorded graphs.
 *
 * Depends on object, call and container. This header has the table of devices, the names of device types, and the
 * current stream of a thread; tensor.h, workspace.h and graph.h declare the rest; handle.h declares what drivers share.
 *
 * A tensor owns its memory, or keeps the owner of the memory alive; its last reference may be released on any thread.
 * A registered table of functions lives as long as the process. Any thread may call; the current device and the
 * current streams are the thread's.
 *
 * Locks: tvmgo_device_lock (names and constructors of devices), one lock per device type under which its constructor
 * runs, spin locks of streams, graphs, handles and the pool of workspaces, and that of the validation layer. No driver
 * is called under them, except the constructor and the event that shows the pool how far a stream has come.
 *
 * With TVMGO_VALIDATE=1 validate.c checks each use of memory and of streams. */
#pragma once

#include "container/container.h"
#include <pthread.h>
#include <tvmgo/device_api.h>

#include "device/tensor.h"
#include "device/workspace.h"

/* at_fork.c takes the first, and in a child calls the second. */
extern pthread_mutex_t tvmgo_device_lock;
void tvmgo_device_locks_renew(void); /* another thread of the parent may have held them */

/* "cuda" for 2; NULL when the number has no name. RPC numbers (>= 128) give "rpc". */
const char* tvmgo_device_type_name(int32_t device_type);
/* Number of a name or alias; -1 when unknown. */
int32_t tvmgo_device_type_number(const char* name, size_t len);

/* The device type that stands for all types of one hardware: its own memory and the kinds of host memory that its
 * driver allocates. They share streams and can copy to each other. */
static inline int32_t tvmgo_device_family(int32_t device_type) {
  if (device_type == kDLCUDAHost || device_type == kDLCUDAManaged) return kDLCUDA;
  return device_type == kDLROCMHost ? (int32_t)kDLROCM : device_type;
}

/* Registers a device type of this program, in a constructor: with its table, or with create (and its ctx), which makes
 * the table on first use. Aborts if the number is taken. */
void tvmgo_device_builtin(int32_t device_type, const TVMGODeviceAPI* api,
    int (*create)(void* ctx, const TVMGODeviceAPI** out),
                          void* ctx);
/* Registers a type that this build does not contain: every use of it fails with the error `why`, which must live as
 * long as the process. */
void tvmgo_device_not_built(int32_t device_type, const char* why);

/* The device's table, created on first use. If there is none, the error lists the enabled devices. */
const TVMGODeviceAPI* tvmgo_device_api(int32_t device_type);

/* Makes (type, id) the active device of the calling thread. */
int tvmgo_device_set(int32_t device_type, int32_t device_id);

/* Attribute of a device, owned; kind 0 of a device that is absent or not enabled is 0. */
int tvmgo_device_attr(int32_t device_type, int32_t device_id, int32_t kind, TVMFFIAny* out);

/* The device's property with the name of a target option, owned; None if it is unknown or the device has no
 * properties. */
int tvmgo_device_property(int32_t device_type, int32_t device_id, const char* name, TVMFFIAny* out);

/* The alignment in bytes that memory of every device can have: the maximum that generated code needs, and the default
 * of drivers. The CPU supports any power of two. */
enum { TVMGO_DEVICE_ALIGNMENT = 256 };
/* Checks the alignment of a request: 0, or -1 with an error raised. For all devices but the CPU. */
int tvmgo_device_check_alignment(DLDevice dev, size_t alignment);

/* The registered devices for messages: "cpu, cuda". buf is always terminated. */
void tvmgo_device_list(char* buf, size_t cap);

/* Waits for a stream of a device. */
int tvmgo_device_sync(DLDevice dev, TVMFFIStreamHandle stream);

/* Streams of a device: NULL if there is only one queue, and nothing to free. The pool of workspaces is notified
 * of both. */
int tvmgo_device_stream_create(DLDevice dev, TVMFFIStreamHandle* out);
/* The same with a priority, and the range of priorities; an error if the device has none. */
int tvmgo_device_stream_create_with_priority(DLDevice dev, int32_t priority, TVMFFIStreamHandle* out);
int tvmgo_device_stream_priorities(DLDevice dev, int32_t* least, int32_t* greatest);
int tvmgo_device_stream_free(DLDevice dev, TVMFFIStreamHandle stream);

/* The device's statistics; its workspaces include those of the pool. */
int tvmgo_device_memory(DLDevice dev, TVMGOMemoryStats* out);

/* Timers of the device, or, if it has none, the host's clock, read when the stream is done. stop = 0 records the first
 * event, 1 the second. timer.c */
int tvmgo_timer_new(DLDevice dev, void** timer);
int tvmgo_timer_mark(DLDevice dev, void* timer, TVMFFIStreamHandle stream, int stop);
int tvmgo_timer_read(DLDevice dev, void* timer, int64_t* ns);
int tvmgo_timer_on_device(DLDevice dev); /* 0: its timers read the host's clock */
void tvmgo_timer_free(DLDevice dev, void* timer);

/* Current stream of the calling thread; NULL = default. */
TVMFFIStreamHandle tvmgo_stream_get(int32_t device_type, int32_t device_id);
int tvmgo_stream_set(int32_t device_type, int32_t device_id, TVMFFIStreamHandle stream,
                     TVMFFIStreamHandle* old);
