//go:build opencl

/* Raises errors for the error codes of OpenCL. */
#include "driver.h"

#include <stdarg.h>
#include <stdio.h>

#include "../../internal/dl/dl.h"

#define CODE(c) {c, #c}
static const struct {
  cl_int code;
  const char* name;
} codes[] = {
    CODE(CL_DEVICE_NOT_FOUND), CODE(CL_DEVICE_NOT_AVAILABLE), CODE(CL_COMPILER_NOT_AVAILABLE),
    CODE(CL_MEM_OBJECT_ALLOCATION_FAILURE), CODE(CL_OUT_OF_RESOURCES), CODE(CL_OUT_OF_HOST_MEMORY),
    CODE(CL_PROFILING_INFO_NOT_AVAILABLE), CODE(CL_MEM_COPY_OVERLAP), CODE(CL_IMAGE_FORMAT_MISMATCH),
    CODE(CL_IMAGE_FORMAT_NOT_SUPPORTED), CODE(CL_BUILD_PROGRAM_FAILURE), CODE(CL_MAP_FAILURE),
    CODE(CL_MISALIGNED_SUB_BUFFER_OFFSET), CODE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    CODE(CL_COMPILE_PROGRAM_FAILURE), CODE(CL_LINKER_NOT_AVAILABLE), CODE(CL_LINK_PROGRAM_FAILURE),
    CODE(CL_DEVICE_PARTITION_FAILED), CODE(CL_KERNEL_ARG_INFO_NOT_AVAILABLE), CODE(CL_INVALID_VALUE),
    CODE(CL_INVALID_DEVICE_TYPE), CODE(CL_INVALID_PLATFORM), CODE(CL_INVALID_DEVICE), CODE(CL_INVALID_CONTEXT),
    CODE(CL_INVALID_QUEUE_PROPERTIES), CODE(CL_INVALID_COMMAND_QUEUE), CODE(CL_INVALID_HOST_PTR),
    CODE(CL_INVALID_MEM_OBJECT), CODE(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR), CODE(CL_INVALID_IMAGE_SIZE),
    CODE(CL_INVALID_SAMPLER), CODE(CL_INVALID_BINARY), CODE(CL_INVALID_BUILD_OPTIONS), CODE(CL_INVALID_PROGRAM),
    CODE(CL_INVALID_PROGRAM_EXECUTABLE), CODE(CL_INVALID_KERNEL_NAME), CODE(CL_INVALID_KERNEL_DEFINITION),
    CODE(CL_INVALID_KERNEL), CODE(CL_INVALID_ARG_INDEX), CODE(CL_INVALID_ARG_VALUE), CODE(CL_INVALID_ARG_SIZE),
    CODE(CL_INVALID_KERNEL_ARGS), CODE(CL_INVALID_WORK_DIMENSION), CODE(CL_INVALID_WORK_GROUP_SIZE),
    CODE(CL_INVALID_WORK_ITEM_SIZE), CODE(CL_INVALID_GLOBAL_OFFSET), CODE(CL_INVALID_EVENT_WAIT_LIST),
    CODE(CL_INVALID_EVENT), CODE(CL_INVALID_OPERATION), CODE(CL_INVALID_BUFFER_SIZE), CODE(CL_INVALID_GLOBAL_WORK_SIZE),
    CODE(CL_INVALID_PROPERTY), CODE(CL_INVALID_IMAGE_DESCRIPTOR), CODE(CL_INVALID_COMPILER_OPTIONS),
    CODE(CL_INVALID_LINKER_OPTIONS), CODE(CL_PLATFORM_NOT_FOUND_KHR),
};

const char* tvmgo_cl_code_name(cl_int code) {
  static _Thread_local char text[700];
  const char* lacked = tvmgo_dl_lacked(&tvmgo_dl_opencl, code);
  if (lacked != NULL) {
    snprintf(text, sizeof text, "%s has no function %s: install a loader and a driver of OpenCL 1.2 or newer",
             tvmgo_dl_opencl.path, lacked);
    return text;
  }
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (codes[i].code == code) return codes[i].name;
  return "an error code that OpenCL 1.2 does not define";
}

int tvmgo_cl_raise(cl_int code, const char* format, ...) {
  char what[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(what, sizeof what, format, list);
  va_end(list);
  if (!tvmgo_dl_use(&tvmgo_dl_opencl))
    return tvmgo_raise(TVMGO_UNAVAILABLE_ERROR, "%s: OpenCL is not usable: %s: %s", what, tvmgo_dl_opencl.why,
                       tvmgo_dl_opencl.cure);
  if (tvmgo_dl_lacked(&tvmgo_dl_opencl, code) != NULL)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "%s: %s", what, tvmgo_cl_code_name(code));
  const char* kind = TVMGO_RUNTIME_ERROR;
  if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY || code == CL_OUT_OF_RESOURCES)
    kind = TVMGO_MEMORY_ERROR;
  return tvmgo_raise(kind, "%s: %s (%d)", what, tvmgo_cl_code_name(code), (int)code);
}
