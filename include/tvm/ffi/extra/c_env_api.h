/* The tvm-ffi environment: current streams, tensor allocator, front-end hooks, and how loaded libraries find their
 * symbols.
 *
 * The rules for change and the conventions of tvm/ffi/c_api.h also hold here: names and signatures are frozen,
 * functions may be appended, an int result is 0 or -1 with the error in this thread's slot. */
#ifndef TVM_FFI_EXTRA_C_ENV_API_H_
#define TVM_FFI_EXTRA_C_ENV_API_H_

#include <tvm/ffi/c_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A stream of the device's API (CUstream, cl_command_queue, …). NULL is the default stream. */
typedef void* TVMFFIStreamHandle;

/* Makes `stream` this thread's current stream of a device; borrowed, so it must exist while it is current.
 * *opt_out_original_stream becomes the previous one, unless the pointer is NULL. */
TVM_FFI_DLL int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id, TVMFFIStreamHandle stream,
                                   TVMFFIStreamHandle* opt_out_original_stream);

/* This thread's current stream of a device; borrowed, NULL if none was set. Cannot fail. */
TVM_FFI_DLL TVMFFIStreamHandle TVMFFIEnvGetStream(int32_t device_type, int32_t device_id);

/* Sets the allocator of TVMFFIEnvTensorAlloc for this thread and, on request, for every thread that has not set its
 * own. *opt_out_original_allocator becomes the previous one of the thread, unless the pointer is NULL. */
TVM_FFI_DLL int TVMFFIEnvSetDLPackManagedTensorAllocator(DLPackManagedTensorAllocator allocator,
                                                         int write_to_global_context,
                                                         DLPackManagedTensorAllocator* opt_out_original_allocator);

/* This thread's allocator, or else the global one, or else NULL. Cannot fail. */
TVM_FFI_DLL DLPackManagedTensorAllocator TVMFFIEnvGetDLPackManagedTensorAllocator(void);

/* A new tensor, owned by the caller, with prototype's dtype, ndim, shape and device.
 * Without an allocator the memory is data space of the device. Fails if the allocator fails. */
TVM_FFI_DLL int TVMFFIEnvTensorAlloc(DLTensor* prototype, TVMFFIObjectHandle* out);

/* Lets the front end check for signals (Python: Ctrl-C). Nonzero if it raised an error; 0 without a front end. */
TVM_FFI_DLL int TVMFFIEnvCheckSignals(void);

/* Registers a front-end function for the whole process: PyErr_CheckSignals, PyGILState_Ensure, PyGILState_Release;
 * here also Py_IncRef and Py_DecRef of the classic ABI. Fails on any other name. */
TVM_FFI_DLL int TVMFFIEnvRegisterCAPI(const char* name, void* symbol);

/* For generated code: finds a function in the imports of the library module, or else among the global functions. *out
 * is borrowed from the module, which keeps a reference. Any thread may call it. Fails if there is none. */
TVM_FFI_DLL int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle library_ctx, const char* func_name,
                                              TVMFFIObjectHandle* out);

/* From now on, if a library defines a pointer variable `name`, loading the library sets it to `symbol`. */
TVM_FFI_DLL int TVMFFIEnvModRegisterContextSymbol(const char* name, void* symbol);

/* Adds a symbol to the system library, the module of functions that are linked into the program itself.
 * Called by constructors of generated objects; the last registration of a name is used. */
TVM_FFI_DLL int TVMFFIEnvModRegisterSystemLibSymbol(const char* name, void* symbol);

#ifdef __cplusplus
}
#endif
#endif /* TVM_FFI_EXTRA_C_ENV_API_H_ */
