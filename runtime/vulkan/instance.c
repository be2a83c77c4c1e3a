/* The instance, the messages of validation, and the functions of the loader. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../internal/dl/dl.h"
#include "gobridge.h"

tvmgo_vulkan_instance tvmgo_vk_instance;
static int names_are_visible; /* validation is enabled, so that its messages contain the names of objects */

void* tvmgo_vk_loader(void) { return (void*)vkGetInstanceProcAddr; }

/* ---- validation ---- */

enum { MAX_MESSAGES = 64 };
static char messages[MAX_MESSAGES][2048];
static uint32_t num_messages;
static pthread_mutex_t messages_lock = PTHREAD_MUTEX_INITIALIZER;

static VkBool32 on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT type,
                           const VkDebugUtilsMessengerCallbackDataEXT* data, void* ctx) {
  /* Other messages, such as the loader's about drivers that it skips, are not errors of this package. */
  if (!(type & VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT)) return 0;
  pthread_mutex_lock(&messages_lock);
  if (num_messages < MAX_MESSAGES) snprintf(messages[num_messages], sizeof *messages, "%s", data->pMessage);
  num_messages++;
  pthread_mutex_unlock(&messages_lock);
  return 0;
}

uint32_t tvmgo_vk_num_messages(void) {
  pthread_mutex_lock(&messages_lock);
  uint32_t n = num_messages;
  pthread_mutex_unlock(&messages_lock);
  return n;
}

const char* tvmgo_vk_message(uint32_t i) { return i < MAX_MESSAGES ? messages[i] : ""; }

void tvmgo_vk_name(const vk_device* d, VkObjectType type, uint64_t object, const char* format, ...) {
  if (TVMGO_LIKELY(!names_are_visible)) return;
  char text[128];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  VkDebugUtilsObjectNameInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                        .objectType = type,
                                        .objectHandle = object,
                                        .pObjectName = text};
  tvmgo_vk_instance.vkSetDebugUtilsObjectNameEXT(d->handle, &info);
}

/* ---- the instance ---- */

static const char validation[] = "VK_LAYER_KHRONOS_validation";

static int has_validation(const tvmgo_vulkan_global* g) {
  VkLayerProperties layers[64];
  VkExtensionProperties extensions[64];
  uint32_t n = 64, layer = 0, debug = 0;
  VkResult rc = g->vkEnumerateInstanceLayerProperties(&n, layers);
  if (rc == VK_SUCCESS || rc == VK_INCOMPLETE)
    for (uint32_t i = 0; i < n; i++) layer |= strcmp(layers[i].layerName, validation) == 0;
  n = 64;
  rc = g->vkEnumerateInstanceExtensionProperties(layer ? validation : NULL, &n, extensions);
  if (rc == VK_SUCCESS || rc == VK_INCOMPLETE)
    for (uint32_t i = 0; i < n; i++) debug |= strcmp(extensions[i].extensionName, "VK_EXT_debug_utils") == 0;
  return layer && debug;
}

VkResult tvmgo_vk_instance_create(int validate, VkInstance* out, uint32_t* version, int* validated,
                                  const char** lacks) {
  tvmgo_vulkan_global g;
  *lacks = NULL;
#define MUST(f) \
  if ((g.f = (__typeof__(g.f))vkGetInstanceProcAddr(NULL, #f)) == NULL) *lacks = #f;
  TVMGO_VULKAN_GLOBAL(MUST, MUST)
#undef MUST
  if (*lacks != NULL) return VK_ERROR_INCOMPATIBLE_DRIVER;
  VkResult rc = g.vkEnumerateInstanceVersion(version);
  if (rc != VK_SUCCESS) return rc;
  if (*version < VK_API_VERSION_1_1) return VK_ERROR_INCOMPATIBLE_DRIVER;
  if (*version > VK_API_VERSION_1_3) *version = VK_API_VERSION_1_3;
  *validated = validate && has_validation(&g);
  VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pEngineName = "tvmgo", .apiVersion = *version};
  VkDebugUtilsMessengerCreateInfoEXT messenger = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity =
          VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
      .pfnUserCallback = on_message};
  /* Only synchronization validation reports missing barriers. */
  VkValidationFeatureEnableEXT order = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT more = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                  .pNext = &messenger,
                                  .enabledValidationFeatureCount = 1,
                                  .pEnabledValidationFeatures = &order};
  const char *layers[] = {validation}, *extensions[] = {"VK_EXT_debug_utils", "VK_EXT_validation_features"};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
  if (*validated) {
    info.pNext = &more;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = layers;
    info.enabledExtensionCount = 2;
    info.ppEnabledExtensionNames = extensions;
  }
  tvmgo_dl_quiet_begin(); /* drivers are loaded here and may print */
  rc = g.vkCreateInstance(&info, NULL, out);
  tvmgo_dl_quiet_end();
  if (rc != VK_SUCCESS) return rc;
#define MAY(f) tvmgo_vk_instance.f = (__typeof__(tvmgo_vk_instance.f))vkGetInstanceProcAddr(*out, #f);
#define MUST(f) MAY(f) \
  if (tvmgo_vk_instance.f == NULL) *lacks = #f;
  TVMGO_VULKAN_INSTANCE(MUST, MAY)
#undef MUST
#undef MAY
  /* The Go binding calls these functions without a check. */
  static const char* const of_the_binding[] = {"vkEnumeratePhysicalDevices", "vkGetPhysicalDeviceProperties"};
  for (size_t i = 0; i < sizeof of_the_binding / sizeof *of_the_binding; i++)
    if (vkGetInstanceProcAddr(*out, of_the_binding[i]) == NULL) *lacks = of_the_binding[i];
  if (*lacks != NULL) {
    if (tvmgo_vk_instance.vkDestroyInstance != NULL) tvmgo_vk_instance.vkDestroyInstance(*out, NULL);
    return VK_ERROR_INCOMPATIBLE_DRIVER;
  }
  if (*validated) {
    VkDebugUtilsMessengerEXT kept;
    rc = tvmgo_vk_instance.vkCreateDebugUtilsMessengerEXT(*out, &messenger, NULL, &kept);
    names_are_visible = rc == VK_SUCCESS;
  } else if (validate) {
    rc = VK_ERROR_LAYER_NOT_PRESENT;
  }
  if (rc != VK_SUCCESS) tvmgo_vk_instance.vkDestroyInstance(*out, NULL);
  return rc;
}
