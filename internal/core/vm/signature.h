/* Signatures: what the compiler recorded about the parameters and results of functions (docs/abi.md G.3). */
#pragma once

#include "vm/vm.h"

/* Kinds of values. */
typedef enum {
  TVMGO_VM_ANY, /* not known */
  TVMGO_VM_TENSOR,
  TVMGO_VM_SHAPE,
  TVMGO_VM_TUPLE,
  TVMGO_VM_NUMBER,
  TVMGO_VM_FUNCTION
} tvmgo_vm_kind;

/* The type of a value. Indices are those of tvmgo_vm_signatures. */
typedef struct {
  int32_t kind;
  int32_t ndim;        /* of a tensor or shape; -1: not known */
  DLDataType dtype;    /* of a tensor or number; 0 bits: not known */
  int32_t device_type; /* of a tensor; 0: not known */
  int32_t device_nth;  /* among the model's devices of that type; -1: not known */
  int32_t num_dims;    /* ndim, or 0 if the dimensions are not known */
  int32_t num_fields;  /* of a tuple */
  int64_t dims;        /* index of the first dimension */
  int64_t fields;      /* index of the first field's type */
  int64_t text, size;  /* TVM's annotation: where it begins in the texts, and its bytes */
  int64_t name, name_size; /* of a result or of a field of it */
} tvmgo_vm_type;

typedef struct {
  int64_t value;      /* -1: not fixed */
  int64_t text, size; /* "16", "n", "n * 2" in the texts */
} tvmgo_vm_dim;

/* The signatures of a program's functions. */
typedef struct {
  const int64_t* first; /* of each function: the index of its first parameter's type, which those of the others and of
                           the result follow; -1: nothing is known */
  const tvmgo_vm_type* types;
  int64_t num_types;
  const tvmgo_vm_dim* dims;
  int64_t num_dims;
  const char* texts;
  int64_t num_texts; /* bytes */
} tvmgo_vm_signatures;

/* Gives a program its signatures, which are copied, before a session uses it. */
int tvmgo_vm_program_describe(tvmgo_vm_program* p, const tvmgo_vm_signatures* s);
