/* Models: their executors, their bindings, and calls. */
#include "executor/model.h"
#include "executor/arguments.h"
#include "object/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tvmgo_graph_model {
  _Atomic int64_t references;
  int32_t inputs, most_idle;
  TVMFFIObject* maker;       /* owned; set once */
  tvmgo_vm_account* account; /* owned; NULL: none */
  tvmgo_spin lock;           /* of all that follows but the name */
  tvmgo_executor* idle;      /* list; the last one used comes first, its memory may be in caches */
  int32_t num_idle;
  graph_binding* binding;    /* owned */
  char name[];
};

/* ---- bindings ---- */

static graph_binding* binding_new(int32_t inputs) {
  size_t n = (size_t)inputs;
  graph_binding* b = calloc(1, sizeof *b + n * (sizeof *b->tensors + sizeof *b->of_file));
  if (b == NULL) return tvmgo_raise_oom(), NULL;
  b->references = 1;
  b->n = b->free = inputs;
  b->tensors = (TVMFFIObject**)(b + 1);
  b->of_file = (int8_t*)(b->tensors + n);
  return b;
}

static graph_binding* binding_retain(graph_binding* b) {
  atomic_fetch_add_explicit(&b->references, 1, memory_order_relaxed);
  return b;
}

void tvmgo_graph_binding_release(graph_binding* b) {
  if (b == NULL || atomic_fetch_sub_explicit(&b->references, 1, memory_order_acq_rel) != 1) return;
  for (int32_t i = 0; i < b->n; i++) tvmgo_object_release(b->tensors[i]);
  free(b);
}

static int is_bound(const graph_binding* b, int32_t input) { return b->of_file[input] || b->tensors[input] != NULL; }

/* Makes the memory of an input that of its parameter. */
static int bind_input(tvmgo_executor* e, const graph_binding* b, int32_t input) {
  data_entry* d = tvmgo_executor_input_data(e, input);
  TVMFFIObject* t = b->tensors[input];
  if (t == NULL) return 0;
  if (d->scoped) return tvmgo_executor_copy(tvmgo_tensor_dl(t), &d->dl, NULL);
  tvmgo_executor_use(e, d, tvmgo_tensor_dl(t), t);
  return 0;
}

/* Gives an executor the tensors of a binding. */
static int bind_all(tvmgo_executor* e, graph_binding* b) {
  tvmgo_graph_binding_release(e->binding);
  e->binding = NULL;
  for (int32_t i = 0; i < b->n; i++)
    if (bind_input(e, b, i) != 0)
      return tvmgo_raise_context("bind parameter \"%.200s\"", e->nodes[e->inputs[i]].name);
  e->binding = binding_retain(b);
  return 0;
}

/* ---- executors ---- */

static tvmgo_executor* make(tvmgo_graph_model* m) {
  TVMFFIAny made = tvmgo_any_none();
  if (tvmgo_function_call(m->maker, NULL, 0, &made) != 0) return NULL;
  if (made.type_index == kTVMFFIOpaquePtr) return made.v_ptr;
  tvmgo_any_clear(&made);
  tvmgo_raise(TVMGO_INTERNAL_ERROR, "no executor was made");
  return NULL;
}

/* An executor with the model's binding, which is *b, retained. */
static tvmgo_executor* take(tvmgo_graph_model* m, graph_binding** b) {
  tvmgo_spin_lock(&m->lock);
  *b = binding_retain(m->binding);
  tvmgo_executor* e = m->idle;
  if (e != NULL) {
    m->idle = e->next;
    m->num_idle--;
  }
  tvmgo_spin_unlock(&m->lock);
  if (e == NULL) e = make(m);
  if (e != NULL && (e->binding == *b || bind_all(e, *b) == 0)) return e;
  if (e != NULL) tvmgo_executor_release(e);
  tvmgo_graph_binding_release(*b);
  tvmgo_raise_context("%s", m->name);
  return NULL;
}

