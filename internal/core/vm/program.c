/* Programs: the code of executables, decoded once. */
#include "vm/engine.h"

enum { MAX_REGISTERS = 1 << 20 };

static int bad(const char* what, int64_t at) {
  return tvmgo_raise(TVMGO_CORRUPT_ERROR, "load Relax executable: instruction %lld: %s", (long long)at, what);
}

void tvmgo_vm_program_retain(tvmgo_vm_program* p) { atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed); }

void tvmgo_vm_program_release(tvmgo_vm_program* p) {
  if (p == NULL || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
  for (int64_t i = 0; i < p->num_constants; i++) {
    tvmgo_any_clear(&p->constants[i].value);
    free(p->constants[i].shape);
    free(p->constants[i].scope);
  }
  free(p->constants);
  tvmgo_constants_release(p->host);
  free(p->functions);
  free(p->code);
  free(p->operands);
  free(p->params);
  free(p->texts);
  free(p->names);
  tvmgo_vm_account_release(p->account);
  tvmgo_vm_signatures_free(&p->signatures);
  tvmgo_renewed_destroy(&p->lock_in_child);
  free(p);
}

/* Memory for n elements, zeroed; never NULL for 0. */
static void* array(int64_t n, size_t size) { return calloc((size_t)n + 1, size); }

static int read_functions(tvmgo_vm_program* p, const tvmgo_vm_description* d) {
  int64_t bytes = 0;
  if (d->num_functions < 0 || d->num_functions > INT32_MAX)
    return tvmgo_raise(TVMGO_CORRUPT_ERROR, "load Relax executable: it has too many functions");
  for (int64_t i = 0; i < d->num_functions; i++) bytes += d->functions[i].name_size + 1;
  p->functions = array(d->num_functions, sizeof *p->functions);
  p->names = array(bytes, 1);
  if (p->functions == NULL || p->names == NULL) return tvmgo_raise_oom();
  p->num_functions = (int32_t)d->num_functions;
  char* name = p->names;
  for (int64_t i = 0; i < d->num_functions; i++) {
    const tvmgo_vm_function* from = &d->functions[i];
    vm_function* f = &p->functions[i];
    memcpy(name, d->texts + from->name, (size_t)from->name_size);
    *f = (vm_function){.kind = from->kind, .arity = from->arity, .registers = from->registers,
                       .num_params = from->num_params, .begin = from->begin, .end = from->end, .name = name,
                       .name_size = (size_t)from->name_size, .params = from->params};
    name += from->name_size + 1;
    if (f->kind == FUNCTION_PACKED) continue;
    if (f->arity < 0 || f->registers < f->arity || f->registers > MAX_REGISTERS)
      return tvmgo_raise(TVMGO_CORRUPT_ERROR,
                         "load Relax executable: function \"%s\" has %d arguments and %d registers: it can have at "
                         "most %d registers, and as many arguments",
                         f->name, f->arity, f->registers, MAX_REGISTERS);
    if (f->kind == FUNCTION_COMPILED && f->registers <= f->arity)
      return tvmgo_raise(TVMGO_CORRUPT_ERROR,
                         "load Relax executable: function \"%s\" needs a register for its result behind its %d "
                         "arguments",
                         f->name, f->arity);
    if (f->kind == FUNCTION_BYTECODE &&
        (f->begin < 0 || f->begin >= f->end || f->end > d->num_instructions))
      return tvmgo_raise(TVMGO_CORRUPT_ERROR, "load Relax executable: function \"%s\" has no instructions", f->name);
  }
  return 0;
}

static int read_register(const vm_function* f, int64_t value, int32_t* out) {
  *out = value == REGISTER_VOID ? NO_REGISTER : value == REGISTER_MACHINE ? MACHINE_REGISTER : (int32_t)value;
  return (value < 0 || value >= f->registers) && value != REGISTER_VOID && value != REGISTER_MACHINE ? -1 : 0;
}

static int read_operand(tvmgo_vm_program* p, const vm_function* f, int64_t word, int64_t num_constants,
                        vm_instruction* i, vm_operand* out) {
  *out = (vm_operand){.kind = (int32_t)((uint64_t)word >> 56), .value = (int64_t)((uint64_t)word << 8) >> 8};
  int32_t reg = 0;
  switch (out->kind) {
    case OPERAND_REGISTER:
      if (read_register(f, out->value, &reg) != 0) return -1;
      out->value = reg;
      return 0;
    case OPERAND_IMMEDIATE: return 0;
    case OPERAND_CONSTANT: return out->value < 0 || out->value >= num_constants ? -1 : 0;
    case OPERAND_FUNCTION:
      if (out->value < 0 || out->value >= p->num_functions) return -1;
      if (p->functions[out->value].kind != FUNCTION_PACKED) i->makes_closures = 1;
      return 0;
  }
  return -1;
}

static int read_call(tvmgo_vm_program* p, vm_function* f, int64_t at, const int64_t* w, int64_t n,
                     int64_t num_constants) {
  vm_instruction* i = &p->code[at];
  if (n < 4 || w[3] < 0 || w[3] > n - 4 || w[3] > INT32_MAX / 2) return bad("it ends too early", at);
  if (w[2] < 0 || w[2] >= p->num_functions) return bad("there is no such function", at);
  if (read_register(f, w[1], &i->dst) != 0) return bad("there is no such register", at);
  if (i->dst < 0) i->dst = NO_REGISTER;
  else if (i->dst < f->arity) f->writes_args = 1;
  i->callee = (int32_t)w[2];
  i->n = (int32_t)w[3];
  i->first = p->num_operands;
  const vm_function* callee = &p->functions[i->callee];
  i->op = callee->kind == FUNCTION_BYTECODE   ? OP_CALL_BYTECODE
          : callee->kind == FUNCTION_COMPILED ? OP_CALL_COMPILED
                                              : OP_CALL_PACKED;
  for (int32_t k = 0; k < i->n; k++)
    if (read_operand(p, f, w[4 + k], num_constants, i, &p->operands[p->num_operands++]) != 0)
      return bad("an operand does not exist", at);
  if (i->n > f->max_args) f->max_args = i->n;
  return 0;
}

static int read_instruction(tvmgo_vm_program* p, vm_function* f, int64_t at, const int64_t* w, int64_t n,
                            int64_t num_constants) {
  vm_instruction* i = &p->code[at];
  if (n >= 1 && w[0] == 1) return read_call(p, f, at, w, n, num_constants);
  if (n >= 2 && w[0] == 2) {
    i->op = OP_RETURN;
    return read_register(f, w[1], &i->source) != 0 ? bad("there is no such register", at) : 0;
  }
  int64_t jump = n < 2 ? 0 : w[0] == 3 ? w[1] : n >= 3 && w[0] == 4 ? w[2] : 0;
  if (jump == 0 && n >= 2 && (w[0] == 3 || w[0] == 4)) return bad("it jumps to itself, so it would never end", at);
  if (jump < f->begin - at || jump >= f->end - at || n < 2 || (w[0] != 3 && (w[0] != 4 || n < 3)))
    return bad("it is unknown, or jumps out of its function", at);
  i->target = at + jump;
  i->op = w[0] == 3 ? OP_GOTO : OP_IF;
  return i->op == OP_IF && read_register(f, w[1], &i->source) != 0 ? bad("there is no such register", at) : 0;
}

/* Decodes the instructions of a function; seen tells which are decoded already. */
static int read_body(tvmgo_vm_program* p, const tvmgo_vm_description* d, vm_function* f, uint8_t* seen) {
  for (int64_t at = f->begin; at < f->end; at++) {
    if (seen[at]) return bad("two functions contain it", at);
    seen[at] = 1;
    int64_t from = d->offsets[at];
    if (from < 0 || from >= d->num_words) return bad("it is not in the code", at);
    int64_t to = at + 1 < d->num_instructions ? d->offsets[at + 1] : d->num_words;
    if (to > d->num_words || to <= from) return bad("it ends before it begins", at);
    if (read_instruction(p, f, at, d->words + from, to - from, d->num_constants) != 0) return -1;
  }
  uint8_t last = p->code[f->end - 1].op;
  return last != OP_RETURN && last != OP_GOTO ? bad("the function ends without a return", f->end - 1) : 0;
}

static int read_code(tvmgo_vm_program* p, const tvmgo_vm_description* d) {
  p->code = array(d->num_instructions, sizeof *p->code);
  p->operands = array(d->num_words, sizeof *p->operands);
  p->params = array(2 * d->num_params, sizeof *p->params);
  p->texts = array(d->num_texts, 1);
  p->constants = array(d->num_constants, sizeof *p->constants);
  if (!p->code || !p->operands || !p->params || !p->texts || !p->constants) return tvmgo_raise_oom();
  p->num_instructions = d->num_instructions;
  p->num_params = d->num_params;
  p->max_constants = d->num_constants;
  if (d->num_params > 0) memcpy(p->params, d->params, (size_t)(2 * d->num_params) * sizeof *p->params);
  if (d->num_texts > 0) memcpy(p->texts, d->texts, (size_t)d->num_texts);
  uint8_t* seen = array(d->num_instructions, 1); /* functions do not share instructions: each is decoded once */
  int rc = seen == NULL ? tvmgo_raise_oom() : 0;
  for (int32_t k = 0; k < p->num_functions && rc == 0; k++)
    if (p->functions[k].kind == FUNCTION_BYTECODE) rc = read_body(p, d, &p->functions[k], seen);
  free(seen);
  return rc;
}

tvmgo_vm_program* tvmgo_vm_program_new(const tvmgo_vm_description* d) {
  tvmgo_vm_program* p = calloc(1, sizeof *p);
  if (p == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  atomic_init(&p->refs, 1);
  p->key = tvmgo_profile_key();
  tvmgo_renewed_init(&p->lock_in_child, &p->lock);
  p->account = tvmgo_vm_account_new(NULL, 0);
  if (p->account != NULL && read_functions(p, d) == 0 && read_code(p, d) == 0) return p;
  tvmgo_vm_program_release(p);
  return NULL;
}

static vm_constant* next_constant(tvmgo_vm_program* p) {
  if (p->num_constants < p->max_constants) return &p->constants[p->num_constants];
  tvmgo_raise(TVMGO_VALUE_ERROR, "add constant: the program has %lld already", (long long)p->max_constants);
  return NULL;
}

int tvmgo_vm_program_add_tensor(tvmgo_vm_program* p, DLDataType dtype, const int64_t* shape, int32_t ndim,
                                const void* data, size_t nbytes, const char* scope) {
  vm_constant* c = next_constant(p);
  DLTensor like = {.dtype = dtype, .shape = (int64_t*)shape, .ndim = ndim};
  size_t size;
  if (c == NULL || tvmgo_dl_check_dims(ndim, shape, "add constant") != 0) return -1;
  if (tvmgo_dl_bytes(&like, &size) != 0) return -1;
  if (size > nbytes)
    return tvmgo_raise(TVMGO_CORRUPT_ERROR, "add constant: the tensor has %zu bytes, %zu were given", size, nbytes);
  int64_t* dims = array(ndim, sizeof *dims);
  char* copy = strdup(scope);
  if (dims == NULL || copy == NULL) {
    free(dims);
    free(copy);
    return tvmgo_raise_oom();
  }
  if (ndim > 0) memcpy(dims, shape, (size_t)ndim * sizeof *dims);
  *c = (vm_constant){.is_tensor = 1, .dtype = dtype, .shape = dims, .ndim = ndim, .data = data, .nbytes = nbytes,
                     .size = size, .scope = copy};
  p->num_constants++;
  return 0;
}

int tvmgo_vm_program_add_value(tvmgo_vm_program* p, const TVMFFIAny* value) {
  vm_constant* c = next_constant(p);
  if (c == NULL || TVMFFIAnyViewToOwnedAny(value, &c->value) != 0) return -1;
  p->num_constants++;
  return 0;
}

int64_t tvmgo_vm_program_find(const tvmgo_vm_program* p, const char* name, size_t len) {
  for (int32_t i = 0; i < p->num_functions; i++) {
    const vm_function* f = &p->functions[i];
    if (f->kind != FUNCTION_PACKED && f->name_size == len && memcmp(f->name, name, len) == 0) return i;
  }
  return -1;
}
