/* Arrays: elements lie in the object itself, behind the cell. C++ code may pop, erase or fill spare capacity of an
 * array that it alone holds, so the deleter relies only on the cell. */
#include "object/object.h"

typedef struct {
  TVMFFIObject header;
  TVMFFISeqCell cell;
  TVMFFIAny items[];
} array_object;

_Static_assert(offsetof(array_object, items) == 56, "layout of ffi.Array");

static void array_delete(void* self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    TVMFFISeqCell* cell = tvmgo_seq_cell(self);
    TVMFFIAny* items = cell->data;
    for (int64_t i = 0; i < cell->size; i++) tvmgo_any_clear(&items[i]);
    cell->size = 0;
    if (cell->data_deleter != NULL) cell->data_deleter(cell->data);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

/* An empty array with capacity for n elements. */
static array_object* array_alloc(int64_t n) {
  if (n < 0 || (uint64_t)n > (PTRDIFF_MAX - sizeof(array_object)) / sizeof(TVMFFIAny)) {
    tvmgo_raise_oom();
    return NULL;
  }
  array_object* a = tvmgo_object_new_uninit(sizeof *a + (size_t)n * sizeof(TVMFFIAny),
                                            kTVMFFIArray, array_delete);
  if (a == NULL) return NULL;
  a->cell = (TVMFFISeqCell){.data = a->items, .capacity = n};
  return a;
}

static array_object* array_alloc_more(int64_t size) { return array_alloc(size < 4 ? 4 : 2 * size); }

static int array_push(array_object* a, const TVMFFIAny* item) {
  if (TVMFFIAnyViewToOwnedAny(item, &a->items[a->cell.size]) != 0) return -1;
  a->cell.size++;
  return 0;
}

TVMFFIObject* tvmgo_array_new(const TVMFFIAny* items, int64_t n) {
  array_object* a = array_alloc(n);
  if (a == NULL) return NULL;
  for (int64_t i = 0; i < n; i++) {
    if (array_push(a, &items[i]) != 0) {
      tvmgo_object_release(a);
      return NULL;
    }
  }
  return &a->header;
}

int tvmgo_array_push_alone(TVMFFIObject* array, const TVMFFIAny* item) {
  array_object* a = (array_object*)array;
  if (__atomic_load_n(&a->header.combined_ref_count, __ATOMIC_ACQUIRE) != TVMGO_REF_UNIQUE ||
      a->cell.size >= a->cell.capacity)
    return 0;
  if (tvmgo_any_is_object(item)) tvmgo_object_retain(item->v_obj);
  ((TVMFFIAny*)a->cell.data)[a->cell.size] = *item;
  a->cell.size++;
  return 1;
}

TVMFFIObject* tvmgo_array_append(TVMFFIObject* array, const TVMFFIAny* item) {
  const TVMFFISeqCell* from = tvmgo_seq_cell(array);
  array_object* a = array_alloc_more(from->size + 1);
  if (a == NULL) return NULL;
  const TVMFFIAny* items = from->data;
  for (int64_t i = 0; i <= from->size; i++) {
    if (array_push(a, i < from->size ? &items[i] : item) != 0) {
      tvmgo_object_release(a);
      return NULL;
    }
  }
  return &a->header;
}
