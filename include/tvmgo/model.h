/* Whole models in C: load a model, list its functions with names, types and shapes, bind parameters, run it. Inline
 * functions over the classic C ABI; link with -ltvmgo.
 *
 *   TVMModuleHandle model;
 *   TVMGOModelInfo* info;
 *   if (TVMGOModelLoad("model.so", NULL, 0, "model.params", &model) != 0) return fail();
 *   if (TVMGOModelGetInfo(model, &info) != 0) return fail();
 *   printf("%s takes %s\n", info->functions[0].name, info->functions[0].params[0].name);
 *   TVMArrayHandle in = …, out;
 *   int num_out = 1;
 *   if (TVMGOModelRun(model, "main", &in, 1, &out, &num_out) != 0) return fail();
 *
 * A model is a module: TVMModGetFunction finds its functions, TVMFuncCall calls them, and TVMModFree frees it. Any
 * number of threads may use one model at a time; all share one copy of its weights.
 *
 * Functions return 0, or -1 after they set the calling thread's error (TVMGetLastError). A failed function leaves
 * nothing to free. */
#ifndef TVMGO_MODEL_H_
#define TVMGO_MODEL_H_

#include <dlpack/dlpack.h>
#include <tvm/runtime/c_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- what a model takes and returns ------------------------------------------------------------------------------ */

typedef enum {
  kTVMGOValueTensor,
  kTVMGOValueShape,
  kTVMGOValueTuple,
  kTVMGOValueNumber,
  kTVMGOValueFunction,
  kTVMGOValueAny /* anything, or the file does not say */
} TVMGOValueKind;

/* A parameter or a result. */
typedef struct TVMGOValueInfo {
  const char* name; /* "" if the file has none */
  TVMGOValueKind kind;
  DLDataType dtype;       /* of a tensor or a number; {0, 0, 0}: unknown */
  const char* dtype_name; /* "float32"; "": unknown */
  int ndim;               /* of a tensor or a shape; -1: unknown */
  const int64_t* shape;   /* ndim extents; -1: not fixed */
  const char* const* dims; /* the same as ndim texts: "16", "n", "n * 2" */
  const struct TVMGOValueInfo* fields; /* of a tuple */
  int num_fields;
  int device;       /* that the value lies on: its index in the model's list of devices */
  int bound;        /* 1: a parameter has been bound */
  const char* text; /* the annotation in the notation of the model's compiler; "": unknown */
} TVMGOValueInfo;

typedef struct TVMGOFunctionInfo {
  const char* name;
  const TVMGOValueInfo* params;
  int num_params;
  TVMGOValueInfo result;
} TVMGOFunctionInfo;

typedef struct TVMGOModelInfo {
  const TVMGOFunctionInfo* functions; /* in the file's order */
  int num_functions;
  const DLDevice* devices; /* of the model, the host last */
  int num_devices;
  void* memory_;
} TVMGOModelInfo;

/* What calls take, with results that are not freed: bytes, and numbers of blocks. A limit of 0 is none. */
typedef struct TVMGOModelMemory {
  int64_t live, peak, limit; /* bytes now, at most so far, at most allowed */
  int64_t weights;           /* bytes of constants and bound parameters, which are not in live */
  int64_t storages, taken;   /* blocks now, and ever */
} TVMGOModelMemory;

/* --- loading ------------------------------------------------------------------------------------------------------ */

/* Loads a model from a library that Apache TVM or tvmgo exported. devices: the model's list, or NULL for the default,
 * which is what the kernels of the file run on; the host is added if it is missing. params: NULL, or the name of a file
 * (.params, .safetensors, .npz) or of a folder (a tensor cache) whose tensors become the parameters of the same names;
 * calls then take the other inputs. The caller frees *out with TVMModFree. */
static inline int TVMGOModelLoad(const char* path, const DLDevice* devices, int num_devices, const char* params,
                                 TVMModuleHandle* out);

