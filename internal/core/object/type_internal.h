/* Declarations that the two files of the type table share: type.c assigns indices, type_reflect.c attaches fields,
 * methods, metadata and attributes. */
#pragma once

#include "object/object.h"

#include <pthread.h>

/* A registered type: never moved, never freed. info is what the outside sees. */
typedef struct tvmgo_type {
  TVMFFITypeInfo info;
  struct tvmgo_type* next; /* in its hash bucket; fixed before the type is published */
  int32_t slots;           /* consecutive indices kept for it and its children, itself included */
  int32_t used;            /* of which assigned */
  int32_t can_overflow;    /* further children get indices elsewhere */
  int32_t cap_fields, cap_methods;
  void* field_block;  /* newest block behind info.fields, see type_reflect.c */
  void* method_block; /* newest block behind info.methods */
} tvmgo_type;

/* Serialises writers. Nothing that may run foreign code (raising, releasing) happens under it. */
extern pthread_mutex_t tvmgo_type_lock;

/* NULL if the index was never assigned. Lock-free. */
tvmgo_type* tvmgo_type_at(int32_t type_index);

/* One past the highest index that was assigned. */
int32_t tvmgo_type_limit(void);

/* A column of attributes: a stable struct that is updated in place. */
typedef struct tvmgo_type_column {
  TVMFFITypeAttrColumn column;
  struct tvmgo_type_column* next;
  int32_t capacity;
  void* block; /* newest block behind column.data */
  TVMFFIByteArray name;
} tvmgo_type_column;

extern tvmgo_type_column tvmgo_column_any_hash;
extern tvmgo_type_column tvmgo_column_any_equal;

/* Copies the attribute of a type (a view) into *out; 0 when it is not set. Lock-free. */
static inline int tvmgo_type_attr_get(const tvmgo_type_column* c, int32_t type_index,
                                      TVMFFIAny* out) {
  if (type_index < 0 || type_index >= __atomic_load_n(&c->column.size, __ATOMIC_ACQUIRE)) return 0;
  const TVMFFIAny* at = __atomic_load_n(&c->column.data, __ATOMIC_ACQUIRE) + type_index;
  int32_t kind = __atomic_load_n(&at->type_index, __ATOMIC_ACQUIRE);
  if (kind == kTVMFFINone) return 0;
  out->type_index = kind;
  out->zero_padding = at->zero_padding;
  out->v_uint64 = at->v_uint64;
  return 1;
}

/* Called if no type has a key: 1 if this may have registered the type. Set by a constructor of deferred.c. */
extern int (*tvmgo_type_missing)(const TVMFFIByteArray* key);

/* type_reflect.c: attributes that built-in types have from the start; called by constructors. Allocates nothing: the
 * arguments must stay valid. */
void tvmgo_type_reflect_builtin(int32_t type_index, const TVMFFIFieldInfo* fields, int32_t num_fields,
                                const TVMFFITypeMetadata* metadata);
