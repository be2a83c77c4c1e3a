/* Storage of counted objects, counted on the calling thread. The functions are inline, so that the compiler selects the
 * counters if the type is a constant. */
#pragma once

#include <stdlib.h>

#include "object/error.h"
#include "object/counted.h"
#include "object/thread.h"

static inline void tvmgo_object_count(int32_t type_index, int64_t delta) {
  tvmgo_thread* t = tvmgo_thread_get();
  tvmgo_thread_live(t, TVMGO_LIVE_OBJECTS, delta);
  switch (type_index) {
    case kTVMFFIFunction: tvmgo_thread_live(t, TVMGO_LIVE_FUNCTIONS, delta); break;
    case kTVMFFIModule: tvmgo_thread_live(t, TVMGO_LIVE_MODULES, delta); break;
    case kTVMFFITensor: tvmgo_thread_live(t, TVMGO_LIVE_TENSORS, delta); break;
    default: break;
  }
}

/* As tvmgo_object_new, in storage of malloc (NULL: memory is out); what follows the header is not changed. */
static inline void* tvmgo_object_init(void* storage, int32_t type_index, tvmgo_deleter deleter) {
  TVMFFIObject* obj = storage;
  if (TVMGO_UNLIKELY(obj == NULL)) {
    tvmgo_raise_oom();
    return NULL;
  }
  obj->combined_ref_count = TVMGO_REF_UNIQUE;
  obj->type_index = type_index;
  obj->__padding = 0;
  obj->deleter = deleter;
  tvmgo_object_count(type_index, 1);
  return obj;
}

/* As tvmgo_object_new, without zeroing what follows the header. */
static inline void* tvmgo_object_new_uninit(size_t size, int32_t type_index,
                                            tvmgo_deleter deleter) {
  return tvmgo_object_init(malloc(size), type_index, deleter);
}

/* Allocates an object of size bytes (header included; rest zeroed) with one strong and one weak
 * reference and counts it as alive. The deleter is called with kTVMFFIObjectDeleterFlagBitMask*:
 * on Strong it releases what the object holds, on Weak it calls tvmgo_object_free(self).
 * NULL with MemoryError raised when memory is out. */
void* tvmgo_object_new(size_t size, int32_t type_index, tvmgo_deleter deleter);

/* Returns the storage of an object made by tvmgo_object_new. Only deleters call it. */
static inline void tvmgo_object_free(void* self) {
  tvmgo_object_count(((TVMFFIObject*)self)->type_index, -1);
  free(self);
}
