/* The layer over a device's table; see validate.h. Every function of the table has its own counterpart here, since a
 * device may identify itself by the table's address. */
#include "device/device.h"
#include "device/validate.h"
#include "device/workspace_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int tvmgo_validating;

__attribute__((constructor(101))) static void read_variable(void) {
  const char* v = getenv("TVMGO_VALIDATE");
  tvmgo_validating = v != NULL && v[0] != 0 && strcmp(v, "0") != 0;
  if (!tvmgo_validating) return;
  tvmgo_workspace_cached_type = -1; /* the CPU's workspaces are tracked as well */
  tvmgo_function_validate();
}

typedef struct {
  TVMGODeviceAPI table; /* first: `api` is its address */
  const TVMGODeviceAPI* real;
  int32_t type;
} layer;

#define API const TVMGODeviceAPI* api
#define REAL (((const layer*)api)->real)

static int is_mine(API, const DLTensor* t) {
  return (int32_t)t->device.device_type == ((const layer*)api)->type;
}

static DLDevice any_index(API) { return (DLDevice){(DLDeviceType)((const layer*)api)->type, -1}; }

/* ---- memory ---- */

static int has_workspaces(const TVMGODeviceAPI* real, DLDevice dev) {
  return dev.device_type != kDLCPU && TVMGODeviceAPIHas(real, alloc_workspace) &&
      TVMGODeviceAPIHas(real, free_workspace);
}

static int give_back(const tvmgo_tracked* b) {
  switch (b->kind) {
    case TVMGO_TRACKED_PINNED: return b->real->pinned_free(b->real, b->dev, b->p);
    case TVMGO_TRACKED_WORKSPACE:
      if (!has_workspaces(b->real, b->dev)) return tvmgo_pool_free(b->dev, b->p, b->stream);
      return b->real->free_workspace(b->real, b->dev, b->p);
    default: return b->real->free_data_space(b->real, b->dev, b->p);
  }
}

/* The caller of a free gets the error if the device fails to free an earlier allocation. */
static int give_all_back(tvmgo_tracked* list) {
  TVMFFIObject* error = NULL;
  for (tvmgo_tracked* next; list != NULL; list = next) {
    next = list->later;
    if (give_back(list) != 0) {
      tvmgo_object_release(error);
      error = tvmgo_error_take();
    }
    tvmgo_track_drop(list);
  }
  if (error == NULL) return 0;
  tvmgo_thread_get()->error = error;
  return tvmgo_raise_context("validate: memory that was freed before");
}

void tvmgo_validate_flush(void) {
  if (tvmgo_validating && give_all_back(tvmgo_tracked_take_freed()) != 0) tvmgo_object_release(tvmgo_error_take());
}

void tvmgo_validate_forget_error(void) {
  TVMFFIObject* error = tvmgo_error_take();
  if (error == NULL) return;
  const TVMFFIErrorCell* c = tvmgo_error_cell(error);
  if (tvmgo_validating)
    fprintf(stderr, "tvmgo: %.*s: %.*s\n", (int)c->kind.size, c->kind.data, (int)c->message.size, c->message.data);
  tvmgo_object_release(error);
}

/* Whether more memory is free now. If so, clears the error of the failed request. */
static int make_room(void) {
  TVMFFIObject* error = tvmgo_error_take();
  tvmgo_tracked* kept = tvmgo_tracked_take_freed();
  int any = kept != NULL;
  if (give_all_back(kept) != 0) tvmgo_object_release(tvmgo_error_take());
  if (any) tvmgo_object_release(error);
  else tvmgo_thread_get()->error = error;
  return any;
}

static int track_new(const char* op, API, DLDevice dev, void** out, size_t size, tvmgo_tracked_kind kind,
                      TVMFFIStreamHandle stream) {
  if (*out == NULL) return tvmgo_raise(TVMGO_INTERNAL_ERROR, "%s: the device gave no address", op);
  tvmgo_tracked b = {.p = *out, .size = size, .dev = dev, .kind = kind, .stream = stream, .real = REAL};
  if (tvmgo_track_add(op, b) == 0) return 0;
  *out = NULL;
  return -1;
}

