/* Handles, which a device returns instead of addresses for memory, streams, events and timers. All handles of a device
 * package lie in one reserved address range: whether a pointer is a handle can be decided without dereferencing it. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core.h"

/* The first fields of each device package's own handle struct. Kind 0 means "not in use". */
typedef struct tvmgo_handle {
  _Atomic uint32_t kind;
  int32_t device;
  struct tvmgo_handle* next; /* the next free handle; in a handle that is in use, the package's own fields begin here */
} tvmgo_handle;

/* The handles of a device package. The package sets the fields up to memory_kinds; all others must be zero at first. */
typedef struct {
  const char* api;               /* "opencl", for messages */
  size_t size;                   /* size of the package's handle struct, in bytes */
  const char* const* kind_names; /* a name for each kind, with its article: "a stream" */
  uint32_t memory_kinds;         /* kinds 1 to memory_kinds are memory */
  tvmgo_spin lock;
  char* base;                  /* begin of the address range; set once */
  _Atomic uint32_t num_usable; /* number of handles whose pages are readable and writable; grows */
  uint32_t num_given;          /* number of handles that have been in use at least once */
  tvmgo_handle *first_free, *last_free;
} tvmgo_handles;

/* A new handle; the package's fields are zero. NULL with an error raised. */
void* tvmgo_handle_new(tvmgo_handles* all, uint32_t kind, int32_t device);
void tvmgo_handle_free(tvmgo_handles* all, void* h);
/* The kind of the handle at p; 0 if p is not a handle that is in use. */
uint32_t tvmgo_handle_kind(const tvmgo_handles* all, const void* p);
/* Checks that p is a handle of a kind, and returns it; NULL with an error raised, whose message begins with what. */
void* tvmgo_handle_need(const tvmgo_handles* all, const void* p, uint32_t kind, const char* what);
/* Checks that p is a memory handle of a device, and returns it; NULL with an error raised, whose message begins with
 * what. */
void* tvmgo_handle_memory(const tvmgo_handles* all, const void* p, int32_t device, const char* what);