/* The same for a library in memory, which is copied. */
static inline int TVMGOModelLoadBytes(const void* library, size_t size, const DLDevice* devices, int num_devices,
                                      const char* params, TVMModuleHandle* out);

/* The same for a loaded library. */
static inline int TVMGOModelFromModule(TVMModuleHandle library, const DLDevice* devices, int num_devices,
                                       const char* params, TVMModuleHandle* out);

/* --- description, parameters, calls ------------------------------------------------------------------------------- */

/* Describes the functions of a model, as they are now: `bound` is that of this moment. The caller frees *out with
 * TVMGOModelFreeInfo; it does not need the model. */
static inline int TVMGOModelGetInfo(TVMModuleHandle model, TVMGOModelInfo** out);
static inline void TVMGOModelFreeInfo(TVMGOModelInfo* info);

/* Writes a signature to out: "main(x: float32[n, 16], w: float32[16, 8] (bound)) -> float32[n, 8]", with ? for an
 * unknown extent and [...] for an unknown number of them. As snprintf, it writes at most size bytes, the last one a
 * NUL, and returns the length of the whole text. */
static inline size_t TVMGOFunctionInfoText(const TVMGOFunctionInfo* f, char* out, size_t size);

/* Binds arrays to the parameters of the same names in every function that has one. Calls then take the other inputs.
 * Types and shapes are checked as far as the file tells them; each array is copied to the device where the function
 * wants it. A name without a parameter is an error, and then nothing is bound. */
static inline int TVMGOModelBind(TVMModuleHandle model, const char* const* names, const TVMArrayHandle* arrays,
                                 int num_arrays);

/* Calls a function with arrays (of TVMArrayAlloc or TVMArrayFromDLPack, not DLTensors of the program), which are not
 * copied, in the order of the parameters. If parameters are bound, the inputs are all others, or all. *num_outputs is
 * the capacity of outputs, and becomes the number of results: a tuple, also a nested one, gives its arrays in order.
 * The caller frees them with TVMArrayFree. Fails if a result is no array: TVMModGetFunction and TVMFuncCall call such
 * functions, and pass any inputs. */
static inline int TVMGOModelRun(TVMModuleHandle model, const char* function, const TVMArrayHandle* inputs,
                                int num_inputs, TVMArrayHandle* outputs, int* num_outputs);

/* The same with the names of the inputs, in any order. function is from TVMGOModelGetInfo; after parameters have been
 * bound, from a new one. Fails for unknown, missing and surplus names. */
static inline int TVMGOModelRunNamed(TVMModuleHandle model, const TVMGOFunctionInfo* function,
                                     const char* const* names, const TVMArrayHandle* inputs, int num_inputs,
                                     TVMArrayHandle* outputs, int* num_outputs);

/* --- memory and sessions ------------------------------------------------------------------------------------------ */

/* The memory of all calls of a model and of its sessions. */
static inline int TVMGOModelGetMemory(TVMModuleHandle model, TVMGOModelMemory* out);
/* Calls that need more bytes at a time fail with a MemoryError. 0: no limit. */
static inline int TVMGOModelSetMemoryLimit(TVMModuleHandle model, int64_t bytes);

/* A module for calls in steps, which has inputs and outputs of its own and shares code and weights with the model: its
 * functions set_input, invoke_stateful and get_output are those of TVM's virtual machine; a session of a graph is an
 * executor. Threads must not use one session at a time. The caller frees *out with TVMModFree. */
static inline int TVMGOModelNewSession(TVMModuleHandle model, TVMModuleHandle* out);
static inline int TVMGOSessionGetMemory(TVMModuleHandle session, TVMGOModelMemory* out);
static inline int TVMGOSessionSetMemoryLimit(TVMModuleHandle session, int64_t bytes);

#ifdef __cplusplus
}
#endif

#include <tvmgo/model_inline.h> /* the definitions */

#endif  // TVMGO_MODEL_H_
