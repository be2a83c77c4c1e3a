/* Graphs: work of a stream that was recorded instead of done, to be launched as often as wanted. */
#pragma once

#include "object/counted.h"
#include <tvmgo/device_api.h>

/* A counted object. Until tvmgo_graph_end it is a recording. Its last reference frees the device's graph, then
 * what was kept for it. */
typedef struct tvmgo_graph tvmgo_graph;

/* Something that recorded work uses: give(it) is called once the graph is gone. */
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

/* Number of recordings under way in the process: 0 spares the calls below. */
extern _Atomic int tvmgo_recordings;

/* Whether a stream records. */
int tvmgo_recording_on(DLDevice dev, TVMFFIStreamHandle stream);
/* Fails, with op in front, when it does: for calls that depend on work that is only recorded. */
int tvmgo_recording_refuses(const char* op, DLDevice dev, TVMFFIStreamHandle stream);
/* 1: the recording of this stream has taken it over. 0: the stream doesn't record. */
int tvmgo_recording_keep(DLDevice dev, TVMFFIStreamHandle stream, tvmgo_kept* what);
/* Keeps a workspace that is given back on a stream out of the pool: launches write to it. 1 when it was taken
 * over, 0 when the stream doesn't record, -1 with an error. */
int tvmgo_recording_keep_workspace(DLDevice dev, TVMFFIStreamHandle stream, void* p);
/* Retains objects that work queued on a stream uses, where it records. */
int tvmgo_recording_retain(DLDevice dev, TVMFFIStreamHandle stream, TVMFFIObject* obj);
