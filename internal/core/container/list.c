#include "container/list.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 4

typedef struct {
  TVMFFIObject header;
  TVMFFISeqCell cell;
} list_object;

_Static_assert(sizeof(list_object) == 56, "layout of ffi.List");

static void free_buffer(void* data) { free(data); }

static void release_all(TVMFFIAny* items, int64_t n) {
  for (int64_t i = 0; i < n; i++) tvmgo_any_clear(&items[i]);
}

static void list_delete(void* self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    TVMFFISeqCell* cell = tvmgo_seq_cell(self);
    release_all(cell->data, cell->size);
    cell->size = 0;
    if (cell->data_deleter != NULL) cell->data_deleter(cell->data);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

TVMFFIObject* tvmgo_list_new(const TVMFFIAny* items, int64_t n) {
  list_object* l = tvmgo_object_new(sizeof *l, kTVMFFIList, list_delete);
  if (l == NULL) return NULL;
  l->cell.data_deleter = free_buffer;
  if (tvmgo_list_reserve(&l->header, n < CAPACITY_MIN ? CAPACITY_MIN : n) != 0 ||
      tvmgo_list_replace(&l->header, 0, 0, items, n) != 0) {
    tvmgo_object_release(l);
    return NULL;
  }
  return &l->header;
}

int tvmgo_list_reserve(TVMFFIObject* list, int64_t n) {
  TVMFFISeqCell* cell = tvmgo_seq_cell(list);
  if (n <= cell->capacity) return 0;
  if ((uint64_t)n > PTRDIFF_MAX / sizeof(TVMFFIAny)) return tvmgo_raise_oom();
  TVMFFIAny* data = malloc((size_t)n * sizeof *data);
  if (data == NULL) return tvmgo_raise_oom();
  if (cell->size > 0) memcpy(data, cell->data, (size_t)cell->size * sizeof *data);
  void* old = cell->data;
  void (*free_old)(void*) = cell->data_deleter;
  cell->data = data;
  cell->capacity = n;
  cell->data_deleter = free_buffer;
  if (free_old != NULL) free_old(old);
  return 0;
}

static int grow_for(TVMFFIObject* list, int64_t size) {
  int64_t capacity = tvmgo_seq_cell(list)->capacity;
  if (size <= capacity) return 0;
  return tvmgo_list_reserve(list, size < 2 * capacity ? 2 * capacity : size);
}

int tvmgo_list_replace(TVMFFIObject* list, int64_t begin, int64_t end, const TVMFFIAny* items,
                       int64_t n) {
  TVMFFISeqCell* cell = tvmgo_seq_cell(list);
  int64_t removed = end - begin, size;
  if (removed == 0 && n == 0) return 0;
  if (__builtin_add_overflow(cell->size - removed, n, &size)) return tvmgo_raise_oom();
  /* Owned copies of the new elements, then space for the removed ones: one of each needs no allocation. */
  TVMFFIAny few[2], *many = few;
  if (n > 1 || removed > 1) {
    if ((uint64_t)n > PTRDIFF_MAX / sizeof *many - (uint64_t)removed) return tvmgo_raise_oom();
    many = malloc((size_t)(n + removed) * sizeof *many);
    if (many == NULL) return tvmgo_raise_oom();
  }
  int64_t owned = 0;
  while (owned < n && TVMFFIAnyViewToOwnedAny(&items[owned], &many[owned]) == 0) owned++;
  int rc = owned == n ? grow_for(list, size) : -1;
  if (rc == 0) {
    TVMFFIAny* at = (TVMFFIAny*)cell->data + begin;
    memcpy(many + n, at, (size_t)removed * sizeof *at);
    memmove(at + n, at + removed, (size_t)(cell->size - end) * sizeof *at);
    memcpy(at, many, (size_t)n * sizeof *at);
    cell->size = size;
    release_all(many + n, removed);
  } else {
    release_all(many, owned);
  }
  if (many != few) free(many);
  return rc;
}
