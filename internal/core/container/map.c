/* Maps and dicts: the same insertion-ordered hash map (docs/abi.md B.10). A shared Map is copied before it is changed;
 * a Dict is changed in place for all owners. Up to four entries are stored in a plain array, more in the dense form.
 * Growth keeps the object and changes its table.
 *
 * Values are released last, when the map is consistent again: a release may run foreign code. */
#include "container/map_internal.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_FIRST 2
#define SMALL_MAX 4
#define DENSE_FIRST 8

static tvmgo_map_entry* row(const tvmgo_map* m) { return m->data; }

static void release_entry(tvmgo_map_entry* e) {
  tvmgo_any_clear(&e->key);
  tvmgo_any_clear(&e->value);
}

static void retain_entry(const tvmgo_map_entry* e) {
  if (tvmgo_any_is_object(&e->key)) tvmgo_object_retain(e->key.v_obj);
  if (tvmgo_any_is_object(&e->value)) tvmgo_object_retain(e->value.v_obj);
}

/* Releases the entries in either form, then the table. */
static void release_storage(tvmgo_map* m) {
  if (tvmgo_map_is_small(m)) {
    for (uint64_t i = 0; i < m->size; i++) release_entry(&row(m)[i]);
  } else if (m->data != NULL) {
    for (uint64_t slot = 0; slot < m->slots; slot++)
      if (tvmgo_map_live(m, slot)) release_entry(&tvmgo_map_item_at(m, slot)->entry);
  }
  if (m->data_deleter != NULL && m->data != NULL) m->data_deleter(m->data);
}

static void map_delete(void* self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) release_storage(self);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

/* An empty small map; capacity is at least SMALL_FIRST, which leaves space for the fields of the dense form. */
static tvmgo_map* small_new(int32_t type_index, uint64_t capacity) {
  tvmgo_map* m = tvmgo_object_new_uninit(
      offsetof(tvmgo_map, inline_entries) + capacity * sizeof(tvmgo_map_entry), type_index,
      map_delete);
  if (m == NULL) return NULL;
  m->data = m->inline_entries;
  m->size = 0;
  m->slots = TVMGO_MAP_SMALL | capacity;
  m->data_deleter = NULL;
  return m;
}

TVMFFIObject* tvmgo_map_new(int32_t type_index) {
  tvmgo_map* m = small_new(type_index, SMALL_FIRST);
  return m == NULL ? NULL : &m->header;
}

/* A copy with the same entries in the same slots. */
static tvmgo_map* copy(const tvmgo_map* m) {
  uint64_t capacity = tvmgo_map_capacity(m);
  if (!tvmgo_map_is_small(m) || capacity < SMALL_FIRST) capacity = SMALL_FIRST;
  tvmgo_map* c = small_new(m->header.type_index, capacity);
  if (c == NULL || m->size == 0) return c;
  if (tvmgo_map_is_small(m)) {
    memcpy(c->data, m->data, m->size * sizeof(tvmgo_map_entry));
    for (uint64_t i = 0; i < m->size; i++) retain_entry(&row(m)[i]);
    c->size = m->size;
    return c;
  }
  if (tvmgo_dense_init(c, m->slots) != 0) {
    tvmgo_object_release(c);
    return NULL;
  }
  size_t blocks = (m->slots + TVMGO_MAP_BLOCK - 1) / TVMGO_MAP_BLOCK;
  for (size_t b = 0; b < blocks; b++) {
    const tvmgo_map_block* from = (const tvmgo_map_block*)m->data + b;
    tvmgo_map_block* to = (tvmgo_map_block*)c->data + b;
    memcpy(to->meta, from->meta, sizeof to->meta);
    for (int i = 0; i < TVMGO_MAP_BLOCK; i++) {
      if (from->meta[i] >= TVMGO_MAP_RESERVED) continue;
      to->items[i] = from->items[i];
      retain_entry(&to->items[i].entry);
    }
  }
  c->size = m->size;
  c->head = m->head;
  c->tail = m->tail;
  return c;
}

/* Returns the map to change: the given one, or a copy that replaces it if a Map is shared. */
static tvmgo_map* writable(TVMFFIObject** map) {
  tvmgo_map* m = (tvmgo_map*)*map;
  uint64_t refs = __atomic_load_n(&m->header.combined_ref_count, __ATOMIC_ACQUIRE);
  if (m->header.type_index == kTVMFFIDict || (uint32_t)refs == 1) return m;
  tvmgo_map* c = copy(m);
  if (c == NULL) return NULL;
  *map = &c->header;
  tvmgo_object_release(m);
  return c;
}

/* ---- Growth, in place ---------------------------------------------------------------------- */

static void free_row(void* data) { free(data); }

