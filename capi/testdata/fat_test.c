/* Calls a library with variants of its functions for the CPU and OpenCL, through both ABIs, on every device and on
 * devices that nobody has.
 *
 *   fat_test LIBRARY DEVICES      DEVICES: how many OpenCL devices there are */
#include <tvm/runtime/c_runtime_api.h>

#include "ffi_abi_test.h"
#include "usage.h"

int failures;

enum { N = 300 };

/* The arrays of a call: c = a + b on a device. */
typedef struct {
  TVMArrayHandle handle[3];
  float want[N];
} arrays;

static int make(arrays* x, DLDevice d) {
  const int64_t n = N;
  float values[N];
  memset(x, 0, sizeof *x);
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < N; k++) {
      values[k] = (float)(k * (i + 1));
      if (i < 2) x->want[k] += values[k];
    }
    if (TVMArrayAlloc(&n, 1, kDLFloat, 32, 1, (int)d.device_type, d.device_id, &x->handle[i]) != 0) return -1;
    if (TVMArrayCopyFromBytes(x->handle[i], values, sizeof values) != 0) return -1;
  }
  return 0;
}

static void check(arrays* x) {
  float got[N] = {0};
  DLDevice d = ((DLTensor*)x->handle[2])->device;
  CHECK(TVMSynchronize((int)d.device_type, d.device_id, NULL) == 0);
  CHECK(TVMArrayCopyToBytes(x->handle[2], got, sizeof got) == 0);
  CHECK(memcmp(got, x->want, sizeof got) == 0);
}

static void release(arrays* x) {
  for (int i = 0; i < 3; i++) CHECK(TVMArrayFree(x->handle[i]) == 0);
}

static TVMFFIAny function(TVMFFIAny module, const char* name) {
  TVMFFIAny f, query = any_of(kTVMFFIBool);
  query.v_int64 = 1;
  OK(CALL("ffi.ModuleGetFunction", &f, module, text_view(name), query));
  if (f.type_index != kTVMFFIFunction) FAIL("no function %s", name);
  return f;
}

/* The modern ABI, with tensors as pointers. */
static void modern_calls(TVMFFIAny add, DLDevice d) {
  arrays x;
  TVMFFIAny args[3], result = any_of(kTVMFFINone);
  NEED(make(&x, d) == 0);
  for (int i = 0; i < 3; i++) args[i] = ptr_view(kTVMFFIDLTensorPtr, x.handle[i]);
  OK(TVMFFIFunctionCall(add.v_obj, args, 3, &result));
  CHECK(result.type_index == kTVMFFINone);
  check(&x);
  release(&x);
}

static void modern_mistakes(TVMFFIAny add) {
  float data[4] = {0};
  int64_t shape[1] = {4};
  DLTensor t = {data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0};
  TVMFFIAny args[3] = {ptr_view(kTVMFFIDLTensorPtr, &t), ptr_view(kTVMFFIDLTensorPtr, &t),
                       ptr_view(kTVMFFIDLTensorPtr, &t)};
  TVMFFIAny result = any_of(kTVMFFINone);
  const char* list =
      ", and the file has add for cpu (c), opencl: copy the tensor to a device of these, or build add for ";
  static const struct {
    int type, id;
    const char *device, *kind;
  } absent[] = {{kDLVulkan, 0, "vulkan:0", "vulkan, too"}, {kDLMetal, 3, "metal:3", "metal, too"},
                {77, 1, "a device of type 77", "a device of type 77, too"},
                {-5, 0, "a device of type -5", "a device of type -5, too"},
                {0, 0, "a device of type 0", "a device of type 0, too"},
                {INT32_MAX, INT32_MAX, "a device of type 2147483647", "a device of type 2147483647, too"}};
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
    char want[512];
    t.device = (DLDevice){(DLDeviceType)absent[i].type, absent[i].id};
    snprintf(want, sizeof want, "add: argument 0 (A): the tensor is on %s%s%s", absent[i].device, list, absent[i].kind);
    FAILS(TVMFFIFunctionCall(add.v_obj, args, 3, &result), "ValueError", want);
  }
  t.device = (DLDevice){kDLCPU, 0};
  FAILS(TVMFFIFunctionCall(add.v_obj, args, 2, &result), "TypeError", "add: expected 3 arguments, got 2");
  FAILS(TVMFFIFunctionCall(add.v_obj, NULL, 0, &result), "TypeError", "add: expected 3 arguments, got 0");
  args[0] = int_view(7);
  FAILS(TVMFFIFunctionCall(add.v_obj, args, 3, &result), "TypeError",
        "add: argument 0 (A): expected float32[n], got int");
  args[0] = ptr_view(kTVMFFIDLTensorPtr, NULL);
  FAILS(TVMFFIFunctionCall(add.v_obj, args, 3, &result), "ValueError",
        "argument 0 (A): the pointer to the tensor is NULL");
  DLTensor u = t;
  u.device.device_type = kDLOpenCL;
  args[0] = ptr_view(kTVMFFIDLTensorPtr, &t);
  args[1] = ptr_view(kTVMFFIDLTensorPtr, &u);
  FAILS(TVMFFIFunctionCall(add.v_obj, args, 3, &result), "ValueError",
        "add: argument 1 (B): the tensor is on opencl:0, expected cpu");
  args[0] = ptr_view(kTVMFFIDLTensorPtr, &u);
  args[1] = ptr_view(kTVMFFIDLTensorPtr, &t);
  FAILS(TVMFFIFunctionCall(add.v_obj, args, 3, &result), "ValueError",
        "add: argument 1 (B): the tensor is on cpu:0, expected opencl:0, the device of argument 0 (A): copy it");
}

