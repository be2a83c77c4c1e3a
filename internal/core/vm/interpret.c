/* The interpreter: one loop over decoded instructions. */
#include "vm/engine.h"

/* Puts an owned value into a register. */
static inline void put(TVMFFIAny* r, TVMFFIAny v) {
  TVMFFIAny old = *r;
  *r = v;
  if (old.type_index >= kTVMFFIStaticObjectBegin) tvmgo_object_release(old.v_obj);
}

static inline TVMFFIAny machine(tvmgo_vm_call* c) { return tvmgo_any_ptr(c); }

/* A register as a view. */
static inline TVMFFIAny get(tvmgo_vm_call* c, const TVMFFIAny* registers, int32_t r) {
  return TVMGO_LIKELY(r >= 0) ? registers[r] : r == NO_REGISTER ? tvmgo_any_none() : machine(c);
}

/* Writes the operands of a call as views; closures of functions among them are owned (drop_closures). */
static inline int read_operands(tvmgo_vm_call* c, const vm_instruction* i, const TVMFFIAny* registers, TVMFFIAny* out) {
  const TVMFFIAny* o = c->model->operands + i->first;
  for (int32_t k = 0; k < i->n; k++) {
    int32_t type = o[k].type_index;
    if (TVMGO_LIKELY(type == VALUE_OF_REGISTER)) out[k] = registers[o[k].v_int64];
    else if (TVMGO_LIKELY(type >= 0)) out[k] = o[k];
    else if (type == VALUE_OF_MACHINE) out[k] = machine(c);
    else {
      TVMFFIObject* closure = tvmgo_vm_closure_of(c->model, (int32_t)o[k].v_int64);
      out[k] = tvmgo_any_object(closure);
      if (closure == NULL) {
        for (int32_t j = 0; j < k; j++)
          if (o[j].type_index == VALUE_OF_FUNCTION) tvmgo_any_clear(&out[j]);
        return -1;
      }
    }
  }
  return 0;
}

static void drop_closures(const tvmgo_vm_model* m, const vm_instruction* i, TVMFFIAny* args) {
  for (int32_t k = 0; k < i->n; k++)
    if (m->operands[i->first + k].type_index == VALUE_OF_FUNCTION) tvmgo_any_clear(&args[k]);
}

static int64_t slots_of(const vm_function* f) { return (int64_t)f->registers + f->max_args; }

/* Runs the compiled function of the innermost frame, which has its arguments; the frame remains. */
static int run_compiled(tvmgo_vm_call* c, TVMFFIAny* result) {
  vm_frame* frame = c->frame;
  const tvmgo_vm_program* p = c->model->program;
  TVMFFIAny* functions = tvmgo_vm_call_functions(c);
  if (functions == NULL) return -1;
  TVMFFIAny args[4] = {machine(c), tvmgo_any_ptr(frame->registers), tvmgo_any_ptr(c->model->constants->values),
                       tvmgo_any_ptr(functions)};
  TVMFFIAny nothing = tvmgo_any_none();
  int rc = tvmgo_function_call(c->model->functions[frame->function - p->functions], args, 4, &nothing);
  tvmgo_any_clear(&nothing);
  if (rc != 0) return rc;
  *result = frame->registers[frame->function->arity];
  frame->registers[frame->function->arity] = tvmgo_any_none();
  return 0;
}

static int run(tvmgo_vm_call* c, TVMFFIAny* result);

/* Whether an argument can be in a register as it is while its caller keeps it. */
static inline int can_borrow(const TVMFFIAny* v) {
  return v->type_index < kTVMFFIDLTensorPtr || v->type_index >= kTVMFFIStaticObjectBegin;
}

/* Puts the arguments of a call from C into the registers of its frame. A function that only reads them borrows them:
 * counting objects that threads share costs more than a small kernel. */
