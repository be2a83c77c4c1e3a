TVMGO_COMMON const char* tvmgo_kind(const TVMFFIAny* a) {
  switch (a->type_index) {
    case kTVMFFINone: return "None";
    case kTVMFFIInt: return "int";
    case kTVMFFIBool: return "bool";
    case kTVMFFIFloat: return "float";
    case kTVMFFIOpaquePtr: return "a pointer";
    case kTVMFFIDataType: return "a data type";
    case kTVMFFIDevice: return "a device";
    case kTVMFFIDLTensorPtr:
    case kTVMFFITensor: return "a tensor";
    case kTVMFFIRawStr:
    case kTVMFFISmallStr:
    case kTVMFFIStr: return "a string";
    case kTVMFFIByteArrayPtr:
    case kTVMFFISmallBytes:
    case kTVMFFIBytes: return "bytes";
    case kTVMFFIFunction: return "a function";
    case kTVMFFIShape: return "a shape";
    case kTVMFFIArray:
    case kTVMFFIList: return "an array";
    case kTVMFFIMap:
    case kTVMFFIDict: return "a map";
    case kTVMFFIModule: return "a module";
  }
  return "another object";
}