static int track_free(const char* op, DLDevice dev, void* p, tvmgo_tracked_kind kind) {
  tvmgo_tracked* list;
  if (tvmgo_track_free(op, dev, p, kind, &list) != 0) return -1;
  return give_all_back(list);
}

static int alloc_data_space(API, DLDevice dev, size_t nbytes, size_t alignment, DLDataType hint, void** out) {
  int rc = REAL->alloc_data_space(REAL, dev, nbytes, alignment, hint, out);
  if (rc != 0 && make_room()) rc = REAL->alloc_data_space(REAL, dev, nbytes, alignment, hint, out);
  return rc != 0 ? rc : track_new("validate: allocate", api, dev, out, nbytes, TVMGO_TRACKED_DATA, NULL);
}

static int free_data_space(API, DLDevice dev, void* p) {
  return track_free("validate: free", dev, p, TVMGO_TRACKED_DATA);
}

/* Images have no size that byte offsets could be compared with: their elements' bytes count. */
static int alloc_data_space_with_scope(API, DLDevice dev, int32_t ndim, const int64_t* shape, DLDataType dtype,
                                       const char* scope, void** out) {
  size_t nbytes;
  DLTensor t = {.device = dev, .ndim = ndim, .dtype = dtype, .shape = (int64_t*)shape};
  if (tvmgo_dl_bytes(&t, &nbytes) != 0) return -1;
  int rc = REAL->alloc_data_space_with_scope(REAL, dev, ndim, shape, dtype, scope, out);
  if (rc != 0 && make_room()) rc = REAL->alloc_data_space_with_scope(REAL, dev, ndim, shape, dtype, scope, out);
  return rc != 0 ? rc : track_new("validate: allocate", api, dev, out, nbytes, TVMGO_TRACKED_DATA, NULL);
}

static int take_workspace(const TVMGODeviceAPI* real, DLDevice dev, size_t nbytes, DLDataType hint,
                          TVMFFIStreamHandle stream, void** out) {
  if (!has_workspaces(real, dev)) return tvmgo_pool_alloc(real, dev, nbytes, stream, out);
  return real->alloc_workspace(real, dev, nbytes, hint, stream, out);
}

static int alloc_workspace(API, DLDevice dev, size_t nbytes, DLDataType hint, TVMFFIStreamHandle stream, void** out) {
  static const char op[] = "validate: allocate workspace";
  if (tvmgo_track_check_stream(op, dev, -1, stream) != 0) return -1;
  int rc = take_workspace(REAL, dev, nbytes, hint, stream, out);
  if (rc != 0 && make_room()) rc = take_workspace(REAL, dev, nbytes, hint, stream, out);
  return rc != 0 ? rc : track_new(op, api, dev, out, nbytes, TVMGO_TRACKED_WORKSPACE, stream);
}

static int free_workspace(API, DLDevice dev, void* p) {
  return track_free("validate: free workspace", dev, p, TVMGO_TRACKED_WORKSPACE);
}

static int alloc_on_stream(API, DLDevice dev, size_t nbytes, size_t alignment, DLDataType hint,
    TVMFFIStreamHandle stream,
                           void** out) {
  static const char op[] = "validate: allocate on stream";
  if (tvmgo_track_check_stream(op, dev, -1, stream) != 0) return -1;
  int rc = REAL->alloc_on_stream(REAL, dev, nbytes, alignment, hint, stream, out);
  if (rc != 0 && make_room()) rc = REAL->alloc_on_stream(REAL, dev, nbytes, alignment, hint, stream, out);
  return rc != 0 ? rc : track_new(op, api, dev, out, nbytes, TVMGO_TRACKED_ORDERED, stream);
}

/* Any stream of the device may free it: the caller must order that stream after the work. Since freed memory is kept
 * for a while, the stream may no longer exist when the device gets the memory, so it is freed by free_data_space. */
static int free_on_stream(API, DLDevice dev, void* p, TVMFFIStreamHandle stream) {
  static const char op[] = "validate: free on stream";
  if (tvmgo_track_check_stream(op, dev, -1, stream) != 0) return -1;
  return track_free(op, dev, p, TVMGO_TRACKED_ORDERED);
}

