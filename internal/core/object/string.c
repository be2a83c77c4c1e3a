/* Strings and bytes: up to seven bytes live in the value itself, longer text in a counted object
 * (docs/abi.md B.1, B.2). Also the one place where a borrowed view becomes an owned value. */
#include "object/object.h"
#include "object/short_bytes.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_MAX 7

typedef struct {
  TVMFFIObject header;
  TVMFFIByteArray content;
  char text[]; /* content.size bytes and a NUL */
} text_object;

typedef struct {
  TVMFFIObject header;
  TVMFFIByteArray content;
  TVMFFIObject* owner; /* the object whose memory content refers to */
} view_object;

/* For blocks beyond 1 KiB, malloc takes a lock once a process has threads, and with this library it has. So a thread
 * keeps one of the blocks that it freed, if it is not huge. */
enum { SPARE_MIN = 1024, SPARE_MAX = 16 * 1024 };

static void* text_storage(size_t size) {
  if (size < SPARE_MIN || size > SPARE_MAX) return malloc(size);
  tvmgo_thread* t = tvmgo_thread_get();
  void* spare = t->spare_text;
  /* A block of more than twice the size would waste memory for a long-lived string. */
  if (spare == NULL || t->spare_size < size || t->spare_size / 2 > size) return malloc(size);
  t->spare_text = NULL;
  return spare;
}

static void text_delete(void* self, int flags) {
  if (!(flags & kTVMFFIObjectDeleterFlagBitMaskWeak)) return;
  /* The block may be larger: it may have been a spare one. */
  size_t size = sizeof(text_object) + ((text_object*)self)->content.size + 1;
  if (TVMGO_LIKELY(size < SPARE_MIN || size > SPARE_MAX)) {
    tvmgo_object_free(self);
    return;
  }
  tvmgo_object_count(((TVMFFIObject*)self)->type_index, -1);
  tvmgo_thread* t = tvmgo_thread_get();
  free(t->spare_text);
  t->spare_text = self;
  t->spare_size = size;
}

static int null_data(const char* op, size_t size) {
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the data pointer is NULL but the size is %zu", op,
                     size);
}

static int too_large(const char* op, size_t size) {
  return tvmgo_raise(TVMGO_MEMORY_ERROR, "%s: %zu bytes are more than memory can hold", op, size);
}

/* Inline, so that the type is a constant and the allocation has no branches. */
static inline __attribute__((always_inline)) int make(const char* op, int32_t small_index,
                                                      int32_t heap_index, const char* data,
                                                      size_t size, TVMFFIAny* out) {
  if (TVMGO_UNLIKELY(data == NULL && size > 0)) return null_data(op, size);
  if (size <= SMALL_MAX) {
    uint64_t word = tvmgo_bytes_word(data, size);
    out->type_index = small_index;
    out->small_str_len = (uint32_t)size;
    out->v_uint64 = word;
    return 0;
  }
  if (TVMGO_UNLIKELY(size > PTRDIFF_MAX - sizeof(text_object) - 1)) return too_large(op, size);
  text_object* t = tvmgo_object_init(text_storage(sizeof *t + size + 1), heap_index, text_delete);
  if (TVMGO_UNLIKELY(t == NULL)) return -1;
  t->content.data = t->text;
  t->content.size = size;
  tvmgo_bytes_copy(t->text, data, size);
  t->text[size] = 0;
  out->type_index = heap_index;
  out->zero_padding = 0;
  out->v_obj = &t->header;
  return 0;
}

int tvmgo_string_make(const char* data, size_t size, TVMFFIAny* out) {
  return make("make string", kTVMFFISmallStr, kTVMFFIStr, data, size, out);
}

int tvmgo_bytes_make(const char* data, size_t size, TVMFFIAny* out) {
  return make("make bytes", kTVMFFISmallBytes, kTVMFFIBytes, data, size, out);
}

static void view_delete(void* self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong)
    tvmgo_object_release(((view_object*)self)->owner);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

int tvmgo_bytes_view(const void* data, size_t size, void* owner, TVMFFIAny* out) {
  if (data == NULL && size > 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "make bytes: the data pointer is NULL but the size is %zu", size);
  view_object* v = tvmgo_object_new_uninit(sizeof *v, kTVMFFIBytes, view_delete);
  if (v == NULL) return -1;
  v->content.data = data;
  v->content.size = size;
  v->owner = owner;
  if (owner != NULL) tvmgo_object_retain(owner);
  *out = tvmgo_any_object(v);
  return 0;
}

