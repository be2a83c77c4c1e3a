/* Strings and bytes: up to seven bytes live in the value itself, longer text in a counted object
 * (ABI.md B.1, B.2). Also the one place where a borrowed view becomes an owned value. */
#include "core.h"

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
  TVMFFIObject* owner; /* whose memory content shows */
} view_object;

static int make(const char* op, int32_t small_index, int32_t heap_index, const char* data,
                size_t size, TVMFFIAny* out) {
  if (data == NULL && size > 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the data pointer is NULL but the size is %zu", op,
                       size);
  TVMFFIAny made = {0};
  if (size <= SMALL_MAX) {
    made.type_index = small_index;
    made.small_str_len = (uint32_t)size;
    if (size > 0) memcpy(made.v_bytes, data, size);
    *out = made;
    return 0;
  }
  if (size > PTRDIFF_MAX - sizeof(text_object) - 1)
    return tvmgo_raise(TVMGO_MEMORY_ERROR, "%s: %zu bytes are more than memory can hold", op, size);
  text_object* t = tvmgo_object_new_uninit(sizeof *t + size + 1, heap_index,
                                           tvmgo_object_plain_deleter);
  if (t == NULL) return -1;
  t->content.data = t->text;
  t->content.size = size;
  memcpy(t->text, data, size);
  t->text[size] = 0;
  made.type_index = heap_index;
  made.v_obj = &t->header;
  *out = made;
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
  TVMFFIAny view = *any_view; /* out may be the same place */
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
    default: /* a bare DLTensor stays a view: nobody owns it */
      if (tvmgo_any_is_object(&view)) tvmgo_object_retain(view.v_obj);
      *out = without_garbage(&view);
      return 0;
  }
}

/* Objects and numbers go the short way, members one by one: that is how callers wrote them. */
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
