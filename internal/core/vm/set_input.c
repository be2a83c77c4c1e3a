/* Stateful calls: inputs that are stored, and outputs of the last call. */
#include "vm/session_state.h"

vm_values* tvmgo_vm_values_new(int32_t function, int32_t n) {
  vm_values* v = calloc(1, sizeof *v + (size_t)n * sizeof *v->values);
  if (v == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  atomic_init(&v->refs, 1);
  v->function = function;
  v->n = n;
  return v;
}

void tvmgo_vm_values_release(vm_values* v) {
  if (v == NULL || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1) return;
  for (int32_t i = 0; i < v->n; i++) tvmgo_any_clear(&v->values[i]);
  free(v);
}

/* A reference to the values in a cell of the session; NULL if there are none. */
static vm_values* take_ref(vm_session* s, vm_values** cell) {
  pthread_mutex_lock(&s->lock);
  vm_values* v = *cell;
  if (v != NULL) atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
  pthread_mutex_unlock(&s->lock);
  return v;
}

/* Puts values (consumed) into a cell. */
static void replace(vm_session* s, vm_values** cell, vm_values* v) {
  pthread_mutex_lock(&s->lock);
  vm_values* old = *cell;
  *cell = v;
  pthread_mutex_unlock(&s->lock);
  tvmgo_vm_values_release(old);
}

/* What the function get_params of a module returns. */
static int params_of(const char* f, const TVMFFIAny* module, TVMFFIAny* out) {
  TVMFFIObject* get = NULL;
  if (module->type_index != kTVMFFIModule || !tvmgo_module_is_ours(module->v_obj))
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: the last argument must be a module with the function get_params, got %s",
                       f, tvmgo_type_name(module->type_index));
  if (tvmgo_module_get_function((tvmgo_module*)module->v_obj, "get_params", 10, 1, &get) != 0) return -1;
  if (get == NULL) return tvmgo_raise(TVMGO_NOT_FOUND_ERROR, "%s: the module has no function get_params", f);
  int rc = tvmgo_function_call(get, NULL, 0, out);
  tvmgo_object_release(get);
  return rc;
}

/* Waits for the copies that moved inputs: another thread, with other streams, may use them. */
static int await_inputs(const tvmgo_vm_model* m) {
  for (int32_t i = 0; i < m->num_devices; i++) {
    DLDevice dev = m->devices[i];
    if (dev.device_type != kDLCPU && tvmgo_device_sync(dev, tvmgo_stream_get(dev.device_type, dev.device_id)) != 0)
      return -1;
  }
  return 0;
}

static int store_inputs(const vm_use* use, const char* f, const TVMFFIAny* args, int32_t n, int with_params,
                        vm_values* v) {
  const vm_function* fn = &use->model->program->functions[v->function];
  vm_mover mover = tvmgo_vm_input_mover(use->options.account);
  int fill = n != fn->arity, next = 0, rc = 0;
  for (int32_t i = 0; i < fn->arity && rc == 0; i++) {
    const TVMFFIAny* bound = fill ? tvmgo_vm_bound_value(use->params, v->function, i) : NULL;
    const TVMFFIAny* from = bound != NULL ? bound : &args[next++];
    vm_target to = tvmgo_vm_target(use->model, v->function, i);
    TVMFFIAny params = tvmgo_any_none();
    if (with_params && bound == NULL && next == n) {
      rc = params_of(f, from, &params);
      from = &params;
    }
    if (rc == 0 && (rc = tvmgo_vm_place(use->model, &to, from, &mover, &v->values[i])) != 0)
      rc = tvmgo_raise_context("%s: argument %d of function \"%s\"", f, i, fn->name);
    tvmgo_any_clear(&params);
  }
  return rc == 0 ? await_inputs(use->model) : rc;
}

static int set_input(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, int with_params) {
  vm_use use;
  if (tvmgo_check_count(f, n, 1, -1) != 0) return -1;
  int32_t index = tvmgo_vm_session_function(s, f, &args[0]);
  if (index < 0) return -1;
  tvmgo_vm_session_peek(s, &use);
  int32_t arity = s->program->functions[index].arity, bound = tvmgo_vm_num_bound(use.params, index), rc = 0;
  vm_values* v = NULL;
  if (n - 1 != arity && (bound == 0 || n - 1 != arity - bound)) {
    rc = tvmgo_vm_wrong_arguments(s->program, use.params, index, n - 1);
    if (rc != 0) rc = tvmgo_raise_context("%s", f);
  } else if (use.model == NULL) {
    rc = tvmgo_vm_no_devices(f);
  } else if ((v = tvmgo_vm_values_new(index, arity)) == NULL) {
    rc = -1;
  } else {
    rc = store_inputs(&use, f, args + 1, n - 1, with_params, v);
  }
  if (rc == 0) replace(s, &s->inputs[index], v);
  else tvmgo_vm_values_release(v);
  tvmgo_vm_session_leave(&use);
  return rc;
}

