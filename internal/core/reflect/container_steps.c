/* Iteration over containers, and the depth of an operation. */
#include "container/map_internal.h"
#include "reflect/recursive.h"

int tvmgo_level_enter(const char* op, int* level) {
  if (*level >= TVMGO_RECURSION_LIMIT)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the value is nested more than %d levels deep", op,
                       TVMGO_RECURSION_LIMIT);
  ++*level;
  return 0;
}

static TVMFFIAny held(const TVMFFIAny* v) {
  if (tvmgo_any_is_object(v)) tvmgo_object_retain(v->v_obj);
  return *v;
}

int tvmgo_seq_step(TVMFFIObject* seq, int64_t i, TVMFFIAny* item) {
  const TVMFFISeqCell* cell = tvmgo_seq_cell(seq);
  if (i >= cell->size) return 0;
  *item = held((const TVMFFIAny*)cell->data + i);
  return 1;
}

int tvmgo_map_step(TVMFFIObject* map, uint64_t* place, TVMFFIAny* key, TVMFFIAny* value) {
  *place = *place == 0 ? tvmgo_map_first(map) : tvmgo_map_after(map, *place);
  const tvmgo_map_entry* e = tvmgo_map_entry_at(map, *place);
  if (e == NULL) return 0;
  *key = held(&e->key);
  *value = held(&e->value);
  return 1;
}
