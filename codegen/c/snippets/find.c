/* What was looked up for one module: a file that is opened again while it is mapped may get another one. */
typedef struct {
  void* context;
  TVMFFIObjectHandle function;
} tvmgo_import;

static int32_t tvmgo_find(tvmgo_import* known, const char* name, TVMFFIObjectHandle* out) {
  void* context = __atomic_load_n(&__tvm_ffi__library_ctx, __ATOMIC_ACQUIRE);
  if (context != NULL && __atomic_load_n(&known->context, __ATOMIC_ACQUIRE) == context) {
    *out = __atomic_load_n(&known->function, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&known->context, __ATOMIC_ACQUIRE) == context) return 0;
  }
  const int rc = TVMFFIEnvModLookupFromImports(context, name, out);
  if (rc != 0) return rc;
  __atomic_store_n(&known->context, (void*)NULL, __ATOMIC_RELEASE);
  __atomic_store_n(&known->function, *out, __ATOMIC_RELEASE);
  __atomic_store_n(&known->context, context, __ATOMIC_RELEASE);
  return 0;
}