static int take_args(vm_frame* frame, const TVMFFIAny* args, int32_t n, const TVMFFIAny* captured, int32_t total) {
  const vm_function* f = frame->function;
  int borrow = f->kind == FUNCTION_BYTECODE && !f->writes_args;
  for (int32_t k = 0; k < n; k++) {
    if (tvmgo_need_value(&args[k]) != 0) return tvmgo_raise_context("argument %d of function \"%s\"", k, f->name);
    borrow = borrow && can_borrow(&args[k]);
  }
  if (borrow) {
    if (n > 0) memcpy(frame->registers, args, (size_t)n * sizeof *args);
    if (total > n) memcpy(frame->registers + n, captured, (size_t)(total - n) * sizeof *args);
    frame->borrowed = total;
    return 0;
  }
  for (int32_t k = 0; k < total; k++)
    if (tvmgo_vm_own(k < n ? &args[k] : &captured[k - n], &frame->registers[k]) != 0)
      return tvmgo_raise_context("argument %d of function \"%s\"", k, f->name);
  return 0;
}

int tvmgo_vm_call_function(tvmgo_vm_call* c, int32_t function, const TVMFFIAny* args, int32_t n,
                           const TVMFFIAny* captured, int32_t num_captured, TVMFFIAny* result) {
  const tvmgo_vm_program* p = c->model->program;
  const vm_function* f = &p->functions[function];
  if (n + num_captured != f->arity) return tvmgo_vm_wrong_count(p, f, n + num_captured, "");
  if (c->nested > 0 && TVMGO_UNLIKELY(tvmgo_vm_stack_ends(f))) return -1;
  c->nested++;
  vm_frame* frame = tvmgo_vm_frame_push(c, f, slots_of(f));
  int rc = -1;
  if (frame != NULL) {
    rc = take_args(frame, args, n, captured, n + num_captured);
    if (rc == 0) {
      tvmgo_profile_thread* t = c->profile;
      if (TVMGO_UNLIKELY(t != NULL)) {
        t->last = tvmgo_profile_now();
        tvmgo_profile_open(t, t->last, tvmgo_vm_profile_function(c, f), 0);
      }
      if (f->kind == FUNCTION_BYTECODE) rc = run(c, result);
      else if ((rc = run_compiled(c, result)) == -1) tvmgo_vm_trace(c, frame);
      if (TVMGO_UNLIKELY(t != NULL)) tvmgo_profile_close(t);
    }
    tvmgo_vm_frame_pop(c);
  }
  c->nested--;
  return rc;
}

/* ---- instruments ---- */

enum { BEFORE_ARGS = 4, SKIP_RUN = 1 };

static int call_any(tvmgo_vm_call* c, int32_t callee, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (c->model->program->functions[callee].kind == FUNCTION_PACKED)
    return tvmgo_function_call(c->model->functions[callee], args, n, result);
  return tvmgo_vm_call_function(c, callee, args, n, NULL, 0, result);
}

/* Calls the instrument; *action becomes the number that it returned, 0 for anything else. */
static int tell(tvmgo_vm_call* c, TVMFFIAny* args, int32_t n, int64_t* action) {
  TVMFFIAny answer = tvmgo_any_none();
  int rc = tvmgo_function_call(c->options->instrument, args, n, &answer);
  if (rc == -1) return tvmgo_raise_context("instrument");
  *action = answer.type_index == kTVMFFIInt || answer.type_index == kTVMFFIBool ? answer.v_int64 : 0;
  tvmgo_any_clear(&answer);
  return rc;
}

/* all: BEFORE_ARGS values for the instrument, then the n arguments of the call. */
static int call_between(tvmgo_vm_call* c, int32_t callee, TVMFFIAny* all, int32_t n, TVMFFIAny* result) {
  int64_t action = 0;
  all[2] = tvmgo_any_bool(1);
  all[3] = tvmgo_any_none();
  int rc = tell(c, all, BEFORE_ARGS + n, &action);
  if (rc != 0 || action == SKIP_RUN) return rc;
  rc = call_any(c, callee, all + BEFORE_ARGS, n, result);
  if (rc != 0) return rc;
  all[2] = tvmgo_any_bool(0);
  all[3] = *result;
  rc = tell(c, all, BEFORE_ARGS + n, &action);
  if (rc != 0) tvmgo_any_clear(result);
  return rc;
}

