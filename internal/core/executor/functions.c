/* The functions of an executor, as modules of TVM have them (docs/abi.md G.4). */
#include "executor/arguments.h"
#include "object/check.h"

#include <stdlib.h>
#include <string.h>

/* ---- results ---- */

static int give(const executor_call* c, TVMFFIObject* owned) {
  if (owned == NULL) return -1;
  *c->result = tvmgo_any_object(owned);
  return 0;
}

static int give_int(const executor_call* c, int64_t v) {
  *c->result = tvmgo_any_int(v);
  return 0;
}

/* A tensor with the memory of an entry; owned. */
static TVMFFIObject* view(const data_entry* d) {
  if (!d->moved) {
    tvmgo_object_retain(d->planned);
    return d->planned;
  }
  tvmgo_tensor* t = tvmgo_tensor_wrap(&d->dl, d->bound, d->bound ? tvmgo_object_release : NULL);
  if (t == NULL) return NULL;
  if (d->bound != NULL) tvmgo_object_retain(d->bound);
  return &t->header;
}

/* A copy of an entry on a device; owned. */
TVMFFIObject* tvmgo_executor_copy_of(const data_entry* d, DLDevice dev) {
  tvmgo_tensor* t = tvmgo_tensor_new(d->dl.shape, d->dl.ndim, d->dl.dtype, dev, NULL);
  if (t == NULL) return NULL;
  if (tvmgo_executor_copy(&d->dl, &t->dl, NULL) == 0) return &t->header;
  tvmgo_object_release(t);
  return NULL;
}

/* ---- the functions ---- */

static const char* input_name(const executor_call* c, int32_t i) { return c->e->nodes[c->e->inputs[i]].name; }
static const char* output_name(const executor_call* c, int32_t i) { return c->e->nodes[c->e->outputs[i].node].name; }

/* Copies arguments at (input) and at+1 (tensor). */
static int set_input_at(const executor_call* c, int32_t at) {
  int32_t i;
  const DLTensor* t;
  TVMFFIObject* owner;
  if (tvmgo_executor_item(c, at, AN_INPUT, &i) != 0 || tvmgo_executor_tensor(c, at + 1, &t, &owner) != 0) return -1;
  data_entry* d = tvmgo_executor_input_data(c->e, i);
  if (tvmgo_executor_same_form(c, t, &d->dl, "input", input_name(c, i)) != 0 ||
      tvmgo_executor_own(c->e, d, 0) != 0)
    return -1;
  return tvmgo_executor_copy(t, &d->dl, NULL) == 0 ? 0 : tvmgo_raise_context("%s \"%.200s\"", c->f, input_name(c, i));
}

static int set_input(const executor_call* c) { return tvmgo_executor_count(c, 2, 2) != 0 ? -1 : set_input_at(c, 0); }

/* Moves an entry to the memory of argument 1. */
static int use_memory(const executor_call* c, data_entry* d, const char* what, const char* name) {
  const DLTensor* t;
  TVMFFIObject* owner;
  if (tvmgo_executor_tensor(c, 1, &t, &owner) != 0 || tvmgo_executor_usable(c, t, d, what, name) != 0) return -1;
  tvmgo_executor_use(c->e, d, t, owner);
  return 0;
}

static int set_input_zero_copy(const executor_call* c) {
  int32_t i;
  if (tvmgo_executor_count(c, 2, 2) != 0 || tvmgo_executor_item(c, 0, AN_INPUT, &i) != 0) return -1;
  return use_memory(c, tvmgo_executor_input_data(c->e, i), "input", input_name(c, i));
}

static int set_output_zero_copy(const executor_call* c) {
  int32_t i;
  if (tvmgo_executor_count(c, 2, 2) != 0 || tvmgo_executor_item(c, 0, AN_OUTPUT, &i) != 0) return -1;
  const graph_output* o = &c->e->outputs[i];
  if (o->refusal != TVMGO_OUTPUT_FREE)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: output %d \"%.200s\" is %s: read it with get_output", c->f, i,
                       output_name(c, i),
                       o->refusal == TVMGO_OUTPUT_IS_INPUT ? "an input of the graph, which no function writes"
                                                           : "the same data as another output");
  return use_memory(c, &c->e->data[o->data], "output", output_name(c, i));
}

