/* The OpenCL devices: declarations that the C files of this folder share.
 *
 * Go enumerates platforms and devices, and creates contexts and programs (driver.go, program.go). C does everything
 * that happens per call: queues, buffers, events, kernels and their launches. */
#pragma once

#include <CL/opencl.h>
#include <pthread.h>

#include "backend.h"
#include "handle.h"

/* A device. Go fills it in before any device can be used; only the counters and the lock change afterwards. */
typedef struct {
  int32_t index; /* the device is opencl:index */
  cl_platform_id platform;
  cl_device_id id;
  cl_context context;     /* contains only this device */
  cl_command_queue queue; /* the default stream */
  char name[256];
  size_t max_group;      /* largest number of work-items in a work-group */
  size_t max_items[3];   /* the same for each dimension */
  cl_ulong shared_bytes; /* local memory of a work-group */
  cl_ulong max_alloc;    /* largest size of a buffer, in bytes */
  cl_ulong global_bytes; /* size of the device's memory */
  size_t base_align;     /* alignment of buffers and of the offsets of sub-buffers, in bytes */
  int has_images;
  int one_at_a_time;     /* two threads must not use the driver at once (driver.go): lock is held around each use */
  pthread_mutex_t lock;
  tvmgo_memory_counter data;
  _Atomic int64_t pinned_bytes;
} cl_device;

extern cl_device tvmgo_cl_devices[TVMGO_MAX_DEVICES];
extern int32_t tvmgo_cl_num_devices;
extern const TVMGODeviceAPI tvmgo_cl_table;

/* The device with an index, which must exist. For Go, where &C.tvmgo_cl_devices[i] would be the address of a copy. */
static inline cl_device* tvmgo_cl_at(int32_t index) { return &tvmgo_cl_devices[index]; }
/* The device with an index; NULL with an error raised if there is none. */
cl_device* tvmgo_cl_device(int32_t index);

/* The name of an error code, such as "CL_OUT_OF_RESOURCES" for -5. */
const char* tvmgo_cl_code_name(cl_int code);
/* Raises the error "what: CL_… (-5)" with the kind that fits the code, or the reason why OpenCL cannot be used; always
 * returns -1. */
int tvmgo_cl_raise(cl_int code, const char* format, ...) __attribute__((format(printf, 2, 3)));

/* ---- handles (handle.h) ---- */

typedef enum { HANDLE_FREE, HANDLE_BUFFER, HANDLE_IMAGE, HANDLE_STREAM, HANDLE_EVENT, HANDLE_TIMER } handle_kind;

typedef union {
  tvmgo_handle head;
  struct {
    _Atomic uint32_t kind;
    int32_t device;
    union {
      struct {
        cl_mem mem;
        size_t nbytes;
        size_t region[3]; /* of an image, in pixels */
      };
      cl_command_queue queue;
      struct {
        /* Markers in a command queue. An event has one, a timer a second one for its stop. NULL if not recorded. */
        cl_event marker[2];
        pthread_mutex_t lock;
      };
    };
  };
} cl_handle;

extern tvmgo_handles tvmgo_cl_handles;

static inline cl_handle* tvmgo_cl_handle_new(handle_kind kind, int32_t device) {
  return tvmgo_handle_new(&tvmgo_cl_handles, kind, device);
}
static inline void tvmgo_cl_handle_free(cl_handle* h) { tvmgo_handle_free(&tvmgo_cl_handles, h); }
/* HANDLE_FREE if p is not a handle that is in use. */
static inline handle_kind tvmgo_cl_handle_kind(const void* p) { return tvmgo_handle_kind(&tvmgo_cl_handles, p); }
static inline cl_handle* tvmgo_cl_handle_need(const void* p, handle_kind kind, const char* what) {
  return tvmgo_handle_need(&tvmgo_cl_handles, p, kind, what);
}

/* The lock of a device with one_at_a_time. It is held around each call that enqueues work or waits for it. */
static inline void tvmgo_cl_enter(const cl_device* d) {
  if (TVMGO_UNLIKELY(d->one_at_a_time)) pthread_mutex_lock((pthread_mutex_t*)&d->lock);
}
static inline void tvmgo_cl_leave(const cl_device* d) {
  if (TVMGO_UNLIKELY(d->one_at_a_time)) pthread_mutex_unlock((pthread_mutex_t*)&d->lock);
}

/* The command queue of a stream; NULL with an error raised if it is not a stream of the device. */
cl_command_queue tvmgo_cl_queue(const cl_device* d, TVMFFIStreamHandle stream);

/* A property that extensions of OpenCL report (extension.c): "subgroup_size", "registers_per_block", "pci_bus_id" and
 * "uuid". *out stays None if the device has no such extension. 0, or -1 with an error raised. */
int tvmgo_cl_extension_property(const cl_device* d, const char* name, TVMFFIAny* out);

/* attributes.c, memory.c, copy.c, stream.c. */
TVMGO_DEVICE_FUNCTIONS(tvmgo_cl);
int tvmgo_cl_alloc_scoped(const TVMGODeviceAPI* api, DLDevice dev, int32_t ndim, const int64_t* shape, DLDataType dtype,
                          const char* scope, void** out);

/* A new in-order command queue with profiling; NULL with an error raised. */
cl_command_queue tvmgo_cl_queue_new(const cl_device* d);
