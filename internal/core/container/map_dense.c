/* The dense form of maps (docs/abi.md B.10): a table of slots in which the keys of one home slot form a
 * chain. A meta byte per slot says whether the slot is free, the head of a chain or a later part of
 * one, and which entry of a table of distances leads to the next part. Slots also form a list in
 * order of insertion.
 *
 * Every operation either succeeds or leaves the table unchanged. */
#include "container/map_internal.h"

#include <stdlib.h>
#include <string.h>

#define NUM_JUMPS 126
#define MAX_SLOTS (UINT64_C(1) << 57)

/* Distances: 0 to 15, then triangular numbers from 6 to 72, then ever larger ones. */
#define TRIANGLE(n) ((n) * ((n) + 1) / 2)
#define TRIANGLES4(n) TRIANGLE(n), TRIANGLE((n) + 1), TRIANGLE((n) + 2), TRIANGLE((n) + 3)
#define TRIANGLES16(n) TRIANGLES4(n), TRIANGLES4((n) + 4), TRIANGLES4((n) + 8), TRIANGLES4((n) + 12)
static const uint64_t jumps[NUM_JUMPS] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
    TRIANGLES16(6), TRIANGLES16(22), TRIANGLES16(38), TRIANGLES16(54),
    TRIANGLE(70), TRIANGLE(71), TRIANGLE(72),
    8515, 19110, 42778, 96141, 216153, 486591, 1092981, 2458653, 5532801, 12442566, 27993903,
    62983476, 141717030, 318844378, 717352503, 1614057336, 3631522476, 8170957530, 18384510628,
    41364789378, 93070452520, 209408356380, 471168559170, 1060128894105, 2385289465695,
    5366898840628, 12075518705635, 27169915244790, 61132312065111, 137547689707000,
    309482283181501, 696335127828753, 1566753995631385, 3525196511162271, 7931691992677701,
    17846306936293605, 40154190677507445, 90346928918121501, 203280589587557251,
    457381325854679626, 1029107982097042876, 2315492959180353330, 5209859154120846435};

static void free_blocks(void* data) { free(data); }

int tvmgo_dense_init(tvmgo_map* m, uint64_t slots) {
  if (slots > MAX_SLOTS) return tvmgo_raise_oom();
  size_t blocks = (slots + TVMGO_MAP_BLOCK - 1) / TVMGO_MAP_BLOCK;
  if (blocks > PTRDIFF_MAX / sizeof(tvmgo_map_block)) return tvmgo_raise_oom();
  tvmgo_map_block* data = malloc(blocks * sizeof *data);
  if (data == NULL) return tvmgo_raise_oom();
  for (size_t i = 0; i < blocks; i++) memset(data[i].meta, TVMGO_MAP_EMPTY, sizeof data[i].meta);
  m->data = data;
  m->data_deleter = free_blocks;
  m->size = 0;
  m->slots = slots;
  m->fib_shift = 64 - (uint32_t)__builtin_ctzll(slots);
  m->head = m->tail = TVMGO_MAP_NONE;
  return 0;
}

static uint64_t home_slot(const tvmgo_map* m, uint64_t hash) {
  return (hash * UINT64_C(11400714819323198485)) >> m->fib_shift;
}

/* The next slot of the chain; NONE after the last. */
static uint64_t next_in_chain(const tvmgo_map* m, uint64_t slot) {
  unsigned jump = *tvmgo_map_meta(m, slot) & TVMGO_MAP_JUMP;
  return jump == 0 || jump >= NUM_JUMPS ? TVMGO_MAP_NONE : (slot + jumps[jump]) & (m->slots - 1);
}

static void set_jump(tvmgo_map* m, uint64_t slot, unsigned jump) {
  uint8_t* meta = tvmgo_map_meta(m, slot);
  *meta = (uint8_t)((*meta & TVMGO_MAP_BODY) | jump);
}

