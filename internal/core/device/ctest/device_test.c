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

/* What was raised before a registration that succeeds is still raised. */
static void test_earlier_errors_stay(void) {
  TVMGODeviceSpec spec = spec_of("mine", 28);
  tvmgo_raise(TVMGO_VALUE_ERROR, "earlier");
  CHECK_OK(TVMGODeviceAPIRegister(&spec));
  CHECK_ERROR("ValueError", "earlier");
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_earlier_errors_may_call);
  RUN(test_earlier_errors_stay);
  return check_end();
}
