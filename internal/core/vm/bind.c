/* Bound parameters: tensors that a session gives its functions for parameters of their names.
 *
 * A set of them is immutable; binding more makes a new set, so a call sees the one or the other. The sessions of a
 * program share the tensors: a list of the program knows which tensor of a caller is already on which device. */
#include "object/text.h"
#include "vm/builtins.h"
#include "vm/session_state.h"

#include <stdio.h>

/* ---- tensors of all sessions of a program ---- */

/* A tensor on a device, and the one that it was made from. */
typedef struct vm_weight {
  struct vm_weight* next; /* of the program */
  int64_t refs;           /* under the program's lock */
  TVMFFIObject* source;   /* a weak reference: its memory is not kept */
  TVMFFIObject* tensor;   /* owned; the source itself if that is on the device */
  DLDevice device;
} vm_weight;

static int same(DLDevice a, DLDevice b) { return a.device_type == b.device_type && a.device_id == b.device_id; }

/* The weight made from a tensor for a device, counted; NULL: none. Under the lock. */
static vm_weight* find_weight(tvmgo_vm_program* p, const TVMFFIObject* source, DLDevice dev) {
  vm_weight* w = p->weights;
  while (w != NULL && (w->source != source || !same(w->device, dev))) w = w->next;
  if (w != NULL) w->refs++;
  return w;
}

static void free_weight(vm_weight* w) {
  tvmgo_object_release(w->tensor);
  tvmgo_object_release_weak(w->source);
  free(w);
}

static void weight_release(tvmgo_vm_program* p, vm_weight* w) {
  pthread_mutex_lock(&p->lock);
  int last = --w->refs == 0;
  if (last) {
    vm_weight** at = &p->weights;
    while (*at != w) at = &(*at)->next;
    *at = w->next;
  }
  pthread_mutex_unlock(&p->lock);
  if (last) free_weight(w);
}

/* Uploads a tensor, and waits: its memory may be released, and any thread may use the copy. */
static TVMFFIObject* upload(TVMFFIObject* source, DLDevice dev) {
  if (same(tvmgo_tensor_dl(source)->device, dev)) {
    tvmgo_object_retain(source);
    return source;
  }
  TVMFFIObject* copy = tvmgo_vm_copy(NULL, tvmgo_tensor_dl(source), dev, NULL);
  if (copy == NULL || dev.device_type == kDLCPU ||
      tvmgo_device_sync(dev, tvmgo_stream_get(dev.device_type, dev.device_id)) == 0)
    return copy;
  tvmgo_object_release(copy);
  return NULL;
}

