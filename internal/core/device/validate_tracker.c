/* The records of TVMGO_VALIDATE=1 about allocations and streams. */
#include "device/device.h"
#include "device/validate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { KEPT = 64, NAME = 200 };
static const size_t KEPT_BYTES = 16 << 20; /* but always the newest */

/* A copy from or to page-locked memory. */
typedef struct tvmgo_flight {
  struct tvmgo_flight* next;
  const TVMGODeviceAPI* real;
  void* event;     /* behind the copy, where the device has events */
  uint64_t number; /* of the call */
} tvmgo_flight;

typedef struct {
  TVMFFIStreamHandle handle;
  DLDevice dev;
  int freed;
  uint64_t made, gone;
} stream_entry;

static tvmgo_spin lock; /* of all that follows; no driver is called under it */
static tvmgo_tracked** tracked; /* by address */
static size_t num_tracked, cap_tracked;
static tvmgo_tracked *first_freed, **last_freed = &first_freed; /* in the order of freeing */
static size_t num_freed, freed_bytes;
static stream_entry* streams;
static size_t num_streams, cap_streams;
static uint64_t calls;

static int thread_number(void) { return (int)syscall(SYS_gettid); }

static const char* kind_name(tvmgo_tracked_kind k) {
  static const char* const names[] = {"data space", "workspace", "page-locked memory", "memory of a stream"};
  return names[k];
}

/* "data space #12 of cuda:0: 4096 bytes at 0x7f..., made by thread 812" */
static void describe(const tvmgo_tracked* b, char name[NAME]) {
  char gone[80] = "";
  if (b->freed) snprintf(gone, sizeof gone, ", freed by call #%" PRIu64 " of thread %d", b->gone, b->gone_by);
  snprintf(name, NAME, "%s of %s:%d, %zu bytes at %p, made by call #%" PRIu64 " of thread %d%s", kind_name(b->kind),
           tvmgo_device_type_name(b->dev.device_type), (int)b->dev.device_id, b->size, b->p, b->made, b->made_by, gone);
}

/* ---- by address, under the lock ---- */

/* The first entry at or behind p. */
static size_t find_at(const void* p) {
  size_t low = 0, high = num_tracked;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if ((uintptr_t)tracked[mid]->p < (uintptr_t)p) low = mid + 1;
    else high = mid;
  }
  return low;
}

static tvmgo_tracked* find_exact(const void* p) {
  size_t i = find_at(p);
  return i < num_tracked && tracked[i]->p == p ? tracked[i] : NULL;
}

static int is_host_type(int32_t t) { return t == kDLCPU || t == kDLCUDAHost || t == kDLROCMHost; }

static int is_host(const tvmgo_tracked* b) {
  return b->kind == TVMGO_TRACKED_PINNED || is_host_type((int32_t)b->dev.device_type);
}

/* The entry that contains p, among memory of one device type; all host memory counts as one type. */
static tvmgo_tracked* find_around(const void* p, int32_t device_type) {
  for (size_t i = find_at(p); i-- > 0;) {
    tvmgo_tracked* b = tracked[i];
    int same = (int32_t)b->dev.device_type == device_type && b->kind != TVMGO_TRACKED_PINNED;
    if (is_host_type(device_type) ? !is_host(b) : !same) continue;
    return (uintptr_t)p - (uintptr_t)b->p < b->size ? b : NULL;
  }
  return NULL;
}

static void remove_tracked(tvmgo_tracked* b) {
  size_t i = find_at(b->p);
  memmove(&tracked[i], &tracked[i + 1], (num_tracked - i - 1) * sizeof *tracked);
  num_tracked--;
}

/* ---- allocations ---- */

int tvmgo_track_add(const char* op, tvmgo_tracked b) {
  char name[NAME] = "";
  tvmgo_tracked* fresh = malloc(sizeof *fresh);
  if (fresh == NULL) return tvmgo_raise_oom();
  tvmgo_spin_lock(&lock);
  tvmgo_tracked* taken = find_exact(b.p);
  if (taken != NULL) {
    describe(taken, name);
  } else {
    if (num_tracked == cap_tracked) {
      size_t cap = cap_tracked == 0 ? 256 : cap_tracked * 2;
      tvmgo_tracked** grown = realloc(tracked, cap * sizeof *grown);
      if (grown == NULL) {
        tvmgo_spin_unlock(&lock);
        free(fresh);
        return tvmgo_raise_oom();
      }
      tracked = grown;
      cap_tracked = cap;
    }
    b.made = ++calls;
    b.made_by = thread_number();
    *fresh = b;
    size_t i = find_at(b.p);
    memmove(&tracked[i + 1], &tracked[i], (num_tracked - i) * sizeof *tracked);
    tracked[i] = fresh;
    num_tracked++;
  }
  tvmgo_spin_unlock(&lock);
  if (taken == NULL) return 0;
  free(fresh);
  return tvmgo_raise(TVMGO_INTERNAL_ERROR, "%s: the device gave memory that is still in use: %s", op, name);
}

