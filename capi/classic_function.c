/* Classic C ABI: functions and the table of global functions. The core implements calls, because loaded files import
 * them. */
#include "classic.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int TVMFuncFree(TVMFunctionHandle func) { return TVMObjectFree(func); }

int TVMFuncCreateFromCFunc(TVMPackedCFunc func, void* resource_handle, TVMPackedCFuncFinalizer fin,
                           TVMFunctionHandle* out) {
  static const char op[] = "create function";
  if (classic_need(out, op, "out") != 0) return -1;
  *out = NULL;
  if (tvmgo_check_usable(op) != 0) return -1;
  if (classic_need((const void*)func, op, "the callback") != 0) return -1;
  *out = tvmgo_function_of_callback(func, resource_handle, fin);
  return *out == NULL ? -1 : 0;
}

/* Takes an object from its caller's slot for a callback. */
static int take_object(TVMValue* value, int* code, const char* op) {
  TVMFFIObject** slot = value->v_handle;
  if (classic_need(slot, op, "the slot of the object") != 0) return -1;
  TVMFFIObject* obj = *slot;
  *slot = NULL;
  int32_t type = obj == NULL ? kTVMFFINone : obj->type_index;
  value->v_handle = obj;
  switch (type) {
    case kTVMFFINone: *code = kTVMNullptr; break;
    case kTVMFFIModule: *code = kTVMModuleHandle; break;
    case kTVMFFIFunction: *code = kTVMPackedFuncHandle; break;
    case kTVMFFITensor:
      value->v_handle = tvmgo_tensor_dl(obj);
      *code = kTVMNDArrayHandle;
      break;
    default: *code = kTVMObjectHandle;
  }
  return 0;
}

int TVMCbArgToReturn(TVMValue* value, int* code) {
  static const char op[] = "keep callback argument";
  if (classic_need(value, op, "value") != 0 || classic_need(code, op, "code") != 0) return -1;
  if (*code == kTVMObjectRValueRefArg) return take_object(value, code, op);
  if (*code == kTVMStr || *code == kTVMBytes)
    return tvmgo_raise(TVMGO_TYPE_ERROR,
                       "%s: %s belong to the caller and have no owner to share: copy them, or hand "
                       "them to TVMCFuncSetReturn",
                       op, *code == kTVMStr ? "texts" : "bytes");
  TVMFFIAny view;
  if (tvmgo_view_from_classic(value, *code, &view) != 0) return tvmgo_raise_context(op);
  if (tvmgo_any_is_object(&view)) tvmgo_object_retain(view.v_obj);
  return 0;
}

int TVMFuncRegisterGlobal(const char* name, TVMFunctionHandle f, int override) {
  if (classic_need(name, "register global function", "the name") != 0) return -1;
  TVMFFIByteArray text = {name, strlen(name)};
  return TVMFFIFunctionSetGlobal(&text, f, override);
}

int TVMFuncGetGlobal(const char* name, TVMFunctionHandle* out) {
  static const char op[] = "get global function";
  if (classic_need(out, op, "out") != 0) return -1;
  *out = NULL;
  if (classic_need(name, op, "the name") != 0) return -1;
  TVMFFIByteArray text = {name, strlen(name)};
  return TVMFFIFunctionGetGlobal(&text, out);
}

int TVMFuncRemoveGlobal(const char* name) {
  if (classic_need(name, "remove global function", "the name") != 0) return -1;
  tvmgo_global_remove(name, strlen(name));
  return 0;
}

/* One block holds the array, followed by the texts. */
int TVMFuncListGlobalNames(int* out_size, const char*** out_array) {
  static const char op[] = "list global functions";
  if (classic_need(out_size, op, "out_size") != 0 || classic_need(out_array, op, "out_array") != 0)
    return -1;
  if (tvmgo_check_usable(op) != 0) return -1;
  TVMFFIObject* names = tvmgo_global_names();
  if (names == NULL) return -1;
  const TVMFFISeqCell* cell = tvmgo_seq_cell(names);
  const TVMFFIAny* items = cell->data;
  size_t count = (size_t)cell->size, bytes = 0;
  TVMFFIByteArray text;
  for (size_t i = 0; i < count; i++)
    if (tvmgo_any_text(&items[i], &text)) bytes += text.size + 1;
  const char** array = malloc((count + 1) * sizeof *array + bytes);
  if (array == NULL || count > INT_MAX) {
    free(array);
    tvmgo_object_release(names);
    return tvmgo_raise_oom();
  }
  char* p = (char*)(array + count + 1);
  size_t n = 0;
  for (size_t i = 0; i < count; i++) {
    if (!tvmgo_any_text(&items[i], &text)) continue;
    array[n++] = p;
    if (text.size > 0) memcpy(p, text.data, text.size);
    p[text.size] = 0;
    p += text.size + 1;
  }
  array[n] = NULL;
  tvmgo_object_release(names);
  tvmgo_thread* t = tvmgo_thread_get();
  free(t->names);
  t->names = array;
  *out_size = (int)n;
  *out_array = array;
  return 0;
}