/* The weight of a tensor on a device; NULL: raised. */
static vm_weight* weight_of(tvmgo_vm_program* p, TVMFFIObject* source, DLDevice dev) {
  pthread_mutex_lock(&p->lock);
  vm_weight* w = find_weight(p, source, dev);
  pthread_mutex_unlock(&p->lock);
  if (w != NULL) return w;
  vm_weight* fresh = calloc(1, sizeof *fresh);
  if (fresh == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  fresh->tensor = upload(source, dev); /* without the lock: others may bind meanwhile */
  if (fresh->tensor == NULL) {
    free(fresh);
    return NULL;
  }
  tvmgo_object_retain_weak(source);
  fresh->source = source;
  fresh->device = dev;
  fresh->refs = 1;
  pthread_mutex_lock(&p->lock);
  w = find_weight(p, source, dev); /* another thread was faster */
  if (w == NULL) {
    fresh->next = p->weights;
    p->weights = fresh;
  }
  pthread_mutex_unlock(&p->lock);
  if (w == NULL) return fresh;
  free_weight(fresh);
  return w;
}

/* ---- values ---- */

/* The value of a parameter: counted and immutable. */
typedef struct {
  _Atomic int64_t refs;
  tvmgo_vm_program* program; /* owned */
  TVMFFIAny value;           /* owned: a tensor, or a tuple of them */
  vm_weight** weights;       /* that the value consists of */
  int32_t num_weights, max_weights;
} vm_param;

static void param_release(vm_param* v) {
  if (v == NULL || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1) return;
  tvmgo_any_clear(&v->value);
  for (int32_t i = 0; i < v->num_weights; i++) weight_release(v->program, v->weights[i]);
  tvmgo_vm_program_release(v->program);
  free(v->weights);
  free(v);
}

/* Makes a weight of a tensor and adds it to the value. */
static int add_weight(void* self, const TVMFFIAny* v, DLDevice dev, TVMFFIAny* out) {
  vm_param* param = self;
  if (param->num_weights == param->max_weights) {
    int32_t most = param->max_weights == 0 ? 1 : param->max_weights * 2;
    vm_weight** more = realloc(param->weights, (size_t)most * sizeof *more);
    if (more == NULL) return tvmgo_raise_oom();
    param->weights = more;
    param->max_weights = most;
  }
  vm_weight* w = weight_of(param->program, v->v_obj, dev);
  if (w == NULL) return -1;
  param->weights[param->num_weights++] = w;
  tvmgo_object_retain(w->tensor);
  *out = tvmgo_any_object(w->tensor);
  return 0;
}

/* ---- sets ---- */

typedef struct {
  int32_t bound;
  vm_param** params; /* of each parameter: owned, or NULL; NULL if none is bound */
} vm_bound_function;

struct vm_params {
  _Atomic int64_t refs;
  tvmgo_vm_program* program; /* owned */
  vm_bound_function functions[];
};

void tvmgo_vm_params_retain(vm_params* b) {
  if (b != NULL) atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
}

void tvmgo_vm_params_release(vm_params* b) {
  if (b == NULL || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1) return;
  for (int32_t f = 0; f < b->program->num_functions; f++) {
    for (int32_t i = 0; b->functions[f].params != NULL && i < b->program->functions[f].arity; i++)
      param_release(b->functions[f].params[i]);
    free(b->functions[f].params);
  }
  tvmgo_vm_program_release(b->program);
  free(b);
}

int32_t tvmgo_vm_num_bound(const vm_params* b, int32_t function) {
  return b == NULL ? 0 : b->functions[function].bound;
}

const TVMFFIAny* tvmgo_vm_bound_value(const vm_params* b, int32_t function, int32_t i) {
  if (b == NULL || b->functions[function].params == NULL) return NULL;
  const vm_param* v = b->functions[function].params[i];
  return v == NULL ? NULL : &v->value;
}

static int by_address(const void* a, const void* b) {
  uintptr_t x = (uintptr_t) * (vm_weight* const*)a, y = (uintptr_t) * (vm_weight* const*)b;
  return x < y ? -1 : x > y;
}

static int64_t bytes_of(const vm_weight* w) {
  size_t n = 0;
  return tvmgo_dl_bytes(tvmgo_tensor_dl(w->tensor), &n) == 0 ? (int64_t)n : 0; /* it was checked */
}

/* Adds the weights of a set to list, if that is not NULL, and returns their number. */
static size_t collect(const vm_params* b, vm_weight** list) {
  size_t n = 0;
  for (int32_t f = 0; f < b->program->num_functions; f++)
    for (int32_t i = 0; b->functions[f].params != NULL && i < b->program->functions[f].arity; i++) {
      const vm_param* v = b->functions[f].params[i];
      for (int32_t k = 0; v != NULL && k < v->num_weights; k++, n++)
        if (list != NULL) list[n] = v->weights[k];
    }
  return n;
}

int tvmgo_vm_bound_bytes(const vm_params* b, int64_t* out) {
  *out = 0;
  if (b == NULL) return 0;
  size_t n = collect(b, NULL);
  vm_weight** list = calloc(n + 1, sizeof *list);
  if (list == NULL) return tvmgo_raise_oom();
  collect(b, list);
  qsort(list, n, sizeof *list, by_address);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || list[i] != list[i - 1]) *out += bytes_of(list[i]);
  free(list);
  return 0;
}

int64_t tvmgo_vm_weight_bytes(const tvmgo_vm_program* p) {
  int64_t sum = 0;
  for (const vm_weight* w = p->weights; w != NULL; w = w->next) sum += bytes_of(w);
  return sum;
}

/* Puts a value (a new reference) into a set that is being made. */
static int set_param(vm_params* b, int32_t function, int32_t i, vm_param* v) {
  vm_bound_function* f = &b->functions[function];
  if (f->params == NULL) {
    f->params = calloc((size_t)b->program->functions[function].arity + 1, sizeof *f->params);
    if (f->params == NULL) return tvmgo_raise_oom();
  }
  atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
  if (f->params[i] == NULL) f->bound++;
  param_release(f->params[i]);
  f->params[i] = v;
  return 0;
}

/* ---- the binding of a call of tvmgo.bind ---- */

