/* Runs functions of a module that Apache TVM exported for a device, through both C ABIs, and compares with what TVM
 * computed.
 *   gpu_artifact_test FILE DIRECTORY TYPE INDEX FUNCTION...
 * TYPE and INDEX are the numbers of the device; sample.h describes the directory. The module imports one that has a
 * kernel <function>_kernel for each function. */
#include <tvm/runtime/c_runtime_api.h>

#include "ffi_abi_test.h"
#include "sample.h"

int failures;

static DLDevice device;

static size_t bytes(const npy* a) { return (size_t)a->count * sizeof(float); }

/* ---- classic ---- */

static TVMArrayHandle array_of(const npy* a) {
  TVMArrayHandle out = NULL;
  CHECK(TVMArrayAlloc(a->shape, a->ndim, kDLFloat, 32, 1, (int)device.device_type, device.device_id, &out) == 0);
  return out;
}

/* Once with the default stream and arrays of both kinds, once with a stream of its own, once after the module is
 * gone. */
static void run_classic(const char* file, sample* s) {
  TVMModuleHandle module = NULL;
  TVMFunctionHandle f = NULL;
  TVMArrayHandle array[MAX_INPUTS + 1];
  TVMValue args[MAX_INPUTS + 1], ret;
  TVMStreamHandle stream = NULL;
  int codes[MAX_INPUTS + 1], ret_code = -1, n = s->n + 1, type = (int)device.device_type, id = device.device_id;
  if (TVMModLoadFromFile(file, "", &module) != 0) FAIL("%s", TVMGetLastError());
  CHECK(TVMModGetFunction(module, s->name, 0, &f) == 0);
  NEED(f != NULL);
  for (int i = 0; i < n; i++) {
    NEED((array[i] = array_of(&s->value[i])) != NULL);
    if (i < s->n) CHECK(TVMArrayCopyFromBytes(array[i], s->value[i].data, bytes(&s->value[i])) == 0);
    args[i].v_handle = array[i], codes[i] = i % 2 ? kTVMNDArrayHandle : kTVMDLTensorHandle;
  }
  CHECK(TVMStreamCreate(type, id, &stream) == 0);
  for (int round = 0; round < 3; round++) {
    forget(s);
    CHECK(TVMArrayCopyFromBytes(array[s->n], s->value[s->n].data, bytes(&s->want)) == 0);
    CHECK(TVMSetStream(type, id, round == 1 ? stream : NULL) == 0);
    if (TVMFuncCall(f, args, codes, n, &ret, &ret_code) != 0) FAIL("%s: %s", s->name, TVMGetLastError());
    CHECK(TVMSynchronize(type, id, round == 1 ? stream : NULL) == 0);
    CHECK(TVMSetStream(type, id, NULL) == 0);
    CHECK(TVMArrayCopyToBytes(array[s->n], s->value[s->n].data, bytes(&s->want)) == 0);
    compare(s, "the classic ABI");
    if (round == 1) CHECK(TVMModFree(module) == 0); /* the function keeps what it needs */
  }
  DLTensor host = *(DLTensor*)array[0];
  host.data = s->value[0].data, host.device = (DLDevice){kDLCPU, 0}, host.byte_offset = 0;
  args[0].v_handle = &host, codes[0] = kTVMDLTensorHandle;
  CHECK(TVMFuncCall(f, args, codes, n, &ret, &ret_code) == -1);
  const char* said = TVMGetLastError(); /* by code of TVM's compiler, or of ours */
  readable("an array of the host", said, strstr(said, "device_type") != NULL
      ? "device_type" : "expected cpu:0, the device of argument 0");
  CHECK(TVMStreamFree(type, id, stream) == 0);
  for (int i = 0; i < n; i++) CHECK(TVMArrayFree(array[i]) == 0);
  CHECK(TVMFuncFree(f) == 0);
}

/* ---- tvm-ffi ---- */

