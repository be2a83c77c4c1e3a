/* The module of kind relax.VirtualMachine: its functions by name. */
#include "object/text.h"
#include "vm/session_state.h"

/* ---- state ---- */

static void drop_state(tvmgo_vm_value* v) {
  vm_state* state = (vm_state*)v;
  tvmgo_vm_model_release(state->model);
  tvmgo_vm_params_release(state->params);
  tvmgo_object_release(state->instrument);
  free(state);
}

void tvmgo_vm_session_peek(vm_session* s, vm_use* out) {
  const vm_state* now = (vm_state*)tvmgo_vm_current_enter(s->state, &out->slot);
  out->session = s;
  out->seen = now;
  out->model = now == NULL ? NULL : now->model;
  out->params = now == NULL ? NULL : now->params;
  out->options = (tvmgo_vm_options){.account = s->account, .instrument = now == NULL ? NULL : now->instrument};
}

int tvmgo_vm_no_devices(const char* f) {
  return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                     "%s: the virtual machine has no devices: call vm_initialization(device_type, device_id, "
                     "allocator, ...) first, the host (1, 0, 2) last",
                     f);
}

int tvmgo_vm_session_use(vm_session* s, const char* f, vm_use* out) {
  tvmgo_vm_session_peek(s, out);
  if (TVMGO_LIKELY(out->model != NULL)) return 0;
  tvmgo_vm_session_leave(out);
  return tvmgo_vm_no_devices(f);
}

void tvmgo_vm_session_leave(vm_use* u) { tvmgo_vm_current_leave(u->session->state, u->slot); }

int tvmgo_vm_session_change(vm_session* s, const vm_state* only, vm_part part, void* value) {
  vm_state* fresh = calloc(1, sizeof *fresh);
  if (fresh == NULL) return tvmgo_raise_oom();
  pthread_mutex_lock(&s->lock);
  const vm_state* now = (vm_state*)atomic_load(&s->state->now);
  if (only != NULL && now != only) {
    pthread_mutex_unlock(&s->lock);
    free(fresh);
    return 1;
  }
  if (now != NULL) *fresh = *now;
  if (part == PART_INSTRUMENT) fresh->instrument = NULL;
  if (part == PART_MODEL) fresh->model = NULL;
  if (part != PART_INSTRUMENT) fresh->params = NULL; /* they lie on the devices of the model */
  if (fresh->model != NULL) tvmgo_vm_model_retain(fresh->model);
  tvmgo_vm_params_retain(fresh->params);
  if (fresh->instrument != NULL) tvmgo_object_retain(fresh->instrument);
  if (part == PART_MODEL) fresh->model = value;
  if (part == PART_PARAMS) fresh->params = value;
  if (part == PART_INSTRUMENT) fresh->instrument = value;
  tvmgo_vm_value* old = tvmgo_vm_current_swap(s->state, &fresh->value);
  pthread_mutex_unlock(&s->lock);
  tvmgo_vm_current_retire(s->state, old);
  return 0;
}

/* The most similar name of a function of the machine; NULL if none is similar. */
static const char* similar_function(const tvmgo_vm_program* p, const TVMFFIByteArray* name) {
  const char* best = NULL;
  int least = (int)(name->size < 64 ? name->size : 64) / 4 + 2;
  for (int32_t i = 0; i < p->num_functions; i++) {
    const vm_function* f = &p->functions[i];
    TVMFFIByteArray known = {f->name, f->name_size};
    int d = f->kind == FUNCTION_PACKED ? least : tvmgo_text_distance(name, &known);
    if (d >= least) continue;
    least = d;
    best = f->name;
  }
  return best;
}

int32_t tvmgo_vm_session_function(const vm_session* s, const char* f, const TVMFFIAny* name) {
  TVMFFIByteArray text;
  if (tvmgo_arg_text(f, name, 0, &text) != 0) return -1;
  int64_t index = tvmgo_vm_program_find(s->program, text.data, text.size);
  if (index < 0) {
    const char* similar = similar_function(s->program, &text);
    tvmgo_raise(TVMGO_VALUE_ERROR, "%s: Unknown function: %.*s%s%s%s", f, tvmgo_quoted(text.size), text.data,
                similar != NULL ? ": did you mean " : "", similar != NULL ? similar : "", similar != NULL ? "?" : "");
  }
  return (int32_t)index;
}

/* ---- module functions ---- */

