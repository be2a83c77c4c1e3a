/* The C core: what devices and the C ABI use of its packages, each of which states its contract in its own header
 * (object/object.h, call/call.h, ...). Packages depend on each other in one direction only (docs/architecture.md).
 *
 * Mechanism, never policy: what happens once is decided in Go; what happens per call is dispatched here. */
#pragma once

#include "object/object.h"
#include "call/call.h"
#include "container/container.h"
#include "device/device.h"
#include "parallel/parallel.h"
#include "loader/loader.h"
