/* Storages and accounts: on the CPU, and on a device with scopes whose calls the test lets fail. */
#include "ctest/check.h"
#include "ctest/device.h"
#include "vm/vm.h"

#include <pthread.h>

enum { DEVICE = 29, OWN_WORKSPACES = 30 };

static const DLDevice cpu = {kDLCPU, 0};
static const DLDataType f32 = {kDLFloat, 32, 1}, u8 = {kDLUInt, 8, 1};

static char last_scope[64];

static int alloc_scoped(API, DLDevice dev, int32_t ndim, const int64_t* shape, DLDataType t, const char* scope,
                        void** out) {
  (void)api, (void)dev;
  if (strcmp(scope, "global.texture") != 0) return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "no scope %s", scope);
  size_t n = t.bits / 8;
  for (int i = 0; i < ndim; i++) n *= (size_t)shape[i];
  snprintf(last_scope, sizeof last_scope, "%s", scope);
  return space_new(n, out);
}
static int workspace(API, DLDevice dev, size_t n, DLDataType hint, TVMFFIStreamHandle s, void** out) {
  (void)api, (void)dev, (void)hint, (void)s;
  return space_new(n, out);
}

static const TVMGODeviceAPI plain = {DEVICE_FUNCTIONS, .alloc_data_space_with_scope = alloc_scoped};
static const TVMGODeviceAPI own = {DEVICE_FUNCTIONS, .alloc_workspace = workspace, .free_workspace = release};
static const DLDevice device = {(DLDeviceType)DEVICE, 0}, owner = {(DLDeviceType)OWN_WORKSPACES, 0};

static tvmgo_vm_memory of(tvmgo_vm_account* a) {
  tvmgo_vm_memory m;
  tvmgo_vm_account_read(a, &m);
  return m;
}
static TVMFFIObject* tensor(TVMFFIObject* s, int64_t offset, int64_t rows, int64_t columns, const char* scope) {
  return tvmgo_vm_storage_tensor(s, offset, (int64_t[]){rows, columns}, 2, f32, scope);
}
static DLTensor* dl(TVMFFIObject* t) { return &((tvmgo_tensor*)t)->dl; }

static void test_tensors_in_a_storage(void) {
  int64_t objects = check_live(TVMGO_LIVE_OBJECTS);
  tvmgo_vm_account* a = tvmgo_vm_account_new(NULL, 0);
  TVMFFIObject* s = tvmgo_vm_storage_new(a, cpu, 10000, u8, "global");
  REQUIRE(s != NULL);
  CHECK_EQ_INT(s->type_index, tvmgo_vm_storage_type());
  CHECK_EQ_INT(tvmgo_vm_storage_bytes(s), 12288); /* whole pages, as in TVM */
  TVMFFIObject *x = tensor(s, 0, 5, 10, NULL), *y = tensor(s, 4096, 50, 40, "global");
  REQUIRE(x != NULL && y != NULL);
  CHECK_EQ_PTR(dl(y)->data, dl(x)->data);
  CHECK_EQ_INT((uintptr_t)dl(x)->data % 64, 0);
  CHECK_EQ_INT(dl(y)->byte_offset, 4096);
  CHECK_EQ_INT(dl(y)->shape[1], 40);
  CHECK_EQ_INT(dl(y)->strides[0], 40);
  CHECK(tvmgo_tensor_goes_to_stream(y));
  tvmgo_object_release(s);
  memset((char*)dl(y)->data + 4096, 1, 8000); /* the tensors keep the memory alive: asan looks */
  tvmgo_object_release(x);
  CHECK_EQ_INT(of(a).live, 12288);
  tvmgo_object_release(y);
  tvmgo_vm_memory m = of(a);
  CHECK_EQ_INT(m.live, 0);
  CHECK_EQ_INT(m.storages, 0);
  CHECK_EQ_INT(m.peak, 12288);
  CHECK_EQ_INT(m.taken, 1);
  tvmgo_vm_account_release(a);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), objects);
}

