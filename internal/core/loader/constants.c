/* Constants: views of the file, and the block of those that are not aligned. */
#include "loader/constants.h"
#include "loader/file_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
  ALIGNMENT = 64,        /* what generated code assumes of a tensor */
  CHUNK = 4 << 20,       /* bytes that are copied before the pages behind them are released */
  HUGE_BLOCK = 64 << 20  /* bytes from which on a block consists of large pages: fewer faults */
};

typedef struct tvmgo_placed placed;

static int is_aligned(const void* p) { return (uintptr_t)p % ALIGNMENT == 0; }

static int is_view(const placed* p) { return p->to == p->from; }

/* Makes views of what lies in mapped files. Memory that can be written already may be the views of another module that
 * shares the file. */
static void place_views(tvmgo_constants* c, const tvmgo_file_maps* maps) {
  for (int64_t i = 0; i < c->n; i++) {
    placed* p = &c->placed[i];
    int is = p->nbytes == 0 || !is_aligned(p->from) ? 0 : tvmgo_file_maps_find(maps, p->from, p->nbytes);
    if (is != TVMGO_FILE_MAPPED) continue;
    /* One call for all neighbours: each would be a mapping of its own. */
    const char* end = p->from + p->nbytes;
    int64_t last = i;
    for (int64_t k = i + 1; k < c->n; k++) {
      const placed* next = &c->placed[k];
      if (next->nbytes == 0) continue;
      if (next->from < end || tvmgo_file_maps_find(maps, p->from, (size_t)(next->from + next->nbytes - p->from)) != is)
        break;
      last = k;
      end = next->from + next->nbytes;
    }
    if (tvmgo_file_unlock(p->from, (size_t)(end - p->from)) == 0)
      for (int64_t k = i; k <= last; k++)
        if (c->placed[k].nbytes > 0 && is_aligned(c->placed[k].from)) c->placed[k].to = (char*)c->placed[k].from;
    i = last;
  }
}

/* Assigns positions in the block. Returns its size. */
static size_t place_rest(tvmgo_constants* c, const tvmgo_file_maps* maps) {
  size_t size = 0;
  const placed* before = NULL;
  for (int64_t i = 0; i < c->n; i++) {
    placed* p = &c->placed[i];
    if (p->nbytes == 0) continue;
    if (is_view(p)) {
      before = NULL;
      continue;
    }
    p->to = (char*)size; /* becomes an address when there is a block */
    size += (p->nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    int is = tvmgo_file_maps_find(maps, p->from, p->nbytes);
    p->is_clean = is != 0 && !(is & TVMGO_FILE_WRITABLE);
    if (before != NULL && before->is_clean && before->from + before->nbytes <= p->from) {
      is = tvmgo_file_maps_find(maps, before->from, (size_t)(p->from + p->nbytes - before->from));
      p->joins = is != 0 && !(is & TVMGO_FILE_WRITABLE);
    }
    before = p;
  }
  return size;
}

static int place(tvmgo_constants* c, int has_owner) {
  tvmgo_file_maps* maps = tvmgo_file_maps_read();
  if (has_owner) place_views(c, maps);
  int64_t size = (int64_t)place_rest(c, maps);
  tvmgo_file_maps_free(maps);
  atomic_init(&c->is_filled, size == 0);
  if (size == 0) return 0;
  c->block = tvmgo_tensor_new(&size, 1, (DLDataType){kDLUInt, 8, 1}, (DLDevice){kDLCPU, 0}, NULL);
  if (c->block == NULL) return -1;
  char* begin = c->block->dl.data;
  if (size >= HUGE_BLOCK) {
    size_t page = tvmgo_page_size(), skip = (page - (uintptr_t)begin % page) % page;
    madvise(begin + skip, ((size_t)size - skip) / page * page, MADV_HUGEPAGE); /* a failure costs time only */
  }
  for (int64_t i = 0; i < c->n; i++)
    if (c->placed[i].nbytes > 0 && !is_view(&c->placed[i])) c->placed[i].to = begin + (uintptr_t)c->placed[i].to;
  return 0;
}

tvmgo_constants* tvmgo_constants_new(const tvmgo_constant_bytes* list, int64_t n, int has_owner) {
  tvmgo_constants* c = calloc(1, sizeof *c + (size_t)n * sizeof *c->placed);
  if (c == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  atomic_init(&c->refs, 1);
  tvmgo_renewed_init(&c->lock_in_child, &c->lock);
  c->n = n;
  for (int64_t i = 0; i < n; i++)
    c->placed[i] = (placed){.from = list[i].data, .nbytes = list[i].data == NULL ? 0 : list[i].nbytes};
  if (place(c, has_owner) == 0) return c;
  tvmgo_constants_release(c);
  return NULL;
}

void tvmgo_constants_retain(tvmgo_constants* c) { atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed); }

void tvmgo_constants_release(tvmgo_constants* c) {
  if (c == NULL || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
  tvmgo_object_release(c->block);
  tvmgo_renewed_destroy(&c->lock_in_child);
  free(c);
}

TVMFFIObject* tvmgo_constants_tensor(tvmgo_constants* c, int64_t i, const DLTensor* like, TVMFFIObject* owner) {
  const placed* p = &c->placed[i];
  if (p->nbytes == 0) return (TVMFFIObject*)tvmgo_tensor_new(like->shape, like->ndim, like->dtype, like->device, NULL);
  DLTensor dl = {.data = p->to, .device = like->device, .ndim = like->ndim, .dtype = like->dtype,
                 .shape = like->shape};
  TVMFFIObject* kept = is_view(p) ? owner : &c->block->header;
  tvmgo_tensor* t = tvmgo_tensor_wrap(&dl, kept, tvmgo_tensor_release_source);
  if (t != NULL && kept != NULL) tvmgo_object_retain(kept);
  return (TVMFFIObject*)t;
}

/* Copies a constant in parts and releases the pages of the file from *kept on that were copied. Under the lock. */
static void fill(placed* p, const char** kept) {
  if (p->nbytes == 0 || is_view(p) || p->is_filled) {
    if (p->nbytes > 0) *kept = NULL;
    return;
  }
  if (!p->joins || *kept == NULL) *kept = p->from;
  for (size_t at = 0; at < p->nbytes;) {
    size_t n = p->nbytes - at < CHUNK ? p->nbytes - at : CHUNK;
    memcpy(p->to + at, p->from + at, n);
    at += n;
    if (p->is_clean && (p->from + at - *kept >= CHUNK || at == p->nbytes)) {
      tvmgo_file_drop(*kept, (size_t)(p->from + at - *kept));
      const char* page = p->from + at - (uintptr_t)(p->from + at) % tvmgo_page_size();
      if (page > *kept) *kept = page; /* before *kept may lie a view */
    }
  }
  p->is_filled = 1; /* at the end: a child that was forked meanwhile fills it again */
}

void tvmgo_constants_fill_block(tvmgo_constants* c) {
  pthread_mutex_lock(&c->lock);
  if (!atomic_load_explicit(&c->is_filled, memory_order_relaxed)) {
    const char* kept = NULL;
    for (int64_t i = 0; i < c->n; i++) fill(&c->placed[i], &kept);
    atomic_store_explicit(&c->is_filled, 1, memory_order_release);
  }
  pthread_mutex_unlock(&c->lock);
}

void tvmgo_constants_fill_one(tvmgo_constants* c, int64_t i) {
  const char* kept = NULL;
  pthread_mutex_lock(&c->lock);
  fill(&c->placed[i], &kept);
  pthread_mutex_unlock(&c->lock);
}
