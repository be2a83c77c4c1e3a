/* Handles: what a device gives out in place of an address, for memory, streams, events and timers. The handles of a
 * package lie in one reserved range of addresses, so that any pointer can be recognised as one without reading it. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core.h"

/* How the handle of a package begins. Kind 0 means "not in use". */
typedef struct tvmgo_handle {
  _Atomic uint32_t kind;
  int32_t device;
  struct tvmgo_handle* next; /* of free ones; while in use, the package's own fields begin here */
} tvmgo_handle;

/* The handles of a package, which sets the fields up to memory_kinds; the rest is zero at first. */
typedef struct {
  const char* api;               /* "opencl", for messages */
  size_t size;                   /* of its handle */
  const char* const* kind_names; /* by kind, as in "a stream" */
  uint32_t memory_kinds;         /* kinds 1 to this are memory */
  tvmgo_spin lock;
  char* base;                  /* of the range; set once */
  _Atomic uint32_t num_usable; /* handles from base on that may be read; grows */
  uint32_t num_given;          /* of those, how many were ever handed out */
  tvmgo_handle *first_free, *last_free;
} tvmgo_handles;

/* A handle of a kind, all else zero; NULL with an error raised. */
void* tvmgo_handle_new(tvmgo_handles* all, uint32_t kind, int32_t device);
void tvmgo_handle_free(tvmgo_handles* all, void* h);
/* The kind of the handle at p; 0 if p is no handle that is in use. */
uint32_t tvmgo_handle_kind(const tvmgo_handles* all, const void* p);
/* The handle of a kind that p must be; NULL with an error raised. what begins the message. */
void* tvmgo_handle_need(const tvmgo_handles* all, const void* p, uint32_t kind, const char* what);
/* The handle of memory of a device that p must be; NULL with an error raised. what begins the message. */
void* tvmgo_handle_memory(const tvmgo_handles* all, const void* p, int32_t device, const char* what);
