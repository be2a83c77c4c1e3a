/* A device of the tests: its memory is the host's, it counts the bytes and fails when a test says so. Its copies and
 * streams do nothing. */
#pragma once

#include "device/device.h"

#include <stdlib.h>

static _Atomic int64_t in_device;       /* bytes that are allocated */
static int64_t room = INT64_MAX / 2;    /* that can be */
static _Atomic int fail_at = -1, calls; /* the number of the allocation that fails */

typedef struct {
  _Alignas(64) size_t size;
} space;

#define API const TVMGODeviceAPI* api
static int set_device(API, int32_t id) {
  (void)api;
  return id == 0 ? 0 : tvmgo_raise(TVMGO_VALUE_ERROR, "there is no device %d", (int)id);
}
static int get_attr(API, int32_t id, int32_t kind, TVMFFIAny* out) {
  (void)api, (void)id, (void)kind;
  *out = tvmgo_any_none();
  return 0;
}
static int space_new(size_t n, void** out) {
  if (calls++ == fail_at) return tvmgo_raise(TVMGO_MEMORY_ERROR, "the device has no memory left");
  if ((int64_t)n > room - in_device) return tvmgo_raise(TVMGO_MEMORY_ERROR, "the device is full");
  space* s = aligned_alloc(64, (sizeof *s + n + 63) / 64 * 64);
  s->size = n;
  in_device += (int64_t)n;
  *out = s + 1;
  return 0;
}
static int alloc(API, DLDevice dev, size_t n, size_t alignment, DLDataType hint, void** out) {
  (void)alignment, (void)hint;
  return set_device(api, dev.device_id) != 0 ? -1 : space_new(n, out);
}
static int release(API, DLDevice dev, void* p) {
  (void)api, (void)dev;
  space* s = (space*)p - 1;
  in_device -= (int64_t)s->size;
  free(s);
  return 0;
}
static int copy(API, const DLTensor* a, const DLTensor* b, TVMFFIStreamHandle s) {
  return (void)api, (void)a, (void)b, (void)s, 0;
}
static int stream_sync(API, DLDevice dev, TVMFFIStreamHandle s) { return (void)api, (void)dev, (void)s, 0; }

/* The fields of a table of functions; a test may add others. */
#define DEVICE_FUNCTIONS                                                                               \
  .struct_size = sizeof(TVMGODeviceAPI), .set_device = set_device, .get_attr = get_attr,              \
  .alloc_data_space = alloc, .free_data_space = release, .copy_data_from_to = copy, .stream_sync = stream_sync
