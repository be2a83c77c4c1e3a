/* Vulkan behind the device interface: what the C files of this folder share.
 *
 * Go finds and orders the physical devices (driver.go); what is used per call, and every call of Vulkan with lists of
 * structures or texts, is in C: the binding frees such lists while the call that reads them runs. */
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

/* What a device has and was opened with; 0 or 1 unless said. All that is 1 is enabled. */
typedef struct {
  uint8_t int8, int16, int64, float16, float64;   /* in shaders */
  uint8_t storage8, storage16;                    /* in storage buffers: 8 and 16 bits */
  uint8_t uniform16, push16;                      /* 16 bits in uniform buffers, in push constants */
  uint8_t uniform8, push8;                        /* 8 bits there */
  uint8_t subgroup_extended_types;                /* subgroup operations on 8, 16 and 64 bits */
  uint8_t subgroup_size_control;                  /* pipelines may ask for a size, and for full subgroups */
  uint8_t variable_pointers, variable_pointers_buffer;
  uint8_t buffer_device_address, memory_model, memory_model_device_scope;
  uint8_t integer_dot_product, cooperative_matrix, uniform_standard_layout;
  uint8_t push_descriptor;      /* VK_KHR_push_descriptor; never with TVM_VULKAN_DISABLE_PUSH_DESCRIPTOR=1 */
  uint8_t dedicated_allocation; /* never with TVM_VULKAN_DISABLE_DEDICATED_ALLOCATION=1 */
  uint8_t storage_class;        /* the storage class StorageBuffer: always, since 1.1 */
  uint8_t maintenance4;         /* the size of blocks may be given by constants (LocalSizeId) */
  uint8_t memory_budget, timestamps;
  /* Of floats of 16, 32 and 64 bits: modes of arithmetic in the order of their capabilities, DenormPreserve first;
   * atomic operations on buffers and on the memory of a block. */
  uint8_t float_mode[5][3], float_add[2][3], float_min_max[2][3];
  uint8_t denorm_independence, rounding_independence; /* VkShaderFloatControlsIndependence */
} vk_features;

/* A device, filled in before the table is given out; constant then, but for what is said to change. */
typedef struct vk_device {
  int32_t index; /* its number: vulkan:index */
  VkPhysicalDevice physical;
  VkDevice handle;
  tvmgo_vulkan_device f; /* its functions; those marked `may` in vulkan.spec can be NULL */
  uint32_t family;       /* of its queues */
  uint32_t num_queues;
  VkQueue queues[MAX_QUEUES];
  pthread_mutex_t queue_locks[MAX_QUEUES];
  uint32_t api_version; /* of the device, at most the instance's: what may be used of it */
  VkPhysicalDeviceProperties properties; /* name, limits, pipelineCacheUUID … */
  VkPhysicalDeviceMemoryProperties memory;
  vk_features has;
  uint32_t subgroup_size, subgroup_operations, subgroup_stages;
  uint32_t min_subgroup_size, max_subgroup_size; /* both subgroup_size where it cannot be chosen */
  uint32_t max_push_descriptors;                 /* of one set; 0 without push_descriptor */
  uint64_t max_allocation;                       /* bytes of one VkDeviceMemory */
  char driver_name[256], driver_info[256];
  uint32_t driver_id;
  uint32_t max_spirv_version; /* 0x10600 is 1.6 */
  uint32_t timestamp_bits;    /* of a time; 0: the queue has none */
  int staged;                 /* never touches data by the host's hand (a test aid, see driver.go) */
  int32_t data_type, upload_type, download_type; /* the memory types chosen (memory_type.c) */

  vk_stream* stream;      /* the default one */
  vk_heap* heap;          /* memory.c */
  _Atomic int lost;       /* VK_ERROR_DEVICE_LOST was seen: nothing is queued any more */
  _Atomic int let_go;     /* and what was queued is done with, or dropped */
  time_t let_go_by;       /* until when that is waited for; lost.c */
  _Atomic uint32_t next_queue;
  pthread_mutex_t lock;   /* of the list of streams */
  vk_stream* all_streams;
  tvmgo_memory_counter data;
  _Atomic int64_t pinned_bytes;
  _Atomic int64_t left_bytes; /* of memory that is freed and still in use by work that is queued */
} vk_device;

extern vk_device tvmgo_vk_devices[TVMGO_MAX_DEVICES];
extern int32_t tvmgo_vk_num_devices;
extern tvmgo_vulkan_instance tvmgo_vk_instance; /* functions of the instance */
extern TVMGODeviceAPI tvmgo_vk_table; /* constant once it was given out */

