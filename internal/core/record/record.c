/* Records in memory: how fields are stored. */
#include "record/record.h"

#include <stdlib.h>
#include <string.h>

tvmgo_stored tvmgo_record_stored(const TVMFFIFieldInfo* f) {
  if (f->field_static_type_index >= kTVMFFIStaticObjectBegin) return TVMGO_STORED_OBJECT;
  if (f->field_static_type_index != kTVMFFIAny) return TVMGO_STORED_PLAIN;
  return f->size == (int64_t)sizeof(void*) ? TVMGO_STORED_OBJECT : TVMGO_STORED_VALUE;
}

void tvmgo_record_delete(void* self, int flags) {
  TVMFFIObject* obj = self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmgo_field_walk w = tvmgo_fields(obj->type_index, 0);
    for (const TVMFFIFieldInfo* f; (f = tvmgo_field_next(&w)) != NULL;) {
      void* at = (char*)obj + f->offset;
      switch (tvmgo_record_stored(f)) {
        case TVMGO_STORED_VALUE: tvmgo_any_clear(at); break;
        case TVMGO_STORED_OBJECT:
          tvmgo_object_release(*(void**)at);
          *(void**)at = NULL;
          break;
        case TVMGO_STORED_PLAIN: break;
      }
    }
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

void* tvmgo_record_new(int32_t type_index, size_t size) {
  return tvmgo_object_new(size < sizeof(TVMFFIObject) ? sizeof(TVMFFIObject) : size, type_index,
                          tvmgo_record_delete);
}

void* tvmgo_record_copy(const TVMFFIObject* source, size_t size) {
  TVMFFIObject* copy = tvmgo_record_new(source->type_index, size);
  if (copy == NULL) return NULL;
  tvmgo_field_walk w = tvmgo_fields(source->type_index, 0);
  for (const TVMFFIFieldInfo* f; (f = tvmgo_field_next(&w)) != NULL;) {
    void* to = (char*)copy + f->offset;
    const void* from = (const char*)source + f->offset;
    TVMFFIAny value;
    switch (tvmgo_record_stored(f)) {
      case TVMGO_STORED_VALUE:
        value = *(const TVMFFIAny*)from;
        if (tvmgo_any_is_object(&value)) tvmgo_object_retain(value.v_obj);
        tvmgo_any_clear(to); /* another field may lie here */
        *(TVMFFIAny*)to = value;
        break;
      case TVMGO_STORED_OBJECT: {
        void* held = *(void* const*)from;
        if (held != NULL) tvmgo_object_retain(held);
        tvmgo_object_release(*(void**)to);
        *(void**)to = held;
        break;
      }
      case TVMGO_STORED_PLAIN: memcpy(to, from, (size_t)f->size); break;
    }
  }
  return copy;
}

/* ---- Reading ------------------------------------------------------------------------------- */

static int get_int(void* field, TVMFFIAny* result) {
  *result = tvmgo_any_int(*(const int64_t*)field);
  return 0;
}

static int get_bool(void* field, TVMFFIAny* result) {
  *result = tvmgo_any_bool(*(const uint8_t*)field);
  return 0;
}

static int get_float(void* field, TVMFFIAny* result) {
  *result = tvmgo_any_none();
  result->type_index = kTVMFFIFloat;
  result->v_float64 = *(const double*)field;
  return 0;
}

static int get_pointer(void* field, TVMFFIAny* result) {
  *result = tvmgo_any_ptr(*(void**)field);
  return 0;
}

static int get_dtype(void* field, TVMFFIAny* result) {
  *result = tvmgo_any_none();
  result->type_index = kTVMFFIDataType;
  result->v_dtype = *(const DLDataType*)field;
  return 0;
}

static int get_device(void* field, TVMFFIAny* result) {
  *result = tvmgo_any_none();
  result->type_index = kTVMFFIDevice;
  result->v_device = *(const DLDevice*)field;
  return 0;
}

static int get_value(void* field, TVMFFIAny* result) {
  *result = *(const TVMFFIAny*)field;
  if (tvmgo_any_is_object(result)) tvmgo_object_retain(result->v_obj);
  return 0;
}

static int get_object(void* field, TVMFFIAny* result) {
  *result = tvmgo_any_object(*(void**)field);
  if (result->type_index != kTVMFFINone) tvmgo_object_retain(result->v_obj);
  return 0;
}

TVMFFIFieldGetter tvmgo_record_getter(int32_t static_type) {
  switch (static_type) {
    case kTVMFFIInt: return get_int;
    case kTVMFFIBool: return get_bool;
    case kTVMFFIFloat: return get_float;
    case kTVMFFIOpaquePtr: return get_pointer;
    case kTVMFFIDataType: return get_dtype;
    case kTVMFFIDevice: return get_device;
    case kTVMFFIAny:
    case kTVMFFINone: return get_value;
    default: return static_type >= kTVMFFIStaticObjectBegin ? get_object : NULL;
  }
}

/* ---- Writing ------------------------------------------------------------------------------- */

static int is_integral(const TVMFFIAny* v) {
  return v->type_index == kTVMFFIInt || v->type_index == kTVMFFIBool;
}

/* 1 if v was stored; *old is the previous value. */
static int put(void* field, int32_t static_type, const TVMFFIAny* v, TVMFFIAny* old) {
  switch (static_type) {
    case kTVMFFIInt:
      if (!is_integral(v)) return 0;
      *(int64_t*)field = v->v_int64;
      return 1;
    case kTVMFFIBool:
      if (!is_integral(v)) return 0;
      *(uint8_t*)field = v->v_int64 != 0;
      return 1;
    case kTVMFFIFloat:
      if (v->type_index != kTVMFFIFloat && !is_integral(v)) return 0;
      *(double*)field = v->type_index == kTVMFFIFloat ? v->v_float64 : (double)v->v_int64;
      return 1;
    case kTVMFFIOpaquePtr:
      if (v->type_index != kTVMFFIOpaquePtr && v->type_index != kTVMFFINone) return 0;
      *(void**)field = v->type_index == kTVMFFINone ? NULL : v->v_ptr;
      return 1;
    case kTVMFFIDataType:
      if (v->type_index != kTVMFFIDataType) return 0;
      *(DLDataType*)field = v->v_dtype;
      return 1;
    case kTVMFFIDevice:
      if (v->type_index != kTVMFFIDevice) return 0;
      *(DLDevice*)field = v->v_device;
      return 1;
    case kTVMFFIAny:
    case kTVMFFINone:
      *old = *(TVMFFIAny*)field;
      *(TVMFFIAny*)field = *v;
      return 1;
    default:
      if (!tvmgo_any_is_object(v) && v->type_index != kTVMFFINone) return 0;
      *old = tvmgo_any_object(*(void**)field);
      *(void**)field = v->type_index == kTVMFFINone ? NULL : v->v_obj;
      return 1;
  }
}

int tvmgo_record_store(const char* op, void* field, int32_t static_type, TVMFFIAny* value) {
  TVMFFIAny old = tvmgo_any_none();
  if (tvmgo_record_getter(static_type) == NULL) {
    tvmgo_any_clear(value);
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: no field has the type index %d", op,
                       (int)static_type);
  }
  if (put(field, static_type, value, &old)) {
    *value = tvmgo_any_none();
    tvmgo_any_clear(&old); /* last, because it may run foreign code */
    return 0;
  }
  tvmgo_raise(TVMGO_TYPE_ERROR, "%s: a field of type %s can't hold %s", op,
              tvmgo_type_name(static_type), tvmgo_type_name(value->type_index));
  tvmgo_any_clear(value);
  return -1;
}

