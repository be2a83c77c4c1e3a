/* Lists: mutable sequences, shared by all owners (docs/abi.md B.1). Elements lie in a separate buffer. C++ code reads
 * and fills it, and replaces it by one of its own to grow it, so a buffer is always freed through the cell's
 * data_deleter.
 *
 * Two threads must not use a list at once. Removed elements are released when the list is consistent again, because
 * a release may run foreign code. */
#pragma once

#include "container/container.h"

/* Elements are views that get converted to owned values. NULL with an error raised. */
TVMFFIObject* tvmgo_list_new(const TVMFFIAny* items, int64_t n);
/* Reserves space for n elements in total. */
int tvmgo_list_reserve(TVMFFIObject* list, int64_t n);
/* Replaces the elements [begin, end), which must be within the list, by n views. items may point into the list
 * itself. */
int tvmgo_list_replace(TVMFFIObject* list, int64_t begin, int64_t end, const TVMFFIAny* items,
                       int64_t n);