static void test_bad_arguments(void) {
  tvmgo_vm_account* a = tvmgo_vm_account_new(NULL, 0);
  TVMFFIObject* s = tvmgo_vm_storage_new(a, cpu, 4096, u8, NULL);
  REQUIRE(s != NULL);
  CHECK(tensor(s, -4, 1, 1, NULL) == NULL);
  CHECK_ERROR("ValueError", "the byte offset is negative: -4");
  CHECK(tensor(s, 4092, 1, 2, NULL) == NULL);
  CHECK_ERROR("ValueError", "8 bytes at offset 4092 do not fit into the storage's 4096 bytes");
  CHECK(tensor(s, INT64_MAX, 1, 1, NULL) == NULL);
  CHECK_ERROR("ValueError", "do not fit");
  CHECK(tensor(s, 0, -1, 1, NULL) == NULL);
  CHECK_ERROR("ValueError", "dimension 0 of the shape is negative");
  CHECK(tensor(s, 0, INT64_MAX / 2, 3, NULL) == NULL);
  CHECK_ERROR("ValueError", "2^63 elements");
  CHECK(tensor(s, 0, INT64_C(1) << 62, 1, NULL) == NULL);
  CHECK_ERROR("ValueError", "");
  CHECK(tvmgo_vm_storage_tensor(s, 0, NULL, 1, f32, NULL) == NULL);
  CHECK_ERROR("ValueError", "shape is NULL");
  CHECK(tvmgo_vm_storage_tensor(s, 0, NULL, 0, (DLDataType){kDLFloat, 0, 1}, NULL) == NULL);
  CHECK_ERROR("ValueError", "no memory can hold");
  TVMFFIObject* t = tvmgo_vm_storage_tensor(s, 4096, (int64_t[]){0}, 1, f32, NULL); /* empty, at the end */
  CHECK(t != NULL);
  CHECK(tensor(t, 0, 1, 1, NULL) == NULL);
  CHECK_ERROR("TypeError", "want a vm.Storage, got Tensor");
  CHECK(tensor(NULL, 0, 1, 1, NULL) == NULL);
  CHECK_ERROR("TypeError", "got None");
  CHECK(tensor(s, 0, 1, 1, "global.texture") == NULL);
  CHECK_ERROR("NotSupportedError", "device cpu has no memory of scope \"global.texture\"");
  tvmgo_object_release(t);
  tvmgo_object_release(s);

  CHECK(tvmgo_vm_storage_new(a, cpu, SIZE_MAX, u8, NULL) == NULL); /* a negative size */
  CHECK_ERROR("MemoryError", "more than a device can have");
  CHECK(tvmgo_vm_storage_new(a, cpu, (size_t)1 << 60, u8, NULL) == NULL);
  CHECK_ERROR("MemoryError", "allocate storage of 1152921504606846976 bytes on cpu:0");
  CHECK(tvmgo_vm_storage_new_array(a, cpu, (int64_t[]){-8}, 1, u8, NULL) == NULL);
  CHECK_ERROR("ValueError", "allocate storage: dimension 0 of the shape is negative: -8");
  CHECK(tvmgo_vm_storage_new_array(a, cpu, (int64_t[]){INT64_MAX, 9}, 2, u8, NULL) == NULL);
  CHECK_ERROR("ValueError", "2^63");
  CHECK(tvmgo_vm_storage_new(a, (DLDevice){kDLCPU, -1}, 8, u8, NULL) == NULL);
  CHECK_ERROR("ValueError", "on cpu:-1");
  CHECK(tvmgo_vm_storage_new(a, (DLDevice){99, 0}, 8, u8, NULL) == NULL);
  CHECK_ERROR("ValueError", "allocate storage of 8 bytes on device type 99:0: device type 99 is");
  CHECK(tvmgo_vm_storage_new(a, (DLDevice){kDLMAIA, 0}, 8, u8, NULL) == NULL);
  CHECK_ERROR("DeviceUnavailableError", "allocate storage of 8 bytes on maia:0");
  TVMFFIObject* uncounted = tvmgo_vm_storage_new(NULL, cpu, 8, u8, NULL);
  CHECK(uncounted != NULL);
  tvmgo_object_release(uncounted);
  char scope[200];
  memset(scope, 'g', sizeof scope - 1);
  scope[sizeof scope - 1] = 0;
  CHECK(tvmgo_vm_storage_new(a, device, 8, u8, scope) == NULL);
  CHECK_ERROR("ValueError", "the scope is longer than 63 bytes");
  tvmgo_vm_memory m = of(a);
  CHECK_EQ_INT(m.live, 0);
  CHECK_EQ_INT(m.storages, 0);
  tvmgo_vm_account_release(a);
}

