/* Misuse of a device that TVMGO_VALIDATE=1 reports, each time with the allocation or the stream:
 *   misuse_test TYPE NAME     device type (a number) and its name in messages
 * It works for every device with index 0. Tests that need streams, two indices or page-locked memory are omitted if
 * the device lacks these. The lines before the last one list the tests that ran. */
#include <tvm/runtime/c_backend_api.h>
#include <tvmgo/device_api.h>

#include "ffi_abi_test.h"

int failures;

static const TVMGODeviceAPI* api;
static DLDevice dev, next, host = {kDLCPU, 0};
static const DLDataType u8 = {kDLUInt, 8, 1};
static const char* name;
static char bytes[4096];

static const char* say(const char* format, int64_t n) {
  static char text[4][128];
  static int i;
  char* to = text[i++ % 4];
  snprintf(to, sizeof text[0], format, name, (long long)n);
  return to;
}

static void* memory(DLDevice on, size_t n) {
  void* p = NULL;
  OK(api->alloc_data_space(api, on, n, 64, u8, &p));
  return p;
}

static int copy(DLDevice from_dev, void* from, uint64_t from_at, DLDevice to_dev, void* to, uint64_t to_at, int64_t n,
    void* stream) {
  DLTensor a = {.data = from, .device = from_dev, .ndim = 1, .dtype = u8, .shape = &n, .byte_offset = from_at};
  DLTensor b = {.data = to, .device = to_dev, .ndim = 1, .dtype = u8, .shape = &n, .byte_offset = to_at};
  return api->copy_data_from_to(api, &a, &b, stream);
}
static int put(void* to, uint64_t at, int64_t n, void* stream) { return copy(host, bytes, 0, dev, to, at, n, stream); }
static int get(void* from, uint64_t at, int64_t n, void* stream) {
  return copy(dev, from, at, host, bytes, 0, n, stream);
}

static void test_memory(void) {
  void* p = memory(dev, 1000);
  OK(put(p, 0, 1000, NULL));
  OK(get(p, 999, 1, NULL));
  FAILS(put(p, 0, 1001, NULL), "ValueError", "validate: copy to: out of bounds: 1001 bytes from byte 0");
  FAILS(put(p, 0, 1001, NULL), "ValueError", say("data space of %s:0, %lld bytes at", 1000));
  FAILS(get(p, 1, 1000, NULL), "ValueError", "validate: copy from: out of bounds: 1000 bytes from byte 1");
  void* q = memory(dev, 64);
  FAILS(copy(dev, p, 0, dev, q, 0, 65, NULL), "ValueError", say("data space of %s:0, %lld bytes at", 64));
  OK(api->free_data_space(api, dev, p));
  FAILS(api->free_data_space(api, dev, p), "ValueError", "validate: free: double free");
  FAILS(api->free_data_space(api, dev, p), "ValueError", say("data space of %s:0, %lld bytes at", 1000));
  FAILS(get(p, 0, 8, NULL), "ValueError", "validate: copy from: use after free");
  FAILS(put(p, 0, 8, NULL), "ValueError", "freed by call #");
  FAILS(api->free_data_space(api, dev, bytes), "ValueError", "is no allocation of");
  OK(put(q, 0, 64, NULL)); /* the device still works */
  OK(api->free_data_space(api, dev, q));
}

static void test_workspaces(void) {
  void* w = TVMBackendAllocWorkspace((int)dev.device_type, 0, 640, kDLUInt, 8);
  NEED(w != NULL);
  OK(put(w, 0, 640, NULL));
  FAILS(put(w, 8, 640, NULL), "ValueError", say("workspace of %s:0, %lld bytes at", 640));
  FAILS(api->free_data_space(api, dev, w), "ValueError", "it is no data space");
  OK(TVMBackendFreeWorkspace((int)dev.device_type, 0, w));
  FAILS(get(w, 0, 8, NULL), "ValueError", "use after free");
  FAILS(TVMBackendFreeWorkspace((int)dev.device_type, 0, w), "ValueError", "double free");
}

static int has(DLDevice on) {
  TVMFFIAny exists = {0};
  return api->get_attr(api, on.device_id, kTVMGODeviceAttrExist, &exists) == 0 && exists.v_int64 != 0;
}

static void test_two_devices(void) {
  void *p = memory(dev, 64), *q = memory(next, 64);
  FAILS(api->free_data_space(api, next, p), "ValueError", "wrong device");
  FAILS(api->free_data_space(api, next, p), "ValueError", say("data space of %s:0, %lld bytes at", 64));
  FAILS(copy(next, p, 0, host, bytes, 0, 8, NULL), "ValueError", say("wrong device: the tensor says %s:%lld", 1));
  void* s = NULL;
  if (TVMGODeviceAPIHas(api, create_stream) && api->create_stream(api, next, &s) == 0 && s != NULL) {
    FAILS(put(p, 0, 8, s), "ValueError", "validate: copy: wrong stream");
    FAILS(api->stream_sync(api, dev, s), "ValueError", "validate: synchronize: wrong stream");
    OK(api->free_stream(api, next, s));
    puts("stream of another device");
  }
  OK(api->free_data_space(api, dev, p));
  OK(api->free_data_space(api, next, q));
  puts("two devices");
}

static void test_streams(void) {
  void *s = NULL, *p = memory(dev, 64);
  if (TVMGODeviceAPIHas(api, create_stream)) OK(api->create_stream(api, dev, &s));
  if (s != NULL) {
    OK(put(p, 0, 64, s));
    OK(api->free_stream(api, dev, s));
    FAILS(api->free_stream(api, dev, s), "ValueError", "validate: free stream");
    FAILS(put(p, 0, 8, s), "ValueError", "was freed by call #");
    FAILS(api->stream_sync(api, dev, s), "ValueError", say("of %s:0, made by call #", 0));
    puts("streams");
  }
  OK(api->free_data_space(api, dev, p));
}

static void test_pinned(void) {
  void *pinned = NULL, *p = memory(dev, 64), *q = NULL;
  if (TVMGODeviceAPIHas(api, pinned_alloc)) {
    OK(api->pinned_alloc(api, dev, 64, &pinned));
    OK(copy(host, pinned, 0, dev, p, 0, 64, NULL));
    OK(api->stream_sync(api, dev, NULL));
    FAILS(copy(host, pinned, 8, dev, p, 0, 64, NULL), "ValueError",
        say("page-locked memory of %s:0, %lld bytes at", 64));
    FAILS(api->free_data_space(api, dev, pinned), "ValueError", "");
    OK(api->pinned_free(api, dev, pinned));
    FAILS(api->pinned_free(api, dev, pinned), "ValueError", "double free");
    OK(api->pinned_alloc(api, dev, 64, &q));
    OK(api->pinned_free(api, dev, q));
    puts("page-locked memory");
  }
  OK(api->free_data_space(api, dev, p));
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  dev.device_type = (DLDeviceType)atoi(argv[1]);
  next = dev;
  next.device_id = 1;
  name = argv[2];
  OK(TVMGODeviceAPIGet(dev.device_type, 0, &api));
  if (api == NULL) return report();
  test_memory();
  test_workspaces();
  test_streams();
  test_pinned();
  if (dev.device_type != kDLCPU && has(next)) test_two_devices(); /* the host is a single device */
  return report();
}
