#include "reflect/recursive.h"

#include <stdlib.h>

#define NONE UINT32_MAX
#define FIRST_CAPACITY 16

static uint32_t bucket_of(const void* a, const void* b, uint32_t capacity) {
  uint64_t h = (uint64_t)(uintptr_t)a * UINT64_C(0x9e3779b97f4a7c15);
  h = (h ^ (h >> 29) ^ (uint64_t)(uintptr_t)b) * UINT64_C(0xbf58476d1ce4e5b9);
  return (uint32_t)(h >> 32) & (capacity - 1);
}

tvmgo_visited_entry* tvmgo_visited_find(const tvmgo_visited* s, const void* a, const void* b) {
  if (s->size == 0) return NULL;
  uint32_t i = s->buckets[bucket_of(a, b, s->capacity)];
  for (; i != NONE; i = s->entries[i].next)
    if (s->entries[i].a == a && s->entries[i].b == b) return &s->entries[i];
  return NULL;
}

/* Later entries precede earlier ones in a bucket, so the last entry is always the first of its bucket. */
static void link_entry(tvmgo_visited* s, uint32_t i) {
  tvmgo_visited_entry* e = &s->entries[i];
  uint32_t* bucket = &s->buckets[bucket_of(e->a, e->b, s->capacity)];
  e->next = *bucket;
  *bucket = i;
}

static int grow(tvmgo_visited* s) {
  if (s->capacity > UINT32_MAX / 4) return tvmgo_raise_oom();
  uint32_t capacity = s->capacity == 0 ? FIRST_CAPACITY : 2 * s->capacity;
  tvmgo_visited_entry* entries = realloc(s->entries, capacity * sizeof *entries);
  if (entries == NULL) return tvmgo_raise_oom();
  s->entries = entries;
  uint32_t* buckets = realloc(s->buckets, capacity * sizeof *buckets);
  if (buckets == NULL) return tvmgo_raise_oom();
  s->buckets = buckets;
  s->capacity = capacity;
  for (uint32_t i = 0; i < capacity; i++) buckets[i] = NONE;
  for (uint32_t i = 0; i < s->size; i++) link_entry(s, i);
  return 0;
}

tvmgo_visited_entry* tvmgo_visited_add(tvmgo_visited* s, TVMFFIObject* a, TVMFFIObject* b) {
  if (s->size == s->capacity && grow(s) != 0) return NULL;
  tvmgo_visited_entry* e = &s->entries[s->size];
  *e = (tvmgo_visited_entry){.a = a, .b = b};
  tvmgo_object_retain(a);
  if (b != NULL) tvmgo_object_retain(b);
  link_entry(s, s->size);
  s->size++;
  return e;
}

void tvmgo_visited_forget(tvmgo_visited* s, uint32_t n) {
  while (s->size > n) {
    tvmgo_visited_entry e = s->entries[--s->size];
    s->buckets[bucket_of(e.a, e.b, s->capacity)] = e.next;
    tvmgo_object_release(e.a);
    tvmgo_object_release(e.b);
    tvmgo_any_clear(&e.value);
  }
}

void tvmgo_visited_free(tvmgo_visited* s) {
  tvmgo_visited_forget(s, 0);
  free(s->entries);
  free(s->buckets);
  *s = (tvmgo_visited){0};
}
