/* The table of devices. A registration has a number, a name, aliases and a constructor. Everything that needs a device
 * looks it up here. */
#include "device/device.h"
#include "profile/profile.h"
#include "device/device_names_gen.h"
#include "device/graph.h"
#include "device/stream_home.h"
#include "device/validate.h"
#include "object/usable.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char* name;     /* of a registered device; else NULL */
  char** aliases; /* NULL-terminated */
  _Atomic(const TVMGODeviceAPI*) api;
  int (*create)(void* ctx, const TVMGODeviceAPI** out);
  void* ctx;
  pthread_mutex_t create_lock; /* one thread constructs, others wait */
} device_slot;

pthread_mutex_t tvmgo_device_lock = PTHREAD_MUTEX_INITIALIZER;
static device_slot table[TVMGO_MAX_DEVICE_TYPE];

const char* tvmgo_device_type_name(int32_t device_type) {
  if (device_type >= TVMGO_RPC_MASK) return "rpc";
  if (device_type < 0 || device_type >= TVMGO_MAX_DEVICE_TYPE) return NULL;
  for (const device_name* d = device_names; d->name != NULL; d++)
    if (d->number == device_type) return d->name;
  pthread_mutex_lock(&tvmgo_device_lock);
  const char* name = table[device_type].name; /* never freed once set */
  pthread_mutex_unlock(&tvmgo_device_lock);
  return name;
}

static void make_create_lock(device_slot* slot) {
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&slot->create_lock, &attr);
  pthread_mutexattr_destroy(&attr);
}

void tvmgo_device_locks_renew(void) {
  for (int n = 0; n < TVMGO_MAX_DEVICE_TYPE; n++)
    if (table[n].name != NULL) make_create_lock(&table[n]);
}

static int text_is(const char* s, const char* name, size_t len) {
  return strlen(s) == len && memcmp(s, name, len) == 0;
}

/* The number of a name, or -1. Under the lock. */
static int32_t find_name(const char* name, size_t len) {
  for (const device_name* d = device_names; d->name != NULL; d++) {
    if (text_is(d->name, name, len)) return d->number;
    for (int i = 0; d->aliases[i] != NULL; i++)
      if (text_is(d->aliases[i], name, len)) return d->number;
  }
  for (int32_t n = 0; n < TVMGO_MAX_DEVICE_TYPE; n++) {
    if (table[n].name == NULL) continue;
    if (text_is(table[n].name, name, len)) return n;
    for (int i = 0; table[n].aliases != NULL && table[n].aliases[i] != NULL; i++)
      if (text_is(table[n].aliases[i], name, len)) return n;
  }
  return -1;
}

int32_t tvmgo_device_type_number(const char* name, size_t len) {
  pthread_mutex_lock(&tvmgo_device_lock);
  int32_t n = find_name(name, len);
  pthread_mutex_unlock(&tvmgo_device_lock);
  return n;
}

const char* tvmgo_device_name(int32_t device_type) { return tvmgo_device_type_name(device_type); }

int32_t tvmgo_device_type(const char* name) {
  return name == NULL ? -1 : tvmgo_device_type_number(name, strcspn(name, " "));
}

void tvmgo_device_list(char* buf, size_t cap) {
  size_t at = 0;
  buf[0] = 0;
  pthread_mutex_lock(&tvmgo_device_lock);
  for (int n = 0; n < TVMGO_MAX_DEVICE_TYPE && at < cap; n++) {
    if (table[n].name == NULL) continue;
    int w = snprintf(buf + at, cap - at, "%s%s", at == 0 ? "" : ", ", table[n].name);
    if (w < 0) break;
    at += (size_t)w;
  }
  pthread_mutex_unlock(&tvmgo_device_lock);
}

