/* Executors: their parts, their memory, and the loop that runs a graph. */
#define _GNU_SOURCE /* qsort_r */
#include "executor/session.h"

#include <stdlib.h>
#include <string.h>

static char* copy_text(const char* text, size_t len) {
  char* copy = malloc(len + 1);
  if (copy == NULL) return NULL;
  if (len > 0) memcpy(copy, text, len);
  copy[len] = 0;
  return copy;
}

tvmgo_executor* tvmgo_executor_new(const tvmgo_executor_sizes* sizes) {
  tvmgo_executor* e = calloc(1, sizeof *e);
  if (e == NULL) return tvmgo_raise_oom(), NULL;
  e->references = 1;
  e->key = tvmgo_profile_key();
  e->data = calloc((size_t)sizes->data + 1, sizeof *e->data);
  e->nodes = calloc((size_t)sizes->nodes + 1, sizeof *e->nodes);
  e->steps = calloc((size_t)sizes->steps + 1, sizeof *e->steps);
  e->inputs = calloc((size_t)sizes->inputs + 1, sizeof *e->inputs);
  e->sorted = calloc((size_t)sizes->inputs + 1, sizeof *e->sorted);
  e->outputs = calloc((size_t)sizes->outputs + 1, sizeof *e->outputs);
  if (e->data && e->nodes && e->steps && e->inputs && e->sorted && e->outputs) {
    e->sizes = *sizes;
    for (int32_t i = 0; i < sizes->data; i++) e->data[i].next = i;
    return e;
  }
  tvmgo_executor_release(e);
  tvmgo_raise_oom();
  return NULL;
}

void tvmgo_executor_retain(tvmgo_executor* e) { atomic_fetch_add(&e->references, 1); }

void tvmgo_executor_release(tvmgo_executor* e) {
  if (atomic_fetch_sub(&e->references, 1) != 1) return;
  tvmgo_executor_discard(e);
  for (int32_t i = 0; i < e->sizes.data; i++) {
    tvmgo_object_release(e->data[i].bound);
    tvmgo_object_release(e->data[i].planned);
  }
  for (int32_t i = 0; i < e->sizes.nodes; i++) free(e->nodes[i].name);
  for (int32_t i = 0; i < e->sizes.steps; i++) {
    graph_step* s = &e->steps[i];
    tvmgo_object_release(s->f);
    tvmgo_object_release(s->stage);
    free(s->func);
    free(s->args);
  }
  for (int32_t i = 0; i < e->num_charges; i++) tvmgo_vm_account_give(e->account, e->charges[i]);
  tvmgo_vm_account_release(e->account);
  tvmgo_graph_binding_release(e->binding);
  tvmgo_object_release(e->unknown);
  free(e->charges);
  free(e->data);
  free(e->nodes);
  free(e->steps);
  free(e->inputs);
  free(e->sorted);
  free(e->outputs);
  free(e);
}

int tvmgo_executor_node(tvmgo_executor* e, int32_t i, const char* name, size_t len, int32_t first, int32_t outputs) {
  e->nodes[i] = (graph_node){.name = copy_text(name, len), .first = first, .outputs = outputs};
  return e->nodes[i].name == NULL ? tvmgo_raise_oom() : 0;
}

int tvmgo_executor_input(tvmgo_executor* e, int32_t i, int32_t node) {
  e->inputs[i] = node;
  e->sorted[i] = i;
  return 0;
}

int tvmgo_executor_output(tvmgo_executor* e, int32_t i, int32_t data, int32_t node, int refusal) {
  e->outputs[i] = (graph_output){.data = data, .node = node, .refusal = refusal};
  return 0;
}

int tvmgo_executor_step(tvmgo_executor* e, int32_t i, int kind, int32_t node, const char* func, size_t len, int flatten,
                        const int32_t* data, int32_t n) {
  graph_step* s = &e->steps[i];
  *s = (graph_step){.kind = kind, .node = node, .func = copy_text(func, len), .n = n,
                    .args = calloc((size_t)n + 1, sizeof *s->args)};
  if (s->func == NULL || s->args == NULL) return tvmgo_raise_oom();
  for (int32_t k = 0; k < n; k++) {
    data_entry* d = &e->data[data[k]];
    s->args[k].type_index = kTVMFFIDLTensorPtr;
    s->args[k].v_ptr = flatten ? &d->flat : &d->dl;
  }
  return 0;
}