/* ---- Attributes ---------------------------------------------------------------------------- */

typedef struct {
  int32_t type_index;
  size_t size;
} record_shape;

static int new_record(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const record_shape* s = self;
  if (tvmgo_check_count("__ffi_new__", n, 0, 0) != 0) return -1;
  void* obj = tvmgo_record_new(s->type_index, s->size);
  if (obj == NULL) return -1;
  *result = tvmgo_any_object(obj);
  return 0;
}

static int copy_record(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const record_shape* s = self;
  void *source, *obj;
  if (tvmgo_check_count("__ffi_shallow_copy__", n, 1, 1) != 0 ||
      tvmgo_arg_object("__ffi_shallow_copy__", args, 0, s->type_index, &source) != 0 ||
      (obj = tvmgo_record_copy(source, s->size)) == NULL)
    return -1;
  *result = tvmgo_any_object(obj);
  return 0;
}

static int set_attr(const char* column, const record_shape* shape, TVMFFISafeCallType call) {
  TVMFFIByteArray name = {column, strlen(column)};
  TVMFFIObjectHandle f;
  record_shape* self = malloc(sizeof *self);
  if (self == NULL) return tvmgo_raise_oom();
  *self = *shape;
  if (TVMFFIFunctionCreate(self, call, free, &f) != 0) {
    free(self);
    return -1;
  }
  TVMFFIAny value = tvmgo_any_object(f);
  int rc = TVMFFITypeRegisterAttr(shape->type_index, &name, &value);
  tvmgo_object_release(f);
  return rc;
}

int tvmgo_record_type(int32_t type_index, size_t size) {
  record_shape shape = {type_index, size};
  if (set_attr("__ffi_new__", &shape, new_record) != 0) return -1;
  return set_attr("__ffi_shallow_copy__", &shape, copy_record);
}
