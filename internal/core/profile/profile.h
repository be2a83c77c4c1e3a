/* Package profile: records what calls do, as events with times, for a trace and a table of operators.
 *
 * Depends on object. The virtual machine, the graph executor and device packages record; Go (package runtime) reads a
 * snapshot.
 *
 * A profile is counted; any thread may use it. It records the work of each thread between tvmgo_profile_begin and
 * tvmgo_profile_end in a buffer, which only that thread writes. tvmgo_profiling is the buffer of the calling thread,
 * NULL without a profile: then a place that can record costs one predictable branch.
 *
 * An event refers to a site, which holds what events of one origin have in common: names, a device, a stream. The
 * number of events is limited; further ones are dropped and counted.
 *
 * Locks: one for each profile, of its sites, shapes and list of buffers. Nothing else is locked under it. */
#pragma once

#include "object/object.h"

#include <dlpack/dlpack.h>
#include <stdatomic.h>
#include <time.h>
#include <tvm/ffi/extra/c_env_api.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* What an event is. Package profile of Go has the same numbers. */
typedef enum {
  TVMGO_PROFILE_FUNCTION = 1,    /* a function of a virtual machine, or the run of a graph */
  TVMGO_PROFILE_INSTRUCTION = 2, /* a call instruction; number: its index in the function */
  TVMGO_PROFILE_NODE = 3,        /* a call of a graph; number: the node */
  TVMGO_PROFILE_KERNEL = 4,      /* a launch on a device */
  TVMGO_PROFILE_COPY = 5,        /* from device to other; value: bytes */
  TVMGO_PROFILE_MEMORY = 6,      /* value: bytes by which the memory in use of the device changes at begin */
  TVMGO_PROFILE_WAIT = 7         /* the host waits for a stream of the device */
} tvmgo_profile_kind;

/* The origin of events. Texts are owned by the profile. */
typedef struct {
  int32_t kind, number;
  DLDevice device, other;
  TVMFFIStreamHandle stream;  /* of a kernel or a copy on a device */
  int32_t waits;              /* 1: the device has no timers, so the stream was synchronized before and after */
  const char* name;           /* of what was called */
  const char* function;       /* that has the instruction; "" for others */
} tvmgo_profile_site;

typedef struct {
  int64_t begin, end;           /* on the host: ticks, in a snapshot nanoseconds since the profile was made */
  uint32_t site, shapes;        /* numbers; shapes 0: not known */
  int64_t value;
  _Atomic int64_t on_stream;    /* nanoseconds between two events of the stream; -1: none */
} tvmgo_profile_event;

typedef struct tvmgo_profile tvmgo_profile;

/* Reads and frees a timer of a device, at tvmgo_profile_end. */
typedef struct {
  int (*read)(DLDevice dev, void* timer, int64_t* ns); /* -1 with an error raised */
  void (*free)(DLDevice dev, void* timer);
} tvmgo_profile_timers;

typedef struct {
  int64_t begin;
  uint32_t site, shapes;
} tvmgo_profile_opened;

/* The buffer of a thread. */
typedef struct tvmgo_profile_thread {
  tvmgo_profile* profile;
  struct tvmgo_profile_thread* next;  /* of the profile */
  struct tvmgo_profile_thread* outer; /* the one before it on this thread */
  int64_t thread;                     /* number of the thread in the system */
  int32_t depth;                      /* tvmgo_profile_begin without tvmgo_profile_end; under the profile's lock */
  int32_t launching;                  /* a launch is being recorded */
  int64_t last;                       /* ticks: the end of the newest event, or the begin of the newest function */
  uint32_t shapes;                    /* of the call in progress */
  struct tvmgo_profile_chunk* chunk;  /* that is being filled; NULL before the first event */
  tvmgo_profile_opened* opened;       /* in progress, the innermost last */
  int32_t num_opened, max_opened;
  struct tvmgo_profile_maps* maps;    /* profile.c, shapes.c */
} tvmgo_profile_thread;

extern __thread tvmgo_profile_thread* tvmgo_profiling __attribute__((tls_model("initial-exec")));

/* ---- profiles ---- */

