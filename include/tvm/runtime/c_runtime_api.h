/* The classic TVM C ABI, as of 0.18: load a module, call a function, hold arrays, talk to devices.
 *
 * How this ABI may change
 *   - Names, numbers, sizes and signatures are frozen: programs and exported libraries have them compiled in.
 *   - Functions and type codes may be appended. Handles are opaque, except TVMArrayHandle, which is a DLTensor*.
 *
 * Conventions, unless a comment says otherwise
 *   - Any thread may call any function. The last error, returned texts and the current stream belong to the calling
 *     thread.
 *   - An int result is 0, or -1 with the text in TVMGetLastError. -2 means that a Python front end already holds the
 *     error.
 *   - Arguments are borrowed for the call; what comes back through an `out` pointer belongs to the caller.
 *   - A string or byte array that a call returns is valid until the next call of the same kind on that thread. */
#ifndef TVM_RUNTIME_C_RUNTIME_API_H_
#define TVM_RUNTIME_C_RUNTIME_API_H_

/* Weak definition, for data slots that several object files may define. */
#ifndef TVM_WEAK
#ifdef _MSC_VER
#define TVM_WEAK __declspec(selectany)
#else
#define TVM_WEAK __attribute__((weak))
#endif
#endif

/* Marks functions that the runtime exports. */
#ifndef TVM_DLL
#if defined(__EMSCRIPTEN__)
#include <emscripten/emscripten.h>
#define TVM_DLL EMSCRIPTEN_KEEPALIVE
#elif defined(_WIN32)
#ifdef TVM_EXPORTS
#define TVM_DLL __declspec(dllexport)
#else
#define TVM_DLL __declspec(dllimport)
#endif
#else
#define TVM_DLL __attribute__((visibility("default")))
#endif
#endif

/* The TVM release whose classic ABI this is. */
#ifndef TVM_VERSION
#define TVM_VERSION "0.18.0"
#endif

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Extents and counts of arrays. */
typedef int64_t tvm_index_t;

/* Device types beyond DLPack's. New hardware can use any unused n with kDLExtDev < n < 36
 * (tvmgo/device_api.h). */
