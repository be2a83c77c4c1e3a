/* Arguments of the global functions vm.builtin.*. */
#include "vm/builtins.h"
#include "vm/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int is_string(const TVMFFIAny* v) {
  return v->type_index == kTVMFFIStr || v->type_index == kTVMFFISmallStr || v->type_index == kTVMFFIRawStr;
}

int tvmgo_vm_arg_context(const char* f, const TVMFFIAny* args, int32_t i, tvmgo_vm_context* out) {
  out->text = (TVMFFIByteArray){"", 0};
  if (args[i].type_index == kTVMFFINone) return 0;
  if (is_string(&args[i])) return tvmgo_arg_text(f, args, i, &out->text);
  return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument %d, the text for errors, must be str or None, got %s", f, (int)i,
                     tvmgo_type_name(args[i].type_index));
}

int tvmgo_vm_array_dims(const char* f, const TVMFFIAny* args, int32_t i, tvmgo_vm_dims* out) {
  if (args[i].type_index != kTVMFFIArray)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument %d must be a Shape, got %s", f, (int)i,
                       tvmgo_type_name(args[i].type_index));
  const TVMFFISeqCell* cell = tvmgo_seq_cell(args[i].v_obj);
  const TVMFFIAny* items = cell->data;
  int64_t* dims;
  TVMFFIObject* shape = tvmgo_shape_new_uninit((size_t)cell->size, &dims);
  if (shape == NULL) return -1;
  for (int64_t k = 0; k < cell->size; k++) {
    if (items[k].type_index != kTVMFFIInt && items[k].type_index != kTVMFFIBool) {
      tvmgo_object_release(shape);
      return tvmgo_raise(TVMGO_TYPE_ERROR,
                         "%s: argument %d must be a Shape, got an Array whose element %" PRId64 " is %s, not int", f,
                         (int)i, k, tvmgo_type_name(items[k].type_index));
    }
    dims[k] = items[k].v_int64;
  }
  *out = (tvmgo_vm_dims){dims, cell->size, shape};
  return 0;
}

const char* tvmgo_vm_dims_text(const int64_t* dims, int64_t size, char* buf, size_t cap) {
  size_t at = (size_t)snprintf(buf, cap, "(");
  for (int64_t i = 0; i < size; i++) {
    if (at + 32 > cap) {
      at += (size_t)snprintf(buf + at, cap - at, "...");
      break;
    }
    at += (size_t)snprintf(buf + at, cap - at, "%s%" PRId64, i == 0 ? "" : ", ", dims[i]);
  }
  snprintf(buf + at, cap - at, size == 1 ? ",)" : ")");
  return buf;
}

int tvmgo_vm_arg_tensor(const char* f, const TVMFFIAny* args, int32_t i, const DLTensor** out) {
  if (args[i].type_index == kTVMFFITensor)
    *out = tvmgo_tensor_dl(args[i].v_obj);
  else if (args[i].type_index == kTVMFFIDLTensorPtr)
    *out = args[i].v_ptr;
  else
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument %d must be a Tensor, got %s", f, (int)i,
                       tvmgo_type_name(args[i].type_index));
  if (tvmgo_dl_check(*out, f) == 0 && tvmgo_dl_check_place(*out, f) == 0) return 0;
  return -1;
}

int tvmgo_vm_arg_dtype(const char* f, const TVMFFIAny* args, int32_t i, DLDataType* out) {
  TVMFFIByteArray text;
  if (args[i].type_index == kTVMFFIDataType) {
    *out = args[i].v_dtype;
    return 0;
  }
  if (!is_string(&args[i]))
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument %d must be a dtype, got %s", f, (int)i,
                       tvmgo_type_name(args[i].type_index));
  if (tvmgo_arg_text(f, args, i, &text) != 0) return -1;
  return tvmgo_dtype_parse(text.data, text.size, out) == 0 ? 0 : tvmgo_raise_context("%s: argument %d", f, (int)i);
}

void tvmgo_vm_dtype_text(DLDataType t, char* buf) {
  if (tvmgo_dtype_print(t, buf, TVMGO_VM_DTYPE_TEXT) == 0) return;
  tvmgo_object_release(tvmgo_error_take());
  snprintf(buf, TVMGO_VM_DTYPE_TEXT, "(code %d, %d bits, %d lanes)", (int)t.code, (int)t.bits, (int)t.lanes);
}

int tvmgo_vm_is_closure(const TVMFFIAny* v) { return v->type_index == tvmgo_vm_closure_type(); }