static int raise_missing(int32_t device_type) {
  const char* name = tvmgo_device_type_name(device_type);
  char enabled[256];
  tvmgo_device_list(enabled, sizeof enabled);
  if (device_type >= TVMGO_RPC_MASK)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "device type %d is a remote one: RPC sessions are not supported",
                       (int)device_type);
  if (name == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "device type %d is unknown; enabled: %s",
                       (int)device_type, enabled);
  return tvmgo_raise(TVMGO_UNAVAILABLE_ERROR,
                     "device %s is not enabled here (enabled: %s): in Go import the package that "
                     "brings it, in C register it with TVMGODeviceAPIRegister",
                     name, enabled);
}

const TVMGODeviceAPI* tvmgo_device_api(int32_t device_type) {
  if (TVMGO_UNLIKELY(device_type < 0 || device_type >= TVMGO_MAX_DEVICE_TYPE)) {
    raise_missing(device_type);
    return NULL;
  }
  device_slot* slot = &table[device_type];
  const TVMGODeviceAPI* api = atomic_load_explicit(&slot->api, memory_order_acquire);
  if (TVMGO_LIKELY(api != NULL)) return api;
  pthread_mutex_lock(&tvmgo_device_lock);
  int registered = slot->name != NULL;
  pthread_mutex_unlock(&tvmgo_device_lock);
  if (!registered) {
    raise_missing(device_type);
    return NULL;
  }
  if (pthread_mutex_lock(&slot->create_lock) != 0) { /* EDEADLK: this thread is in create */
    tvmgo_raise(TVMGO_INTERNAL_ERROR, "open device %s: its constructor asks for the device itself",
                slot->name);
    return NULL;
  }
  api = atomic_load_explicit(&slot->api, memory_order_acquire);
  int rc = 0;
  if (api == NULL) {
    rc = slot->create(slot->ctx, &api);
    if (rc == 0 && api == NULL)
      rc = tvmgo_raise(TVMGO_INTERNAL_ERROR, "its constructor gave no table");
    if (rc == 0 && (api = tvmgo_validate_wrap(api, device_type)) == NULL) rc = -1;
    if (rc == 0) atomic_store_explicit(&slot->api, api, memory_order_release);
  }
  pthread_mutex_unlock(&slot->create_lock);
  if (rc == 0) return api;
  tvmgo_raise_context("open device %s", slot->name);
  return NULL;
}

int TVMGODeviceAPIGet(int32_t device_type, int32_t allow_missing, const TVMGODeviceAPI** out) {
  if (out == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "get device API: out is NULL");
  if (tvmgo_check_usable("get device API") != 0) return *out = NULL, -1;
  *out = tvmgo_device_api(device_type);
  if (*out != NULL) return 0;
  if (!allow_missing) return -1;
  tvmgo_object_release(tvmgo_error_take());
  return 0;
}

/* device_api.<name>(): the address of the device's table. */
static int get_table(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const tvmgo_builtin* b = self;
  if (tvmgo_check_count(b->name, n, 0, 1) != 0) return -1; /* TVM passes allow_missing */
  const TVMGODeviceAPI* api = tvmgo_device_api(b->flag);
  if (api == NULL) return -1;
  *result = tvmgo_any_ptr((void*)api);
  return 0;
}

static int name_is_wellformed(const char* s) {
  if (s == NULL || *s == 0) return 0;
  for (; *s; s++)
    if (!((*s >= 'a' && *s <= 'z') || (*s >= '0' && *s <= '9') || *s == '_')) return 0;
  return 1;
}

/* Checks that the mandatory entries of a table are set. */
static int check_table(const char* name, const TVMGODeviceAPI* api) {
  static const size_t mandatory = offsetof(TVMGODeviceAPI, stream_sync) + sizeof api->stream_sync;
  if (api->struct_size < mandatory)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "register device %s: struct_size is %zu, at least %zu are needed: set it to "
                       "sizeof(TVMGODeviceAPI)",
                       name, api->struct_size, mandatory);
  if (!api->set_device || !api->get_attr || !api->alloc_data_space || !api->free_data_space ||
      !api->copy_data_from_to || !api->stream_sync)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "register device %s: a mandatory function is NULL", name);
  return 0;
}

static void free_aliases(char** aliases) {
  for (int i = 0; aliases != NULL && aliases[i] != NULL; i++) free(aliases[i]);
  free(aliases);
}