static int grow_row(tvmgo_map* m) {
  tvmgo_map_entry* entries = malloc(SMALL_MAX * sizeof *entries);
  if (entries == NULL) return tvmgo_raise_oom();
  if (m->size > 0) memcpy(entries, m->data, m->size * sizeof *entries);
  if (m->data_deleter != NULL && m->data != NULL) m->data_deleter(m->data);
  m->data = entries;
  m->data_deleter = free_row;
  m->slots = TVMGO_MAP_SMALL | SMALL_MAX;
  return 0;
}

static int make_dense(tvmgo_map* m) {
  uint64_t slots = DENSE_FIRST;
  if (!tvmgo_map_is_small(m) && m->slots >= DENSE_FIRST) slots = m->slots * 2;
  tvmgo_map table = {0};
  if (tvmgo_dense_rebuild(m, slots, &table) != 0) return -1;
  if (m->data_deleter != NULL && m->data != NULL) m->data_deleter(m->data);
  m->data = table.data;
  m->data_deleter = table.data_deleter;
  m->size = table.size;
  m->slots = table.slots;
  m->fib_shift = table.fib_shift;
  m->head = table.head;
  m->tail = table.tail;
  return 0;
}

/* ---- Setting ------------------------------------------------------------------------------- */

/* Index of a key in the array of the small form; -1 if absent, -2 with an error. */
static int64_t row_find(const tvmgo_map* m, const tvmgo_map_key* key) {
  for (uint64_t i = 0; i < m->size; i++) {
    int equal = tvmgo_map_key_equal(key, &row(m)[i].key);
    if (equal != 0) return equal > 0 ? (int64_t)i : -2;
  }
  return -1;
}

/* Replaces the old value; *entry then holds the one to release. */
static void swap_value(tvmgo_map_entry* stored, tvmgo_map_entry* entry) {
  TVMFFIAny old = stored->value;
  stored->value = entry->value;
  entry->value = old;
}

/* 1 if the array has taken the entry over, or *entry now holds what is to be released; 0 if the map must become dense;
 * -1 with an error. */
static int row_set(tvmgo_map* m, tvmgo_map_entry* entry) {
  if (m->size >= SMALL_MAX) return 0; /* even when the key is there: as C++ code does */
  tvmgo_map_key key;
  tvmgo_map_key_init(&key, &entry->key);
  int64_t i = row_find(m, &key);
  if (i == -2) return -1;
  if (i >= 0) {
    swap_value(&row(m)[i], entry);
    return 1;
  }
  if (m->size == tvmgo_map_capacity(m) && grow_row(m) != 0) return -1;
  row(m)[m->size++] = *entry;
  *entry = (tvmgo_map_entry){0};
  return 1;
}

static int dense_set(tvmgo_map* m, tvmgo_map_entry* entry) {
  uint64_t hash, slot, before;
  tvmgo_map_key key;
  tvmgo_map_key_init(&key, &entry->key);
  if (tvmgo_map_key_hash(&key, &hash) != 0) return -1;
  int found = tvmgo_dense_find(m, &key, hash, &slot, &before);
  if (found < 0) return -1;
  if (found) {
    swap_value(&tvmgo_map_item_at(m, slot)->entry, entry);
    tvmgo_dense_touch(m, slot);
    return 0;
  }
  for (;;) {
    int added = tvmgo_dense_add(m, entry, hash);
    if (added < 0) return -1;
    if (added) break;
    if (make_dense(m) != 0) return -1;
  }
  *entry = (tvmgo_map_entry){0};
  return 0;
}

int tvmgo_map_set(TVMFFIObject** map, const TVMFFIAny* key, const TVMFFIAny* value) {
  tvmgo_map_entry entry = {0};
  if (TVMFFIAnyViewToOwnedAny(key, &entry.key) != 0) return -1;
  int rc = TVMFFIAnyViewToOwnedAny(value, &entry.value);
  tvmgo_map* m = rc == 0 ? writable(map) : NULL;
  if (m == NULL) {
    rc = -1;
  } else {
    int done = tvmgo_map_is_small(m) ? row_set(m, &entry) : 0;
    if (done == 0) {
      rc = tvmgo_map_is_small(m) ? make_dense(m) : 0;
      if (rc == 0) rc = dense_set(m, &entry);
    } else if (done < 0) {
      rc = -1;
    }
  }
  release_entry(&entry);
  return rc;
}

/* ---- Looking up ---------------------------------------------------------------------------- */

/* A key given as an rvalue reference is looked up as the object behind it. */
static const TVMFFIAny* key_view(const TVMFFIAny* key, TVMFFIAny* behind) {
  if (TVMGO_LIKELY(key->type_index != kTVMFFIObjectRValueRef)) return key;
  *behind = tvmgo_any_object(key->v_ptr == NULL ? NULL : *(TVMFFIObject**)key->v_ptr);
  return behind;
}

