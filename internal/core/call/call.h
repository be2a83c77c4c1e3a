/* Package call: functions as objects, calls between the two ABIs, and the table of global functions.
 *
 * Depends on object. A function object owns its context and keeps its module alive. The arguments of a call are
 * borrowed; its result is owned. Any thread may call. Calls from this library (tvmgo_function_call) and those of the
 * classic ABI check what a function gave: its result, and that a failure left an error.
 *
 * Locks: tvmgo_global_lock (a spin lock of the table; no foreign code runs under it), tvmgo_deferred_lock (held while
 * deferred built-ins are registered), and the recursive lock of once.c, under which the program's initialiser runs. */
#pragma once

#include "object/object.h"
#include "call/function.h"

/* In the child of a fork: frees the lock of once.c, which another thread of the parent may have held. */
void tvmgo_once_lock_renew(void);
