/* The parts of an executor, for the files of this package. */
#pragma once

#include "executor/executor.h"
#include "device/graph.h"

/* An output of a node. */
typedef struct {
  TVMFFIObject* planned; /* a tensor: shape, type, device and, while bound is NULL, memory; owned */
  TVMFFIObject* bound;   /* the owner of other memory: owned; NULL also for memory without an owner */
  DLTensor dl, flat;     /* the argument of functions: as planned, and as a vector */
  int64_t count;         /* the shape of flat */
  int32_t next;          /* ring of the entries that are the same data */
  int moved;             /* the memory is not that of planned */
  int shared;            /* the memory is also that of other executors */
} data_entry;

typedef struct {
  char* name; /* owned */
  int32_t first, outputs;
} graph_node;

typedef struct {
  int kind;
  int32_t node;
  char* func;          /* name; owned */
  TVMFFIObject* f;     /* owned */
  TVMFFIObject* stage; /* host memory for a copy between two devices; NULL until needed */
  int32_t n;
  TVMFFIAny* args;     /* pointers to dl or flat of data */
} graph_step;

typedef struct {
  int32_t data, node;
  int refusal;
} graph_output;

struct tvmgo_executor {
  _Atomic int64_t references;
  _Atomic int busy;
  tvmgo_executor_sizes sizes;
  data_entry* data;
  graph_node* nodes;
  graph_step* steps;
  int32_t* inputs;       /* nodes */
  int32_t* sorted;       /* indexes of inputs, sorted by name, for look-ups */
  graph_output* outputs;
  TVMFFIObject* unknown; /* function; owned */
  tvmgo_graph* graph;    /* recorded run; owned */
  TVMFFIStreamHandle stream, before; /* of the recording in progress */
  int recording;
};

/* executor.c */
data_entry* tvmgo_executor_input_data(tvmgo_executor* e, int32_t input);
/* Sets the planned tensor of an entry (consumed). */
void tvmgo_executor_plan(tvmgo_executor* e, int32_t i, TVMFFIObject* tensor, int shared);
/* Moves an entry, and those that are the same data, to other memory; owner is retained for each, or NULL. */
void tvmgo_executor_move(tvmgo_executor* e, data_entry* d, TVMFFIObject* owner, void* data, uint64_t offset);
/* Gives the entry memory that no other executor has, with the same elements if keep. */
int tvmgo_executor_own(tvmgo_executor* e, data_entry* d, int keep);
/* Index of an input, -1 if there is none of this name. */
int32_t tvmgo_executor_find_input(tvmgo_executor* e, const char* name, size_t len);
/* Copies between any two devices, on the current streams of the thread. stage: see graph_step; may be NULL. */
int tvmgo_executor_copy(const DLTensor* from, const DLTensor* to, TVMFFIObject** stage);
/* Executes the steps of the nodes from..to. */
int tvmgo_executor_run(tvmgo_executor* e, int32_t from, int32_t to);
/* Releases the recorded run, and ends a recording. capture.c */
void tvmgo_executor_discard(tvmgo_executor* e);