/* The caller may write to the result, so it is memory of this executor alone. */
static int get_input(const executor_call* c) {
  int32_t i;
  if (tvmgo_executor_count(c, 1, 1) != 0 || tvmgo_executor_item(c, 0, AN_INPUT, &i) != 0) return -1;
  data_entry* d = tvmgo_executor_input_data(c->e, i);
  return tvmgo_executor_own(c->e, d, 1) != 0 ? -1 : give(c, view(d));
}

/* Memory of an input for another executor: from now on, neither of the two writes to it. */
static int share_input(const executor_call* c) {
  int32_t i;
  if (tvmgo_executor_count(c, 1, 1) != 0 || tvmgo_executor_item(c, 0, AN_INPUT, &i) != 0) return -1;
  data_entry *d = tvmgo_executor_input_data(c->e, i), *at = d;
  do at->shared = 1;
  while ((at = &c->e->data[at->next]) != d);
  return give(c, view(d));
}

static int use_shared(const executor_call* c) {
  int32_t i;
  if (tvmgo_executor_count(c, 2, 2) != 0 || tvmgo_executor_item(c, 0, AN_INPUT, &i) != 0) return -1;
  data_entry *d = tvmgo_executor_input_data(c->e, i), *at = d;
  if (use_memory(c, d, "input", input_name(c, i)) != 0) return -1;
  do at->shared = 1;
  while ((at = &c->e->data[at->next]) != d);
  return 0;
}

/* Copies an entry to the tensor of argument i. */
static int copy_to_arg(const executor_call* c, const data_entry* d, int32_t i, const char* what, const char* name) {
  const DLTensor* t;
  TVMFFIObject* owner;
  if (tvmgo_executor_tensor(c, i, &t, &owner) != 0 || tvmgo_executor_same_form(c, t, &d->dl, what, name) != 0)
    return -1;
  return tvmgo_executor_copy(&d->dl, t, NULL) == 0 ? 0 : tvmgo_raise_context("%s \"%.200s\"", c->f, name);
}

static int get_output(const executor_call* c) {
  int32_t i;
  if (tvmgo_executor_count(c, 1, 2) != 0 || tvmgo_executor_item(c, 0, AN_OUTPUT, &i) != 0) return -1;
  const data_entry* d = &c->e->data[c->e->outputs[i].data];
  if (c->n == 2) return copy_to_arg(c, d, 1, "output", output_name(c, i));
  return give(c, view(d));
}

static int get_num_inputs(const executor_call* c) {
  return tvmgo_executor_count(c, 0, 0) != 0 ? -1 : give_int(c, c->e->sizes.inputs);
}

static int get_num_outputs(const executor_call* c) {
  return tvmgo_executor_count(c, 0, 0) != 0 ? -1 : give_int(c, c->e->sizes.outputs);
}

static int get_input_index(const executor_call* c) {
  TVMFFIByteArray name;
  if (tvmgo_executor_count(c, 1, 1) != 0 || tvmgo_arg_text(c->f, c->args, 0, &name) != 0) return -1;
  return give_int(c, tvmgo_executor_find_input(c->e, name.data, name.size));
}

static int get_output_index(const executor_call* c) {
  TVMFFIByteArray name;
  if (tvmgo_executor_count(c, 1, 1) != 0 || tvmgo_arg_text(c->f, c->args, 0, &name) != 0) return -1;
  return give_int(c, tvmgo_executor_find_output(c->e, &name));
}

static int run(const executor_call* c) {
  return tvmgo_executor_count(c, 0, 0) != 0 ? -1 : tvmgo_executor_run(c->e, 0, c->e->sizes.nodes);
}

