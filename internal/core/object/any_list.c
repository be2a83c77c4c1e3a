/* Register files of the Relax virtual machine as generated code sees them: arrays of TVMFFIAny.
 * The classic generation reads and writes them through classic values. */
#include "object/object.h"

static int check(const void* list, int index, int offset) {
  if (list != NULL && index >= 0 && offset >= 0) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "access register: %s",
                     list == NULL ? "the list is NULL" : "an index is negative");
}

static int need(const void* p, const char* what) {
  return p != NULL ? 0 : tvmgo_raise(TVMGO_VALUE_ERROR, "access register: %s is NULL", what);
}

int TVMBackendAnyListSetPackedArg(void* anylist, int index, TVMFFIAny* args, int arg_offset) {
  if (check(anylist, index, arg_offset) != 0 || need(args, "args") != 0) return -1;
  args[arg_offset] = ((TVMFFIAny*)anylist)[index]; /* a view: the register keeps its reference */
  return 0;
}

int TVMBackendAnyListResetItem(void* anylist, int index) {
  if (check(anylist, index, 0) != 0) return -1;
  tvmgo_any_clear((TVMFFIAny*)anylist + index);
  return 0;
}

int TVMBackendAnyListMoveFromPackedReturn(void* anylist, int index, TVMFFIAny* args,
                                          int ret_offset) {
  if (check(anylist, index, ret_offset) != 0 || need(args, "args") != 0) return -1;
  TVMFFIAny* slot = (TVMFFIAny*)anylist + index;
  TVMFFIAny old = *slot;
  *slot = args[ret_offset];
  args[ret_offset] = tvmgo_any_none();
  tvmgo_any_clear(&old);
  return 0;
}

int tvmgo_any_list_set_packed_arg_classic(void* list, int index, TVMValue* values, int* codes,
                                          int offset) {
  if (check(list, index, offset) != 0 || need(values, "values") != 0 || need(codes, "codes") != 0)
    return -1;
  return tvmgo_classic_from_view((TVMFFIAny*)list + index, kTVMArgInt, &values[offset],
                                 &codes[offset]);
}

int tvmgo_any_list_reset_item_classic(void* list, int index) {
  return TVMBackendAnyListResetItem(list, index);
}

int tvmgo_any_list_move_from_return_classic(void* list, int index, TVMValue* values, int* codes,
                                            int offset) {
  if (check(list, index, offset) != 0 || need(values, "values") != 0 || need(codes, "codes") != 0)
    return -1;
  TVMFFIAny owned;
  if (tvmgo_any_from_classic_result(&values[offset], codes[offset], &owned) != 0) return -1;
  TVMFFIAny* slot = (TVMFFIAny*)list + index;
  tvmgo_any_clear(slot);
  *slot = owned;
  return 0;
}
