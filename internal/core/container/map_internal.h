/* Declarations that the files of maps share: the layout of docs/abi.md B.10, and hashing that can fail. */
#pragma once

#include "container/container.h"
#include "container/map_key.h"

typedef struct {
  TVMFFIAny key, value; /* owned */
} tvmgo_map_entry;

/* One slot of the dense form. prev and next are slot numbers in insertion order. */
typedef struct {
  tvmgo_map_entry entry;
  uint64_t prev, next;
} tvmgo_map_item;

#define TVMGO_MAP_BLOCK 16
typedef struct {
  uint8_t meta[TVMGO_MAP_BLOCK];
  tvmgo_map_item items[TVMGO_MAP_BLOCK];
} tvmgo_map_block;

#define TVMGO_MAP_NONE UINT64_MAX            /* no slot */
#define TVMGO_MAP_SMALL (UINT64_C(1) << 63)  /* in slots: the small form */
#define TVMGO_MAP_EMPTY 0xFF                 /* meta byte of a free slot */
#define TVMGO_MAP_RESERVED 0xFE
#define TVMGO_MAP_BODY 0x80                  /* meta bit: not the head of its chain */
#define TVMGO_MAP_JUMP 0x7F                  /* meta bits: jump to the next of the chain */

/* The object of a Map or a Dict. In the small form the entries begin where the dense form has fib_shift. */
typedef struct {
  TVMFFIObject header;
  void* data;
  uint64_t size;
  uint64_t slots;
  void (*data_deleter)(void* data);
  union {
    struct {
      uint32_t fib_shift;
      uint64_t head, tail;
    };
    tvmgo_map_entry inline_entries[2];
  };
} tvmgo_map;

_Static_assert(sizeof(tvmgo_map_block) == 784, "dense block");
_Static_assert(offsetof(tvmgo_map, inline_entries) == 56, "small entries");
_Static_assert(offsetof(tvmgo_map, head) == 64, "dense fields");

static inline int tvmgo_map_is_small(const tvmgo_map* m) { return (m->slots >> 63) != 0; }
static inline uint64_t tvmgo_map_capacity(const tvmgo_map* m) {
  return m->slots & ~TVMGO_MAP_SMALL;
}
static inline uint8_t* tvmgo_map_meta(const tvmgo_map* m, uint64_t slot) {
  return &((tvmgo_map_block*)m->data)[slot / TVMGO_MAP_BLOCK].meta[slot % TVMGO_MAP_BLOCK];
}
static inline tvmgo_map_item* tvmgo_map_item_at(const tvmgo_map* m, uint64_t slot) {
  return &((tvmgo_map_block*)m->data)[slot / TVMGO_MAP_BLOCK].items[slot % TVMGO_MAP_BLOCK];
}
static inline int tvmgo_map_live(const tvmgo_map* m, uint64_t slot) {
  return *tvmgo_map_meta(m, slot) < TVMGO_MAP_RESERVED;
}

/* -1 with an error raised when a hash or equality registered for the type fails. */
int tvmgo_any_try_hash(const TVMFFIAny* v, uint64_t* out);
int tvmgo_any_try_equal(const TVMFFIAny* a, const TVMFFIAny* b); /* 1, 0 or -1 */
/* Attributes __any_hash__ and __any_equal__ of ffi.BigInt, as C++ code calls them. */
TVMFFIAny tvmgo_big_int_hash(const TVMFFIAny* v);
TVMFFIAny tvmgo_big_int_equal(const TVMFFIAny* a, const TVMFFIAny* b);

/* map_dense.c: the dense form. Entries are moved as bits; nothing is retained or released here. */

/* Gives *m an empty table of slots (a power of two >= 2) and its deleter. */
int tvmgo_dense_init(tvmgo_map* m, uint64_t slots);
/* Makes a table with the entries of m in their order, in *table (storage fields only), and does not change m. slots is
 * a lower bound. */
int tvmgo_dense_rebuild(const tvmgo_map* m, uint64_t slots, tvmgo_map* table);
/* 1 with the slot, and the one before it in its chain; 0 when absent; -1 with an error. */
int tvmgo_dense_find(const tvmgo_map* m, const tvmgo_map_key* key, uint64_t hash, uint64_t* slot,
                     uint64_t* before);
/* Adds an entry whose key is absent: 1; 0 when the table must grow first; -1 with an error. */
int tvmgo_dense_add(tvmgo_map* m, const tvmgo_map_entry* entry, uint64_t hash);
/* Removes the entry of a slot found by tvmgo_dense_find. */
void tvmgo_dense_take(tvmgo_map* m, uint64_t slot, uint64_t before);
/* Makes a slot the last one in insertion order. */
void tvmgo_dense_touch(tvmgo_map* m, uint64_t slot);

/* map.c: functions that container.h does not declare. */

/* 1 with the stored value (borrowed), 0 when absent, -1 with an error raised. */
int tvmgo_map_find(TVMFFIObject* map, const TVMFFIAny* key, const TVMFFIAny** value);
/* Removes a key: 1, 0 when it was absent, -1 with an error. *map is as in tvmgo_map_set. */
int tvmgo_map_erase(TVMFFIObject** map, const TVMFFIAny* key);
/* Empties a Dict in place. */
int tvmgo_map_clear(TVMFFIObject* map);

/* Positions in insertion order; 0 is the end. The entry is NULL if the position is no longer valid. */
static inline uint64_t tvmgo_map_first(const TVMFFIObject* map) {
  const tvmgo_map* m = (const tvmgo_map*)map;
  if (m->size == 0) return 0;
  return tvmgo_map_is_small(m) ? 1 : m->head + 1;
}

static inline tvmgo_map_entry* tvmgo_map_entry_at(const TVMFFIObject* map, uint64_t place) {
  const tvmgo_map* m = (const tvmgo_map*)map;
  if (place == 0) return NULL;
  if (tvmgo_map_is_small(m))
    return place <= m->size ? (tvmgo_map_entry*)m->data + (place - 1) : NULL;
  return place <= m->slots && tvmgo_map_live(m, place - 1) ? &tvmgo_map_item_at(m, place - 1)->entry
                                                           : NULL;
}

/* The position after that of an entry. */
static inline uint64_t tvmgo_map_after_entry(const TVMFFIObject* map, uint64_t place,
                                             const tvmgo_map_entry* entry) {
  const tvmgo_map* m = (const tvmgo_map*)map;
  if (tvmgo_map_is_small(m)) return place < m->size ? place + 1 : 0;
  return ((const tvmgo_map_item*)entry)->next + 1; /* an entry is the first part of its item */
}

/* Also the end if the position is no longer valid. */
static inline uint64_t tvmgo_map_after(const TVMFFIObject* map, uint64_t place) {
  const tvmgo_map_entry* entry = tvmgo_map_entry_at(map, place);
  return entry == NULL ? 0 : tvmgo_map_after_entry(map, place, entry);
}
