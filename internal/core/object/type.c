/* The type table: keys, indices and ancestors (docs/abi.md B.2, B.5).
 *
 * Look-ups take no lock: both indices of the table, by number and by key, only grow, and an entry is complete before it
 * is published. */
#include "object/text.h"
#include "object/type_internal.h"
#include "object/usable.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK 1024
#define CHUNKS 1024 /* a million indices */
#define BUCKETS 512

typedef struct {
  _Atomic(tvmgo_type*) at[CHUNK];
} chunk;

static chunk first_chunk;
static _Atomic(chunk*) chunks[CHUNKS];
static _Atomic(tvmgo_type*) buckets[BUCKETS];
static _Atomic int32_t limit;
static int32_t next_dynamic = kTVMFFIDynObjectBegin; /* under the lock */
pthread_mutex_t tvmgo_type_lock = PTHREAD_MUTEX_INITIALIZER;

/* MurmurHash64A with the seed that C++'s std::hash has in the reference implementation: the number is
 * part of structural hashes, which may be written to files. */
static uint64_t hash_key(const char* s, size_t n) {
  const uint64_t factor = UINT64_C(0xc6a4a7935bd1e995);
  uint64_t h = UINT64_C(0xc70f6907) ^ (n * factor), word;
  for (; n >= sizeof word; s += sizeof word, n -= sizeof word) {
    memcpy(&word, s, sizeof word);
    word *= factor;
    h = (h ^ (word ^ word >> 47) * factor) * factor;
  }
  if (n > 0) {
    word = 0;
    memcpy(&word, s, n);
    h = (h ^ word) * factor;
  }
  h = (h ^ h >> 47) * factor;
  return h ^ h >> 47;
}

tvmgo_type* tvmgo_type_at(int32_t type_index) {
  if (type_index < 0 || type_index >= CHUNK * CHUNKS) return NULL;
  chunk* c = atomic_load_explicit(&chunks[type_index / CHUNK], memory_order_acquire);
  if (c == NULL) return NULL;
  return atomic_load_explicit(&c->at[type_index % CHUNK], memory_order_acquire);
}

int32_t tvmgo_type_limit(void) { return atomic_load_explicit(&limit, memory_order_acquire); }

static tvmgo_type* find_key(const char* key, size_t len, uint64_t hash) {
  tvmgo_type* t = atomic_load_explicit(&buckets[hash % BUCKETS], memory_order_acquire);
  while (t != NULL &&
         !(t->info.type_key_hash == hash && t->info.type_key.size == len &&
           memcmp(t->info.type_key.data, key, len) == 0))
    t = t->next;
  return t;
}

/* Publishes a complete entry. Under the lock; the chunk of its index exists. */
static void publish(tvmgo_type* t) {
  int32_t i = t->info.type_index;
  _Atomic(tvmgo_type*)* bucket = &buckets[t->info.type_key_hash % BUCKETS];
  t->next = atomic_load_explicit(bucket, memory_order_relaxed);
  chunk* c = atomic_load_explicit(&chunks[i / CHUNK], memory_order_relaxed);
  atomic_store_explicit(&c->at[i % CHUNK], t, memory_order_release);
  atomic_store_explicit(bucket, t, memory_order_release);
  if (i >= atomic_load_explicit(&limit, memory_order_relaxed))
    atomic_store_explicit(&limit, i + 1, memory_order_release);
}

static int chunk_ready(int32_t type_index) {
  _Atomic(chunk*)* c = &chunks[type_index / CHUNK];
  if (atomic_load_explicit(c, memory_order_relaxed) != NULL) return 1;
  chunk* fresh = calloc(1, sizeof *fresh);
  if (fresh == NULL) return 0;
  atomic_store_explicit(c, fresh, memory_order_release);
  return 1;
}

/* ---- The types that every process has ------------------------------------------------------ */

static const struct {
  int32_t index;
  const char* key;
} static_types[] = {
    {kTVMFFINone, "None"},
    {kTVMFFIInt, "int"},
    {kTVMFFIBool, "bool"},
    {kTVMFFIFloat, "float"},
    {kTVMFFIOpaquePtr, "void*"},
    {kTVMFFIDataType, "DataType"},
    {kTVMFFIDevice, "Device"},
    {kTVMFFIDLTensorPtr, "DLTensor*"},
    {kTVMFFIRawStr, "const char*"},
    {kTVMFFIByteArrayPtr, "TVMFFIByteArray*"},
    {kTVMFFIObjectRValueRef, "ObjectRValueRef"},
    {kTVMFFISmallStr, "ffi.SmallStr"},
    {kTVMFFISmallBytes, "ffi.SmallBytes"},
    {kTVMFFIUnchanged, "ffi.Unchanged"},
    {kTVMFFIObject, "ffi.Object"},
    {kTVMFFIStr, "ffi.String"},
    {kTVMFFIBytes, "ffi.Bytes"},
    {kTVMFFIError, "ffi.Error"},
    {kTVMFFIFunction, "ffi.Function"},
    {kTVMFFIShape, "ffi.Shape"},
    {kTVMFFITensor, "ffi.Tensor"},
    {kTVMFFIArray, "ffi.Array"},
    {kTVMFFIMap, "ffi.Map"},
    {kTVMFFIModule, "ffi.Module"},
    {kTVMFFIOpaquePyObject, "ffi.OpaquePyObject"},
    {kTVMFFIList, "ffi.List"},
    {kTVMFFIDict, "ffi.Dict"},
    {kTVMFFIVisitInterrupt, "ffi.VisitInterrupt"},
    {kTVMFFIBigInt, "ffi.BigInt"},
};

