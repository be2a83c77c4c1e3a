/* OpenCL behind the device interface: what the C files of this folder share.
 *
 * Go finds platforms and devices, and makes contexts and programs (driver.go, program.go); everything that is used
 * per call is here: queues, buffers, marks, kernels and their launch. */
#pragma once

#include <CL/opencl.h>
#include <pthread.h>

#include "backend.h"
#include "handle.h"

/* A device, filled in by Go before the table is given out; constant then, but for the counters. */
typedef struct {
  int32_t index; /* its number: opencl:index */
  cl_platform_id platform;
  cl_device_id id;
  cl_context context;     /* of this device alone */
  cl_command_queue queue; /* the default stream */
  char name[256];
  size_t max_group;      /* work items of a work group */
  size_t max_items[3];   /* the same in each direction */
  cl_ulong max_alloc;    /* bytes of one buffer */
  cl_ulong global_bytes; /* of the device */
  size_t base_align;     /* bytes, of buffers and of where a part of one may begin */
  int has_images;
  int one_at_a_time;     /* its driver bears no two threads at once (driver.go): queues are used under the lock */
  pthread_mutex_t lock;
  tvmgo_memory_counter data;
  _Atomic int64_t pinned_bytes;
} cl_device;

extern cl_device tvmgo_cl_devices[TVMGO_MAX_DEVICES];
extern int32_t tvmgo_cl_num_devices;
extern const TVMGODeviceAPI tvmgo_cl_table;

/* The device of an index that is there, for Go: an element's address that Go takes of the array is one of a copy. */
static inline cl_device* tvmgo_cl_at(int32_t index) { return &tvmgo_cl_devices[index]; }
/* The device of an index; NULL with an error raised that says how many there are. */
cl_device* tvmgo_cl_device(int32_t index);

/* "CL_OUT_OF_RESOURCES" for -5. */
const char* tvmgo_cl_code_name(cl_int code);
/* Raises "what: CL_… (-5)" with the kind of error that fits, or why OpenCL cannot be used; always returns -1. */
int tvmgo_cl_raise(cl_int code, const char* format, ...) __attribute__((format(printf, 2, 3)));

/* ---- handles ----
 *
 * What callers hold as data of an array, as stream, event or timer is the address of a handle. Handles come from one
 * reserved range of addresses, so that any pointer can be told to be one without reading it. */
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
        cl_event mark[2]; /* an event has one, a timer two; NULL = not set */
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
/* HANDLE_FREE if p is no handle that is in use. */
static inline handle_kind tvmgo_cl_handle_kind(const void* p) { return tvmgo_handle_kind(&tvmgo_cl_handles, p); }
static inline cl_handle* tvmgo_cl_handle_need(const void* p, handle_kind kind, const char* what) {
  return tvmgo_handle_need(&tvmgo_cl_handles, p, kind, what);
}

/* Around whatever queues work on a device, or waits for it. */
static inline void tvmgo_cl_enter(const cl_device* d) {
  if (TVMGO_UNLIKELY(d->one_at_a_time)) pthread_mutex_lock((pthread_mutex_t*)&d->lock);
}
static inline void tvmgo_cl_leave(const cl_device* d) {
  if (TVMGO_UNLIKELY(d->one_at_a_time)) pthread_mutex_unlock((pthread_mutex_t*)&d->lock);
}

/* The queue of a stream of a device; NULL with an error raised when it is none of its. */
cl_command_queue tvmgo_cl_queue(const cl_device* d, TVMFFIStreamHandle stream);

/* attributes.c, memory.c, copy.c, stream.c. */
TVMGO_DEVICE_FUNCTIONS(tvmgo_cl);
int tvmgo_cl_alloc_scoped(const TVMGODeviceAPI* api, DLDevice dev, int32_t ndim, const int64_t* shape, DLDataType dtype,
                          const char* scope, void** out);

/* A command queue as all are: in order, with the times of what it does; NULL with an error raised. */
cl_command_queue tvmgo_cl_queue_new(const cl_device* d);