static void modern(const char* path, int devices) {
  TVMFFIAny module, result, seven = int_view(7);
  OK(CALL("ffi.ModuleLoadFromFile", &module, text_view(path)));
  NEED(module.type_index == kTVMFFIModule);
  TVMFFIAny add = function(module, "add"), twice = function(module, "twice"), nothing = function(module, "nothing");
  TVMFFIAny one = function(module, "add__c");
  modern_calls(add, (DLDevice){kDLCPU, 0});
  modern_calls(one, (DLDevice){kDLCPU, 0});
  for (int i = 0; i < devices; i++) modern_calls(add, (DLDevice){kDLOpenCL, i});
  modern_mistakes(add);
  result = any_of(kTVMFFINone);
  OK(TVMFFIFunctionCall(twice.v_obj, &seven, 1, &result));
  CHECK(result.type_index == kTVMFFIInt && result.v_int64 == 14);
  result = any_of(kTVMFFINone);
  OK(TVMFFIFunctionCall(nothing.v_obj, NULL, 0, &result));
  CHECK(result.type_index == kTVMFFINone);
  TVMFFIAny* all[] = {&add, &twice, &nothing, &one, &module};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) drop(all[i]);
}

/* The classic ABI. */
static void classic(const char* path, int devices) {
  TVMModuleHandle module = NULL;
  TVMFunctionHandle add = NULL, twice = NULL;
  TVMValue args[3], result;
  int codes[3] = {kTVMNDArrayHandle, kTVMNDArrayHandle, kTVMNDArrayHandle}, code;
  NEED(TVMModLoadFromFile(path, "so", &module) == 0);
  NEED(TVMModGetFunction(module, "add", 0, &add) == 0 && add != NULL);
  for (int i = -1; i < devices; i++) {
    arrays x;
    NEED(make(&x, i < 0 ? (DLDevice){kDLCPU, 0} : (DLDevice){kDLOpenCL, i}) == 0);
    for (int k = 0; k < 3; k++) args[k].v_handle = x.handle[k];
    CHECK(TVMFuncCall(add, args, codes, 3, &result, &code) == 0);
    check(&x);
    release(&x);
  }
  float data[4] = {0};
  int64_t shape[1] = {4};
  DLTensor t = {data, {kDLVulkan, 2}, 1, {kDLFloat, 32, 1}, shape, NULL, 0};
  for (int k = 0; k < 3; k++) {
    args[k].v_handle = &t;
    codes[k] = kTVMDLTensorHandle;
  }
  CHECK(TVMFuncCall(add, args, codes, 3, &result, &code) != 0);
  CHECK(strstr(TVMGetLastError(), "add: argument 0 (A): the tensor is on vulkan:2, and the file has add for cpu (c), "
                                  "opencl: copy the tensor to a device of these, or build add for vulkan, too"));
  CHECK(TVMFuncCall(add, args, codes, 1, &result, &code) != 0);
  NEED(TVMModGetFunction(module, "twice", 0, &twice) == 0 && twice != NULL);
  args[0].v_int64 = -4;
  codes[0] = kTVMArgInt;
  CHECK(TVMFuncCall(twice, args, codes, 1, &result, &code) == 0 && code == kTVMArgInt && result.v_int64 == -8);
  TVMFuncFree(twice);
  TVMFuncFree(add);
  TVMModFree(module);
}

/* Fat modules are built from C, too. */
static void build(void) {
  static const char cpu[] = "func f(A: handle) {\n  buffer a: float32[4], param A\n"
                            "  for i in range(4) { a[i] = a[i] + 1.0 }\n}\n";
  static const char gpu[] = "func f(A: handle) {\n  buffer a: float32[4], param A\n"
                            "  thread i in range(4), thread \"threadIdx.x\" { a[i] = a[i] + 1.0 }\n}\n";
  TVMFFIAny module, out;
  OK(CALL("codegen.BuildVariants", &module, text_view("c"), text_view(cpu), text_view("opencl"), text_view(gpu)));
  NEED(module.type_index == kTVMFFIModule);
  TVMFFIAny f = function(module, "f"), result = any_of(kTVMFFINone);
  float data[4] = {0, 1, 2, 3};
  int64_t shape[1] = {4};
  DLTensor t = {data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0};
  TVMFFIAny arg = ptr_view(kTVMFFIDLTensorPtr, &t);
  OK(TVMFFIFunctionCall(f.v_obj, &arg, 1, &result));
  CHECK(data[0] == 1 && data[3] == 4);
  drop(&f);
  drop(&module);
  OK(CALL("codegen.Build", &module, text_view(gpu), text_view("opencl"), text_view("opencl -max_threads_per_block=8")));
  drop(&module);
  FAILS(CALL("codegen.BuildVariants", &out, text_view("c")), "TypeError", "expected pairs of a target and a program");
  FAILS(CALL("codegen.BuildVariants", &out, text_view("c"), text_view(cpu), text_view("c"), text_view(cpu)),
        "ValueError", "target c is in the list twice (0 and 1)");
  FAILS(CALL("codegen.BuildVariants", &out, text_view("c"), text_view(cpu), text_view("opencx"), text_view(cpu)),
        "ValueError", "codegen.BuildVariants: argument 2: ");
  FAILS(CALL("codegen.BuildVariants", &out, text_view("c"), int_view(1)), "TypeError",
        "argument 1: expected a program");
  FAILS(CALL("codegen.Build", &out, text_view(cpu), text_view("c"), int_view(1)), "TypeError",
        "argument 2: expected a target");
  FAILS(CALL("target.build.c", &out, text_view(cpu), text_view("c"), text_view("c")), "TypeError", "got 3 arguments");
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int devices = atoi(argv[2]);
  modern(argv[1], devices);
  classic(argv[1], devices);
  build();
  return report();
}