#ifdef __cplusplus
typedef enum : int32_t {
#else
typedef enum {
#endif
  kDLAOCL = 32,
  kDLSDAccel,
  kOpenGL,
  kDLMicroDev,
  TVMDeviceExtType_End
} TVMDeviceExtType;

/* The type of a TVMValue. As results, objects, modules, functions and arrays are owned; strings and bytes are
 * thread-local. */
typedef enum {
  kTVMArgInt = kDLInt,          /* v_int64 */
  kTVMArgFloat = kDLFloat,      /* v_float64 */
  kTVMOpaqueHandle = 3U,        /* v_handle, a plain pointer */
  kTVMNullptr = 4U,             /* v_handle is NULL */
  kTVMDataType = 5U,            /* v_type; TVMFuncCall returns it as a string */
  kDLDevice = 6U,               /* v_device */
  kTVMDLTensorHandle = 7U,      /* v_handle is a DLTensor*, borrowed; arguments only */
  kTVMObjectHandle = 8U,        /* v_handle, freed with TVMObjectFree */
  kTVMModuleHandle = 9U,        /* v_handle, freed with TVMModFree */
  kTVMPackedFuncHandle = 10U,   /* v_handle, freed with TVMFuncFree */
  kTVMStr = 11U,                /* v_str, NUL-terminated */
  kTVMBytes = 12U,              /* v_handle is a TVMByteArray* */
  kTVMNDArrayHandle = 13U,      /* v_handle is a TVMArrayHandle, freed with TVMArrayFree */
  kTVMObjectRValueRefArg = 14U, /* v_handle is an object's slot; the callee may take the object and store NULL */
  kTVMArgBool = 15U,            /* v_int64, 0 or 1; callers before 0.18 send kTVMArgInt */
  kTVMExtBegin = 16U,
  kTVMNNVMFirst = 16U,
  kTVMNNVMLast = 20U,
  kTVMExtReserveEnd = 64U, /* codes from here to kTVMExtEnd are for users */
  kTVMExtEnd = 128U
} TVMArgTypeCode;

/* The names of the codes before 0.6. Define TVM_NO_HISTORIC_TYPE_CODES if one conflicts with yours. */
#ifndef TVM_NO_HISTORIC_TYPE_CODES
enum {
  kHandle = kTVMOpaqueHandle,
  kNull = kTVMNullptr,
  kTVMType = kTVMDataType,
  kTVMContext = kDLDevice,
  kArrayHandle = kTVMDLTensorHandle,
  kNodeHandle = kTVMObjectHandle,
  kObjectCell = kTVMObjectHandle,
  kModuleHandle = kTVMModuleHandle,
  kFuncHandle = kTVMPackedFuncHandle,
  kStr = kTVMStr,
  kBytes = kTVMBytes,
  kNDArrayContainer = kTVMNDArrayHandle
};
#endif

/* One argument or result, 8 bytes; its type code is passed separately. */
typedef union {
  int64_t v_int64;
  double v_float64;
  void* v_handle;
  const char* v_str;
  DLDataType v_type;
  DLDevice v_device;
} TVMValue;

/* Contiguous bytes. */
typedef struct {
  const char* data;
  size_t size;
} TVMByteArray;

typedef void* TVMModuleHandle;
typedef void* TVMFunctionHandle;
typedef void* TVMRetValueHandle; /* where a callback leaves its result; valid during that call */
typedef void* TVMStreamHandle;   /* NULL is the device's default stream */
typedef void* TVMObjectHandle;
typedef DLTensor* TVMArrayHandle;

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* Sets this thread's last error to a copy of msg. The text before the first ": " is its kind if it has that form. */
TVM_DLL void TVMAPISetLastError(const char* msg);

/* Sets this thread's last error to a Python exception. It is retained until it is dropped or replaced if the front end
 * has registered Py_IncRef, Py_DecRef and the two PyGILState functions (TVMBackendRegisterEnvCAPI); otherwise the
 * caller keeps it that long. */
TVM_DLL void TVMAPISetLastPythonError(void* py_object);

/* The Python exception of this thread, borrowed; NULL if there is none. */
TVM_DLL void* TVMGetLastPythonError(void);

/* This thread's last error as "Kind: message"; "" if there is none, NULL if it is a Python exception. Does not clear
 * it. Borrowed: valid until the next call on this thread. */
TVM_DLL const char* TVMGetLastError(void);

/* The stack where the last error was raised, innermost frame first; NULL if it is unknown. Borrowed as above. */
TVM_DLL const char* TVMGetLastBacktrace(void);

/* Drops this thread's Python exception. */
TVM_DLL void TVMDropLastPythonError(void);

/* Prints the last error to stderr and ends the process: C functions cannot throw. Use TVMGetLastError instead. */
TVM_DLL void TVMThrowLastError(void);

/* ---- Modules ----------------------------------------------------------------------------------------------------- */

/* Loads a file; *out is freed with TVMModFree. If format is "" or NULL, it is the text after the last '.'; dll, dylib
 * and dso mean so. Fails if the file does not exist or is damaged, or if there is no loader for the format. */
TVM_DLL int TVMModLoadFromFile(const char* file_name, const char* format, TVMModuleHandle* out);

/* Appends dep to the imports of mod and retains it. No other thread may use mod during the call. Fails if dep imports
 * mod, directly or indirectly. */
TVM_DLL int TVMModImport(TVMModuleHandle mod, TVMModuleHandle dep);

/* Looks up a function in mod and, if query_imports is not 0, in its imports, depth first. *out is freed with
 * TVMFuncFree and keeps the module alive. If there is none, *out is NULL, without an error. */
TVM_DLL int TVMModGetFunction(TVMModuleHandle mod, const char* func_name, int query_imports, TVMFunctionHandle* out);

/* Drops one reference. NULL is allowed. */
TVM_DLL int TVMModFree(TVMModuleHandle mod);

/* ---- Functions --------------------------------------------------------------------------------------------------- */

/* Drops one reference. NULL is allowed. */
TVM_DLL int TVMFuncFree(TVMFunctionHandle func);

/* Calls func with num_args values and their codes; all arguments are borrowed. ret_val and ret_type_code get the
 * result, with the code kTVMNullptr if there is none; TVMArgTypeCode states who owns it. Fails if func fails. */
TVM_DLL int TVMFuncCall(TVMFunctionHandle func, TVMValue* arg_values, int* type_codes, int num_args, TVMValue* ret_val,
                        int* ret_type_code);

/* From inside a callback: sets its result, at most once. Texts and bytes are copied, objects retained. num_ret must be
 * 1. */
TVM_DLL int TVMCFuncSetReturn(TVMRetValueHandle ret, TVMValue* value, int* type_code, int num_ret);

/* From inside a callback: makes an argument the callback's own, in place. Objects are retained, or taken when they come
 * as kTVMObjectRValueRefArg; plain values stay as they are. Fails on bare texts and bytes, which have no owner. */
TVM_DLL int TVMCbArgToReturn(TVMValue* value, int* code);

/* A callback. args and type_codes are borrowed; the result goes through TVMCFuncSetReturn. 0, or nonzero after
 * TVMAPISetLastError. May be entered by several threads at a time. */
typedef int (*TVMPackedCFunc)(TVMValue* args, int* type_codes, int num_args, TVMRetValueHandle ret,
                              void* resource_handle);

/* Frees the resource of a callback. */
typedef void (*TVMPackedCFuncFinalizer)(void* resource_handle);

/* Entry point of an extension library, which calls register_func for each of its functions. */
typedef int (*TVMExtensionFuncDeclarer)(TVMFunctionHandle register_func);

/* Makes a function of a callback. fin(resource_handle) (may be NULL) runs once, on the thread that releases the last
 * reference; it does not run if this call fails. */
TVM_DLL int TVMFuncCreateFromCFunc(TVMPackedCFunc func, void* resource_handle, TVMPackedCFuncFinalizer fin,
                                   TVMFunctionHandle* out);

/* Makes f a global function for all threads; f is retained. Fails if the name exists and override is 0. */
TVM_DLL int TVMFuncRegisterGlobal(const char* name, TVMFunctionHandle f, int override);

/* Looks up a global function; *out is freed with TVMFuncFree. If there is none, *out is NULL, without an error. */
TVM_DLL int TVMFuncGetGlobal(const char* name, TVMFunctionHandle* out);

/* The names of all global functions. The array is valid until the next call on this thread. */
TVM_DLL int TVMFuncListGlobalNames(int* out_size, const char*** out_array);

/* Removes a global function; the object lives while there are references. An unknown name is not an error. */
TVM_DLL int TVMFuncRemoveGlobal(const char* name);

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

/* Allocates an array on a device: row-major, uninitialised. *out is freed with TVMArrayFree. Fails for a negative
 * extent, a size that overflows, an invalid element type or a device that does not exist, or if it is out of memory. */
TVM_DLL int TVMArrayAlloc(const tvm_index_t* shape, int ndim, int dtype_code, int dtype_bits, int dtype_lanes,
                          int device_type, int device_id, TVMArrayHandle* out);

/* Drops one reference. NULL is allowed. Only for arrays that this runtime made. */
TVM_DLL int TVMArrayFree(TVMArrayHandle handle);

/* Copies host bytes into or out of an array and waits for the copy. Accepts any DLTensor. Fails if it is not contiguous
 * or if nbytes is not its size. */
TVM_DLL int TVMArrayCopyFromBytes(TVMArrayHandle handle, void* data, size_t nbytes);
TVM_DLL int TVMArrayCopyToBytes(TVMArrayHandle handle, void* data, size_t nbytes);

/* Queues a copy on `stream`; both arrays must exist until the copy is complete. Accepts any DLTensor. Fails if the
 * sizes differ, or if neither side is host memory and the device types differ. */
TVM_DLL int TVMArrayCopyFromTo(TVMArrayHandle from, TVMArrayHandle to, TVMStreamHandle stream);

/* Makes an array from a managed tensor. If this succeeds, the array owns `from`, and its last reference runs the
 * deleter. */
TVM_DLL int TVMArrayFromDLPack(DLManagedTensor* from, TVMArrayHandle* out);

/* Exports an array: *out keeps it alive until its deleter is called, once. Only for arrays that this runtime
 * made. */
TVM_DLL int TVMArrayToDLPack(TVMArrayHandle from, DLManagedTensor** out);

/* Calls dltensor->deleter(dltensor), for languages that cannot call a function pointer. NULL is allowed. */
TVM_DLL void TVMDLManagedTensorCallDeleter(DLManagedTensor* dltensor);

/* The type index of an array object. */
TVM_DLL int TVMArrayGetTypeIndex(TVMArrayHandle handle, unsigned* out_tindex);

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

/* A new stream, freed with TVMStreamFree; NULL on devices with a single queue. Fails if the device does not exist. */
TVM_DLL int TVMStreamCreate(int device_type, int device_id, TVMStreamHandle* out);

/* Frees a stream after its work is done. It must not be any thread's current stream. NULL is allowed. */
TVM_DLL int TVMStreamFree(int device_type, int device_id, TVMStreamHandle stream);

/* Makes `handle` this thread's current stream of the device; borrowed. NULL selects the default stream. */
TVM_DLL int TVMSetStream(int device_type, int device_id, TVMStreamHandle handle);

/* Waits until the work of the stream is complete. Fails with the error of that work, if there was one. */
TVM_DLL int TVMSynchronize(int device_type, int device_id, TVMStreamHandle stream);

/* Makes later work on dst wait for the work that is now queued on src. Does not block. */
TVM_DLL int TVMStreamStreamSynchronize(int device_type, int device_id, TVMStreamHandle src, TVMStreamHandle dst);

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* The type index of an object, in the numbers of this ABI. */
TVM_DLL int TVMObjectGetTypeIndex(TVMObjectHandle obj, unsigned* out_tindex);

/* The type index of a key ("runtime.Module"). Fails on an unknown key. */
TVM_DLL int TVMObjectTypeKey2Index(const char* type_key, unsigned* out_tindex);

/* The key of a type index, to be freed with free(). Fails on an unknown index. */
TVM_DLL int TVMObjectTypeIndex2Key(unsigned tindex, char** out_type_key);

/* Adds a reference, which the caller then owns. */
TVM_DLL int TVMObjectRetain(TVMObjectHandle obj);

/* Drops one reference. NULL is allowed. */
TVM_DLL int TVMObjectFree(TVMObjectHandle obj);

/* Frees a byte array with free(); does nothing for the result of a call, which belongs to the thread. Call it on the
 * thread that got the result. NULL is allowed. */
TVM_DLL int TVMByteArrayFree(TVMByteArray* arr);

/* Whether the type child is, or descends from, parent: *is_derived is 1 or 0. Fails on an unknown index. */
TVM_DLL int TVMObjectDerivedFrom(uint32_t child_type_index, uint32_t parent_type_index, int* is_derived);

/* ---- Device memory ----------------------------------------------------------------------------------------------- */

/* Raw memory of a device, freed with TVMDeviceFreeDataSpace. type_hint is the type of its elements. Fails if it is
 * out of memory. */
TVM_DLL int TVMDeviceAllocDataSpace(DLDevice dev, size_t nbytes, size_t alignment, DLDataType type_hint,
                                    void** out_data);

/* The same for an array in a storage scope; NULL, "" and "global" mean flat memory. Fails for a scope that the
 * device does not have. */
TVM_DLL int TVMDeviceAllocDataSpaceWithScope(DLDevice dev, int ndim, const int64_t* shape, DLDataType dtype,
                                             const char* mem_scope, void** out_data);

/* Frees raw memory of that device after the queued work. NULL is allowed. */
TVM_DLL int TVMDeviceFreeDataSpace(DLDevice dev, void* ptr);

/* Like TVMArrayCopyFromTo. */
TVM_DLL int TVMDeviceCopyDataFromTo(DLTensor* from, DLTensor* to, TVMStreamHandle stream);

#ifdef __cplusplus
}
#endif
#endif /* TVM_RUNTIME_C_RUNTIME_API_H_ */
