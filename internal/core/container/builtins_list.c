/* Global functions about lists (docs/abi.md B.13). */
#include "container/builtins.h"
#include "container/list.h"
#include "container/map_internal.h"

#include <inttypes.h>

static int list_arg(const char* fname, const TVMFFIAny* args, int32_t n, int32_t want,
                    TVMFFIObject** list) {
  void* object;
  if (tvmgo_check_count(fname, n, want, want) != 0 ||
      tvmgo_arg_object(fname, args, 0, kTVMFFIList, &object) != 0)
    return -1;
  *list = object;
  return 0;
}

/* The list, and the index in argument 1 of one of its elements. */
static int element_arg(const char* fname, const TVMFFIAny* args, int32_t n, int32_t want,
                       TVMFFIObject** list, int64_t* i) {
  if (list_arg(fname, args, n, want, list) != 0 || tvmgo_arg_int(fname, args, 1, i) != 0) return -1;
  int64_t size = tvmgo_seq_cell(*list)->size;
  if (*i >= 0 && *i < size) return 0;
  return tvmgo_raise(TVMGO_INDEX_ERROR, "%s: index %" PRId64 " is out of range for size %" PRId64,
                     fname, *i, size);
}

/* The list, and the bounds in arguments 1 and 2 of a part of it. */
static int range_arg(const char* fname, const TVMFFIAny* args, int32_t n, int32_t want,
                     TVMFFIObject** list, int64_t* begin, int64_t* end) {
  if (list_arg(fname, args, n, want, list) != 0 || tvmgo_arg_int(fname, args, 1, begin) != 0 ||
      tvmgo_arg_int(fname, args, 2, end) != 0)
    return -1;
  int64_t size = tvmgo_seq_cell(*list)->size;
  if (*begin >= 0 && *begin <= *end && *end <= size) return 0;
  return tvmgo_raise(TVMGO_INDEX_ERROR,
                     "%s: range [%" PRId64 ", %" PRId64 ") is out of range for size %" PRId64, fname,
                     *begin, *end, size);
}

static int list_make(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return tvmgo_give_new(tvmgo_list_new(args, n), result);
}

static int list_get_item(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* list;
  int64_t i;
  if (element_arg(fname, args, n, 2, &list, &i) != 0) return -1;
  return tvmgo_give((const TVMFFIAny*)tvmgo_seq_cell(list)->data + i, result);
}

static int list_set_item(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* list;
  int64_t i;
  if (element_arg(fname, args, n, 3, &list, &i) != 0) return -1;
  return tvmgo_list_replace(list, i, i + 1, &args[2], 1);
}

static int list_size(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* list;
  if (list_arg(fname, args, n, 1, &list) != 0) return -1;
  *result = tvmgo_any_int(tvmgo_seq_cell(list)->size);
  return 0;
}

static int list_contains(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* list;
  if (list_arg(fname, args, n, 2, &list) != 0) return -1;
  const TVMFFISeqCell* cell = tvmgo_seq_cell(list);
  int found = 0;
  for (int64_t i = 0; i < cell->size && found == 0; i++)
    found = tvmgo_any_try_equal((const TVMFFIAny*)cell->data + i, &args[1]);
  if (found < 0) return -1;
  *result = tvmgo_any_bool(found);
  return 0;
}

static int list_append(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* list;
  if (list_arg(fname, args, n, 2, &list) != 0) return -1;
  int64_t size = tvmgo_seq_cell(list)->size;
  return tvmgo_list_replace(list, size, size, &args[1], 1);
}

static int list_insert(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* list;
  int64_t i;
  if (list_arg(fname, args, n, 3, &list) != 0 || tvmgo_arg_int(fname, args, 1, &i) != 0) return -1;
  int64_t size = tvmgo_seq_cell(list)->size;
  if (i < 0 || i > size)
    return tvmgo_raise(TVMGO_INDEX_ERROR,
                       "%s: index %" PRId64 " is no place to insert for size %" PRId64, fname, i,
                       size);
  return tvmgo_list_replace(list, i, i, &args[2], 1);
}

