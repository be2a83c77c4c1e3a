/* The Vulkan devices: declarations that the C files of this folder share.
 *
 * Go enumerates and orders the physical devices (driver.go). C does everything that happens per call, and all calls of
 * Vulkan that take arrays of structures or strings, because the Go binding may free such arrays too early. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <vulkan/tvmgo_vulkan.h>

#include "backend.h"
#include "handle.h"

enum { MAX_QUEUES = 16 };

typedef struct vk_stream vk_stream;
typedef struct vk_memory vk_memory;
typedef struct vk_heap vk_heap;

enum { FLOAT_RTE = 3 }; /* RoundingModeRTE in vk_features.float_mode */

/* The features of a device: 0 or 1, unless the comment says otherwise. All features that are 1 are enabled. */
typedef struct {
  uint8_t int8, int16, int64, float16, float64;   /* in shaders */
  uint8_t storage8, storage16;                    /* 8 and 16 bits in storage buffers */
  uint8_t uniform16, push16;                      /* 16 bits in uniform buffers, in push constants */
  uint8_t uniform8, push8;                        /* 8 bits in uniform buffers, in push constants */
  uint8_t subgroup_extended_types;                /* subgroup operations on 8, 16 and 64 bits */
  uint8_t subgroup_size_control;                  /* a pipeline may require a subgroup size, and full subgroups */
  uint8_t variable_pointers, variable_pointers_buffer;
  uint8_t buffer_device_address, memory_model, memory_model_device_scope;
  uint8_t integer_dot_product, uniform_standard_layout;
  uint8_t cooperative_matrix, cooperative_matrix_nv; /* VK_KHR_cooperative_matrix, VK_NV_cooperative_matrix */
  uint8_t bfloat16;                                  /* as a type, and in cooperative matrices */
  uint8_t push_descriptor;      /* VK_KHR_push_descriptor; 0 with TVM_VULKAN_DISABLE_PUSH_DESCRIPTOR=1 */
  uint8_t dedicated_allocation; /* 0 with TVM_VULKAN_DISABLE_DEDICATED_ALLOCATION=1 */
  uint8_t storage_class;        /* the storage class StorageBuffer; always 1, because Vulkan 1.1 has it */
  uint8_t maintenance4;         /* constants may set the work-group size (LocalSizeId) */
  uint8_t memory_budget, timestamps;
  /* The last index is the float width: 16, 32, 64 bits. float_mode has the modes of arithmetic in the order of their
   * SPIR-V capabilities, DenormPreserve first. float_add and float_min_max are atomic operations on buffers and on
   * shared memory. */
  uint8_t float_mode[5][3], float_add[2][3], float_min_max[2][3];
  uint8_t denorm_independence, rounding_independence; /* VkShaderFloatControlsIndependence */
} vk_features;

