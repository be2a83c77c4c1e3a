/* Package vm: the virtual machine for executables of TVM's Relax compiler (docs/abi.md G.3).
 *
 * Depends on object, call, container, device and loader. Go (package runtime/vm) parses and checks an executable; this
 * package runs it.
 *
 * A program is the code of an executable. A model is a program on a list of devices, with its functions resolved and
 * its constants uploaded once; both are immutable, counted and shared by all threads. A call is one run of a function:
 * it has a stack of frames, it belongs to one thread, and generated code and builtins see it as the "virtual machine"
 * pointer (special register 2^54+1). An account counts the bytes of storages, and limits them.
 *
 * Locks: one for each program (its uploaded constants) and two for each session (what is stored in it); no function of
 * a model or of a device runs under them but the upload of constants. */
#pragma once

#include "loader/loader.h"

/* --- account.c: accounts of memory ---------------------------------------------------------------------------------
 * An account of memory: of a session, whose parent is the model's. Counted; any thread may use it. Threads that take
 * and return storages in equal measure write nothing that other threads read. Limits of 0 mean none. Taking more than a
 * limit raises MemoryError, which says the limit, what is live and what was asked for. An account of NULL counts
 * nothing. */
typedef struct tvmgo_vm_account tvmgo_vm_account;
typedef struct {
  int64_t live;         /* bytes in storages now */
  int64_t peak;         /* bytes at most since the last reset; with several threads up to 1 MiB more for each */
  int64_t storages;     /* that exist now */
  int64_t taken;        /* storages ever taken */
  int64_t limit;        /* bytes; 0: none */
} tvmgo_vm_memory;
tvmgo_vm_account* tvmgo_vm_account_new(tvmgo_vm_account* parent, int64_t limit); /* keeps parent alive; NULL: raised */
void tvmgo_vm_account_retain(tvmgo_vm_account* a);
void tvmgo_vm_account_release(tvmgo_vm_account* a);
/* The numbers of a model's account include those of its sessions, closed ones too. */
void tvmgo_vm_account_read(tvmgo_vm_account* a, tvmgo_vm_memory* out);
/* Below what is live it only refuses further storages. */
void tvmgo_vm_account_set_limit(tvmgo_vm_account* a, int64_t limit);
/* The results and arguments of functions that read an account, and set its limit: tvmgo.memory() is a Map of the
 * numbers and the bytes of weights, tvmgo.set_memory_limit(bytes) takes one integer. memory.c */
int tvmgo_vm_account_map(tvmgo_vm_account* a, int64_t weights, TVMFFIAny* result);
int tvmgo_vm_account_take_limit(tvmgo_vm_account* a, const char* f, const TVMFFIAny* args, int32_t n);
/* The types of devices (a bit each, below 64) whose memory goes back to the device when it is released, and not to a
 * pool: what TVM calls the naive allocator. */
void tvmgo_vm_account_set_unpooled(tvmgo_vm_account* a, uint64_t device_types);
uint64_t tvmgo_vm_account_unpooled(tvmgo_vm_account* a);
void tvmgo_vm_account_reset_peak(tvmgo_vm_account* a);
/* Counts a storage of nbytes, here and in the accounts above, or raises MemoryError; and uncounts it. What is counted
 * keeps the account alive. */
int tvmgo_vm_account_take(tvmgo_vm_account* a, int64_t nbytes);
void tvmgo_vm_account_give(tvmgo_vm_account* a, int64_t nbytes);

/* --- storage.c: storages ------------------------------------------------------------------------------------------
 * A storage is an object (type key vm.Storage) that owns memory of a device for work on the device's current stream of
 * the calling thread. Released memory goes to the pool of the device, in the order of streams; the release may be on
 * any thread. If memory is out, idle memory is trimmed and the request repeated once before the error. An account
 * counts what a storage takes: in flat memory a multiple of 4096 bytes, all of which tensors may use. */

/* nbytes of flat memory, or, for another scope, an array of one dimension with elements of type hint. Owned; NULL:
 * raised. */
TVMFFIObject* tvmgo_vm_storage_new(tvmgo_vm_account* a, DLDevice dev, size_t nbytes, DLDataType hint,
                                   const char* scope);
/* The same for an array; its shape decides where it lies in scopes such as global.texture. Owned; NULL: raised. */
TVMFFIObject* tvmgo_vm_storage_new_array(tvmgo_vm_account* a, DLDevice dev, const int64_t* shape, int32_t ndim,
                                         DLDataType dtype, const char* scope);
/* A tensor at a byte offset in a storage, which it keeps alive. scope NULL is the storage's. A tensor that cannot lie
 * in the storage, because its scope or its shape in a scope differs, gets memory of its own. Owned; NULL: raised. */
TVMFFIObject* tvmgo_vm_storage_tensor(TVMFFIObject* storage, int64_t offset, const int64_t* shape, int32_t ndim,
                                      DLDataType dtype, const char* scope);
/* What a storage takes, in bytes, and where. */
size_t tvmgo_vm_storage_bytes(const TVMFFIObject* storage);
DLDevice tvmgo_vm_storage_device(const TVMFFIObject* storage);
int32_t tvmgo_vm_storage_type(void); /* the type index of vm.Storage, registered at its first use */

/* --- copy.c: copies of tensors --------------------------------------------------------------------------------------
 * Between any two devices, in the order of the current streams of the calling thread. If the destination is the host,
 * it can be read when the function returns. */