static void test_accounts_and_limits(void) {
  tvmgo_vm_account* model = tvmgo_vm_account_new(NULL, 0);
  tvmgo_vm_account* one = tvmgo_vm_account_new(model, 20480);
  tvmgo_vm_account* two = tvmgo_vm_account_new(model, 0);
  TVMFFIObject* s = tvmgo_vm_storage_new(one, cpu, 12288, u8, NULL);
  TVMFFIObject* t = tvmgo_vm_storage_new(two, cpu, 8192, u8, NULL);
  CHECK_EQ_INT(of(model).live, 20480);
  CHECK_EQ_INT(of(model).storages, 2);
  CHECK_EQ_INT(of(one).live, 12288);
  CHECK(tvmgo_vm_storage_new(one, cpu, 8193, u8, NULL) == NULL);
  CHECK_ERROR("MemoryError", "allocate storage of 8193 bytes on cpu:0: 12288 bytes exceed the memory limit of the "
                             "session: 12288 of 20480 bytes are in use");
  CHECK_EQ_INT(of(one).live, 12288);
  TVMFFIObject* fits = tvmgo_vm_storage_new(one, cpu, 8192, u8, NULL); /* the session is as usable as before */
  REQUIRE(fits != NULL);
  tvmgo_object_release(fits);
  CHECK_EQ_INT(of(one).peak, 20480);
  CHECK_EQ_INT(of(model).peak, 28672);

  tvmgo_vm_account_set_limit(model, 24576);
  tvmgo_vm_account_set_limit(one, 0);
  CHECK(tvmgo_vm_storage_new(one, cpu, 4097, u8, NULL) == NULL);
  CHECK_ERROR("MemoryError", "limit of the model: 20480 of 24576 bytes are in use");
  CHECK_EQ_INT(of(one).live, 12288); /* taken back from the session */
  CHECK_EQ_INT(of(one).peak, 20480);
  CHECK_EQ_INT(of(one).taken, 2);

  tvmgo_vm_account_release(two); /* the session is closed before its results are gone */
  CHECK_EQ_INT(of(model).storages, 2);
  tvmgo_object_release(t);
  CHECK_EQ_INT(of(model).live, 12288);
  CHECK_EQ_INT(of(model).storages, 1);
  CHECK_EQ_INT(of(model).taken, 3);
  tvmgo_vm_account_reset_peak(model);
  CHECK_EQ_INT(of(model).peak, 12288);
  tvmgo_vm_account_release(model);
  tvmgo_vm_account_release(one); /* the storage alone keeps both accounts now: asan looks */
  tvmgo_object_release(s);
}

static void trim(DLDevice dev) {
  int64_t freed;
  CHECK_OK(tvmgo_workspace_trim_device(dev, &freed));
}

/* Idle memory goes back to the device before a request fails. */
static void test_full_device(void) {
  tvmgo_vm_account* a = tvmgo_vm_account_new(NULL, 0);
  room = 65536;
  TVMFFIObject* s = tvmgo_vm_storage_new(a, device, 40960, u8, NULL);
  REQUIRE(s != NULL);
  tvmgo_object_release(s);
  CHECK_EQ_INT(in_device, 40960); /* idle */
  s = tvmgo_vm_storage_new(a, device, 57344, u8, NULL);
  REQUIRE(s != NULL);
  CHECK_EQ_INT(in_device, 57344);
  CHECK(tvmgo_vm_storage_new(a, device, 16384, u8, NULL) == NULL);
  CHECK_ERROR("MemoryError", "57344 bytes are in storages: ");
  CHECK_EQ_INT(of(a).live, 57344);
  tvmgo_object_release(s);
  s = tvmgo_vm_storage_new_array(a, device, (int64_t[]){128, 31, 4}, 3, f32, "global.texture"); /* trims, too */
  REQUIRE(s != NULL);
  CHECK_EQ_INT(in_device, 63488);
  tvmgo_object_release(s);
  CHECK_EQ_INT(in_device, 0);
  CHECK_EQ_INT(of(a).live, 0);
  room = INT64_MAX / 2;
  tvmgo_vm_account_release(a);
}