void tvmgo_graph_model_add(tvmgo_graph_model* m, tvmgo_executor* e) {
  tvmgo_spin_lock(&m->lock);
  int full = m->num_idle >= m->most_idle;
  if (!full) {
    e->next = m->idle;
    m->idle = e;
    m->num_idle++;
  }
  tvmgo_spin_unlock(&m->lock);
  if (full) tvmgo_executor_release(e);
}

/* The idle executors, which the model has no longer. */
static tvmgo_executor* take_idle(tvmgo_graph_model* m) {
  tvmgo_spin_lock(&m->lock);
  tvmgo_executor* e = m->idle;
  m->idle = NULL;
  m->num_idle = 0;
  tvmgo_spin_unlock(&m->lock);
  return e;
}

/* Replaces the binding (consumed), also in idle executors, which would keep the earlier tensors alive. */
static void set_binding(tvmgo_graph_model* m, graph_binding* b) {
  binding_retain(b);
  tvmgo_spin_lock(&m->lock);
  graph_binding* old = m->binding;
  m->binding = b;
  tvmgo_spin_unlock(&m->lock);
  for (tvmgo_executor *e = take_idle(m), *next; e != NULL; e = next) {
    next = e->next;
    if (bind_all(e, b) == 0) {
      tvmgo_graph_model_add(m, e);
    } else { /* the next call makes another one, or fails */
      tvmgo_object_release(tvmgo_error_take());
      tvmgo_executor_release(e);
    }
  }
  tvmgo_graph_binding_release(b);
  tvmgo_graph_binding_release(old);
}

void tvmgo_graph_model_trim(tvmgo_graph_model* m) {
  for (tvmgo_executor *e = take_idle(m), *next; e != NULL; e = next) {
    next = e->next;
    tvmgo_executor_release(e);
  }
}

int32_t tvmgo_graph_model_idle(tvmgo_graph_model* m) {
  tvmgo_spin_lock(&m->lock);
  int32_t n = m->num_idle;
  tvmgo_spin_unlock(&m->lock);
  return n;
}

/* ---- the inputs of a call ---- */

static const char* input_name(const tvmgo_executor* e, int32_t i) { return e->nodes[e->inputs[i]].name; }

/* Lists inputs: all, or those that have no parameter. */
static void list_inputs(const tvmgo_executor* e, const graph_binding* b, int all, char* buf, size_t cap) {
  enum { MOST = 12 };
  size_t at = 0;
  int32_t listed = 0, n = all ? b->n : b->free;
  buf[0] = 0;
  for (int32_t i = 0; i < b->n && listed < MOST; i++)
    if (all || !is_bound(b, i)) {
      at += (size_t)snprintf(buf + at, cap - at, "%s%.60s", listed++ > 0 ? ", " : "", input_name(e, i));
      if (at >= cap) return;
    }
  if (n > listed) snprintf(buf + at, cap - at, " and %d more", n - listed);
}

static int wrong_count(const executor_call* c, const graph_binding* b) {
  char unbound[1024], all[1024];
  list_inputs(c->e, b, 0, unbound, sizeof unbound);
  list_inputs(c->e, b, 1, all, sizeof all);
  if (b->free == b->n)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: expected %d inputs (%s), got %d arguments%s", c->f, b->n, all, c->n,
                       c->n == 0 ? "" : "; bind parameters with tvmgo.bind");
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: expected %d inputs (%s), or with the bound ones %d (%s), got %d arguments",
                     c->f, b->free, b->free == 0 ? "none" : unbound, b->n, all, c->n);
}

/* Whether functions of the graph read the tensor as they read planned memory: at an offset of 0, or an address that is
 * aligned like that of new memory. */
static int reads_directly(const DLTensor* t, const data_entry* d) {
  if (tvmgo_executor_fit(t, d) != 0) return 0;
  if (t->device.device_type == kDLCPU) return t->data != NULL;
  if (tvmgo_device_family(t->device.device_type) != kDLCUDA) return t->byte_offset == 0;
  return ((uintptr_t)t->data + t->byte_offset) % 64 == 0;
}