int tvmgo_executor_alias(tvmgo_executor* e, int32_t i, int32_t alias) {
  int32_t next = e->data[i].next;
  e->data[i].next = e->data[alias].next;
  e->data[alias].next = next;
  return 0;
}

void tvmgo_executor_use_account(tvmgo_executor* e, tvmgo_vm_account* a, int64_t weights) {
  tvmgo_vm_account_retain(e->account = a);
  e->weights = weights;
}

int tvmgo_executor_charge(tvmgo_executor* e, int64_t nbytes) {
  int64_t* more = realloc(e->charges, ((size_t)e->num_charges + 1) * sizeof *more);
  if (more == NULL) return tvmgo_raise_oom();
  e->charges = more;
  if (tvmgo_vm_account_take(e->account, nbytes) != 0) return -1;
  e->charges[e->num_charges++] = nbytes;
  return 0;
}

data_entry* tvmgo_executor_input_data(tvmgo_executor* e, int32_t input) {
  return &e->data[e->nodes[e->inputs[input]].first];
}

static void place(data_entry* d, void* data, uint64_t offset) {
  d->dl.data = d->flat.data = data;
  d->dl.byte_offset = d->flat.byte_offset = offset;
}

void tvmgo_executor_plan(tvmgo_executor* e, int32_t i, TVMFFIObject* tensor, int shared, int scoped) {
  data_entry* d = &e->data[i];
  tvmgo_object_release(d->planned);
  d->planned = tensor;
  d->shared = d->lent = shared;
  d->scoped = scoped;
  d->dl = *tvmgo_tensor_dl(tensor);
  d->dl.strides = NULL;
  if (tvmgo_dl_elements(&d->dl, &d->count) != 0) tvmgo_object_release(tvmgo_error_take()); /* was checked before */
  d->flat = d->dl;
  d->flat.ndim = 1;
  d->flat.shape = &d->count;
}

void tvmgo_executor_move(tvmgo_executor* e, data_entry* d, TVMFFIObject* owner, void* data, uint64_t offset) {
  data_entry* at = d;
  do {
    TVMFFIObject* old = at->bound;
    if (owner != NULL) tvmgo_object_retain(owner);
    at->bound = owner;
    at->moved = 1;
    at->shared = 0;
    place(at, data, offset);
    tvmgo_object_release(old);
    at = &e->data[at->next];
  } while (at != d);
}

void tvmgo_executor_move_back(tvmgo_executor* e, data_entry* d) {
  data_entry* at = d;
  do {
    TVMFFIObject* old = at->bound;
    const DLTensor* to = tvmgo_tensor_dl(at->planned);
    at->bound = NULL;
    at->moved = 0;
    at->shared = at->lent;
    place(at, to->data, to->byte_offset);
    tvmgo_object_release(old);
    at = &e->data[at->next];
  } while (at != d);
}

int tvmgo_executor_own(tvmgo_executor* e, data_entry* d, int keep) {
  if (!d->shared) return 0;
  tvmgo_tensor* t = tvmgo_tensor_new(d->dl.shape, d->dl.ndim, d->dl.dtype, d->dl.device, NULL);
  if (t == NULL) return -1;
  if (keep && tvmgo_executor_copy(&d->dl, &t->dl, NULL) != 0) {
    tvmgo_object_release(t);
    return -1;
  }
  tvmgo_executor_move(e, d, &t->header, t->dl.data, t->dl.byte_offset);
  tvmgo_object_release(t);
  return 0;
}

/* ---- look-up of inputs by name ---- */

static const char* input_name(const tvmgo_executor* e, int32_t input) { return e->nodes[e->inputs[input]].name; }

static int by_name(const void* a, const void* b, void* e) {
  return strcmp(input_name(e, *(const int32_t*)a), input_name(e, *(const int32_t*)b));
}

