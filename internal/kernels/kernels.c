/* Kernels of device modules: creating and releasing them, and the errors of a launch. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

int tvmgoKernelBuild(uintptr_t module, tvmgo_kernel* k, int32_t index, int32_t device); /* module.go */
void tvmgoKernelsFree(uintptr_t module);

tvmgo_kernels* tvmgo_kernels_new(const tvmgo_kernel_class* cls, int32_t count, uintptr_t go) {
  tvmgo_kernels* m = calloc(1, sizeof *m);
  if (m == NULL) return NULL;
  m->list = calloc(count > 0 ? (size_t)count : 1, cls->kernel_size);
  if (m->list == NULL) {
    free(m);
    return NULL;
  }
  m->cls = cls;
  m->count = count;
  m->go = go;
  m->refs = 1;
  return m;
}

void tvmgo_kernels_release(tvmgo_kernels* m) {
  if (atomic_fetch_sub(&m->refs, 1) != 1 || !tvmgo_can_enter_go()) return;
  for (int32_t i = 0; i < m->count; i++) {
    tvmgo_kernel* k = tvmgo_kernel_at(m, i);
    for (int d = 0; d < TVMGO_MAX_DEVICES; d++)
      if (k->built[d] != NULL) m->cls->free_built(k->built[d]);
    free(k->name);
    free(k->symbol);
    free(k->sizes);
  }
  free(m->list);
  tvmgoKernelsFree(m->go);
  free(m);
}

int tvmgo_kernel_describe(tvmgo_kernels* m, int32_t i, const tvmgo_kernel_type* type) {
  tvmgo_kernel* k = tvmgo_kernel_at(m, i);
  k->module = m;
  k->index = i;
  k->name = strdup(type->name);
  k->symbol = strdup(type->symbol);
  k->sizes = strdup(type->sizes);
  if (k->name == NULL || k->symbol == NULL || k->sizes == NULL) return tvmgo_raise_oom();
  k->num_args = type->num_args;
  k->num_launch = type->num_launch;
  if (k->num_args > 0) memcpy(k->args, type->args, (size_t)k->num_args);
  if (k->num_launch > 0) memcpy(k->launch, type->launch, (size_t)k->num_launch);
  k->programmatic = type->programmatic != 0;
  k->cooperative = type->cooperative != 0;
  return m->cls->complete == NULL ? 0 : m->cls->complete(k);
}

void* tvmgo_kernel_build(tvmgo_kernel* k, int32_t device) {
  if (tvmgo_enter_go("building a kernel") != 0) return NULL;
  if (tvmgoKernelBuild(k->module->go, k, k->index, device) != 0) return NULL;
  return tvmgo_kernel_built(k, device);
}

int tvmgo_kernel_report_on(tvmgo_kernels* m, int32_t index, int32_t device, int64_t threads, size_t dynamic,
                           tvmgo_kernel_report* out) {
  tvmgo_kernel* k = tvmgo_kernel_at(m, index);
  if (m->cls->report == NULL) return 1;
  void* built = tvmgo_kernel_is_built(k, device) ? tvmgo_kernel_built(k, device) : tvmgo_kernel_build(k, device);
  *out = (tvmgo_kernel_report){-1, -1, -1, -1, -1, -1, -1};
  return built == NULL ? -1 : m->cls->report(k, built, device, threads, dynamic, out);
}

/* Builds a kernel first: that is no time of the launch. An error is the launch's. */
static void build_ahead(tvmgo_kernel* k, DLDevice dev) {
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api != NULL && api->set_device(api, dev.device_id) == 0 && dev.device_id < TVMGO_MAX_DEVICES &&
      (tvmgo_kernel_is_built(k, dev.device_id) || tvmgo_kernel_build(k, dev.device_id) != NULL))
    return;
  tvmgo_object_release(tvmgo_error_take());
}

int tvmgo_kernel_launch_profiled(tvmgo_kernel* k, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  int32_t type = k->module->cls->device_type;
  DLDevice dev = {(DLDeviceType)type, tvmgo_thread_get()->active_device[type]};
  tvmgo_profile_thread* t = tvmgo_profiling;
  tvmgo_profile_site site = {.kind = TVMGO_PROFILE_KERNEL, .device = dev, .name = k->name, .function = ""};
  uint32_t shapes = t->shapes != 0 ? t->shapes : tvmgo_profile_shapes_of(t, args, n < k->num_args ? n : k->num_args);
  tvmgo_work w;
  build_ahead(k, dev);
  t->launching = 1;
  tvmgo_work_begin(&w, dev, tvmgo_stream_get(type, dev.device_id));
  int rc = k->module->cls->launch(k, args, n, result);
  tvmgo_work_end(&w, &site, shapes, 0, rc);
  t->launching = 0;
  return rc;
}

static void drop(void* self) { tvmgo_kernels_release(self); }
static void drop_kernel(void* self) { tvmgo_kernels_release(((tvmgo_kernel*)self)->module); }

static void* object(tvmgo_kernels* m, void* self, TVMFFISafeCallType call, void (*deleter)(void*)) {
  TVMFFIObjectHandle h = NULL;
  atomic_fetch_add(&m->refs, 1);
  if (TVMFFIFunctionCreate(self, call, deleter, &h) == 0) return h;
  atomic_fetch_sub(&m->refs, 1);
  return NULL;
}

void* tvmgo_kernel_object(tvmgo_kernels* m, int32_t index) {
  return object(m, tvmgo_kernel_at(m, index), m->cls->launch, drop_kernel);
}

void* tvmgo_kernels_object(tvmgo_kernels* m, TVMFFISafeCallType call) { return object(m, m, call, drop); }

