/* DLPack 1.3: the tensor description that array libraries hand to each other.
 *
 * Everything here is plain data of fixed layout. Sizes and offsets never change within one major version; a new minor
 * version only appends enumerators. A program that gets a DLManagedTensorVersioned of another major version may only read `version` and call `deleter`. Layouts: https://dmlc.github.io/dlpack/latest/c_api.html. */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_

#ifdef __cplusplus
#define DLPACK_EXTERN_C extern "C"
#else
#define DLPACK_EXTERN_C
#endif

#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 3

#ifdef _WIN32
#ifdef DLPACK_EXPORTS
#define DLPACK_DLL __declspec(dllexport)
#else
#define DLPACK_DLL __declspec(dllimport)
#endif
#else
#define DLPACK_DLL
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version a structure was made for; a consumer compares `major` before it reads on. */
typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

/* Where memory lives. Always four bytes wide; 5 and 6 are retired numbers. */
#ifdef __cplusplus
typedef enum : int32_t {
#else
typedef enum {
#endif
  kDLCPU = 1,          /* host memory */
  kDLCUDA = 2,         /* NVIDIA device memory */
  kDLCUDAHost = 3,     /* host memory page-locked by CUDA */
  kDLOpenCL = 4,       /* data is a cl_mem */
  kDLVulkan = 7,       /* data is a handle of the Vulkan runtime in use */
  kDLMetal = 8,
  kDLVPI = 9,          /* Verilog simulation */
  kDLROCM = 10,        /* AMD device memory */
  kDLROCMHost = 11,    /* host memory page-locked by HIP */
  kDLExtDev = 12,      /* for trying out new hardware */
  kDLCUDAManaged = 13, /* CUDA unified memory */
  kDLOneAPI = 14,      /* SYCL USM; ask oneAPI for the kind and the context */
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17,
  kDLTrn = 18,
} DLDeviceType;

/* One device: a type and an index. Host memory of every kind uses index 0. Passed by value in one 64-bit register. */
typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

/* Families of element types. For complex types `bits` counts both parts; the 8-, 6- and 4-bit floats fix `bits` to
 * their width. */
typedef enum {
  kDLInt = 0U,
  kDLUInt = 1U,
  kDLFloat = 2U,
  kDLOpaqueHandle = 3U,
  kDLBfloat = 4U,
  kDLComplex = 5U,
  kDLBool = 6U,
  kDLFloat8_e3m4 = 7U,
  kDLFloat8_e4m3 = 8U,
  kDLFloat8_e4m3b11fnuz = 9U,
  kDLFloat8_e4m3fn = 10U,
  kDLFloat8_e4m3fnuz = 11U,
  kDLFloat8_e5m2 = 12U,
  kDLFloat8_e5m2fnuz = 13U,
  kDLFloat8_e8m0fnu = 14U,
  kDLFloat6_e2m3fn = 15U,
  kDLFloat6_e3m2fn = 16U,
  kDLFloat4_e2m1fn = 17U,
} DLDataTypeCode;

/* Element type: float32 is {2,32,1}, a vector of four of them {2,32,4}, bool {6,8,1}, float4_e2m1fn {17,4,1}.
 * Elements are in the machine's byte order; elements of less than a byte are packed from the lowest bit up, unless the
 * padded flag is set. */
typedef struct {
  uint8_t code;   /* a DLDataTypeCode */
  uint8_t bits;   /* of one lane */
  uint16_t lanes; /* 1 for scalars */
} DLDataType;

/* A view of an n-dimensional array; owns nothing. The element at index i… is at
 * data + byte_offset + (sum of i[d] * strides[d]) elements. */
typedef struct {
  void* data;           /* address, or an API's handle (cl_mem …); NULL when the array has no element */
  DLDevice device;      /* where data lives */
  int32_t ndim;         /* 0 for a scalar */
  DLDataType dtype;
  int64_t* shape;       /* ndim extents; may be NULL when ndim is 0 */
  /* ndim strides in elements; NULL means row-major without gaps (producers since 1.2 always set it) */
  int64_t* strides;
  uint64_t byte_offset; /* added to data, in bytes */
} DLTensor;

/* A borrowed array, first generation. The borrower calls deleter(self) once when it is done, from any thread; NULL
 * means that nothing needs to be freed. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx; /* the producer's own */
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;

/* Bits of DLManagedTensorVersioned.flags. */
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)              /* the borrower must not write */
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)              /* a copy for this borrower */
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL) /* one sub-byte element per byte */

/* A borrowed array, current generation. Same ownership as DLManagedTensor. The offsets of the fields up to flags never
 * change. */
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);
  uint64_t flags; /* DLPACK_FLAG_BITMASK_*, 0 when in doubt */
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

/* Makes an array with prototype's dtype, ndim, shape and device; its other fields are not read. *out belongs to the
 * caller. Any thread. 0, or -1 after exactly one call of SetError(error_ctx, kind, message). */
typedef int (*DLPackManagedTensorAllocator)(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx,
                                            void (*SetError)(void* error_ctx, const char* kind, const char* message));

/* Lends the array behind a Python object of the exporting type; *out belongs to the caller. Does not wait for the
 * device. The caller holds the GIL. 0, or -1 with a Python exception set. */
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(void* py_object, DLManagedTensorVersioned** out);

/* Fills the caller's *out with a view that is valid until control returns to the producer. Does not wait for the
 * device. The caller holds the GIL. 0, or -1 with a Python exception set. */
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void* py_object, DLTensor* out);

/* The stream on which the producer queues work for a device now; borrowed, NULL for the CPU.
 * The caller holds the GIL. 0, or -1 with a Python exception set. */
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type, int32_t device_id, void** out_current_stream);

/* Wraps `tensor` in a new Python object and takes it over. Does not wait for the device.
 * The caller holds the GIL. 0, or -1 with a Python exception set. */
typedef int (*DLPackManagedTensorToPyObjectNoSync)(DLManagedTensorVersioned* tensor, void** out_py_object);

/* Start of every exchange table, in every version. prev_api leads to a table of an older version, or is NULL. */
typedef struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  struct DLPackExchangeAPIHeader* prev_api;
} DLPackExchangeAPIHeader;

/* What a Python array type offers to C under `__dlpack_c_exchange_api__`: a capsule named "dlpack_exchange_api" on the
 * type. The table is immutable and lives as long as the process. Only dltensor_from_py_object_no_sync may be NULL. */
typedef struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;
  DLPackManagedTensorAllocator managed_tensor_allocator;
  DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;
  DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;
  DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync;
  DLPackCurrentWorkStream current_work_stream;
} DLPackExchangeAPI;

#ifdef __cplusplus
}
#endif
#endif /* DLPACK_DLPACK_H_ */
