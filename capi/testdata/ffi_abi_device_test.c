/* A C program registers a device: a table of functions, here for host memory (tvmgo/device_api.h). */
#include <tvm/runtime/c_backend_api.h>
#include <tvmgo/device_api.h>

#include "ffi_abi_test.h"

enum { NUMBER = 30 };

static int blocks, copies, syncs, streams, current;

static int known(int32_t id) {
  if (id == 0) return 0;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "there is one testdevice");
  return -1;
}

static int set_device(const TVMGODeviceAPI* api, int32_t id) {
  (void)api;
  return known(id) != 0 ? -1 : (current++, 0);
}

static int get_attr(const TVMGODeviceAPI* api, int32_t id, int32_t kind, TVMFFIAny* out) {
  (void)api;
  *out = kind == kTVMGODeviceAttrExist ? int_view(id == 0) : any_of(kTVMFFINone);
  return 0;
}

static int alloc(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, size_t alignment, DLDataType hint,
    void** out) {
  (void)api, (void)hint;
  if (known(dev.device_id) != 0) return -1;
  *out = aligned_alloc(alignment, (nbytes + alignment) / alignment * alignment);
  blocks++;
  return 0;
}

static int release(const TVMGODeviceAPI* api, DLDevice dev, void* p) {
  (void)api, (void)dev;
  blocks--;
  free(p);
  return 0;
}

static int copy(const TVMGODeviceAPI* api, const DLTensor* from, const DLTensor* to, TVMFFIStreamHandle stream) {
  (void)api, (void)stream;
  size_t bytes = from->dtype.bits / 8 * from->dtype.lanes;
  for (int i = 0; i < from->ndim; i++) bytes *= (size_t)from->shape[i];
  memcpy((char*)to->data + to->byte_offset, (char*)from->data + from->byte_offset, bytes);
  copies++;
  return 0;
}

static int stream_sync(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  (void)api, (void)dev, (void)stream;
  syncs++;
  return 0;
}

static int create_stream(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle* out) {
  (void)api, (void)dev;
  *out = &streams;
  streams++;
  return 0;
}
static int free_stream(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  (void)api, (void)dev;
  return streams -= stream == &streams, 0;
}
static int set_stream(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  (void)api, (void)dev, (void)stream;
  return 0;
}
static int order_streams(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle src, TVMFFIStreamHandle dst) {
  (void)api, (void)dev, (void)src, (void)dst;
  return 0;
}

static TVMGODeviceAPI table = {.struct_size = sizeof table,
                               .set_device = set_device,
                               .get_attr = get_attr,
                               .alloc_data_space = alloc,
                               .free_data_space = release,
                               .copy_data_from_to = copy,
                               .stream_sync = stream_sync,
                               .create_stream = create_stream,
                               .free_stream = free_stream,
                               .set_stream = set_stream,
                               .sync_stream_from_to = order_streams};

static int created;
static int create(void* ctx, const TVMGODeviceAPI** out) {
  if (created++ == 0) { /* no driver yet; tried again later */
    TVMFFIErrorSetRaisedFromCStr("DeviceUnavailableError", "testdevice has no driver: plug it in");
    return -1;
  }
  *out = ctx;
  return 0;
}

static void test_register(void) {
  static const char* const aliases[] = {"testdev", NULL};
  TVMGODeviceSpec spec = {.struct_size = sizeof spec, .device_type = NUMBER, .name = "testdevice", .aliases = aliases};
  spec.create = create, spec.ctx = &table;
  const TVMGODeviceAPI* api = &table;
  OK(TVMGODeviceAPIGet(NUMBER, 1, &api));
  CHECK(api == NULL);
  FAILS(TVMGODeviceAPIGet(NUMBER, 0, &api), "ValueError", "cpu");
  FAILS(TVMGODeviceAPIGet(NUMBER, 0, NULL), "ValueError", "NULL");
  FAILS(TVMGODeviceAPIRegister(NULL), "ValueError", "NULL");
  TVMGODeviceSpec bad = spec;
  bad.struct_size = 8;
  FAILS(TVMGODeviceAPIRegister(&bad), "ValueError", "struct_size");
  bad = spec, bad.name = "Test Device";
  FAILS(TVMGODeviceAPIRegister(&bad), "ValueError", "a-z");
  bad = spec, bad.name = "cuda";
  FAILS(TVMGODeviceAPIRegister(&bad), "ValueError", "belongs to device type 2");
  bad = spec, bad.device_type = 36;
  FAILS(TVMGODeviceAPIRegister(&bad), "ValueError", "out of range");
  bad = spec, bad.create = NULL;
  FAILS(TVMGODeviceAPIRegister(&bad), "ValueError", "both NULL");
  TVMGODeviceAPI partial = table;
  partial.stream_sync = NULL, bad = spec, bad.create = NULL, bad.api = &partial;
  FAILS(TVMGODeviceAPIRegister(&bad), "ValueError", "mandatory");
  OK(TVMGODeviceAPIRegister(&spec));
  FAILS(TVMGODeviceAPIRegister(&spec), "ValueError", "taken");

  FAILS(TVMGODeviceAPIGet(NUMBER, 0, &api), "DeviceUnavailableError", "plug it in");
  OK(TVMGODeviceAPIGet(NUMBER, 0, &api));
  CHECK(api == &table && created == 2);
  TVMFFIAny out;
  OK(call_global("device_api.testdevice", NULL, 0, &out));
  CHECK(out.v_ptr == &table);
  OK(CALL("runtime.RuntimeEnabled", &out, text_view("testdevice")));
  CHECK(out.v_int64 == 1);
  OK(CALL("runtime.GetDeviceAttr", &out, int_view(NUMBER), int_view(5), int_view(0)));
  CHECK(out.v_int64 == 0);
  OK(CALL("__tvm_set_device", &out, int_view(NUMBER), int_view(0)));
  CHECK(current == 1);
  FAILS(CALL("__tvm_set_device", &out, int_view(NUMBER), int_view(7)), "ValueError", "there is one testdevice");
}

