/* Streams and batches, for the files that record commands. */
#pragma once

#include "hazard.h"
#include "memory.h"

/* An object that a batch keeps until it is done. */
typedef struct {
  void (*drop)(void*);
  void* object;
} vk_kept;

/* A batch of another stream that a batch waits for. */
typedef struct {
  struct vk_stream* stream; /* one reference */
  uint64_t value;           /* the other batch's number */
} vk_wait;

typedef struct {
  vk_wait* list;
  size_t num, cap;
} vk_waits;

/* Commands that are submitted together. */
typedef struct vk_batch {
  struct vk_batch* next;
  uint64_t number;
  uint64_t serial; /* unique in the process */
  VkCommandPool pool;
  VkCommandBuffer commands;
  uint32_t num_commands;
  uint64_t num_bytes; /* copied from the host */
  int to_host;        /* it writes memory that the host may read */
  vk_kept* kept;
  size_t num_kept, cap_kept;
  vk_waits waits;
} vk_batch;

/* A range of numbers of batches that could not be submitted. */
typedef struct {
  uint64_t from, to;
} vk_lost;

/* Lock order: a stream's lock, then the lock of its queue, of the device's list of streams, or of the heap. A thread
 * never holds the locks of two streams. */
struct vk_stream {
  _Atomic int32_t refs;
  vk_stream* next; /* in the device's all_streams, sorted by id; protected by the device's lock */
  uint64_t id;
  vk_device* d;
  uint32_t queue;
  VkSemaphore timeline; /* its value is the number of the last batch that is done */
  pthread_mutex_t lock;
  _Atomic uint64_t last_number; /* number of the last batch that was opened */
  _Atomic uint64_t submitted; /* number of the last batch that was submitted */
  _Atomic uint64_t done;      /* number of the last batch that is known to be done */
  vk_batch* open;             /* the batch that is being recorded; NULL if none */
  vk_batch *first, *last;     /* the submitted batches, oldest first */
  vk_batch* spare;            /* batches for reuse */
  uint32_t num_in_flight;        /* number of batches from first to last */
  uint64_t bytes_in_flight;      /* number of bytes that these batches copy from the host */
  vk_lost* lost;              /* sorted by number */
  _Atomic size_t num_lost;
  size_t cap_lost;
  VkResult lost_code;         /* the reason why the last of them is lost */
  uint64_t unreported;        /* number of lost commands of earlier calls that no error has reported yet */
  vk_waits pending_waits;     /* waits of a lost batch, which the next batch takes over */
  vk_hazards hazards;
  vk_memory* upload; /* staging memory; its first `used` bytes are in use */
  VkDeviceSize used;
  struct vk_arg_pool* arg_pool; /* descriptors.c: the last pool that its batches took */
};

/* ---- batch.c ---- */

/* Locks the stream and opens a batch, like tvmgo_vk_begin. Waits for the oldest batch if too much is in flight, so that
 * a program that never waits cannot queue an unlimited amount of work. 0, or -1 with an error raised; then the stream
 * is not locked. */
int tvmgo_vk_stream_begin(vk_stream* s);
/* Submits the open batch. The caller holds the lock. If that fails, an error is raised and the batch's commands are
 * lost; tvmgo_vk_is_lost is then true for its number. `implied` says that the caller did not ask for these commands:
 * then the next call that waits reports the loss, too. */
int tvmgo_vk_submit(vk_stream* s, int implied);
/* Opens a batch for recording. The caller holds the lock. */
VkResult tvmgo_vk_open_batch(vk_stream* s);
/* Updates s->done from the timeline semaphore. */
VkResult tvmgo_vk_poll(vk_stream* s);
/* Drops the objects that completed batches kept. The caller holds the lock. */
void tvmgo_vk_retire(vk_stream* s);
/* Frees all batches. None of them is still running. */
void tvmgo_vk_free_batches(vk_stream* s);
/* Whether the batch with a number could not be submitted. The caller holds the lock. */
int tvmgo_vk_is_lost(const vk_stream* s, uint64_t number);
/* Makes the open batch wait for a batch of another stream. The caller holds the lock. 0, or -1 with an error raised. */
int tvmgo_vk_add_wait(vk_stream* s, vk_stream* other, uint64_t number);
/* Raises the error that a call of Vulkan failed; always -1. */
int tvmgo_vk_stream_failed(vk_stream* s, VkResult rc, const char* op);
/* Whether the stream's device is lost; raises an error if so. */
int tvmgo_vk_stream_lost(const vk_stream* s);
/* Blocks until a submitted batch is done. The caller does not hold the lock. */
VkResult tvmgo_vk_block(vk_stream* s, uint64_t number);

/* ---- lost.c ---- */

/* Whether a lost device does not use any object any more, so that its objects may be destroyed. Waits for that, for at
 * most a few seconds per device in total. The caller may hold the lock of one stream. */
int tvmgo_vk_lost_is_idle(vk_device* d);

/* ---- stream.c ---- */

/* Reports lost commands of earlier calls that no error has reported yet: 0, or -1 with an error raised. Takes the
 * lock. */
int tvmgo_vk_stream_check(vk_stream* s);
/* Makes the commands that are recorded from now on wait for a submitted batch of another stream. Takes the lock. 0, or
 * -1 with an error raised. */
int tvmgo_vk_stream_after(vk_stream* s, vk_stream* other, uint64_t number);
/* The number of the last batch that contains commands; it need not be submitted. Takes the lock. */
uint64_t tvmgo_vk_stream_current(vk_stream* s);
/* Submits a batch unless it is already submitted. Takes the lock. 0, or -1 with an error raised, also if the batch was
 * lost earlier. */
int tvmgo_vk_stream_flush(vk_stream* s, uint64_t number);
/* Whether all commands are known to be done, and none was lost. Takes no lock and calls no driver. */
static inline int tvmgo_vk_stream_is_idle(const vk_stream* s) {
  return atomic_load(&s->last_number) == atomic_load(&s->done) && atomic_load(&s->num_lost) == 0 &&
         !atomic_load(&s->d->lost);
}
/* Submits the open batch and waits for all batches. 0, or -1 with an error raised. */
int tvmgo_vk_stream_wait(vk_stream* s);
/* Submits the open batch. *number is the number of the last submitted batch. Takes the lock. 0, or -1 with an error
 * raised. */
int tvmgo_vk_stream_submit(vk_stream* s, uint64_t* number);