/* New memory for the data of an entry; owned. NULL: raised. */
static TVMFFIObject* memory_new(const tvmgo_graph_model* m, const data_entry* d) {
  const DLTensor* t = &d->dl;
  size_t nbytes;
  if (tvmgo_dl_bytes(t, &nbytes) != 0) return NULL;
  TVMFFIObject* s = tvmgo_vm_storage_new(m->account, t->device, nbytes, t->dtype, NULL);
  if (s == NULL) return NULL;
  TVMFFIObject* out = tvmgo_vm_storage_tensor(s, 0, t->shape, t->ndim, t->dtype, NULL);
  tvmgo_object_release(s);
  return out;
}

/* Copies a tensor to memory that the input has during this call. Waits, because the caller may then change it. */
static int copy_input(const tvmgo_graph_model* m, tvmgo_executor* e, data_entry* d, const DLTensor* t) {
  if (!d->scoped) {
    TVMFFIObject* own = memory_new(m, d);
    if (own == NULL) return -1;
    tvmgo_executor_use(e, d, tvmgo_tensor_dl(own), own);
    tvmgo_object_release(own);
  } else { /* its parameter is overwritten */
    tvmgo_graph_binding_release(e->binding);
    e->binding = NULL;
  }
  if (tvmgo_executor_copy(t, &d->dl, NULL) != 0) return -1;
  DLDevice on = d->dl.device.device_type != kDLCPU ? d->dl.device : t->device;
  if (on.device_type == kDLCPU) return 0;
  return tvmgo_device_sync(on, tvmgo_stream_get(on.device_type, on.device_id));
}

static int set_one(const tvmgo_graph_model* m, const executor_call* c, int32_t input, int32_t at) {
  data_entry* d = tvmgo_executor_input_data(c->e, input);
  const char* name = input_name(c->e, input);
  const DLTensor* t;
  TVMFFIObject* owner;
  if (tvmgo_check_value(&c->args[at]) != 0 || tvmgo_executor_tensor(c, at, &t, &owner) != 0)
    return tvmgo_raise_context("input %d \"%.200s\"", at, name);
  if (tvmgo_executor_same_form(c, t, &d->dl, "input", name) != 0) return -1;
  if (TVMGO_LIKELY(reads_directly(t, d))) {
    tvmgo_executor_use(c->e, d, t, NULL);
    return 0;
  }
  return copy_input(m, c->e, d, t) == 0 ? 0 : tvmgo_raise_context("%s: input \"%.200s\"", c->f, name);
}

static int set_inputs(const tvmgo_graph_model* m, const executor_call* c, const graph_binding* b) {
  int all = c->n == b->n;
  if (!all && c->n != b->free) return wrong_count(c, b);
  for (int32_t i = 0, at = 0; i < b->n; i++)
    if ((all || !is_bound(b, i)) && set_one(m, c, i, at++) != 0) return -1;
  return 0;
}

/* ---- the outputs of a call ---- */

static int goes_to_caller(const tvmgo_executor* e, int32_t i) {
  return e->outputs[i].refusal == TVMGO_OUTPUT_FREE && !e->data[e->outputs[i].data].scoped;
}

static int make_outputs(const tvmgo_graph_model* m, tvmgo_executor* e, TVMFFIAny* items) {
  for (int32_t i = 0; i < e->sizes.outputs; i++) {
    data_entry* d = &e->data[e->outputs[i].data];
    TVMFFIObject* t = memory_new(m, d);
    if (t == NULL) return tvmgo_raise_context("output %d \"%.200s\"", i, e->nodes[e->outputs[i].node].name);
    items[i] = tvmgo_any_object(t);
    if (goes_to_caller(e, i)) tvmgo_executor_use(e, d, tvmgo_tensor_dl(t), NULL);
  }
  return 0;
}