typedef struct {
  int32_t function, param;
  vm_param* value; /* owned */
} vm_item;

typedef struct {
  const vm_use* use;
  const char* f; /* for errors */
  vm_item* items;
  int64_t n, max;
  tvmgo_text unknown; /* names that no function has */
  int num_unknown;
} vm_binding;

/* "parameter \"w\" of function \"main\"" is what errors are about. */
static int wrong(const vm_binding* b, const char* kind, int32_t function, const TVMFFIByteArray* name,
                 const char* what) {
  return tvmgo_raise(kind, "%s: parameter \"%.*s\" of function \"%s\": %s", b->f, tvmgo_quoted(name->size), name->data,
                     b->use->model->program->functions[function].name, what);
}

/* Checks a tensor against the annotation of its parameter. */
static int check_tensor(const vm_binding* b, int32_t function, const TVMFFIByteArray* name, const tvmgo_vm_type* type,
                        const DLTensor* t) {
  char text[512], dims[160], dtype[TVMGO_VM_DTYPE_TEXT];
  const tvmgo_vm_signatures* s = &b->use->model->program->signatures;
  if (tvmgo_dl_check(t, b->f) != 0 || tvmgo_dl_check_place(t, b->f) != 0) return -1;
  if (type == NULL || type->kind != TVMGO_VM_TENSOR) return 0;
  int fits = type->ndim < 0 || type->ndim == t->ndim;
  for (int32_t i = 0; i < type->num_dims && fits; i++)
    fits = s->dims[type->dims + i].value < 0 || s->dims[type->dims + i].value == t->shape[i];
  int same_type = type->dtype.bits == 0 || memcmp(&type->dtype, &t->dtype, sizeof t->dtype) == 0;
  if (fits && same_type) return 0;
  tvmgo_vm_dtype_text(t->dtype, dtype);
  snprintf(text, sizeof text, "expected %.*s, got %s of %s", tvmgo_quoted((size_t)type->size), s->texts + type->text,
           tvmgo_vm_dims_text(t->shape, t->ndim, dims, sizeof dims), dtype);
  return wrong(b, TVMGO_VALUE_ERROR, function, name, text);
}

/* Checks a value against the annotation of its parameter; tuples are Arrays of tensors. */
static int check_value(const vm_binding* b, int32_t function, const TVMFFIByteArray* name, const tvmgo_vm_type* type,
                       const TVMFFIAny* v) {
  char text[256];
  const tvmgo_vm_signatures* s = &b->use->model->program->signatures;
  int kind = type == NULL ? TVMGO_VM_ANY : type->kind;
  if (v->type_index == kTVMFFITensor && (kind == TVMGO_VM_ANY || kind == TVMGO_VM_TENSOR))
    return check_tensor(b, function, name, type, tvmgo_tensor_dl(v->v_obj));
  if (v->type_index != kTVMFFIArray || (kind != TVMGO_VM_ANY && kind != TVMGO_VM_TUPLE)) {
    snprintf(text, sizeof text, "expected %s, got %s", kind == TVMGO_VM_TUPLE ? "an Array of tensors"
             : kind == TVMGO_VM_ANY || kind == TVMGO_VM_TENSOR ? "a Tensor" : "no value: only tensors can be bound",
             tvmgo_type_name(v->type_index));
    return wrong(b, TVMGO_TYPE_ERROR, function, name, text);
  }
  const TVMFFISeqCell* seq = tvmgo_seq_cell(v->v_obj);
  if (kind == TVMGO_VM_TUPLE && seq->size != type->num_fields) {
    snprintf(text, sizeof text, "expected a tuple of %d tensors, got %lld", (int)type->num_fields,
             (long long)seq->size);
    return wrong(b, TVMGO_VALUE_ERROR, function, name, text);
  }
  for (int64_t i = 0; i < seq->size; i++) {
    const TVMFFIAny* element = (const TVMFFIAny*)seq->data + i;
    const tvmgo_vm_type* field = kind == TVMGO_VM_TUPLE ? &s->types[type->fields + i] : NULL;
    if (element->type_index != kTVMFFITensor)
      return wrong(b, TVMGO_TYPE_ERROR, function, name, "expected a tuple of tensors");
    if (check_tensor(b, function, name, field, tvmgo_tensor_dl(element->v_obj)) != 0) return -1;
  }
  return 0;
}