/* Triples of device type, index and kind of allocator; the host's is the last. The allocator counts for all devices of
 * the type: memory is pooled unless one of them asks for the naive one. */
static int initialize(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (n == 0 || n % 3 != 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "%s: expected a device type, a device index and an allocator for each device, got %d arguments",
                       f, (int)n);
  DLDevice* devices = calloc((size_t)n / 3, sizeof *devices);
  if (devices == NULL) return tvmgo_raise_oom();
  int rc = 0;
  uint64_t unpooled = 0;
  for (int32_t i = 0; i < n / 3 && rc == 0; i++) {
    int32_t type, id, allocator;
    rc = tvmgo_arg_int32(f, args, 3 * i, &type) | tvmgo_arg_int32(f, args, 3 * i + 1, &id) |
         tvmgo_arg_int32(f, args, 3 * i + 2, &allocator);
    if (rc == 0 && allocator != 1 && allocator != 2)
      rc = tvmgo_raise(TVMGO_VALUE_ERROR, "%s: Unknown allocator type: %d: give 1 (naive) or 2 (pooled)", f,
                       (int)allocator);
    if (rc == 0 && allocator == 1 && type >= 0 && type < 64) unpooled |= UINT64_C(1) << type;
    if (rc == 0) devices[i] = (DLDevice){(DLDeviceType)type, id};
  }
  if (rc == 0 && devices[n / 3 - 1].device_type != kDLCPU)
    rc = tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the last device must be the host: add 1, 0, 2 (cpu 0, pooled)", f);
  tvmgo_vm_model* m = rc == 0 ? tvmgo_vm_model_new(s->program, s->executable, devices, n / 3) : NULL;
  free(devices);
  if (m == NULL) return -1;
  tvmgo_vm_account_set_unpooled(s->account, unpooled);
  if (tvmgo_vm_session_change(s, NULL, PART_MODEL, m) == 0) return 0;
  tvmgo_vm_model_release(m);
  return -1;
}

static int get_arity(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (tvmgo_check_count(f, n, 1, 1) != 0) return -1;
  int32_t index = tvmgo_vm_session_function(s, f, &args[0]);
  if (index < 0) return -1;
  *result = tvmgo_any_int(s->program->functions[index].arity);
  return 0;
}

static int get_param_name(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  int64_t at;
  if (tvmgo_check_count(f, n, 2, 2) != 0) return -1;
  int32_t index = tvmgo_vm_session_function(s, f, &args[0]);
  if (index < 0 || tvmgo_arg_int(f, args, 1, &at) != 0) return -1;
  const vm_function* fn = &s->program->functions[index];
  if (at < 0 || at >= fn->num_params)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: Invalid index for %s (%lld out of %d)", f, fn->name, (long long)at,
                       fn->num_params);
  const int64_t* name = &s->program->params[2 * (fn->params + at)];
  return tvmgo_string_make(s->program->texts + name[0], (size_t)name[1], result);
}

/* invoke_closure(closure, args...) */
static int invoke(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  vm_use use;
  tvmgo_vm_call c;
  if (tvmgo_check_count(f, n, 1, -1) != 0) return -1;
  if (!tvmgo_any_is_object(&args[0]))
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: expected a closure or a function, got %s", f,
                       tvmgo_type_name(args[0].type_index));
  if (tvmgo_vm_session_use(s, f, &use) != 0) return -1;
  tvmgo_vm_call_begin(&c, use.model, &use.options);
  int rc = tvmgo_vm_call_closure(&c, args[0].v_obj, args + 1, n - 1, result);
  tvmgo_vm_call_end(&c);
  tvmgo_vm_session_leave(&use);
  return rc;
}

/* set_instrument(function), set_instrument(None), or the name of a global function that makes one from the rest. */
static int set_instrument(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIAny made = tvmgo_any_none();
  TVMFFIByteArray name;
  if (tvmgo_check_count(f, n, 1, -1) != 0) return -1;
  if (tvmgo_any_text(&args[0], &name)) {
    TVMFFIObject* factory = tvmgo_global_get(name.data, name.size);
    if (factory == NULL)
      return tvmgo_raise(TVMGO_NOT_FOUND_ERROR, "%s: Cannot find factory %.*s: register it as a global function", f,
                         tvmgo_quoted(name.size), name.data);
    int rc = tvmgo_function_call(factory, args + 1, n - 1, &made);
    tvmgo_object_release(factory);
    if (rc != 0) return rc;
  } else {
    made = args[0];
    if (tvmgo_any_is_object(&made)) tvmgo_object_retain(made.v_obj);
  }
  if (made.type_index != kTVMFFINone && made.type_index != kTVMFFIFunction) {
    tvmgo_raise(TVMGO_TYPE_ERROR, "%s: expected a function, its factory's name, or None, got %s", f,
                tvmgo_type_name(made.type_index));
    tvmgo_any_clear(&made);
    return -1;
  }
  TVMFFIObject* instrument = made.type_index == kTVMFFIFunction ? made.v_obj : NULL;
  if (tvmgo_vm_session_change(s, NULL, PART_INSTRUMENT, instrument) == 0) return 0;
  tvmgo_object_release(instrument);
  return -1;
}