static TVMFFIAny dim_of(const npy* a, TVMFFIAny* shape) {
  TVMFFIAny dims[4], args[4], out = any_of(kTVMFFINone);
  for (int i = 0; i < a->ndim; i++) dims[i] = int_view(a->shape[i]);
  TVMFFIObjectHandle make = NULL;
  TVMFFIByteArray name = bytes_of("ffi.Shape");
  OK(TVMFFIFunctionGetGlobal(&name, &make));
  OK(TVMFFIFunctionCall(make, dims, a->ndim, shape));
  TVMFFIObjectDecRef(make);
  args[0] = *shape;
  args[1] = any_of(kTVMFFIDataType), args[1].v_dtype = (DLDataType){kDLFloat, 32, 1};
  args[2] = any_of(kTVMFFIDevice), args[2].v_device = device;
  args[3] = any_of(kTVMFFINone);
  OK(CALL("runtime.TVMTensorAllocWithScope", &out, args[0], args[1], args[2], args[3]));
  return out;
}

static void run_ffi(const char* file, sample* s) {
  TVMFFIAny module, f, kernel, none = any_of(kTVMFFINone), shape[MAX_INPUTS + 1], args[MAX_INPUTS + 1];
  DLTensor* t[MAX_INPUTS + 1];
  int n = s->n + 1;
  OK(CALL("ffi.ModuleLoadFromFile", &module, text_view(file)));
  OK(CALL("ffi.ModuleGetFunction", &f, module, text_view(s->name), int_view(0)));
  NEED(f.type_index == kTVMFFIFunction);
  for (int i = 0; i < n; i++) {
    args[i] = dim_of(&s->value[i], &shape[i]);
    NEED(args[i].type_index == kTVMFFITensor);
    t[i] = TVMFFITensorGetDLTensorPtr(args[i].v_obj);
    if (i < s->n)
      OK(CALL("runtime.TVMTensorCopyFromBytes", &none, args[i], ptr_view(kTVMFFIOpaquePtr, s->value[i].data),
              int_view((int64_t)bytes(&s->value[i]))));
  }
  for (int round = 0; round < 2; round++) { /* tensors, then what is behind them */
    TVMFFIAny given[MAX_INPUTS + 1];
    for (int i = 0; i < n; i++) given[i] = round == 0 ? args[i] : ptr_view(kTVMFFIDLTensorPtr, t[i]);
    forget(s);
    OK(CALL("runtime.TVMTensorCopyFromBytes", &none, args[s->n], ptr_view(kTVMFFIOpaquePtr, s->value[s->n].data),
            int_view((int64_t)bytes(&s->want))));
    OK(TVMFFIFunctionCall(f.v_obj, given, n, &none));
    OK(CALL("runtime.TVMTensorCopyToBytes", &none, args[s->n], ptr_view(kTVMFFIOpaquePtr, s->value[s->n].data),
            int_view((int64_t)bytes(&s->want))));
    compare(s, round == 0 ? "the tvm-ffi ABI, tensors" : "the tvm-ffi ABI, DLTensor*");
  }

  /* The kernel itself is a function of an import. */
  char name[64];
  snprintf(name, sizeof name, "%s_kernel", s->name);
  OK(CALL("ffi.ModuleGetFunction", &kernel, module, text_view(name), int_view(1)));
  NEED(kernel.type_index == kTVMFFIFunction);
  CHECK(TVMFFIFunctionCall(kernel.v_obj, NULL, 0, &none) == -1);
  taken_error e = take_error();
  readable("a kernel without arguments", e.message, name);
  drop(&kernel);
  drop(&module);
  for (int i = 0; i < n; i++) drop(&args[i]), drop(&shape[i]);
  drop(&f);
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc < 6) return puts("usage: gpu_artifact_test FILE DIRECTORY TYPE INDEX FUNCTION..."), 2;
  device = (DLDevice){(DLDeviceType)atoi(argv[3]), atoi(argv[4])};
  for (int i = 5; i < argc && failures == 0; i++) {
    sample s;
    if (!read_sample(&s, argv[2], argv[i])) return puts("no sample"), 2;
    run_classic(argv[1], &s);
    run_ffi(argv[1], &s);
  }
  return report();
}
