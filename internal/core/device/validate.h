/* TVMGO_VALIDATE=1: a layer over every device's table that tracks memory and streams. Misuse that would crash a driver
 * or give wrong data becomes an error of the call. Without the variable the layer does not exist. validate.c is the
 * layer, validate_tracker.c the record that it keeps. */
#pragma once

#include <tvmgo/device_api.h>

/* Set before any device is registered. */
extern int tvmgo_validating;

/* The table to use in place of a device's; NULL with an error when memory is out. */
const TVMGODeviceAPI* tvmgo_validate_wrap(const TVMGODeviceAPI* real, int32_t device_type);

/* Freed memory is kept for a while, so that its address is not used again. Returns all of it to the devices. */
void tvmgo_validate_flush(void);

/* Drops the thread's error where it cannot be reported, as in destructors. The layer then prints its own errors to
 * stderr. */
void tvmgo_validate_forget_error(void);

/* ---- what is tracked: validate_tracker.c ---- */

typedef enum { TVMGO_TRACKED_DATA, TVMGO_TRACKED_WORKSPACE, TVMGO_TRACKED_PINNED,
    TVMGO_TRACKED_ORDERED } tvmgo_tracked_kind;

/* An allocation. Its address is the device's: a handle if the device's data is not an address. */
typedef struct tvmgo_tracked {
  void* p;
  size_t size;
  DLDevice dev;
  tvmgo_tracked_kind kind;
  TVMFFIStreamHandle stream; /* of a workspace */
  const TVMGODeviceAPI* real;
  int freed;
  uint64_t made, gone; /* numbers of the calls, counted over the process */
  int made_by, gone_by; /* threads, as the system numbers them */
  struct tvmgo_tracked* later; /* freed after it */
  struct tvmgo_flight* flights; /* copies of page-locked memory that may not be done */
} tvmgo_tracked;

/* Data space is memory for free_data_space, including memory in the order of a stream. */
/* Each returns 0, or -1 with an error raised that begins with op and names the allocation. */
int tvmgo_track_add(const char* op, tvmgo_tracked b);
/* *own lists the entries that were kept long enough: the caller frees them on the device. */
int tvmgo_track_free(const char* op, DLDevice dev, void* p, tvmgo_tracked_kind kind, tvmgo_tracked** own);
/* Removes and returns all kept entries. */
tvmgo_tracked* tvmgo_tracked_take_freed(void);
void tvmgo_track_drop(tvmgo_tracked* b);

/* One side of a copy of n bytes on a stream. *workspace_of is set to the stream of a workspace that is not
 * this one. */
typedef struct {
  int foreign_workspace;
  TVMFFIStreamHandle workspace_of;
  char name[200]; /* of the allocation */
} tvmgo_tracked_side;
int tvmgo_track_check_side(const char* op, const DLTensor* t, size_t n, TVMFFIStreamHandle stream,
                          tvmgo_tracked_side* out);

/* Records that a copy from or to host memory at p was queued; event may be NULL. 1 if p is page-locked; the event is
 * then consumed. */
int tvmgo_track_is_pinned(const void* p);
int tvmgo_track_flight(const void* p, const TVMGODeviceAPI* real, void* event);
/* Records a wait for a stream of the device: copies without an event count as done. */
void tvmgo_track_landed(const TVMGODeviceAPI* real);

/* Recordings through the layer: a second one on a stream is an error. */
int tvmgo_track_record(const char* op, DLDevice dev, TVMFFIStreamHandle s);
int tvmgo_track_records(DLDevice dev, TVMFFIStreamHandle s);
/* Ends a recording; 0 if there was none. */
int tvmgo_track_recorded(DLDevice dev, TVMFFIStreamHandle s);

/* Graphs that were recorded through the layer. */
int tvmgo_track_graph_made(DLDevice dev, void* graph);
int tvmgo_track_check_graph(const char* op, DLDevice dev, void* graph);
/* Stops tracking it. */
void tvmgo_track_graph_freed(DLDevice dev, void* graph);

/* Streams that were made through the layer; others are not tracked. */
void tvmgo_track_stream_made(DLDevice dev, TVMFFIStreamHandle s);
void tvmgo_track_stream_freed(DLDevice dev, TVMFFIStreamHandle s);
/* other is a second device index that the stream may belong to, or -1. id -1 means any device. */
int tvmgo_track_check_stream(const char* op, DLDevice dev, int32_t other, TVMFFIStreamHandle s);