static int device_arg(const executor_call* c, int32_t i, DLDevice* out) {
  int32_t type, id;
  if (tvmgo_arg_int32(c->f, c->args, i, &type) != 0 || tvmgo_arg_int32(c->f, c->args, i + 1, &id) != 0) return -1;
  *out = (DLDevice){(DLDeviceType)type, id};
  return tvmgo_device_api(type) == NULL ? tvmgo_raise_context("%s", c->f) : 0;
}

static int run_from_inputs(const executor_call* c) {
  DLDevice host;
  if (tvmgo_executor_count(c, 2, INT32_MAX) != 0 || device_arg(c, 0, &host) != 0) return -1;
  if (c->n % 2 != 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %d arguments: expected a device type, a device id, and pairs of "
                       "an input's name and a tensor", c->f, c->n);
  for (int32_t i = 2; i < c->n; i += 2)
    if (set_input_at(c, i) != 0) return -1;
  if (tvmgo_executor_run(c->e, 0, c->e->sizes.nodes) != 0) return -1;
  int32_t n = c->e->sizes.outputs, made = 0;
  TVMFFIAny* items = calloc((size_t)n + 1, sizeof *items);
  if (items == NULL) return tvmgo_raise_oom();
  for (; made < n; made++) {
    TVMFFIObject* t = tvmgo_executor_copy_of(&c->e->data[c->e->outputs[made].data], host);
    if (t == NULL) break;
    items[made] = tvmgo_any_object(t);
  }
  int rc = made < n ? -1 : give(c, tvmgo_array_new(items, n));
  for (int32_t i = 0; i < made; i++) tvmgo_any_clear(&items[i]);
  free(items);
  return rc;
}

/* The first output of the node of argument 0, and with `more` the output with the index in argument 1. */
static int node_arg(const executor_call* c, int more, int32_t* node, const data_entry** out) {
  int32_t k = 0;
  if (tvmgo_executor_item(c, 0, A_NODE, node) != 0) return -1;
  const graph_node* at = &c->e->nodes[*node];
  if (more && tvmgo_executor_index(c, 1, at->outputs, "output of this node", &k) != 0) return -1;
  if (k >= at->outputs) return tvmgo_raise(TVMGO_INDEX_ERROR, "%s: node %d has no output", c->f, *node);
  *out = &c->e->data[at->first + k];
  return 0;
}

static int debug_get_output(const executor_call* c) {
  int32_t node;
  const data_entry* d;
  if (tvmgo_executor_count(c, 2, 2) != 0 || node_arg(c, 0, &node, &d) != 0 ||
      tvmgo_executor_run(c->e, 0, node) != 0)
    return -1;
  return copy_to_arg(c, d, 1, "the output of node", c->e->nodes[node].name);
}

static int execute_node(const executor_call* c) {
  int32_t node;
  if (tvmgo_executor_count(c, 1, 1) != 0 || tvmgo_executor_item(c, 0, A_NODE, &node) != 0) return -1;
  return tvmgo_executor_run(c->e, node, node);
}

static int get_node_output(const executor_call* c) {
  int32_t node;
  const data_entry* d;
  if (tvmgo_executor_count(c, 2, 2) != 0 || node_arg(c, 1, &node, &d) != 0) return -1;
  return give(c, tvmgo_executor_copy_of(d, d->dl.device));
}

/* ---- memory ---- */

static int has_account(const executor_call* c) {
  if (c->e->account != NULL) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the executor is no session of a model: tvmgo.load_model loads a model, "
                     "and its function tvmgo.session makes one", c->f);
}

static int get_memory(const executor_call* c) {
  if (tvmgo_executor_count(c, 0, 0) != 0 || has_account(c) != 0) return -1;
  return tvmgo_vm_account_map(c->e->account, c->e->weights, c->result);
}

