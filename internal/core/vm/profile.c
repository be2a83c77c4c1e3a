/* Profiles of calls: each function and each call instruction is an event. */
#include "vm/engine.h"

void tvmgo_vm_profile_begin(tvmgo_vm_call* c) {
  const tvmgo_vm_program* p = c->model->program;
  tvmgo_profile_thread* t = tvmgo_profiling;
  c->sites = tvmgo_profile_numbers(t, p->key, p->num_instructions + p->num_functions);
  if (c->sites == NULL) return; /* memory is out: the call matters more than its profile */
  tvmgo_profile_retain(t->profile);
  c->profile = t;
  c->hooked = 1;
}

void tvmgo_vm_profile_end(tvmgo_vm_call* c) { tvmgo_profile_release(c->profile->profile); }

/* A number of c->sites: the site, and whether shapes are recorded. */
enum { WITHOUT_SHAPES = 1, SITE_SHIFT = 1 };

static uint32_t new_site(tvmgo_vm_call* c, uint32_t* at, int32_t kind, int64_t number, const char* name,
                         const char* function) {
  static const char builtin[] = "vm.builtin.";
  tvmgo_profile_site site = {.kind = kind, .number = (int32_t)number, .name = name, .function = function};
  *at = tvmgo_profile_site_of(c->profile->profile, &site) << SITE_SHIFT;
  if (strncmp(name, builtin, sizeof builtin - 1) == 0) *at |= WITHOUT_SHAPES;
  return *at;
}

static uint32_t shapes_of(tvmgo_vm_call* c, const vm_instruction* i, const TVMFFIAny* registers) {
  enum { MAX_OPERANDS = 64 }; /* the shapes of a longer call are not recorded */
  TVMFFIAny values[MAX_OPERANDS];
  if (i->n > MAX_OPERANDS) return 0;
  const TVMFFIAny* o = c->model->operands + i->first;
  for (int32_t k = 0; k < i->n; k++)
    values[k] = o[k].type_index == VALUE_OF_REGISTER ? registers[o[k].v_int64] : o[k];
  return tvmgo_profile_shapes_of(c->profile, values, i->n);
}

uint32_t tvmgo_vm_profile_instruction(tvmgo_vm_call* c, const vm_function* f, const vm_instruction* i,
                                      const TVMFFIAny* registers, uint32_t* shapes) {
  const tvmgo_vm_program* p = c->model->program;
  int64_t index = i - p->code;
  uint32_t site = c->sites[index];
  if (TVMGO_UNLIKELY(site == 0))
    site = new_site(c, &c->sites[index], TVMGO_PROFILE_INSTRUCTION, index - f->begin, p->functions[i->callee].name,
                    f->name);
  if (shapes != NULL) *shapes = site & WITHOUT_SHAPES ? 0 : shapes_of(c, i, registers);
  return site >> SITE_SHIFT;
}

uint32_t tvmgo_vm_profile_function(tvmgo_vm_call* c, const vm_function* f) {
  const tvmgo_vm_program* p = c->model->program;
  uint32_t* at = &c->sites[p->num_instructions + (f - p->functions)];
  uint32_t site = TVMGO_LIKELY(*at != 0) ? *at : new_site(c, at, TVMGO_PROFILE_FUNCTION, 0, f->name, "");
  return site >> SITE_SHIFT;
}
