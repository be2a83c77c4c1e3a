/* Global functions about functions and their table. */
#include "call/builtin.h"

static void drop(void* obj) { tvmgo_object_release(obj); }

/* f(-1) is the number of names and f(i) name i, as of the creation of the functor. */
static int name_at(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  static const char f[] = "ffi.FunctionListGlobalNamesFunctor()";
  int64_t i;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || tvmgo_arg_int(f, args, 0, &i) != 0) return -1;
  TVMFFISeqCell* names = tvmgo_seq_cell(self);
  if (i == -1) {
    *result = tvmgo_any_int(names->size);
    return 0;
  }
  if (i < 0 || i >= names->size)
    return tvmgo_raise(TVMGO_INDEX_ERROR, "%s: index %lld, but there are %lld names", f,
                       (long long)i, (long long)names->size);
  return TVMFFIAnyViewToOwnedAny((TVMFFIAny*)names->data + i, result);
}

TVMGO_BUILTIN(list_names) {
  if (tvmgo_check_count(f, n, 0, 0) != 0) return -1;
  TVMFFIObject* names = tvmgo_global_names();
  TVMFFIObjectHandle made = NULL;
  if (names == NULL) return -1;
  if (TVMFFIFunctionCreate(names, name_at, drop, &made) != 0) {
    tvmgo_object_release(names);
    return -1;
  }
  *result = tvmgo_any_object(made);
  return 0;
}

TVMGO_BUILTIN(remove_global) {
  TVMFFIByteArray name;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || tvmgo_arg_text(f, args, 0, &name) != 0) return -1;
  *result = tvmgo_any_bool(tvmgo_global_remove(name.data, name.size));
  return 0;
}

TVMGO_BUILTIN(global_metadata) {
  TVMFFIByteArray name;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || tvmgo_arg_text(f, args, 0, &name) != 0) return -1;
  int found = tvmgo_global_metadata(name.data, name.size, result);
  if (found == 0)
    return tvmgo_raise(TVMGO_RUNTIME_ERROR, "%s: there is no global function %.*s", f,
                       tvmgo_quoted(name.size), name.data);
  return found < 0 ? -1 : 0;
}

TVMGO_BUILTIN(from_extern_c) {
  TVMFFIObjectHandle made = NULL;
  if (tvmgo_check_count(f, n, 3, 3) != 0) return -1;
  for (int i = 0; i < 3; i++)
    if (args[i].type_index != kTVMFFIOpaquePtr && args[i].type_index != kTVMFFINone)
      return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument %d must be void*, got %s", f, i,
                         tvmgo_type_name(args[i].type_index));
  if (TVMFFIFunctionCreate(args[0].v_ptr, (TVMFFISafeCallType)args[1].v_ptr,
                           (void (*)(void*))args[2].v_ptr, &made) != 0)
    return -1;
  *result = tvmgo_any_object(made);
  return 0;
}

__attribute__((constructor(111))) static void register_builtins(void) {
  tvmgo_global_builtin("ffi.FunctionListGlobalNamesFunctor", list_names);
  tvmgo_global_builtin("ffi.FunctionRemoveGlobal", remove_global);
  tvmgo_global_builtin("ffi.GetGlobalFuncMetadata", global_metadata);
  tvmgo_global_builtin("ffi.FunctionFromExternC", from_extern_c);
}