/* Before every other constructor, because those may already make objects and ask for types. */
__attribute__((constructor(101))) static void register_static_types(void) {
  enum { N = sizeof static_types / sizeof *static_types };
  static tvmgo_type entries[N];
  static const TVMFFITypeInfo* object_ancestors[1];
  atomic_store_explicit(&chunks[0], &first_chunk, memory_order_release);
  for (int i = 0; i < N; i++) {
    tvmgo_type* t = &entries[i];
    int32_t index = static_types[i].index;
    const char* key = static_types[i].key;
    t->info.type_index = index;
    t->info.type_key = (TVMFFIByteArray){key, strlen(key)};
    t->info.type_key_hash = hash_key(key, strlen(key));
    t->slots = t->used = 1;
    /* The only built-in types that others may derive from. */
    t->can_overflow = index == kTVMFFIObject || index == kTVMFFIVisitInterrupt;
    if (index == kTVMFFIObject) object_ancestors[0] = &t->info;
    if (index > kTVMFFIObject) {
      t->info.type_depth = 1;
      t->info.type_ancestors = object_ancestors;
    }
    publish(t);
  }
  static const TVMFFITypeMetadata object_metadata = {.total_size = 24};
  tvmgo_type_reflect_builtin(kTVMFFIObject, NULL, 0, &object_metadata);
}

/* ---- New types ----------------------------------------------------------------------------- */

static tvmgo_type* type_new(const TVMFFIByteArray* key, uint64_t hash, int32_t depth,
                            int32_t child_slots, int can_overflow, tvmgo_type* parent) {
  size_t ancestors = (size_t)depth * sizeof(TVMFFITypeInfo*);
  tvmgo_type* t = calloc(1, sizeof *t + ancestors + key->size + 1);
  if (t == NULL) return NULL;
  const TVMFFITypeInfo** above = (const TVMFFITypeInfo**)(t + 1);
  char* text = (char*)above + ancestors;
  memcpy(text, key->data, key->size);
  t->info.type_key = (TVMFFIByteArray){text, key->size};
  t->info.type_key_hash = hash;
  t->info.type_depth = depth;
  if (parent != NULL) {
    for (int32_t d = 0; d < depth - 1; d++) above[d] = parent->info.type_ancestors[d];
    above[depth - 1] = &parent->info;
    t->info.type_ancestors = above;
  }
  t->slots = child_slots + 1;
  t->used = 1;
  t->can_overflow = can_overflow;
  return t;
}

/* The index for a new type of `need` consecutive indices: -1 when the parent takes no more
 * children, -2 when the table is full. Under the lock. */
static int32_t pick_index(tvmgo_type* parent, int32_t need) {
  if (parent != NULL) {
    if (need <= parent->slots - parent->used) {
      int32_t index = parent->info.type_index + parent->used;
      if (tvmgo_type_at(index) == NULL) {
        parent->used += need;
        return index;
      }
    }
    if (!parent->can_overflow) return -1;
  }
  if (need > CHUNK * CHUNKS - next_dynamic) return -2;
  int32_t index = next_dynamic;
  next_dynamic += need;
  return index;
}

static int32_t refuse(const TVMFFIByteArray* key, const char* why, int32_t number) {
  tvmgo_raise(TVMGO_VALUE_ERROR, "register type %.*s: %s (%d)", tvmgo_quoted(key->size), key->data,
              why, (int)number);
  return -1;
}

/* The reference implementation ends the process on a request that cannot be met. This one raises an error on the
 * calling thread and returns -1, which no type has. */