static void test_every_call_of_the_driver_fails_once(void) {
  int64_t objects = check_live(TVMGO_LIVE_OBJECTS);
  for (int k = 0; k < 8; k++) {
    tvmgo_vm_account* a = tvmgo_vm_account_new(NULL, 0);
    calls = 0;
    fail_at = k;
    for (int i = 0; i < 3; i++) {
      TVMFFIObject* s = tvmgo_vm_storage_new(a, i == 1 ? owner : device, 5000, u8, NULL);
      TVMFFIObject* t = s == NULL ? NULL : tensor(s, 16, 4, 4, "global.texture"); /* has memory of its own */
      if (s == NULL || t == NULL) tvmgo_object_release(tvmgo_error_take());
      tvmgo_object_release(s);
      tvmgo_object_release(t);
    }
    CHECK_EQ_INT(of(a).live, 0);
    CHECK_EQ_INT(of(a).storages, 0);
    tvmgo_vm_account_release(a);
    trim(device);
    CHECK_EQ_INT(in_device, 0);
  }
  fail_at = -1;
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), objects);
}

static void test_scopes(void) {
  tvmgo_vm_account* a = tvmgo_vm_account_new(NULL, 0);
  TVMFFIObject* s = tvmgo_vm_storage_new_array(a, device, (int64_t[]){6, 4}, 2, f32, "global.texture");
  REQUIRE(s != NULL);
  CHECK_STR(last_scope, "global.texture");
  CHECK_EQ_INT(of(a).live, 96);
  TVMFFIObject *x = tensor(s, 0, 6, 4, "global.texture"), *y = tensor(s, 0, 3, 4, NULL);
  TVMFFIObject* z = tensor(s, 0, 6, 4, "global");
  REQUIRE(x != NULL && y != NULL && z != NULL);
  TVMFFIObject* w = tvmgo_vm_storage_tensor(s, 0, (int64_t[]){6, 4, 1}, 3, f32, NULL);
  CHECK(w != NULL && dl(w)->data != dl(x)->data);
  tvmgo_object_release(w);
  CHECK_EQ_INT(of(a).storages, 3);
  CHECK_EQ_INT(of(a).live, 96 + 48 + 4096);
  CHECK(dl(y)->data != dl(x)->data && dl(z)->data != dl(x)->data);
  tvmgo_object_release(y);
  tvmgo_object_release(z);
  tvmgo_object_release(s);
  CHECK_EQ_INT(of(a).live, 96);
  tvmgo_object_release(x);
  CHECK_EQ_INT(of(a).live, 0);
  CHECK(tvmgo_vm_storage_new_array(a, device, (int64_t[]){6, 4}, 2, f32, "global.vtcm") == NULL);
  CHECK_ERROR("NotSupportedError", "allocate storage of 96 bytes on ext29:0 in scope \"global.vtcm\"");
  tvmgo_vm_account_release(a);
  trim(device);
}

/* The destructor of a storage keeps the error of its thread. */
static void test_release_keeps_the_error(void) {
  tvmgo_vm_account* a = tvmgo_vm_account_new(NULL, 0);
  TVMFFIObject* s = tvmgo_vm_storage_new(a, cpu, 64, u8, NULL);
  tvmgo_raise(TVMGO_KEY_ERROR, "the call failed");
  tvmgo_object_release(s);
  CHECK_ERROR("KeyError", "the call failed");
  tvmgo_vm_account_release(a);
}

/* ---- threads ---- */

enum { THREADS = 64, SLOTS = 32 };
static tvmgo_vm_account* hammer_model;
static _Atomic(TVMFFIObject*) slots[SLOTS]; /* tensors on their way to whoever takes them */
static _Atomic int refused;

