/* Tuples, which are Arrays, and values that are moved. */
#include "vm/builtins.h"

#include <inttypes.h>

/* The tuple and the index of one of its elements; the element is borrowed. */
static int arg_element(const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny** out) {
  int64_t i;
  if (tvmgo_check_count(f, n, 2, 2) != 0 || tvmgo_arg_kind(f, args, 0, kTVMFFIArray) != 0 ||
      tvmgo_arg_int(f, args, 1, &i) != 0)
    return -1;
  const TVMFFISeqCell* cell = tvmgo_seq_cell(args[0].v_obj);
  if (i < 0 || i >= cell->size)
    return tvmgo_raise(TVMGO_INDEX_ERROR, "%s: index %" PRId64 " is out of range for a tuple with %" PRId64 " elements",
                       f, i, cell->size);
  *out = (TVMFFIAny*)cell->data + i;
  return 0;
}

TVMGO_BUILTIN(make_tuple) { return tvmgo_give_new(tvmgo_array_new(args, n), result); }

TVMGO_BUILTIN(tuple_getitem) {
  TVMFFIAny* item;
  return arg_element(f, args, n, &item) != 0 ? -1 : tvmgo_give(item, result);
}

/* Sets an element of the tuple itself to None: the compiler emits it for tuples that it knows to be read nowhere else,
 * so that their memory can be used again. */
TVMGO_BUILTIN(tuple_reset_item) {
  TVMFFIAny* item;
  if (arg_element(f, args, n, &item) != 0) return -1;
  TVMFFIAny gone = *item;
  *item = tvmgo_any_none();
  tvmgo_any_clear(&gone);
  return 0;
}

TVMGO_BUILTIN(copy) {
  return tvmgo_check_count(f, n, 1, 1) != 0 ? -1 : TVMFFIAnyViewToOwnedAny(args, result);
}

TVMGO_BUILTIN(null_value) { return tvmgo_check_count(f, n, 0, 0); }

__attribute__((constructor(111))) static void register_builtins(void) {
  tvmgo_global_builtin("vm.builtin.make_tuple", make_tuple);
  tvmgo_global_builtin("vm.builtin.tuple_getitem", tuple_getitem);
  tvmgo_global_builtin("vm.builtin.tuple_reset_item", tuple_reset_item);
  tvmgo_global_builtin("vm.builtin.copy", copy);
  tvmgo_global_builtin("vm.builtin.null_value", null_value);
}
