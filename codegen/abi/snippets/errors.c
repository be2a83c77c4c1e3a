//// parameter
/* One parameter of a function, for error messages. */
typedef struct {
  const char* function;
  const char* argument; /* "argument 0 (A)" */
  const char* name;
  const char* type;
} tvmgo_parameter;
#define TVMGO_AT "%s: %s: "
#define TVMGO_OF(p) (p)->function, (p)->argument

//// raise
/* Sets this thread's error. A message of more than 4 KiB is cut off. */
TVMGO_SHARED __attribute__((noinline, cold, format(printf, 2, 3))) int32_t tvmgo_raise(const char* kind,
                                                                                       const char* format, ...) {
  char message[4096];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof(message), format, args);
  va_end(args);
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

//// raise classic
/* Sets this thread's error. A message of more than 4 KiB is cut off. */
TVMGO_SHARED __attribute__((noinline, cold, format(printf, 2, 3))) int32_t tvmgo_raise(const char* kind,
                                                                                       const char* format, ...) {
  char message[4096];
  va_list args;
  const int used = snprintf(message, sizeof(message), "%s: ", kind);
  va_start(args, format);
  vsnprintf(message + used, sizeof(message) - (size_t)used, format, args);
  va_end(args);
  TVMAPISetLastError(message);
  return -1;
}

//// kind: convention
TVMGO_SHARED const char* tvmgo_kind(TVMGO_ARGUMENT) {
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

//// kind classic
TVMGO_SHARED const char* tvmgo_kind(TVMGO_ARGUMENT) {
  (void)a;
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

//// expected: raise parameter kind
TVMGO_SHARED int32_t tvmgo_expected(const tvmgo_parameter* p, TVMGO_ARGUMENT) {
  return tvmgo_raise("TypeError", TVMGO_AT "expected %s, got %s", TVMGO_OF(p), p->type, tvmgo_kind(TVMGO_A));
}

//// count: raise
TVMGO_SHARED int32_t tvmgo_count(const char* function, const char* signature, const void* args, int32_t got,
                                 int32_t want) {
  if (got == want && (args != NULL || want == 0)) return 0;
  const char* what = want == 1 ? "argument" : "arguments";
  if (got == want)
    return tvmgo_raise("TypeError", "%s: expected %d %s, got NULL: %s", function, (int)want, what, signature);
  return tvmgo_raise("TypeError", "%s: expected %d %s, got %d: %s", function, (int)want, what, (int)got, signature);
}
