/* Models: a graph as one function, which any number of threads call at once.
 *
 * A call takes an idle executor of the model, or has another one made; all of them share their parameters and
 * functions. It uses the caller's tensors without a copy where functions of the graph can, and returns memory that the
 * caller owns. It enters Go only to make an executor. Afterwards the executor refers to nothing of the caller's.
 *
 * Parameters are bound to a model by replacing its binding, which is immutable: a call has either the earlier binding
 * or the new one. Lock: a spin lock of each model, for its binding and its idle executors; nothing is called under it.
 *
 * On a device's default stream the results may still be in progress when a call returns, as for any function. On other
 * streams of the thread the call waits for its work, because the next call with the executor may use another stream. */
#pragma once

#include "executor/executor.h"

typedef struct tvmgo_graph_model tvmgo_graph_model;

/* A model with one reference. name is that of its function, for errors; inputs is how many the graph has. At most
 * most_idle executors are kept. account is retained, and may be NULL. NULL: raised. */
tvmgo_graph_model* tvmgo_graph_model_new(const char* name, size_t len, int32_t inputs, tvmgo_vm_account* account,
                                         int32_t most_idle);
void tvmgo_graph_model_retain(tvmgo_graph_model* m);
void tvmgo_graph_model_release(tvmgo_graph_model* m);
/* Adds an idle executor; its reference is consumed. */
void tvmgo_graph_model_add(tvmgo_graph_model* m, tvmgo_executor* e);
/* Frees the idle executors. */
void tvmgo_graph_model_trim(tvmgo_graph_model* m);
int32_t tvmgo_graph_model_idle(tvmgo_graph_model* m);
/* The function: inputs in order -> the output, or an array of them. It takes all inputs, or those that have no
 * parameter. module is kept alive, NULL: none. Owned; NULL: raised. */
TVMFFIObject* tvmgo_graph_model_function(tvmgo_graph_model* m, void* module);
/* Functions by which Go gives a model its objects. Owned; NULL: raised.
 *   start(maker) -> maker() returns a new executor as an opaque pointer, and the model takes over its reference. It is
 *     called once before the first call of the model's function.
 *   bind(of each input: None, True for one whose memory in executors has a parameter of the file, or a tensor on the
 *     input's device, checked and aligned) -> replaces the binding. Inputs in storage scopes have tensors. */
TVMFFIObject* tvmgo_graph_model_start(tvmgo_graph_model* m);
TVMFFIObject* tvmgo_graph_model_bind(tvmgo_graph_model* m);