/* save_function(function, name, with_result, args...): the name becomes a function of no arguments. */
static int save_function(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIByteArray name;
  if (tvmgo_check_count(f, n, 3, -1) != 0) return -1;
  int32_t index = tvmgo_vm_session_function(s, f, &args[0]);
  if (index < 0 || tvmgo_arg_text(f, args, 1, &name) != 0) return -1;
  if (args[2].type_index != kTVMFFIInt && args[2].type_index != kTVMFFIBool)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument 2 says whether the result is returned: expected a bool, got %s",
                       f, tvmgo_type_name(args[2].type_index));
  vm_saved* fresh = calloc(1, sizeof *fresh + name.size + 1);
  vm_values* v = fresh == NULL ? NULL : tvmgo_vm_values_new(index, n - 3);
  int rc = v == NULL ? tvmgo_raise_oom() : 0;
  for (int32_t i = 3; i < n && rc == 0; i++) rc = tvmgo_vm_own(&args[i], &v->values[i - 3]);
  if (rc != 0) {
    free(fresh);
    tvmgo_vm_values_release(v);
    return rc;
  }
  v->with_result = args[2].v_int64 != 0;
  *fresh = (vm_saved){.call = v, .size = name.size};
  memcpy(fresh->name, name.data, name.size);
  pthread_mutex_lock(&s->lock);
  vm_saved** at = &s->saved;
  while (*at != NULL && ((*at)->size != name.size || memcmp((*at)->name, name.data, name.size) != 0))
    at = &(*at)->next;
  vm_saved* old = *at;
  fresh->next = old != NULL ? old->next : NULL;
  *at = fresh;
  pthread_mutex_unlock(&s->lock);
  if (old != NULL) tvmgo_vm_values_release(old->call);
  free(old);
  return 0;
}

/* The devices of the model, the host last. */
static int get_devices(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  vm_use use;
  if (tvmgo_check_count(f, n, 0, 0) != 0 || tvmgo_vm_session_use(s, f, &use) != 0) return -1;
  TVMFFIAny* list = calloc((size_t)use.model->num_devices, sizeof *list);
  for (int32_t i = 0; list != NULL && i < use.model->num_devices; i++)
    list[i] = (TVMFFIAny){.type_index = kTVMFFIDevice, .v_device = use.model->devices[i]};
  TVMFFIObject* devices = list != NULL ? tvmgo_array_new(list, use.model->num_devices) : NULL;
  if (list == NULL) tvmgo_raise_oom();
  free(list);
  tvmgo_vm_session_leave(&use);
  *result = tvmgo_any_object(devices);
  return devices == NULL ? -1 : 0;
}

/* Gives a new session a model and bound parameters. */
static int copy_state(vm_session* fresh, const vm_use* from) {
  tvmgo_vm_model_retain(from->model);
  if (tvmgo_vm_session_change(fresh, NULL, PART_MODEL, from->model) != 0) {
    tvmgo_vm_model_release(from->model);
    return -1;
  }
  tvmgo_vm_params_retain(from->params);
  if (tvmgo_vm_session_change(fresh, NULL, PART_PARAMS, from->params) == 0) return 0;
  tvmgo_vm_params_release(from->params);
  return -1;
}

/* Another session on the same devices, with the same code, constants and bound parameters. */
static int another_session(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  vm_use use;
  if (tvmgo_check_count(f, n, 0, 0) != 0 || tvmgo_vm_session_use(s, f, &use) != 0) return -1;
  tvmgo_module* m = tvmgo_vm_session_new(s->program, s->executable);
  if (m != NULL) tvmgo_vm_account_set_unpooled(((vm_session*)m->self)->account, tvmgo_vm_account_unpooled(s->account));
  if (m != NULL && copy_state(m->self, &use) != 0) {
    tvmgo_object_release(m);
    m = NULL;
  }
  *result = tvmgo_any_object(m);
  tvmgo_vm_session_leave(&use);
  return m == NULL ? -1 : 0;
}