/* Binds a value to a parameter of a function. */
static int add_item(vm_binding* b, int32_t function, int32_t i, const TVMFFIByteArray* name, const TVMFFIAny* v) {
  vm_target to = tvmgo_vm_target(b->use->model, function, i);
  if (check_value(b, function, name, to.type, v) != 0) return -1;
  if (b->n == b->max) {
    int64_t most = b->max == 0 ? 16 : b->max * 2;
    vm_item* more = realloc(b->items, (size_t)most * sizeof *more);
    if (more == NULL) return tvmgo_raise_oom();
    b->items = more;
    b->max = most;
  }
  vm_param* param = calloc(1, sizeof *param);
  if (param == NULL) return tvmgo_raise_oom();
  atomic_init(&param->refs, 1);
  tvmgo_vm_program_retain(b->use->model->program);
  param->program = b->use->model->program;
  vm_mover mover = {.move = add_weight, .self = param, .all = 1};
  if (tvmgo_vm_place(b->use->model, &to, v, &mover, &param->value) != 0) {
    param_release(param);
    return tvmgo_raise_context("%s: parameter \"%.*s\" of function \"%s\"", b->f, tvmgo_quoted(name->size), name->data,
                               b->use->model->program->functions[function].name);
  }
  b->items[b->n++] = (vm_item){function, i, param};
  return 0;
}

/* The most similar name of a parameter; of no bytes if none is similar. */
static TVMFFIByteArray similar_param(const tvmgo_vm_program* p, const TVMFFIByteArray* name) {
  TVMFFIByteArray best = {"", 0};
  int least = (int)(name->size < 64 ? name->size : 64) / 4 + 2;
  for (int32_t k = 0; k < p->num_functions; k++)
    for (int32_t i = 0; p->functions[k].kind != FUNCTION_PACKED && i < p->functions[k].num_params; i++) {
      TVMFFIByteArray known = tvmgo_vm_param_name(p, &p->functions[k], i);
      int d = tvmgo_text_distance(name, &known);
      if (d >= least) continue;
      least = d;
      best = known;
    }
  return best;
}

static void add_unknown(vm_binding* b, const TVMFFIByteArray* name) {
  enum { SHOWN = 10 };
  tvmgo_text* t = &b->unknown;
  if (b->num_unknown++ >= SHOWN) return;
  TVMFFIByteArray similar = similar_param(b->use->model->program, name);
  tvmgo_text_put(t, t->size > 0 ? ", \"" : "\"");
  tvmgo_text_add(t, name->data, (size_t)tvmgo_quoted(name->size));
  tvmgo_text_put(t, "\"");
  if (similar.size == 0) return;
  tvmgo_text_put(t, " (did you mean \"");
  tvmgo_text_add(t, similar.data, (size_t)tvmgo_quoted(similar.size));
  tvmgo_text_put(t, "\"?)");
}

static int add_name(vm_binding* b, const TVMFFIAny* key, const TVMFFIAny* v) {
  TVMFFIByteArray name;
  const tvmgo_vm_program* p = b->use->model->program;
  if (!tvmgo_any_text(key, &name))
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: expected names of parameters as keys, got %s", b->f,
                       tvmgo_type_name(key->type_index));
  int found = 0;
  for (int32_t k = 0; k < p->num_functions; k++) {
    const vm_function* fn = &p->functions[k];
    for (int32_t i = 0; fn->kind != FUNCTION_PACKED && i < fn->arity && i < fn->num_params; i++) {
      TVMFFIByteArray known = tvmgo_vm_param_name(p, fn, i);
      if (known.size != name.size || memcmp(known.data, name.data, name.size) != 0) continue;
      found = 1;
      if (b->num_unknown == 0 && add_item(b, k, i, &name, v) != 0) return -1;
    }
  }
  if (!found) add_unknown(b, &name);
  return 0;
}

static int read_map(vm_binding* b, TVMFFIObject* map) {
  void* cursor = NULL;
  const TVMFFIAny *key, *value;
  while (tvmgo_map_next(map, &cursor, &key, &value))
    if (add_name(b, key, value) != 0) return -1;
  if (b->num_unknown == 0) return 0;
  tvmgo_text_add(&b->unknown, "", 1);
  if (b->unknown.failed) return tvmgo_raise_oom();
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: no function has %s %s%s: nothing was bound", b->f,
                     b->num_unknown == 1 ? "a parameter" : "parameters", b->unknown.data,
                     b->num_unknown > 10 ? ", and others" : "");
}