/* A call with the instrument before and after it. Like TVM, the instrument gets types as text. */
static int call_instrumented(tvmgo_vm_call* c, const vm_instruction* i, const TVMFFIAny* registers,
                             TVMFFIAny* result) {
  const vm_function* f = &c->model->program->functions[i->callee];
  TVMFFIAny* all = calloc((size_t)i->n + BEFORE_ARGS, sizeof *all);
  if (all == NULL) return tvmgo_raise_oom();
  int rc = read_operands(c, i, registers, all + BEFORE_ARGS);
  if (rc == 0) {
    TVMFFIObject* callee = c->model->functions[i->callee];
    if (f->kind == FUNCTION_PACKED) tvmgo_object_retain(callee);
    else callee = tvmgo_vm_closure_of(c->model, i->callee);
    all[0] = tvmgo_any_object(callee);
    rc = callee == NULL ? -1 : tvmgo_string_make(f->name, f->name_size, &all[1]);
    if (rc == 0) rc = call_between(c, i->callee, all, i->n, result);
    tvmgo_any_clear(&all[0]);
    tvmgo_any_clear(&all[1]);
    drop_closures(c->model, i, all + BEFORE_ARGS);
  }
  free(all);
  return rc;
}

/* ---- the loop ---- */

static int call_packed(tvmgo_vm_call* c, const vm_instruction* i, vm_frame* f, TVMFFIAny* result) {
  TVMFFIAny* args = f->registers + f->function->registers;
  if (TVMGO_UNLIKELY(read_operands(c, i, f->registers, args) != 0)) return -1;
  const tvmgo_builtin* b = c->model->builtins[i->callee];
  int rc;
  if (TVMGO_LIKELY(b != NULL)) {
    uint32_t before = tvmgo_errors_raised;
    rc = b->entry((void*)b, args, i->n, result);
    if (TVMGO_UNLIKELY(before != tvmgo_errors_raised)) rc = tvmgo_builtin_end(rc, result, before);
  } else {
    rc = tvmgo_function_call(c->model->functions[i->callee], args, i->n, result);
  }
  if (TVMGO_UNLIKELY(i->makes_closures)) drop_closures(c->model, i, args);
  return rc;
}

static int call_compiled(tvmgo_vm_call* c, const vm_instruction* i, const TVMFFIAny* registers, TVMFFIAny* result);

/* A call with an instrument or a profile, or both. An event begins where the one before it ended. */
static int call_hooked(tvmgo_vm_call* c, const vm_instruction* i, vm_frame* f, TVMFFIAny* result) {
  tvmgo_profile_thread* t = c->profile;
  int instrumented = c->options->instrument != NULL;
  if (t != NULL) {
    uint32_t outer = t->shapes, site = tvmgo_vm_profile_instruction(c, f->function, i, f->registers, &t->shapes);
    uint32_t shapes = t->shapes;
    int64_t begin = t->last;
    int rc = instrumented ? call_instrumented(c, i, f->registers, result)
             : i->op == OP_CALL_PACKED ? call_packed(c, i, f, result) : call_compiled(c, i, f->registers, result);
    t->shapes = outer;
    t->last = tvmgo_profile_now();
    tvmgo_profile_add(t, begin, t->last, site, shapes, 0);
    return rc;
  }
  return call_instrumented(c, i, f->registers, result);
}

/* Makes the frame of a call of a function of the machine, with its arguments; NULL with an error raised. */
static vm_frame* enter(tvmgo_vm_call* c, const vm_instruction* i, const TVMFFIAny* registers) {
  const tvmgo_vm_model* m = c->model;
  const vm_function* callee = &m->program->functions[i->callee];
  if (TVMGO_UNLIKELY(i->n != callee->arity)) {
    tvmgo_vm_wrong_count(m->program, callee, i->n, "");
    return NULL;
  }
  vm_frame* f = tvmgo_vm_frame_push(c, callee, slots_of(callee));
  if (TVMGO_UNLIKELY(f == NULL)) return NULL;
  if (TVMGO_UNLIKELY(read_operands(c, i, registers, f->registers) != 0)) {
    memset(f->registers, 0, (size_t)callee->arity * sizeof *f->registers);
    tvmgo_vm_frame_pop(c);
    return NULL;
  }
  if (callee->kind == FUNCTION_BYTECODE && !callee->writes_args && !i->makes_closures) {
    f->borrowed = i->n;
    return f;
  }
  for (int32_t k = 0; k < i->n; k++) {
    TVMFFIAny* v = &f->registers[k];
    if (v->type_index >= kTVMFFIStaticObjectBegin && m->operands[i->first + k].type_index != VALUE_OF_FUNCTION)
      tvmgo_object_retain(v->v_obj);
  }
  return f;
}

