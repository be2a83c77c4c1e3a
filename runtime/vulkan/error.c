/* Raises errors for the result codes of Vulkan. */
#include <stdarg.h>
#include <stdio.h>

#include "../../internal/dl/dl.h"
#include "driver.h"

#define CODE(c) {c, #c}
static const struct {
  VkResult code;
  const char* name;
} codes[] = {
    CODE(VK_SUCCESS), CODE(VK_NOT_READY), CODE(VK_TIMEOUT), CODE(VK_EVENT_SET), CODE(VK_EVENT_RESET),
    CODE(VK_INCOMPLETE), CODE(VK_ERROR_OUT_OF_HOST_MEMORY), CODE(VK_ERROR_OUT_OF_DEVICE_MEMORY),
    CODE(VK_ERROR_INITIALIZATION_FAILED),
    CODE(VK_ERROR_DEVICE_LOST), CODE(VK_ERROR_MEMORY_MAP_FAILED), CODE(VK_ERROR_LAYER_NOT_PRESENT),
    CODE(VK_ERROR_EXTENSION_NOT_PRESENT), CODE(VK_ERROR_FEATURE_NOT_PRESENT), CODE(VK_ERROR_INCOMPATIBLE_DRIVER),
    CODE(VK_ERROR_TOO_MANY_OBJECTS), CODE(VK_ERROR_FORMAT_NOT_SUPPORTED), CODE(VK_ERROR_FRAGMENTED_POOL),
    CODE(VK_ERROR_UNKNOWN), CODE(VK_ERROR_OUT_OF_POOL_MEMORY), CODE(VK_ERROR_INVALID_EXTERNAL_HANDLE),
    CODE(VK_ERROR_FRAGMENTATION), CODE(VK_ERROR_VALIDATION_FAILED_EXT), CODE(VK_ERROR_INVALID_SHADER_NV),
    CODE(VK_ERROR_NOT_PERMITTED_KHR), CODE(VK_PIPELINE_COMPILE_REQUIRED),
};

const char* tvmgo_vk_code_name(VkResult code) {
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (codes[i].code == code) return codes[i].name;
  return "an error code that Vulkan 1.3 does not define";
}

static int raise(VkResult code, const char* format, va_list list) {
  char what[1024];
  vsnprintf(what, sizeof what, format, list);
  const char* kind = TVMGO_RUNTIME_ERROR;
  if (code == VK_ERROR_OUT_OF_HOST_MEMORY || code == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
      code == VK_ERROR_OUT_OF_POOL_MEMORY || code == VK_ERROR_TOO_MANY_OBJECTS || code == VK_ERROR_FRAGMENTED_POOL)
    kind = TVMGO_MEMORY_ERROR;
  if (code == VK_ERROR_DEVICE_LOST)
    return tvmgo_raise(TVMGO_UNAVAILABLE_ERROR,
                       "%s: VK_ERROR_DEVICE_LOST (-4): the driver reset the device (a kernel ran too long, or accessed "
                       "memory out of bounds); its data is lost, and this process cannot use it any more",
                       what);
  return tvmgo_raise(kind, "%s: %s (%d)", what, tvmgo_vk_code_name(code), (int)code);
}

int tvmgo_vk_raise(VkResult code, const char* format, ...) {
  va_list list;
  va_start(list, format);
  int rc = raise(code, format, list);
  va_end(list);
  return rc;
}

int tvmgo_vk_failed(vk_device* d, VkResult code, const char* format, ...) {
  if (code == VK_ERROR_DEVICE_LOST) atomic_store(&d->lost, 1);
  va_list list;
  va_start(list, format);
  int rc = raise(code, format, list);
  va_end(list);
  return rc;
}