static int offset_alignment(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const tvmgo_kernels* m = self;
  if (n != 1 || args[0].type_index != kTVMFFIInt || args[0].v_int64 < 0 || args[0].v_int64 > INT32_MAX)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "the alignment of offsets: the argument must be the number of a device");
  size_t bytes = m->cls->offset_alignment((int32_t)args[0].v_int64);
  if (bytes == 0) return -1;
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = (int64_t)bytes;
  return 0;
}

void* tvmgo_kernels_alignment_object(tvmgo_kernels* m) { return tvmgo_kernels_object(m, offset_alignment); }

int tvmgo_raise_text(const char* kind, const char* text, size_t n, const char* backtrace, size_t backtrace_len) {
  TVMFFIObject* e = tvmgo_error_new(kind, strlen(kind), text, n < 100000 ? n : 100000, backtrace, backtrace_len);
  if (e == NULL) return tvmgo_raise_oom();
  TVMFFIErrorSetRaised(e);
  tvmgo_object_release(e);
  return -1;
}

char* tvmgo_take_error_text(char** kind) {
  TVMFFIObject* e = tvmgo_error_take();
  if (e == NULL) return NULL;
  const TVMFFIErrorCell* cell = tvmgo_error_cell(e);
  char* text = strndup(cell->message.data, cell->message.size);
  *kind = strndup(cell->kind.data, cell->kind.size);
  tvmgo_object_release(e);
  return text;
}

/* ---- errors of a launch ---- */

int tvmgo_kernel_bad_type(const tvmgo_kernel* k, int i, const char* want, const TVMFFIAny* v) {
  return tvmgo_raise(TVMGO_TYPE_ERROR, TVMGO_ARG " must be %s, not %s", k->name, i, want,
                     tvmgo_type_name(v->type_index));
}

int tvmgo_kernel_too_wide(const tvmgo_kernel* k, int i, int64_t v) {
  return tvmgo_raise(TVMGO_VALUE_ERROR, TVMGO_ARG " is %lld, which does not fit into 32 bits", k->name, i,
                     (long long)v);
}

int tvmgo_kernel_bad_size(const tvmgo_kernel* k, int i, int64_t v) {
  return tvmgo_raise(TVMGO_VALUE_ERROR, TVMGO_ARG ", a size of the launch, is negative: %lld", k->name, i,
                     (long long)v);
}

int tvmgo_kernel_too_many_blocks(const tvmgo_kernel* k, const size_t* s, int32_t device) {
  return tvmgo_raise(TVMGO_VALUE_ERROR, TVMGO_SHAPE ": a launch has at most 2^32-1 blocks there: split it",
                     TVMGO_SHAPE_ARGS(k, s, device));
}

static const char* type_name(const tvmgo_kernel* k) { return tvmgo_device_type_name(k->module->cls->device_type); }

int tvmgo_kernel_no_memory(const tvmgo_kernel* k, int i, int32_t device) {
  return tvmgo_raise(TVMGO_VALUE_ERROR, TVMGO_ARG " is NULL: memory of %s:%d is needed", k->name, i, type_name(k),
                     (int)device);
}

int tvmgo_kernel_bad_memory(const tvmgo_kernel* k, int i, int32_t device, const TVMFFIAny* v, const DLTensor* t) {
  if (t != NULL) {
    const char* advice = k->module->cls->copy_advice;
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       TVMGO_ARG " is an array of device type %d, the kernel runs on %s:%d: copy it there%s", k->name,
                       i, (int)t->device.device_type, type_name(k), (int)device, advice == NULL ? "" : advice);
  }
  if (v->type_index == kTVMFFINone) return tvmgo_kernel_no_memory(k, i, device);
  int is_array = v->type_index == kTVMFFITensor || v->type_index == kTVMFFIDLTensorPtr;
  return tvmgo_kernel_bad_type(k, i, is_array ? "an array" : "an array or its data", v);
}

int tvmgo_kernel_bad_handle(const tvmgo_kernel* k, int i, int32_t device, const tvmgo_handles* all, const void* data) {
  if (tvmgo_handle_kind(all, data) - 1u >= all->memory_kinds)
    return tvmgo_raise(TVMGO_VALUE_ERROR, TVMGO_ARG ": %p is not memory of %s: it was freed, or allocated elsewhere",
                       k->name, i, data, all->api);
  return tvmgo_raise(TVMGO_VALUE_ERROR,
                     TVMGO_ARG " is memory of %s:%d, the kernel runs on %s:%d: copy it there, or make that device the "
                               "active one",
                     k->name, i, all->api, (int)((const tvmgo_handle*)data)->device, all->api, (int)device);
}

int tvmgo_kernel_bad_offset(const tvmgo_kernel* k, int i, int32_t device, size_t offset, size_t nbytes, size_t align) {
  return tvmgo_raise(TVMGO_VALUE_ERROR,
                     TVMGO_ARG " begins at byte %zu of an allocation of %zu bytes: on %s:%d it must begin inside, at a "
                               "multiple of %zu bytes: copy it to an array of its own",
                     k->name, i, offset, nbytes, type_name(k), (int)device, align);
}

int tvmgo_kernel_wrong_count(const tvmgo_kernel* k, int32_t n) {
  return tvmgo_raise(TVMGO_TYPE_ERROR, "kernel %s takes %d values, %d arguments and %d launch sizes%s%s; %d were given",
                     k->name, (int)(k->num_args + k->num_launch), (int)k->num_args, (int)k->num_launch,
                     k->num_launch > 0 ? ": " : "", k->sizes, (int)n);
}
