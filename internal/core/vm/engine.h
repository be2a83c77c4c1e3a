/* What the files of the interpreter share: decoded code, models, calls and closures. */
#pragma once

#include "loader/constants.h"
#include "profile/profile.h"
#include "vm/signature.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of functions and operands, and special registers, with their numbers in files. */
enum { FUNCTION_PACKED = 0, FUNCTION_BYTECODE = 1, FUNCTION_COMPILED = 2 };
enum { OPERAND_REGISTER = 0, OPERAND_IMMEDIATE = 1, OPERAND_CONSTANT = 2, OPERAND_FUNCTION = 3 };
#define REGISTER_VOID (INT64_C(1) << 54)
#define REGISTER_MACHINE (REGISTER_VOID + 1)

/* Operations of decoded instructions: there is one for each kind of callee. */
typedef enum { OP_CALL_PACKED, OP_CALL_BYTECODE, OP_CALL_COMPILED, OP_RETURN, OP_GOTO, OP_IF } vm_op;

/* Registers that no frame has. */
enum { NO_REGISTER = -1, MACHINE_REGISTER = -2 };

typedef struct {
  uint8_t op;
  uint8_t makes_closures; /* a call with functions of the machine among its operands */
  int32_t dst;            /* of a call; NO_REGISTER: drop the result */
  int32_t callee;         /* of a call: index of functions */
  int32_t n;              /* of a call: operands */
  int64_t first;          /* of a call: index of the first operand */
  int64_t target;         /* of Goto and If: index of an instruction */
  int32_t source;         /* of Ret and If */
} vm_instruction;

typedef struct {
  int32_t kind;
  int64_t value; /* a register (NO_REGISTER, MACHINE_REGISTER), a number, or an index */
} vm_operand;

typedef struct {
  int32_t kind, arity, registers, num_params;
  int32_t max_args;    /* most operands of its calls */
  uint8_t writes_args; /* bytecode: an instruction writes a register of an argument */
  int64_t begin, end;
  const char* name; /* of name_size bytes, with a zero byte behind them */
  size_t name_size;
  int64_t params;
} vm_function;

typedef struct {
  TVMFFIAny value; /* owned; None for a tensor */
  int is_tensor;
  DLDataType dtype;
  int64_t* shape;
  int32_t ndim;
  const void* data;
  size_t nbytes; /* of data: files have a byte for each element of less than 8 bits */
  size_t size;   /* of the tensor, which come first */
  char* scope;
} vm_constant;

/* Constants on a device, shared by models. */
typedef struct vm_uploaded {
  struct vm_uploaded* next; /* of the program */
  int64_t refs;             /* under the program's lock */
  DLDevice device;
  TVMFFIAny values[];
} vm_uploaded;

struct tvmgo_vm_program {
  _Atomic int64_t refs;
  uint64_t key; /* of profiles: no other program has it */
  vm_function* functions;
  int32_t num_functions;
  vm_instruction* code;
  int64_t num_instructions;
  vm_operand* operands;
  int64_t num_operands;
  int64_t* params; /* pairs */
  int64_t num_params;
  char* texts;     /* of parameters */
  char* names;     /* of functions, each with a zero byte */
  vm_constant* constants;
  int64_t num_constants, max_constants;
  tvmgo_vm_account* account; /* of all sessions */
  tvmgo_vm_signatures signatures; /* owned; without types if there are none */
  tvmgo_renewed lock_in_child;
  pthread_mutex_t lock; /* of all that follows */
  vm_uploaded* uploaded;
  struct vm_weight* weights; /* tensors that sessions have bound */
  tvmgo_constants* host; /* the constants on the CPU; NULL before they are needed there */
};

/* Operands of a model that are no values: what type_index means then. */
enum { VALUE_OF_REGISTER = -2, VALUE_OF_MACHINE = -3, VALUE_OF_FUNCTION = -4 };

/* Where the tensors of a value belong. */
typedef struct {
  enum {
    PLACE_DEVICE,    /* on the device with this index */
    PLACE_SAME_TYPE, /* on any of the model's devices of that one's type, else there */
    PLACE_MODEL      /* on any of the model's devices, else there */
  } rule;
  int32_t device; /* index of the model's devices */
} vm_place;

struct tvmgo_vm_model {
  _Atomic int64_t refs;
  tvmgo_vm_program* program;
  tvmgo_module* executable; /* may be NULL */
  TVMFFIObject** functions; /* owned; NULL for bytecode */
  const tvmgo_builtin** builtins; /* behind the functions; NULL for others. Registers hold values that were checked */
  vm_uploaded* constants;
  tvmgo_constants* host;    /* the program's, if the constants are on the CPU: filled by the first call */
  TVMFFIAny* operands;      /* views: values, or one of VALUE_OF_* with a number in v_int64 */
  DLDevice* devices;
  int32_t num_devices;
  vm_place* places;         /* of each type of the program's signatures: where such a value belongs */
};

/* A piece of the stack of a call. */
typedef struct vm_chunk {
  struct vm_chunk* below;
  TVMFFIAny* end;
  TVMFFIAny slots[];
} vm_chunk;

/* A function in progress. It lies on the stack of its call, before its registers and the arguments of its calls. */
typedef struct vm_frame {
  struct vm_frame* caller;
  const vm_instruction* pc; /* of bytecode: the instruction in progress */
  const vm_function* function;
  TVMFFIAny* registers;
  TVMFFIAny* top;           /* of the stack before this frame */
  vm_chunk* chunk;          /* that top is in; NULL: the first */
  int32_t borrowed;         /* so many registers from the first are arguments that the caller keeps */
} vm_frame;

