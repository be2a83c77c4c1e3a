/* Tables: sites and shapes by their contents. */
#include "profile/parts.h"

static int grow_slots(profile_table* t) {
  uint32_t slots = t->slots == 0 ? 64 : 2 * t->slots;
  uint64_t* hashes = calloc(slots, sizeof *hashes);
  uint32_t* numbers = calloc(slots, sizeof *numbers);
  if (hashes == NULL || numbers == NULL) {
    free(hashes);
    free(numbers);
    return -1;
  }
  for (uint32_t i = 0; i < t->slots; i++) {
    if (t->hashes[i] == 0) continue;
    uint32_t at = (uint32_t)t->hashes[i] & (slots - 1);
    while (hashes[at] != 0) at = (at + 1) & (slots - 1);
    hashes[at] = t->hashes[i];
    numbers[at] = t->numbers[i];
  }
  free(t->hashes);
  free(t->numbers);
  t->hashes = hashes;
  t->numbers = numbers;
  t->slots = slots;
  return 0;
}

static int grow_items(profile_table* t) {
  uint32_t capacity = t->capacity == 0 ? 64 : 2 * t->capacity;
  void** items = realloc(t->items, capacity * sizeof *items);
  if (items == NULL) return -1;
  t->items = items;
  t->capacity = capacity;
  return 0;
}

uint32_t tvmgo_profile_number(profile_table* t, uint64_t hash, void* (*make)(const void* arg), const void* arg) {
  if (hash == 0) hash = 1;
  if (2 * (t->count + 1) > t->slots && grow_slots(t) != 0) return 0;
  uint32_t at = (uint32_t)hash & (t->slots - 1);
  for (; t->hashes[at] != 0; at = (at + 1) & (t->slots - 1))
    if (t->hashes[at] == hash) return t->numbers[at];
  if (t->count + 1 >= t->capacity && grow_items(t) != 0) return 0;
  void* item = make(arg);
  if (item == NULL) return 0;
  t->hashes[at] = hash;
  t->items[0] = NULL;
  t->items[++t->count] = item;
  return t->numbers[at] = t->count;
}

void tvmgo_profile_table_free(profile_table* t) {
  for (uint32_t i = 1; i <= t->count; i++) free(t->items[i]);
  free(t->items);
  free(t->hashes);
  free(t->numbers);
}

/* ---- sites ---- */

static uint64_t hash_text(uint64_t h, const char* s) {
  for (; *s != 0; s++) h = tvmgo_profile_mix(h, (unsigned char)*s);
  return tvmgo_profile_mix(h, 256);
}

static void* copy_site(const void* arg) {
  const tvmgo_profile_site* from = arg;
  size_t name = strlen(from->name) + 1, function = strlen(from->function) + 1;
  tvmgo_profile_site* to = malloc(sizeof *to + name + function);
  if (to == NULL) return NULL;
  *to = *from;
  to->name = memcpy(to + 1, from->name, name);
  to->function = memcpy((char*)(to + 1) + name, from->function, function);
  return to;
}

uint32_t tvmgo_profile_site_of(tvmgo_profile* p, const tvmgo_profile_site* site) {
  uint64_t h = tvmgo_profile_mix((uint32_t)site->kind, (uint32_t)site->number);
  h = tvmgo_profile_mix(h, (uint64_t)site->device.device_type << 32 | (uint32_t)site->device.device_id);
  h = tvmgo_profile_mix(h, (uint64_t)site->other.device_type << 32 | (uint32_t)site->other.device_id);
  h = tvmgo_profile_mix(h, (uintptr_t)site->stream + (uint64_t)site->waits);
  h = hash_text(hash_text(h, site->name), site->function);
  pthread_mutex_lock(&p->lock);
  uint32_t number = tvmgo_profile_number(&p->sites, h, copy_site, site);
  pthread_mutex_unlock(&p->lock);
  return number;
}

/* ---- numbers of sites, for the thread ---- */

uint64_t tvmgo_profile_key(void) {
  static _Atomic uint64_t last;
  return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

uint32_t* tvmgo_profile_numbers(tvmgo_profile_thread* t, uint64_t key, int64_t n) {
  profile_numbers **head = &t->maps->numbers, **at = head;
  while (*at != NULL && (*at)->key != key) at = &(*at)->next;
  profile_numbers* found = *at;
  if (found == NULL) {
    found = calloc(1, sizeof *found + (size_t)n * sizeof *found->at);
    if (found == NULL) return NULL;
    found->key = key;
  } else {
    *at = found->next;
  }
  found->next = *head; /* the newest first */
  *head = found;
  return found->at;
}

/* ---- shapes ---- */

typedef struct {
  const TVMFFIAny* values;
  int32_t n;
} value_list;

static const DLTensor* tensor_of(const TVMFFIAny* v) {
  if (v->type_index == kTVMFFITensor) return (const DLTensor*)(v->v_obj + 1);
  return v->type_index == kTVMFFIDLTensorPtr ? v->v_ptr : NULL;
}

static void* copy_shapes(const void* arg) {
  const value_list* l = arg;
  size_t words = 1;
  int64_t tensors = 0;
  for (int32_t i = 0; i < l->n; i++) {
    const DLTensor* t = tensor_of(&l->values[i]);
    if (t == NULL) continue;
    tensors++;
    words += 2 + (size_t)t->ndim;
  }
  int64_t *out = malloc(words * sizeof *out), *at = out;
  if (out == NULL) return NULL;
  *at++ = tensors;
  for (int32_t i = 0; i < l->n; i++) {
    const DLTensor* t = tensor_of(&l->values[i]);
    if (t == NULL) continue;
    *at++ = (int64_t)t->dtype.code << 24 | (int64_t)t->dtype.bits << 16 | t->dtype.lanes;
    *at++ = t->ndim;
    for (int32_t k = 0; k < t->ndim; k++) *at++ = t->shape[k];
  }
  return out;
}

uint32_t tvmgo_profile_shapes_of(tvmgo_profile_thread* t, const TVMFFIAny* values, int32_t n) {
  uint64_t h = 0;
  for (int32_t i = 0; i < n; i++) {
    const DLTensor* dl = tensor_of(&values[i]);
    if (dl == NULL) continue;
    uint32_t dtype;
    memcpy(&dtype, &dl->dtype, sizeof dtype);
    h = tvmgo_profile_mix(h, (uint64_t)(uint32_t)dl->ndim << 32 | dtype);
    for (int32_t k = 0; k < dl->ndim; k++) h = tvmgo_profile_mix(h, (uint64_t)dl->shape[k]);
  }
  if (h == 0) return 0; /* no tensors */
  tvmgo_profile_maps* m = t->maps;
  uint32_t slot = (uint32_t)(h >> 32) % SHAPE_CACHE;
  if (TVMGO_LIKELY(m->hashes[slot] == h)) return m->shapes[slot];
  value_list list = {values, n};
  pthread_mutex_lock(&t->profile->lock);
  uint32_t number = tvmgo_profile_number(&t->profile->shapes, h, copy_shapes, &list);
  pthread_mutex_unlock(&t->profile->lock);
  m->hashes[slot] = h;
  m->shapes[slot] = number;
  return number;
}
