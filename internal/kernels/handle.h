/* Handles: what a backend gives out in place of an address, for memory, streams and marks. They lie in one reserved range of
 * addresses per backend, so that any pointer can be told to be one without reading it. */
#ifndef TVMGO_HANDLE_H_
#define TVMGO_HANDLE_H_

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core.h"

/* How a backend's own handle begins. Kind 0 is "not in use". */
typedef struct tvmgo_handle {
  _Atomic uint32_t kind;
  int32_t device;
  struct tvmgo_handle* next; /* of free ones; the backend's own while in use */
} tvmgo_handle;

/* A backend's handles. The first three fields are set by it, the rest is zero. */
typedef struct {
  const char* api;               /* "opencl", for messages */
  size_t size;                   /* of its handle */
  const char* const* kind_names; /* by kind, as in "a stream" */
  tvmgo_spin lock;
  char* base;                  /* of the range; set once */
  _Atomic uint32_t num_usable; /* handles from base on that may be read; grows */
  uint32_t num_given;          /* of those, how many were ever handed out */
  tvmgo_handle *first_free, *last_free;
} tvmgo_handles;

/* A handle of a kind, all else zero; NULL with an error raised. */
void* tvmgo_handle_new(tvmgo_handles* all, uint32_t kind, int32_t device);
void tvmgo_handle_free(tvmgo_handles* all, void* h);
/* The kind of handle that p is; 0 when it is none that is in use. */
uint32_t tvmgo_handle_kind(const tvmgo_handles* all, const void* p);
/* The handle that `what` should be, of a kind; NULL with an error raised. */
void* tvmgo_handle_need(const tvmgo_handles* all, const void* p, uint32_t kind, const char* what);

#endif