static void add_device(tvmgo_executor* e, DLDevice dev) {
  if (dev.device_type == kDLCPU) return;
  for (int32_t i = 0; i < e->num_devices; i++)
    if (e->devices[i].device_type == dev.device_type && e->devices[i].device_id == dev.device_id) return;
  if (e->num_devices < MAX_EXECUTOR_DEVICES) e->devices[e->num_devices++] = dev;
}

void tvmgo_executor_ready(tvmgo_executor* e) {
  for (int32_t i = 0; i < e->sizes.data; i++) add_device(e, e->data[i].dl.device);
  qsort_r(e->sorted, (size_t)e->sizes.inputs, sizeof *e->sorted, by_name, e);
}

int32_t tvmgo_executor_find_input(tvmgo_executor* e, const char* name, size_t len) {
  int32_t low = 0, high = e->sizes.inputs;
  while (low < high) {
    int32_t mid = low + (high - low) / 2;
    const char* at = input_name(e, e->sorted[mid]);
    int order = strncmp(at, name, len);
    if (order == 0) order = at[len] != 0;
    if (order == 0) return e->sorted[mid];
    if (order < 0) low = mid + 1;
    else high = mid;
  }
  return -1;
}

/* ---- running ---- */

static int on_host(int32_t type) { return type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost; }

static TVMFFIStreamHandle stream_of(DLDevice d) { return tvmgo_stream_get(d.device_type, d.device_id); }

int tvmgo_executor_copy(const DLTensor* from, const DLTensor* to, TVMFFIObject** stage) {
  DLDevice f = from->device, t = to->device;
  if (on_host(f.device_type) || on_host(t.device_type) ||
      tvmgo_device_family(f.device_type) == tvmgo_device_family(t.device_type))
    return tvmgo_dl_copy(from, to, stream_of(on_host(f.device_type) ? t : f));
  TVMFFIObject* own = NULL;
  if (stage == NULL) stage = &own;
  if (*stage == NULL) {
    tvmgo_tensor* host = tvmgo_tensor_new(from->shape, from->ndim, from->dtype, (DLDevice){kDLCPU, 0}, NULL);
    if (host == NULL) return -1;
    *stage = &host->header;
  }
  DLTensor* host = tvmgo_tensor_dl(*stage);
  int rc = tvmgo_dl_copy(from, host, stream_of(f));
  if (rc == 0) rc = tvmgo_dl_copy(host, to, stream_of(t));
  tvmgo_object_release(own);
  return rc;
}

static int execute(graph_step* s) {
  if (s->kind == TVMGO_STEP_COPY) return tvmgo_executor_copy(s->args[0].v_ptr, s->args[1].v_ptr, &s->stage);
  TVMFFIAny result = {0};
  if (TVMGO_UNLIKELY(tvmgo_function_call(s->f, s->args, s->n, &result) != 0)) return -1;
  if (TVMGO_UNLIKELY(tvmgo_any_is_object(&result))) tvmgo_any_clear(&result);
  return 0;
}

int tvmgo_executor_run(tvmgo_executor* e, int32_t from, int32_t to) {
  graph_profile profile;
  int profiled = TVMGO_UNLIKELY(tvmgo_profiling != NULL) && tvmgo_executor_profile_begin(e, &profile) == 0, rc = 0;
  for (graph_step *s = e->steps, *end = s + e->sizes.steps; s < end; s++) {
    if (s->node < from) continue;
    if (s->node > to) break;
    if (TVMGO_UNLIKELY(profiled)) tvmgo_executor_profile_step(e, &profile, s);
    rc = execute(s);
    if (TVMGO_UNLIKELY(profiled)) tvmgo_profile_close(profile.thread);
    if (TVMGO_LIKELY(rc == 0)) continue;
    rc = tvmgo_raise_context("node %d \"%.200s\" (function \"%.200s\")", s->node, e->nodes[s->node].name, s->func);
    break;
  }
  if (TVMGO_UNLIKELY(profiled)) tvmgo_executor_profile_end(&profile);
  return rc;
}