int tvmgo_vm_copy_into(const DLTensor* from, const DLTensor* to);
/* A compact copy on a device, in a storage of the account, if it is not NULL. Owned; NULL: raised. */
TVMFFIObject* tvmgo_vm_copy(tvmgo_vm_account* a, const DLTensor* t, DLDevice dev, const char* scope);

/* --- call.c: what builtins ask the machine for ------------------------------------------------------------------ */
typedef struct tvmgo_vm_call tvmgo_vm_call;
/* The call behind an argument of a builtin; NULL with an error raised that names f if it is none: the pointer must be
 * that of a call that runs on this thread. */
tvmgo_vm_call* tvmgo_vm_call_of(const char* f, const TVMFFIAny* arg);
/* The device with an index of the model's list; -1 is the host. */
int tvmgo_vm_call_device(tvmgo_vm_call* c, int64_t index, DLDevice* out);
tvmgo_vm_account* tvmgo_vm_call_account(tvmgo_vm_call* c); /* borrowed; NULL: none */
/* The account of the innermost call of this thread, for builtins without the machine among their arguments. */
tvmgo_vm_account* tvmgo_vm_account_here(void);
/* Calls a closure (type key relax.vm.Closure), or any function object. result must be None. */
int tvmgo_vm_call_closure(tvmgo_vm_call* c, TVMFFIObject* closure, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
/* A closure that calls another one (type key relax.vm.Closure) with more arguments at the end, behind those of its
 * caller; owned. Another object raises TypeError. */
TVMFFIObject* tvmgo_vm_closure_bind(TVMFFIObject* closure, const TVMFFIAny* last, int32_t n);

/* --- program.c: the code of an executable --------------------------------------------------------------------------
 * Decoded instructions, the table of functions, and descriptions of the constants. Counted; it does not change once it
 * is complete, and any thread may use it. */
typedef struct tvmgo_vm_program tvmgo_vm_program;

/* A function of the table, with the numbers of files (docs/abi.md G.3). */
typedef struct {
  int32_t kind, arity, registers, num_params;
  int64_t begin, end;        /* of bytecode: its instructions */
  int64_t name, name_size;   /* in the texts */
  int64_t params;            /* index of the first parameter in the list of parameters */
} tvmgo_vm_function;

/* All of an executable but its constants. It is copied. */
typedef struct {
  const tvmgo_vm_function* functions;
  int64_t num_functions;
  const int64_t* params;     /* pairs: where a name begins in the texts, and its bytes */
  int64_t num_params;
  const int64_t* offsets;    /* of each instruction in words */
  int64_t num_instructions;
  const int64_t* words;      /* as in files */
  int64_t num_words;
  const char* texts;
  int64_t num_texts;         /* bytes */
  int64_t num_constants;
} tvmgo_vm_description;

/* Checks what the interpreter relies on. NULL: raised. */
tvmgo_vm_program* tvmgo_vm_program_new(const tvmgo_vm_description* d);
/* Adds the next constant: a tensor, whose data is not copied and must live as long as a model or a tensor of it, or any
 * other value (a view). */
int tvmgo_vm_program_add_tensor(tvmgo_vm_program* p, DLDataType dtype, const int64_t* shape, int32_t ndim,
                                const void* data, size_t nbytes, const char* scope);
int tvmgo_vm_program_add_value(tvmgo_vm_program* p, const TVMFFIAny* value);
void tvmgo_vm_program_retain(tvmgo_vm_program* p);
void tvmgo_vm_program_release(tvmgo_vm_program* p);
/* The number of a function of the machine (not of a packed one); -1 if there is none of this name. */
int64_t tvmgo_vm_program_find(const tvmgo_vm_program* p, const char* name, size_t len);

/* --- model.c: a program on devices ---------------------------------------------------------------------------------
 * The functions resolved through the imports of a module and then the global ones, and one copy of the constants, which
 * all models of a program on the same first device share. On the CPU they are views of the file (loader/constants.h);
 * the first call copies those that are not aligned. Counted and immutable; any thread may use it. */
typedef struct tvmgo_vm_model tvmgo_vm_model;
/* executable: the module whose imports have the functions, kept alive; may be NULL. The last device is the host. The
 * error for a missing function is NotFoundError and names it, its callers and the module's kind. */
tvmgo_vm_model* tvmgo_vm_model_new(tvmgo_vm_program* p, tvmgo_module* executable, const DLDevice* devices, int32_t n);
void tvmgo_vm_model_retain(tvmgo_vm_model* m);
void tvmgo_vm_model_release(tvmgo_vm_model* m);

/* How a call runs. All may be NULL. */
typedef struct {
  tvmgo_vm_account* account; /* that its storages are charged to */
  TVMFFIObject* instrument;  /* Function, called around each call instruction (docs/abi.md G.3) */
} tvmgo_vm_options;
/* Runs a function of the machine on the calling thread. args are views, result becomes owned and must be None. */
int tvmgo_vm_model_run(tvmgo_vm_model* m, const tvmgo_vm_options* o, int64_t function, const TVMFFIAny* args, int32_t n,
                       TVMFFIAny* result);

/* How many functions of the machine can be in progress in one call, and how many of them can be called through C: fewer
 * if the thread's stack is small. Beyond that a call is an error. */
enum { TVMGO_VM_MAX_FRAMES = 100000, TVMGO_VM_MAX_NESTED = 1000 };
