/* Declarations that all device packages share: the functions that a device implements, counters of its memory, the list
 * of page-locked memory, and errors that all devices report with the same text. */
#pragma once

#include <pthread.h>
#include <string.h>

#include "core.h"

enum { TVMGO_MAX_DEVICES = 64 }; /* devices of one type */

/* ---- the table of a device ---- */

/* Declares the functions that every device implements: NAME_alloc and so on. tvmgo/device_api.h says what each must do.
 * TVMGO_DEVICE_TABLE initializes a TVMGODeviceAPI with them; a device adds struct_size and its optional functions. */
#define TVMGO_DEVICE_FUNCTIONS(NAME)                                                                                  \
  int NAME##_set_device(const TVMGODeviceAPI* api, int32_t id);                                                       \
  int NAME##_get_attr(const TVMGODeviceAPI* api, int32_t id, int32_t kind, TVMFFIAny* out);                           \
  int NAME##_target_property(const TVMGODeviceAPI* api, int32_t id, const char* name, TVMFFIAny* out);                \
  int NAME##_alloc(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, size_t alignment, DLDataType hint,         \
                   void** out);                                                                                       \
  int NAME##_free(const TVMGODeviceAPI* api, DLDevice dev, void* p);                                                  \
  int NAME##_memory_stats(const TVMGODeviceAPI* api, DLDevice dev, TVMGOMemoryStats* out);                            \
  int NAME##_pinned_alloc(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, void** out);                        \
  int NAME##_pinned_free(const TVMGODeviceAPI* api, DLDevice dev, void* p);                                           \
  int NAME##_copy(const TVMGODeviceAPI* api, const DLTensor* from, const DLTensor* to, TVMFFIStreamHandle stream);    \
  int NAME##_stream_create(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle* out);                         \
  int NAME##_stream_free(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream);                         \
  int NAME##_stream_set(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream);                          \
  int NAME##_stream_sync(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream);                         \
  int NAME##_stream_order(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle src, TVMFFIStreamHandle dst);   \
  int NAME##_timer_create(const TVMGODeviceAPI* api, DLDevice dev, void** timer);                                     \
  int NAME##_timer_start(const TVMGODeviceAPI* api, void* timer, TVMFFIStreamHandle stream);                          \
  int NAME##_timer_stop(const TVMGODeviceAPI* api, void* timer, TVMFFIStreamHandle stream);                           \
  int NAME##_timer_elapsed_ns(const TVMGODeviceAPI* api, void* timer, int64_t* ns);                                   \
  int NAME##_event_create(const TVMGODeviceAPI* api, DLDevice dev, void** event);                                     \
  int NAME##_event_record(const TVMGODeviceAPI* api, void* event, TVMFFIStreamHandle stream);                         \
  int NAME##_event_wait(const TVMGODeviceAPI* api, void* event, TVMFFIStreamHandle stream);                           \
  int NAME##_event_sync(const TVMGODeviceAPI* api, void* event);                                                      \
  int NAME##_event_query(const TVMGODeviceAPI* api, void* event, int32_t* done);                                      \
  int NAME##_event_or_timer_free(const TVMGODeviceAPI* api, void* p) /* an event or a timer */

#define TVMGO_DEVICE_TABLE(NAME)                                                                                      \
  .set_device = NAME##_set_device, .get_attr = NAME##_get_attr, .target_property = NAME##_target_property,            \
  .alloc_data_space = NAME##_alloc, .free_data_space = NAME##_free, .memory_stats = NAME##_memory_stats,              \
  .pinned_alloc = NAME##_pinned_alloc, .pinned_free = NAME##_pinned_free, .copy_data_from_to = NAME##_copy,           \
  .create_stream = NAME##_stream_create, .free_stream = NAME##_stream_free, .set_stream = NAME##_stream_set,          \
  .stream_sync = NAME##_stream_sync, .sync_stream_from_to = NAME##_stream_order, .timer_create = NAME##_timer_create, \
  .timer_start = NAME##_timer_start, .timer_stop = NAME##_timer_stop, .timer_elapsed_ns = NAME##_timer_elapsed_ns,    \
  .timer_free = NAME##_event_or_timer_free, .event_create = NAME##_event_create,                                      \
  .event_record = NAME##_event_record,                                                                                \
  .event_wait = NAME##_event_wait, .event_sync = NAME##_event_sync, .event_query = NAME##_event_query,                \
  .event_free = NAME##_event_or_timer_free

/* Raises the error that a device does not exist; always -1. The machine has count devices of this type. advice is
 * appended to the message; it may be "". */
int tvmgo_no_device(DLDevice dev, int32_t count, const char* advice);

/* Stores a string, the value of an attribute or a target property. 0, or -1 with an error raised. */
static inline int tvmgo_text_value(const char* s, TVMFFIAny* out) { return tvmgo_string_make(s, strlen(s), out); }

/* Formats the UUID of a device, which drivers of several APIs report, as NVIDIA's tools do: "GPU-8a4f…". Returns buf,
 * which needs 41 bytes. */
const char* tvmgo_uuid_text(const void* bytes, char* buf, size_t cap);

/* ---- counters ---- */

/* Memory that callers have allocated: its bytes, the largest value that bytes had, and the number of allocations.
 * Safe for all threads. */
typedef struct {
  _Atomic int64_t bytes, peak, count;
} tvmgo_memory_counter;

/* Counts an allocation, or with a negative number of bytes a deallocation. */
void tvmgo_memory_count(tvmgo_memory_counter* c, int64_t bytes);

/* Fills in the first out->struct_size bytes of *out. total and free_bytes are -1 if unknown. Always 0. */
int tvmgo_memory_report(const tvmgo_memory_counter* c, int64_t total, int64_t free_bytes, int64_t pinned,
                        TVMGOMemoryStats* out);

/* ---- page-locked host memory ---- */

/* One allocation. A device package's own struct begins with it. */
typedef struct tvmgo_pinned {
  struct tvmgo_pinned* next;
  void* at;
  size_t nbytes;
  int32_t device;
} tvmgo_pinned;

/* All allocations of one device package. */
typedef struct {
  pthread_mutex_t lock;
  tvmgo_pinned* first;
} tvmgo_pinned_list;

void tvmgo_pinned_add(tvmgo_pinned_list* list, tvmgo_pinned* p);
/* Removes and returns the allocation of a device that begins at an address; NULL with an error raised if there is
 * none. */
tvmgo_pinned* tvmgo_pinned_take(tvmgo_pinned_list* list, DLDevice dev, const void* at);
