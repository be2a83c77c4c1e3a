#include "object/object.h"

#include <stdlib.h>
#include <string.h>

const char* tvmgo_type_name(int32_t type_index) {
  switch (type_index) {
    case kTVMFFINone: return "None";
    case kTVMFFIInt: return "int";
    case kTVMFFIBool: return "bool";
    case kTVMFFIFloat: return "float";
    case kTVMFFIOpaquePtr: return "void*";
    case kTVMFFIDataType: return "DataType";
    case kTVMFFIDevice: return "Device";
    case kTVMFFIDLTensorPtr: return "DLTensor*";
    case kTVMFFIRawStr: return "const char*";
    case kTVMFFIByteArrayPtr: return "TVMFFIByteArray*";
    case kTVMFFIObjectRValueRef: return "ObjectRValueRef";
    case kTVMFFISmallStr:
    case kTVMFFIStr: return "str";
    case kTVMFFISmallBytes:
    case kTVMFFIBytes: return "bytes";
    case kTVMFFIError: return "Error";
    case kTVMFFIFunction: return "Function";
    case kTVMFFIShape: return "Shape";
    case kTVMFFITensor: return "Tensor";
    case kTVMFFIArray: return "Array";
    case kTVMFFIMap: return "Map";
    case kTVMFFIModule: return "Module";
    case kTVMFFIOpaquePyObject: return "OpaquePyObject";
    case kTVMFFIList: return "List";
    case kTVMFFIDict: return "Dict";
    case kTVMFFIBigInt: return "BigInt";
    default: break;
  }
  if (type_index < kTVMFFIStaticObjectBegin) return "unknown value";
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(type_index);
  return info == NULL ? "Object" : info->type_key.data;
}

const char* tvmgo_classic_code_name(int code) {
  switch (code) {
    case kTVMArgInt: return "int";
    case kTVMArgFloat: return "float";
    case kTVMOpaqueHandle: return "handle";
    case kTVMNullptr: return "NULL";
    case kTVMDataType: return "DLDataType";
    case kDLDevice: return "DLDevice";
    case kTVMDLTensorHandle: return "DLTensor*";
    case kTVMObjectHandle: return "object";
    case kTVMModuleHandle: return "module";
    case kTVMPackedFuncHandle: return "function";
    case kTVMStr: return "str";
    case kTVMBytes: return "bytes";
    case kTVMNDArrayHandle: return "NDArray";
    case kTVMObjectRValueRefArg: return "object rvalue";
    case kTVMArgBool: return "bool";
    default: return "unknown code";
  }
}