static int copy_outputs(tvmgo_executor* e, const TVMFFIAny* items) {
  for (int32_t i = 0; i < e->sizes.outputs; i++)
    if (!goes_to_caller(e, i) &&
        tvmgo_executor_copy(&e->data[e->outputs[i].data].dl, tvmgo_tensor_dl(items[i].v_obj), NULL) != 0)
      return tvmgo_raise_context("output %d \"%.200s\"", i, e->nodes[e->outputs[i].node].name);
  return 0;
}

/* ---- calls ---- */

static int check_streams(const executor_call* c) {
  const tvmgo_executor* e = c->e;
  for (int32_t i = 0; i < e->num_devices; i++) {
    DLDevice d = e->devices[i];
    if (tvmgo_recording_refuses(c->f, d, tvmgo_stream_get(d.device_type, d.device_id)) != 0) return -1;
  }
  return 0;
}

/* Waits for work on streams other than the default ones. */
static int finish(const tvmgo_executor* e) {
  for (int32_t i = 0; i < e->num_devices; i++) {
    DLDevice d = e->devices[i];
    TVMFFIStreamHandle s = tvmgo_stream_get(d.device_type, d.device_id);
    if (s != NULL && tvmgo_device_sync(d, s) != 0) return -1;
  }
  return 0;
}

/* All memory of the executor is its own again, but for bound parameters. */
static void forget_caller(tvmgo_executor* e, const graph_binding* b, int32_t n) {
  for (int32_t i = 0; i < b->n; i++) {
    data_entry* d = tvmgo_executor_input_data(e, i);
    if (is_bound(b, i) && n != b->n) continue;
    tvmgo_executor_move_back(e, d);
    if (is_bound(b, i) && !d->scoped && b->tensors[i] != NULL) bind_input(e, b, i);
  }
  for (int32_t i = 0; i < e->sizes.outputs; i++)
    if (goes_to_caller(e, i)) tvmgo_executor_move_back(e, &e->data[e->outputs[i].data]);
}

static int run_once(tvmgo_graph_model* m, const executor_call* c, const graph_binding* b, TVMFFIAny* items) {
  if (check_streams(c) != 0 || set_inputs(m, c, b) != 0) return -1;
  int rc = make_outputs(m, c->e, items);
  if (rc == 0) rc = tvmgo_executor_run(c->e, 0, c->e->sizes.nodes);
  if (rc == 0) rc = copy_outputs(c->e, items);
  if (rc == 0) return finish(c->e) == 0 ? 0 : tvmgo_raise_context("%s", c->f);
  TVMFFIObject* why = tvmgo_error_take();
  if (finish(c->e) != 0) tvmgo_object_release(tvmgo_error_take());
  tvmgo_error_put_back(why);
  return tvmgo_raise_context("%s", c->f);
}

static int give_result(TVMFFIAny* items, int32_t n, TVMFFIAny* result) {
  if (n == 1) {
    *result = items[0];
    items[0] = tvmgo_any_none();
    return 0;
  }
  TVMFFIObject* list = tvmgo_array_new(items, n);
  if (list == NULL) return -1;
  *result = tvmgo_any_object(list);
  return 0;
}

/* A function of a model, which keeps its module alive. */
typedef struct {
  tvmgo_graph_model* m;
  TVMFFIObject* module; /* owned; NULL: none */
} model_function;

static int start(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  tvmgo_graph_model* m = ((const model_function*)self)->m;
  void* maker;
  if (tvmgo_check_count("start", n, 1, 1) != 0 || tvmgo_arg_object("start", args, 0, kTVMFFIFunction, &maker) != 0)
    return -1;
  tvmgo_object_retain(maker);
  m->maker = maker;
  return 0;
}

