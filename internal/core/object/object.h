/* Package object: counted objects, values, types, errors, and the state of a thread. The base of the core.
 *
 * Conventions of the whole core: a function that can fail returns 0, or -1 with an error object raised on the calling
 * thread (error.h). "owned" results are counted references that the caller releases; arguments are borrowed. Everything
 * declared under internal/core is hidden; the exported names are those of include/ (marked TVM_FFI_DLL or TVM_DLL).
 *
 * Any thread may call everything here. A thread's state (thread.h) belongs to that thread; a pthread key frees it.
 * Locks: of the table of types (type_internal.h), of the list of threads (thread.h), of the cache of lines of
 * backtraces (symbolize.h). No foreign code runs under them. Reading types takes no lock. */
#pragma once

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

#include "object/counted.h"
#include "object/fork.h"
#include "object/thread.h"
#include "object/error.h"
#include "object/allocate.h"
#include "object/data.h"
#include "object/value.h"
#include "object/check.h"