static int copy_aliases(const char* const* from, char*** out) {
  size_t n = 0;
  while (from != NULL && from[n] != NULL) n++;
  char** to = calloc(n + 1, sizeof *to);
  for (size_t i = 0; to != NULL && i < n; i++) {
    to[i] = strdup(from[i]);
    if (to[i] == NULL) {
      free_aliases(to);
      to = NULL;
    }
  }
  *out = to;
  return to == NULL ? tvmgo_raise_oom() : 0;
}

/* A name may be new, or already belong to this number. Under the lock. */
static int name_fits(const char* name, int32_t number) {
  int32_t taken = find_name(name, strlen(name));
  if (taken < 0 || taken == number) return 1;
  tvmgo_raise(TVMGO_VALUE_ERROR, "register device %d: the name \"%s\" belongs to device type %d",
              (int)number, name, (int)taken);
  return 0;
}

static int install(const TVMGODeviceSpec* spec, char* name, char** aliases) {
  int32_t number = spec->device_type;
  device_slot* slot = &table[number];
  if (slot->name != NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "register device %s: number %d is taken by the registered device %s", name,
                       (int)number, slot->name);
  for (const device_name* d = device_names; d->name != NULL; d++)
    if (d->number == number && strcmp(d->name, name) != 0)
      return tvmgo_raise(TVMGO_VALUE_ERROR,
                         "register device %s: number %d is \"%s\": register it under that name, or "
                         "take a free number",
                         name, (int)number, d->name);
  if (!name_fits(name, number)) return -1;
  for (int i = 0; aliases[i] != NULL; i++)
    if (!name_fits(aliases[i], number)) return -1;
  const TVMGODeviceAPI* api = spec->api;
  if (api != NULL && (api = tvmgo_validate_wrap(api, number)) == NULL) return -1;
  slot->aliases = aliases;
  slot->create = spec->create;
  slot->ctx = spec->ctx;
  make_create_lock(slot);
  atomic_store_explicit(&slot->api, api, memory_order_release);
  slot->name = name;
  return 0;
}

enum { MAX_DEVICE_NAME = 40 }; /* with "device_api." it fits into a message, and into RuntimeEnabled */

int TVMGODeviceAPIRegister(const TVMGODeviceSpec* spec) {
  if (tvmgo_check_usable("register device") != 0) return -1;
  if (spec == NULL || spec->struct_size < sizeof *spec)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "register device: %s",
                       spec == NULL ? "spec is NULL" : "set spec.struct_size to its size");
  if (!name_is_wellformed(spec->name))
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "register device: the name \"%.99s\" must be of a-z, 0-9 and _",
                       spec->name == NULL ? "" : spec->name);
  if (strlen(spec->name) > MAX_DEVICE_NAME)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "register device %.40s…: the name has %zu bytes, at most %d are allowed",
                       spec->name, strlen(spec->name), MAX_DEVICE_NAME);
  if (spec->device_type < 1 || spec->device_type >= TVMGO_MAX_DEVICE_TYPE)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "register device %s: number %d is out of range: take a known one or a free "
                       "n with %d < n < %d",
                       spec->name, (int)spec->device_type, kDLExtDev, TVMGO_MAX_DEVICE_TYPE);
  int known = 0;
  for (const device_name* d = device_names; d->name != NULL; d++) known |= d->number == spec->device_type;
  if (!known && spec->device_type <= kDLExtDev)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "register device %s: new numbers n are %d < n < %d, not %d", spec->name,
                       kDLExtDev, TVMGO_MAX_DEVICE_TYPE, (int)spec->device_type);
  if (spec->api == NULL && spec->create == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "register device %s: api and create are both NULL",
                       spec->name);
  if (spec->api != NULL && check_table(spec->name, spec->api) != 0) return -1;
  char* name = strdup(spec->name);
  char** aliases = NULL;
  if (name == NULL) return tvmgo_raise_oom();
  if (copy_aliases(spec->aliases, &aliases) != 0) {
    free(name);
    return -1;
  }
  TVMFFIObject* earlier = tvmgo_error_take();
  pthread_mutex_lock(&tvmgo_device_lock);
  int rc = install(spec, name, aliases);
  pthread_mutex_unlock(&tvmgo_device_lock);
  tvmgo_error_put_back(earlier);
  if (rc != 0) {
    free(name);
    free_aliases(aliases);
    return -1;
  }
  char global[64];
  int len = snprintf(global, sizeof global, "device_api.%s", name);
  TVMFFIObject* f = tvmgo_builtin_new(global, get_table, spec->device_type);
  if (f == NULL) return -1;
  rc = tvmgo_global_set(global, (size_t)len, f, TVMGO_GLOBAL_OVERRIDES | TVMGO_GLOBAL_BUILTIN);
  tvmgo_object_release(f);
  return rc;
}