static const struct {
  const char* name;
  vm_body body;
} module_functions[] = {
    {"vm_initialization", initialize},
    {"set_input", tvmgo_vm_set_input},
    {"set_input_with_param_module", tvmgo_vm_set_input_with_params},
    {"invoke_stateful", tvmgo_vm_invoke_stateful},
    {"get_output", tvmgo_vm_get_output},
    {"get_output_arity", tvmgo_vm_get_output_arity},
    {"get_function_arity", get_arity},
    {"get_function_param_name", get_param_name},
    {"invoke_closure", invoke},
    {"save_function", save_function},
    {"set_instrument", set_instrument},
    {"tvmgo.functions", tvmgo_vm_functions},
    {"tvmgo.signature", tvmgo_vm_signature},
    {"tvmgo.bind", tvmgo_vm_bind},
    {"tvmgo.devices", get_devices},
    {"tvmgo.session", another_session},
    {"tvmgo.memory", tvmgo_vm_memory_of_session},
    {"tvmgo.set_memory_limit", tvmgo_vm_limit_session},
    {"tvmgo.model_memory", tvmgo_vm_memory_of_model},
    {"tvmgo.set_model_memory_limit", tvmgo_vm_limit_model},
};
enum { NUM_MODULE_FUNCTIONS = sizeof module_functions / sizeof *module_functions };

/* ---- function objects ---- */

/* What a function object of a session holds: a module function, a function of the machine, or a saved call. */
typedef struct {
  tvmgo_module* module; /* owned */
  int32_t of_module;    /* index of module_functions, or -1 */
  int32_t function;     /* of the program */
  vm_values* saved;     /* owned; NULL for the others */
} bound_function;

static void free_function(void* self) {
  bound_function* b = self;
  tvmgo_vm_values_release(b->saved);
  tvmgo_object_release(b->module);
  free(b);
}

static int call_function(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const bound_function* b = self;
  vm_session* s = b->module->self;
  vm_use use;
  if (b->of_module >= 0)
    return module_functions[b->of_module].body(s, module_functions[b->of_module].name, args, n, result);
  const char* name = s->program->functions[b->function].name;
  if (tvmgo_vm_session_use(s, name, &use) != 0) return -1;
  int rc;
  if (b->saved == NULL) {
    rc = tvmgo_vm_use_run(&use, b->function, args, n, result);
  } else if (n != 0) {
    rc = tvmgo_raise(TVMGO_TYPE_ERROR,
                     "saved call of function \"%s\": expected no arguments, got %d: save_function has stored its "
                     "arguments",
                     name, (int)n);
  } else {
    rc = tvmgo_vm_use_run(&use, b->function, b->saved->values, b->saved->n, result);
    if (rc == 0 && !b->saved->with_result) tvmgo_any_clear(result);
  }
  tvmgo_vm_session_leave(&use);
  return rc;
}

static int function_new(bound_function b, TVMFFIObject** out) {
  bound_function* copy = malloc(sizeof *copy);
  TVMFFIObjectHandle f = NULL;
  tvmgo_object_retain(b.module);
  if (copy == NULL) {
    tvmgo_object_release(b.module);
    tvmgo_vm_values_release(b.saved);
    return tvmgo_raise_oom();
  }
  *copy = b;
  if (TVMFFIFunctionCreate(copy, call_function, free_function, &f) != 0) {
    free_function(copy);
    return -1;
  }
  *out = f;
  return 0;
}

static int get_function(tvmgo_module* m, const char* name, size_t len, TVMFFIObject** out) {
  vm_session* s = m->self;
  bound_function b = {.module = m, .of_module = -1};
  for (int32_t i = 0; i < NUM_MODULE_FUNCTIONS; i++)
    if (strlen(module_functions[i].name) == len && memcmp(module_functions[i].name, name, len) == 0) {
      b.of_module = i;
      return function_new(b, out);
    }
  pthread_mutex_lock(&s->lock);
  vm_saved* saved = s->saved;
  while (saved != NULL && (saved->size != len || memcmp(saved->name, name, len) != 0)) saved = saved->next;
  if (saved != NULL) {
    b.saved = saved->call;
    atomic_fetch_add_explicit(&b.saved->refs, 1, memory_order_relaxed);
    b.function = b.saved->function;
  }
  pthread_mutex_unlock(&s->lock);
  if (b.saved != NULL) return function_new(b, out);
  int64_t index = tvmgo_vm_program_find(s->program, name, len);
  if (index < 0) return 0;
  b.function = (int32_t)index;
  return function_new(b, out);
}

