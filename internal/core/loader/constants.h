/* Constants: tensors on the CPU whose elements are bytes of a loaded file.
 *
 * Where the elements begin at a multiple of 64 bytes, as generated code expects, a tensor is a view of the file. The
 * pages of views are private to the process and writable, because a function may update a constant in place. All other
 * constants have memory in one common block. It is filled, and the pages of the file behind it are released, by the
 * first tvmgo_constants_fill: loading a file does not read its elements. */
#pragma once

#include "device/device.h"

#include <pthread.h>

typedef struct {
  const void* data; /* NULL: no constant */
  size_t nbytes;    /* of a tensor with these elements */
} tvmgo_constant_bytes;

/* Counted; any thread may use it. */
typedef struct tvmgo_constants tvmgo_constants;

/* Decides where n constants lie. Their bytes must stay in place until the constants and, where owner is not NULL, the
 * tensors of views are released. Without owner (or outside of mapped files) there are no views. NULL: raised. */
tvmgo_constants* tvmgo_constants_new(const tvmgo_constant_bytes* list, int64_t n, int has_owner);
void tvmgo_constants_retain(tvmgo_constants* c);
void tvmgo_constants_release(tvmgo_constants* c);

/* The tensor of constant i, owned; like gives its type, shape and device. It keeps owner alive if it is a view, and
 * otherwise the block. Its elements may be read after tvmgo_constants_fill. NULL: raised. */
TVMFFIObject* tvmgo_constants_tensor(tvmgo_constants* c, int64_t i, const DLTensor* like, TVMFFIObject* owner);

/* Fills the part of one constant, once. */
void tvmgo_constants_fill_one(tvmgo_constants* c, int64_t i);

/* Fills the block; others wait. */
void tvmgo_constants_fill_block(tvmgo_constants* c);

struct tvmgo_constants {
  _Atomic int64_t refs;
  _Atomic int is_filled;
  tvmgo_renewed lock_in_child; /* which fills the block again */
  pthread_mutex_t lock; /* of the filling */
  tvmgo_tensor* block; /* NULL: there are only views */
  int64_t n;
  struct tvmgo_placed {
    const char* from;
    size_t nbytes;
    char* to;     /* from, if it is a view */
    int is_clean; /* the file was not written here: its pages can be released */
    int joins;    /* so are the bytes between the constant before it and this one, and both are in the block */
    int is_filled;
  } placed[];
};

/* Fills the block, once. To be called before the elements of a tensor are used. */
static inline void tvmgo_constants_fill(tvmgo_constants* c) {
  if (TVMGO_UNLIKELY(!atomic_load_explicit(&c->is_filled, memory_order_acquire))) tvmgo_constants_fill_block(c);
}

/* The bytes of the block: what is not a view. */
static inline size_t tvmgo_constants_copied(const tvmgo_constants* c) {
  return c->block == NULL ? 0 : c->block->nbytes;
}
