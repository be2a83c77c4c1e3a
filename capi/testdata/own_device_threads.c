/* A device written in C: two indices, memory of malloc, and a thread with a queue for each stream. One lock protects
 * all data. It has every optional part except storage scopes and workspaces; the runtime allocates workspaces from its
 * data space. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tvmgo/device_api.h>

enum { DEVICES = 2, TOTAL = 1 << 30 };
static const char* mutant;

const TVMGODeviceAPI* own_device(const char* wrong);

static int is(const char* name) { return mutant != NULL && strcmp(mutant, name) == 0; }

static int fail(const char* kind, const char* text) {
  TVMFFIErrorSetRaisedFromCStr(kind, text);
  return -1;
}

static int check_id(int32_t id) {
  if (id >= 0 && id < DEVICES) return 0;
  return fail("DeviceUnavailableError", "threads has no such index: it has 0 and 1");
}

/* ---- queues ---- */

typedef struct marker { /* reached once; freed with its last reference */
  int reached, users;
  struct timespec when;
} marker;

typedef struct op {
  struct op* next;
  char *dst, *src;
  size_t n;
  char* staged; /* freed afterwards */
  marker *wait, *reach;
} op;

typedef struct queue {
  struct queue* next; /* of all queues */
  int32_t id;
  op *first, **last;
  int busy, ends;
  pthread_t thread;
} queue;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static queue* queues;
static queue* defaults[DEVICES];

static void unuse(marker* m) {
  if (m != NULL && --m->users == 0) free(m);
}

/* Called with the lock held; releases it while bytes are copied. */
static void perform(op* o) {
  while (o->wait != NULL && !o->wait->reached) pthread_cond_wait(&changed, &lock);
  if (o->n > 0) {
    pthread_mutex_unlock(&lock);
    nanosleep(&(struct timespec){0, 100000}, NULL); /* work that does not wait for the copy fails */
    memcpy(o->dst, o->src, o->n);
    pthread_mutex_lock(&lock);
  }
  if (o->reach != NULL) {
    o->reach->reached = 1;
    clock_gettime(CLOCK_MONOTONIC, &o->reach->when);
  }
  unuse(o->wait);
  unuse(o->reach);
  free(o->staged);
  free(o);
}

