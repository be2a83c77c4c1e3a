TVMGO_COMMON const char* tvmgo_kind(int code) {
  switch (code) {
    case kTVMArgInt: return "int";
    case kTVMArgFloat: return "float";
    case kTVMOpaqueHandle: return "a pointer";
    case kTVMNullptr: return "None";
    case kTVMDataType: return "a data type";
    case kDLDevice: return "a device";
    case kTVMDLTensorHandle:
    case kTVMNDArrayHandle: return "a tensor";
    case kTVMModuleHandle: return "a module";
    case kTVMPackedFuncHandle: return "a function";
    case kTVMStr: return "a string";
    case kTVMBytes: return "bytes";
    case kTVMArgBool: return "bool";
  }
  return "another object";
}
