/* Package loader: shared libraries opened for their functions, and modules.
 *
 * Depends on object, call, container, device and parallel: a loaded file is bound to functions of all of them
 * (bindings.c). A file is checked before it is opened (elf_*.c), opened or copied (image.c, mapping.c), and its
 * functions are looked up in it alone. A module has a kind, functions by name, and imports (module.h); kinds other than
 * libraries are tables of functions.
 *
 * A function of a library owns its module, a module owns its imports and the image of its file, and the file is
 * closed with the last reference to the image. Any thread may call, also from a constructor of a library.
 *
 * Locks: tvmgo_import_lock, tvmgo_kept_lock, tvmgo_system_lib_lock, tvmgo_mapping_lock, tvmgo_context_symbols_lock
 * and a spin lock per module; no foreign code runs under them, and none is held while a library is opened or closed. */
#pragma once

#include "container/container.h"

#include <pthread.h>
#include "device/device.h"
#include "parallel/parallel.h"

#include "loader/image.h"
#include "loader/module.h"
#include "loader/trust.h"

/* at_fork.c takes them. */
extern pthread_mutex_t tvmgo_kept_lock;            /* builtins_module.c */
extern pthread_mutex_t tvmgo_import_lock;          /* module.c */
extern pthread_mutex_t tvmgo_system_lib_lock;      /* system_lib.c */
extern pthread_mutex_t tvmgo_mapping_lock;         /* mapping.c */
extern pthread_mutex_t tvmgo_context_symbols_lock; /* context_symbols.c */