static int list_pop(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* list;
  int64_t i;
  if (element_arg(fname, args, n, 2, &list, &i) != 0) return -1;
  tvmgo_give((const TVMFFIAny*)tvmgo_seq_cell(list)->data + i, result);
  return tvmgo_list_replace(list, i, i + 1, NULL, 0);
}

static int list_erase(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* list;
  int64_t i;
  if (element_arg(fname, args, n, 2, &list, &i) != 0) return -1;
  return tvmgo_list_replace(list, i, i + 1, NULL, 0);
}

static int list_erase_range(const char* fname, const TVMFFIAny* args, int32_t n,
                            TVMFFIAny* result) {
  TVMFFIObject* list;
  int64_t begin, end;
  if (range_arg(fname, args, n, 3, &list, &begin, &end) != 0) return -1;
  return tvmgo_list_replace(list, begin, end, NULL, 0);
}

static int list_replace_slice(const char* fname, const TVMFFIAny* args, int32_t n,
                              TVMFFIAny* result) {
  TVMFFIObject* list;
  int64_t begin, end;
  if (range_arg(fname, args, n, 4, &list, &begin, &end) != 0) return -1;
  int32_t type = args[3].type_index == kTVMFFIArray ? kTVMFFIArray : kTVMFFIList;
  void* with;
  if (tvmgo_arg_object(fname, args, 3, type, &with) != 0) return -1;
  const TVMFFISeqCell* cell = tvmgo_seq_cell(with);
  return tvmgo_list_replace(list, begin, end, cell->data, cell->size);
}

static int list_reverse(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* list;
  if (list_arg(fname, args, n, 1, &list) != 0) return -1;
  TVMFFIAny* items = tvmgo_seq_cell(list)->data;
  for (int64_t i = 0, j = tvmgo_seq_cell(list)->size - 1; i < j; i++, j--) {
    TVMFFIAny item = items[i];
    items[i] = items[j];
    items[j] = item;
  }
  return 0;
}

static int list_clear(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* list;
  if (list_arg(fname, args, n, 1, &list) != 0) return -1;
  return tvmgo_list_replace(list, 0, tvmgo_seq_cell(list)->size, NULL, 0);
}

static int list_reserve(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* list;
  int64_t capacity;
  if (list_arg(fname, args, n, 2, &list) != 0 || tvmgo_arg_int(fname, args, 1, &capacity) != 0)
    return -1;
  return tvmgo_list_reserve(list, capacity);
}

#define BUILTINS(X)                                              \
  X(ffi_list, "ffi.List", list_make)                             \
  X(ffi_list_get_item, "ffi.ListGetItem", list_get_item)         \
  X(ffi_list_set_item, "ffi.ListSetItem", list_set_item)         \
  X(ffi_list_size, "ffi.ListSize", list_size)                    \
  X(ffi_list_contains, "ffi.ListContains", list_contains)        \
  X(ffi_list_append, "ffi.ListAppend", list_append)              \
  X(ffi_list_insert, "ffi.ListInsert", list_insert)              \
  X(ffi_list_pop, "ffi.ListPop", list_pop)                       \
  X(ffi_list_erase, "ffi.ListErase", list_erase)                 \
  X(ffi_list_erase_range, "ffi.ListEraseRange", list_erase_range) \
  X(ffi_list_replace, "ffi.ListReplaceSlice", list_replace_slice) \
  X(ffi_list_reverse, "ffi.ListReverse", list_reverse)           \
  X(ffi_list_clear, "ffi.ListClear", list_clear)                 \
  X(ffi_list_reserve, "ffi.ListReserve", list_reserve)

BUILTINS(TVMGO_BUILTIN_DEFINE)

void tvmgo_register_list_builtins(void) { BUILTINS(TVMGO_BUILTIN_REGISTER) }
