#include "object/object.h"

#include <stdlib.h>
#include <string.h>

void* tvmgo_object_new(size_t size, int32_t type_index, tvmgo_deleter deleter) {
  TVMFFIObject* obj = tvmgo_object_new_uninit(size, type_index, deleter);
  if (obj != NULL) memset(obj + 1, 0, size - sizeof(TVMFFIObject));
  return obj;
}

void tvmgo_object_plain_deleter(void* self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

/* Deleters release what an object holds, so the release of a long chain would recurse once per link and overflow the
 * stack. Deleters that nest deeper than this are deferred until the deleter of the outermost release has returned, and
 * then run in a loop. All objects are freed before that release returns. */
enum { NESTED_DELETERS = 64 };

static __thread struct {
  int depth;
  TVMFFIObject* put_off; /* dead objects, linked through their counts, which are no longer used */
} deleting __attribute__((tls_model("initial-exec")));

static void delete_with_nested(TVMFFIObject* obj, int flags) {
  deleting.depth++;
  obj->deleter(obj, flags);
  while (deleting.depth == 1 && deleting.put_off != NULL) {
    TVMFFIObject* next = deleting.put_off;
    deleting.put_off = (TVMFFIObject*)(uintptr_t)next->combined_ref_count;
    next->combined_ref_count = TVMGO_REF_UNIQUE - 1;
    next->deleter(next, kTVMFFIObjectDeleterFlagBitMaskBoth);
  }
  deleting.depth--;
}

void tvmgo_object_drop(TVMFFIObject* obj, uint64_t old) {
#ifdef __SANITIZE_THREAD__ /* the sanitizer does not model fences */
  (void)__atomic_load_n(&obj->combined_ref_count, __ATOMIC_ACQUIRE);
#else
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
  if (old == TVMGO_REF_UNIQUE) {
    if (obj->deleter == NULL) return;
    if (TVMGO_LIKELY(deleting.depth < NESTED_DELETERS)) {
      delete_with_nested(obj, kTVMFFIObjectDeleterFlagBitMaskBoth);
    } else {
      obj->combined_ref_count = (uintptr_t)deleting.put_off;
      deleting.put_off = obj;
    }
    return;
  }
  /* A weak reference exists, so the object's count is in use. */
  if (obj->deleter != NULL) delete_with_nested(obj, kTVMFFIObjectDeleterFlagBitMaskStrong);
  tvmgo_object_release_weak(obj);
}

void tvmgo_object_release_weak(void* obj) {
  TVMFFIObject* o = obj;
  uint64_t old =
      __atomic_fetch_sub(&o->combined_ref_count, TVMGO_REF_WEAK_ONE, __ATOMIC_ACQ_REL);
  if (old == TVMGO_REF_WEAK_ONE && o->deleter != NULL)
    o->deleter(o, kTVMFFIObjectDeleterFlagBitMaskWeak);
}

int tvmgo_object_promote(void* obj) {
  TVMFFIObject* o = obj;
  uint64_t old = __atomic_load_n(&o->combined_ref_count, __ATOMIC_RELAXED);
  while ((uint32_t)old != 0) {
    if (__atomic_compare_exchange_n(&o->combined_ref_count, &old, old + 1, 1, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED))
      return 1;
  }
  return 0;
}

/* An object with only weak references can be distinguished from a live one. */
static int is_live(const char* op, TVMFFIObjectHandle obj) {
  if (obj == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the handle is NULL", op);
  if ((uint32_t)__atomic_load_n(&((TVMFFIObject*)obj)->combined_ref_count, __ATOMIC_RELAXED) != 0)
    return 0;
  return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                     "%s: the object at %p is dead: it was released more often than retained", op,
                     obj);
}

int TVMFFIObjectIncRef(TVMFFIObjectHandle obj) {
  if (is_live("retain object", obj) != 0) return -1;
  tvmgo_object_retain(obj);
  return 0;
}

int TVMFFIObjectDecRef(TVMFFIObjectHandle obj) {
  if (is_live("release object", obj) != 0) return -1;
  tvmgo_object_release(obj);
  return 0;
}

typedef struct {
  TVMFFIObject header;
  TVMFFIOpaqueObjectCell cell;
  void (*release)(void* handle);
} opaque_object;

static void opaque_delete(void* self, int flags) {
  opaque_object* o = self;
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) && o->release != NULL)
    o->release(o->cell.handle);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

int TVMFFIObjectCreateOpaque(void* handle, int32_t type_index, void (*deleter)(void* handle),
                             TVMFFIObjectHandle* out) {
  if (out == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "create opaque object: out is NULL");
  if (type_index != kTVMFFIOpaquePyObject)
    return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                       "create opaque object: type index %d is not allowed, use "
                       "kTVMFFIOpaquePyObject (%d)",
                       (int)type_index, (int)kTVMFFIOpaquePyObject);
  opaque_object* o = tvmgo_object_new(sizeof *o, type_index, opaque_delete);
  if (o == NULL) return -1;
  o->cell.handle = handle;
  o->release = deleter;
  *out = o;
  return 0;
}

/* Stored for callers; our own objects come from malloc, as those of the C++ headers do. */
static _Atomic(TVMFFICustomAllocator*) custom_allocator;

static void* allocate_plain(size_t size, size_t alignment, int32_t type_index, void* context) {
  void* p = NULL;
  return posix_memalign(&p, alignment < sizeof p ? sizeof p : alignment, size) == 0 ? p : NULL;
}

TVMFFICustomAllocator* TVMFFIGetCustomAllocator(void) {
  static TVMFFICustomAllocator plain = {allocate_plain, NULL};
  TVMFFICustomAllocator* a = atomic_load(&custom_allocator);
  return a != NULL ? a : &plain;
}

int TVMFFISetCustomAllocator(TVMFFICustomAllocator* allocator) {
  if (allocator != NULL && allocator->allocate == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "set allocator: allocate is NULL");
  atomic_store(&custom_allocator, allocator);
  return 0;
}

void TVMFFIGetVersion(TVMFFIVersion* out_version) {
  if (out_version == NULL) return;
  out_version->major = TVM_FFI_VERSION_MAJOR;
  out_version->minor = TVM_FFI_VERSION_MINOR;
  out_version->patch = TVM_FFI_VERSION_PATCH;
}
