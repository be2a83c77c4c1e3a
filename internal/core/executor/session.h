/* The parts of an executor, for the files of this package. */
#pragma once

#include "device/graph.h"
#include "executor/executor.h"
#include "profile/profile.h"

/* An output of a node. */
typedef struct {
  TVMFFIObject* planned; /* a tensor: shape, type, device and, while bound is NULL, memory; owned */
  TVMFFIObject* bound;   /* the owner of other memory: owned; NULL also for memory without an owner */
  DLTensor dl, flat;     /* the argument of functions: as planned, and as a vector */
  int64_t count;         /* the shape of flat */
  int32_t next;          /* ring of the entries that are the same data */
  int moved;             /* the memory is not that of planned */
  int shared;            /* the memory is also that of other executors */
  int lent;              /* planned is also memory of other executors */
  int scoped;            /* planned is in a storage scope: no other memory can replace it */
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

/* Tensors that a model has bound to inputs. Immutable, counted and shared. */
typedef struct {
  _Atomic int64_t references;
  int32_t n, free;       /* inputs, and how many of them are neither bound nor parameters of the file */
  int8_t* of_file;       /* 1 for inputs whose planned memory has a parameter of the file */
  TVMFFIObject** tensors; /* of each input: owned, or NULL */
} graph_binding;

enum { MAX_EXECUTOR_DEVICES = 8 };

struct tvmgo_executor {
  _Atomic int64_t references;
  uint64_t key; /* of profiles: no other executor has it */
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
  DLDevice devices[MAX_EXECUTOR_DEVICES]; /* other than the CPU, each once */
  int32_t num_devices;
  /* of a model: */
  tvmgo_vm_account* account; /* that is charged for the storages; owned */
  int64_t weights;           /* bytes, as tvmgo.memory tells them */
  int64_t* charges;          /* bytes of each storage */
  int32_t num_charges;
  graph_binding* binding;    /* whose tensors the inputs have; owned; NULL: they must be set again */
  tvmgo_executor* next;      /* idle executor */
};

/* executor.c */
data_entry* tvmgo_executor_input_data(tvmgo_executor* e, int32_t input);
/* Sets the planned tensor of an entry (consumed). */
void tvmgo_executor_plan(tvmgo_executor* e, int32_t i, TVMFFIObject* tensor, int shared, int scoped);
/* Moves an entry, and those that are the same data, to other memory; owner is retained for each, or NULL. */
void tvmgo_executor_move(tvmgo_executor* e, data_entry* d, TVMFFIObject* owner, void* data, uint64_t offset);
/* Ends a move: the entry and those that are the same data are in planned memory again. */
void tvmgo_executor_move_back(tvmgo_executor* e, data_entry* d);
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
/* model.c */
void tvmgo_graph_binding_release(graph_binding* b);

/* profile.c: a run that the profile of the calling thread records. */
typedef struct {
  tvmgo_profile_thread* thread;
  uint32_t* sites; /* of the steps, and of the run */
  DLDevice device[MAX_EXECUTOR_DEVICES];
  int64_t bytes[MAX_EXECUTOR_DEVICES]; /* in use while it runs */
  int32_t devices;
} graph_profile;
int tvmgo_executor_profile_begin(tvmgo_executor* e, graph_profile* p); /* -1: out of memory; nothing is recorded */
/* tvmgo_profile_close ends a step. */
void tvmgo_executor_profile_step(tvmgo_executor* e, graph_profile* p, const graph_step* s);
void tvmgo_executor_profile_end(graph_profile* p);
