/* What generated code calls in the runtime: functions of other modules, scratch memory, worker threads.
 *
 * Signatures are frozen: they are compiled into every exported library. Functions may be appended. An int result is 0
 * or -1 with the error in this thread's slot (TVMGetLastError). Any thread may call, unless a comment says
 * otherwise. */
#ifndef TVM_RUNTIME_C_BACKEND_API_H_
#define TVM_RUNTIME_C_BACKEND_API_H_

#include <tvm/ffi/c_api.h>
#include <tvm/runtime/c_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A generated function of the classic generation (TVM 0.20 and older). out_ret_value and out_ret_tcode are preset to
 * null; a result is owned by the caller and never a raw string or bytes. resource_handle is NULL from a loaded
 * library. */
typedef int (*TVMBackendPackedCFunc)(TVMValue* args, int* type_codes, int num_args, TVMValue* out_ret_value,
                                     int* out_ret_tcode, void* resource_handle);

/* Finds a function in the imports of the library module, then among the globals. *out is borrowed from the module,
 * which remembers it: never free it. Fails when there is none. */
TVM_DLL int TVMBackendGetFuncFromEnv(void* mod_node, const char* func_name, TVMFunctionHandle* out);

/* Adds a symbol to the system library, the module of functions that are linked into the program itself; the last one of
 * a name wins. Called by constructors of generated objects. */
TVM_DLL int TVMBackendRegisterSystemLibSymbol(const char* name, void* ptr);

/* Scratch memory of `nbytes`, 64-byte aligned, in this thread's current stream order; free it on the same thread,
 * preferably in reverse order. The two hints describe the elements. NULL with the error set on failure. */
TVM_DLL void* TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t nbytes, int dtype_code_hint,
                                       int dtype_bits_hint);

/* Gives scratch memory back. Fails on an address that this thread does not hold. */
TVM_DLL int TVMBackendFreeWorkspace(int device_type, int device_id, void* ptr);

/* Hands over a front-end function, for the whole process: PyErr_CheckSignals, Py_IncRef, Py_DecRef, PyGILState_Ensure,
 * PyGILState_Release. Fails on any other name. */
TVM_DLL int TVMBackendRegisterEnvCAPI(const char* name, void* ptr);

/* What the tasks of one parallel launch share. */
typedef struct {
  void* sync_handle; /* the barrier's counters, one per task, 64 bytes apart */
  int32_t num_task;
} TVMParallelGroupEnv;

/* One task of a parallel launch; 0, or -1 with the error set on its own thread. */
typedef int (*FTVMParallelLambda)(int task_id, TVMParallelGroupEnv* penv, void* cdata);

/* Runs flambda for task_id 0 … num_task-1 and waits; task 0 runs on this thread, num_task 0 means one task per worker.
 * cdata is borrowed. Fails with the tasks' errors joined, on more tasks than workers, and inside another launch. */
TVM_DLL int TVMBackendParallelLaunch(FTVMParallelLambda flambda, void* cdata, int num_task);

/* Waits until every task of the launch has reached this call. Only from inside a task, by all of them, the same number
 * of times. */
TVM_DLL int TVMBackendParallelBarrier(int task_id, TVMParallelGroupEnv* penv);

/* Runs f(cdata) if *handle is NULL, and sets *handle. Not synchronised: one thread per handle. nbytes is not used. */
TVM_DLL int TVMBackendRunOnce(void** handle, int (*f)(void*), void* cdata, int nbytes);

/* Register files of compiled virtual-machine functions. These are the signatures of TVM 0.21 and later; a library of
 * the older generation, where a type-code array follows the values, gets the matching functions when it is loaded.
 * The list is borrowed and used by one thread at a time. */

/* args[arg_offset] = view of item `index`. */
TVM_DLL int TVMBackendAnyListSetPackedArg(void* anylist, int index, TVMFFIAny* args, int arg_offset);

/* Drops item `index` and leaves None. */
TVM_DLL int TVMBackendAnyListResetItem(void* anylist, int index);

/* Moves the owned args[ret_offset] into item `index` and leaves None behind. */
TVM_DLL int TVMBackendAnyListMoveFromPackedReturn(void* anylist, int index, TVMFFIAny* args, int ret_offset);

#ifdef __cplusplus
}
#endif
#endif /* TVM_RUNTIME_C_BACKEND_API_H_ */