static int pinned_alloc(API, DLDevice dev, size_t nbytes, void** out) {
  if (REAL->pinned_alloc(REAL, dev, nbytes, out) != 0) return -1;
  return track_new("validate: allocate page-locked memory", api, dev, out, nbytes, TVMGO_TRACKED_PINNED, NULL);
}

static int pinned_free(API, DLDevice dev, void* p) {
  return track_free("validate: free page-locked memory", dev, p, TVMGO_TRACKED_PINNED);
}

static int memory_stats(API, DLDevice dev, TVMGOMemoryStats* out) {
  tvmgo_validate_flush();
  return REAL->memory_stats(REAL, dev, out);
}

/* ---- copies ---- */

/* An event after all work of a stream; NULL if events are not available. */
static void* mark(const TVMGODeviceAPI* real, DLDevice dev, TVMFFIStreamHandle stream) {
  void* event = NULL;
  if (tvmgo_track_records(dev, stream)) return NULL; /* it would be recorded */
  if (!TVMGODeviceAPIHas(real, event_create) || !TVMGODeviceAPIHas(real, event_free)) return NULL;
  if (real->event_create(real, dev, &event) == 0) {
    if (real->event_record(real, event, stream) == 0) return event;
    tvmgo_object_release(tvmgo_error_take());
    if (real->event_free(real, event) == 0) return NULL;
  }
  tvmgo_object_release(tvmgo_error_take());
  return NULL;
}

/* Whether a stream certainly has no work. The event itself also takes the device a moment. */
static int is_idle(const TVMGODeviceAPI* real, DLDevice dev, TVMFFIStreamHandle stream) {
  int32_t done = 0;
  void* event = mark(real, dev, stream);
  if (event == NULL) return 0;
  for (int try = 0; try < 100 && !done; try++) {
    if (try > 0) usleep(try * 10u);
    if (real->event_query(real, event, &done) == 0) continue;
    tvmgo_object_release(tvmgo_error_take());
    break;
  }
  if (real->event_free(real, event) != 0) tvmgo_object_release(tvmgo_error_take());
  return done;
}

static int check_side(const char* op, API, const DLTensor* t, size_t n, TVMFFIStreamHandle stream, int peers) {
  tvmgo_tracked_side side;
  if (tvmgo_track_check_side(op, t, n, stream, &side) != 0) return -1;
  if (!side.foreign_workspace || peers || !is_mine(api, t)) return 0;
  if (tvmgo_track_check_stream(op, t->device, -1, side.workspace_of) == 0) {
    if (is_idle(REAL, t->device, side.workspace_of)) return 0; /* somebody waited for it */
  } else {
    tvmgo_object_release(tvmgo_error_take());
  }
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: wrong stream: the copy is on stream %p, the workspace is for "
      "stream %p: %s", op, stream,
                     side.workspace_of, side.name);
}

static void note_flight(API, const DLTensor* t, DLDevice dev, TVMFFIStreamHandle stream) {
  if (is_mine(api, t) || !tvmgo_track_is_pinned(t->data)) return;
  /* before the launch there is no work, and then it is unknown what the work uses */
  if (tvmgo_track_records(dev, stream)) return;
  void* event = mark(REAL, dev, stream);
  if (!tvmgo_track_flight(t->data, REAL, event) && event != NULL && REAL->event_free(REAL, event) != 0)
    tvmgo_object_release(tvmgo_error_take());
}

static int copy_data_from_to(API, const DLTensor* from, const DLTensor* to, TVMFFIStreamHandle stream) {
  const DLTensor* mine = is_mine(api, from) ? from : to;
  const DLTensor* second = mine == from ? to : from;
  int family = tvmgo_device_family(second->device.device_type) == tvmgo_device_family(mine->device.device_type);
  int32_t other = family ? second->device.device_id : mine->device.device_id;
  int peers = from->device.device_type == to->device.device_type && from->device.device_id != to->device.device_id;
  size_t n;
  if (tvmgo_dl_bytes(from, &n) != 0) return -1;
  if (check_side("validate: copy from", api, from, n, stream, peers) != 0 ||
      check_side("validate: copy to", api, to, n, stream, peers) != 0 ||
      tvmgo_track_check_stream("validate: copy", mine->device, other, stream) != 0)
    return -1;
  if (REAL->copy_data_from_to(REAL, from, to, stream) != 0) return -1;
  note_flight(api, from, mine->device, stream);
  note_flight(api, to, mine->device, stream);
  return 0;
}

