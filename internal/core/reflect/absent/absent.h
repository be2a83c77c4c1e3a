/* Package absent: what stands in for package reflect in a build without it (tag noreflect). Each global function of
 * reflect raises an error that names the tag. The types of reflect, such as ffi.Enum, do not exist.
 *
 * Depends on call and reflect/names. It has no other function and no lock. */
#pragma once

#include "call/builtin.h"
#include "reflect/names/names.h"
