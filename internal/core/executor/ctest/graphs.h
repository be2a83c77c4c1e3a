/* A graph for tests, and a device with streams, recordings and scopes whose memory is the host's.
 *
 *   x, w: inputs; product = x * w; view = x (no function); sum = product + view, as vectors; back = copy of sum to the
 *   CPU
 *   outputs: sum, w, back
 *
 * All have the shape 2 x 4. With the weights {1, 2, ..} and x = {n, n, ..}, sum is {2 n, 3 n, ..}. */
#pragma once

#include "ctest/call.h"
#include "ctest/device.h"
#include "executor/session.h"

enum { DEVICE = 20, ROWS = 2, COLUMNS = 4, COUNT = ROWS * COLUMNS };
enum { X, W, PRODUCT, VIEW, SUM, BACK, NUM_NODES };

static const DLDevice cpu = {kDLCPU, 0}, device = {(DLDeviceType)DEVICE, 0};
static const DLDataType f32 = {kDLFloat, 32, 1};
static const int64_t form[2] = {ROWS, COLUMNS};

/* ---- the device ---- */

static _Atomic int syncs, launches, recordings; /* calls of the device */

static int copy_memory(const TVMGODeviceAPI* api, const DLTensor* a, const DLTensor* b, TVMFFIStreamHandle s) {
  (void)api, (void)s;
  memcpy((char*)b->data + b->byte_offset, (char*)a->data + a->byte_offset, COUNT * sizeof(float));
  return 0;
}
static int count_sync(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle s) {
  return (void)api, (void)dev, (void)s, (void)syncs++, 0;
}
static int new_stream(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle* out) {
  static _Atomic intptr_t next = 0x100;
  (void)api, (void)dev;
  *out = (void*)(next += 16);
  return 0;
}
static int any_stream(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle s) {
  return (void)api, (void)dev, (void)s, 0;
}
static int alloc_scoped(const TVMGODeviceAPI* api, DLDevice dev, int32_t ndim, const int64_t* shape, DLDataType t,
                        const char* scope, void** out) {
  (void)api, (void)dev, (void)ndim, (void)shape, (void)t, (void)scope;
  return space_new(COUNT * sizeof(float), out);
}
static int end_recording(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle s, void** out) {
  (void)api, (void)dev, (void)s;
  if (out != NULL) *out = (void*)(intptr_t)++recordings;
  return 0;
}
static int launch(const TVMGODeviceAPI* api, DLDevice dev, void* g, TVMFFIStreamHandle s) {
  return (void)api, (void)dev, (void)g, (void)s, (void)launches++, 0;
}
static int free_recording(const TVMGODeviceAPI* api, DLDevice dev, void* g) {
  return (void)api, (void)dev, (void)g, (void)recordings--, 0;
}

static inline void register_device(void) {
  static TVMGODeviceAPI api = {DEVICE_FUNCTIONS, .create_stream = new_stream, .free_stream = any_stream,
                               .set_stream = any_stream, .alloc_data_space_with_scope = alloc_scoped,
                               .capture_begin = any_stream, .capture_end = end_recording, .graph_launch = launch,
                               .graph_free = free_recording};
  api.copy_data_from_to = copy_memory;
  api.stream_sync = count_sync;
  const TVMGODeviceSpec spec = {.struct_size = sizeof spec, .device_type = DEVICE, .name = "executors", .api = &api};
  CHECK_OK(TVMGODeviceAPIRegister(&spec));
}

/* ---- tensors ---- */

/* The elements {first, first + step, ..}; owned. */
static inline TVMFFIObject* filled(DLDevice dev, float first, float step) {
  tvmgo_tensor* t = tvmgo_tensor_new(form, 2, f32, dev, NULL);
  if (!CHECK_OK(t == NULL)) return NULL;
  for (int i = 0; i < COUNT; i++) ((float*)t->dl.data)[i] = first + (float)i * step;
  return &t->header;
}

static inline float* elements(const DLTensor* t) { return (float*)((char*)t->data + t->byte_offset); }

static inline int has(const DLTensor* t, float first, float step) {
  for (int i = 0; i < COUNT; i++)
    if (elements(t)[i] != first + (float)i * step) return 0;
  return 1;
}

