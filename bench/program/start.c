/* What a small application does: load a library, call one function, exit.
 *
 *   start LIBRARY.so */
#include <stdio.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

static TVMFFIObjectHandle global(const char* name) {
  TVMFFIByteArray n = {name, strlen(name)};
  TVMFFIObjectHandle f = NULL;
  return TVMFFIFunctionGetGlobal(&n, &f) == 0 ? f : NULL;
}

static int fail(const char* what) {
  fprintf(stderr, "start: %s failed\n", what);
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) return fail("usage: start LIBRARY.so");
  TVMFFIObjectHandle load = global("ffi.ModuleLoadFromFile"), get = global("ffi.ModuleGetFunction");
  if (load == NULL || get == NULL) return fail("lookup");

  TVMFFIAny path = {.type_index = kTVMFFIRawStr}, module = {0}, f = {0}, result = {0};
  path.v_c_str = argv[1];
  if (TVMFFIFunctionCall(load, &path, 1, &module) != 0) return fail("load");
  TVMFFIAny args[3] = {module, {.type_index = kTVMFFIRawStr}, {.type_index = kTVMFFIBool}};
  args[1].v_c_str = "vadd";
  if (TVMFFIFunctionCall(get, args, 3, &f) != 0 || f.type_index != kTVMFFIFunction)
    return fail("get function");

  _Alignas(64) float data[3][16] = {{1}, {2}, {0}};
  int64_t shape[1] = {1}, strides[1] = {1};
  DLTensor tensors[3];
  TVMFFIAny views[3] = {{0}};
  for (int i = 0; i < 3; i++) {
    tensors[i] = (DLTensor){data[i], {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 0};
    views[i].type_index = kTVMFFIDLTensorPtr;
    views[i].v_ptr = &tensors[i];
  }
  if (TVMFFIFunctionCall(f.v_obj, views, 3, &result) != 0) return fail("call");
  return data[2][0] == 3.0f ? 0 : fail("vadd");
}
