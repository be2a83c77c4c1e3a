/* Classic C ABI: arrays. A handle is the address of the DLTensor inside a tensor object. Functions that need only a
 * DLTensor accept any. */
#include "classic.h"

TVMFFIObject* classic_array_object(TVMArrayHandle handle, const char* op) {
  if (classic_need(handle, op, "the array") != 0) return NULL;
  TVMFFIObject* obj = tvmgo_tensor_of_array(handle);
  if (obj->type_index == kTVMFFITensor) return obj;
  tvmgo_raise(TVMGO_TYPE_ERROR,
              "%s: the DLTensor at %p is not an array of this runtime: only handles from "
              "TVMArrayAlloc, TVMArrayFromDLPack or a call's result are accepted",
              op, (void*)handle);
  return NULL;
}

/* A dtype from three ints, none of which may lose bits. */
static int make_dtype(int code, int bits, int lanes, DLDataType* out) {
  if (code < 0 || code > UINT8_MAX || bits < 0 || bits > UINT8_MAX || lanes < 0 ||
      lanes > UINT16_MAX)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "allocate array: no element type has code %d, %d bits and %d lanes", code,
                       bits, lanes);
  *out = (DLDataType){(uint8_t)code, (uint8_t)bits, (uint16_t)lanes};
  return 0;
}

int TVMArrayAlloc(const tvm_index_t* shape, int ndim, int dtype_code, int dtype_bits,
                  int dtype_lanes, int device_type, int device_id, TVMArrayHandle* out) {
  DLDataType dtype;
  if (classic_need(out, "allocate array", "out") != 0) return -1;
  *out = NULL;
  if (tvmgo_check_usable("allocate array") != 0) return -1;
  if (make_dtype(dtype_code, dtype_bits, dtype_lanes, &dtype) != 0) return -1;
  DLDevice dev = {(DLDeviceType)device_type, device_id};
  tvmgo_tensor* t = tvmgo_tensor_new(shape, ndim, dtype, dev, NULL);
  if (t == NULL) return -1;
  t->dl.strides = NULL; /* compact: this ABI represents that by NULL */
  *out = &t->dl;
  return 0;
}

int TVMArrayFree(TVMArrayHandle handle) {
  if (handle == NULL) return 0;
  TVMFFIObject* obj = classic_array_object(handle, "free array");
  if (obj == NULL) return -1;
  tvmgo_object_release(obj);
  return 0;
}

int TVMArrayGetTypeIndex(TVMArrayHandle handle, unsigned* out_tindex) {
  TVMFFIObject* obj = classic_array_object(handle, "get type index of array");
  return obj == NULL ? -1 : TVMObjectGetTypeIndex(obj, out_tindex);
}

int TVMArrayCopyFromBytes(TVMArrayHandle handle, void* data, size_t nbytes) {
  return tvmgo_dl_copy_bytes(handle, data, nbytes, 1);
}

int TVMArrayCopyToBytes(TVMArrayHandle handle, void* data, size_t nbytes) {
  return tvmgo_dl_copy_bytes(handle, data, nbytes, 0);
}

int TVMArrayCopyFromTo(TVMArrayHandle from, TVMArrayHandle to, TVMStreamHandle stream) {
  return tvmgo_dl_copy(from, to, stream);
}

int TVMArrayFromDLPack(DLManagedTensor* from, TVMArrayHandle* out) {
  TVMFFIObjectHandle obj = NULL;
  if (classic_need(out, "take DLPack tensor", "out") != 0) return -1;
  *out = NULL;
  if (TVMFFITensorFromDLPack(from, 0, 0, &obj) != 0) return -1;
  *out = tvmgo_tensor_dl(obj);
  return 0;
}

int TVMArrayToDLPack(TVMArrayHandle from, DLManagedTensor** out) {
  static const char op[] = "give DLPack tensor";
  if (classic_need(out, op, "out") != 0) return -1;
  *out = NULL;
  TVMFFIObject* obj = classic_array_object(from, op);
  return obj == NULL ? -1 : TVMFFITensorToDLPack(obj, out);
}

void TVMDLManagedTensorCallDeleter(DLManagedTensor* dltensor) {
  if (dltensor != NULL && dltensor->deleter != NULL) dltensor->deleter(dltensor);
}