/* Checks and releases a tensor. */
static inline void check_elements(int line, TVMFFIAny* v, float first, float step) {
  if (v->type_index != kTVMFFITensor) check_fail(__FILE__, line, "no tensor");
  else if (!has(tvmgo_tensor_dl(v->v_obj), first, step))
    check_fail(__FILE__, line, "elements are %g, %g, .. want %g, %g, ..", elements(tvmgo_tensor_dl(v->v_obj))[0],
               elements(tvmgo_tensor_dl(v->v_obj))[1], first, first + step);
  tvmgo_any_clear(v);
}
#define CHECK_ELEMENTS(v, first, step) check_elements(__LINE__, v, first, step)

/* ---- functions of the graph ---- */

static void (*on_add)(void); /* called by the function add, if a test sets it */

static inline int multiply(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const DLTensor *a = args[0].v_ptr, *b = args[1].v_ptr, *out = args[2].v_ptr;
  (void)self, (void)result;
  if (n != 3 || a->ndim != 2) return tvmgo_raise(TVMGO_INTERNAL_ERROR, "wrong arguments");
  if (elements(a)[0] < 0) return tvmgo_raise(TVMGO_VALUE_ERROR, "x is negative");
  for (int i = 0; i < COUNT; i++) elements(out)[i] = elements(a)[i] * elements(b)[i];
  return 0;
}

static inline int add(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const DLTensor *a = args[0].v_ptr, *b = args[1].v_ptr, *out = args[2].v_ptr;
  (void)self;
  if (n != 3 || a->ndim != 1 || a->shape[0] != COUNT) return tvmgo_raise(TVMGO_INTERNAL_ERROR, "no vectors");
  if (on_add != NULL) on_add();
  for (int i = 0; i < COUNT; i++) elements(out)[i] = elements(a)[i] + elements(b)[i];
  *result = tvmgo_any_object(tvmgo_shape_new(form, 2)); /* is dropped */
  return 0;
}

static inline int unknown(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIByteArray name;
  (void)self, (void)result;
  return tvmgo_arg_text("unknown", args, 0, &name) != 0 || n != 2
             ? -1
             : tvmgo_raise(TVMGO_KEY_ERROR, "no %lld %.*s", (long long)args[1].v_int64, (int)name.size, name.data);
}

static inline TVMFFIObject* function(TVMFFISafeCallType entry, void* self) {
  TVMFFIObjectHandle f = NULL;
  CHECK_OK(TVMFFIFunctionCreate(self, entry, NULL, &f));
  return f;
}

/* ---- executors ---- */

/* Calls a function of an executor; *result is owned by the caller. */
static inline int of_executor(tvmgo_executor* e, const char* name, const TVMFFIAny* args, int32_t n,
                              TVMFFIAny* result) {
  TVMFFIObject* f = NULL;
  *result = tvmgo_any_none();
  if (tvmgo_executor_function(e, name, strlen(name), &f) != 0) return -1;
  if (f == NULL) return tvmgo_raise(TVMGO_NOT_FOUND_ERROR, "no function %s", name);
  int rc = tvmgo_function_call(f, args, n, result);
  tvmgo_object_release(f);
  return rc;
}
#define ARGS(...) (const TVMFFIAny[]){__VA_ARGS__}, (int32_t)(sizeof((TVMFFIAny[]){__VA_ARGS__}) / sizeof(TVMFFIAny))
#define ON(e, name, result, ...) of_executor(e, name, ARGS(__VA_ARGS__), result)

/* Calls one that returns nothing. */
static inline int plainly(tvmgo_executor* e, const char* name, const TVMFFIAny* args, int32_t n) {
  TVMFFIAny r;
  int rc = of_executor(e, name, args, n, &r);
  tvmgo_any_clear(&r);
  return rc;
}
#define DO(e, name, ...) plainly(e, name, ARGS(__VA_ARGS__))

static inline TVMFFIAny int_(int64_t v) { return tvmgo_any_int(v); }
static inline TVMFFIAny obj(void* o) { return tvmgo_any_object(o); }