static int replace_binding(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  tvmgo_graph_model* m = ((const model_function*)self)->m;
  if (tvmgo_check_count("bind", n, m->inputs, m->inputs) != 0) return -1;
  graph_binding* b = binding_new(m->inputs);
  if (b == NULL) return -1;
  for (int32_t i = 0; i < n; i++) {
    if (args[i].type_index == kTVMFFITensor) {
      tvmgo_object_retain(args[i].v_obj);
      b->tensors[i] = args[i].v_obj;
    }
    b->of_file[i] = args[i].type_index == kTVMFFIBool;
    b->free -= is_bound(b, i);
  }
  set_binding(m, b);
  return 0;
}

static int call_model(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  enum { FEW = 8 };
  tvmgo_graph_model* m = ((const model_function*)self)->m;
  graph_binding* b;
  tvmgo_executor* e = take(m, &b);
  if (e == NULL) return -1;
  TVMFFIAny few[FEW] = {{0}}, *items = few;
  if (e->sizes.outputs > FEW) items = calloc((size_t)e->sizes.outputs, sizeof *items);
  executor_call c = {e, m->name, args, n, result};
  int rc = items == NULL ? tvmgo_raise_oom() : run_once(m, &c, b, items);
  if (rc == 0) rc = give_result(items, e->sizes.outputs, result);
  for (int32_t i = 0; items != NULL && i < e->sizes.outputs; i++) tvmgo_any_clear(&items[i]);
  if (items != few) free(items);
  forget_caller(e, b, n);
  tvmgo_graph_binding_release(b);
  tvmgo_graph_model_add(m, e);
  return rc;
}

/* ---- the model ---- */

tvmgo_graph_model* tvmgo_graph_model_new(const char* name, size_t len, int32_t inputs, tvmgo_vm_account* account,
                                         int32_t most_idle) {
  tvmgo_graph_model* m = calloc(1, sizeof *m + len + 1);
  graph_binding* b = m == NULL ? NULL : binding_new(inputs);
  if (b == NULL) {
    free(m);
    tvmgo_raise_oom();
    return NULL;
  }
  m->references = 1;
  m->inputs = inputs;
  m->most_idle = most_idle;
  m->account = account;
  m->binding = b;
  memcpy(m->name, name, len);
  tvmgo_vm_account_retain(account);
  return m;
}

void tvmgo_graph_model_retain(tvmgo_graph_model* m) {
  atomic_fetch_add_explicit(&m->references, 1, memory_order_relaxed);
}

void tvmgo_graph_model_release(tvmgo_graph_model* m) {
  if (atomic_fetch_sub_explicit(&m->references, 1, memory_order_acq_rel) != 1) return;
  tvmgo_graph_model_trim(m);
  tvmgo_graph_binding_release(m->binding);
  tvmgo_object_release(m->maker);
  tvmgo_vm_account_release(m->account);
  free(m);
}

static void leave(void* self) {
  model_function* f = self;
  tvmgo_graph_model_release(f->m);
  tvmgo_object_release(f->module);
  free(f);
}

static TVMFFIObject* function_of(tvmgo_graph_model* m, void* module, TVMFFISafeCallType entry) {
  model_function* state = malloc(sizeof *state);
  TVMFFIObjectHandle f = NULL;
  if (state == NULL) return tvmgo_raise_oom(), NULL;
  *state = (model_function){m, module};
  tvmgo_graph_model_retain(m);
  if (module != NULL) tvmgo_object_retain(module);
  if (TVMFFIFunctionCreate(state, entry, leave, &f) == 0) return f;
  leave(state);
  return NULL;
}

TVMFFIObject* tvmgo_graph_model_function(tvmgo_graph_model* m, void* module) {
  return function_of(m, module, call_model);
}

TVMFFIObject* tvmgo_graph_model_start(tvmgo_graph_model* m) { return function_of(m, NULL, start); }
TVMFFIObject* tvmgo_graph_model_bind(tvmgo_graph_model* m) { return function_of(m, NULL, replace_binding); }
