/* Streams, as the files that queue work see them. */
#pragma once

#include "hazard.h"
#include "memory.h"

typedef struct {
  void (*drop)(void*);
  void* object;
} vk_kept;

typedef struct {
  struct vk_stream* of; /* one reference */
  uint64_t value;
} vk_wait;

typedef struct {
  vk_wait* list;
  size_t num, room;
} vk_waits;

/* Commands that are submitted together. */
typedef struct vk_batch {
  struct vk_batch* next;
  uint64_t number;
  uint64_t serial; /* among all batches of the process */
  VkCommandPool pool;
  VkCommandBuffer commands;
  uint32_t num_commands;
  uint64_t num_bytes; /* copied from the host */
  int to_host;        /* something is written that the host may read */
  vk_kept* kept;
  size_t num_kept, room_kept;
  vk_waits waits;
} vk_batch;

/* Batches that could not be submitted, by number. */
typedef struct {
  uint64_t from, to;
} vk_lost;

/* Lock order: a stream's, then any of: its queue's, the device's list of streams, the heap's. Never two streams'. */
struct vk_stream {
  _Atomic int32_t refs;
  vk_stream* next; /* of the device's, by id; under the device's lock */
  uint64_t id;
  vk_device* d;
  uint32_t queue;
  VkSemaphore timeline; /* its value: the number of the last batch that is done */
  pthread_mutex_t lock;
  uint64_t last_number;       /* of the last batch that was opened */
  _Atomic uint64_t submitted; /* the last number that was */
  _Atomic uint64_t done;      /* the last number known to be done */
  vk_batch *open, *first, *last, *spare; /* recorded; submitted, oldest first; for later */
  uint32_t num_flying;        /* batches that are submitted and not known to be done, */
  uint64_t flying_bytes;      /* and what they copy from the host */
  vk_lost* lost;              /* in order */
  _Atomic size_t num_lost;
  size_t room_lost;
  VkResult lost_code;         /* why the last of them is */
  uint64_t unsaid;            /* commands of earlier calls lost since a call that waits said so */
  vk_waits owed;              /* of a batch that was lost: the next one waits in its place */
  vk_hazards hazards;
  vk_memory* upload; /* bytes of the host on their way, from `used` on free */
  VkDeviceSize used;
  struct vk_room* room; /* descriptors.c: the last one that its batches took */
};

/* ---- batch.c ---- */

/* The same as tvmgo_vk_begin for a stream that is known: 0, or -1 and not locked. Waits for the oldest batch when too
 * much is in flight, so that work which nobody waits for does not pile up. */
int tvmgo_vk_stream_begin(vk_stream* s);
/* Submits what is recorded. Under the lock. When that fails, what was recorded is lost, and its number is known as
 * such: the call that wanted it says so. Where that is a call which only queues work of its own, `implied`, the next
 * one that waits says so, too. */
int tvmgo_vk_submit(vk_stream* s, int implied);
/* Opens a batch to record in. Under the lock. */
VkResult tvmgo_vk_open_batch(vk_stream* s);
/* Notes what is done by now. */
VkResult tvmgo_vk_poll(vk_stream* s);
/* Drops what batches that are done had kept. Under the lock. */
void tvmgo_vk_retire(vk_stream* s);
/* Frees all batches; those in flight are done, or never will be. */
void tvmgo_vk_free_batches(vk_stream* s);
/* Whether a batch of this number could not be submitted. Under the lock. */
int tvmgo_vk_is_lost(const vk_stream* s, uint64_t number);
/* Has the open batch wait until another stream reaches a number. Under the lock. */
int tvmgo_vk_add_wait(vk_stream* s, vk_stream* other, uint64_t number);
/* Raises that a call of Vulkan failed, or that the device is lost; -1. */
int tvmgo_vk_stream_failed(vk_stream* s, VkResult rc, const char* op);
int tvmgo_vk_stream_lost(const vk_stream* s);
/* Blocks until the timeline has reached a number, which was submitted. Without the lock. */
VkResult tvmgo_vk_block(vk_stream* s, uint64_t number);

/* ---- lost.c ---- */

/* Whether a device that is lost uses nothing any more, so that it may be destroyed. Waits for that, in all and once for
 * the device a few seconds at most. The caller may hold the lock of one stream. */
int tvmgo_vk_has_let_go(vk_device* d);

/* ---- stream.c ---- */

/* 0, or -1 with an error raised: work that calls have queued since the last call of this kind could not be submitted.
 * Locks. */
int tvmgo_vk_stream_check(vk_stream* s);
/* What is recorded from now on waits until another stream reaches a number, which was submitted. Locks. */
int tvmgo_vk_stream_after(vk_stream* s, vk_stream* other, uint64_t number);
/* The number of all that was queued, which need not be submitted. Locks. */
uint64_t tvmgo_vk_stream_current(vk_stream* s);
/* Submits the batch of a number, if that has not been done; -1 with an error raised also when it could not be.
 * Locks. */
int tvmgo_vk_stream_flush(vk_stream* s, uint64_t number);
/* Submits what is recorded and waits for it. */
int tvmgo_vk_stream_wait(vk_stream* s);
/* Submits what is recorded and tells the number that stands for all that was queued. Locks. */
int tvmgo_vk_stream_mark(vk_stream* s, uint64_t* number);
