/* The C core: the headers that devices and the C ABI use. Each package states its contract in its own header
 * (object/object.h, call/call.h, ...). Packages depend on each other in one direction only (docs/architecture.md).
 *
 * The core has mechanism and no policy: Go decides what happens once, and C dispatches what happens per call. */
#pragma once

#include "object/object.h"
#include "call/call.h"
#include "container/container.h"
#include "device/device.h"
#include "parallel/parallel.h"
#include "loader/loader.h"
