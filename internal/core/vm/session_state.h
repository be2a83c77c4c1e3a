/* What the functions of a session share. */
#pragma once

#include "vm/engine.h"
#include "vm/session.h"

/* Values that threads share by counting. */
typedef struct {
  _Atomic int64_t refs;
  int32_t function;   /* of the program */
  int32_t n;
  int with_result;  /* of a saved function */
  TVMFFIAny values[]; /* owned */
} vm_values;

typedef struct vm_saved {
  struct vm_saved* next;
  vm_values* call;
  size_t size;
  char name[];
} vm_saved;

typedef struct {
  tvmgo_vm_program* program;
  tvmgo_module* executable; /* owned */
  pthread_mutex_t lock;     /* of all that follows */
  tvmgo_vm_model* model;    /* NULL before vm_initialization */
  tvmgo_vm_account* account;
  TVMFFIObject* instrument; /* or NULL */
  vm_values** inputs;       /* of each function of the program, or NULL */
  vm_values** outputs;      /* one value each, or NULL */
  vm_saved* saved;
} vm_session;

/* The model, the account and the instrument of a session, each counted, for one call. */
typedef struct {
  tvmgo_vm_model* model;
  tvmgo_vm_options options;
} vm_use;
/* Fails, in the name of f, before vm_initialization. */
int tvmgo_vm_session_use(vm_session* s, const char* f, vm_use* out);
void tvmgo_vm_session_leave(vm_use* u);

vm_values* tvmgo_vm_values_new(int32_t function, int32_t n); /* NULL: raised */
void tvmgo_vm_values_release(vm_values* v);

/* The index of a function of the machine; -1 with an error raised, with the nearest name. */
int32_t tvmgo_vm_session_function(const vm_session* s, const char* f, const TVMFFIAny* name);

/* set_input.c. Bodies: f is the name that was called. */
typedef int (*vm_body)(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
int tvmgo_vm_set_input(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
int tvmgo_vm_set_input_with_params(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
int tvmgo_vm_invoke_stateful(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
int tvmgo_vm_get_output(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
int tvmgo_vm_get_output_arity(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
