/* The C core: counted objects, calls, errors, threads, devices and loaded libraries.
 *
 * Mechanism, never policy: whatever happens once is decided in Go, whatever happens per call is
 * dispatched here. Everything declared in this folder is hidden; the names that the outside sees
 * are those of include/ (marked TVM_FFI_DLL or TVM_DLL).
 *
 * Conventions: a function that can fail returns 0, or -1 with an error object raised on the calling
 * thread (error.h). "owned" results are counted references that the caller releases.
 */
#ifndef TVMGO_CORE_H_
#define TVMGO_CORE_H_

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/device_api.h>

#include "object.h"
#include "fork.h"
#include "thread.h"
#include "error.h"
#include "allocate.h"
#include "container.h"
#include "value.h"
#include "function.h"
#include "tensor.h"
#include "device.h"
#include "workspace.h"
#include "parallel.h"
#include "image.h"
#include "module.h"

#endif
