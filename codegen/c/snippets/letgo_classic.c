extern int TVMArrayFree(TVMArrayHandle) __attribute__((weak)); /* a runtime that only runs may not have them */
extern int TVMObjectFree(TVMObjectHandle) __attribute__((weak));

static void tvmgo_let_go(TVMValue result, int code) {
  if (code == kTVMNDArrayHandle && TVMArrayFree != NULL) TVMArrayFree((TVMArrayHandle)result.v_handle);
  const int object = code == kTVMObjectHandle || code == kTVMModuleHandle || code == kTVMPackedFuncHandle;
  if (object && TVMObjectFree != NULL) TVMObjectFree(result.v_handle);
}
