#include "bridge/bridge.h"
#include "device/graph.h"
#include "loader/kinds.h"

#include <stdlib.h>
#include <string.h>

static uintptr_t taken(int rc) {
  if (rc == 0) return 0;
  TVMFFIObject* e = tvmgo_error_take();
  if (e == NULL) {
    tvmgo_raise(TVMGO_RUNTIME_ERROR, "the call failed with %d and left no error", rc);
    e = tvmgo_error_take();
  }
  return (uintptr_t)e;
}

static tvmgo_ret made(void* value) {
  tvmgo_ret r = {(uintptr_t)value, value == NULL ? taken(-1) : 0};
  return r;
}

static tvmgo_ret done(int rc) {
  tvmgo_ret r = {0, taken(rc)};
  return r;
}

/* ---- calls ---- */

/* The thread's current stream and device before a call. */
typedef struct {
  int32_t device_id;
  TVMFFIStreamHandle stream;
} was_current;

static void restore_device(const tvmgo_place* p, int32_t id) {
  if (tvmgo_thread_get()->active_device[p->device_type] != id &&
      tvmgo_device_set(p->device_type, id) != 0)
    tvmgo_object_release(tvmgo_error_take()); /* the call's own error matters more */
}

/* Makes a stream and its device current; leave restores *old. */
static int enter(const tvmgo_place* p, was_current* old) {
  if (tvmgo_device_api(p->device_type) == NULL) return -1; /* the number is a good index from here */
  old->device_id = tvmgo_thread_get()->active_device[p->device_type];
  if (tvmgo_device_set(p->device_type, p->device_id) != 0) return -1;
  if (tvmgo_stream_set(p->device_type, p->device_id, (TVMFFIStreamHandle)p->stream, &old->stream) == 0)
    return 0;
  TVMFFIObject* error = tvmgo_error_take();
  restore_device(p, old->device_id);
  tvmgo_thread_get()->error = error;
  return -1;
}

static void leave(const tvmgo_place* p, const was_current* old) {
  TVMFFIObject* error = tvmgo_error_take();
  if (tvmgo_stream_set(p->device_type, p->device_id, old->stream, NULL) != 0)
    tvmgo_object_release(tvmgo_error_take());
  restore_device(p, old->device_id);
  if (error != NULL) tvmgo_thread_get()->error = error;
}

/* Launches of a graph use the objects of the recorded call. */
static int keep_for_graph(void* f, const TVMFFIAny* args, int32_t n, const tvmgo_place* place) {
  DLDevice dev = {(DLDeviceType)place->device_type, place->device_id};
  TVMFFIStreamHandle stream = (TVMFFIStreamHandle)place->stream;
  if (TVMGO_LIKELY(!tvmgo_recording_on(dev, stream))) return 0;
  int rc = tvmgo_recording_retain(dev, stream, f);
  for (int32_t i = 0; rc == 0 && i < n; i++)
    if (tvmgo_any_is_object(&args[i])) rc = tvmgo_recording_retain(dev, stream, args[i].v_obj);
  return rc;
}

static int call_at(void* f, const TVMFFIAny* args, int32_t n, const tvmgo_place* place,
                   TVMFFIAny* result) {
  if (TVMGO_LIKELY(place->device_type == 0)) return tvmgo_function_call(f, args, n, result);
  was_current old;
  if (keep_for_graph(f, args, n, place) != 0 || enter(place, &old) != 0) return -1;
  int rc = tvmgo_function_call(f, args, n, result);
  leave(place, &old);
  return rc;
}

tvmgo_any_ret tvmgo_bridge_call(uintptr_t function, const TVMFFIAny* args, int32_t n,
                                tvmgo_place place) {
  tvmgo_any_ret r = {{0}, 0};
  r.err = taken(call_at((void*)function, args, n, &place, &r.value));
  return r;
}