enum { FIRST_SLOTS = 192, CHUNK_SLOTS = 4000 };

struct tvmgo_vm_call {
  tvmgo_vm_call* outer; /* of the same thread */
  tvmgo_vm_model* model;
  const tvmgo_vm_options* options;
  tvmgo_profile_thread* profile; /* NULL: nothing is recorded */
  uint32_t* sites;      /* of the profile: one for each instruction, then one for each function; 0: not yet */
  int hooked;           /* there is a profile or an instrument */
  vm_frame* frame;      /* the innermost; NULL at the begin */
  int32_t frames, nested;
  TVMFFIAny* top;       /* of the stack */
  TVMFFIAny* end;
  vm_chunk* chunk;      /* NULL: the first */
  vm_chunk* spare;
  TVMFFIAny* functions; /* what compiled functions see as the list of functions, owned; NULL before it is needed */
  TVMFFIAny first[FIRST_SLOTS];
};

/* A function of a model with captured arguments: what the function object of a closure holds. */
typedef struct {
  tvmgo_vm_model* model; /* owned */
  int32_t function;      /* of the model */
  int32_t n;
  TVMFFIAny captured[];  /* owned */
} vm_bound;

/* The object of type relax.vm.Closure in the layout of TVM's C++ class. */
typedef struct {
  TVMFFIObject header;
  TVMFFIAny name;     /* Str */
  TVMFFIObject* impl; /* Function: its first argument is the machine */
} vm_closure;

/* constants.c: the constants of a program on a device; put releases them. executable owns the data of the program, and
 * is kept alive by tensors that are views; NULL: there are no views. NULL: raised. */
vm_uploaded* tvmgo_vm_constants_get(tvmgo_vm_program* p, DLDevice dev, TVMFFIObject* executable);
void tvmgo_vm_constants_put(tvmgo_vm_program* p, vm_uploaded* u);

/* closure.c */
int32_t tvmgo_vm_closure_type(void);
/* The closure of a function of the machine; owned. */
TVMFFIObject* tvmgo_vm_closure_of(tvmgo_vm_model* m, int32_t function);
/* What a closure of this library holds; NULL for any other. */
const vm_bound* tvmgo_vm_closure_bound(TVMFFIObject* closure);

/* signature.c: the type of parameter i of a function, or of its result for i = arity; NULL: not known. */
const tvmgo_vm_type* tvmgo_vm_type_of(const tvmgo_vm_program* p, int32_t function, int32_t i);
void tvmgo_vm_signatures_free(tvmgo_vm_signatures* s);
/* place.c: the places of a model's values; NULL: raised. */
vm_place* tvmgo_vm_places_new(const tvmgo_vm_model* m);

/* interpret.c: runs a function inside of a call, with the captured arguments behind args. */
int tvmgo_vm_call_function(tvmgo_vm_call* c, int32_t function, const TVMFFIAny* args, int32_t n,
                           const TVMFFIAny* captured, int32_t num_captured, TVMFFIAny* result);
/* call.c: begins and ends a call on the calling thread. */
void tvmgo_vm_call_begin(tvmgo_vm_call* c, tvmgo_vm_model* m, const tvmgo_vm_options* o);
void tvmgo_vm_call_end(tvmgo_vm_call* c);
/* The call of this thread with an address; NULL if there is none. */
tvmgo_vm_call* tvmgo_vm_call_at(const void* p);
/* The list of functions for compiled functions; NULL: raised. */
TVMFFIAny* tvmgo_vm_call_functions(tvmgo_vm_call* c);

/* frame.c: NULL with an error raised. slots: behind the frame. */
vm_frame* tvmgo_vm_frame_push(tvmgo_vm_call* c, const vm_function* f, int64_t slots);
void tvmgo_vm_frame_pop(tvmgo_vm_call* c);
/* 1 with an error raised if the thread's stack has too little left for one more call through C. */
int tvmgo_vm_stack_ends(const vm_function* f);
/* trace.c: adds the frames from the innermost down to base to the raised error. */
void tvmgo_vm_trace(tvmgo_vm_call* c, const vm_frame* base);
/* The error for a wrong number of arguments, with a hint at its end; returns -1. */
int tvmgo_vm_wrong_count(const tvmgo_vm_program* p, const vm_function* f, int64_t given, const char* hint);

static inline TVMFFIAny vm_value(int32_t type, int64_t v) {
  TVMFFIAny a = tvmgo_any_int(v);
  a.type_index = type;
  return a;
}

/* An owned copy of a view, as an element of a frame. */
int tvmgo_vm_own(const TVMFFIAny* view, TVMFFIAny* out);

/* profile.c: takes up the profile of the calling thread, and leaves it. */
void tvmgo_vm_profile_begin(tvmgo_vm_call* c);
void tvmgo_vm_profile_end(tvmgo_vm_call* c);
/* The site of an instruction of a function, and of a function. *shapes, which may be NULL, becomes the shapes of the
 * tensors among the operands; 0 for vm.builtin functions. */
uint32_t tvmgo_vm_profile_instruction(tvmgo_vm_call* c, const vm_function* f, const vm_instruction* i,
                                      const TVMFFIAny* registers, uint32_t* shapes);
uint32_t tvmgo_vm_profile_function(tvmgo_vm_call* c, const vm_function* f);
