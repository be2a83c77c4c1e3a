//go:build opencl

/* The device table and its registration. */
#include "driver.h"

cl_device tvmgo_cl_devices[TVMGO_MAX_DEVICES];
int32_t tvmgo_cl_num_devices;

cl_device* tvmgo_cl_device(int32_t index) {
  if (index >= 0 && index < tvmgo_cl_num_devices) return &tvmgo_cl_devices[index];
  tvmgo_no_device((DLDevice){kDLOpenCL, index}, tvmgo_cl_num_devices, "");
  return NULL;
}

int tvmgo_cl_set_device(const TVMGODeviceAPI* api, int32_t id) {
  return tvmgo_cl_device(id) == NULL ? -1 : 0;
}

const TVMGODeviceAPI tvmgo_cl_table = {.struct_size = sizeof tvmgo_cl_table,
                                       TVMGO_DEVICE_TABLE(tvmgo_cl),
                                       .alloc_data_space_with_scope = tvmgo_cl_alloc_scoped};

int tvmgoOpenCLStart(void); /* driver.go */

static int create(void* ctx, const TVMGODeviceAPI** out) {
  if (tvmgo_enter_go("starting OpenCL") != 0 || tvmgoOpenCLStart() != 0) return -1;
  *out = &tvmgo_cl_table;
  return 0;
}

/* A constructor, so that the device is registered before the first call from C. */
__attribute__((constructor(120))) static void register_opencl(void) {
  tvmgo_device_builtin(kDLOpenCL, NULL, create, NULL);
}
