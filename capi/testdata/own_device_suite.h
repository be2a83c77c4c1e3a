/* The C part of the conformance suite of devices: what a device that a C program registers must do when it is used
 * through the library's C ABI. The Go part is package runtime/devicetest. */
#ifndef OWN_DEVICE_SUITE_H_
#define OWN_DEVICE_SUITE_H_

#include "check.h"
#include <tvmgo/device_api.h>

/* A device of two indices, 0 and 1, with an address as its data. Failed checks are counted in `failures`. */
void device_suite(int32_t device_type);

/* own_device_threads.c: the device that is tested, with streams that are threads. mutant names something that it does
 * wrong; NULL for nothing. */
const TVMGODeviceAPI* own_device(const char* mutant);

#endif