/* A device. It is filled in before it can be used. The members from stream on change afterwards. */
typedef struct vk_device {
  int32_t index; /* the device is vulkan:index */
  VkPhysicalDevice physical;
  VkDevice handle;
  tvmgo_vulkan_device f; /* its functions; those with `may` in vulkan.spec can be NULL */
  uint32_t family;       /* the family of its queues */
  uint32_t num_queues;
  VkQueue queues[MAX_QUEUES];
  pthread_mutex_t queue_locks[MAX_QUEUES];
  uint32_t api_version; /* the version that can be used: the device's, but at most the instance's */
  VkPhysicalDeviceProperties properties; /* name, limits, pipelineCacheUUID … */
  VkPhysicalDeviceMemoryProperties memory;
  vk_features has;
  uint32_t subgroup_size, subgroup_operations, subgroup_stages;
  uint32_t min_subgroup_size, max_subgroup_size; /* both are subgroup_size if it cannot be chosen */
  uint32_t max_subgroups;                        /* of a block whose pipeline requires a size; 0: not known */
  uint32_t max_push_descriptors;                 /* in a set; 0 without push_descriptor */
  uint64_t max_allocation;                       /* largest size of a VkDeviceMemory, in bytes */
  char driver_name[256], driver_info[256];
  uint32_t driver_id;
  uint8_t uuid[16];
  char pci_bus_id[32]; /* "0000:65:00.0"; "" if the driver does not report it */
  uint32_t max_spirv_version; /* 0x10600 is 1.6 */
  uint32_t timestamp_bits;    /* valid bits of a timestamp; 0 if the queues have no timestamps */
  int staged;                 /* the host never accesses device memory directly (for tests, see driver.go) */
  int32_t data_type, upload_type, download_type; /* the memory type for each use (memory_type.c) */

  vk_stream* stream;      /* the default stream */
  vk_heap* heap;          /* memory.c */
  _Atomic int lost;       /* a call returned VK_ERROR_DEVICE_LOST: nothing is enqueued any more */
  _Atomic int lost_is_idle; /* the lost device does not use any object any more */
  time_t lost_deadline;   /* when lost.c stops waiting for lost_is_idle; 0 if it has not begun */
  _Atomic uint32_t next_queue;
  pthread_mutex_t lock;   /* protects all_streams */
  vk_stream* all_streams;
  tvmgo_memory_counter data;
  _Atomic int64_t pinned_bytes;
  _Atomic int64_t released_bytes; /* bytes of memory that was freed, but is still in use by enqueued commands */
} vk_device;

extern vk_device tvmgo_vk_devices[TVMGO_MAX_DEVICES];
extern int32_t tvmgo_vk_num_devices;
extern tvmgo_vulkan_instance tvmgo_vk_instance; /* functions of the instance */
extern TVMGODeviceAPI tvmgo_vk_table; /* constant after the devices are opened */

/* The device with an index, which must exist. For Go, where &C.tvmgo_vk_devices[i] would be the address of a copy. */
static inline vk_device* tvmgo_vk_at(int32_t index) { return &tvmgo_vk_devices[index]; }
/* The device with an index; NULL with an error raised if there is none. Any thread. */
vk_device* tvmgo_vk_device(int32_t index);

/* The name of a result code, such as "VK_ERROR_DEVICE_LOST" for -4. */
const char* tvmgo_vk_code_name(VkResult code);
/* Raises the error "what: VK_… (-4)" with the kind that fits the code; always returns -1. */
int tvmgo_vk_raise(VkResult code, const char* format, ...) __attribute__((format(printf, 2, 3)));
/* The same for a call on a device. Sets d->lost if the code is VK_ERROR_DEVICE_LOST. */
int tvmgo_vk_failed(vk_device* d, VkResult code, const char* format, ...) __attribute__((format(printf, 3, 4)));