int tvmgo_any_text(const TVMFFIAny* v, TVMFFIByteArray* out) {
  switch (v->type_index) {
    case kTVMFFISmallStr:
    case kTVMFFISmallBytes:
      if (v->small_str_len > SMALL_MAX) return 0;
      *out = TVMFFISmallBytesGetContentByteArray(v);
      return 1;
    case kTVMFFIStr:
    case kTVMFFIBytes:
      if (v->v_obj == NULL) return 0;
      *out = *TVMFFIBytesGetByteArrayPtr(v->v_obj);
      if (out->data == NULL) *out = (TVMFFIByteArray){"", 0};
      return 1;
    case kTVMFFIRawStr:
      if (v->v_c_str == NULL) return 0;
      out->data = v->v_c_str;
      out->size = strlen(v->v_c_str);
      return 1;
    case kTVMFFIByteArrayPtr: {
      const TVMFFIByteArray* bytes = v->v_ptr;
      if (bytes == NULL || (bytes->data == NULL && bytes->size > 0)) return 0;
      *out = bytes->data == NULL ? (TVMFFIByteArray){"", 0} : *bytes;
      return 1;
    }
    default:
      return 0;
  }
}

int tvmgo_any_string(const TVMFFIAny* v, const char* what, TVMFFIByteArray* out) {
  switch (v->type_index) {
    case kTVMFFISmallStr:
    case kTVMFFIStr:
    case kTVMFFIRawStr:
      if (tvmgo_any_text(v, out)) return 0;
      return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the string is NULL or malformed", what);
    default:
      return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: expected str, got %s", what,
                         tvmgo_type_name(v->type_index));
  }
}

int TVMFFIStringFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out) {
  if (input == NULL || out == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "make string: %s is NULL", out == NULL ? "out" : "input");
  return tvmgo_string_make(input->data, input->size, out);
}

int TVMFFIBytesFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out) {
  if (input == NULL || out == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "make bytes: %s is NULL", out == NULL ? "out" : "input");
  return tvmgo_bytes_make(input->data, input->size, out);
}

/* Owned values have 0 in the bytes that their type does not use: hashes and comparisons read them. */
static TVMFFIAny without_garbage(const TVMFFIAny* v) {
  TVMFFIAny clean = {0};
  clean.type_index = v->type_index;
  switch (v->type_index) {
    case kTVMFFINone:
    case kTVMFFIUnchanged:
      return clean;
    case kTVMFFIBool:
      clean.v_int64 = v->v_int64 != 0;
      return clean;
    case kTVMFFIDataType:
      clean.v_dtype = v->v_dtype;
      return clean;
    case kTVMFFISmallStr:
    case kTVMFFISmallBytes:
      clean.small_str_len = v->small_str_len;
      memcpy(clean.v_bytes, v->v_bytes, v->small_str_len);
      return clean;
    default:
      clean.v_uint64 = v->v_uint64;
      return clean;
  }
}

static __attribute__((noinline)) int own(const TVMFFIAny* any_view, TVMFFIAny* out) {
  if (any_view == NULL || out == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "own value: %s is NULL",
                       out == NULL ? "out" : "the view");
  TVMFFIAny view = *any_view; /* out may be the same value */
  if (tvmgo_check_value(&view) != 0) return tvmgo_raise_context("own value");
  switch (view.type_index) {
    case kTVMFFIRawStr:
      return tvmgo_string_make(view.v_c_str, strlen(view.v_c_str), out);
    case kTVMFFIByteArrayPtr: {
      const TVMFFIByteArray* bytes = view.v_ptr;
      return tvmgo_bytes_make(bytes->data, bytes->size, out);
    }
    case kTVMFFIObjectRValueRef: {
      TVMFFIObject** slot = view.v_ptr;
      TVMFFIObject* taken = *slot;
      *slot = NULL;
      *out = tvmgo_any_object(taken);
      return 0;
    }
    default: /* a bare DLTensor stays a view: it has no owner */
      if (tvmgo_any_is_object(&view)) tvmgo_object_retain(view.v_obj);
      *out = without_garbage(&view);
      return 0;
  }
}

/* Objects and numbers are copied member by member, as callers wrote them (see tvmgo_map_key_init). */
int TVMFFIAnyViewToOwnedAny(const TVMFFIAny* any_view, TVMFFIAny* out) {
  if (TVMGO_UNLIKELY(any_view == NULL || out == NULL)) return own(any_view, out);
  int32_t type = any_view->type_index;
  TVMFFIObject* obj = any_view->v_obj;
  if (type >= kTVMFFIStaticObjectBegin) {
    if (TVMGO_UNLIKELY(!tvmgo_may_be_object(obj) || obj->type_index != type))
      return own(any_view, out);
    tvmgo_object_retain(obj);
  } else if (type != kTVMFFIInt && type != kTVMFFIFloat) {
    return own(any_view, out);
  }
  out->type_index = type;
  out->zero_padding = 0;
  out->v_obj = obj;
  return 0;
}