/* The shortest jump from a slot to a free one, which goes to *to; 0 when there is none. */
static unsigned free_jump(const tvmgo_map* m, uint64_t from, uint64_t* to) {
  for (unsigned jump = 1; jump < NUM_JUMPS; jump++) {
    *to = (from + jumps[jump]) & (m->slots - 1);
    if (*tvmgo_map_meta(m, *to) == TVMGO_MAP_EMPTY) return jump;
  }
  return 0;
}

/* ---- Order --------------------------------------------------------------------------------- */

static void list_append(tvmgo_map* m, uint64_t slot) {
  tvmgo_map_item* item = tvmgo_map_item_at(m, slot);
  item->prev = m->tail;
  item->next = TVMGO_MAP_NONE;
  if (m->tail == TVMGO_MAP_NONE)
    m->head = slot;
  else
    tvmgo_map_item_at(m, m->tail)->next = slot;
  m->tail = slot;
}

static void list_remove(tvmgo_map* m, uint64_t slot) {
  const tvmgo_map_item* item = tvmgo_map_item_at(m, slot);
  if (item->prev == TVMGO_MAP_NONE)
    m->head = item->next;
  else
    tvmgo_map_item_at(m, item->prev)->next = item->next;
  if (item->next == TVMGO_MAP_NONE)
    m->tail = item->prev;
  else
    tvmgo_map_item_at(m, item->next)->prev = item->prev;
}

void tvmgo_dense_touch(tvmgo_map* m, uint64_t slot) {
  if (m->tail == slot) return;
  list_remove(m, slot);
  list_append(m, slot);
}

/* Moves an item to another slot; its position in the order does not change. */
static void move_item(tvmgo_map* m, uint64_t from, uint64_t to) {
  tvmgo_map_item* item = tvmgo_map_item_at(m, to);
  *item = *tvmgo_map_item_at(m, from);
  if (item->prev == TVMGO_MAP_NONE)
    m->head = to;
  else
    tvmgo_map_item_at(m, item->prev)->next = to;
  if (item->next == TVMGO_MAP_NONE)
    m->tail = to;
  else
    tvmgo_map_item_at(m, item->next)->prev = to;
}

/* ---- Chains -------------------------------------------------------------------------------- */

int tvmgo_dense_find(const tvmgo_map* m, const tvmgo_map_key* key, uint64_t hash, uint64_t* slot,
                     uint64_t* before) {
  if (m->size == 0) return 0;
  uint64_t at = home_slot(m, hash);
  __builtin_prefetch(tvmgo_map_item_at(m, at)); /* its load overlaps with that of the meta byte */
  *before = TVMGO_MAP_NONE;
  if ((*tvmgo_map_meta(m, at) & TVMGO_MAP_BODY) != 0) return 0;
  while (at != TVMGO_MAP_NONE) {
    int equal = tvmgo_map_key_equal(key, &tvmgo_map_item_at(m, at)->entry.key);
    if (equal != 0) {
      *slot = at;
      return equal;
    }
    *before = at;
    at = next_in_chain(m, at);
  }
  return 0;
}

static int is_full(const tvmgo_map* m) {
  return (double)(m->size + 1) > 0.99 * (double)m->slots;
}

/* Frees a slot that holds a later part of another chain: that part and all after it move to free
 * slots. The new parts are linked up first, which needs no memory but the table's own free slots,
 * and can be undone. 1; 0 when there are not enough reachable free slots; -1 with an error. */