static void test_use(void) {
  const tvm_index_t shape[1] = {4};
  const DLDevice dev = TVMFFIDLDeviceFromIntPair(NUMBER, 0);
  float in[4] = {1, 2, 3, 4}, out[4] = {0};
  TVMArrayHandle a = NULL, host = NULL, none = NULL;
  OK(TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, NUMBER, 0, &a));
  OK(TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, kDLCPU, 0, &host));
  NEED(a != NULL && host != NULL);
  CHECK(blocks == 1 && (int)a->device.device_type == NUMBER);
  OK(TVMArrayCopyFromBytes(a, in, sizeof in));
  CHECK(copies == 1 && syncs == 1);
  OK(TVMArrayCopyFromTo(a, host, NULL));
  OK(TVMArrayCopyToBytes(host, out, sizeof out));
  CHECK(copies == 2 && memcmp(in, out, sizeof in) == 0);
  OK(TVMArrayFree(a));
  CHECK(blocks == 0);
  FAILS(TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, NUMBER, 7, &none), "ValueError", "there is one testdevice");
  OK(TVMArrayFree(host));

  void* p = TVMBackendAllocWorkspace(NUMBER, 0, 1000, kDLFloat, 32);
  CHECK(p != NULL && (size_t)p % 64 == 0 && blocks >= 1);
  OK(TVMBackendFreeWorkspace(NUMBER, 0, p));

  TVMStreamHandle s = NULL;
  OK(TVMStreamCreate(NUMBER, 0, &s));
  CHECK(s == &streams && streams == 1);
  OK(TVMSetStream(NUMBER, 0, s));
  CHECK(TVMFFIEnvGetStream(NUMBER, 0) == s);
  FAILS(TVMStreamFree(NUMBER, 0, s), "ValueError", "current stream");
  OK(TVMSetStream(NUMBER, 0, NULL));
  OK(TVMStreamStreamSynchronize(NUMBER, 0, s, NULL));
  OK(TVMStreamFree(NUMBER, 0, s));
  CHECK(streams == 0);
  OK(TVMDeviceAllocDataSpace(dev, 64, 64, (DLDataType){kDLFloat, 32, 1}, &p));
  OK(TVMDeviceFreeDataSpace(dev, p));
}

static void check_name(int32_t type, const char* name) {
  const char* got = tvmgo_device_name(type);
  CHECK(got != NULL && strcmp(got, name) == 0);
  CHECK(tvmgo_device_type(name) == type);
}

/* Names and numbers, also of devices that do not exist. */
static void test_names(void) {
  static const struct {
    int32_t type;
    const char* name;
  } known[] = {{kDLCPU, "cpu"},     {kDLCUDA, "cuda"},   {kDLCUDAHost, "cuda_host"}, {kDLOpenCL, "opencl"},
               {kDLVulkan, "vulkan"}, {kDLMetal, "metal"}, {kDLROCM, "rocm"},          {kDLROCMHost, "rocm_host"},
               {kDLExtDev, "ext_dev"}, {kDLCUDAManaged, "cuda_managed"}, {kDLOneAPI, "oneapi"}, {kDLWebGPU, "webgpu"},
               {kDLHexagon, "hexagon"}, {kDLMAIA, "maia"}, {kDLTrn, "trn"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) check_name(known[i].type, known[i].name);
  CHECK(tvmgo_device_type("llvm") == kDLCPU && tvmgo_device_type("llvm -mcpu=native") == kDLCPU);
  CHECK(tvmgo_device_type("nvptx") == kDLCUDA && tvmgo_device_type("cl") == kDLOpenCL);
  static const char* const unknown[] = {"", " cuda", "CUDA", "cud", "cudas", "rpc", "nosuch"};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) CHECK(tvmgo_device_type(unknown[i]) == -1);
  CHECK(tvmgo_device_type(NULL) == -1);
  static const int32_t none[] = {-1, INT32_MIN, 0, 5, 19, 36, 127};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) CHECK(tvmgo_device_name(none[i]) == NULL);
  CHECK(strcmp(tvmgo_device_name(130), "rpc") == 0 && strcmp(tvmgo_device_name(INT32_MAX), "rpc") == 0);
  check_name(NUMBER, "testdevice");
}

void test_own_device(void) {
  test_register();
  test_names();
  test_use();
}