/* A new set with the values of an old one, replaced and completed by those of the binding; NULL: raised. */
static vm_params* merged(const vm_binding* b, const vm_params* old) {
  tvmgo_vm_program* p = b->use->model->program;
  vm_params* set = calloc(1, sizeof *set + (size_t)p->num_functions * sizeof *set->functions);
  if (set == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  atomic_init(&set->refs, 1);
  tvmgo_vm_program_retain(p);
  set->program = p;
  int rc = 0;
  for (int32_t k = 0; k < p->num_functions && rc == 0; k++)
    for (int32_t i = 0; tvmgo_vm_num_bound(old, k) > 0 && i < p->functions[k].arity && rc == 0; i++)
      if (old->functions[k].params[i] != NULL) rc = set_param(set, k, i, old->functions[k].params[i]);
  for (int64_t i = 0; i < b->n && rc == 0; i++)
    rc = set_param(set, b->items[i].function, b->items[i].param, b->items[i].value);
  if (rc == 0) return set;
  tvmgo_vm_params_release(set);
  return NULL;
}

/* Makes the binding that of the session, if its devices are still those of the binding. */
static int commit(vm_session* s, const vm_binding* b) {
  for (;;) {
    vm_use now;
    tvmgo_vm_session_peek(s, &now);
    int moved = now.model != b->use->model;
    vm_params* set = moved ? NULL : merged(b, now.params);
    int rc = set == NULL ? -1 : tvmgo_vm_session_change(s, now.seen, PART_PARAMS, set);
    tvmgo_vm_session_leave(&now);
    if (rc == 0) return 0;
    tvmgo_vm_params_release(set);
    if (moved)
      return tvmgo_raise(TVMGO_RUNTIME_ERROR, "%s: vm_initialization was called meanwhile: bind again", b->f);
    if (rc < 0) return -1;
  }
}

int tvmgo_vm_bind(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  vm_use use;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || tvmgo_arg_kind(f, args, 0, kTVMFFIMap) != 0 ||
      tvmgo_vm_session_use(s, f, &use) != 0)
    return -1;
  vm_binding b = {.use = &use, .f = f};
  int rc = read_map(&b, args[0].v_obj);
  if (rc == 0) rc = commit(s, &b);
  for (int64_t i = 0; i < b.n; i++) param_release(b.items[i].value);
  free(b.items);
  tvmgo_text_free(&b.unknown);
  tvmgo_vm_session_leave(&use);
  return rc;
}

/* ---- errors of calls ---- */

/* Adds the names of parameters that are not bound, but the first `skip` ones. */
static void add_free(tvmgo_text* t, const tvmgo_vm_program* p, const vm_params* b, int32_t function, int64_t skip) {
  enum { MOST = 300 };
  const vm_function* f = &p->functions[function];
  size_t begin = t->size;
  for (int32_t i = 0; i < f->arity; i++) {
    if (tvmgo_vm_bound_value(b, function, i) != NULL || skip-- > 0) continue;
    TVMFFIByteArray name = tvmgo_vm_param_name(p, f, i);
    if (t->size > begin) tvmgo_text_put(t, ", ");
    if (t->size - begin > MOST) {
      tvmgo_text_put(t, "...");
      return;
    }
    if (name.size > 0) tvmgo_text_add(t, name.data, (size_t)tvmgo_quoted(name.size));
    else tvmgo_text_printf(t, "argument %d", (int)i);
  }
}

int tvmgo_vm_wrong_arguments(const tvmgo_vm_program* p, const vm_params* b, int32_t function, int64_t given) {
  const vm_function* f = &p->functions[function];
  int32_t bound = tvmgo_vm_num_bound(b, function);
  tvmgo_text hint = {0};
  if (bound > 0) {
    tvmgo_text_printf(&hint, "; %d of them are bound: give ", (int)bound);
    if (bound < f->arity) {
      tvmgo_text_put(&hint, "the others (");
      add_free(&hint, p, b, function, 0);
      tvmgo_text_put(&hint, "), or all");
    } else {
      tvmgo_text_put(&hint, "none, or all");
    }
  }
  if (given < f->arity - bound) {
    tvmgo_text_put(&hint, "; missing: ");
    add_free(&hint, p, b, function, given);
  }
  tvmgo_text_add(&hint, "", 1);
  tvmgo_vm_wrong_count(p, f, given, !hint.failed ? hint.data : "");
  tvmgo_text_free(&hint);
  return -1;
}