/* Gives an object a name for messages of validation and for debuggers. Does nothing without validation. */
void tvmgo_vk_name(const vk_device* d, VkObjectType type, uint64_t object, const char* format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- handles (handle.h) of memory, streams, events and timers ---- */

typedef enum { HANDLE_FREE, HANDLE_BUFFER, HANDLE_STREAM, HANDLE_EVENT, HANDLE_TIMER } handle_kind;

typedef union vk_handle {
  tvmgo_handle head;
  struct {
    _Atomic uint32_t kind;
    int32_t device;
    union {
      struct {
        vk_memory* memory; /* one reference */
        size_t nbytes;     /* the requested size, at least 1 */
      };
      vk_stream* stream;
      struct {
        pthread_mutex_t lock;
        vk_stream* recorded_on; /* the stream that recorded it last, one reference; NULL if none did */
        uint64_t value;         /* the number of the batch in which it was recorded */
        VkQueryPool pool;       /* the two timestamps of a timer */
        int set;                /* bit 0: started, bit 1: stopped */
      };
    };
  };
} vk_handle;

extern tvmgo_handles tvmgo_vk_handles;

static inline vk_handle* tvmgo_vk_handle_new(handle_kind kind, int32_t device) {
  return tvmgo_handle_new(&tvmgo_vk_handles, kind, device);
}
static inline void tvmgo_vk_handle_free(vk_handle* h) { tvmgo_handle_free(&tvmgo_vk_handles, h); }
/* HANDLE_FREE if p is not a handle that is in use. */
static inline handle_kind tvmgo_vk_handle_kind(const void* p) { return tvmgo_handle_kind(&tvmgo_vk_handles, p); }
static inline vk_handle* tvmgo_vk_handle_need(const void* p, handle_kind kind, const char* what) {
  return tvmgo_handle_need(&tvmgo_vk_handles, p, kind, what);
}
/* Checks that p is a memory handle of a device, and returns it; NULL with an error raised, whose message begins with
 * what. */
static inline vk_handle* tvmgo_vk_data(const vk_device* d, const void* p, const char* what) {
  return tvmgo_handle_memory(&tvmgo_vk_handles, p, d->index, what);
}

/* ---- memory: a buffer and its position in a block ----
 *
 * Memory is reference-counted: its handle holds a reference, and so does each batch that uses it. */

typedef struct vk_block vk_block;

struct vk_memory {
  _Atomic int32_t refs;
  vk_device* d;
  VkBuffer buffer;
  VkDeviceSize size;   /* of the buffer */
  vk_block* block;     /* the block that contains it */
  VkDeviceSize offset; /* in the block */
  VkDeviceSize span;   /* bytes allocated in the block */
  char* at;            /* host address; NULL if the memory is not host-visible */
  uint8_t coherent, cached;
  uint8_t released;        /* its owner has called tvmgo_vk_memory_release */
  _Atomic uint64_t last_batch; /* serial number of the last batch that used it, so that a batch holds one reference */
  struct vk_run* spare;        /* allocated in advance, for tvmgo_vk_subfree */
};

typedef enum { MEMORY_DATA, MEMORY_UPLOAD, MEMORY_DOWNLOAD } memory_use;

/* A new buffer with memory, one reference, for storage, uniforms and copies; NULL with an error raised. MEMORY_UPLOAD
 * is host-visible and fast for the host to write, MEMORY_DOWNLOAD is fast for the host to read; both have `at`. If
 * there is not enough memory, or an eighth of the heap is freed but still in use, it first waits for enqueued commands
 * and frees what they used. The caller must not hold the lock of any stream. Any thread. */
vk_memory* tvmgo_vk_memory_new(vk_device* d, VkDeviceSize size, memory_use use);
void tvmgo_vk_memory_keep(vk_memory* m);
void tvmgo_vk_memory_drop(vk_memory* m);    /* frees it with the last reference */
void tvmgo_vk_memory_release(vk_memory* m); /* drops the owner's reference; enqueued commands may keep the memory */
/* _seen must precede the host's reads of bytes that the device wrote (invalidate); _written must follow the host's
 * writes (flush). 0, or -1 with an error raised. */
int tvmgo_vk_memory_seen(vk_memory* m, VkDeviceSize offset, VkDeviceSize size);
int tvmgo_vk_memory_written(vk_memory* m, VkDeviceSize offset, VkDeviceSize size);

/* ---- streams: commands that run in order ----
 *
 * A stream records commands into a batch. It submits the batch when a caller needs a result, or when the batch is
 * large. The batches of a stream are numbered 1, 2, 3 …; the numbers are the values of its timeline semaphore.
 *
 * To enqueue a command:
 *     vk_stream* s;
 *     VkCommandBuffer c = tvmgo_vk_begin(d, stream, &s);   NULL with an error raised, stream not locked
 *     for every buffer: tvmgo_vk_use(s, handle, offset, size, access)
 *     d->f.vkCmdBindPipeline(c, …) … vkCmdDispatch(c, …)
 *     return tvmgo_vk_end(s);
 * The stream is locked between begin and end: other threads that use it wait. In between, the thread must not call any
 * other function that takes a stream or allocates device memory. It must call end, or cancel if it recorded nothing.
 * The batch may contain commands of other callers before and after: each caller sets all state that its commands use
 * (pipeline, descriptor sets, push constants). The stream adds the barriers; callers add none. */

enum { USE_READ = 1, USE_WRITE = 2 };

/* Locks a stream, NULL for the default stream, and returns the command buffer that is being recorded. *s is the
 * stream. NULL with an error raised. */
VkCommandBuffer tvmgo_vk_begin(vk_device* d, TVMFFIStreamHandle stream, vk_stream** s);

/* Declares that the next command reads or writes (or both) bytes of the memory `handle`. Adds a barrier before the
 * command if it conflicts with an earlier one. Keeps the memory until the batch is done, even if the handle is freed.
 * Declare all uses of a command before recording it. size is (size_t)-1 for all bytes from offset on. *buffer, unless
 * NULL, is the VkBuffer. -1 with an error raised if handle is not memory of the device or the bytes exceed it; then the
 * command must not be recorded. */
int tvmgo_vk_use(vk_stream* s, const void* handle, size_t offset, size_t size, int access, VkBuffer* buffer);

/* The same for memory that has no handle. */
int tvmgo_vk_use_memory(vk_stream* s, vk_memory* m, VkDeviceSize offset, VkDeviceSize size, int access);

/* Must be called between two commands of one begin and end if they may use the same memory. */
void tvmgo_vk_next(vk_stream* s);

/* Calls drop(object) once, when the batch is done or it is known that it will never run. The call may be on any thread
 * and with the stream's lock held, so drop must not call functions that take a stream; dropping memory is allowed. -1
 * with an error raised: then drop will not be called. */
int tvmgo_vk_keep(vk_stream* s, void (*drop)(void*), void* object);

/* The number of the batch that is being recorded. */
uint64_t tvmgo_vk_number(const vk_stream* s);

/* Counts the command, submits the batch if it is large, and unlocks. 0, or -1 with an error raised if the submission
 * fails. */
int tvmgo_vk_end(vk_stream* s);

/* Unlocks after an error, when nothing was recorded. The batch still keeps the memory of the declared uses. Always
 * returns -1. */
int tvmgo_vk_cancel(vk_stream* s);

/* A stream of a device, borrowed; `stream` is NULL for the default stream. NULL with an error raised. */
vk_stream* tvmgo_vk_stream(vk_device* d, TVMFFIStreamHandle stream);
/* Whether a batch is done; never waits. A batch that does not exist yet is not done. May be called between begin and
 * end. */
int tvmgo_vk_is_done(vk_stream* s, uint64_t number);
/* Waits for a batch; submits it first if necessary. 0, or -1 with an error raised. Must not be called between begin and
 * end. */
int tvmgo_vk_wait(vk_stream* s, uint64_t number);

void tvmgo_vk_stream_keep(vk_stream* s);
void tvmgo_vk_stream_drop(vk_stream* s);
vk_stream* tvmgo_vk_stream_new(vk_device* d); /* one reference; NULL with an error raised */
/* Submits and waits for the work of all streams of a device, and drops the objects that their batches kept. Raises no
 * error. */
void tvmgo_vk_drain(vk_device* d);
/* Drops the objects that completed batches kept. Does not wait, and skips streams that are locked. */
void tvmgo_vk_collect(vk_device* d);

/* ---- the table's functions: attributes.c, memory.c, copy.c, stream.c, event.c ---- */
TVMGO_DEVICE_FUNCTIONS(tvmgo_vk);
int tvmgo_vk_alloc_scoped(const TVMGODeviceAPI* api, DLDevice dev, int32_t ndim, const int64_t* shape, DLDataType dtype,
                          const char* scope, void** out);