/* The memory is that of the plan, which exists already. */
static int set_memory_limit(const executor_call* c) {
  tvmgo_vm_memory now;
  if (has_account(c) != 0) return -1;
  tvmgo_vm_account_read(c->e->account, &now);
  const int64_t limit = c->n == 1 && c->args[0].type_index == kTVMFFIInt ? c->args[0].v_int64 : 0;
  if (limit > 0 && limit < now.live)
    return tvmgo_raise(TVMGO_MEMORY_ERROR, "%s: the limit is %lld bytes, and the graph's plan has %lld bytes already: "
                       "give at least these, or limit the model before it makes the session", c->f, (long long)limit,
                       (long long)now.live);
  return tvmgo_vm_account_take_limit(c->e->account, c->f, c->args, c->n);
}

/* ---- the table ---- */

static const executor_entry table[] = {
    {"debug_get_output", debug_get_output},
    {"end_capture", tvmgo_executor_end_capture},
    {"execute_node", execute_node},
    {"get_input", get_input},
    {"get_input_index", get_input_index},
    {"get_node_output", get_node_output},
    {"get_num_inputs", get_num_inputs},
    {"get_num_outputs", get_num_outputs},
    {"get_output", get_output},
    {"get_output_index", get_output_index},
    {"run", run},
    {"run_cuda_graph", tvmgo_executor_run_cuda_graph},
    {"run_from_inputs", run_from_inputs},
    {"set_input", set_input},
    {"set_input_zero_copy", set_input_zero_copy},
    {"set_output_zero_copy", set_output_zero_copy},
    {"start_capture", tvmgo_executor_start_capture},
    {"tvmgo.memory", get_memory},
    {"tvmgo.set_memory_limit", set_memory_limit},
    /* for Go */
    {"__data", tvmgo_executor_attach_data},
    {"__pointer", tvmgo_executor_attach_pointer},
    {"__form", tvmgo_executor_attach_form},
    {"__function", tvmgo_executor_attach_function},
    {"__unknown", tvmgo_executor_attach_unknown},
    {"__share_input", share_input},
    {"__use_shared", use_shared},
};

/* A function object's own state: which executor, which function. */
typedef struct {
  tvmgo_executor* e;
  const executor_entry* entry;
} bound_function;

static int enter(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const bound_function* b = self;
  tvmgo_executor* e = b->e;
  if (atomic_exchange_explicit(&e->busy, 1, memory_order_acquire) != 0)
    return tvmgo_raise(TVMGO_RUNTIME_ERROR, "%s: another call of this graph executor is in progress: make an executor "
                       "for each thread; they share the parameters of their factory", b->entry->name);
  int rc = 0;
  for (int32_t i = 0; i < n && rc == 0; i++)
    if (tvmgo_check_value(&args[i]) != 0) rc = tvmgo_raise_context("%s: argument %d", b->entry->name, i);
  executor_call c = {e, b->entry->name, args, n, result};
  if (rc == 0) rc = b->entry->body(&c);
  atomic_store_explicit(&e->busy, 0, memory_order_release);
  return rc;
}

static void leave(void* self) {
  bound_function* b = self;
  tvmgo_executor_release(b->e);
  free(b);
}

const char* tvmgo_executor_function_name(int32_t i) {
  return i < (int32_t)(sizeof table / sizeof *table) && table[i].name[0] != '_' ? table[i].name : NULL;
}

int tvmgo_executor_function(tvmgo_executor* e, const char* name, size_t len, TVMFFIObject** out) {
  *out = NULL;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (strlen(table[i].name) != len || memcmp(table[i].name, name, len) != 0) continue;
    bound_function* b = malloc(sizeof *b);
    if (b == NULL) return tvmgo_raise_oom();
    *b = (bound_function){e, &table[i]};
    TVMFFIObjectHandle f = NULL;
    if (TVMFFIFunctionCreate(b, enter, leave, &f) != 0) {
      free(b);
      return -1;
    }
    tvmgo_executor_retain(e);
    *out = f;
    return 0;
  }
  return 0;
}