/* The first copy of page-locked memory that is not done; NULL if all are. Calls drivers, so the lock must not be
 * held. */
static uint64_t in_flight(tvmgo_flight* list) {
  for (tvmgo_flight* f = list; f != NULL; f = f->next) {
    int32_t done = 0;
    if (f->event != NULL && f->real->event_query(f->real, f->event, &done) != 0)
      tvmgo_object_release(tvmgo_error_take());
    if (!done) return f->number;
  }
  return 0;
}

static void free_flights(tvmgo_flight* list) {
  for (tvmgo_flight* next; list != NULL; list = next) {
    next = list->next;
    if (list->event != NULL && list->real->event_free(list->real, list->event) != 0)
      tvmgo_object_release(tvmgo_error_take());
    free(list);
  }
}

/* Under the lock: takes the entries that were kept long enough, or all. */
static tvmgo_tracked* take_kept(int all) {
  tvmgo_tracked *list = NULL, **last = &list;
  while (first_freed != NULL && (all || (num_freed > 1 && (num_freed > KEPT || freed_bytes > KEPT_BYTES)))) {
    tvmgo_tracked* b = first_freed;
    first_freed = b->later;
    if (first_freed == NULL) last_freed = &first_freed;
    num_freed--;
    freed_bytes -= b->size;
    remove_tracked(b);
    b->later = NULL;
    *last = b;
    last = &b->later;
  }
  return list;
}

tvmgo_tracked* tvmgo_tracked_take_freed(void) {
  tvmgo_spin_lock(&lock);
  tvmgo_tracked* list = take_kept(1);
  tvmgo_spin_unlock(&lock);
  return list;
}

void tvmgo_track_drop(tvmgo_tracked* b) {
  free_flights(b->flights);
  free(b);
}

/* Whether memory may be freed as memory of another kind. */
static int may_free(tvmgo_tracked_kind is, tvmgo_tracked_kind as) {
  return is == as || (is == TVMGO_TRACKED_ORDERED && as == TVMGO_TRACKED_DATA);
}

int tvmgo_track_free(const char* op, DLDevice dev, void* p, tvmgo_tracked_kind kind, tvmgo_tracked** own) {
  char name[NAME] = "";
  const char* device = tvmgo_device_type_name(dev.device_type);
  tvmgo_flight* flights = NULL;
  *own = NULL;
  tvmgo_spin_lock(&lock);
  tvmgo_tracked* b = find_exact(p);
  tvmgo_tracked* around = b == NULL ? find_around(p, dev.device_type) : NULL;
  if (b != NULL || around != NULL) describe(b != NULL ? b : around, name);
  int freed = b != NULL && b->freed, other_kind = b != NULL && !may_free(b->kind, kind);
  int elsewhere = b != NULL && (b->dev.device_type != dev.device_type || b->dev.device_id != dev.device_id);
  if (b != NULL && !freed && !other_kind && !elsewhere) {
    flights = b->flights; /* from here on no other thread frees it */
    b->flights = NULL;
    b->freed = 1;
    b->gone = ++calls;
    b->gone_by = thread_number();
  }
  tvmgo_spin_unlock(&lock);
  if (around != NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %p lies inside of an allocation: %s: free its start", op, p, name);
  if (b == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %p is no allocation of %s:%d", op, p, device, (int)dev.device_id);
  if (freed) return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: double free: %s", op, name);
  if (elsewhere)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: wrong device: %s:%d was asked to free what is not its: %s", op, device,
                       (int)dev.device_id, name);
  if (other_kind) return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: it is no %s: %s", op, kind_name(kind), name);
  uint64_t busy = in_flight(flights);
  tvmgo_spin_lock(&lock);
  if (busy != 0) { /* not freed after all */
    b->freed = 0;
    b->flights = flights;
  } else {
    b->later = NULL;
    *last_freed = b;
    last_freed = &b->later;
    num_freed++;
    freed_bytes += b->size;
    *own = take_kept(0);
  }
  tvmgo_spin_unlock(&lock);
  if (busy == 0) {
    free_flights(flights);
    return 0;
  }
  return tvmgo_raise(TVMGO_VALUE_ERROR,
                     "%s: freed while in flight: call #%" PRIu64 " queued a copy of it that is not done: wait for its "
                         "stream: %s", op,
                     busy, name);
}

/* ---- copies ---- */

int tvmgo_track_check_side(const char* op, const DLTensor* t, size_t n, TVMFFIStreamHandle stream,
                          tvmgo_tracked_side* out) {
  int32_t type = t->device.device_type;
  *out = (tvmgo_tracked_side){0};
  tvmgo_spin_lock(&lock);
  tvmgo_tracked* b = find_exact(t->data);
  if (b == NULL) b = find_around(t->data, type);
  if (b == NULL) { /* it was made elsewhere */
    tvmgo_spin_unlock(&lock);
    return 0;
  }
  describe(b, out->name);
  size_t start = (size_t)((uintptr_t)t->data - (uintptr_t)b->p), size = b->size;
  int freed = b->freed, host = is_host_type(type);
  int elsewhere = host ? !is_host(b)
                       : b->dev.device_type != t->device.device_type || b->dev.device_id != t->device.device_id ||
                             b->kind == TVMGO_TRACKED_PINNED;
  out->foreign_workspace = b->kind == TVMGO_TRACKED_WORKSPACE && !host && b->stream != stream;
  out->workspace_of = b->stream;
  tvmgo_spin_unlock(&lock);
  if (freed) return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: use after free: %s", op, out->name);
  if (elsewhere)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: wrong device: the tensor says %s:%d, but its data is %s", op,
                       tvmgo_device_type_name(type), (int)t->device.device_id, out->name);
  if (t->byte_offset > size || start > size - t->byte_offset || n > size - t->byte_offset - start)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: out of bounds: %zu bytes from byte %" PRIu64 " of %s", op, n,
                       (uint64_t)start + t->byte_offset, out->name);
  return 0;
}