static void* work(void* arg) {
  queue* q = arg;
  pthread_mutex_lock(&lock);
  while (q->first != NULL || !q->ends) {
    op* o = q->first;
    if (o == NULL) {
      pthread_cond_wait(&changed, &lock);
      continue;
    }
    q->first = o->next;
    if (q->first == NULL) q->last = &q->first;
    q->busy = 1;
    perform(o);
    q->busy = 0;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

static queue* make_queue(int32_t id) {
  queue* q = calloc(1, sizeof *q);
  if (q == NULL) return NULL;
  q->id = id;
  q->last = &q->first;
  if (pthread_create(&q->thread, NULL, work, q) != 0) {
    free(q);
    return NULL;
  }
  q->next = queues;
  queues = q;
  return q;
}

/* Reports whether a stream belongs to this index. Called with the lock held. */
static int is_of(void* stream, int32_t id) {
  for (queue* q = queues; q != NULL; q = q->next)
    if (q == stream) return q->id == id;
  return 0;
}

/* Called with the lock held. */
static queue* queue_of(int32_t id, void* stream) {
  if (stream == NULL) {
    if (defaults[id] == NULL) defaults[id] = make_queue(id);
    return defaults[id];
  }
  for (queue* q = queues; q != NULL; q = q->next)
    if (q == stream && q->id == id) return q;
  fail("ValueError", "this stream does not belong to the device");
  return NULL;
}

static int put(queue* q, op o) {
  op* copy = malloc(sizeof *copy);
  if (copy == NULL) return fail("MemoryError", "no memory for an operation");
  *copy = o;
  copy->next = NULL;
  if (o.wait != NULL) o.wait->users++;
  if (o.reach != NULL) o.reach->users++;
  *q->last = copy;
  q->last = &copy->next;
  pthread_cond_broadcast(&changed);
  return 0;
}

static void finish(queue* q) {
  while (q->first != NULL || q->busy) pthread_cond_wait(&changed, &lock);
}

/* ---- the mandatory part ---- */

typedef struct space {
  struct space* next;
  void* base; /* of malloc */
  char* at;
  size_t n;
  int32_t id;
} space;
static space *spaces, *pinned;
static TVMGOMemoryStats books[DEVICES];

#define API const TVMGODeviceAPI* api
static int set_device(API, int32_t id) { return (void)api, check_id(id); }

static int get_attr(API, int32_t id, int32_t kind, TVMFFIAny* out) {
  (void)api;
  memset(out, 0, sizeof *out);
  int there = id >= 0 && id < DEVICES;
  if (kind != kTVMGODeviceAttrExist && check_id(id) != 0) return -1;
  if (kind == kTVMGODeviceAttrExist) {
    out->type_index = kTVMFFIInt;
    out->v_int64 = there || is("every index exists");
  } else if (there && kind == kTVMGODeviceAttrWarpSize) {
    out->type_index = is("a number is a float") ? kTVMFFIFloat : kTVMFFIInt;
    out->v_int64 = 1;
  } else if (there && kind == kTVMGODeviceAttrDeviceName) {
    return TVMFFIStringFromByteArray(&(TVMFFIByteArray){"Threads", 7}, out);
  }
  return 0;
}

static void* add_space(space** list, int32_t id, size_t n, size_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
    fail("ValueError", "the alignment must be a power of two");
    return NULL;
  }
  if (n > TOTAL || alignment > 1 << 20) {
    fail(is("out of memory is any error") ? "RuntimeError" : "MemoryError", "threads is out of memory");
    return NULL;
  }
  space* s = malloc(sizeof *s);
  void* base = malloc(n + alignment + 64);
  if (s == NULL || base == NULL) {
    free(s);
    free(base);
    fail("MemoryError", "threads is out of memory");
    return NULL;
  }
  size_t at = ((size_t)base + alignment - 1) / alignment * alignment;
  if (is("memory is not aligned")) at += 8;
  *s = (space){NULL, base, (char*)at, n, id};
  pthread_mutex_lock(&lock);
  s->next = *list;
  *list = s;
  pthread_mutex_unlock(&lock);
  return s->at;
}

/* Returns the number of bytes that it had, or -1. */
static int64_t remove_space(space** list, void* p) {
  for (space** at = list; *at != NULL; at = &(*at)->next)
    if ((*at)->at == p) {
      space* s = *at;
      int64_t n = (int64_t)s->n;
      *at = s->next;
      free(s->base);
      free(s);
      return n;
    }
  return fail("ValueError", "this memory does not belong to the device");
}

static int alloc(API, DLDevice dev, size_t n, size_t alignment, DLDataType hint, void** out) {
  (void)api, (void)hint;
  if (check_id(dev.device_id) != 0) return -1;
  void* p = add_space(&spaces, dev.device_id, n, alignment);
  if (p == NULL) return -1;
  pthread_mutex_lock(&lock);
  TVMGOMemoryStats* b = &books[dev.device_id];
  b->data_bytes += (int64_t)n;
  b->data_count++;
  if (b->data_bytes > b->data_peak_bytes) b->data_peak_bytes = b->data_bytes;
  pthread_mutex_unlock(&lock);
  *out = p;
  return 0;
}

static int release(API, DLDevice dev, void* p) {
  (void)api;
  if (check_id(dev.device_id) != 0) return -1;
  pthread_mutex_lock(&lock);
  if (!is("memory is freed before its work is done"))
    for (queue* q = queues; q != NULL; q = q->next) finish(q); /* a finished queue stays in the list while we wait */
  int64_t n = remove_space(&spaces, p);
  if (n >= 0 && !is("freed memory is still counted")) books[dev.device_id].data_bytes -= n,
      books[dev.device_id].data_count--;
  pthread_mutex_unlock(&lock);
  return n < 0 ? -1 : 0;
}

static int is_pinned(const char* p) {
  for (space* s = pinned; s != NULL; s = s->next)
    if (p >= s->at && p < s->at + s->n) return 1;
  return 0;
}

static int copy(API, const DLTensor* from, const DLTensor* to, TVMFFIStreamHandle stream) {
  (void)api;
  size_t n = ((size_t)from->dtype.bits * from->dtype.lanes + 7) / 8;
  for (int i = 0; i < from->ndim; i++) n *= (size_t)from->shape[i];
  if (from->dtype.bits % 8 != 0) { /* packed */
    n = (size_t)from->dtype.bits * from->dtype.lanes;
    for (int i = 0; i < from->ndim; i++) n *= (size_t)from->shape[i];
    n = (n + 7) / 8;
  }
  int host_from = from->device.device_type == kDLCPU, host_to = to->device.device_type == kDLCPU;
  int32_t id = host_from ? to->device.device_id : from->device.device_id;
  op o = {.n = n};
  o.src = (char*)from->data + (is("copies ignore the source's offset") ? 0 : from->byte_offset);
  o.dst = (char*)to->data + (is("copies ignore the destination's offset") ? 0 : to->byte_offset);
  if (check_id(id) != 0) return -1;
  pthread_mutex_lock(&lock);
  if (stream != NULL && !host_from && !host_to && is_of(stream, to->device.device_id)) id = to->device.device_id;
  queue* q = queue_of(id, stream);
  int rc = q == NULL ? -1 : 0;
  if (rc == 0 && host_from && !is_pinned(o.src) && !is("the host's memory is read late")) {
    o.staged = malloc(n);
    if (o.staged == NULL) rc = fail("MemoryError", "no memory to stage a copy");
    else o.src = memcpy(o.staged, o.src, n);
  }
  if (rc == 0 && !host_from && !host_to && from->device.device_id != to->device.device_id) {
    finish(queue_of(from->device.device_id, NULL)); /* pending work of the other index on it */
    finish(queue_of(to->device.device_id, NULL));
    rc = put(q, o);
    finish(q);
  } else if (rc == 0) {
    rc = put(q, o);
    if (rc == 0 && host_to && !is_pinned(o.dst) && !is("copies to the host are not waited for")) finish(q);
  }
  pthread_mutex_unlock(&lock);
  return rc;
}

static int stream_sync(API, DLDevice dev, TVMFFIStreamHandle stream) {
  (void)api;
  if (check_id(dev.device_id) != 0) return -1;
  pthread_mutex_lock(&lock);
  queue* q = queue_of(dev.device_id, stream);
  if (q != NULL && !is("waiting waits for nothing")) finish(q);
  pthread_mutex_unlock(&lock);
  return q == NULL ? -1 : 0;
}

/* ---- streams ---- */

static int create_stream(API, DLDevice dev, TVMFFIStreamHandle* out) {
  (void)api;
  if (check_id(dev.device_id) != 0) return -1;
  pthread_mutex_lock(&lock);
  *out = make_queue(dev.device_id);
  pthread_mutex_unlock(&lock);
  return *out == NULL ? fail("RuntimeError", "no thread for a stream") : 0;
}

/* Queues are kept until the process ends: others may be waiting for them. */
static int free_stream(API, DLDevice dev, TVMFFIStreamHandle stream) {
  (void)api;
  if (check_id(dev.device_id) != 0) return -1;
  pthread_mutex_lock(&lock);
  queue* q = queue_of(dev.device_id, stream);
  if (q != NULL) {
    finish(q);
    q->ends = 1;
    q->id = -1;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
  if (q == NULL) return -1;
  pthread_join(q->thread, NULL);
  return 0;
}

static int set_stream(API, DLDevice dev, TVMFFIStreamHandle stream) {
  return (void)api, (void)stream, check_id(dev.device_id);
}

static marker* new_marker(void) {
  marker* m = calloc(1, sizeof *m);
  if (m != NULL) m->users = 1;
  return m;
}

/* Queues a marker after a stream's work, and stores it in *slot, which may hold an earlier one. */
static int put_marker(int32_t id, void* stream, marker** slot) {
  marker* m = new_marker();
  if (m == NULL) return fail("MemoryError", "no memory for a marker");
  pthread_mutex_lock(&lock);
  queue* q = queue_of(id, stream);
  int rc = q == NULL ? -1 : put(q, (op){.reach = m});
  if (rc == 0) {
    unuse(*slot);
    *slot = m;
  } else {
    unuse(m);
  }
  pthread_mutex_unlock(&lock);
  return rc;
}

static int put_wait(int32_t id, void* stream, marker* m) {
  pthread_mutex_lock(&lock);
  queue* q = queue_of(id, stream);
  int rc = q == NULL ? -1 : m == NULL ? 0 : put(q, (op){.wait = m});
  pthread_mutex_unlock(&lock);
  return rc;
}

static void drop_marker(marker* m) {
  pthread_mutex_lock(&lock);
  unuse(m);
  pthread_mutex_unlock(&lock);
}

static void await(marker* m) {
  pthread_mutex_lock(&lock);
  while (m != NULL && !m->reached) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

static int order(API, DLDevice dev, TVMFFIStreamHandle src, TVMFFIStreamHandle dst) {
  (void)api;
  marker* m = NULL;
  if (check_id(dev.device_id) != 0) return -1;
  if (is("one stream does not wait for another")) return 0;
  if (put_marker(dev.device_id, src, &m) != 0) return -1;
  int rc = put_wait(dev.device_id, dst, m);
  drop_marker(m);
  return rc;
}

/* ---- events and timers ---- */

typedef struct {
  int32_t id;
  marker *first, *second;
} markers;

static int marks_create(API, DLDevice dev, void** out) {
  (void)api;
  if (check_id(dev.device_id) != 0) return -1;
  markers* m = calloc(1, sizeof *m);
  if (m == NULL) return fail("MemoryError", "no memory for an event");
  m->id = dev.device_id;
  *out = m;
  return 0;
}

static int marks_free(API, void* e) {
  (void)api;
  markers* m = e;
  drop_marker(m->first);
  drop_marker(m->second);
  free(m);
  return 0;
}

static int event_record(API, void* e, TVMFFIStreamHandle s) {
  return (void)api, put_marker(((markers*)e)->id, s, &((markers*)e)->first);
}
static int event_wait(API, void* e, TVMFFIStreamHandle s) {
  return (void)api, put_wait(((markers*)e)->id, s, ((markers*)e)->first);
}
static int event_sync(API, void* e) { return (void)api, await(((markers*)e)->first), 0; }
static int event_query(API, void* e, int32_t* done) {
  (void)api;
  pthread_mutex_lock(&lock);
  marker* m = ((markers*)e)->first;
  *done = m == NULL || m->reached || is("events are reached at once");
  pthread_mutex_unlock(&lock);
  return 0;
}

static int timer_start(API, void* t, TVMFFIStreamHandle s) {
  markers* m = t;
  (void)api;
  drop_marker(m->second);
  m->second = NULL;
  return put_marker(m->id, s, &m->first);
}
static int timer_stop(API, void* t, TVMFFIStreamHandle s) {
  markers* m = t;
  (void)api;
  if (m->first == NULL) return fail("ValueError", "the timer was not started");
  return put_marker(m->id, s, &m->second);
}
static int timer_elapsed_ns(API, void* t, int64_t* ns) {
  markers* m = t;
  (void)api;
  if (m->second == NULL) return fail("ValueError", "the timer was not stopped");
  await(m->second);
  *ns = (m->second->when.tv_sec - m->first->when.tv_sec) * INT64_C(
      1000000000) + m->second->when.tv_nsec - m->first->when.tv_nsec;
  if (is("timers give 0")) *ns = 0;
  return 0;
}

/* ---- memory ---- */

static int memory_stats(API, DLDevice dev, TVMGOMemoryStats* out) {
  (void)api;
  if (check_id(dev.device_id) != 0) return -1;
  pthread_mutex_lock(&lock);
  TVMGOMemoryStats s = books[dev.device_id];
  pthread_mutex_unlock(&lock);
  s.struct_size = out->struct_size;
  s.total_bytes = TOTAL;
  s.free_bytes = TOTAL - s.data_bytes;
  s.workspace_bytes = s.workspace_in_use_bytes = -1;
  memcpy(out, &s, out->struct_size < sizeof s ? out->struct_size : sizeof s);
  return 0;
}

static int pinned_alloc(API, DLDevice dev, size_t n, void** out) {
  (void)api;
  if (check_id(dev.device_id) != 0) return -1;
  void* p = add_space(&pinned, dev.device_id, n, 64);
  if (p == NULL) return -1;
  pthread_mutex_lock(&lock);
  books[dev.device_id].pinned_bytes += (int64_t)n;
  pthread_mutex_unlock(&lock);
  *out = p;
  return 0;
}

static int pinned_free(API, DLDevice dev, void* p) {
  (void)api;
  pthread_mutex_lock(&lock);
  int64_t n = remove_space(&pinned, p);
  if (n >= 0) books[dev.device_id].pinned_bytes -= n;
  pthread_mutex_unlock(&lock);
  return n < 0 ? -1 : 0;
}

static const TVMGODeviceAPI threads = {
    .struct_size = sizeof threads,
    .set_device = set_device,
    .get_attr = get_attr,
    .alloc_data_space = alloc,
    .free_data_space = release,
    .copy_data_from_to = copy,
    .stream_sync = stream_sync,
    .create_stream = create_stream,
    .free_stream = free_stream,
    .set_stream = set_stream,
    .sync_stream_from_to = order,
    .timer_create = marks_create,
    .timer_start = timer_start,
    .timer_stop = timer_stop,
    .timer_elapsed_ns = timer_elapsed_ns,
    .timer_free = marks_free,
    .memory_stats = memory_stats,
    .pinned_alloc = pinned_alloc,
    .pinned_free = pinned_free,
    .event_create = marks_create,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_sync = event_sync,
    .event_query = event_query,
    .event_free = marks_free,
};

const TVMGODeviceAPI* own_device(const char* wrong) {
  mutant = wrong;
  return &threads;
}

#ifdef OWN_DEVICE_MODULE /* as a library that returns its table: own_device() -> void* */
__attribute__((visibility("default"))) int __tvm_ffi_own_device(void* self, const TVMFFIAny* args, int32_t n,
    TVMFFIAny* result) {
  (void)self, (void)args, (void)n;
  result->type_index = kTVMFFIOpaquePtr;
  result->v_ptr = (void*)own_device(NULL);
  return 0;
}
#endif
