/* Package executor: runs graphs of TVM's graph executor (docs/abi.md G.4).
 *
 * Depends on object, call, device, loader and, for accounts and storages, vm. Go (package runtime/graph) reads a graph,
 * plans its memory and looks up its functions; it then fills in an executor once. A run is one loop over the calls of
 * the graph, whose arguments are prepared: it allocates nothing and does not enter Go.
 *
 * An executor is one session. Every function of it may be called from any thread, but only one at a time: a call
 * during another one fails and changes nothing. Memory that several executors share (weights) is never written:
 * whatever would write it gives the executor memory of its own first. There is no lock.
 *
 * A model (model.h) is a graph as one function, which any number of threads call at once. */
#pragma once

#include "call/call.h"
#include "device/device.h"
#include "vm/vm.h"

typedef struct tvmgo_executor tvmgo_executor;

/* How many of each an executor has. */
typedef struct {
  int32_t data;    /* outputs of all nodes */
  int32_t nodes, steps, inputs, outputs;
  DLDevice device; /* the first one: CUDA graphs are recorded on it */
} tvmgo_executor_sizes;

/* What a step does. */
enum { TVMGO_STEP_CALL, TVMGO_STEP_COPY };

/* Why an output cannot be written to the caller's memory. */
enum { TVMGO_OUTPUT_FREE, TVMGO_OUTPUT_IS_INPUT, TVMGO_OUTPUT_TWICE };

/* A new executor with one reference; NULL with an error raised. The functions below fill it in; texts are copied. They
 * return 0, or -1 with an error raised. */
tvmgo_executor* tvmgo_executor_new(const tvmgo_executor_sizes* sizes);
void tvmgo_executor_retain(tvmgo_executor* e);
void tvmgo_executor_release(tvmgo_executor* e);
/* A node, and its first entry of the data. */
int tvmgo_executor_node(tvmgo_executor* e, int32_t i, const char* name, size_t len, int32_t first, int32_t outputs);
int tvmgo_executor_input(tvmgo_executor* e, int32_t i, int32_t node);
int tvmgo_executor_output(tvmgo_executor* e, int32_t i, int32_t data, int32_t node, int refusal);
/* data[0..n-1]: the arguments. flatten: they are passed as vectors. */
int tvmgo_executor_step(tvmgo_executor* e, int32_t i, int kind, int32_t node, const char* func, size_t len, int flatten,
                        const int32_t* data, int32_t n);
/* Entries i and alias are the same data: they change their memory together. */
int tvmgo_executor_alias(tvmgo_executor* e, int32_t i, int32_t alias);
/* Gives an executor of a model its account, before the first charge, and the bytes of the model's weights: its function
 * tvmgo.memory tells both. The executor keeps the account alive. */
void tvmgo_executor_use_account(tvmgo_executor* e, tvmgo_vm_account* a, int64_t weights);
/* Charges a storage of nbytes to the account, which the executor gives back when it is freed. */
int tvmgo_executor_charge(tvmgo_executor* e, int64_t nbytes);
/* Ends the construction. */
void tvmgo_executor_ready(tvmgo_executor* e);

/* The function of this name (functions.c), owned; *out = NULL if there is none. These take objects from Go, and belong
 * to the construction:
 *   __data(i, tensor, flags)                the memory of an entry; flag 1: it is also that of other executors,
 *                                           flag 2: it is in a storage scope
 *   __pointer(i, ptr, dtype, shape, device, module)
 *                                           the same for constant memory of a module
 *   __form(i, dtype, shape, device)         the same for an entry that gets memory with each call of a model
 *   __function(step, f)
 *   __unknown(f)                            f(name, what) raises the error for a name that is no input (what 0),
 *                                           output (1) or node (2)
 * and these move memory between executors:
 *   __share_input(i) -> tensor              the memory of an input; neither executor writes to it from now on
 *   __use_shared(i, tensor)                 */
int tvmgo_executor_function(tvmgo_executor* e, const char* name, size_t len, TVMFFIObject** out);
/* The name of the i-th function that a module shows; NULL behind the last. */
const char* tvmgo_executor_function_name(int32_t i);

/* The parameters in a file that owner keeps mapped: (index, type, shape, device) -> a tensor on the CPU, of nbytes at
 * data. Each is a view of the file, or a part of one copy (loader/constants.h). It retains owner, as views do. Owned;
 * NULL: raised. */
TVMFFIObject* tvmgo_executor_file_params(const void* const* data, const size_t* nbytes, int64_t n, void* owner);

/* keeper(f) -> a function that does what f does, and keeps module alive. module is borrowed by the keeper. Owned; NULL
 * with an error raised. */
TVMFFIObject* tvmgo_executor_keeper(void* module);
/* importer() -> the modules that module imports. The same holds for it. */
TVMFFIObject* tvmgo_executor_importer(void* module);
