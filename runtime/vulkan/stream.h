/* Streams, as the files that queue work see them. */
#ifndef TVMGO_VULKAN_STREAM_H_
#define TVMGO_VULKAN_STREAM_H_

#include "hazard.h"
#include "memory.h"

typedef struct {
  void (*drop)(void*);
  void* object;
} vk_kept;

typedef struct {
  VkSemaphore semaphore;
  uint64_t value;
} vk_wait;

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
  vk_wait* waits;
  size_t num_waits, room_waits;
} vk_batch;

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
  uint64_t failed;            /* the last number that could not be submitted */
  _Atomic uint64_t submitted; /* the last number that was */
  _Atomic uint64_t done;      /* the last number known to be done */
  vk_batch *open, *first, *last, *spare; /* recorded; submitted, oldest first; for later */
  vk_hazards hazards;
  vk_memory* upload; /* bytes of the host on their way, from `used` on free */
  VkDeviceSize used;
  struct vk_room* room; /* room.c: the last one that its batches took */
};

/* The same as tvmgo_vk_begin for a stream that is known: 0, or -1 and not locked. */
int tvmgo_vk_stream_begin(vk_stream* s);
/* Submits what is recorded. Under the lock. */
int tvmgo_vk_submit(vk_stream* s);
/* What is recorded from now on waits until another stream reaches a number, which was submitted. Locks. */
int tvmgo_vk_stream_after(vk_stream* s, vk_stream* other, uint64_t number);
/* The number of all that was queued, which need not be submitted. Locks. */
uint64_t tvmgo_vk_stream_current(vk_stream* s);
/* Submits the batch of a number, if that has not been done; -1 with an error raised also when it could not be. Locks. */
int tvmgo_vk_stream_flush(vk_stream* s, uint64_t number);
/* Submits what is recorded and waits for it. */
int tvmgo_vk_stream_wait(vk_stream* s);
/* Submits what is recorded and tells the number that stands for all that was queued. Locks. */
int tvmgo_vk_stream_mark(vk_stream* s, uint64_t* number);

#endif
