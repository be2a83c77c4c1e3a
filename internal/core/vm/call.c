/* Calls: what runs on a thread, and what builtins ask it for. */
#include "vm/engine.h"

static __thread tvmgo_vm_call* running __attribute__((tls_model("initial-exec"))); /* the innermost */

static void forget_running(void) { running = NULL; }

__attribute__((constructor)) static void watch_frames(void) { tvmgo_frames_abandoned = forget_running; }

void tvmgo_vm_call_begin(tvmgo_vm_call* c, tvmgo_vm_model* m, const tvmgo_vm_options* o) {
  static const tvmgo_vm_options none;
  if (m->host != NULL) tvmgo_constants_fill(m->host);
  c->outer = running;
  c->model = m;
  c->options = o != NULL ? o : &none;
  c->hooked = c->options->instrument != NULL;
  c->profile = NULL;
  c->frame = NULL;
  c->frames = 0;
  c->nested = c->outer != NULL ? c->outer->nested : 0;
  c->top = c->first;
  c->end = c->first + FIRST_SLOTS;
  c->chunk = c->spare = NULL;
  c->functions = NULL;
  running = c;
  if (TVMGO_UNLIKELY(tvmgo_profiling != NULL)) tvmgo_vm_profile_begin(c);
}

void tvmgo_vm_call_end(tvmgo_vm_call* c) {
  running = c->outer;
  if (TVMGO_UNLIKELY(c->profile != NULL)) tvmgo_vm_profile_end(c);
  free(c->spare);
  if (c->functions == NULL) return;
  for (int32_t i = 0; i < c->model->program->num_functions; i++) tvmgo_any_clear(&c->functions[i]);
  free(c->functions);
}

tvmgo_vm_call* tvmgo_vm_call_at(const void* p) {
  tvmgo_vm_call* c = running;
  while (c != NULL && c != p) c = c->outer;
  return c;
}

TVMFFIAny* tvmgo_vm_call_functions(tvmgo_vm_call* c) {
  if (c->functions != NULL) return c->functions;
  const tvmgo_vm_program* p = c->model->program;
  TVMFFIAny* list = calloc((size_t)p->num_functions + 1, sizeof *list);
  if (list == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  c->functions = list; /* owned from now on */
  for (int32_t i = 0; i < p->num_functions; i++) {
    TVMFFIObject* f = c->model->functions[i];
    if (p->functions[i].kind == FUNCTION_PACKED) tvmgo_object_retain(f);
    else if ((f = tvmgo_vm_closure_of(c->model, i)) == NULL) return NULL;
    list[i] = tvmgo_any_object(f);
  }
  return list;
}

tvmgo_vm_call* tvmgo_vm_call_of(const char* f, const TVMFFIAny* arg) {
  tvmgo_vm_call* c = arg->type_index == kTVMFFIOpaquePtr ? tvmgo_vm_call_at(arg->v_ptr) : NULL;
  if (c == NULL)
    tvmgo_raise(TVMGO_TYPE_ERROR,
                "%s: the first argument must be the virtual machine, which only a function of an executable has while "
                "it runs, on its own thread; it is of type %s",
                f, tvmgo_type_name(arg->type_index));
  return c;
}

int tvmgo_vm_call_device(tvmgo_vm_call* c, int64_t index, DLDevice* out) {
  const tvmgo_vm_model* m = c->model;
  if (index == -1) index = m->num_devices - 1;
  if (index < 0 || index >= m->num_devices)
    return tvmgo_raise(TVMGO_INDEX_ERROR,
                       "device %lld of the model: it runs on %d: give vm_initialization as many as it was compiled for",
                       (long long)index, m->num_devices);
  *out = m->devices[index];
  return 0;
}

tvmgo_vm_account* tvmgo_vm_call_account(tvmgo_vm_call* c) { return c->options->account; }

tvmgo_vm_account* tvmgo_vm_account_here(void) { return running != NULL ? running->options->account : NULL; }

int tvmgo_vm_call_closure(tvmgo_vm_call* c, TVMFFIObject* closure, const TVMFFIAny* args, int32_t n,
                          TVMFFIAny* result) {
  if (closure->type_index == kTVMFFIFunction) return tvmgo_function_call(closure, args, n, result);
  if (closure->type_index != tvmgo_vm_closure_type())
    return tvmgo_raise(TVMGO_TYPE_ERROR, "call closure: expected a closure or a function, got %s",
                       tvmgo_type_name(closure->type_index));
  const vm_bound* b = tvmgo_vm_closure_bound(closure);
  if (b != NULL && b->model == c->model)
    return tvmgo_vm_call_function(c, b->function, args, n, b->captured, b->n, result);
  TVMFFIAny* with = malloc(((size_t)n + 1) * sizeof *with);
  if (with == NULL) return tvmgo_raise_oom();
  with[0] = tvmgo_any_ptr(c);
  if (n > 0) memcpy(with + 1, args, (size_t)n * sizeof *with);
  int rc = tvmgo_function_call(((vm_closure*)closure)->impl, with, n + 1, result);
  free(with);
  return rc;
}

/* A tensor with a copy of what a caller's DLTensor points at, which may be gone after the call. */
static int copy_tensor(const DLTensor* from, TVMFFIAny* out) {
  if (tvmgo_dl_check_place(from, "the argument") != 0) return -1;
  tvmgo_tensor* t = tvmgo_tensor_new(from->shape, from->ndim, from->dtype, from->device, "");
  if (t == NULL) return -1;
  TVMFFIStreamHandle stream = tvmgo_stream_get(from->device.device_type, from->device.device_id);
  if (tvmgo_dl_copy(from, &t->dl, stream) != 0 || tvmgo_device_sync(from->device, stream) != 0) {
    tvmgo_object_release(t);
    return -1;
  }
  *out = tvmgo_any_object(t);
  return 0;
}

int tvmgo_vm_own(const TVMFFIAny* view, TVMFFIAny* out) {
  *out = *view;
  if (view->type_index >= kTVMFFIStaticObjectBegin) {
    tvmgo_object_retain(view->v_obj);
    return 0;
  }
  if (view->type_index < kTVMFFIDLTensorPtr) return 0;
  *out = tvmgo_any_none();
  if (view->type_index == kTVMFFIDLTensorPtr) return copy_tensor(view->v_ptr, out);
  return TVMFFIAnyViewToOwnedAny(view, out);
}

int tvmgo_vm_model_run(tvmgo_vm_model* m, const tvmgo_vm_options* o, int64_t function, const TVMFFIAny* args, int32_t n,
                       TVMFFIAny* result) {
  tvmgo_vm_call c;
  tvmgo_vm_call_begin(&c, m, o);
  int rc = tvmgo_vm_call_function(&c, (int32_t)function, args, n, NULL, 0, result);
  tvmgo_vm_call_end(&c);
  return rc;
}