static int function_names(tvmgo_module* m, TVMFFIObject** out) {
  const vm_session* s = m->self;
  const tvmgo_vm_program* p = s->program;
  TVMFFIAny* names = calloc((size_t)p->num_functions + NUM_MODULE_FUNCTIONS, sizeof *names);
  if (names == NULL) return tvmgo_raise_oom();
  int64_t n = 0;
  for (int32_t i = 0; i < p->num_functions; i++)
    if (p->functions[i].kind != FUNCTION_PACKED)
      names[n++] = (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = p->functions[i].name};
  for (int32_t i = 0; i < NUM_MODULE_FUNCTIONS; i++)
    names[n++] = (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = module_functions[i].name};
  *out = tvmgo_array_new(names, n);
  free(names);
  return *out == NULL ? -1 : 0;
}

/* ---- the module ---- */

static void session_free(void* self) {
  vm_session* s = self;
  for (int32_t i = 0; i < s->program->num_functions; i++) {
    if (s->inputs != NULL) tvmgo_vm_values_release(s->inputs[i]);
    if (s->outputs != NULL) tvmgo_vm_values_release(s->outputs[i]);
  }
  for (vm_saved *v = s->saved, *next; v != NULL; v = next) {
    next = v->next;
    tvmgo_vm_values_release(v->call);
    free(v);
  }
  free(s->inputs);
  free(s->outputs);
  tvmgo_vm_current_free(s->state);
  tvmgo_vm_account_release(s->account);
  tvmgo_vm_program_release(s->program);
  tvmgo_object_release(s->executable);
  tvmgo_renewed_destroy(&s->lock_in_child);
  free(s);
}

static const tvmgo_module_class session_class = {
    .get_function = get_function, .function_names = function_names, .destroy = session_free};

tvmgo_module* tvmgo_vm_session_new(tvmgo_vm_program* p, tvmgo_module* executable) {
  vm_session* s = calloc(1, sizeof *s);
  if (s == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  tvmgo_vm_program_retain(p);
  s->program = p;
  s->executable = executable;
  if (executable != NULL) tvmgo_object_retain(executable);
  tvmgo_renewed_init(&s->lock_in_child, &s->lock);
  s->inputs = calloc((size_t)p->num_functions + 1, sizeof *s->inputs);
  s->outputs = calloc((size_t)p->num_functions + 1, sizeof *s->outputs);
  s->account = tvmgo_vm_account_new(p->account, 0);
  s->state = tvmgo_vm_current_new(drop_state);
  tvmgo_module* m = NULL;
  if (s->inputs == NULL || s->outputs == NULL || s->account == NULL || s->state == NULL) tvmgo_raise_oom();
  else m = tvmgo_module_new(&session_class, "relax.VirtualMachine", TVMGO_MODULE_RUNNABLE, s);
  if (m == NULL) session_free(s);
  else if (executable != NULL) tvmgo_module_set_imports(m, tvmgo_module_imports(executable));
  return m;
}

typedef struct {
  tvmgo_vm_program* program;
  tvmgo_module* executable;
} loader;

static void free_loader(void* self) {
  loader* l = self;
  tvmgo_vm_program_release(l->program);
  tvmgo_object_release(l->executable);
  free(l);
}

static int load_executable(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const loader* l = self;
  if (tvmgo_check_count("vm_load_executable", n, 0, 0) != 0) return -1;
  tvmgo_module* m = tvmgo_vm_session_new(l->program, l->executable);
  *result = tvmgo_any_object(m);
  return m == NULL ? -1 : 0;
}

TVMFFIObject* tvmgo_vm_loader_new(tvmgo_vm_program* p, tvmgo_module* executable) {
  loader* l = malloc(sizeof *l);
  TVMFFIObjectHandle f = NULL;
  if (l == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  *l = (loader){p, executable};
  tvmgo_vm_program_retain(p);
  if (executable != NULL) tvmgo_object_retain(executable);
  if (TVMFFIFunctionCreate(l, load_executable, free_loader, &f) != 0) {
    free_loader(l);
    return NULL;
  }
  return f;
}