/* ---- streams ---- */

static int stream_sync(API, DLDevice dev, TVMFFIStreamHandle stream) {
  if (tvmgo_track_check_stream("validate: synchronize", dev, -1, stream) != 0) return -1;
  if (REAL->stream_sync(REAL, dev, stream) != 0) return -1;
  tvmgo_track_landed(REAL);
  return 0;
}

static int create_stream(API, DLDevice dev, TVMFFIStreamHandle* out) {
  if (REAL->create_stream(REAL, dev, out) != 0) return -1;
  tvmgo_track_stream_made(dev, *out);
  return 0;
}

static int create_stream_with_priority(API, DLDevice dev, int32_t priority, TVMFFIStreamHandle* out) {
  if (REAL->create_stream_with_priority(REAL, dev, priority, out) != 0) return -1;
  tvmgo_track_stream_made(dev, *out);
  return 0;
}

static int free_stream(API, DLDevice dev, TVMFFIStreamHandle stream) {
  if (tvmgo_track_check_stream("validate: free stream", dev, -1, stream) != 0) return -1;
  if (REAL->free_stream(REAL, dev, stream) != 0) return -1;
  tvmgo_track_stream_freed(dev, stream);
  return 0;
}

static int set_stream(API, DLDevice dev, TVMFFIStreamHandle stream) {
  if (tvmgo_track_check_stream("validate: set stream", dev, -1, stream) != 0) return -1;
  return REAL->set_stream(REAL, dev, stream);
}

static int sync_stream_from_to(API, DLDevice dev, TVMFFIStreamHandle src, TVMFFIStreamHandle dst) {
  /* The awaited stream may belong to another device of the type, for copies between them. */
  if (tvmgo_track_check_stream("validate: order streams", any_index(api), -1, src) != 0 ||
      tvmgo_track_check_stream("validate: order streams", dev, -1, dst) != 0)
    return -1;
  return REAL->sync_stream_from_to(REAL, dev, src, dst);
}

/* Events and timers are not tracked; the streams that they are put into are. */
static int on_stream(const char* op, API, TVMFFIStreamHandle stream) {
  return tvmgo_track_check_stream(op, any_index(api), -1, stream);
}

static int timer_start(API, void* t, TVMFFIStreamHandle s) {
  return on_stream("validate: start timer", api, s) != 0 ? -1 : REAL->timer_start(REAL, t, s);
}
static int timer_stop(API, void* t, TVMFFIStreamHandle s) {
  return on_stream("validate: stop timer", api, s) != 0 ? -1 : REAL->timer_stop(REAL, t, s);
}
static int event_record(API, void* e, TVMFFIStreamHandle s) {
  return on_stream("validate: record event", api, s) != 0 ? -1 : REAL->event_record(REAL, e, s);
}
static int event_wait(API, void* e, TVMFFIStreamHandle s) {
  return on_stream("validate: wait for event", api, s) != 0 ? -1 : REAL->event_wait(REAL, e, s);
}

/* ---- graphs ---- */

static int capture_begin(API, DLDevice dev, TVMFFIStreamHandle stream) {
  if (tvmgo_track_check_stream("validate: begin recording", dev, -1, stream) != 0) return -1;
  if (tvmgo_track_record("validate: begin recording", dev, stream) != 0) return -1;
  if (REAL->capture_begin(REAL, dev, stream) == 0) return 0;
  tvmgo_track_recorded(dev, stream);
  return -1;
}

static int capture_end(API, DLDevice dev, TVMFFIStreamHandle stream, void** graph) {
  if (tvmgo_track_check_stream("validate: end recording", dev, -1, stream) != 0) return -1;
  if (!tvmgo_track_recorded(dev, stream))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "validate: end recording: stream %p of %s:%d doesn't record", stream,
                       tvmgo_device_type_name(dev.device_type), (int)dev.device_id);
  if (REAL->capture_end(REAL, dev, stream, graph) != 0) return -1;
  if (graph == NULL) return 0;
  if (*graph == NULL) return tvmgo_raise(TVMGO_INTERNAL_ERROR, "validate: end recording: the device gave no graph");
  if (tvmgo_track_graph_made(dev, *graph) == 0) return 0;
  TVMFFIObject* error = tvmgo_error_take();
  if (REAL->graph_free(REAL, dev, *graph) != 0) tvmgo_object_release(tvmgo_error_take());
  *graph = NULL;
  tvmgo_thread_get()->error = error;
  return -1;
}

