//go:build cuda

/* The table of all allocations of this package, by address. */
#include "driver.h"

#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cu_block* table; /* a hash table with open addressing; cap is a power of two, at most half of it is used */
static size_t cap, used, reserved; /* reserved: number of removed entries that may be restored */

static size_t first_slot(uintptr_t at) { return (size_t)((at >> 6) * 0x9E3779B97F4A7C15u >> 20) & (cap - 1); }

/* The index of an address, or of the empty entry where it would be inserted. */
static size_t slot_of(uintptr_t at) {
  size_t i = first_slot(at);
  while (table[i].at != 0 && table[i].at != at) i = (i + 1) & (cap - 1);
  return i;
}

static int grow(void) {
  cu_block* old = table;
  size_t n = cap, twice = cap == 0 ? 256 : cap * 2;
  cu_block* bigger = calloc(twice, sizeof *bigger);
  if (bigger == NULL) return -1;
  table = bigger;
  cap = twice;
  for (size_t i = 0; i < n; i++)
    if (old[i].at != 0) table[slot_of(old[i].at)] = old[i];
  free(old);
  return 0;
}

int tvmgo_cu_allocation_add(cu_block b) {
  pthread_mutex_lock(&lock);
  int rc = (used + reserved) * 2 < cap ? 0 : grow();
  if (rc == 0) {
    size_t i = slot_of(b.at);
    used += table[i].at == 0;
    table[i] = b;
  }
  pthread_mutex_unlock(&lock);
  return rc == 0 ? 0 : tvmgo_raise_oom();
}

/* Removes an entry and moves later ones into the gap, so that lookups still find them. */
static void erase(size_t i) {
  for (size_t j = i;;) {
    table[i].at = 0;
    size_t h;
    do {
      j = (j + 1) & (cap - 1);
      if (table[j].at == 0) return;
      h = first_slot(table[j].at);
    } while (i <= j ? i < h && h <= j : i < h || h <= j);
    table[i] = table[j];
    i = j;
  }
}

static int lookup(uintptr_t at, cu_block* out, int take) {
  int found = 0;
  pthread_mutex_lock(&lock);
  if (cap != 0 && at != 0) {
    size_t i = slot_of(at);
    found = table[i].at == at;
    if (found) *out = table[i];
    if (found && take) {
      erase(i);
      used--;
      reserved++;
    }
  }
  pthread_mutex_unlock(&lock);
  return found;
}

void tvmgo_cu_allocation_restore(const cu_block* b) {
  pthread_mutex_lock(&lock);
  reserved--;
  used++;
  table[slot_of(b->at)] = *b; /* the address is not in the table, because the memory was not freed */
  pthread_mutex_unlock(&lock);
}

void tvmgo_cu_allocations_lost(int32_t device) {
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < cap; i++)
    if (table[i].at != 0 && table[i].device == device) table[i].lost = 1;
  pthread_mutex_unlock(&lock);
}

void tvmgo_cu_allocation_removed(void) {
  pthread_mutex_lock(&lock);
  reserved--;
  pthread_mutex_unlock(&lock);
}

int tvmgo_cu_allocation_remove(uintptr_t at, cu_block* out) { return lookup(at, out, 1); }
int tvmgo_cu_allocation_find(uintptr_t at, cu_block* out) { return lookup(at, out, 0); }