static void* hammer(void* arg) {
  uint32_t random = 12345 + (uint32_t)(intptr_t)arg;
  tvmgo_vm_account* session = tvmgo_vm_account_new(hammer_model, 4 << 20);
  for (int i = 0; i < (CHECK_TSAN ? 300 : 2000); i++) {
    random = random * 1664525 + 1013904223;
    size_t n = (random >> 8) % (i % 7 == 0 ? 300000 : 9000);
    TVMFFIObject* s = tvmgo_vm_storage_new(session, random >> 31 ? cpu : device, n, u8, NULL);
    if (s == NULL) {
      tvmgo_object_release(tvmgo_error_take());
      refused++;
      continue;
    }
    TVMFFIObject* t = tvmgo_vm_storage_tensor(s, 0, (int64_t[]){(int64_t)n}, 1, u8, NULL);
    memset(dl(t)->data, i, n);
    tvmgo_object_release(s);
    tvmgo_object_release(atomic_exchange(&slots[random % SLOTS], t)); /* usually of another thread */
  }
  tvmgo_vm_account_release(session);
  return NULL;
}

static void test_hammer(void) {
  pthread_t threads[THREADS];
  int64_t objects = check_live(TVMGO_LIVE_OBJECTS);
  hammer_model = tvmgo_vm_account_new(NULL, 5 << 20);
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, hammer, (void*)(intptr_t)i);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < SLOTS; i++) tvmgo_object_release(atomic_exchange(&slots[i], NULL));
  tvmgo_vm_memory m = of(hammer_model);
  CHECK_EQ_INT(m.live, 0);
  CHECK_EQ_INT(m.storages, 0);
  CHECK(m.peak > 0 && m.peak <= 5 << 20);
  CHECK_EQ_INT(m.taken + refused, THREADS * (CHECK_TSAN ? 300 : 2000));
  tvmgo_vm_account_release(hammer_model);
  trim(device);
  trim(cpu);
  CHECK_EQ_INT(in_device, 0);
  tvmgo_workspace_stats w;
  tvmgo_pool_stats(cpu, &w);
  CHECK_EQ_INT(w.held, 0);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), objects);
}

/* Sizes that change all the time: what the pool holds stays within its bound, and so does the process. */
static void test_changing_sizes(void) {
  tvmgo_vm_account* a = tvmgo_vm_account_new(NULL, 0);
  int64_t rounds = CHECK_ASAN || CHECK_TSAN ? 30000 : 1000000, most = 0;
  uint32_t random = 1;
  for (int64_t i = 0; i < rounds; i++) {
    random = random * 1664525 + 1013904223;
    TVMFFIObject* s = tvmgo_vm_storage_new(a, cpu, 1 + (random >> 8) % (8 << 20), u8, NULL);
    tvmgo_object_release(s);
    tvmgo_workspace_stats w;
    tvmgo_pool_stats(cpu, &w);
    if (w.held > most) most = w.held;
  }
  CHECK(most <= (8 + 2 + 64) << 20); /* the peak of use, rounded up to a class, and 64 MiB */
  CHECK_EQ_INT(of(a).taken, rounds);
  CHECK_EQ_INT(of(a).live, 0);
  tvmgo_vm_account_release(a);
  trim(cpu);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  tvmgo_idle_set_time(0); /* the tests count what is idle */
  const TVMGODeviceSpec specs[] = {
      {.struct_size = sizeof(TVMGODeviceSpec), .device_type = DEVICE, .name = "ext29", .api = &plain},
      {.struct_size = sizeof(TVMGODeviceSpec), .device_type = OWN_WORKSPACES, .name = "ext30", .api = &own},
  };
  for (int i = 0; i < 2; i++) CHECK_OK(TVMGODeviceAPIRegister(&specs[i]));
  RUN(test_tensors_in_a_storage);
  RUN(test_bad_arguments);
  RUN(test_accounts_and_limits);
  RUN(test_full_device);
  RUN(test_every_call_of_the_driver_fails_once);
  RUN(test_scopes);
  RUN(test_release_keeps_the_error);
  RUN(test_hammer);
  RUN(test_changing_sizes);
  return check_end();
}
