/* What the functions of a session share. */
#pragma once

#include "vm/current.h"
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

/* The bound parameters of a session: counted and immutable. NULL has none. */
typedef struct vm_params vm_params;

/* What calls of a session use; it does not change. */
typedef struct {
  tvmgo_vm_value value;
  tvmgo_vm_model* model;    /* owned; NULL before vm_initialization */
  vm_params* params;        /* owned; for this model */
  TVMFFIObject* instrument; /* owned, or NULL */
} vm_state;

typedef struct {
  tvmgo_vm_program* program;
  tvmgo_module* executable; /* owned */
  tvmgo_vm_account* account;
  tvmgo_vm_current* state;  /* of vm_state */
  tvmgo_renewed lock_in_child;
  pthread_mutex_t lock;     /* of all that follows, and of replacing the state */
  vm_values** inputs;       /* of each function of the program, or NULL */
  vm_values** outputs;      /* one value each, or NULL */
  vm_saved* saved;
} vm_session;

/* The model, the bound parameters, the account and the instrument of a session, which exist until the call leaves. */
typedef struct {
  tvmgo_vm_model* model;
  vm_params* params;
  tvmgo_vm_options options;
  const vm_state* seen;     /* NULL: nothing has been set yet */
  vm_session* session;
  uint32_t slot;
} vm_use;
/* Fails, in the name of f, before vm_initialization. */
int tvmgo_vm_session_use(vm_session* s, const char* f, vm_use* out);
/* The same, with a model of NULL before vm_initialization. */
void tvmgo_vm_session_peek(vm_session* s, vm_use* out);
void tvmgo_vm_session_leave(vm_use* u);
/* Calls that begin from now on use this part (owned, also NULL), and the others as before; with a new model, no bound
 * parameters. 1: the present state is not `only` (NULL: any), nothing has changed. With -1 (raised), and with 1, the
 * caller still owns the part. */
typedef enum { PART_MODEL, PART_PARAMS, PART_INSTRUMENT } vm_part;
int tvmgo_vm_session_change(vm_session* s, const vm_state* only, vm_part part, void* value);
/* The error of f before vm_initialization; returns -1. */
int tvmgo_vm_no_devices(const char* f);

vm_values* tvmgo_vm_values_new(int32_t function, int32_t n); /* NULL: raised */
void tvmgo_vm_values_release(vm_values* v);

/* The index of a function of the machine; -1 with an error raised, with the nearest name. */
int32_t tvmgo_vm_session_function(const vm_session* s, const char* f, const TVMFFIAny* name);

/* The name of a parameter; empty if the file has none for it. */
static inline TVMFFIByteArray tvmgo_vm_param_name(const tvmgo_vm_program* p, const vm_function* f, int32_t i) {
  if (i >= f->num_params) return (TVMFFIByteArray){"", 0};
  const int64_t* name = &p->params[2 * (f->params + i)];
  return (TVMFFIByteArray){p->texts + name[0], (size_t)name[1]};
}

/* place.c: what a value is for: its type (NULL: not known), and where its tensors belong. */
typedef struct {
  const tvmgo_vm_type* type;
  vm_place place;
} vm_target;
/* Parameter i of a function. Without any annotation it is on the first device. */
vm_target tvmgo_vm_target(const tvmgo_vm_model* m, int32_t function, int32_t i);
/* Makes the owned tensor out on a device from a tensor v. */
typedef struct {
  int (*move)(void* self, const TVMFFIAny* v, DLDevice dev, TVMFFIAny* out);
  void* self;
  int all; /* also from tensors that are there already */
} vm_mover;
/* Copies inputs, for the account. */
vm_mover tvmgo_vm_input_mover(tvmgo_vm_account* account);
/* An owned value, whose tensors, also those in tuples, are moved if they lie elsewhere. */
int tvmgo_vm_place(const tvmgo_vm_model* m, const vm_target* to, const TVMFFIAny* v, const vm_mover* mover,
                   TVMFFIAny* out);
/* Calls a function of the machine: with all of its arguments, or with those that are not bound. Inputs of functions
 * that have annotations are moved to where they belong. */
int tvmgo_vm_use_run(const vm_use* use, int32_t function, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);

/* bind.c: bound parameters. */
void tvmgo_vm_params_retain(vm_params* b);
void tvmgo_vm_params_release(vm_params* b);
int32_t tvmgo_vm_num_bound(const vm_params* b, int32_t function);
/* The value of parameter i, borrowed; NULL: not bound. */
const TVMFFIAny* tvmgo_vm_bound_value(const vm_params* b, int32_t function, int32_t i);
/* The error for a number of arguments that is neither that of all parameters nor that of those that are not bound. */
int tvmgo_vm_wrong_arguments(const tvmgo_vm_program* p, const vm_params* b, int32_t function, int64_t given);

/* set_input.c. Bodies: f is the name that was called. */
typedef int (*vm_body)(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
int tvmgo_vm_set_input(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
int tvmgo_vm_set_input_with_params(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
int tvmgo_vm_invoke_stateful(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
int tvmgo_vm_get_output(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
int tvmgo_vm_get_output_arity(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
/* The bytes of the tensors that a set has, and, under the program's lock, of all that are bound. */
int tvmgo_vm_bound_bytes(const vm_params* b, int64_t* out);
int64_t tvmgo_vm_weight_bytes(const tvmgo_vm_program* p);

/* signature.c, bind.c and memory.c */
int tvmgo_vm_functions(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
int tvmgo_vm_signature(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
int tvmgo_vm_bind(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
int tvmgo_vm_memory_of_session(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
int tvmgo_vm_memory_of_model(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
int tvmgo_vm_limit_session(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
int tvmgo_vm_limit_model(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