int tvmgo_classic_from_view(const TVMFFIAny* in, int bool_code, TVMValue* v, int* code) {
  if (in->type_index > kTVMFFIDLTensorPtr && tvmgo_check_value(in) != 0) return -1;
  switch (in->type_index) {
    case kTVMFFINone:
      v->v_handle = NULL;
      *code = kTVMNullptr;
      return 0;
    case kTVMFFIInt:
      v->v_int64 = in->v_int64;
      *code = kTVMArgInt;
      return 0;
    case kTVMFFIBool:
      v->v_int64 = in->v_int64 != 0;
      *code = bool_code;
      return 0;
    case kTVMFFIFloat:
      v->v_float64 = in->v_float64;
      *code = kTVMArgFloat;
      return 0;
    case kTVMFFIOpaquePtr:
      v->v_handle = in->v_ptr;
      *code = kTVMOpaqueHandle;
      return 0;
    case kTVMFFIDataType:
      v->v_int64 = 0;
      v->v_type = in->v_dtype;
      *code = kTVMDataType;
      return 0;
    case kTVMFFIDevice:
      v->v_device = in->v_device;
      *code = kDLDevice;
      return 0;
    case kTVMFFIDLTensorPtr:
      v->v_handle = in->v_ptr;
      *code = kTVMDLTensorHandle;
      return 0;
    case kTVMFFITensor:
      v->v_handle = tvmgo_tensor_dl(in->v_obj);
      *code = kTVMNDArrayHandle;
      return 0;
    case kTVMFFIRawStr:
      v->v_str = in->v_c_str;
      *code = kTVMStr;
      return 0;
    case kTVMFFISmallStr:
      if (in->v_bytes[in->small_str_len] != 0)
        return tvmgo_raise(TVMGO_VALUE_ERROR,
                           "a small str of %u bytes has garbage behind them, where its end must be: "
                           "make it with TVMFFIStringFromByteArray",
                           (unsigned)in->small_str_len);
      v->v_str = in->v_bytes;
      *code = kTVMStr;
      return 0;
    case kTVMFFIStr:
      v->v_str = ((TVMFFIByteArray*)(in->v_obj + 1))->data;
      *code = kTVMStr;
      return 0;
    case kTVMFFIByteArrayPtr:
      v->v_handle = in->v_ptr;
      *code = kTVMBytes;
      return 0;
    case kTVMFFIBytes:
      v->v_handle = in->v_obj + 1; /* the object's own byte array: same layout as TVMByteArray */
      *code = kTVMBytes;
      return 0;
    case kTVMFFISmallBytes:
      return tvmgo_raise(TVMGO_TYPE_ERROR,
                         "short bytes have no address in the classic ABI: pass a TVMByteArray*");
    case kTVMFFIObjectRValueRef:
      v->v_handle = in->v_ptr;
      *code = kTVMObjectRValueRefArg;
      return 0;
    case kTVMFFIFunction:
      v->v_handle = in->v_obj;
      *code = kTVMPackedFuncHandle;
      return 0;
    case kTVMFFIModule:
      v->v_handle = in->v_obj;
      *code = kTVMModuleHandle;
      return 0;
    default:
      if (in->type_index >= kTVMFFIStaticObjectBegin) {
        v->v_handle = in->v_obj;
        *code = kTVMObjectHandle;
        return 0;
      }
      return tvmgo_raise(TVMGO_TYPE_ERROR, "a value of type index %d has no classic form",
                         (int)in->type_index);
  }
}

/* A handle that must not be NULL. */
static int need_handle(const TVMValue* v, int code) {
  if (v->v_handle != NULL) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "a value of code %d (%s) is NULL: pass code %d for no value",
                     code, tvmgo_classic_code_name(code), kTVMNullptr);
}

/* An object of the kind that the code states. */
static int object_of(const TVMValue* v, int code, int32_t type_index, TVMFFIAny* out) {
  if (need_handle(v, code)) return -1;
  int array = type_index == kTVMFFITensor;
  *out = tvmgo_any_object(array ? (void*)tvmgo_tensor_of_array(v->v_handle) : v->v_handle);
  if (out->type_index == type_index) return 0;
  if (array)
    return tvmgo_raise(TVMGO_TYPE_ERROR,
                       "a value of code %d (NDArray) is a DLTensor that is not an array of this "
                       "runtime: pass it with code %d",
                       code, kTVMDLTensorHandle);
  return tvmgo_raise(TVMGO_TYPE_ERROR, "a value of code %d (%s) is an object of type %s", code,
                     tvmgo_classic_code_name(code), tvmgo_type_name(out->type_index));
}

int tvmgo_view_from_classic(const TVMValue* v, int code, TVMFFIAny* out) {
  *out = tvmgo_any_none();
  switch (code) {
    case kTVMArgInt:
      out->type_index = kTVMFFIInt;
      out->v_int64 = v->v_int64;
      return 0;
    case kTVMArgBool:
      out->type_index = kTVMFFIBool;
      out->v_int64 = v->v_int64 != 0;
      return 0;
    case kTVMArgFloat:
      out->type_index = kTVMFFIFloat;
      out->v_float64 = v->v_float64;
      return 0;
    case kTVMNullptr:
      return 0;
    case kTVMOpaqueHandle:
      *out = tvmgo_any_ptr(v->v_handle);
      return 0;
    case kTVMDataType:
      out->type_index = kTVMFFIDataType;
      out->v_dtype = v->v_type;
      return 0;
    case kDLDevice:
      out->type_index = kTVMFFIDevice;
      out->v_device = v->v_device;
      return 0;
    case kTVMDLTensorHandle:
      if (need_handle(v, code)) return -1;
      out->type_index = kTVMFFIDLTensorPtr;
      out->v_ptr = v->v_handle;
      return 0;
    case kTVMNDArrayHandle:
      return object_of(v, code, kTVMFFITensor, out);
    case kTVMStr:
      if (need_handle(v, code)) return -1;
      out->type_index = kTVMFFIRawStr;
      out->v_c_str = v->v_str;
      return 0;
    case kTVMBytes:
      if (need_handle(v, code)) return -1;
      out->type_index = kTVMFFIByteArrayPtr;
      out->v_ptr = v->v_handle;
      return tvmgo_check_value(out);
    case kTVMObjectRValueRefArg:
      if (need_handle(v, code)) return -1;
      out->type_index = kTVMFFIObjectRValueRef;
      out->v_ptr = v->v_handle;
      return 0;
    case kTVMModuleHandle: return object_of(v, code, kTVMFFIModule, out);
    case kTVMPackedFuncHandle: return object_of(v, code, kTVMFFIFunction, out);
    case kTVMObjectHandle:
      if (need_handle(v, code)) return -1;
      *out = tvmgo_any_object(v->v_handle);
      return 0;
    default:
      return tvmgo_raise(TVMGO_TYPE_ERROR, "type code %d is not one of the classic ABI's", code);
  }
}

