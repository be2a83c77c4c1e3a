/* Modules, their functions, and files. */
#include "card.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static TVMFFIAny global(const char* name, TVMFFIAny* args, int32_t n, const char* what) {
  TVMFFIByteArray key = {name, strlen(name)};
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny result = {0};
  if (TVMFFIFunctionGetGlobal(&key, &f) != 0 || f == NULL) card_fail("global function %s", name);
  if (TVMFFIFunctionCall(f, args, n, &result) != 0) card_fail("%s", what);
  TVMFFIObjectDecRef(f);
  return result;
}

static TVMFFIAny text(const char* s) { return (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = s}; }

TVMFFIAny card_load(const char* path) {
  TVMFFIAny arg = text(path);
  return global("ffi.ModuleLoadFromFile", &arg, 1, path);
}

TVMFFIAny card_function(TVMFFIAny module, const char* name) {
  TVMFFIAny args[3] = {module, text(name), {.type_index = kTVMFFIBool}};
  TVMFFIAny f = global("ffi.ModuleGetFunction", args, 3, name);
  if (f.type_index != kTVMFFIFunction) card_fail("there is no function %s", name);
  return f;
}

char* card_contents(const char* path) {
  FILE* f = fopen(path, "rb");
  if (f == NULL) card_fail("open %s", path);
  char* text = NULL;
  size_t n = 0, got;
  do {
    char* more = realloc(text, n + 4097);
    if (more == NULL) card_fail("no memory for %s", path);
    text = more;
    n += got = fread(text + n, 1, 4096, f);
  } while (got > 0);
  if (ferror(f)) card_fail("read %s", path);
  fclose(f);
  text[n] = 0;
  return text;
}