/* A profile of at most limit events. NULL: raised. */
tvmgo_profile* tvmgo_profile_new(int64_t limit);
void tvmgo_profile_retain(tvmgo_profile* p);
void tvmgo_profile_release(tvmgo_profile* p);
/* Records the calling thread from now on; tvmgo_profile_end on the same thread ends that, and waits for work that is
 * timed on streams. Both may be nested. Another profile that recorded the thread pauses. */
int tvmgo_profile_begin(tvmgo_profile* p);
void tvmgo_profile_end(void);
/* The profile that records the calling thread, with a reference; NULL if none does. */
tvmgo_profile* tvmgo_profile_current(void);

/* All that was recorded so far. Texts and shapes belong to the profile. */
typedef struct {
  int64_t thread;
  int64_t first, count; /* events, in the order of their ends */
} tvmgo_profile_thread_events;
typedef struct {
  tvmgo_profile_event* events;
  tvmgo_profile_thread_events* threads; /* the first: events on threads that were not recorded */
  const tvmgo_profile_site** sites;     /* by number; 0 is NULL */
  const int64_t** shapes;               /* by number; 0 is NULL: a count, then dtype, ndim and dims for each tensor */
  int64_t num_events, num_threads, num_sites, num_shapes, dropped;
} tvmgo_profile_snapshot;
int tvmgo_profile_read(tvmgo_profile* p, tvmgo_profile_snapshot* out); /* 0, or -1 with an error raised */
void tvmgo_profile_snapshot_free(tvmgo_profile_snapshot* s);

/* ---- recording, on the thread of t ---- */

/* 1 if this processor's counter does not run at a constant rate. */
extern int tvmgo_profile_reads_clock;

static inline int64_t tvmgo_profile_now(void) {
#if defined(__x86_64__)
  if (TVMGO_LIKELY(!tvmgo_profile_reads_clock)) return (int64_t)__rdtsc();
#elif defined(__aarch64__)
  int64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#endif
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The number of a site, whose texts are copied if it is new; 0 if memory is out: events of it are dropped. */
uint32_t tvmgo_profile_site_of(tvmgo_profile* p, const tvmgo_profile_site* site);
/* n numbers, which are 0 at first, for the owner of a key that is never used again; NULL: out of memory. */
uint32_t* tvmgo_profile_numbers(tvmgo_profile_thread* t, uint64_t key, int64_t n);
/* A key that no other caller gets. */
uint64_t tvmgo_profile_key(void);
/* The number of the shapes and dtypes of the tensors among n values. */
uint32_t tvmgo_profile_shapes_of(tvmgo_profile_thread* t, const TVMFFIAny* values, int32_t n);

/* Adds an event; NULL if it was dropped. */
tvmgo_profile_event* tvmgo_profile_add(tvmgo_profile_thread* t, int64_t begin, int64_t end, uint32_t site,
                                       uint32_t shapes, int64_t value);
/* Begins an event that others lie in, at a time; and ends the innermost one now. */
void tvmgo_profile_open(tvmgo_profile_thread* t, int64_t begin, uint32_t site, uint32_t shapes);
void tvmgo_profile_close(tvmgo_profile_thread* t);
/* Reads the timer of an event later; the profile owns it from now on. */
void tvmgo_profile_time(tvmgo_profile_thread* t, tvmgo_profile_event* e, const tvmgo_profile_timers* timers,
                        DLDevice dev, void* timer);

/* ---- memory ---- */

/* Counts bytes of a device as in use, by the profile of the calling thread. Returns the profile, which
 * tvmgo_profile_freed on any thread needs; NULL if there is none. */
tvmgo_profile* tvmgo_profile_allocated(DLDevice dev, int64_t bytes);
void tvmgo_profile_freed(tvmgo_profile* p, DLDevice dev, int64_t bytes);
/* The bytes in use change; 1 if that was recorded. */
int tvmgo_profile_memory(tvmgo_profile_thread* t, DLDevice dev, int64_t bytes);
/* The same for memory that is freed on the same thread, by address; an address that is not known is ignored. */
void tvmgo_profile_took(tvmgo_profile_thread* t, DLDevice dev, const void* address, int64_t bytes);
void tvmgo_profile_gave(tvmgo_profile_thread* t, DLDevice dev, const void* address);
