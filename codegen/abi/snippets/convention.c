//// convention
/* One argument, as a function receives it: TVMGO_ARGUMENT declares it, TVMGO_A passes it on. */
#define TVMGO_ARGUMENT const TVMFFIAny* a
#define TVMGO_A a
#define TVMGO_IS_INT (a->type_index == kTVMFFIInt || a->type_index == kTVMFFIBool)
#define TVMGO_IS_FLOAT (a->type_index == kTVMFFIFloat)

//// convention classic
/* One argument, as a function receives it: TVMGO_ARGUMENT declares it, TVMGO_A passes it on. */
#define TVMGO_ARGUMENT const TVMValue* a, int code
#define TVMGO_A a, code
#define TVMGO_IS_INT (code == kTVMArgInt || code == kTVMArgBool)
#define TVMGO_IS_FLOAT (code == kTVMArgFloat)

//// export
#define TVMGO_EXPORT __attribute__((visibility("default")))

//// context: export
/* The loader stores the library's module here. Packed calls look up functions in its imports. */
#define TVMGO_CONTEXT __tvm_ffi__library_ctx
#define TVMGO_LOOK_UP TVMFFIEnvModLookupFromImports
TVMGO_EXPORT TVMGO_WEAK void* TVMGO_CONTEXT = NULL;

//// context classic
/* The loader stores the library's module here. Packed calls look up functions in its imports. */
#define TVMGO_CONTEXT __tvm_module_ctx
#define TVMGO_LOOK_UP TVMBackendGetFuncFromEnv
TVMGO_EXPORT TVMGO_WEAK void* TVMGO_CONTEXT = NULL;

//// text
/* Returns a constant string. */
TVMGO_SHARED __attribute__((noinline)) int tvmgo_text(const char* text, size_t size, TVMFFIAny* result) {
  const TVMFFIByteArray bytes = {text, size};
  return TVMFFIStringFromByteArray(&bytes, result);
}

//// bytes
/* Returns constant bytes. */
TVMGO_SHARED __attribute__((noinline)) int tvmgo_bytes(const char* data, size_t size, TVMFFIAny* result) {
  const TVMFFIByteArray bytes = {data, size};
  return TVMFFIBytesFromByteArray(&bytes, result);
}