int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray* type_key, int32_t static_type_index,
                                  int32_t type_depth, int32_t num_child_slots,
                                  int32_t child_slots_can_overflow, int32_t parent_type_index) {
  if (tvmgo_check_usable("register type") != 0) return -1;
  if (tvmgo_check_name("register type", "the key", type_key) != 0) return -1;
  uint64_t hash = hash_key(type_key->data, type_key->size);
  tvmgo_type* known = find_key(type_key->data, type_key->size, hash);
  if (known != NULL) return known->info.type_index;
  if (parent_type_index == -2) return -2;

  tvmgo_type* parent = NULL;
  if (parent_type_index != -1) {
    parent = tvmgo_type_at(parent_type_index);
    if (parent == NULL)
      return refuse(type_key, "the parent index is not registered", parent_type_index);
  }
  if (type_depth != (parent == NULL ? 0 : parent->info.type_depth + 1))
    return refuse(type_key, "the depth is not one more than the parent's", type_depth);
  if (num_child_slots < 0 || num_child_slots >= CHUNK * CHUNKS)
    return refuse(type_key, "the number of child slots is out of range", num_child_slots);
  if (static_type_index < -1 || static_type_index >= kTVMFFIDynObjectBegin)
    return refuse(type_key, "a static index lies between 0 and 127", static_type_index);

  tvmgo_type* t = type_new(type_key, hash, type_depth, num_child_slots, child_slots_can_overflow,
                           parent);
  if (t == NULL) {
    tvmgo_raise_oom();
    return -1;
  }
  enum { ADDED, KNOWN, OCCUPIED, NO_SLOT, FULL, NO_MEMORY } outcome = ADDED;
  int32_t index = static_type_index;
  pthread_mutex_lock(&tvmgo_type_lock);
  known = find_key(type_key->data, type_key->size, hash);
  if (known != NULL) {
    outcome = KNOWN;
    index = known->info.type_index;
  } else if (static_type_index >= 0) {
    if (tvmgo_type_at(index) != NULL) outcome = OCCUPIED;
  } else {
    index = pick_index(parent, t->slots);
    if (index < 0) outcome = index == -1 ? NO_SLOT : FULL;
  }
  if (outcome == ADDED && !chunk_ready(index)) outcome = NO_MEMORY;
  if (outcome == ADDED) {
    t->info.type_index = index;
    publish(t);
  }
  pthread_mutex_unlock(&tvmgo_type_lock);

  if (outcome == ADDED) return index;
  free(t);
  switch (outcome) {
    case KNOWN: return index;
    case OCCUPIED: return refuse(type_key, "another type has this static index", index);
    case NO_SLOT:
      return refuse(type_key, "the parent takes no more child types", parent_type_index);
    case FULL: return refuse(type_key, "the type table is full", CHUNK * CHUNKS);
    default: tvmgo_raise_oom(); return -1;
  }
}

/* ---- Questions ----------------------------------------------------------------------------- */

/* The most similar registered key; NULL if none is similar. */
int (*tvmgo_type_missing)(const TVMFFIByteArray* key);

static const char* similar_key(const TVMFFIByteArray* key) {
  const char* best = NULL;
  int least = (int)key->size / 4 + 2;
  for (int32_t i = 0; i < tvmgo_type_limit(); i++) {
    tvmgo_type* t = tvmgo_type_at(i);
    if (t == NULL) continue;
    int d = tvmgo_text_distance(key, &t->info.type_key);
    if (d >= least) continue;
    least = d;
    best = t->info.type_key.data;
  }
  return best;
}

int TVMFFITypeKeyToIndex(const TVMFFIByteArray* type_key, int32_t* out_tindex) {
  if (type_key == NULL || out_tindex == NULL || (type_key->data == NULL && type_key->size > 0))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "look up type: %s is NULL",
                       out_tindex == NULL ? "out" : "the key");
  if (type_key->size > TVMGO_MAX_NAME) return tvmgo_check_name("look up type", "the key", type_key);
  uint64_t hash = hash_key(type_key->data, type_key->size);
  tvmgo_type* t = find_key(type_key->data, type_key->size, hash);
  if (t == NULL && tvmgo_type_missing != NULL && tvmgo_type_missing(type_key))
    t = find_key(type_key->data, type_key->size, hash);
  if (t == NULL) {
    const char* similar = similar_key(type_key);
    return tvmgo_raise(TVMGO_NOT_FOUND_ERROR,
                       "look up type: no type with the key \"%.*s\" is registered: load the library "
                       "that registers it%s%s%s",
                       tvmgo_quoted(type_key->size), type_key->data,
                       similar == NULL ? "" : ", or did you mean \"", similar == NULL ? "" : similar,
                       similar == NULL ? "" : "\"?");
  }
  *out_tindex = t->info.type_index;
  return 0;
}

/* NULL for an index that was never assigned; the reference implementation then ends the process.
 * The function is declared pure, so it raises nothing. */
const TVMFFITypeInfo* TVMFFIGetTypeInfo(int32_t type_index) {
  tvmgo_type* t = tvmgo_type_at(type_index);
  return t == NULL ? NULL : &t->info;
}

int tvmgo_type_derived_from(int32_t child, int32_t parent) {
  tvmgo_type* c = tvmgo_type_at(child);
  tvmgo_type* p = tvmgo_type_at(parent);
  if (c == NULL || p == NULL) return 0;
  int32_t depth = p->info.type_depth;
  return c == p || (depth < c->info.type_depth && c->info.type_ancestors[depth] == &p->info);
}