void tvmgo_device_builtin(int32_t device_type, const TVMGODeviceAPI* api,
    int (*create)(void* ctx, const TVMGODeviceAPI** out),
                          void* ctx) {
  const TVMGODeviceSpec spec = {.struct_size = sizeof spec,
                                .device_type = device_type,
                                .name = tvmgo_device_type_name(device_type),
                                .api = api,
                                .create = create,
                                .ctx = ctx};
  if (TVMGODeviceAPIRegister(&spec) != 0) abort();
}

static int create_nothing(void* why, const TVMGODeviceAPI** out) {
  return tvmgo_raise(TVMGO_UNAVAILABLE_ERROR, "%s", (const char*)why);
}

void tvmgo_device_not_built(int32_t device_type, const char* why) {
  tvmgo_device_builtin(device_type, NULL, create_nothing, (void*)why);
}

int tvmgo_device_set(int32_t device_type, int32_t device_id) {
  const TVMGODeviceAPI* api = tvmgo_device_api(device_type);
  if (api == NULL || api->set_device(api, device_id) != 0)
    return tvmgo_raise_context("set device");
  tvmgo_thread_get()->active_device[device_type] = device_id;
  return 0;
}

int tvmgo_device_attr(int32_t device_type, int32_t device_id, int32_t kind, TVMFFIAny* out) {
  *out = tvmgo_any_none();
  const TVMGODeviceAPI* api = tvmgo_device_api(device_type);
  if (api == NULL) {
    if (kind != kTVMGODeviceAttrExist || tvmgo_device_type_name(device_type) == NULL) return -1;
    tvmgo_object_release(tvmgo_error_take());
    *out = tvmgo_any_int(0);
    return 0;
  }
  return api->get_attr(api, device_id, kind, out);
}

int tvmgo_device_property(int32_t device_type, int32_t device_id, const char* name, TVMFFIAny* out) {
  *out = tvmgo_any_none();
  const TVMGODeviceAPI* api = tvmgo_device_api(device_type);
  if (api == NULL) return -1;
  return TVMGODeviceAPIHas(api, target_property) ? api->target_property(api, device_id, name, out) : 0;
}

int tvmgo_device_sync(DLDevice dev, TVMFFIStreamHandle stream) {
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api == NULL) return tvmgo_raise_context("synchronize");
  if (tvmgo_recording_refuses("synchronize", dev, stream) != 0) return -1;
  tvmgo_profile_thread* t = tvmgo_profiling;
  int64_t begin = TVMGO_UNLIKELY(t != NULL) ? tvmgo_profile_now() : 0;
  tvmgo_pool_mark mark = tvmgo_pool_before_sync(dev, stream);
  if (api->stream_sync(api, dev, stream) != 0) return -1;
  tvmgo_pool_after_sync(dev, mark);
  if (TVMGO_UNLIKELY(t != NULL) && dev.device_type != kDLCPU) {
    tvmgo_profile_site site = {.kind = TVMGO_PROFILE_WAIT, .device = dev, .stream = stream, .name = "", .function = ""};
    tvmgo_profile_add(t, begin, tvmgo_profile_now(), tvmgo_profile_site_of(t->profile, &site), 0, 0);
  }
  return 0;
}

