/* The tvm-ffi C ABI: modules of source code, of object files and of constants, made, saved and loaded in C. */
#define _GNU_SOURCE
#include <stdio.h>

#include "ffi_abi_test.h"
#include "scratch.h"

static TVMFFIAny array_of(const char* a, const char* b) {
  TVMFFIAny out, items[2] = {text_view(a), b == NULL ? any_of(kTVMFFINone) : text_view(b)};
  OK(call_global("ffi.Array", items, b == NULL ? 1 : 2, &out));
  return out;
}

/* Reports whether function `name` of the module returns a list that begins with this text. */
static int lists(TVMFFIAny module, const char* name, int64_t size, const char* first) {
  TVMFFIAny f, list, n, item;
  OK(CALL("ffi.ModuleGetFunction", &f, module, text_view(name), int_view(0)));
  if (f.type_index != kTVMFFIFunction) return 0;
  list = any_of(kTVMFFINone);
  OK(TVMFFIFunctionCall(f.v_obj, NULL, 0, &list));
  OK(CALL("ffi.ArraySize", &n, list));
  OK(CALL("ffi.ArrayGetItem", &item, list, int_view(0)));
  int same = n.v_int64 == size && is_text(text_of(&item), first);
  drop(&item), drop(&list), drop(&f);
  return same;
}

static void test_source(void) {
  TVMFFIAny names = array_of("add", "sub"), constants = array_of("w", NULL), module, out, back;
  OK(CALL("runtime.CSourceModuleCreate", &module, text_view("int add;"), text_view("cc"), names, constants));
  NEED(module.type_index == kTVMFFIModule);
  OK(CALL("ffi.ModuleGetKind", &out, module));
  CHECK(is_text(text_of(&out), "c"));
  OK(CALL("ffi.ModuleGetPropertyMask", &out, module));
  CHECK(out.v_int64 == 5);
  OK(CALL("ffi.ModuleInspectSource", &out, module, text_view("")));
  CHECK(is_text(text_of(&out), "int add;"));
  drop(&out);
  OK(CALL("runtime.ModuleGetFormat", &out, module));
  CHECK(is_text(text_of(&out), "cc"));
  CHECK(lists(module, "get_func_names", 2, "add") && lists(module, "get_const_vars", 1, "w"));
  OK(CALL("ffi.ModuleImplementsFunction", &out, module, text_view("add"), int_view(0)));
  CHECK(out.v_int64 == 0);
  FAILS(CALL("ffi.ModuleGetFunction", &out, module, text_view("add"), int_view(0)), "NotSupportedError", "export it");
  OK(CALL("ffi.ModuleWriteToFile", &out, module, text_view(in_dir("m.cc")), text_view("cc")));
  FAILS(CALL("ffi.ModuleWriteToFile", &out, module, text_view(in_dir("m.so")), text_view("")), "NotSupportedError",
      "written as .cc");
  OK(CALL("runtime.ModuleLoadFromFile", &back, text_view(in_dir("m.cc"))));
  OK(CALL("runtime.ModuleGetTypeKey", &out, back));
  CHECK(is_text(text_of(&out), "c"));
  drop(&back);
  FAILS(CALL("runtime.CSourceModuleCreate", &out, text_view("x"), text_view("pascal")), "ValueError", "none of c, cc");
  FAILS(CALL("runtime.CSourceModuleCreate", &out, int_view(1), text_view("c")), "ValueError", "argument 0");
  FAILS(CALL("runtime.CSourceModuleCreate", &out, text_view("x")), "ValueError", "2 to 4");

  OK(CALL("runtime.ModuleLoadStaticLibrary", &back, text_view(in_dir("m.cc")), names)); /* any bytes */
  CHECK(lists(back, "get_func_names", 2, "add"));
  drop(&back);
  FAILS(CALL("runtime.ModuleLoadStaticLibrary", &out, text_view(in_dir("none.o")), names), "NotFoundError", "none.o");
  drop(&module), drop(&names), drop(&constants);
}

static void test_constants(void) {
  static float values[3] = {1, 2, 3};
  static int64_t three = 3;
  DLTensor t = {.data = values, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = &three};
  TVMFFIAny shape, tensor, tensors, symbols, wants = array_of("w", NULL), module, out, all, f;
  OK(CALL("ffi.Shape", &shape, int_view(3)));
  TVMFFIAny dtype = any_of(kTVMFFIDataType), cpu = any_of(kTVMFFIDevice);
  dtype.v_dtype = t.dtype, cpu.v_device = t.device;
  OK(CALL("runtime.TVMTensorAllocWithScope", &tensor, shape, dtype, cpu, any_of(kTVMFFINone)));
  memcpy(TVMFFITensorGetDLTensorPtr(tensor.v_obj)->data, values, sizeof values);
  OK(CALL("ffi.Map", &tensors, text_view("w"), tensor));
  OK(CALL("ffi.Map", &symbols, text_view("f"), wants));
  OK(CALL("ffi.Module.create.const_loader", &module, tensors, symbols));
  NEED(module.type_index == kTVMFFIModule);
  OK(CALL("ffi.ModuleGetFunction", &f, module, text_view("get_const_var_tensor"), int_view(0)));
  NEED(f.type_index == kTVMFFIFunction);
  all = any_of(kTVMFFINone);
  OK(TVMFFIFunctionCall(f.v_obj, NULL, 0, &all));
  OK(CALL("ffi.MapGetItem", &out, all, text_view("w")));
  CHECK(out.type_index == kTVMFFITensor && out.v_obj == tensor.v_obj);
  drop(&out), drop(&all), drop(&f);
  FAILS(CALL("ffi.ModuleGetFunction", &out, module, text_view("f"), int_view(1)), "RuntimeError", "__init_f");
  FAILS(CALL("ffi.Module.create.const_loader", &out, tensors), "ValueError", "2 arguments");
  drop(&module);
  CHECK(strong_count(tensor.v_obj) == 2); /* ours and the map's */
  drop(&tensors), drop(&symbols), drop(&tensor), drop(&shape), drop(&wants);
}

void test_kinds(void) {
  NEED(scratch_make());
  test_source();
  test_constants();
  scratch_remove();
}
