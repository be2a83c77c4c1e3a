/* Runs every function of a module that Apache TVM exported, through both C ABIs, and compares the results with TVM's;
 * then runs them with invalid arguments. artifact_test FILE DIRECTORY FUNCTION...: the directory contains
 * <function>_in<i>.npy and <function>_out.npy. */
#include <tvm/runtime/c_runtime_api.h>

#include "ffi_abi_test.h"
#include "sample.h"

int failures;

static DLTensor tensor(npy* a) {
  return (DLTensor){.data = a->data, .device = {kDLCPU, 0}, .ndim = a->ndim, .dtype = {kDLFloat, 32, 1},
      .shape = a->shape};
}

/* ---- tvm-ffi ---- */

static void run_ffi(TVMFFIObjectHandle module, sample* s) {
  DLTensor t[MAX_INPUTS + 1];
  TVMFFIAny f, result = any_of(kTVMFFINone), args[MAX_INPUTS + 1];
  int n = s->n + 1;
  OK(CALL("ffi.ModuleGetFunction", &f, object_view(module), text_view(s->name), int_view(0)));
  NEED(f.type_index == kTVMFFIFunction);
  for (int i = 0; i < n; i++) t[i] = tensor(&s->value[i]), args[i] = ptr_view(kTVMFFIDLTensorPtr, &t[i]);
  forget(s);
  OK(TVMFFIFunctionCall(f.v_obj, args, n, &result));
  compare(s, "the tvm-ffi ABI, DLTensor*");

  for (int i = 0; i < n; i++) { /* the same with tensor objects */
    DLManagedTensor* lent = calloc(1, sizeof *lent);
    lent->dl_tensor = t[i];
    TVMFFIObjectHandle obj = NULL;
    OK(TVMFFITensorFromDLPack(lent, 64, 1, &obj));
    NEED(obj != NULL);
    args[i] = object_view(obj);
  }
  forget(s);
  OK(TVMFFIFunctionCall(f.v_obj, args, n, &result));
  compare(s, "the tvm-ffi ABI, tensors");
  for (int i = 0; i < n; i++) drop(&args[i]);

  for (int i = 0; i < n; i++) args[i] = ptr_view(kTVMFFIDLTensorPtr, &t[i]);
  taken_error e;
  t[0].dtype.bits = 64;
  CHECK(TVMFFIFunctionCall(f.v_obj, args, n, &result) == -1);
  e = take_error();
  CHECK(strstr(e.kind, "Error") != NULL);
  readable("wrong dtype", e.message, "dtype");
  t[0] = tensor(&s->value[0]), t[0].ndim++;
  CHECK(TVMFFIFunctionCall(f.v_obj, args, n, &result) == -1);
  e = take_error();
  readable("wrong ndim", e.message, "ndim");
  t[0] = tensor(&s->value[0]), args[0] = int_view(3);
  CHECK(TVMFFIFunctionCall(f.v_obj, args, n, &result) == -1);
  e = take_error();
  readable("no tensor", e.message, s->name);
  args[0] = ptr_view(kTVMFFIDLTensorPtr, &t[0]);
  CHECK(TVMFFIFunctionCall(f.v_obj, args, n - 1, &result) == -1);
  e = take_error();
  readable("too few arguments", e.message, s->name);
  OK(TVMFFIFunctionCall(f.v_obj, args, n, &result)); /* and it still works */
  drop(&f);
}

/* ---- classic ---- */

static void run_classic(TVMModuleHandle module, sample* s) {
  DLTensor t[MAX_INPUTS + 1];
  TVMFunctionHandle f = NULL;
  TVMValue args[MAX_INPUTS + 1], ret;
  int codes[MAX_INPUTS + 1], ret_code = -1, n = s->n + 1;
  CHECK(TVMModGetFunction(module, s->name, 0, &f) == 0);
  NEED(f != NULL);
  for (int i = 0; i < n; i++) t[i] = tensor(&s->value[i]), args[i].v_handle = &t[i], codes[i] = kTVMDLTensorHandle;
  forget(s);
  if (TVMFuncCall(f, args, codes, n, &ret, &ret_code) != 0) FAIL("%s: %s", s->name, TVMGetLastError());
  compare(s, "the classic ABI, DLTensor*");

  TVMArrayHandle array[MAX_INPUTS + 1];
  for (int i = 0; i < n; i++) {
    size_t bytes = (size_t)s->value[i].count * sizeof(float);
    CHECK(TVMArrayAlloc(t[i].shape, t[i].ndim, kDLFloat, 32, 1, kDLCPU, 0, &array[i]) == 0);
    CHECK(TVMArrayCopyFromBytes(array[i], s->value[i].data, bytes) == 0);
    args[i].v_handle = array[i], codes[i] = i % 2 ? kTVMNDArrayHandle : kTVMDLTensorHandle;
  }
  if (TVMFuncCall(f, args, codes, n, &ret, &ret_code) != 0) FAIL("%s: %s", s->name, TVMGetLastError());
  forget(s);
  CHECK(TVMArrayCopyToBytes(array[s->n], s->value[s->n].data, (size_t)s->want.count * sizeof(float)) == 0);
  compare(s, "the classic ABI, arrays");
  for (int i = 0; i < n; i++) CHECK(TVMArrayFree(array[i]) == 0);

  for (int i = 0; i < n; i++) args[i].v_handle = &t[i], codes[i] = kTVMDLTensorHandle;
  t[0].dtype.bits = 64;
  CHECK(TVMFuncCall(f, args, codes, n, &ret, &ret_code) == -1);
  readable("wrong dtype", TVMGetLastError(), "dtype");
  t[0] = tensor(&s->value[0]), t[0].ndim++;
  CHECK(TVMFuncCall(f, args, codes, n, &ret, &ret_code) == -1);
  readable("wrong ndim", TVMGetLastError(), "ndim");
  t[0] = tensor(&s->value[0]), codes[0] = kTVMArgInt;
  CHECK(TVMFuncCall(f, args, codes, n, &ret, &ret_code) == -1);
  readable("no tensor", TVMGetLastError(), s->name);
  codes[0] = kTVMDLTensorHandle;
  CHECK(TVMFuncCall(f, args, codes, n - 1, &ret, &ret_code) == -1);
  readable("too few arguments", TVMGetLastError(), s->name);
  CHECK(TVMFuncCall(f, args, codes, n, &ret, &ret_code) == 0); /* and it still works */
  CHECK(TVMFuncFree(f) == 0);
}

int main(int argc, char** argv) {
  TVMFFIAny module;
  TVMModuleHandle classic = NULL;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc < 4) return puts("usage: artifact_test FILE DIRECTORY FUNCTION..."), 2;
  if (TVMModLoadFromFile(argv[1], "", &classic) != 0) return puts(TVMGetLastError()), 1;
  OK(CALL("ffi.ModuleLoadFromFile", &module, text_view(argv[1])));
  for (int i = 3; i < argc && failures == 0; i++) {
    sample s;
    if (!read_sample(&s, argv[2], argv[i])) return puts("no sample"), 2;
    run_classic(classic, &s);
    run_ffi(module.v_obj, &s);
  }
  drop(&module);
  TVMModFree(classic);
  return report();
}
