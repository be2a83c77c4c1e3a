/* A C program registers a device and runs the C part of the suite on it. An argument selects a defect of the
 * device. */
#include "own_device_suite.h"

int failures;

int main(int argc, char** argv) {
  TVMGODeviceSpec spec = {.struct_size = sizeof spec, .device_type = 26, .name = "threads"};
  spec.api = own_device(argc > 1 ? argv[1] : NULL);
  if (TVMGODeviceAPIRegister(&spec) != 0) {
    puts("the device cannot be registered");
    return 1;
  }
  device_suite(26);
  return report();
}