/* Copies text into the thread's return buffer, which grows and is reused. */
static int keep_text(const TVMFFIByteArray* text) {
  tvmgo_thread* t = tvmgo_thread_get();
  if (text->size + 1 > t->return_cap) {
    char* grown = realloc(t->return_text, text->size + 1);
    if (grown == NULL) return tvmgo_raise_oom();
    t->return_text = grown;
    t->return_cap = text->size + 1;
  }
  if (text->size > 0) memcpy(t->return_text, text->data, text->size);
  t->return_text[text->size] = 0;
  t->return_bytes = (TVMByteArray){t->return_text, text->size};
  return 0;
}

int tvmgo_classic_result_from_any(TVMFFIAny* in, TVMValue* v, int* code) {
  TVMFFIByteArray text;
  int rc;
  switch (in->type_index) {
    case kTVMFFISmallStr:
    case kTVMFFIStr:
    case kTVMFFIRawStr:
    case kTVMFFISmallBytes:
    case kTVMFFIBytes:
    case kTVMFFIByteArrayPtr: {
      int bytes = in->type_index == kTVMFFISmallBytes || in->type_index == kTVMFFIBytes ||
                  in->type_index == kTVMFFIByteArrayPtr;
      rc = tvmgo_any_text(in, &text) ? keep_text(&text) : tvmgo_check_value(in);
      tvmgo_any_clear(in);
      if (rc != 0) return -1;
      tvmgo_thread* t = tvmgo_thread_get();
      if (bytes) {
        v->v_handle = &t->return_bytes;
        *code = kTVMBytes;
      } else {
        v->v_str = t->return_text;
        *code = kTVMStr;
      }
      return 0;
    }
    case kTVMFFIDataType: {
      char buf[64];
      DLDataType t = in->v_dtype;
      if (t.code == kDLBool && t.bits == 8) t.code = kDLUInt, t.bits = 1; /* "bool" in both */
      if (tvmgo_dtype_print_classic(t, buf, sizeof buf) != 0) return -1;
      text = (TVMFFIByteArray){buf, strlen(buf)};
      if (keep_text(&text) != 0) return -1;
      v->v_str = tvmgo_thread_get()->return_text;
      *code = kTVMStr;
      return 0;
    }
    default:
      rc = tvmgo_classic_from_view(in, kTVMArgBool, v, code);
      if (rc != 0) tvmgo_any_clear(in);
      return rc;
  }
}

int tvmgo_any_from_classic_result(const TVMValue* v, int code, TVMFFIAny* out) {
  *out = tvmgo_any_none();
  switch (code) {
    case kTVMStr:
      if (need_handle(v, code)) return -1;
      return tvmgo_string_make(v->v_str, strlen(v->v_str), out);
    case kTVMBytes: {
      if (need_handle(v, code)) return -1;
      const TVMByteArray* b = v->v_handle;
      return tvmgo_bytes_make(b->data, b->size, out);
    }
    case kTVMObjectRValueRefArg: {
      if (need_handle(v, code)) return -1;
      void** slot = v->v_handle;
      *out = tvmgo_any_object(*slot);
      *slot = NULL;
      return 0;
    }
    default: return tvmgo_view_from_classic(v, code, out);
  }
}
