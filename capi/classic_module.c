/* Classic C ABI: modules. */
#include "classic.h"

#include <string.h>

int classic_need_object(const void* handle, int32_t type_index, const char* op) {
  if (handle == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "%s: the %s handle is NULL: check the call that should have returned it", op,
                       tvmgo_type_name(type_index));
  int32_t got = ((const TVMFFIObject*)handle)->type_index;
  if (got == kTVMFFIModule && type_index == got) return tvmgo_module_need(handle, op, "the handle");
  if (got == type_index) return 0;
  return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: the handle is of type %s, not %s", op,
                     tvmgo_type_name(got), tvmgo_type_name(type_index));
}

int TVMModLoadFromFile(const char* file_name, const char* format, TVMModuleHandle* out) {
  static const char op[] = "load module";
  if (classic_need(out, op, "out") != 0) return -1;
  *out = NULL;
  if (tvmgo_check_usable(op) != 0) return -1;
  if (classic_need(file_name, op, "the file name") != 0) return -1;
  tvmgo_module* m = NULL;
  int rc = tvmgo_load_from_file(file_name, format, 0, &m);
  if (rc == 0) *out = m;
  return rc;
}

int TVMModImport(TVMModuleHandle mod, TVMModuleHandle dep) {
  static const char op[] = "import module";
  if (classic_need_object(mod, kTVMFFIModule, op) != 0 ||
      classic_need_object(dep, kTVMFFIModule, op) != 0)
    return -1;
  return tvmgo_module_import(mod, dep);
}

int TVMModGetFunction(TVMModuleHandle mod, const char* func_name, int query_imports,
                      TVMFunctionHandle* out) {
  static const char op[] = "get function of module";
  if (classic_need(out, op, "out") != 0) return -1;
  *out = NULL;
  if (classic_need_object(mod, kTVMFFIModule, op) != 0 ||
      classic_need(func_name, op, "the function's name") != 0)
    return -1;
  TVMFFIObject* f = NULL;
  if (tvmgo_module_get_function(mod, func_name, strlen(func_name), query_imports, &f) != 0)
    return -1;
  *out = f;
  return 0;
}

int TVMModFree(TVMModuleHandle mod) { return TVMObjectFree(mod); }
