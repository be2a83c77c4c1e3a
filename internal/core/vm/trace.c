/* Errors of a call: where in the program they happened. */
#include "vm/engine.h"

#include <stdarg.h>
#include <stdio.h>

/* Frames of a failed call that its error names: the innermost ones, and the outermost. */
enum { MAX_INNER = 3 };

typedef struct {
  char text[400];
  size_t used;
} writer;

static void add(writer* w, const char* format, ...) __attribute__((format(printf, 2, 3)));
static void add(writer* w, const char* format, ...) {
  va_list ap;
  va_start(ap, format);
  int n = vsnprintf(w->text + w->used, sizeof w->text - w->used, format, ap);
  va_end(ap);
  w->used += n < 0 ? 0 : (size_t)n;
  if (w->used >= sizeof w->text) w->used = sizeof w->text - 1;
}

static void add_register(writer* w, int64_t r) {
  if (r == NO_REGISTER) add(w, "%%void");
  else if (r == MACHINE_REGISTER) add(w, "%%vm");
  else add(w, "%%%lld", (long long)r);
}

static void add_operand(writer* w, const tvmgo_vm_program* p, const vm_operand* o) {
  switch (o->kind) {
    case OPERAND_IMMEDIATE: add(w, "i%lld", (long long)o->value); break;
    case OPERAND_CONSTANT: add(w, "c[%lld]", (long long)o->value); break;
    case OPERAND_FUNCTION: add(w, "f[%.60s]", p->functions[o->value].name); break;
    default: add_register(w, o->value);
  }
}

static void add_instruction(writer* w, const tvmgo_vm_program* p, const vm_instruction* i) {
  switch ((vm_op)i->op) {
    case OP_RETURN:
      add(w, "ret ");
      add_register(w, i->source);
      return;
    case OP_GOTO: add(w, "goto %lld", (long long)(i->target - (i - p->code))); return;
    case OP_IF:
      add(w, "if ");
      add_register(w, i->source);
      add(w, ", %lld", (long long)(i->target - (i - p->code)));
      return;
    default: break;
  }
  add(w, "call %.120s in:", p->functions[i->callee].name);
  for (int32_t k = 0; k < i->n && w->used < sizeof w->text - 64; k++) {
    add(w, k == 0 ? " " : ", ");
    add_operand(w, p, &p->operands[i->first + k]);
  }
  add(w, " dst: ");
  add_register(w, i->dst);
}

static void add_frame(const tvmgo_vm_program* p, const vm_frame* f) {
  writer w = {{0}, 0};
  if (f->function->kind != FUNCTION_BYTECODE || f->pc == NULL) {
    tvmgo_raise_context("in function \"%.200s\"", f->function->name);
    return;
  }
  add_instruction(&w, p, f->pc);
  tvmgo_raise_context("in function \"%.200s\", instruction %lld (%s)", f->function->name,
                      (long long)(f->pc - p->code - f->function->begin), w.text);
}

/* The frames of the error that the thread raised last: calls through C are traced one after the other. */
static __thread struct {
  uint32_t raised; /* tvmgo_errors_raised after the last frame: another number means another error */
  int32_t shown;
  int64_t hidden;
} traced __attribute__((tls_model("initial-exec")));

void tvmgo_vm_trace(tvmgo_vm_call* c, const vm_frame* base) {
  const tvmgo_vm_program* p = c->model->program;
  if (traced.raised != tvmgo_errors_raised) traced.shown = traced.hidden = 0;
  for (const vm_frame* f = c->frame;; f = f->caller) {
    int outermost = f->caller == NULL && c->outer == NULL;
    if (traced.shown < MAX_INNER || outermost) {
      if (traced.hidden > 0) tvmgo_raise_context("%lld more calls", (long long)traced.hidden);
      add_frame(p, f);
      traced.shown++;
      traced.hidden = 0;
    } else {
      traced.hidden++;
    }
    if (f == base) break;
  }
  traced.raised = tvmgo_errors_raised;
}

int tvmgo_vm_wrong_count(const tvmgo_vm_program* p, const vm_function* f, int64_t given, const char* hint) {
  writer w = {{0}, 0};
  for (int32_t k = 0; k < f->num_params && w.used < sizeof w.text - 64; k++) {
    const int64_t* name = &p->params[2 * (f->params + k)];
    add(&w, "%s%.*s", k == 0 ? " (" : ", ", tvmgo_quoted((size_t)name[1]), p->texts + name[0]);
  }
  if (w.used > 0) add(&w, ")");
  return tvmgo_raise(TVMGO_TYPE_ERROR, "function \"%s\" expects %d argument%s%s, but %lld %s given%s", f->name,
                     f->arity, f->arity == 1 ? "" : "s", w.text, (long long)given, given == 1 ? "was" : "were", hint);
}
