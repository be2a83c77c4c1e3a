/* Registration of devices. */
#include "ctest/foreign_error.h"

static int create_none(void* ctx, const TVMGODeviceAPI** out) {
  (void)ctx;
  *out = NULL;
  return 0;
}

static TVMGODeviceSpec spec_of(const char* name, int32_t number) {
  return (TVMGODeviceSpec){.struct_size = sizeof(TVMGODeviceSpec), .device_type = number, .name = name,
                           .create = create_none};
}

static void ask_for_name(void) { CHECK(tvmgo_device_type_number("cpu", 3) == kDLCPU); }

static void* register_taken(void* arg) {
  TVMGODeviceSpec spec = spec_of("mine", kDLCUDA), other = spec_of("cuda", 27);
  (void)arg;
  raise_foreign_error(ask_for_name);
  CHECK_FAILS(TVMGODeviceAPIRegister(&spec), "ValueError", "number 2 is \"cuda\"");
  raise_foreign_error(ask_for_name);
  CHECK_FAILS(TVMGODeviceAPIRegister(&other), "ValueError", "the name \"cuda\" belongs to device type 2");
  return NULL;
}

/* An error replaces the thread's earlier one, whose release may ask for a device: not under the lock. */
static void test_earlier_errors_may_call(void) {
  foreign_calls = 0;
  REQUIRE(ends_in_time(register_taken, NULL));
  CHECK_EQ_INT(foreign_calls, 2);
}

/* An error that was raised before a successful registration is still raised. */
static void test_earlier_errors_stay(void) {
  TVMGODeviceSpec spec = spec_of("mine", 28);
  tvmgo_raise(TVMGO_VALUE_ERROR, "earlier");
  CHECK_OK(TVMGODeviceAPIRegister(&spec));
  CHECK_ERROR("ValueError", "earlier");
}

static int call(const char* name, int32_t n, const TVMFFIAny* args) {
  TVMFFIAny result = tvmgo_any_none();
  TVMFFIObject* f = tvmgo_global_get(name, strlen(name));
  if (f == NULL) return tvmgo_raise(TVMGO_NOT_FOUND_ERROR, "%s", name);
  int rc = tvmgo_function_call(f, args, n, &result);
  tvmgo_any_clear(&result);
  tvmgo_object_release(f);
  return rc;
}

/* A device is given as Device or as two integers; streams follow, and each function says how many it takes. */
static void test_streams_of_devices(void) {
  TVMFFIAny cpu = {.type_index = kTVMFFIDevice, .v_device = {kDLCPU, 0}};
  TVMFFIAny type = tvmgo_any_int(kDLCPU), zero = tvmgo_any_int(0), none = tvmgo_any_none(), half = tvmgo_any_bool(1);
  half.type_index = kTVMFFIFloat;
  static const struct {
    const char* name;
    int32_t least, most;
  } functions[] = {{"runtime.Device_StreamCreate", 0, 0},    {"runtime.Device_StreamFree", 1, 1},
                   {"runtime.Device_SetStream", 1, 1},       {"runtime.Device_StreamSync", 0, 1},
                   {"runtime.Device_StreamSyncFromTo", 2, 2}, {"tvmgo.workspace.trim", 0, 0}};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    const char* name = functions[i].name;
    for (int32_t streams = 0; streams <= 3; streams++) {
      TVMFFIAny one[4] = {cpu, zero, none, zero}, two[5] = {type, zero, none, zero, none};
      int fits = streams >= functions[i].least && streams <= functions[i].most;
      if (fits) {
        CHECK_OK(call(name, 1 + streams, one));
        CHECK_OK(call(name, 2 + streams, two));
        if (streams > 0) one[streams] = half;
        if (streams > 0) CHECK_FAILS(call(name, 1 + streams, one), "TypeError", "must be a stream (int or void*)");
      } else {
        CHECK_FAILS(call(name, 1 + streams, one), "TypeError", "expected");
        CHECK_FAILS(call(name, 2 + streams, two), "TypeError", "expected");
      }
    }
    CHECK_FAILS(call(name, 1, &type), "TypeError", "expected at least 2 arguments, got 1");
  }
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_earlier_errors_may_call);
  RUN(test_earlier_errors_stay);
  RUN(test_streams_of_devices);
  return check_end();
}