tvmgo_ret tvmgo_bound_new(uintptr_t function, const TVMFFIAny* args, int32_t n, tvmgo_place place) {
  tvmgo_bound* b = calloc(1, sizeof *b + (size_t)n * sizeof *args);
  if (b == NULL) return done(tvmgo_raise_oom());
  b->function = (TVMFFIObject*)function;
  tvmgo_object_retain(b->function);
  b->place = place;
  b->num_args = n;
  for (int32_t i = 0; i < n; i++) {
    b->args[i] = args[i];
    if (tvmgo_any_is_object(&args[i])) tvmgo_object_retain(args[i].v_obj);
  }
  return made(b);
}

int tvmgo_bound_call(uintptr_t bound) {
  tvmgo_bound* b = (tvmgo_bound*)bound;
  if (TVMGO_UNLIKELY(b->result.type_index >= kTVMFFIStaticObjectBegin)) tvmgo_any_clear(&b->result);
  b->result = tvmgo_any_none();
  int rc = call_at(b->function, b->args, b->num_args, &b->place, &b->result);
  if (TVMGO_UNLIKELY(rc != 0)) b->err = (TVMFFIObject*)taken(rc);
  return rc;
}

void tvmgo_bound_free(uintptr_t bound) {
  tvmgo_bound* b = (tvmgo_bound*)bound;
  for (int32_t i = 0; i < b->num_args; i++) tvmgo_any_clear(&b->args[i]);
  tvmgo_any_clear(&b->result);
  tvmgo_object_release(b->err);
  tvmgo_object_release(b->function);
  free(b);
}

/* ---- modules ---- */

tvmgo_ret tvmgo_bridge_load(const char* path, const void* bytes, size_t n, unsigned flags, uintptr_t verifier) {
  tvmgo_module* m = NULL;
  uintptr_t before = tvmgo_trust_enter(verifier);
  int rc = bytes != NULL ? tvmgo_module_load(path, bytes, n, flags, &m) : tvmgo_load_from_file(path, NULL, flags, &m);
  tvmgo_trust_leave(before);
  tvmgo_ret r = {(uintptr_t)m, taken(rc)};
  return r;
}

tvmgo_ret tvmgo_bridge_trust_open(const char* path, int fd, uintptr_t verifier) {
  int copy = -1;
  uintptr_t before = tvmgo_trust_enter(verifier);
  int rc = tvmgo_trust_is_needed() ? tvmgo_trust_open_file(path, fd, &copy) : 0;
  tvmgo_trust_leave(before);
  tvmgo_ret r = {(uintptr_t)(copy + 1), taken(rc)};
  return r;
}

tvmgo_ret tvmgo_bridge_get_function(uintptr_t m, const char* name, size_t len, int query_imports) {
  TVMFFIObject* f = NULL;
  int rc = tvmgo_module_get_function((tvmgo_module*)m, name, len, query_imports, &f);
  tvmgo_ret r = {(uintptr_t)f, taken(rc)};
  return r;
}

tvmgo_ret tvmgo_bridge_import(uintptr_t m, uintptr_t dep) {
  return done(tvmgo_module_import((tvmgo_module*)m, (tvmgo_module*)dep));
}

tvmgo_ret tvmgo_bridge_clear_imports(uintptr_t m) { return done(tvmgo_module_clear_imports((tvmgo_module*)m)); }

tvmgo_ret tvmgo_bridge_system_lib(const char* prefix, size_t len) {
  tvmgo_module* m = NULL;
  int rc = tvmgo_module_system_lib(prefix, len, &m);
  tvmgo_ret r = {(uintptr_t)m, taken(rc)};
  return r;
}

tvmgo_ret tvmgo_bridge_function_names(uintptr_t m, int with_imports) {
  TVMFFIObject* names = NULL;
  int rc = (with_imports ? tvmgo_module_all_function_names : tvmgo_module_function_names)((tvmgo_module*)m, &names);
  tvmgo_ret r = {(uintptr_t)names, taken(rc)};
  return r;
}

