// Names and texts of errors.
#include "fake.h"

#define E(code, name, text) {code, "CUDA_ERROR_" name, text}
static const struct { int code; const char *name, *text; } errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    E(1, "INVALID_VALUE", "invalid argument"),
    E(2, "OUT_OF_MEMORY", "out of memory"),
    E(3, "NOT_INITIALIZED", "initialization error"),
    E(4, "DEINITIALIZED", "driver shutting down"),
    E(46, "DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"),
    E(100, "NO_DEVICE", "no CUDA-capable device is detected"),
    E(101, "INVALID_DEVICE", "invalid device ordinal"),
    E(200, "INVALID_IMAGE", "device kernel image is invalid"),
    E(201, "INVALID_CONTEXT", "invalid device context"),
    E(209, "NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"),
    E(214, "ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"),
    E(215, "UNSUPPORTED_LIMIT", "limit is not supported on this architecture"),
    E(217, "PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"),
    E(218, "INVALID_PTX", "a PTX JIT compilation failed"),
    E(221, "JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"),
    E(222, "UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."),
    E(301, "FILE_NOT_FOUND", "file not found"),
    E(304, "OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"),
    E(400, "INVALID_HANDLE", "invalid resource handle"),
    E(401, "ILLEGAL_STATE", "the operation cannot be performed in the present state"),
    E(500, "NOT_FOUND", "named symbol not found"),
    E(600, "NOT_READY", "device not ready"),
    E(700, "ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
    E(701, "LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"),
    E(702, "LAUNCH_TIMEOUT", "the launch timed out and was terminated"),
    E(704, "PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"),
    E(705, "PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"),
    E(708, "PRIMARY_CONTEXT_ACTIVE", "cannot set while device is active in this process"),
    E(709, "CONTEXT_IS_DESTROYED", "context is destroyed"),
    E(712, "HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"),
    E(713, "HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"),
    E(715, "ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"),
    E(716, "MISALIGNED_ADDRESS", "misaligned address"),
    E(719, "LAUNCH_FAILED", "unspecified launch failure"),
    E(720, "COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"),
    E(800, "NOT_PERMITTED", "operation not permitted"),
    E(801, "NOT_SUPPORTED", "operation not supported"),
    E(802, "SYSTEM_NOT_READY", "system not yet initialized"),
    E(803, "SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"),
    E(900, "STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"),
    E(901, "STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"),
    E(902, "STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences"),
    E(903, "STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"),
    E(904, "STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"),
    E(905, "STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"),
    E(906, "STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream"),
    E(907, "CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"),
    E(908, "STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread"),
    E(910, "GRAPH_EXEC_UPDATE_FAILURE",
        "the graph update was not performed because it included changes which violated "
        "constraints specific to instantiated graph update"),
    E(999, "UNKNOWN", "unknown error"),
};

// The functions that describe errors can be called at any time, and never fail on demand.
static CUresult text_of(CUresult code, const char **out, bool name) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = NULL;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    if (errors[i].code == code) *out = name ? errors[i].name : errors[i].text;
  }
  return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuGetErrorName(CUresult code, const char **out) { return text_of(code, out, true); }
API CUresult cuGetErrorString(CUresult code, const char **out) { return text_of(code, out, false); }