/* The device of an index that is there, for Go: an element's address that Go passes on to C is one of a copy. */
static inline vk_device* tvmgo_vk_at(int32_t index) { return &tvmgo_vk_devices[index]; }
/* The device of an index; NULL with an error raised that says how many there are. Any thread. */
vk_device* tvmgo_vk_device(int32_t index);

/* "VK_ERROR_DEVICE_LOST" for -4. */
const char* tvmgo_vk_code_name(VkResult code);
/* Raises "what: VK_… (-4)" with the kind of error that fits; always returns -1. */
int tvmgo_vk_raise(VkResult code, const char* format, ...) __attribute__((format(printf, 2, 3)));
/* The same for a call on a device; notes when it is lost. */
int tvmgo_vk_failed(vk_device* d, VkResult code, const char* format, ...) __attribute__((format(printf, 3, 4)));

/* Gives an object a name that validation's messages and debuggers show; does nothing where nobody would see it. */
void tvmgo_vk_name(const vk_device* d, VkObjectType type, uint64_t object, const char* format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- handles: data of an array, streams, events and timers ---- */

typedef enum { HANDLE_FREE, HANDLE_BUFFER, HANDLE_STREAM, HANDLE_EVENT, HANDLE_TIMER } handle_kind;

typedef union vk_handle {
  tvmgo_handle head;
  struct {
    _Atomic uint32_t kind;
    int32_t device;
    union {
      struct {
        vk_memory* memory; /* one reference */
        size_t nbytes;     /* as asked, at least 1 */
      };
      vk_stream* stream;
      struct {
        pthread_mutex_t lock;
        vk_stream* of;  /* where it was recorded last, one reference; NULL = never */
        uint64_t value; /* and what number that stream reaches then */
        VkQueryPool pool; /* a timer's two times */
        int set;          /* bit 0: started, bit 1: stopped */
      };
    };
  };
} vk_handle;

extern tvmgo_handles tvmgo_vk_handles;

static inline vk_handle* tvmgo_vk_handle_new(handle_kind kind, int32_t device) {
  return tvmgo_handle_new(&tvmgo_vk_handles, kind, device);
}
static inline void tvmgo_vk_handle_free(vk_handle* h) { tvmgo_handle_free(&tvmgo_vk_handles, h); }
/* HANDLE_FREE if p is no handle that is in use. */
static inline handle_kind tvmgo_vk_handle_kind(const void* p) { return tvmgo_handle_kind(&tvmgo_vk_handles, p); }
static inline vk_handle* tvmgo_vk_handle_need(const void* p, handle_kind kind, const char* what) {
  return tvmgo_handle_need(&tvmgo_vk_handles, p, kind, what);
}
/* The memory of a device that `what`, data of an array, should be; NULL with an error raised. */
static inline vk_handle* tvmgo_vk_data(const vk_device* d, const void* p, const char* what) {
  return tvmgo_handle_memory(&tvmgo_vk_handles, p, d->index, what);
}

/* ---- memory: a buffer and where it lies. Counted: a handle holds a reference, and so does every batch in use. ---- */

typedef struct vk_block vk_block;

struct vk_memory {
  _Atomic int32_t refs;
  vk_device* d;
  VkBuffer buffer;
  VkDeviceSize size;   /* of the buffer */
  vk_block* block;     /* where it lies */
  VkDeviceSize offset; /* in the block */
  VkDeviceSize span;   /* bytes taken there */
  char* at;            /* for the host, where it can be seen; else NULL */
  uint8_t coherent, cached;
  uint8_t left;        /* its owner has left it */
  _Atomic uint64_t last_batch; /* that used it, by serial number, so that one batch holds it once */
  struct vk_piece* spare;      /* what the freed bytes are written down in */
};

typedef enum { MEMORY_DATA, MEMORY_UPLOAD, MEMORY_DOWNLOAD } memory_use;

/* A buffer for storage, uniforms and copies with memory, one reference; NULL with an error raised. MEMORY_UPLOAD is
 * seen by the host and good to write, MEMORY_DOWNLOAD good to read; both have `at`. When memory is out, or an eighth of
 * it is freed and still in use, what waits to be freed is freed. The caller may hold the lock of no stream. Any
 * thread. */
vk_memory* tvmgo_vk_memory_new(vk_device* d, VkDeviceSize size, memory_use use);
void tvmgo_vk_memory_keep(vk_memory* m);
void tvmgo_vk_memory_drop(vk_memory* m); /* frees with the last reference */
void tvmgo_vk_memory_leave(vk_memory* m); /* the same for its owner: work that is queued may keep it for some time */
/* Before the host reads what the device wrote there (invalidate), after it wrote (flush). */
int tvmgo_vk_memory_seen(vk_memory* m, VkDeviceSize offset, VkDeviceSize size);
int tvmgo_vk_memory_written(vk_memory* m, VkDeviceSize offset, VkDeviceSize size);

/* ---- streams: work of one after the other ----
 *
 * A stream records commands into a batch. It submits the batch when a result is needed or when the batch is large. The
 * batches of a stream have the numbers 1, 2, 3, …, which are the values of its timeline semaphore.
 *
 * To queue work:
 *     vk_stream* s;
 *     VkCommandBuffer c = tvmgo_vk_begin(d, stream, &s);        NULL with an error raised: nothing is locked
 *     for every buffer: tvmgo_vk_use(s, handle, offset, size, access)
 *     d->f.vkCmdBindPipeline(c, …) … vkCmdDispatch(c, …)
 *     return tvmgo_vk_end(s);
 * Between begin and end the stream is locked: other threads that use the stream wait. In between, the thread must not
 * make other calls that take a stream or memory of the device. In every case it must call end, or cancel if nothing was
 * recorded. The batch may contain other commands before and after these: set all state that your commands need
 * (pipeline, descriptor sets, push constants). Record no barriers: the stream does that. */

enum { USE_READ = 1, USE_WRITE = 2 };

/* The command buffer that is being recorded, with the stream locked; *s is the stream, also when it is the default one
 * (NULL). */
VkCommandBuffer tvmgo_vk_begin(vk_device* d, TVMFFIStreamHandle stream, vk_stream** s);

/* Says that the next command reads or writes (or both) bytes of the array data `handle`. Puts a barrier before the
 * command when an earlier one stands in conflict; keeps the memory until the batch is done, even when the handle is
 * freed. All uses of a command come before it. *buffer, unless NULL, is the VkBuffer. -1 with an error raised when
 * handle is no memory of the device or the bytes are beyond it; the command must not be recorded then. size (size_t)-1:
 * to the end. */
int tvmgo_vk_use(vk_stream* s, const void* handle, size_t offset, size_t size, int access, VkBuffer* buffer);

/* The same for memory that has no handle. */
int tvmgo_vk_use_memory(vk_stream* s, vk_memory* m, VkDeviceSize offset, VkDeviceSize size, int access);

/* Between two commands of one begin and end, when the second may use what the first does. */
void tvmgo_vk_next(vk_stream* s);

/* Calls drop(object) once when the batch is done, or is known never to be: from any thread, with a lock of the stream
 * held, so it must call nothing that takes a stream; dropping memory is allowed. -1 with an error raised: drop will not
 * be called. */
int tvmgo_vk_keep(vk_stream* s, void (*drop)(void*), void* object);

/* The number of the batch that is being recorded. */
uint64_t tvmgo_vk_number(const vk_stream* s);

/* Unlocks; counts the command, and submits the batch when it is large. -1 with an error raised when that fails. */
int tvmgo_vk_end(vk_stream* s);

/* Unlocks, when nothing was recorded: after an error. Uses that were declared stay kept. Always returns -1. */
int tvmgo_vk_cancel(vk_stream* s);

/* A stream of a device, NULL for the default one; NULL with an error raised. Borrowed. */
vk_stream* tvmgo_vk_stream(vk_device* d, TVMFFIStreamHandle stream);
/* Whether a batch is done; never waits. A number that was not given yet is not done. May be called between begin and
 * end. */
int tvmgo_vk_is_done(vk_stream* s, uint64_t number);
/* Submits what is recorded, if the number is that of it, and waits. -1 with an error raised. Not between begin and
 * end. */
int tvmgo_vk_wait(vk_stream* s, uint64_t number);

void tvmgo_vk_stream_keep(vk_stream* s);
void tvmgo_vk_stream_drop(vk_stream* s);
vk_stream* tvmgo_vk_stream_new(vk_device* d); /* one reference; NULL with an error raised */
/* Submits and waits for all streams of a device; what they kept is dropped then. Raises nothing. */
void tvmgo_vk_drain(vk_device* d);
/* Drops what batches that are done had kept, without waiting; streams that are locked are left out. */
void tvmgo_vk_collect(vk_device* d);

/* ---- the table's functions: attributes.c, memory.c, copy.c, stream.c, event.c ---- */
TVMGO_DEVICE_FUNCTIONS(tvmgo_vk);
int tvmgo_vk_alloc_scoped(const TVMGODeviceAPI* api, DLDevice dev, int32_t ndim, const int64_t* shape, DLDataType dtype,
                          const char* scope, void** out);
