/* Vulkan's handles. */
#include "driver.h"

static const char* const kind_names[] = {"nothing in use", "memory", "a stream", "an event", "a timer"};
static tvmgo_handles handles = {.api = "vulkan", .size = sizeof(vk_handle), .kind_names = kind_names};
_Static_assert(sizeof(vk_handle) <= 96, "a handle is small");

vk_handle* tvmgo_vk_handle_new(handle_kind kind, int32_t device) { return tvmgo_handle_new(&handles, kind, device); }
void tvmgo_vk_handle_free(vk_handle* h) { tvmgo_handle_free(&handles, h); }
handle_kind tvmgo_vk_handle_kind(const void* p) { return tvmgo_handle_kind(&handles, p); }
vk_handle* tvmgo_vk_handle_need(const void* p, handle_kind kind, const char* what) {
  return tvmgo_handle_need(&handles, p, kind, what);
}

vk_handle* tvmgo_vk_data(const vk_device* d, const void* p, const char* what) {
  vk_handle* h = tvmgo_vk_handle_need(p, HANDLE_BUFFER, what);
  if (h == NULL || TVMGO_LIKELY(h->device == d->index)) return h;
  tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %p is memory of vulkan:%d, not of vulkan:%d", what, p, (int)h->device, (int)d->index);
  return NULL;
}