typedef struct {
  const char* name;
  size_t len;
  tvmgo_image* image; /* owned */
  tvmgo_part* parts;
  int32_t cap, *n;
} constants;

static void add_part(void* ctx, const void* data, size_t size) {
  constants* c = ctx;
  if (*c->n < c->cap) c->parts[(*c->n)++] = (tvmgo_part){(uintptr_t)data, size};
}

/* Stops the walk at the module that has the function. */
static int constants_in(void* ctx, tvmgo_module* m) {
  constants* c = ctx;
#define SKIP(name) if (strcmp(m->kind, name) == 0) return 0; /* its functions are those of its imports */
  TVMGO_CONSTANTS_KINDS(SKIP)
#undef SKIP
  int has = tvmgo_module_implements(m, c->name, c->len);
  if (has <= 0) return has;
  if (m->cls->implements == NULL || m->image == NULL || m->image->generation != TVMGO_GENERATION_MODERN) return 1;
  c->image = m->image;
  tvmgo_object_retain(c->image);
  tvmgo_image_constants(c->image, add_part, c);
  return 1;
}

tvmgo_ret tvmgo_bridge_constants(uintptr_t m, const char* name, size_t len, tvmgo_part* parts, int32_t cap,
    int32_t* n) {
  constants c = {name, len, NULL, parts, cap, n};
  *n = 0;
  int rc = tvmgo_module_walk((tvmgo_module*)m, constants_in, &c);
  tvmgo_ret r = {(uintptr_t)c.image, rc < 0 ? taken(rc) : 0};
  return r;
}

static int unsupported(const tvmgo_module* m, const char* what) {
  return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "a module of kind \"%s\" cannot %s", m->kind, what);
}

tvmgo_any_ret tvmgo_bridge_module_text(uintptr_t mod, int what, const char* text, size_t len) {
  tvmgo_module* m = (tvmgo_module*)mod;
  tvmgo_any_ret r = {{0}, 0};
  int rc = 0;
  if (what == 0) {
    rc = m->cls->source != NULL ? m->cls->source(m, text, &r.value)
                                : unsupported(m, "show its source");
  } else if (what == 1) {
    rc = m->cls->save_bytes != NULL ? m->cls->save_bytes(m, &r.value)
                                    : unsupported(m, "be saved as bytes");
  } else {
    rc = tvmgo_module_describe(m, text, len, what == 3, &r.value);
  }
  r.err = taken(rc);
  return r;
}

tvmgo_ret tvmgo_bridge_write_file(uintptr_t mod, const char* path, const char* format) {
  tvmgo_module* m = (tvmgo_module*)mod;
  return done(m->cls->write_file != NULL ? m->cls->write_file(m, path, format)
                                         : unsupported(m, "be saved to a file"));
}

/* ---- tensors ---- */

tvmgo_ret tvmgo_bridge_tensor_new(const int64_t* shape, int32_t ndim, DLDataType dtype, DLDevice dev,
                                  const char* scope) {
  return made(tvmgo_tensor_new(shape, ndim, dtype, dev, scope));
}

tvmgo_ret tvmgo_bridge_tensor_view(uintptr_t t, const int64_t* shape, int32_t ndim, DLDataType dtype,
                                   const int64_t* strides, uint64_t byte_offset) {
  return made(tvmgo_tensor_view((tvmgo_tensor*)t, shape, ndim, dtype, strides, byte_offset));
}

tvmgo_ret tvmgo_bridge_tensor_wrap(uintptr_t dl, uintptr_t owner, void (*release)(void* owner)) {
  return made(tvmgo_tensor_wrap((const DLTensor*)dl, (void*)owner, release));
}

tvmgo_ret tvmgo_bridge_tensor_bytes(uintptr_t t, void* bytes, size_t n, int to_tensor) {
  return done(tvmgo_dl_copy_bytes(tvmgo_tensor_dl((void*)t), bytes, n, to_tensor));
}