static int evict(tvmgo_map* m, uint64_t slot) {
  uint64_t hash;
  if (tvmgo_any_try_hash(&tvmgo_map_item_at(m, slot)->entry.key, &hash) != 0) return -1;
  uint64_t before = home_slot(m, hash), next = before;
  while (next != slot) {
    before = next;
    next = next_in_chain(m, before);
    if (next == TVMGO_MAP_NONE)
      return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                         "set map item: the hash of a key changed while it was in the map");
  }
  uint64_t first = TVMGO_MAP_NONE, last = before, to;
  unsigned first_jump = 0;
  for (uint64_t part = slot; part != TVMGO_MAP_NONE; part = next_in_chain(m, part)) {
    unsigned jump = free_jump(m, last, &to);
    if (jump == 0) {
      for (uint64_t undo = first; undo != TVMGO_MAP_NONE; undo = next) {
        next = next_in_chain(m, undo);
        *tvmgo_map_meta(m, undo) = TVMGO_MAP_EMPTY;
      }
      return 0;
    }
    *tvmgo_map_meta(m, to) = TVMGO_MAP_BODY;
    if (first == TVMGO_MAP_NONE) {
      first = to;
      first_jump = jump;
    } else {
      set_jump(m, last, jump);
    }
    last = to;
  }
  set_jump(m, before, first_jump);
  to = first;
  for (uint64_t part = slot; part != TVMGO_MAP_NONE; part = next) {
    next = next_in_chain(m, part);
    move_item(m, part, to);
    *tvmgo_map_meta(m, part) = TVMGO_MAP_EMPTY;
    to = next_in_chain(m, to);
  }
  return 1;
}

int tvmgo_dense_add(tvmgo_map* m, const tvmgo_map_entry* entry, uint64_t hash) {
  if (m->slots == 0) return 0;
  uint64_t at = home_slot(m, hash);
  uint8_t meta = *tvmgo_map_meta(m, at);
  if (meta == TVMGO_MAP_EMPTY) {
    *tvmgo_map_meta(m, at) = 0;
  } else if (is_full(m)) {
    return 0;
  } else if ((meta & TVMGO_MAP_BODY) != 0) {
    int evicted = evict(m, at);
    if (evicted != 1) return evicted;
    *tvmgo_map_meta(m, at) = 0;
  } else {
    uint64_t last = at, next;
    while ((next = next_in_chain(m, last)) != TVMGO_MAP_NONE) last = next;
    unsigned jump = free_jump(m, last, &at);
    if (jump == 0) return 0;
    set_jump(m, last, jump);
    *tvmgo_map_meta(m, at) = TVMGO_MAP_BODY;
  }
  tvmgo_map_item_at(m, at)->entry = *entry;
  list_append(m, at);
  m->size++;
  return 1;
}

void tvmgo_dense_take(tvmgo_map* m, uint64_t slot, uint64_t before) {
  list_remove(m, slot);
  uint64_t last = slot, next;
  while ((next = next_in_chain(m, last)) != TVMGO_MAP_NONE) {
    before = last;
    last = next;
  }
  if (last != slot) move_item(m, last, slot);
  if (before != TVMGO_MAP_NONE) set_jump(m, before, 0);
  *tvmgo_map_meta(m, last) = TVMGO_MAP_EMPTY;
  m->size--;
}

/* ---- Growth -------------------------------------------------------------------------------- */

/* 1 when all entries fit; 0 when a chain found no free slot; -1 with an error. */
static int fill(const tvmgo_map* m, tvmgo_map* table) {
  const TVMFFIObject* from = &m->header;
  const tvmgo_map_entry* entry;
  for (uint64_t at = tvmgo_map_first(from); (entry = tvmgo_map_entry_at(from, at)) != NULL;
       at = tvmgo_map_after_entry(from, at, entry)) {
    uint64_t hash;
    if (tvmgo_any_try_hash(&entry->key, &hash) != 0) return -1;
    int added = tvmgo_dense_add(table, entry, hash);
    if (added != 1) return added;
  }
  return 1;
}

int tvmgo_dense_rebuild(const tvmgo_map* m, uint64_t slots, tvmgo_map* table) {
  for (;; slots *= 2) {
    if (tvmgo_dense_init(table, slots) != 0) return -1;
    int filled = fill(m, table);
    if (filled == 1) return 0;
    free_blocks(table->data);
    if (filled < 0) return -1;
  }
}