static int graph_launch(API, DLDevice dev, void* graph, TVMFFIStreamHandle stream) {
  static const char op[] = "validate: launch graph";
  if (tvmgo_track_check_graph(op, dev, graph) != 0 || tvmgo_track_check_stream(op, dev, -1, stream) != 0) return -1;
  return REAL->graph_launch(REAL, dev, graph, stream);
}

static int graph_free(API, DLDevice dev, void* graph) {
  if (tvmgo_track_check_graph("validate: free graph", dev, graph) != 0) return -1;
  tvmgo_track_graph_freed(dev, graph); /* first: the device may immediately make another one with this address */
  return REAL->graph_free(REAL, dev, graph);
}

/* ---- calls that are only forwarded ---- */

static int stream_priority_range(API, DLDevice dev, int32_t* least, int32_t* greatest) {
  return REAL->stream_priority_range(REAL, dev, least, greatest);
}
static int set_device(API, int32_t id) { return REAL->set_device(REAL, id); }
static int get_attr(API, int32_t id, int32_t kind, TVMFFIAny* out) { return REAL->get_attr(REAL, id, kind, out); }
static int new_timer(API, DLDevice dev, void** t) { return REAL->timer_create(REAL, dev, t); }
static int timer_elapsed_ns(API, void* t, int64_t* ns) { return REAL->timer_elapsed_ns(REAL, t, ns); }
static int timer_free(API, void* t) { return REAL->timer_free(REAL, t); }
static int event_create(API, DLDevice dev, void** e) { return REAL->event_create(REAL, dev, e); }
static int event_sync(API, void* e) { return REAL->event_sync(REAL, e); }
static int event_query(API, void* e, int32_t* done) { return REAL->event_query(REAL, e, done); }
static int event_free(API, void* e) { return REAL->event_free(REAL, e); }
static int target_property(API, int32_t id, const char* name, TVMFFIAny* out) {
  return REAL->target_property(REAL, id, name, out);
}

const TVMGODeviceAPI* tvmgo_validate_wrap(const TVMGODeviceAPI* real, int32_t device_type) {
  if (!tvmgo_validating) return real;
  layer* l = calloc(1, sizeof *l); /* lives as long as the process, like the wrapped table */
  if (l == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  if (real->set_device == set_device) real = ((const layer*)real)->real; /* a table for two types */
  l->real = real;
  l->type = device_type;
  TVMGODeviceAPI* t = &l->table;
  t->struct_size = sizeof *t;
  t->self = real->self;
  t->set_device = set_device;
  t->get_attr = get_attr;
  t->alloc_data_space = alloc_data_space;
  t->free_data_space = free_data_space;
  t->copy_data_from_to = copy_data_from_to;
  t->stream_sync = stream_sync;
  t->alloc_workspace = alloc_workspace;
  t->free_workspace = free_workspace;
#define COVER(name) \
  if (TVMGODeviceAPIHas(real, name)) t->name = name
  COVER(create_stream);
  COVER(free_stream);
  COVER(set_stream);
  COVER(sync_stream_from_to);
  COVER(alloc_data_space_with_scope);
  if (TVMGODeviceAPIHas(real, timer_create)) t->timer_create = new_timer; /* <time.h> has a timer_create */
  COVER(timer_start);
  COVER(timer_stop);
  COVER(timer_elapsed_ns);
  COVER(timer_free);
  COVER(memory_stats);
  COVER(pinned_alloc);
  COVER(pinned_free);
  COVER(event_create);
  COVER(event_record);
  COVER(event_wait);
  COVER(event_sync);
  COVER(event_query);
  COVER(event_free);
  COVER(target_property);
  COVER(stream_priority_range);
  COVER(create_stream_with_priority);
  COVER(alloc_on_stream);
  COVER(free_on_stream);
  COVER(capture_begin);
  COVER(capture_end);
  COVER(graph_launch);
  COVER(graph_free);
  return t;
}
