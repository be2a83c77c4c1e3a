/* A call of a function of an executor, and checks of its arguments. Each check returns 0, or -1 with an error raised
 * that begins with the name of the function. */
#pragma once

#include "executor/session.h"

/* A call of a function: f names it in errors. */
typedef struct {
  tvmgo_executor* e;
  const char* f;
  const TVMFFIAny* args;
  int32_t n;
  TVMFFIAny* result;
} executor_call;

/* What a name or an index stands for. */
enum { AN_INPUT, AN_OUTPUT, A_NODE };

int tvmgo_executor_count(const executor_call* c, int32_t min, int32_t max);
/* An index below n. */
int tvmgo_executor_index(const executor_call* c, int32_t i, int32_t n, const char* what, int32_t* out);
/* An input, output or node by name or index. */
int tvmgo_executor_item(const executor_call* c, int32_t i, int32_t what, int32_t* out);
/* Index of an output, -1 if there is none of this name. */
int32_t tvmgo_executor_find_output(tvmgo_executor* e, const TVMFFIByteArray* name);
/* A tensor object, or the address of a DLTensor. *owner is borrowed, NULL for an address. */
int tvmgo_executor_tensor(const executor_call* c, int32_t i, const DLTensor** out, TVMFFIObject** owner);
/* Whether t has the shape and the type of an entry. what and name stand for the entry in errors. */
int tvmgo_executor_same_form(const executor_call* c, const DLTensor* t, const DLTensor* want, const char* what,
                             const char* name);
/* Why functions of the graph cannot use t in place of the memory of an entry; 0 if they can. */
enum { NOT_IN_SCOPE = 1, OTHER_DEVICE, NOT_CONTIGUOUS, NOT_ALIGNED };
int tvmgo_executor_fit(const DLTensor* t, const data_entry* d);
/* Fails, in words, unless t has the entry's form and fits. */
int tvmgo_executor_usable(const executor_call* c, const DLTensor* t, const data_entry* d, const char* what,
                          const char* name);
/* Moves an entry to the memory of a tensor that fits. owner is retained; NULL: the memory has no owner. */
void tvmgo_executor_use(tvmgo_executor* e, data_entry* d, const DLTensor* t, TVMFFIObject* owner);
/* A copy of an entry on a device, owned; NULL: raised. functions.c */
TVMFFIObject* tvmgo_executor_copy_of(const data_entry* d, DLDevice dev);

typedef struct {
  const char* name;
  int (*body)(const executor_call* c);
} executor_entry;

/* The functions of construct.c and capture.c. */
int tvmgo_executor_attach_data(const executor_call* c);
int tvmgo_executor_attach_pointer(const executor_call* c);
int tvmgo_executor_attach_form(const executor_call* c);
int tvmgo_executor_attach_function(const executor_call* c);
int tvmgo_executor_attach_unknown(const executor_call* c);
int tvmgo_executor_start_capture(const executor_call* c);
int tvmgo_executor_end_capture(const executor_call* c);
int tvmgo_executor_run_cuda_graph(const executor_call* c);
