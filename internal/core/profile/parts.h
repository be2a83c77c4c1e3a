/* The parts of a profile, for the files of this package. */
#pragma once

#include "profile/profile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_EVENTS = 1024, SHAPE_CACHE = 256, MEMORY_SITES = 4, MAX_TIMED = 1024 };

typedef struct tvmgo_profile_chunk {
  struct tvmgo_profile_chunk* before;
  int32_t capacity;
  _Atomic int32_t count;
  tvmgo_profile_event events[];
} tvmgo_profile_chunk;

/* Things by the hash of their contents, numbered from 1. */
typedef struct {
  uint64_t* hashes;  /* of slots; 0: free */
  uint32_t* numbers; /* of slots */
  void** items;      /* by number; owned */
  uint32_t slots, count, capacity;
} profile_table;

/* The numbers of one key. */
typedef struct profile_numbers {
  struct profile_numbers* next;
  uint64_t key;
  uint32_t at[];
} profile_numbers;

typedef struct {
  tvmgo_profile_event* event;
  const tvmgo_profile_timers* timers;
  DLDevice dev;
  void* timer;
} profile_timed;

typedef struct {
  const void* address;
  int64_t bytes;
} profile_taken;

typedef struct tvmgo_profile_maps {
  profile_numbers* numbers;
  uint64_t hashes[SHAPE_CACHE];
  uint32_t shapes[SHAPE_CACHE];
  DLDevice devices[MEMORY_SITES];
  uint32_t memory[MEMORY_SITES]; /* sites of devices */
  int32_t num_memory;
  profile_timed* timed;
  int32_t num_timed; /* of MAX_TIMED */
  profile_taken* taken;
  int32_t num_taken, max_taken;
} tvmgo_profile_maps;

struct tvmgo_profile {
  _Atomic int64_t refs;
  _Atomic int64_t left, dropped; /* events */
  int64_t ticks, ns;             /* when it was made */
  pthread_mutex_t lock;          /* of all that follows */
  profile_table sites, shapes;
  tvmgo_profile_thread* threads; /* the newest first */
  tvmgo_profile_thread others;   /* events on threads that are not recorded */
};

/* 0: out of memory. make(arg) makes the item, in one allocation. Under the profile's lock. */
uint32_t tvmgo_profile_number(profile_table* t, uint64_t hash, void* (*make)(const void* arg), const void* arg);
void tvmgo_profile_table_free(profile_table* t);

static inline uint64_t tvmgo_profile_mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ (h >> 29);
}
