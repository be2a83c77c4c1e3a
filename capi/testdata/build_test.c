/* Builds programs from C, given as text and as JSON, and calls them. Its first call is that of a generator. */
#include "ffi_abi_test.h"
#include "usage.h"

int failures;

static const char program[] =
    "func add_one(A: handle) {\n"
    "  buffer a: float32[4], param A\n"
    "  for i in range(4) { a[i] = a[i] + 1.0 }\n"
    "}\n"
    "func twice(A: handle) {\n"
    "  attrs {\"target\": target \"c -march=x86-64\"}\n"
    "  buffer a: float32[4], param A\n"
    "  func add_one(A)\n"
    "  packed add_one(A)\n"
    "}\n";

/* Calls a function of a module on four zeros, and expects each to become want. */
static void check_calls(TVMFFIAny module, const char* name, float want) {
  float data[4] = {0};
  int64_t shape[1] = {4}, strides[1] = {1};
  DLTensor t = {data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 0};
  TVMFFIAny f, result = any_of(kTVMFFINone), arg = ptr_view(kTVMFFIDLTensorPtr, &t), query = any_of(kTVMFFIBool);
  query.v_int64 = 1;
  OK(CALL("ffi.ModuleGetFunction", &f, module, text_view(name), query));
  CHECK(f.type_index == kTVMFFIFunction);
  if (f.type_index != kTVMFFIFunction) return;
  OK(TVMFFIFunctionCall(f.v_obj, &arg, 1, &result));
  for (int i = 0; i < 4; i++) CHECK(data[i] == want);
  drop(&result);
  drop(&f);
}

static void check_kinds(const char* first) {
  TVMFFIAny module, target;
  OK(CALL(first, &module, text_view(program)));
  CHECK(module.type_index == kTVMFFIModule);
  check_calls(module, "add_one", 1);
  check_calls(module, "twice", 2);
  drop(&module);
  OK(CALL("target.Target", &target, text_view("c")));
  OK(CALL("target.build.c", &module, text_view(program), target));
  check_calls(module, "twice", 2);
  drop(&module);
  drop(&target);
}

/* A program as an object, and as JSON. */
static void check_programs(void) {
  TVMFFIAny m, again, json, source, module;
  OK(CALL("tir.FromText", &m, text_view(program)));
  CHECK(m.type_index == kTVMFFIModule);
  OK(CALL("ffi.ModuleInspectSource", &json, m, text_view("json")));
  OK(CALL("tir.FromJSON", &again, json));
  OK(CALL("ffi.ModuleInspectSource", &source, again, text_view("tir")));
  TVMFFIByteArray text = text_of(&source);
  CHECK(text.size > 20 && memcmp(text.data, "func add_one(", 13) == 0);
  TVMFFIAny inputs[] = {m, again, json, source};
  for (int i = 0; i < 4; i++) {
    OK(CALL("codegen.Build", &module, inputs[i], text_view("c")));
    check_calls(module, "twice", 2);
    drop(&module);
  }
  TVMFFIAny f, yes = any_of(kTVMFFIBool);
  yes.v_int64 = 1;
  FAILS(CALL("ffi.ModuleGetFunction", &f, m, text_view("add_one"), yes), "NotSupportedError",
      "build it by codegen.Build");
  drop(&source);
  drop(&json);
  drop(&again);
  drop(&m);
}

static void check_mistakes(void) {
  TVMFFIAny out, source;
  FAILS(CALL("codegen.Build", &out, text_view(program), text_view("metal")), "NotSupportedError",
      "no code generator target.build.metal is enabled: enabled are c, cuda, llvm, nvptx, opencl, vulkan");
  FAILS(CALL("codegen.Build", &out, text_view(program), text_view("nonesuch")), "ValueError",
      "codegen.Build: argument 1: ");
  FAILS(CALL("codegen.Build", &out, text_view(program), text_view("")), "ValueError",
      "argument 1: the target is empty");
  FAILS(CALL("codegen.Build", &out, text_view(program), int_view(3)), "TypeError", "argument 1: expected a target");
  FAILS(CALL("codegen.Build", &out, text_view(program)), "TypeError", "expected a program and a target, got 1 "
      "arguments");
  FAILS(CALL("codegen.Build", &out, any_of(kTVMFFINone), text_view("c")), "TypeError",
      "argument 0: expected a program");
  FAILS(CALL("codegen.Build", &out, text_view("func f("), text_view("c")), "ValueError",
      "argument 0: tir: parse: line 1");
  FAILS(CALL("codegen.Build", &out, text_view("{\"tir\": 2}"), text_view("c")), "ValueError", "argument 0: ");
  FAILS(CALL("codegen.Build", &out, text_view("func f() { func f() }"), text_view("c")), "ValueError",
      "call each other recursively: f calls f");
  FAILS(CALL("target.build.c", &out, text_view(program), text_view("opencl")), "ValueError",
      "the target is of kind \"opencl\": call target.build.opencl");
  FAILS(CALL("target.build.c", &out), "TypeError", "got 0 arguments");
  FAILS(CALL("target.build.opencl", &out, text_view("func f(A: handle) {\n  buffer a: float32[4], param A\n"
      "  for i in range(4) { a[i] = 1.0 }\n}\n")), "ValueError", "f");
  FAILS(CALL("tir.FromText", &out, text_view("what?")), "ValueError", "tir.FromText: tir: parse: line 1");
  FAILS(CALL("tir.FromJSON", &out, text_view("[]")), "ValueError", "tir.FromJSON: ");
  FAILS(CALL("tir.FromText", &out, int_view(1)), "TypeError", "expected text");
  OK(CALL("runtime.CSourceModuleCreate", &source, text_view("int x;"), text_view("c")));
  FAILS(CALL("codegen.Build", &out, source, text_view("c")), "TypeError", "got a module of kind \"c\": tir.FromText "
      "and tir.FromJSON make one");
  drop(&source);
}

static void check_opencl(void) {
  TVMFFIAny module, kinds, size;
  OK(CALL("target.build.opencl", &module, text_view("func f(A: handle) {\n  buffer a: float32[4], param A\n"
      "  thread i in range(4), thread \"threadIdx.x\" "
                                                    "{ a[i] = 1.0 }\n}\n")));
  CHECK(module.type_index == kTVMFFIModule);
  drop(&module);
  OK(call_global("codegen.Kinds", NULL, 0, &kinds));
  OK(CALL("ffi.ArraySize", &size, kinds));
  CHECK(size.v_int64 == 6);
  drop(&kinds);
}

int main(int argc, char** argv) {
  check_kinds(argc > 1 ? argv[1] : "target.build.c");
  check_programs();
  check_mistakes();
  check_opencl();
  return report();
}
