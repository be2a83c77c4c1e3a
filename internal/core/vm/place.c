/* Inputs on the devices where functions expect them, and calls with inputs and bound parameters.
 *
 * An annotation with a device ("vdevice") names its device type and seldom which of several; one without is on the
 * first device. The compiler leaves out the annotations of some parameters. They are on the first device too, unless
 * the function's annotations name devices: then one on any of the model's devices is accepted. A function without any
 * annotation was written by hand, and gets its arguments as they are. */
#include "vm/session_state.h"

enum { MAX_DEPTH = 32, FEW = 64 };

/* ---- places ---- */

/* The place on a device type: of the n-th device of the type in the list. */
static vm_place on_type(const tvmgo_vm_model* m, const tvmgo_vm_type* t) {
  int32_t seen = 0, first = -1, host = m->num_devices - 1;
  for (int32_t i = 0; i < m->num_devices; i++) {
    if ((int32_t)m->devices[i].device_type != t->device_type) continue;
    if (first < 0) first = i;
    if (seen++ == t->device_nth) return (vm_place){PLACE_DEVICE, i};
  }
  if (first < 0) return (vm_place){PLACE_MODEL, 0}; /* the program runs on other devices than it was compiled for */
  int several = seen > 1 && !(seen == 2 && m->devices[host].device_type == m->devices[first].device_type &&
                              m->devices[host].device_id == m->devices[first].device_id);
  return (vm_place){several && t->device_nth < 0 ? PLACE_SAME_TYPE : PLACE_DEVICE, first};
}

/* Whether a type, or one of its fields, names a device. */
static int names_device(const tvmgo_vm_signatures* s, const tvmgo_vm_type* t) {
  if (t->device_type != 0) return 1;
  for (int32_t i = 0; i < t->num_fields; i++)
    if (names_device(s, &s->types[t->fields + i])) return 1;
  return 0;
}

static void set_place(const tvmgo_vm_model* m, vm_place* places, int64_t i, vm_place unknown) {
  const tvmgo_vm_signatures* s = &m->program->signatures;
  const tvmgo_vm_type* t = &s->types[i];
  places[i] = t->device_type != 0 ? on_type(m, t) : t->kind == TVMGO_VM_TENSOR ? (vm_place){PLACE_DEVICE, 0} : unknown;
  for (int32_t k = 0; k < t->num_fields; k++) set_place(m, places, t->fields + k, unknown);
}

