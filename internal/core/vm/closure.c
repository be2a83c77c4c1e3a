/* Closures: functions of a model with captured arguments, as objects. */
#include "vm/engine.h"

static _Atomic int32_t closure_type;

int32_t tvmgo_vm_closure_type(void) {
  int32_t type = atomic_load_explicit(&closure_type, memory_order_relaxed);
  if (TVMGO_LIKELY(type > 0)) return type;
  const TVMFFIByteArray key = {"relax.vm.Closure", 16};
  type = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
  atomic_store_explicit(&closure_type, type, memory_order_relaxed);
  return type;
}

static void free_bound(void* self) {
  vm_bound* b = self;
  for (int32_t i = 0; i < b->n; i++) tvmgo_any_clear(&b->captured[i]);
  tvmgo_vm_model_release(b->model);
  free(b);
}

/* The body of a closure: the machine, then its arguments. A machine that does not run this model on this thread is not
 * used: the closure runs as a call of its own. */
static int call_bound(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const vm_bound* b = self;
  if (n < 1 || (args[0].type_index != kTVMFFIOpaquePtr && args[0].type_index != kTVMFFINone))
    return tvmgo_raise(TVMGO_TYPE_ERROR, "call closure \"%s\": the first argument must be the virtual machine, or None",
                       b->model->program->functions[b->function].name);
  tvmgo_vm_call* c = args[0].type_index == kTVMFFIOpaquePtr ? tvmgo_vm_call_at(args[0].v_ptr) : NULL;
  if (c != NULL && c->model == b->model)
    return tvmgo_vm_call_function(c, b->function, args + 1, n - 1, b->captured, b->n, result);
  tvmgo_vm_call own;
  tvmgo_vm_call_begin(&own, b->model, c != NULL ? c->options : NULL);
  int rc = tvmgo_vm_call_function(&own, b->function, args + 1, n - 1, b->captured, b->n, result);
  tvmgo_vm_call_end(&own);
  return rc;
}

static void closure_delete(void* self, int flags) {
  vm_closure* c = self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmgo_any_clear(&c->name);
    tvmgo_object_release(c->impl);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

/* Takes over b, also if it fails. */
static TVMFFIObject* closure_new(vm_bound* b) {
  const vm_function* f = &b->model->program->functions[b->function];
  vm_closure* c = tvmgo_object_new(sizeof *c, tvmgo_vm_closure_type(), closure_delete);
  TVMFFIObjectHandle impl = NULL;
  if (c == NULL || TVMFFIFunctionCreate(b, call_bound, free_bound, &impl) != 0) {
    tvmgo_object_release(c);
    free_bound(b);
    return NULL;
  }
  c->impl = impl;
  if (tvmgo_string_make(f->name, f->name_size, &c->name) != 0) {
    tvmgo_object_release(c);
    return NULL;
  }
  return &c->header;
}

static vm_bound* bound_new(tvmgo_vm_model* m, int32_t function, int32_t n) {
  vm_bound* b = calloc(1, sizeof *b + (size_t)n * sizeof *b->captured);
  if (b == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  tvmgo_vm_model_retain(m);
  b->model = m;
  b->function = function;
  return b;
}

TVMFFIObject* tvmgo_vm_closure_of(tvmgo_vm_model* m, int32_t function) {
  vm_bound* b = bound_new(m, function, 0);
  return b == NULL ? NULL : closure_new(b);
}

const vm_bound* tvmgo_vm_closure_bound(TVMFFIObject* closure) {
  if (closure->deleter != closure_delete) return NULL;
  return ((tvmgo_function*)((vm_closure*)closure)->impl)->self;
}

TVMFFIObject* tvmgo_vm_closure_bind(TVMFFIObject* closure, const TVMFFIAny* last, int32_t n) {
  const vm_bound* inner = tvmgo_vm_closure_bound(closure);
  if (inner == NULL) {
    tvmgo_raise(TVMGO_TYPE_ERROR, "make closure: expected a function of an executable, got %s",
                tvmgo_type_name(closure->type_index));
    return NULL;
  }
  vm_bound* b = bound_new(inner->model, inner->function, n + inner->n);
  if (b == NULL) return NULL;
  for (int32_t i = 0; i < n + inner->n; i++) {
    const TVMFFIAny* from = i < n ? &last[i] : &inner->captured[i - n];
    if (tvmgo_vm_own(from, &b->captured[i]) != 0) {
      free_bound(b);
      return NULL;
    }
    b->n++;
  }
  return closure_new(b);
}