static int call_compiled(tvmgo_vm_call* c, const vm_instruction* i, const TVMFFIAny* registers, TVMFFIAny* result) {
  if (TVMGO_UNLIKELY(tvmgo_vm_stack_ends(&c->model->program->functions[i->callee]))) return -1;
  vm_frame* f = enter(c, i, registers);
  if (f == NULL) return -1;
  c->nested++;
  int rc = run_compiled(c, result);
  c->nested--;
  tvmgo_vm_frame_pop(c);
  return rc;
}

/* Whether the false branch is taken; -1 with an error raised. */
static inline int is_false(tvmgo_vm_call* c, const TVMFFIAny* registers, int32_t source) {
  TVMFFIAny v = get(c, registers, source);
  if (TVMGO_LIKELY(v.type_index == kTVMFFIInt || v.type_index == kTVMFFIBool)) return v.v_int64 == 0;
  return tvmgo_raise(TVMGO_TYPE_ERROR, "the condition must be an int or a bool, it is of type %s",
                     tvmgo_type_name(v.type_index));
}

/* Runs the innermost frame, of bytecode, until it returns; that frame remains. */
static int run(tvmgo_vm_call* c, TVMFFIAny* result) {
  const vm_instruction* code = c->model->program->code;
  vm_frame* const base = c->frame;
  vm_frame* f = base;
  const vm_instruction* i = code + f->function->begin;
  int rc, no;
  for (;;) {
    TVMFFIAny value = {0};
    f->pc = i;
    switch ((vm_op)i->op) {
      case OP_CALL_PACKED:
        rc = TVMGO_UNLIKELY(c->hooked) ? call_hooked(c, i, f, &value) : call_packed(c, i, f, &value);
        if (TVMGO_UNLIKELY(rc != 0)) goto failed;
        if (i->dst >= 0) put(&f->registers[i->dst], value);
        else tvmgo_any_clear(&value);
        i++;
        break;
      case OP_CALL_BYTECODE:
        if (TVMGO_UNLIKELY(c->options->instrument != NULL)) {
          rc = call_hooked(c, i, f, &value);
          if (rc != 0) goto failed;
          if (i->dst >= 0) put(&f->registers[i->dst], value);
          else tvmgo_any_clear(&value);
          i++;
          break;
        }
        rc = -1;
        f = enter(c, i, f->registers);
        if (TVMGO_UNLIKELY(f == NULL)) goto failed;
        if (TVMGO_UNLIKELY(c->profile != NULL)) /* the event ends with the frame */
          tvmgo_profile_open(c->profile, c->profile->last,
                             tvmgo_vm_profile_instruction(c, f->caller->function, i, NULL, NULL), 0);
        i = code + f->function->begin;
        break;
      case OP_CALL_COMPILED:
        rc = c->hooked ? call_hooked(c, i, f, &value) : call_compiled(c, i, f->registers, &value);
        if (rc != 0) goto failed;
        if (i->dst >= 0) put(&f->registers[i->dst], value);
        else tvmgo_any_clear(&value);
        i++;
        break;
      case OP_RETURN:
        value = get(c, f->registers, i->source);
        if (i->source >= f->borrowed) f->registers[i->source] = tvmgo_any_none(); /* moved: the frame ends */
        else if (value.type_index >= kTVMFFIStaticObjectBegin) tvmgo_object_retain(value.v_obj);
        if (f == base) {
          *result = value;
          return 0;
        }
        tvmgo_vm_frame_pop(c);
        if (TVMGO_UNLIKELY(c->profile != NULL)) tvmgo_profile_close(c->profile);
        f = c->frame;
        i = f->pc;
        if (i->dst >= 0) put(&f->registers[i->dst], value);
        else tvmgo_any_clear(&value);
        i++;
        break;
      case OP_GOTO:
        i = code + i->target;
        break;
      case OP_IF:
        rc = no = is_false(c, f->registers, i->source);
        if (TVMGO_UNLIKELY(no < 0)) goto failed;
        i = no ? code + i->target : i + 1;
        break;
    }
  }
failed:
  if (rc == -1) tvmgo_vm_trace(c, base); /* with -2 a front end holds its own exception */
  for (; c->frame != base; tvmgo_vm_frame_pop(c))
    if (c->profile != NULL) tvmgo_profile_close(c->profile);
  return rc;
}
