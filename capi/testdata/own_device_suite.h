/* The C part of the conformance suite of devices: requirements for a device that a C program registers, when it is used
 * through the library's C ABI. The Go part is package runtime/devicetest. */
#ifndef OWN_DEVICE_SUITE_H_
#define OWN_DEVICE_SUITE_H_

#include "check.h"
#include <tvmgo/device_api.h>

/* Tests a device with the indices 0 and 1, whose data are addresses. Counts failed checks in `failures`. */
void device_suite(int32_t device_type);

/* own_device_threads.c: the device that is tested, with threads as streams. mutant selects a defect; NULL: none. */
const TVMGODeviceAPI* own_device(const char* mutant);

#endif
