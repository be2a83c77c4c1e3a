/* Graphs: work of a stream that was recorded instead of executed, and can be launched many times. */
#pragma once

#include "object/counted.h"
#include <tvmgo/device_api.h>

/* A counted object. Until tvmgo_graph_end it is a recording. Releasing its last reference frees the device's graph,
 * then the objects that were kept for it. */
typedef struct tvmgo_graph tvmgo_graph;

/* A resource that recorded work uses: give(it) is called once the graph is freed. */
typedef struct tvmgo_kept {
  struct tvmgo_kept* next;
  void (*give)(struct tvmgo_kept*);
} tvmgo_kept;

/* Records what is queued on a stream from now on. tvmgo_graph_end is called on the same thread: devices may
 * record by thread. */
tvmgo_graph* tvmgo_graph_begin(DLDevice dev, TVMFFIStreamHandle stream);

/* Ends the recording; the stream executes its work again, whatever is returned. discard 1: nothing can be launched
 * afterwards. The caller releases g in every case. */
int tvmgo_graph_end(tvmgo_graph* g, int discard);

/* Queues the work on a stream of the graph's device. */
int tvmgo_graph_launch(tvmgo_graph* g, TVMFFIStreamHandle stream);

/* Number of recordings in progress in the process. If it is 0, the functions below need not be called. */
extern _Atomic int tvmgo_recordings;

/* Whether a stream records. */
int tvmgo_recording_on(DLDevice dev, TVMFFIStreamHandle stream);
/* Fails with an error that begins with op if it records: for calls that need the work to be executed. */
int tvmgo_recording_refuses(const char* op, DLDevice dev, TVMFFIStreamHandle stream);
/* 1: the recording of this stream has taken over the resource. 0: the stream doesn't record. */
int tvmgo_recording_keep(DLDevice dev, TVMFFIStreamHandle stream, tvmgo_kept* what);
/* Keeps a workspace that is returned on a recording stream out of the pool, because launches write to it. 1: taken
 * over; 0: the stream doesn't record; -1: an error was raised. */
int tvmgo_recording_keep_workspace(DLDevice dev, TVMFFIStreamHandle stream, void* p);
/* If the stream records, retains the objects that its queued work uses. */
int tvmgo_recording_retain(DLDevice dev, TVMFFIStreamHandle stream, TVMFFIObject* obj);
