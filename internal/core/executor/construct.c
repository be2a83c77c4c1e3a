/* How Go gives an executor its tensors and functions: as arguments of functions, because they are objects. And
 * functions that keep their module alive. */
#include "executor/arguments.h"
#include "loader/loader.h"
#include "object/check.h"

#include <stdlib.h>

int tvmgo_executor_attach_data(const executor_call* c) {
  int32_t i;
  int64_t flags;
  const DLTensor* t;
  TVMFFIObject* owner;
  if (tvmgo_executor_count(c, 3, 3) != 0 || tvmgo_executor_index(c, 0, c->e->sizes.data, "entry", &i) != 0 ||
      tvmgo_executor_tensor(c, 1, &t, &owner) != 0 || tvmgo_arg_int(c->f, c->args, 2, &flags) != 0)
    return -1;
  tvmgo_object_retain(owner);
  tvmgo_executor_plan(c->e, i, owner, (flags & 1) != 0, (flags & 2) != 0);
  return 0;
}

int tvmgo_executor_attach_pointer(const executor_call* c) {
  int32_t i;
  void* shape;
  if (tvmgo_executor_count(c, 6, 6) != 0 || tvmgo_executor_index(c, 0, c->e->sizes.data, "entry", &i) != 0 ||
      tvmgo_arg_kind(c->f, c->args, 1, kTVMFFIOpaquePtr) != 0 ||
      tvmgo_arg_kind(c->f, c->args, 2, kTVMFFIDataType) != 0 ||
      tvmgo_arg_object(c->f, c->args, 3, kTVMFFIShape, &shape) != 0 ||
      tvmgo_arg_kind(c->f, c->args, 4, kTVMFFIDevice) != 0)
    return -1;
  TVMFFIShapeCell* dims = (TVMFFIShapeCell*)((TVMFFIObject*)shape + 1);
  DLTensor dl = {.data = c->args[1].v_ptr, .dtype = c->args[2].v_dtype, .shape = (int64_t*)dims->data,
                 .ndim = (int32_t)dims->size, .device = c->args[4].v_device};
  void* owner;
  if (tvmgo_arg_object(c->f, c->args, 5, kTVMFFIModule, &owner) != 0) return -1;
  tvmgo_tensor* t = tvmgo_tensor_wrap(&dl, owner, tvmgo_object_release);
  if (t == NULL) return -1;
  tvmgo_object_retain(owner);
  tvmgo_executor_plan(c->e, i, &t->header, 1, 0);
  return 0;
}

int tvmgo_executor_attach_form(const executor_call* c) {
  int32_t i;
  void* shape;
  if (tvmgo_executor_count(c, 4, 4) != 0 || tvmgo_executor_index(c, 0, c->e->sizes.data, "entry", &i) != 0 ||
      tvmgo_arg_kind(c->f, c->args, 1, kTVMFFIDataType) != 0 ||
      tvmgo_arg_object(c->f, c->args, 2, kTVMFFIShape, &shape) != 0 ||
      tvmgo_arg_kind(c->f, c->args, 3, kTVMFFIDevice) != 0)
    return -1;
  TVMFFIShapeCell* dims = (TVMFFIShapeCell*)((TVMFFIObject*)shape + 1);
  DLTensor dl = {.dtype = c->args[1].v_dtype, .shape = (int64_t*)dims->data, .ndim = (int32_t)dims->size,
                 .device = c->args[3].v_device};
  tvmgo_tensor* t = tvmgo_tensor_wrap(&dl, NULL, NULL);
  if (t == NULL) return -1;
  tvmgo_executor_plan(c->e, i, &t->header, 0, 0);
  return 0;
}

int tvmgo_executor_attach_function(const executor_call* c) {
  int32_t i;
  void* f;
  if (tvmgo_executor_count(c, 2, 2) != 0 || tvmgo_executor_index(c, 0, c->e->sizes.steps, "step", &i) != 0 ||
      tvmgo_arg_object(c->f, c->args, 1, kTVMFFIFunction, &f) != 0)
    return -1;
  tvmgo_object_retain(f);
  c->e->steps[i].f = f;
  return 0;
}

int tvmgo_executor_attach_unknown(const executor_call* c) {
  void* f;
  if (tvmgo_executor_count(c, 1, 1) != 0 || tvmgo_arg_object(c->f, c->args, 0, kTVMFFIFunction, &f) != 0) return -1;
  tvmgo_object_retain(f);
  c->e->unknown = f;
  return 0;
}

/* ---- functions that keep their module alive ---- */

typedef struct {
  TVMFFIObject* f;      /* owned; NULL for the keeper */
  TVMFFIObject* module; /* owned; borrowed by the keeper */
} kept_function;

static int call_kept(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return tvmgo_function_call(((kept_function*)self)->f, args, n, result);
}

static void release_kept(void* self) {
  kept_function* k = self;
  tvmgo_object_release(k->f);
  if (k->f != NULL) tvmgo_object_release(k->module);
  free(k);
}

static TVMFFIObject* kept_new(TVMFFIObject* f, TVMFFIObject* module, TVMFFISafeCallType entry) {
  kept_function* k = malloc(sizeof *k);
  TVMFFIObjectHandle out = NULL;
  if (k == NULL) return tvmgo_raise_oom(), NULL;
  *k = (kept_function){f, module};
  if (TVMFFIFunctionCreate(k, entry, release_kept, &out) == 0) return out;
  free(k);
  return NULL;
}

static int keep(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  void* f;
  TVMFFIObject* module = ((kept_function*)self)->module;
  if (tvmgo_check_count("keep module", n, 1, 1) != 0 ||
      tvmgo_arg_object("keep module", args, 0, kTVMFFIFunction, &f) != 0)
    return -1;
  TVMFFIObject* kept = kept_new(f, module, call_kept);
  if (kept == NULL) return -1;
  tvmgo_object_retain(f);
  tvmgo_object_retain(module);
  *result = tvmgo_any_object(kept);
  return 0;
}

static int imports(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* list = tvmgo_module_imports((tvmgo_module*)((kept_function*)self)->module);
  if (list == NULL) return -1;
  *result = tvmgo_any_object(list);
  return 0;
}

TVMFFIObject* tvmgo_executor_importer(void* module) { return kept_new(NULL, module, imports); }
TVMFFIObject* tvmgo_executor_keeper(void* module) { return kept_new(NULL, module, keep); }