vm_place* tvmgo_vm_places_new(const tvmgo_vm_model* m) {
  const tvmgo_vm_program* p = m->program;
  const tvmgo_vm_signatures* s = &p->signatures;
  vm_place* places = calloc((size_t)s->num_types + 1, sizeof *places);
  if (places == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  for (int32_t f = 0; f < p->num_functions; f++) {
    const tvmgo_vm_type* types = tvmgo_vm_type_of(p, f, 0);
    if (types == NULL) continue;
    vm_place unknown = {PLACE_DEVICE, 0};
    for (int32_t i = 0; i <= p->functions[f].arity; i++)
      if (names_device(s, &types[i])) unknown.rule = PLACE_MODEL;
    for (int32_t i = 0; i <= p->functions[f].arity; i++) set_place(m, places, types - s->types + i, unknown);
  }
  return places;
}

/* ---- values ---- */

static int same(DLDevice a, DLDevice b) { return a.device_type == b.device_type && a.device_id == b.device_id; }

/* Whether a tensor on a device may stay there. */
static int may_stay(const tvmgo_vm_model* m, vm_place place, DLDevice dev) {
  DLDevice to = m->devices[place.device];
  if (TVMGO_LIKELY(same(dev, to))) return 1;
  if (place.rule == PLACE_DEVICE || (place.rule == PLACE_SAME_TYPE && dev.device_type != to.device_type)) return 0;
  for (int32_t i = 0; i < m->num_devices; i++)
    if (same(dev, m->devices[i])) return 1;
  return 0;
}

static const DLTensor* tensor_of(const TVMFFIAny* v) {
  if (v->type_index == kTVMFFITensor) return tvmgo_tensor_dl(v->v_obj);
  return v->type_index == kTVMFFIDLTensorPtr ? v->v_ptr : NULL;
}

/* Field i of a tuple whose own place is known. */
static vm_target field(const tvmgo_vm_model* m, const vm_target* tuple, int64_t i) {
  if (tuple->type == NULL || i >= tuple->type->num_fields) return (vm_target){NULL, tuple->place};
  const tvmgo_vm_signatures* s = &m->program->signatures;
  int64_t at = tuple->type->fields + i;
  return (vm_target){&s->types[at], m->places[at]};
}

vm_target tvmgo_vm_target(const tvmgo_vm_model* m, int32_t function, int32_t i) {
  const tvmgo_vm_type* t = tvmgo_vm_type_of(m->program, function, i);
  if (t == NULL) return (vm_target){NULL, {PLACE_DEVICE, 0}};
  return (vm_target){t, m->places[t - m->program->signatures.types]};
}

static int is_placed(const tvmgo_vm_model* m, const vm_target* to, const TVMFFIAny* v, int depth) {
  const DLTensor* t = tensor_of(v);
  if (t != NULL) return may_stay(m, to->place, t->device);
  if (v->type_index != kTVMFFIArray || depth > MAX_DEPTH) return 1;
  const TVMFFISeqCell* seq = tvmgo_seq_cell(v->v_obj);
  for (int64_t i = 0; i < seq->size; i++) {
    vm_target element = field(m, to, i);
    if (!is_placed(m, &element, (const TVMFFIAny*)seq->data + i, depth + 1)) return 0;
  }
  return 1;
}

static int place(const tvmgo_vm_model* m, const vm_target* to, const TVMFFIAny* v, const vm_mover* mover, int depth,
                 TVMFFIAny* out) {
  const DLTensor* t = tensor_of(v);
  int stays = t != NULL && may_stay(m, to->place, t->device);
  if (t != NULL && (mover->all || !stays)) {
    *out = tvmgo_any_none();
    if (tvmgo_dl_check(t, "the input") != 0 || tvmgo_dl_check_place(t, "the input") != 0) return -1;
    return mover->move(mover->self, v, stays ? t->device : m->devices[to->place.device], out);
  }
  if (v->type_index != kTVMFFIArray || (!mover->all && is_placed(m, to, v, depth))) return tvmgo_vm_own(v, out);
  *out = tvmgo_any_none();
  const TVMFFISeqCell* seq = tvmgo_seq_cell(v->v_obj);
  TVMFFIAny* items = calloc((size_t)seq->size + 1, sizeof *items);
  if (items == NULL) return tvmgo_raise_oom();
  int rc = 0;
  for (int64_t i = 0; i < seq->size && rc == 0; i++) {
    vm_target element = field(m, to, i);
    rc = place(m, &element, (const TVMFFIAny*)seq->data + i, mover, depth + 1, &items[i]);
  }
  if (rc == 0) {
    *out = tvmgo_any_object(tvmgo_array_new(items, seq->size));
    rc = out->v_obj == NULL ? -1 : 0;
  }
  for (int64_t i = 0; i < seq->size; i++) tvmgo_any_clear(&items[i]);
  free(items);
  return rc;
}

int tvmgo_vm_place(const tvmgo_vm_model* m, const vm_target* to, const TVMFFIAny* v, const vm_mover* mover,
                   TVMFFIAny* out) {
  return place(m, to, v, mover, 0, out);
}

/* Moves an input: the self of the mover is the account that the copy is charged to. */
static int copy_input(void* account, const TVMFFIAny* v, DLDevice dev, TVMFFIAny* out) {
  TVMFFIObject* copy = tvmgo_vm_copy(account, tensor_of(v), dev, NULL);
  *out = tvmgo_any_object(copy);
  return copy == NULL ? -1 : 0;
}

vm_mover tvmgo_vm_input_mover(tvmgo_vm_account* account) { return (vm_mover){.move = copy_input, .self = account}; }

/* ---- calls ---- */

/* Moves the inputs that lie elsewhere. all[i] becomes a view; owned copies are added to made. */
static int move_inputs(const vm_use* use, int32_t function, TVMFFIAny* all, int32_t n, TVMFFIAny* made,
                       int32_t* num_made) {
  vm_mover mover = tvmgo_vm_input_mover(use->options.account);
  for (int32_t i = 0; i < n; i++) {
    vm_target to = tvmgo_vm_target(use->model, function, i);
    if (is_placed(use->model, &to, &all[i], 0)) continue;
    TVMFFIAny* copy = &made[*num_made];
    if (place(use->model, &to, &all[i], &mover, 0, copy) != 0)
      return tvmgo_raise_context("argument %d of function \"%s\"", i, use->model->program->functions[function].name);
    all[i] = *copy;
    ++*num_made;
  }
  return 0;
}

/* Whether all inputs are where they belong. A function without annotations takes them as they are. */
static int all_placed(const tvmgo_vm_model* m, int32_t function, const TVMFFIAny* args, int32_t n) {
  if (tvmgo_vm_type_of(m->program, function, 0) == NULL) return 1;
  for (int32_t i = 0; i < n; i++) {
    vm_target to = tvmgo_vm_target(m, function, i);
    if (!is_placed(m, &to, &args[i], 0)) return 0;
  }
  return 1;
}

static int run_with(const vm_use* use, int32_t function, const TVMFFIAny* args, int fill, TVMFFIAny* list,
                    TVMFFIAny* result) {
  int32_t arity = use->model->program->functions[function].arity, num_made = 0, next = 0;
  TVMFFIAny* made = list + arity;
  for (int32_t i = 0; i < arity; i++) {
    const TVMFFIAny* bound = fill ? tvmgo_vm_bound_value(use->params, function, i) : NULL;
    list[i] = bound != NULL ? *bound : args[next++];
  }
  int rc = all_placed(use->model, function, list, arity)
               ? 0
               : move_inputs(use, function, list, arity, made, &num_made);
  if (rc == 0) rc = tvmgo_vm_model_run(use->model, &use->options, function, list, arity, result);
  for (int32_t i = 0; i < num_made; i++) tvmgo_any_clear(&made[i]);
  return rc;
}

int tvmgo_vm_use_run(const vm_use* use, int32_t function, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const vm_function* f = &use->model->program->functions[function];
  int32_t bound = tvmgo_vm_num_bound(use->params, function);
  if (TVMGO_UNLIKELY(n != f->arity && (bound == 0 || n != f->arity - bound)))
    return tvmgo_vm_wrong_arguments(use->model->program, use->params, function, n);
  int fill = n != f->arity;
  if (TVMGO_LIKELY(!fill) && TVMGO_LIKELY(all_placed(use->model, function, args, n)))
    return tvmgo_vm_model_run(use->model, &use->options, function, args, n, result);
  TVMFFIAny few[2 * FEW], *list = few;
  if (f->arity > FEW && (list = malloc(2 * (size_t)f->arity * sizeof *list)) == NULL) return tvmgo_raise_oom();
  int rc = run_with(use, function, args, fill, list, result);
  if (list != few) free(list);
  return rc;
}