int tvmgo_vm_set_input(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return set_input(s, f, args, n, 0);
}

int tvmgo_vm_set_input_with_params(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n,
                                   TVMFFIAny* result) {
  return set_input(s, f, args, n, 1);
}

int tvmgo_vm_invoke_stateful(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  vm_use use;
  if (tvmgo_check_count(f, n, 1, 1) != 0) return -1;
  int32_t index = tvmgo_vm_session_function(s, f, &args[0]);
  if (index < 0) return -1;
  const char* name = s->program->functions[index].name;
  vm_values* in = take_ref(s, &s->inputs[index]);
  if (in == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: No inputs set for stateful call of %s; use `set_input` first.", f, name);
  vm_values* out = tvmgo_vm_values_new(index, 1);
  int rc = out == NULL ? -1 : tvmgo_vm_session_use(s, f, &use);
  if (rc == 0) {
    rc = tvmgo_vm_model_run(use.model, &use.options, index, in->values, in->n, &out->values[0]);
    tvmgo_vm_session_leave(&use);
  }
  if (rc == 0) replace(s, &s->outputs[index], out);
  else tvmgo_vm_values_release(out);
  tvmgo_vm_values_release(in);
  return rc;
}

/* The element of nested tuples that indices lead to, borrowed from v; NULL with an error raised. */
static const TVMFFIAny* element(const char* f, const TVMFFIAny* v, const TVMFFIAny* args, int32_t n) {
  for (int32_t i = 1; i < n; i++) {
    int64_t index;
    if (tvmgo_arg_int(f, args, i, &index) != 0) return NULL;
    if (v->type_index != kTVMFFIArray) {
      tvmgo_raise(TVMGO_VALUE_ERROR, "%s: Attempted to index into an object that is not an Array.", f);
      return NULL;
    }
    const TVMFFISeqCell* seq = tvmgo_seq_cell(v->v_obj);
    if (index < 0 || index >= seq->size) {
      tvmgo_raise(TVMGO_INDEX_ERROR, "%s: Invalid index (%lld >= %lld).", f, (long long)index, (long long)seq->size);
      return NULL;
    }
    v = (const TVMFFIAny*)seq->data + index;
  }
  return v;
}

/* The output that args name; *keep must be released. */
static const TVMFFIAny* output(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, vm_values** keep) {
  *keep = NULL;
  if (tvmgo_check_count(f, n, 1, -1) != 0) return NULL;
  int32_t index = tvmgo_vm_session_function(s, f, &args[0]);
  if (index < 0) return NULL;
  *keep = take_ref(s, &s->outputs[index]);
  if (*keep != NULL) return element(f, &(*keep)->values[0], args, n);
  tvmgo_raise(TVMGO_VALUE_ERROR, "%s: No output saved for call of \"%s\"; use `invoke_stateful` to call it first.", f,
              s->program->functions[index].name);
  return NULL;
}

int tvmgo_vm_get_output(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  vm_values* keep;
  const TVMFFIAny* v = output(s, f, args, n, &keep);
  int rc = v == NULL ? -1 : 0;
  if (rc == 0 && v->type_index == kTVMFFIArray)
    rc = tvmgo_raise(TVMGO_VALUE_ERROR,
                     "%s: `get_output` cannot return a tuple for RPC compatibility. Please specify another index "
                     "argument.",
                     f);
  if (rc == 0) rc = tvmgo_vm_own(v, result);
  tvmgo_vm_values_release(keep);
  return rc;
}

int tvmgo_vm_get_output_arity(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  vm_values* keep;
  const TVMFFIAny* v = output(s, f, args, n, &keep);
  int rc = v == NULL ? -1 : 0;
  if (rc == 0) *result = tvmgo_any_int(v->type_index == kTVMFFIArray ? tvmgo_seq_cell(v->v_obj)->size : -1);
  tvmgo_vm_values_release(keep);
  return rc;
}