/* A copy between two devices may be recorded by either. */
static int keep_copy_for_graph(TVMFFIObject* from, TVMFFIObject* to, TVMFFIStreamHandle stream) {
  DLDevice devs[2] = {tvmgo_tensor_dl(from)->device, tvmgo_tensor_dl(to)->device};
  if (TVMGO_LIKELY(tvmgo_recordings == 0)) return 0;
  for (int i = 0; i < 2; i++) {
    if (i == 1 && memcmp(&devs[0], &devs[1], sizeof *devs) == 0) break;
    if (tvmgo_recording_retain(devs[i], stream, from) != 0 ||
        tvmgo_recording_retain(devs[i], stream, to) != 0) return -1;
  }
  return 0;
}

tvmgo_ret tvmgo_bridge_tensor_copy(uintptr_t from, uintptr_t to, uintptr_t stream) {
  if (keep_copy_for_graph((void*)from, (void*)to, (TVMFFIStreamHandle)stream) != 0) return done(-1);
  return done(tvmgo_dl_copy(tvmgo_tensor_dl((void*)from), tvmgo_tensor_dl((void*)to),
                            (TVMFFIStreamHandle)stream));
}

tvmgo_ret tvmgo_bridge_to_dlpack(uintptr_t t, int versioned) {
  void* m = NULL;
  int rc = versioned ? TVMFFITensorToDLPackVersioned((void*)t, (DLManagedTensorVersioned**)&m)
                     : TVMFFITensorToDLPack((void*)t, (DLManagedTensor**)&m);
  tvmgo_ret r = {(uintptr_t)m, taken(rc)};
  return r;
}

tvmgo_ret tvmgo_bridge_from_dlpack(uintptr_t managed, int versioned) {
  TVMFFIObjectHandle t = NULL;
  int rc = versioned
               ? TVMFFITensorFromDLPackVersioned((DLManagedTensorVersioned*)managed, 0, 0, &t)
               : TVMFFITensorFromDLPack((DLManagedTensor*)managed, 0, 0, &t);
  tvmgo_ret r = {(uintptr_t)t, taken(rc)};
  return r;
}

/* ---- devices ---- */

tvmgo_any_ret tvmgo_bridge_device_attr(int32_t type, int32_t id, int32_t kind) {
  tvmgo_any_ret r = {{0}, 0};
  r.err = taken(tvmgo_device_attr(type, id, kind, &r.value));
  return r;
}

tvmgo_any_ret tvmgo_bridge_device_property(int32_t type, int32_t id, const char* name) {
  tvmgo_any_ret r = {{0}, 0};
  r.err = taken(tvmgo_device_property(type, id, name, &r.value));
  return r;
}

tvmgo_ret tvmgo_bridge_sync(DLDevice dev, uintptr_t stream) {
  return done(tvmgo_device_sync(dev, (TVMFFIStreamHandle)stream));
}

tvmgo_ret tvmgo_bridge_stream_create(DLDevice dev) {
  TVMFFIStreamHandle s = NULL;
  int rc = tvmgo_device_stream_create(dev, &s);
  tvmgo_ret r = {(uintptr_t)s, taken(rc)};
  return r;
}

tvmgo_ret tvmgo_bridge_stream_create_with_priority(DLDevice dev, int32_t priority) {
  TVMFFIStreamHandle s = NULL;
  int rc = tvmgo_device_stream_create_with_priority(dev, priority, &s);
  tvmgo_ret r = {(uintptr_t)s, taken(rc)};
  return r;
}

tvmgo_ret tvmgo_bridge_stream_priorities(DLDevice dev, int32_t* least, int32_t* greatest) {
  return done(tvmgo_device_stream_priorities(dev, least, greatest));
}

tvmgo_ret tvmgo_bridge_stream_free(DLDevice dev, uintptr_t stream) {
  return done(tvmgo_device_stream_free(dev, (TVMFFIStreamHandle)stream));
}

