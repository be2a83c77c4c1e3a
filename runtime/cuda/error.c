//go:build cuda

/* Raises errors for the error codes of the driver. */
#include "driver.h"

#include <stdarg.h>
#include <stdio.h>

#include "../../internal/dl/dl.h"

const char* tvmgo_cu_code_name(CUresult code) {
  const char* name = NULL;
  if (tvmgo_dl_is_open(&tvmgo_dl_cuda) && !tvmgo_dl_has(&tvmgo_dl_cuda, "cuGetErrorName"))
    return "no name, because the driver has no function cuGetErrorName";
  return cuGetErrorName(code, &name) == CUDA_SUCCESS && name != NULL ? name : "a code that this driver has no name for";
}

const char* tvmgo_cu_code_text(CUresult code) {
  static _Thread_local char lacks[700];
  const char* lacked = tvmgo_dl_lacked(&tvmgo_dl_cuda, (int)code);
  if (lacked != NULL) {
    snprintf(lacks, sizeof lacks, "%s has no function %s: install a newer NVIDIA driver", tvmgo_dl_cuda.path,
             lacked);
    return lacks;
  }
  const char* text = NULL;
  return cuGetErrorString(code, &text) == CUDA_SUCCESS && text != NULL ? text : "unknown error";
}

/* After these errors the context cannot be used any more: a kernel failed, or the device is lost. */
int tvmgo_cu_is_sticky(CUresult code) {
  switch ((int)code) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_UNKNOWN: return 1;
  }
  return 0;
}

/* The sticky errors that a kernel cannot cause. */
static int is_lost(CUresult code) {
  return code == CUDA_ERROR_DEVICE_UNAVAILABLE || code == CUDA_ERROR_ECC_UNCORRECTABLE ||
         code == CUDA_ERROR_NVLINK_UNCORRECTABLE || code == CUDA_ERROR_CONTAINED || code == CUDA_ERROR_UNKNOWN ||
         code == CUDA_ERROR_DEINITIALIZED;
}

static const char* kind_of(CUresult code) {
  if (is_lost(code)) return TVMGO_UNAVAILABLE_ERROR;
  switch ((int)code) {
    case CUDA_ERROR_OUT_OF_MEMORY: return TVMGO_MEMORY_ERROR;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_STUB_LIBRARY:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_DEVICE_NOT_LICENSED:
    case CUDA_ERROR_SYSTEM_NOT_READY:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
    case CUDA_ERROR_MPS_CONNECTION_FAILED: return TVMGO_UNAVAILABLE_ERROR;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_CONTEXT: return TVMGO_VALUE_ERROR;
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED: return TVMGO_NOT_SUPPORTED_ERROR;
  }
  return TVMGO_RUNTIME_ERROR;
}

/* Explains what an error means for later calls; "" if nothing. */
static const char* consequence(CUresult code) {
  if (is_lost(code))
    return ": the device is lost (see nvidia-smi and the kernel's log): this process cannot use it any more, other "
           "devices still work";
  if (tvmgo_cu_is_sticky(code))
    return ": work that was enqueued earlier failed, most likely a kernel: this process cannot use the device any "
           "more, other devices still work: restart the process (compute-sanitizer names the kernel and the address)";
  return "";
}

/* Raises the error of a context that does not exist any more, and finds out which device's context was reset. */
static int raise_reset(CUresult code, const char* what) {
  char device[64] = "a device's";
  int index = tvmgo_cu_find_reset();
  if (index >= 0) snprintf(device, sizeof device, "cuda:%d's", index);
  return tvmgo_raise(TVMGO_UNAVAILABLE_ERROR,
                     "%s: %s (%s, %d): %s primary context was reset by other code of this process, for example by "
                     "cudaDeviceReset, and all its memory, streams and kernels are lost: create a new one with "
                     "runtime/cuda.Renew (in C and Python with the global function tvmgo.cuda.renew and the device's "
                     "number), and close the objects of the old one",
                     what, tvmgo_cu_code_text(code), tvmgo_cu_code_name(code), (int)code, device);
}

int tvmgo_cu_raise(CUresult code, const char* format, ...) {
  char what[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(what, sizeof what, format, list);
  va_end(list);
  if (!tvmgo_dl_use(&tvmgo_dl_cuda))
    return tvmgo_raise(TVMGO_UNAVAILABLE_ERROR, "%s: CUDA is not usable: %s: %s", what, tvmgo_dl_cuda.why,
                       tvmgo_dl_cuda.cure);
  if (tvmgo_dl_lacked(&tvmgo_dl_cuda, (int)code) != NULL)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "%s: %s", what, tvmgo_cu_code_text(code));
  if (code == CUDA_ERROR_CONTEXT_IS_DESTROYED || (code == CUDA_ERROR_INVALID_CONTEXT && tvmgo_cu_find_reset() >= 0))
    return raise_reset(code, what);
  return tvmgo_raise(kind_of(code), "%s: %s (%s, %d)%s", what, tvmgo_cu_code_text(code), tvmgo_cu_code_name(code),
                     (int)code, consequence(code));
}
