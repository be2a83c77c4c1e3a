/* Package reflect: operations on whole values, through all that they contain.
 *
 * Text, order, hash and copy (recursive.h), comparison, visits and changes by structure (structural.h), access paths,
 * enumerations, JSON text and JSON graphs, and classes that front ends define. All of it is reached through global
 * functions; no other package calls it, and a build with the tag noreflect leaves it out (package reflect/absent).
 *
 * Depends on object, call, container, record and device. Arguments are borrowed, results are owned. Any thread may
 * call; the package has no lock. Getters and hooks of types may run foreign code while an operation is under way: each
 * part of a value is held while it is visited. */
#pragma once

#include "call/call.h"
#include "container/container.h"
#include "device/device.h"
#include "record/record.h"