tvmgo_ret tvmgo_bridge_stream_order(DLDevice dev, uintptr_t src, uintptr_t dst) {
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api == NULL) return done(-1);
  if (tvmgo_recording_refuses("order streams", dev, (TVMFFIStreamHandle)src) != 0 ||
      tvmgo_recording_refuses("order streams", dev, (TVMFFIStreamHandle)dst) != 0)
    return done(-1);
  if (src == dst || !TVMGODeviceAPIHas(api, sync_stream_from_to)) return done(0);
  return done(api->sync_stream_from_to(api, dev, (TVMFFIStreamHandle)src, (TVMFFIStreamHandle)dst));
}

tvmgo_ret tvmgo_bridge_timer_new(DLDevice dev) {
  void* t = NULL;
  int rc = tvmgo_timer_new(dev, &t);
  tvmgo_ret r = {(uintptr_t)t, taken(rc)};
  return r;
}

tvmgo_ret tvmgo_bridge_timer_mark(DLDevice dev, uintptr_t timer, uintptr_t stream, int stop) {
  if (tvmgo_recording_refuses("mark time", dev, (TVMFFIStreamHandle)stream) != 0) return done(-1);
  return done(tvmgo_timer_mark(dev, (void*)timer, (TVMFFIStreamHandle)stream, stop));
}

tvmgo_ret tvmgo_bridge_timer_read(DLDevice dev, uintptr_t timer) {
  int64_t ns = 0;
  int rc = tvmgo_timer_read(dev, (void*)timer, &ns);
  tvmgo_ret r = {(uintptr_t)ns, taken(rc)};
  return r;
}

int tvmgo_bridge_timer_on_device(DLDevice dev) { return tvmgo_timer_on_device(dev); }

void tvmgo_bridge_timer_free(DLDevice dev, uintptr_t timer) { tvmgo_timer_free(dev, (void*)timer); }

tvmgo_ret tvmgo_bridge_memory_stats(DLDevice dev, TVMGOMemoryStats* out) {
  return done(tvmgo_device_memory(dev, out));
}

tvmgo_ret tvmgo_bridge_workspace_new(const int64_t* shape, int32_t ndim, DLDataType dtype, DLDevice dev,
                                     uintptr_t stream) {
  return made(tvmgo_tensor_workspace(shape, ndim, dtype, dev, (TVMFFIStreamHandle)stream));
}

tvmgo_ret tvmgo_bridge_tensor_on_stream(const int64_t* shape, int32_t ndim, DLDataType dtype, DLDevice dev,
                                        uintptr_t stream) {
  return made(tvmgo_tensor_on_stream(shape, ndim, dtype, dev, (TVMFFIStreamHandle)stream));
}

tvmgo_ret tvmgo_bridge_graph_begin(DLDevice dev, uintptr_t stream) {
  return made(tvmgo_graph_begin(dev, (TVMFFIStreamHandle)stream));
}

tvmgo_ret tvmgo_bridge_graph_end(uintptr_t graph, int discard) {
  return done(tvmgo_graph_end((tvmgo_graph*)graph, discard));
}

tvmgo_ret tvmgo_bridge_graph_launch(uintptr_t graph, uintptr_t stream) {
  return done(tvmgo_graph_launch((tvmgo_graph*)graph, (TVMFFIStreamHandle)stream));
}

tvmgo_ret tvmgo_bridge_pinned_new(const int64_t* shape, int32_t ndim, DLDataType dtype, DLDevice dev) {
  return made(tvmgo_tensor_pinned(shape, ndim, dtype, dev));
}

tvmgo_ret tvmgo_bridge_workspace_stats(DLDevice dev, tvmgo_workspace_stats* out) {
  return done(tvmgo_workspace_stats_of(dev, out));
}

tvmgo_ret tvmgo_bridge_workspace_trim(DLDevice dev) {
  int64_t freed = 0;
  int rc = tvmgo_workspace_trim_device(dev, &freed);
  tvmgo_ret r = {(uintptr_t)freed, taken(rc)};
  return r;
}

