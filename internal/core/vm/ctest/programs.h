/* Programs for tests, written instruction by instruction. */
#pragma once

#include "ctest/call.h"
#include "vm/vm.h"

#define VOID_REGISTER (INT64_C(1) << 54)
#define MACHINE (VOID_REGISTER + 1)
#define IMM(v) ((INT64_C(1) << 56) | ((int64_t)(v) & ((INT64_C(1) << 56) - 1)))
#define CONST(i) ((INT64_C(2) << 56) | (i))
#define FUNC(i) ((INT64_C(3) << 56) | (i))

typedef struct {
  tvmgo_vm_function functions[16];
  int64_t params[32], offsets[128], words[1024];
  char texts[1024];
  tvmgo_vm_description d;
} assembly;

static inline void begin_assembly(assembly* a) {
  memset(a, 0, sizeof *a);
  a->d.functions = a->functions;
  a->d.params = a->params;
  a->d.offsets = a->offsets;
  a->d.words = a->words;
  a->d.texts = a->texts;
}

static inline int64_t add_text(assembly* a, const char* s) {
  int64_t at = a->d.num_texts, n = (int64_t)strlen(s);
  memcpy(a->texts + at, s, (size_t)n);
  a->d.num_texts += n;
  return at;
}

/* Adds a function; the instructions that follow are its own. kind 0 packed, 1 bytecode, 2 compiled. */
static inline int64_t add_function(assembly* a, int32_t kind, const char* name, int32_t arity, int32_t registers) {
  tvmgo_vm_function* f = &a->functions[a->d.num_functions];
  *f = (tvmgo_vm_function){.kind = kind, .arity = arity, .registers = registers, .begin = a->d.num_instructions,
                           .end = a->d.num_instructions, .name = add_text(a, name), .name_size = (int64_t)strlen(name),
                           .params = a->d.num_params};
  return a->d.num_functions++;
}

static inline void add_param(assembly* a, const char* name) {
  a->params[2 * a->d.num_params] = add_text(a, name);
  a->params[2 * a->d.num_params++ + 1] = (int64_t)strlen(name);
  a->functions[a->d.num_functions - 1].num_params++;
}

static inline void add_words(assembly* a, int64_t function, const int64_t* words, int64_t n) {
  a->offsets[a->d.num_instructions++] = a->d.num_words;
  a->functions[function].end = a->d.num_instructions;
  memcpy(a->words + a->d.num_words, words, (size_t)n * sizeof *words);
  a->d.num_words += n;
}
#define WORDS(a, function, ...)                             \
  add_words(a, function, (const int64_t[]){__VA_ARGS__},    \
            (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
#define COUNT_ARGS(...) ((int64_t)(sizeof((int64_t[]){0, ##__VA_ARGS__}) / sizeof(int64_t)) - 1)
#define EMIT_CALL(a, function, dst, callee, ...) \
  WORDS(a, function, 1, dst, callee, COUNT_ARGS(__VA_ARGS__), ##__VA_ARGS__)
#define EMIT_RET(a, function, reg) WORDS(a, function, 2, reg)
#define EMIT_GOTO(a, function, by) WORDS(a, function, 3, by)
#define EMIT_IF(a, function, reg, by) WORDS(a, function, 4, reg, by)

static inline int test_add(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  uint64_t sum = 0;
  for (int32_t i = 0; i < n; i++) {
    if (args[i].type_index != kTVMFFIInt)
      return tvmgo_raise(TVMGO_TYPE_ERROR, "argument %d is a %s", (int)i, tvmgo_type_name(args[i].type_index));
    sum += (uint64_t)args[i].v_int64;
  }
  *result = tvmgo_any_int((int64_t)sum);
  return 0;
}

static inline int test_list(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  *result = tvmgo_any_object(tvmgo_array_new(args, n));
  return 0;
}

static inline int test_bind(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* c = tvmgo_vm_closure_bind(args[0].v_obj, args + 1, n - 1);
  *result = tvmgo_any_object(c);
  return c == NULL ? -1 : 0;
}

static inline int test_invoke(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  tvmgo_vm_call* c = tvmgo_vm_call_of("test.invoke", &args[0]);
  return c == NULL ? -1 : tvmgo_vm_call_closure(c, args[1].v_obj, args + 2, n - 2, result);
}

static inline void register_test_functions(void) {
  tvmgo_global_builtin("test.add", test_add);
  tvmgo_global_builtin("test.list", test_list);
  tvmgo_global_builtin("test.bind", test_bind);
  tvmgo_global_builtin("test.invoke", test_invoke);
}

/* A model on the CPU; the program is released. */
static inline tvmgo_vm_model* model_of(tvmgo_vm_program* p) {
  DLDevice cpu = {kDLCPU, 0};
  tvmgo_vm_model* m = p == NULL ? NULL : tvmgo_vm_model_new(p, NULL, &cpu, 1);
  tvmgo_vm_program_release(p);
  CHECK_OK(m == NULL ? -1 : 0);
  return m;
}
