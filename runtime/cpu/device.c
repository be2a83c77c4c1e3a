/* The device table of the CPU: memory, one stream whose work is always done, and a timer. */
#include "core.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>

/* Every index from 0 on exists and is the same CPU, so that code for several devices can be tested on any machine. */
static int check_id(int32_t id) {
  if (id >= 0) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "device cpu has no index %d: all indices from 0 on are the same CPU, use cpu:0",
                     (int)id);
}

static int set_device(const TVMGODeviceAPI* api, int32_t id) {
  return check_id(id);
}

static int get_attr(const TVMGODeviceAPI* api, int32_t id, int32_t kind, TVMFFIAny* out) {
  if (kind != kTVMGODeviceAttrExist && check_id(id) != 0) return -1;
  *out = kind == kTVMGODeviceAttrExist ? tvmgo_any_int(id >= 0) : tvmgo_any_none();
  return 0;
}

static int alloc_data_space(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes,
                            size_t alignment, DLDataType hint, void** out) {
  if (check_id(dev.device_id) != 0 || tvmgo_device_check_alignment(dev, alignment) != 0) return -1;
  if (alignment < 64) alignment = 64;
  void* p;
  if (nbytes > PTRDIFF_MAX || posix_memalign(&p, alignment, nbytes == 0 ? 1 : nbytes) != 0)
    return tvmgo_raise(TVMGO_MEMORY_ERROR, "allocate on cpu: no memory for %zu bytes", nbytes);
  tvmgo_live_add(TVMGO_LIVE_DATA_BYTES, (int64_t)malloc_usable_size(p));
  tvmgo_live_add(TVMGO_LIVE_DATA_COUNT, 1);
  *out = p;
  return 0;
}

static int free_data_space(const TVMGODeviceAPI* api, DLDevice dev, void* p) {
  if (p == NULL) return 0;
  if (check_id(dev.device_id) != 0 || tvmgo_workspace_refuse(dev, p) != 0) return -1;
  tvmgo_live_add(TVMGO_LIVE_DATA_BYTES, -(int64_t)malloc_usable_size(p));
  tvmgo_live_add(TVMGO_LIVE_DATA_COUNT, -1);
  free(p);
  return 0;
}

static int copy_data_from_to(const TVMGODeviceAPI* api, const DLTensor* from, const DLTensor* to,
                             TVMFFIStreamHandle stream) {
  size_t bytes;
  if (tvmgo_dl_bytes(from, &bytes) != 0) return -1;
  memmove((char*)to->data + to->byte_offset, (const char*)from->data + from->byte_offset, bytes);
  return 0;
}

/* A thread's current stream may be any handle, such as one of a front end: work is done when a call returns. */
static int set_stream(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  return check_id(dev.device_id);
}

static int only_default(DLDevice dev, TVMFFIStreamHandle stream) {
  if (check_id(dev.device_id) != 0) return -1;
  if (stream == NULL || stream == tvmgo_stream_get(kDLCPU, dev.device_id)) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "device cpu has only the stream NULL, not %p", stream);
}

static int stream_sync(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  return only_default(dev, stream);
}

static int create_stream(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle* out) {
  if (check_id(dev.device_id) != 0) return -1;
  *out = NULL;
  return 0;
}

static int free_stream(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  return only_default(dev, stream);
}

static int sync_stream_from_to(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle src,
                               TVMFFIStreamHandle dst) {
  return only_default(dev, src) != 0 ? -1 : only_default(dev, dst);
}

static int alloc_workspace(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, DLDataType hint,
                           TVMFFIStreamHandle stream, void** out) {
  if (only_default(dev, stream) != 0) return -1;
  void* p = tvmgo_workspace_alloc(nbytes);
  if (p == NULL) return -1;
  *out = p;
  return 0;
}

static int free_workspace(const TVMGODeviceAPI* api, DLDevice dev, void* p) {
  return tvmgo_workspace_free(p);
}

typedef struct {
  int64_t start, stop; /* in nanoseconds; 0 if not started or stopped */
} cpu_timer;

static int64_t now_ns(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int timer_create_cpu(const TVMGODeviceAPI* api, DLDevice dev, void** timer) {
  if (check_id(dev.device_id) != 0) return -1;
  void* t = calloc(1, sizeof(cpu_timer));
  if (t == NULL) return tvmgo_raise_oom();
  *timer = t;
  return 0;
}

static int timer_start(const TVMGODeviceAPI* api, void* timer, TVMFFIStreamHandle stream) {
  ((cpu_timer*)timer)->stop = 0;
  ((cpu_timer*)timer)->start = now_ns();
  return 0;
}

static int timer_stop(const TVMGODeviceAPI* api, void* timer, TVMFFIStreamHandle stream) {
  if (((cpu_timer*)timer)->start == 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "stop timer: it was not started");
  ((cpu_timer*)timer)->stop = now_ns();
  return 0;
}

static int timer_elapsed_ns(const TVMGODeviceAPI* api, void* timer, int64_t* ns) {
  cpu_timer* t = timer;
  if (t->stop == 0) return tvmgo_raise(TVMGO_VALUE_ERROR, "read timer: it was not stopped");
  *ns = t->stop - t->start;
  return 0;
}

static int timer_free(const TVMGODeviceAPI* api, void* timer) {
  free(timer);
  return 0;
}

static int memory_stats(const TVMGODeviceAPI* api, DLDevice dev, TVMGOMemoryStats* out) {
  struct sysinfo info;
  int64_t live[TVMGO_LIVE_KINDS];
  TVMGOMemoryStats s = {.total_bytes = -1, .free_bytes = -1, .data_peak_bytes = -1};
  if (check_id(dev.device_id) != 0) return -1;
  tvmgo_live_snapshot(live);
  if (sysinfo(&info) == 0) {
    s.total_bytes = (int64_t)info.totalram * info.mem_unit;
    s.free_bytes = (int64_t)(info.freeram + info.bufferram) * info.mem_unit;
  }
  s.data_bytes = live[TVMGO_LIVE_DATA_BYTES] + live[TVMGO_LIVE_INLINE_BYTES];
  s.data_count = live[TVMGO_LIVE_DATA_COUNT] + live[TVMGO_LIVE_INLINE_COUNT];
  s.workspace_in_use_bytes = live[TVMGO_LIVE_WORKSPACE_BYTES];
  s.workspace_bytes = s.workspace_in_use_bytes + live[TVMGO_LIVE_WORKSPACE_CACHED];
  s.struct_size = out->struct_size;
  memcpy(out, &s, out->struct_size < sizeof s ? out->struct_size : sizeof s);
  return 0;
}

static const TVMGODeviceAPI cpu = {
    .struct_size = sizeof cpu,
    .set_device = set_device,
    .get_attr = get_attr,
    .alloc_data_space = alloc_data_space,
    .free_data_space = free_data_space,
    .copy_data_from_to = copy_data_from_to,
    .stream_sync = stream_sync,
    .create_stream = create_stream,
    .free_stream = free_stream,
    .set_stream = set_stream,
    .sync_stream_from_to = sync_stream_from_to,
    .alloc_workspace = alloc_workspace,
    .free_workspace = free_workspace,
    .timer_create = timer_create_cpu,
    .timer_start = timer_start,
    .timer_stop = timer_stop,
    .timer_elapsed_ns = timer_elapsed_ns,
    .timer_free = timer_free,
    .memory_stats = memory_stats,
};

/* A constructor, so that the device is registered before the first call from C. */
__attribute__((constructor(120))) static void register_cpu(void) { tvmgo_device_builtin(kDLCPU, &cpu, NULL, NULL); }