tvmgo_ret tvmgo_bridge_workspace_set_limit(DLDevice dev, int64_t bytes) {
  int64_t old = 0;
  int rc = tvmgo_workspace_set_limit(dev, bytes, &old);
  tvmgo_ret r = {(uintptr_t)old, taken(rc)};
  return r;
}

/* ---- values ---- */

tvmgo_ret tvmgo_bridge_global_set(const char* name, size_t len, uintptr_t f, int allow_override) {
  TVMFFIByteArray n = {name, len};
  return done(TVMFFIFunctionSetGlobal(&n, (TVMFFIObjectHandle)f, allow_override));
}

tvmgo_any_ret tvmgo_bridge_string(const char* data, size_t n, int bytes) {
  tvmgo_any_ret r = {{0}, 0};
  r.err = taken(bytes ? tvmgo_bytes_make(data, n, &r.value) : tvmgo_string_make(data, n, &r.value));
  return r;
}

tvmgo_ret tvmgo_bridge_shape(const int64_t* dims, size_t n) { return made(tvmgo_shape_new(dims, n)); }

tvmgo_ret tvmgo_bridge_array(const TVMFFIAny* items, int64_t n) {
  return made(tvmgo_array_new(items, n));
}

tvmgo_ret tvmgo_bridge_map(const TVMFFIAny* items, int64_t n) {
  TVMFFIObject* map = tvmgo_map_new(kTVMFFIMap);
  for (int64_t i = 0; map != NULL && i < n; i++) {
    if (tvmgo_map_set(&map, &items[2 * i], &items[2 * i + 1]) != 0) {
      tvmgo_object_release(map);
      map = NULL;
    }
  }
  return made(map);
}

int64_t tvmgo_bridge_map_items(uintptr_t map, TVMFFIAny* items, int64_t cap) {
  void* cursor = NULL;
  const TVMFFIAny *key, *value;
  int64_t n = 0;
  while (tvmgo_map_next((TVMFFIObject*)map, &cursor, &key, &value)) {
    if (n < cap) {
      items[2 * n] = *key;
      items[2 * n + 1] = *value;
    }
    n++;
  }
  return n;
}

/* ---- errors ---- */

/* The Go handle of an error; the error is identified by its release function. */
typedef struct {
  TVMFFIObject header;
  TVMFFIOpaqueObjectCell cell;
  void (*release)(void*);
} go_context;

static void go_context_delete(void* self, int flags) {
  go_context* c = self;
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) && tvmgo_can_enter_go())
    c->release(c->cell.handle);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

uintptr_t tvmgo_bridge_error(const char* kind, size_t kind_len, const char* text, size_t text_len,
                             const char* backtrace, size_t backtrace_len, uintptr_t context,
                             void (*go_release)(void*)) {
  TVMFFIObject* e = tvmgo_error_new(kind, kind_len, text, text_len, backtrace, backtrace_len);
  if (context == 0) return (uintptr_t)e;
  go_context* c =
      e == NULL ? NULL : tvmgo_object_new(sizeof *c, kTVMFFIOpaquePyObject, go_context_delete);
  if (c == NULL) {
    go_release((void*)context);
    return (uintptr_t)e;
  }
  c->cell.handle = (void*)context;
  c->release = go_release;
  tvmgo_error_cell(e)->extra_context = c;
  return (uintptr_t)e;
}

uintptr_t tvmgo_bridge_error_context(uintptr_t err, void (*go_release)(void*)) {
  go_context* c = tvmgo_error_cell((TVMFFIObject*)err)->extra_context;
  if (c == NULL || c->header.deleter != go_context_delete || c->release != go_release) return 0;
  return (uintptr_t)c->cell.handle;
}

int tvmgo_bridge_raise(uintptr_t err) {
  if (err == 0) return tvmgo_raise_oom();
  TVMFFIErrorSetRaised((void*)err);
  tvmgo_object_release((void*)err);
  return -1;
}

tvmgo_ret tvmgo_bridge_configure_threads(int n) { return done(tvmgo_parallel_configure(n)); }
