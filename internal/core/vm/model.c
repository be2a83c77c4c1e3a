/* Models: a program on devices, with its functions resolved and its constants uploaded. */
#include "vm/engine.h"

/* ---- functions ---- */

/* The name of a function of the machine that calls a function; NULL if there is none. */
static const char* caller_of(const tvmgo_vm_program* p, int32_t callee) {
  for (int32_t k = 0; k < p->num_functions; k++) {
    const vm_function* f = &p->functions[k];
    if (f->kind != FUNCTION_BYTECODE) continue;
    for (int64_t at = f->begin; at < f->end; at++)
      if (p->code[at].op <= OP_CALL_COMPILED && p->code[at].callee == callee) return f->name;
  }
  return NULL;
}

static int missing(const tvmgo_vm_model* m, int32_t index, const char* symbol) {
  const tvmgo_vm_program* p = m->program;
  const char* caller = p->functions[index].kind == FUNCTION_PACKED ? caller_of(p, index) : NULL;
  return tvmgo_raise(TVMGO_NOT_FOUND_ERROR,
                     "function \"%.200s\" is missing: %s%.200s%s of the module of kind \"%s\" needs it, but neither a "
                     "module that this one imports nor the global registry has it: link the library that defines it, "
                     "or register it as a global function",
                     symbol, caller != NULL ? "function \"" : "", caller != NULL ? caller : "the executable",
                     caller != NULL ? "\"" : "", m->executable != NULL ? m->executable->kind : "relax.VMExecutable");
}

/* The function of a name: of the imports, depth first, then a global one. */
static TVMFFIObject* resolve(const tvmgo_vm_model* m, const char* name, size_t len, int and_global) {
  TVMFFIObject* found = NULL;
  TVMFFIObject* imports = m->executable != NULL ? tvmgo_module_imports(m->executable) : NULL;
  int64_t count = imports != NULL ? tvmgo_seq_cell(imports)->size : 0;
  int rc = 0;
  for (int64_t i = 0; i < count && rc == 0 && found == NULL; i++) {
    const TVMFFIAny* dep = (const TVMFFIAny*)tvmgo_seq_cell(imports)->data + i;
    if (dep->type_index == kTVMFFIModule && tvmgo_module_is_ours(dep->v_obj))
      rc = tvmgo_module_get_function((tvmgo_module*)dep->v_obj, name, len, 1, &found);
  }
  tvmgo_object_release(imports);
  if (rc != 0) return NULL;
  return found != NULL || !and_global ? found : tvmgo_global_get(name, len);
}

static int resolve_function(tvmgo_vm_model* m, int32_t index) {
  static const char prefix[] = "__vmtir__";
  const vm_function* f = &m->program->functions[index];
  if (f->kind == FUNCTION_BYTECODE) return 0;
  uint32_t before = tvmgo_errors_raised;
  if (f->kind == FUNCTION_PACKED) {
    m->functions[index] = resolve(m, f->name, f->name_size, 1);
    if (m->functions[index] != NULL) return 0;
    return before != tvmgo_errors_raised ? tvmgo_raise_context("find function \"%.200s\"", f->name)
                                         : missing(m, index, f->name);
  }
  char* symbol = malloc(sizeof prefix + f->name_size);
  if (symbol == NULL) return tvmgo_raise_oom();
  memcpy(symbol, prefix, sizeof prefix - 1);
  memcpy(symbol + sizeof prefix - 1, f->name, f->name_size + 1);
  m->functions[index] = resolve(m, symbol, sizeof prefix - 1 + f->name_size, 0);
  int rc = m->functions[index] != NULL        ? 0
           : before != tvmgo_errors_raised ? tvmgo_raise_context("find function \"%.200s\"", symbol)
                                              : missing(m, index, symbol);
  free(symbol);
  return rc;
}

static TVMFFIAny operand_value(const tvmgo_vm_model* m, const vm_operand* o) {
  const tvmgo_vm_program* p = m->program;
  switch (o->kind) {
    case OPERAND_IMMEDIATE: return tvmgo_any_int(o->value);
    case OPERAND_CONSTANT: return m->constants->values[o->value];
    case OPERAND_FUNCTION:
      if (p->functions[o->value].kind == FUNCTION_PACKED) return tvmgo_any_object(m->functions[o->value]);
      return vm_value(VALUE_OF_FUNCTION, o->value);
  }
  if (o->value == NO_REGISTER) return tvmgo_any_none();
  return o->value == MACHINE_REGISTER ? vm_value(VALUE_OF_MACHINE, 0) : vm_value(VALUE_OF_REGISTER, o->value);
}

/* ---- models ---- */

void tvmgo_vm_model_retain(tvmgo_vm_model* m) { atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed); }

void tvmgo_vm_model_release(tvmgo_vm_model* m) {
  if (m == NULL || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1) return;
  for (int32_t i = 0; m->functions != NULL && i < m->program->num_functions; i++)
    tvmgo_object_release(m->functions[i]);
  if (m->constants != NULL) tvmgo_vm_constants_put(m->program, m->constants);
  tvmgo_vm_program_release(m->program);
  tvmgo_object_release(m->executable);
  free(m->functions);
  free(m->builtins);
  free(m->operands);
  free(m->devices);
  free(m->places);
  free(m);
}

static int fill(tvmgo_vm_model* m, const DLDevice* devices, int32_t n) {
  tvmgo_vm_program* p = m->program;
  m->functions = calloc((size_t)p->num_functions + 1, sizeof *m->functions);
  m->builtins = calloc((size_t)p->num_functions + 1, sizeof *m->builtins);
  m->operands = calloc((size_t)p->num_operands + 1, sizeof *m->operands);
  m->devices = calloc((size_t)n + 1, sizeof *m->devices);
  if (m->functions == NULL || m->builtins == NULL || m->operands == NULL || m->devices == NULL)
    return tvmgo_raise_oom();
  memcpy(m->devices, devices, (size_t)n * sizeof *devices);
  m->num_devices = n;
  if ((m->places = tvmgo_vm_places_new(m)) == NULL) return -1;
  for (int32_t i = 0; i < p->num_functions; i++) {
    if (resolve_function(m, i) != 0) return -1;
    m->builtins[i] = tvmgo_builtin_of(m->functions[i]);
  }
  m->constants = tvmgo_vm_constants_get(p, devices[0], (TVMFFIObject*)m->executable);
  if (m->constants == NULL) return -1;
  m->host = devices[0].device_type == kDLCPU ? p->host : NULL;
  for (int64_t i = 0; i < p->num_operands; i++) m->operands[i] = operand_value(m, &p->operands[i]);
  return 0;
}

tvmgo_vm_model* tvmgo_vm_model_new(tvmgo_vm_program* p, tvmgo_module* executable, const DLDevice* devices, int32_t n) {
  if (n < 1 || devices[n - 1].device_type != kDLCPU) {
    tvmgo_raise(TVMGO_VALUE_ERROR, "make model: give its devices, the host (cpu) last");
    return NULL;
  }
  tvmgo_vm_model* m = calloc(1, sizeof *m);
  if (m == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  atomic_init(&m->refs, 1);
  tvmgo_vm_program_retain(p);
  m->program = p;
  m->executable = executable;
  if (executable != NULL) tvmgo_object_retain(executable);
  if (fill(m, devices, n) == 0) return m;
  tvmgo_vm_model_release(m);
  return NULL;
}
