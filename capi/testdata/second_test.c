/* Two tvmgo libraries in one process: the functions of the second are errors that name both.
 *   second_test FIRST SECOND  — "-" for FIRST is the library that the program is linked with */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/device_api.h>

static int failures;
#define CHECK(x) ((x) ? 0 : (failures++, printf("line %d: %s\n", __LINE__, #x)))

typedef struct {
  void* handle;
} library;

static void* find(library l, const char* name) {
  void* f = dlsym(l.handle, name);
  if (f == NULL) printf("%s\n", dlerror());
  CHECK(f != NULL);
  return f;
}
#define CALL(l, f) ((__typeof__(&f))find(l, #f))

static library open_library(const char* path) {
  library l = {path[0] == '-' ? RTLD_DEFAULT : dlopen(path, RTLD_NOW | RTLD_LOCAL)};
  if (path[0] != '-' && l.handle == NULL) printf("%s\n", dlerror());
  CHECK(path[0] == '-' || l.handle != NULL);
  return l;
}

static const char *first_path, *second_path;

static int names_both(const char* text) {
  const char* first = strchr(first_path, '/') == NULL ? "" : first_path;
  return strstr(text, "two tvmgo libraries") != NULL && strstr(text, first) != NULL &&
         strstr(text, second_path) != NULL && strstr(text, "only one of them") != NULL;
}

static int nothing(TVMValue* args, int* codes, int n, TVMRetValueHandle result, void* self) {
  (void)args, (void)codes, (void)result, (void)self;
  return n;
}

static int no_call(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)result;
  return n;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  first_path = argv[1], second_path = argv[2];
  library first = open_library(first_path), second = open_library(second_path);
  if (failures != 0) return 1;
  TVMFunctionHandle f = NULL, known;
  TVMModuleHandle m;
  TVMArrayHandle a;
  void* p;
  const TVMGODeviceAPI* api;
  int n;
  const char** names;
  int64_t shape = 4;
  TVMFFIByteArray name = {"runtime.NumThreads", 18};
  CHECK(CALL(first, TVMFuncGetGlobal)("runtime.NumThreads", &f) == 0 && f != NULL);
  TVMValue result;
  known = f;
  CHECK(CALL(first, TVMFuncCall)(f, NULL, NULL, 0, &result, &n) == 0);
  CHECK(CALL(first, TVMArrayAlloc)(&shape, 1, kDLFloat, 32, 1, kDLCPU, 0, &a) == 0);
  CHECK(CALL(first, TVMArrayFree)(a) == 0);

#define REFUSED(call) \
  do {                \
    CHECK((call) == -1); \
    CHECK(names_both(CALL(second, TVMGetLastError)())); \
  } while (0)
  REFUSED(CALL(second, TVMFuncGetGlobal)("runtime.NumThreads", &f));
  CHECK(f == NULL);
  REFUSED(CALL(second, TVMFuncListGlobalNames)(&n, &names));
  REFUSED(CALL(second, TVMFuncCreateFromCFunc)(nothing, NULL, NULL, &f));
  REFUSED(CALL(second, TVMModLoadFromFile)("absent.so", "so", &m));
  REFUSED(CALL(second, TVMArrayAlloc)(&shape, 1, kDLFloat, 32, 1, kDLCPU, 0, &a));
  REFUSED(CALL(second, TVMDeviceAllocDataSpace)((DLDevice){kDLCPU, 0}, 8, 8, (DLDataType){kDLFloat, 32, 1}, &p));
  REFUSED(CALL(second, TVMGODeviceAPIGet)(kDLCPU, 1, &api));
  REFUSED(CALL(second, TVMFFIFunctionGetGlobal)(&name, &p));
  REFUSED(CALL(second, TVMFFIFunctionSetGlobal)(&name, known, 1));
  REFUSED(CALL(second, TVMFFIFunctionCreate)(NULL, no_call, NULL, &p));
  REFUSED(CALL(second, TVMFFITypeGetOrAllocIndex)(&name, -1, 1, 0, 0, kTVMFFIObject));
  return failures != 0;
}