/* A stream was made: an earlier one with this handle may have been freed without a call of this library. */
static void stream_made(DLDevice dev, TVMFFIStreamHandle stream) {
  tvmgo_pool_stream_gone(dev, stream);
  if (stream != NULL) tvmgo_stream_home_gone(dev, stream);
}

int tvmgo_device_stream_create(DLDevice dev, TVMFFIStreamHandle* out) {
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  *out = NULL;
  if (api == NULL) return -1;
  if (!TVMGODeviceAPIHas(api, create_stream)) return api->set_device(api, dev.device_id);
  if (api->create_stream(api, dev, out) != 0) return -1;
  stream_made(dev, *out);
  return 0;
}

/* The table of a device whose streams have priorities; NULL with an error raised. */
static const TVMGODeviceAPI* with_priorities(DLDevice dev) {
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api == NULL || (TVMGODeviceAPIHas(api, create_stream_with_priority) &&
      TVMGODeviceAPIHas(api, stream_priority_range)))
    return api;
  tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "streams of device %s have no priorities",
      tvmgo_device_type_name(dev.device_type));
  return NULL;
}

int tvmgo_device_stream_create_with_priority(DLDevice dev, int32_t priority, TVMFFIStreamHandle* out) {
  const TVMGODeviceAPI* api = with_priorities(dev);
  *out = NULL;
  if (api == NULL || api->create_stream_with_priority(api, dev, priority, out) != 0) return -1;
  stream_made(dev, *out);
  return 0;
}

int tvmgo_device_stream_priorities(DLDevice dev, int32_t* least, int32_t* greatest) {
  const TVMGODeviceAPI* api = with_priorities(dev);
  return api == NULL ? -1 : api->stream_priority_range(api, dev, least, greatest);
}

int tvmgo_device_stream_free(DLDevice dev, TVMFFIStreamHandle stream) {
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api == NULL) return -1;
  if (stream == NULL || !TVMGODeviceAPIHas(api, free_stream)) return 0;
  tvmgo_pool_stream_gone(dev, stream);
  tvmgo_stream_home_gone(dev, stream);
  return api->free_stream(api, dev, stream);
}

int tvmgo_device_check_alignment(DLDevice dev, size_t alignment) {
  int is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (TVMGO_LIKELY(is_power && (alignment <= TVMGO_DEVICE_ALIGNMENT || dev.device_type == kDLCPU))) return 0;
  const char* name = tvmgo_device_type_name(dev.device_type);
  if (!is_power)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "allocate on %s:%d: alignment %zu is not a power of two", name,
        (int)dev.device_id, alignment);
  return tvmgo_raise(TVMGO_VALUE_ERROR,
                     "allocate on %s:%d: alignment %zu is more than %d bytes, the most that memory of a device is "
                         "aligned to: ask for "
                     "at most that", name, (int)dev.device_id, alignment, TVMGO_DEVICE_ALIGNMENT);
}

int tvmgo_device_memory(DLDevice dev, TVMGOMemoryStats* out) {
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api == NULL) return -1;
  if (!TVMGODeviceAPIHas(api, memory_stats))
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "device %s keeps no memory statistics",
                       tvmgo_device_type_name(dev.device_type));
  tvmgo_validate_flush();
  TVMGOMemoryStats s = {sizeof s, -1, -1, -1, -1, -1, -1, -1, -1};
  if (api->memory_stats(api, dev, &s) != 0) return -1;
  tvmgo_workspace_stats pool; /* the device sees it as data space */
  tvmgo_pool_stats(dev, &pool);
  if (s.data_bytes >= pool.held) s.data_bytes -= pool.held;
  if (s.data_count >= pool.blocks) s.data_count -= pool.blocks;
  s.workspace_bytes = (s.workspace_bytes > 0 ? s.workspace_bytes : 0) + pool.held;
  s.workspace_in_use_bytes =
      (s.workspace_in_use_bytes > 0 ? s.workspace_in_use_bytes : 0) + pool.in_use;
  s.struct_size = out->struct_size;
  memcpy(out, &s, out->struct_size < sizeof s ? out->struct_size : sizeof s);
  return 0;
}
