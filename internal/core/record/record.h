/* Package record: reflected fields of objects, and records.
 *
 * Depends on object, call and container. Records are objects that consist only of the reflected fields of their type.
 * Classes that are defined in Python are records, and so are our own small types.
 *
 * The static type of a field determines how it is stored: plain bytes, a value (an owned TVMFFIAny), or an object (an
 * owned handle or NULL). All zero is the empty record: None in every value. Two fields may have one offset.
 *
 * A record owns the values and the objects in its fields. Any thread may read a record; while a field setter runs,
 * nobody else may use the record. The package has no lock. Getters, setters, defaults and constructors may run foreign
 * code. */
#pragma once

#include "call/call.h"

typedef enum { TVMGO_STORED_PLAIN, TVMGO_STORED_VALUE, TVMGO_STORED_OBJECT } tvmgo_stored;
tvmgo_stored tvmgo_record_stored(const TVMFFIFieldInfo* f);

/* An empty record, owned, of size bytes with the header. NULL with an error raised. */
void* tvmgo_record_new(int32_t type_index, size_t size);
/* The deleter of records, for types with more than their fields. */
void tvmgo_record_delete(void* self, int flags);
/* A record with the same fields. */
void* tvmgo_record_copy(const TVMFFIObject* source, size_t size);

/* How a field of a static type is read; NULL when no field has this type. */
TVMFFIFieldGetter tvmgo_record_getter(int32_t static_type);
/* Stores an owned value, which is consumed even when -1 is returned. */
int tvmgo_record_store(const char* op, void* field, int32_t static_type, TVMFFIAny* value);

/* Registers __ffi_new__ and __ffi_shallow_copy__ for records of a type. */
int tvmgo_record_type(int32_t type_index, size_t size);

/* ---- fields.c: reflected fields of any object ---------------------------------------------- */

/* Reflected fields, those of the parent types first, without those that have a bit of skip. */
typedef struct {
  const TVMFFITypeInfo* info;
  int64_t skip;
  int32_t depth, at;
} tvmgo_field_walk;
tvmgo_field_walk tvmgo_fields(int32_t type_index, int64_t skip);
const TVMFFIFieldInfo* tvmgo_field_next(tvmgo_field_walk* w); /* NULL at the end */
/* *value is owned. */
int tvmgo_field_get(const char* op, TVMFFIObject* obj, const TVMFFIFieldInfo* f, TVMFFIAny* value);
int tvmgo_field_set(const char* op, TVMFFIObject* obj, const TVMFFIFieldInfo* f,
                    const TVMFFIAny* value);

/* The attribute of a type in a column: 1 with *hook (a view), or 0. */
int tvmgo_hook_find(const char* column, int32_t type_index, TVMFFIAny* hook);

/* ---- record_make.c: objects of any reflected type ------------------------------------------ */

/* An object before its fields are set, by the type's creator or __ffi_new__; owned. */
int tvmgo_reflected_new(const char* op, int32_t type_index, TVMFFIAny* object);
/* Sets a field to its default, which it must have. */
int tvmgo_field_set_default(const char* op, TVMFFIObject* obj, const TVMFFIFieldInfo* f);
/* Registers __ffi_init__: a constructor from the fields in their order, and from
 * (..., KWARGS, name, value, ...). All fields must be registered. */
int tvmgo_record_init(int32_t type_index);

/* ---- record_type.c: our own records -------------------------------------------------------- */

/* The description of a type; schemas are JSON, and NULL ends a list. */
typedef struct {
  const char *name, *schema, *doc;
  int32_t static_type, size, offset;
  int64_t flags;
  const int32_t* holds; /* the type that an object must have; NULL: any, or what static_type says */
} tvmgo_record_field;

typedef struct {
  const char* name;
  TVMFFISafeCallType call;
  int is_static;
  const char *result, *params; /* schemas; params separated by commas */
  const char* doc;
} tvmgo_record_method;

typedef struct {
  const char* key;
  int32_t parent;
  int32_t size;
  int32_t structural_kind; /* TVMFFISEqHashKind */
  int is_final;
  TVMFFIObjectCreator creator; /* NULL: not made from outside */
  const tvmgo_record_field* fields;   /* ends with name NULL; may be NULL */
  const tvmgo_record_method* methods; /* likewise */
} tvmgo_record_description;

/* The type's index. Called by constructors, so it ends the process when memory is out. */
int32_t tvmgo_record_describe(const tvmgo_record_description* d);
/* The same after start-up: -1 with an error raised if memory is exhausted or another library has described the type. */
int32_t tvmgo_record_try_describe(const tvmgo_record_description* d);
int tvmgo_record_try_hook(int32_t type_index, const char* column, TVMFFISafeCallType call);
/* A function as attribute of a type; likewise called by constructors. */
void tvmgo_record_hook(int32_t type_index, const char* column, TVMFFISafeCallType call);