static tvmgo_tracked* find_pinned(const void* p) {
  tvmgo_tracked* b = find_exact(p);
  if (b == NULL) b = find_around(p, kDLCPU);
  return b != NULL && b->kind == TVMGO_TRACKED_PINNED && !b->freed ? b : NULL;
}

int tvmgo_track_is_pinned(const void* p) {
  tvmgo_spin_lock(&lock);
  int yes = find_pinned(p) != NULL;
  tvmgo_spin_unlock(&lock);
  return yes;
}

int tvmgo_track_flight(const void* p, const TVMGODeviceAPI* real, void* event) {
  tvmgo_flight* f = malloc(sizeof *f);
  if (f == NULL) return 0;
  tvmgo_spin_lock(&lock);
  tvmgo_tracked* b = find_pinned(p);
  if (b != NULL) {
    *f = (tvmgo_flight){b->flights, real, event, ++calls};
    b->flights = f;
  }
  tvmgo_spin_unlock(&lock);
  if (b == NULL) free(f);
  return b != NULL;
}

void tvmgo_track_landed(const TVMGODeviceAPI* real) {
  tvmgo_spin_lock(&lock);
  for (size_t i = 0; i < num_tracked; i++)
    for (tvmgo_flight** at = &tracked[i]->flights; *at != NULL;) {
      tvmgo_flight* f = *at;
      if (f->real != real || f->event != NULL) {
        at = &f->next;
        continue;
      }
      *at = f->next;
      free(f);
    }
  tvmgo_spin_unlock(&lock);
}

/* ---- streams ---- */

static stream_entry* find_stream(DLDevice dev, TVMFFIStreamHandle s) {
  for (size_t i = 0; i < num_streams; i++)
    if (streams[i].handle == s && tvmgo_device_family(streams[i].dev.device_type) == tvmgo_device_family(
        dev.device_type))
      return &streams[i];
  return NULL;
}

void tvmgo_track_stream_made(DLDevice dev, TVMFFIStreamHandle s) {
  if (s == NULL) return;
  tvmgo_spin_lock(&lock);
  stream_entry* e = find_stream(dev, s); /* an earlier stream with this handle */
  if (e == NULL && num_streams == cap_streams) {
    size_t cap = cap_streams == 0 ? 64 : cap_streams * 2;
    stream_entry* grown = realloc(streams, cap * sizeof *grown);
    if (grown != NULL) {
      streams = grown;
      cap_streams = cap;
    }
  }
  if (e == NULL && num_streams < cap_streams) e = &streams[num_streams++];
  if (e != NULL) *e = (stream_entry){s, dev, 0, ++calls, 0};
  tvmgo_spin_unlock(&lock);
}

void tvmgo_track_stream_freed(DLDevice dev, TVMFFIStreamHandle s) {
  tvmgo_spin_lock(&lock);
  stream_entry* e = find_stream(dev, s);
  if (e != NULL) {
    e->freed = 1;
    e->gone = ++calls;
  }
  tvmgo_spin_unlock(&lock);
}