typedef struct {
  DLDevice dev;
  TVMFFIObject* weights;      /* that the executors share; NULL: w has memory of its own, or none in a model */
  const char* scope;          /* of w */
  tvmgo_vm_account* account;  /* of a model: x, w and the outputs have no memory */
} graph;

static inline int give_memory(tvmgo_executor* e, const graph* g, int32_t i) {
  DLDevice dev = i == BACK ? cpu : g->dev;
  const char* scope = i == W ? g->scope : NULL;
  if (i == W && g->weights != NULL && scope == NULL) return DO(e, "__data", int_(i), obj(g->weights), int_(1));
  if (g->account != NULL && i != PRODUCT && scope == NULL) {
    TVMFFIObject* shape = tvmgo_shape_new(form, 2);
    TVMFFIAny type = {.type_index = kTVMFFIDataType}, on = {.type_index = kTVMFFIDevice};
    type.v_dtype = f32;
    on.v_device = dev;
    int rc = DO(e, "__form", int_(i), type, obj(shape), on);
    if (rc == 0 && i == X) rc = DO(e, "__form", int_(VIEW), type, obj(shape), on);
    tvmgo_object_release(shape);
    return rc;
  }
  if (g->account != NULL && tvmgo_executor_charge(e, COUNT * sizeof(float)) != 0) return -1;
  tvmgo_tensor* t = tvmgo_tensor_new(form, 2, f32, dev, scope);
  if (t == NULL) return -1;
  int rc = DO(e, "__data", int_(i), obj(t), int_(scope != NULL ? 2 : 0));
  if (rc == 0 && i == X) rc = DO(e, "__data", int_(VIEW), obj(t), int_(0));
  tvmgo_object_release(t);
  return rc;
}

static inline int fill_in(tvmgo_executor* e, const graph* g) {
  static const char* const names[] = {"x", "w", "product", "view", "sum", "back"};
  for (int32_t i = 0; i < NUM_NODES; i++)
    if (tvmgo_executor_node(e, i, names[i], strlen(names[i]), i, 1) != 0) return -1;
  tvmgo_executor_input(e, 0, X);
  tvmgo_executor_input(e, 1, W);
  tvmgo_executor_output(e, 0, SUM, SUM, TVMGO_OUTPUT_FREE);
  tvmgo_executor_output(e, 1, W, W, TVMGO_OUTPUT_IS_INPUT);
  tvmgo_executor_output(e, 2, BACK, BACK, TVMGO_OUTPUT_FREE);
  tvmgo_executor_alias(e, VIEW, X);
  for (int32_t i = 0; i < NUM_NODES; i++)
    if (i != VIEW && give_memory(e, g, i) != 0) return -1;
  if (tvmgo_executor_step(e, 0, TVMGO_STEP_CALL, PRODUCT, "mul", 3, 0, (int32_t[]){X, W, PRODUCT}, 3) != 0 ||
      tvmgo_executor_step(e, 1, TVMGO_STEP_CALL, SUM, "add", 3, 1, (int32_t[]){PRODUCT, VIEW, SUM}, 3) != 0 ||
      tvmgo_executor_step(e, 2, TVMGO_STEP_COPY, BACK, "__copy", 6, 0, (int32_t[]){SUM, BACK}, 2) != 0)
    return -1;
  TVMFFIObject *m = function(multiply, NULL), *a = function(add, NULL), *u = function(unknown, NULL);
  int rc = DO(e, "__function", int_(0), obj(m));
  if (rc == 0) rc = DO(e, "__function", int_(1), obj(a));
  if (rc == 0) rc = DO(e, "__unknown", obj(u));
  tvmgo_object_release(m);
  tvmgo_object_release(a);
  tvmgo_object_release(u);
  tvmgo_executor_ready(e);
  return rc;
}

/* NULL: raised. */
static inline tvmgo_executor* executor_of(const graph* g) {
  tvmgo_executor* e = tvmgo_executor_new(&(tvmgo_executor_sizes){NUM_NODES, NUM_NODES, 3, 2, 3, g->dev});
  if (e != NULL && g->account != NULL) tvmgo_executor_use_account(e, g->account, 0);
  if (e == NULL || fill_in(e, g) == 0) return e;
  tvmgo_executor_release(e);
  return NULL;
}