int tvmgo_map_find(TVMFFIObject* map, const TVMFFIAny* key, const TVMFFIAny** value) {
  const tvmgo_map* m = (const tvmgo_map*)map;
  TVMFFIAny behind;
  tvmgo_map_key k;
  tvmgo_map_key_init(&k, key_view(key, &behind));
  if (tvmgo_map_is_small(m)) {
    int64_t i = row_find(m, &k);
    if (i >= 0) *value = &row(m)[i].value;
    return i >= 0 ? 1 : i == -1 ? 0 : -1;
  }
  uint64_t hash, slot, before;
  if (m->size == 0) return 0;
  if (tvmgo_map_key_hash(&k, &hash) != 0) return -1;
  int found = tvmgo_dense_find(m, &k, hash, &slot, &before);
  if (found == 1) *value = &tvmgo_map_item_at(m, slot)->entry.value;
  return found;
}

const TVMFFIAny* tvmgo_map_get(TVMFFIObject* map, const TVMFFIAny* key) {
  const TVMFFIAny* value = NULL;
  int found = tvmgo_map_find(map, key, &value);
  if (found < 0) tvmgo_object_release(tvmgo_error_take());
  return found == 1 ? value : NULL;
}

int64_t tvmgo_map_size(TVMFFIObject* map) { return (int64_t)((const tvmgo_map*)map)->size; }

/* ---- Removing ------------------------------------------------------------------------------ */

/* Removes the entry of a key: 1, 0 when absent, -1 with an error. */
static int take(tvmgo_map* m, const TVMFFIAny* any, tvmgo_map_entry* taken) {
  tvmgo_map_key key;
  tvmgo_map_key_init(&key, any);
  if (tvmgo_map_is_small(m)) {
    int64_t i = row_find(m, &key);
    if (i < 0) return i == -1 ? 0 : -1;
    *taken = row(m)[i];
    m->size--;
    memmove(&row(m)[i], &row(m)[i + 1], (m->size - (uint64_t)i) * sizeof *taken);
    return 1;
  }
  uint64_t hash, slot, before;
  if (m->size == 0) return 0;
  if (tvmgo_map_key_hash(&key, &hash) != 0) return -1;
  int found = tvmgo_dense_find(m, &key, hash, &slot, &before);
  if (found != 1) return found;
  *taken = tvmgo_map_item_at(m, slot)->entry;
  tvmgo_dense_take(m, slot, before);
  return 1;
}

int tvmgo_map_erase(TVMFFIObject** map, const TVMFFIAny* key) {
  const TVMFFIAny* value;
  TVMFFIAny behind, k = *key_view(key, &behind);
  int found = tvmgo_map_find(*map, &k, &value); /* avoids a useless copy of a shared map */
  if (found != 1) return found;
  if (tvmgo_any_is_object(&k)) tvmgo_object_retain(k.v_obj); /* the map may own the only one */
  tvmgo_map_entry taken = {0};
  tvmgo_map* m = writable(map);
  int rc = m == NULL ? -1 : take(m, &k, &taken);
  release_entry(&taken);
  if (tvmgo_any_is_object(&k)) tvmgo_object_release(k.v_obj);
  return rc;
}

int tvmgo_map_clear(TVMFFIObject* map) {
  tvmgo_map* m = (tvmgo_map*)map;
  if (tvmgo_map_is_small(m)) {
    while (m->size > 0) {
      tvmgo_map_entry taken = row(m)[--m->size];
      release_entry(&taken);
    }
    return 0;
  }
  tvmgo_map empty = {0};
  if (tvmgo_dense_init(&empty, DENSE_FIRST) != 0) return -1;
  tvmgo_map old = *m;
  m->data = empty.data;
  m->data_deleter = empty.data_deleter;
  m->size = 0;
  m->slots = empty.slots;
  m->fib_shift = empty.fib_shift;
  m->head = m->tail = TVMGO_MAP_NONE;
  release_storage(&old);
  return 0;
}

/* ---- Iterating ----------------------------------------------------------------------------- */

int tvmgo_map_next(TVMFFIObject* map, void** cursor, const TVMFFIAny** key,
                   const TVMFFIAny** value) {
  uint64_t place = *cursor == NULL ? tvmgo_map_first(map)
                                   : tvmgo_map_after(map, (uint64_t)(uintptr_t)*cursor);
  const tvmgo_map_entry* entry = tvmgo_map_entry_at(map, place);
  if (entry == NULL) return 0;
  *cursor = (void*)(uintptr_t)place;
  *key = &entry->key;
  *value = &entry->value;
  return 1;
}