int tvmgo_track_check_stream(const char* op, DLDevice dev, int32_t other, TVMFFIStreamHandle s) {
  if (s == NULL) return 0;
  tvmgo_spin_lock(&lock);
  stream_entry* e = find_stream(dev, s);
  stream_entry found = e != NULL ? *e : (stream_entry){0};
  for (size_t i = 0; e == NULL && i < num_streams; i++) /* of another type of device */
    if (streams[i].handle == s && !streams[i].freed) found = streams[i];
  tvmgo_spin_unlock(&lock);
  if (found.handle == NULL) return 0;
  const char* owner = tvmgo_device_type_name(found.dev.device_type);
  const char* device = tvmgo_device_type_name(dev.device_type);
  if (found.freed)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: stream %p of %s:%d, made "
        "by call #%" PRIu64 ", was freed by call #%" PRIu64, op, s,
                       owner, (int)found.dev.device_id, found.made, found.gone);
  if (e == NULL || (dev.device_id >= 0 && found.dev.device_id != dev.device_id && found.dev.device_id != other))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: wrong stream: %p was made by call #%" PRIu64 " for %s:%d, not for %s:%d",
        op, s,
                       found.made, owner, (int)found.dev.device_id, device, (int)dev.device_id);
  return 0;
}

/* ---- recordings and graphs ---- */

/* A stream that records, or a graph: a handle of a device. */
typedef struct {
  void* handle;
  DLDevice dev;
} entry;

typedef struct {
  entry* list;
  size_t num, cap;
} entries;

static entries recordings, graphs;

static entry* find_entry(const entries* e, int32_t device_type, void* handle) {
  for (size_t i = 0; i < e->num; i++)
    if (e->list[i].handle == handle && (int32_t)e->list[i].dev.device_type == device_type) return &e->list[i];
  return NULL;
}

/* 0, or -1 when memory is out. Under the lock. */
static int add_entry(entries* e, DLDevice dev, void* handle) {
  if (e->num == e->cap) {
    size_t cap = e->cap == 0 ? 64 : e->cap * 2;
    entry* grown = realloc(e->list, cap * sizeof *grown);
    if (grown == NULL) return -1;
    e->list = grown;
    e->cap = cap;
  }
  e->list[e->num++] = (entry){handle, dev};
  return 0;
}

static int remove_entry(entries* e, DLDevice dev, void* handle) {
  tvmgo_spin_lock(&lock);
  entry* at = find_entry(e, (int32_t)dev.device_type, handle);
  if (at != NULL) *at = e->list[--e->num];
  tvmgo_spin_unlock(&lock);
  return at != NULL;
}

int tvmgo_track_record(const char* op, DLDevice dev, TVMFFIStreamHandle s) {
  tvmgo_spin_lock(&lock);
  int twice = find_entry(&recordings, (int32_t)dev.device_type, s) != NULL;
  int rc = twice ? 0 : add_entry(&recordings, dev, s);
  tvmgo_spin_unlock(&lock);
  if (twice)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: stream %p of %s:%d records already", op, s,
                       tvmgo_device_type_name(dev.device_type), (int)dev.device_id);
  return rc == 0 ? 0 : tvmgo_raise_oom();
}

int tvmgo_track_records(DLDevice dev, TVMFFIStreamHandle s) {
  tvmgo_spin_lock(&lock);
  int yes = find_entry(&recordings, (int32_t)dev.device_type, s) != NULL;
  tvmgo_spin_unlock(&lock);
  return yes;
}

int tvmgo_track_recorded(DLDevice dev, TVMFFIStreamHandle s) { return remove_entry(&recordings, dev, s); }

int tvmgo_track_graph_made(DLDevice dev, void* graph) {
  tvmgo_spin_lock(&lock);
  int rc = add_entry(&graphs, dev, graph);
  tvmgo_spin_unlock(&lock);
  return rc == 0 ? 0 : tvmgo_raise_oom();
}

int tvmgo_track_check_graph(const char* op, DLDevice dev, void* graph) {
  tvmgo_spin_lock(&lock);
  entry* e = find_entry(&graphs, (int32_t)dev.device_type, graph);
  entry found = e != NULL ? *e : (entry){0};
  tvmgo_spin_unlock(&lock);
  const char* device = tvmgo_device_type_name(dev.device_type);
  if (e == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %p is no graph of %s:%d: it was freed, or is something else", op,
        graph, device,
                       (int)dev.device_id);
  if (found.dev.device_id != dev.device_id)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: wrong device: the graph %p is of %s:%d, not of %s:%d", op, graph, device,
                       (int)found.dev.device_id, device, (int)dev.device_id);
  return 0;
}

void tvmgo_track_graph_freed(DLDevice dev, void* graph) { remove_entry(&graphs, dev, graph); }
