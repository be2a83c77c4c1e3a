//go:build cuda

/* The books on memory: what was allocated here, by its address. */
#include "driver.h"

#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cu_block* table; /* open addressing; cap is a power of two, at most half is taken */
static size_t cap, used, held; /* held: room of entries that were taken and may come back */

static size_t home(uintptr_t at) { return (size_t)((at >> 6) * 0x9E3779B97F4A7C15u >> 20) & (cap - 1); }

/* Where an address is, or would be. */
static size_t place(uintptr_t at) {
  size_t i = home(at);
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
    if (old[i].at != 0) table[place(old[i].at)] = old[i];
  free(old);
  return 0;
}

int tvmgo_cu_book_add(cu_block b) {
  pthread_mutex_lock(&lock);
  int rc = (used + held) * 2 < cap ? 0 : grow();
  if (rc == 0) {
    size_t i = place(b.at);
    used += table[i].at == 0;
    table[i] = b;
  }
  pthread_mutex_unlock(&lock);
  return rc == 0 ? 0 : tvmgo_raise_oom();
}

/* Takes an entry out and closes the gap, so that what went past it is found still. */
static void erase(size_t i) {
  for (size_t j = i;;) {
    table[i].at = 0;
    size_t h;
    do {
      j = (j + 1) & (cap - 1);
      if (table[j].at == 0) return;
      h = home(table[j].at);
    } while (i <= j ? i < h && h <= j : i < h || h <= j);
    table[i] = table[j];
    i = j;
  }
}

static int look(uintptr_t at, cu_block* out, int take) {
  int found = 0;
  pthread_mutex_lock(&lock);
  if (cap != 0 && at != 0) {
    size_t i = place(at);
    found = table[i].at == at;
    if (found) *out = table[i];
    if (found && take) {
      erase(i);
      used--;
      held++;
    }
  }
  pthread_mutex_unlock(&lock);
  return found;
}

void tvmgo_cu_book_put_back(const cu_block* b) {
  pthread_mutex_lock(&lock);
  held--;
  used++;
  table[place(b->at)] = *b; /* nobody has the address meanwhile: it was not freed */
  pthread_mutex_unlock(&lock);
}

void tvmgo_cu_book_lose(int32_t device) {
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < cap; i++)
    if (table[i].at != 0 && table[i].device == device) table[i].lost = 1;
  pthread_mutex_unlock(&lock);
}

void tvmgo_cu_book_done(void) {
  pthread_mutex_lock(&lock);
  held--;
  pthread_mutex_unlock(&lock);
}

int tvmgo_cu_book_take(uintptr_t at, cu_block* out) { return look(at, out, 1); }
int tvmgo_cu_book_find(uintptr_t at, cu_block* out) { return look(at, out, 0); }
