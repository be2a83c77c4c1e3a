/* What types have besides their index: fields, methods, metadata, and columns of attributes
 * (docs/abi.md B.1, B.5, B.11).
 *
 * C++ code reads these arrays directly, while another thread may add to them. So a full array is replaced by a larger
 * copy, the old one is kept, and a count grows after its contents are written. */
#include "object/type_internal.h"

#include <stdlib.h>
#include <string.h>

/* An array that readers may keep; arrays are chained so that old ones stay reachable. */
typedef struct block {
  struct block* older;
  _Alignas(16) char items[];
} block;

/* A block of capacity items of `size` bytes with the first n copied from old. NULL: no memory. */
static block* block_grow(block* older, const void* old, int32_t n, uint32_t capacity,
                         size_t size) {
  block* b = calloc(1, sizeof *b + capacity * size);
  if (b == NULL) return NULL;
  b->older = older;
  if (n > 0) memcpy(b->items, old, (size_t)n * size);
  return b;
}

static int missing_text(const TVMFFIByteArray* t) { return t->data == NULL && t->size > 0; }

static TVMFFIByteArray copy_text(char** at, const TVMFFIByteArray* text) {
  if (text->data == NULL) return (TVMFFIByteArray){NULL, 0};
  TVMFFIByteArray copy = {*at, text->size};
  memcpy(*at, text->data, text->size);
  (*at)[text->size] = 0;
  *at += text->size + 1;
  return copy;
}

/* Checks the arguments that all registrations share; raises an error that begins with op. */
static tvmgo_type* check(const char* op, int32_t type_index, const void* info,
                         const TVMFFIByteArray* name) {
  if (info == NULL) {
    tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the description is NULL", op);
    return NULL;
  }
  if (name != NULL && tvmgo_check_name(op, "the name", name) != 0) return NULL;
  tvmgo_type* t = tvmgo_type_at(type_index);
  if (t == NULL)
    tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the type index %d is not registered", op, (int)type_index);
  return t;
}

static int same_text(const TVMFFIByteArray* a, const TVMFFIByteArray* b) {
  return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

static int has_field(const TVMFFITypeInfo* info, const TVMFFIByteArray* name) {
  for (int32_t i = 0; i < info->num_fields; i++)
    if (same_text(&info->fields[i].name, name)) return 1;
  return 0;
}

enum outcome { ADDED, TAKEN, NO_MEMORY };

static enum outcome add_field(tvmgo_type* t, const TVMFFIFieldInfo* field) {
  TVMFFITypeInfo* info = &t->info;
  int32_t n = info->num_fields;
  if (has_field(info, &field->name)) return TAKEN;
  if (n == t->cap_fields) {
    int32_t capacity = n == 0 ? 4 : 2 * n;
    block* b = block_grow(t->field_block, info->fields, n, (uint32_t)capacity, sizeof *field);
    if (b == NULL) return NO_MEMORY;
    t->field_block = b;
    t->cap_fields = capacity;
    __atomic_store_n(&info->fields, (const TVMFFIFieldInfo*)b->items, __ATOMIC_RELEASE);
  }
  ((TVMFFIFieldInfo*)info->fields)[n] = *field;
  __atomic_store_n(&info->num_fields, n + 1, __ATOMIC_RELEASE);
  return ADDED;
}

/* A field can be read, and written if its flags allow it; a flag determines the kind of setter. */
static int check_field(const char* op, const TVMFFIFieldInfo* f) {
  const char* wrong = NULL;
  if (missing_text(&f->doc) || missing_text(&f->metadata))
    wrong = "a text pointer is NULL";
  else if (f->size < 0 || f->alignment < 0) /* an offset may be negative: for a base in front of Object */
    wrong = "size and alignment must not be negative";
  else if (f->getter == NULL)
    wrong = "the getter is NULL, so that nobody could read it";
  else if ((f->flags & kTVMFFIFieldFlagBitMaskWritable) && f->setter == NULL)
    wrong = "it is writable, but the setter is NULL";
  if (wrong != NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s %.*s: %s", op, tvmgo_quoted(f->name.size),
                       f->name.data, wrong);
  if (!(f->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj) || f->setter == NULL) return 0;
  TVMFFIAny setter = {.type_index = kTVMFFIFunction, .v_obj = f->setter};
  if (tvmgo_check_object(&setter) == 0) return 0;
  return tvmgo_raise_context("%s %.*s: its flags say that the setter is a Function object", op,
                             tvmgo_quoted(f->name.size), f->name.data);
}

int TVMFFITypeRegisterField(int32_t type_index, const TVMFFIFieldInfo* info) {
  const char* op = "register field";
  tvmgo_type* t = check(op, type_index, info, info == NULL ? NULL : &info->name);
  if (t == NULL) return -1;
  if (check_field(op, info) != 0) return -1;
  TVMFFIFieldInfo field = *info;
  field.default_value_or_factory = tvmgo_any_none();
  if (TVMFFIAnyViewToOwnedAny(&info->default_value_or_factory,
                              &field.default_value_or_factory) != 0)
    return tvmgo_raise_context("%s %.*s: its default", op, tvmgo_quoted(info->name.size),
                               info->name.data);
  char* texts = malloc(info->name.size + info->doc.size + info->metadata.size + 3);
  if (texts == NULL) {
    tvmgo_any_clear(&field.default_value_or_factory);
    return tvmgo_raise_oom();
  }
  char* at = texts;
  field.name = copy_text(&at, &info->name);
  field.doc = copy_text(&at, &info->doc);
  field.metadata = copy_text(&at, &info->metadata);
  void* setter = field.flags & kTVMFFIFieldFlagBitSetterIsFunctionObj ? field.setter : NULL;
  if (setter != NULL) tvmgo_object_retain(setter);

  pthread_mutex_lock(&tvmgo_type_lock);
  enum outcome outcome = add_field(t, &field);
  pthread_mutex_unlock(&tvmgo_type_lock);
  if (outcome == ADDED) return 0;
  tvmgo_object_release(setter);
  tvmgo_any_clear(&field.default_value_or_factory);
  free(texts);
  if (outcome == NO_MEMORY) return tvmgo_raise_oom();
  return tvmgo_raise(TVMGO_RUNTIME_ERROR, "%s %.*s: type %.*s has a field of this name already", op,
                     tvmgo_quoted(info->name.size), info->name.data, tvmgo_quoted(t->info.type_key.size),
                     t->info.type_key.data);
}

static enum outcome add_method(tvmgo_type* t, const TVMFFIMethodInfo* method) {
  TVMFFITypeInfo* info = &t->info;
  int32_t n = info->num_methods;
  if (n == t->cap_methods) {
    int32_t capacity = n == 0 ? 4 : 2 * n;
    block* b = block_grow(t->method_block, info->methods, n, (uint32_t)capacity, sizeof *method);
    if (b == NULL) return NO_MEMORY;
    t->method_block = b;
    t->cap_methods = capacity;
    __atomic_store_n(&info->methods, (const TVMFFIMethodInfo*)b->items, __ATOMIC_RELEASE);
  }
  ((TVMFFIMethodInfo*)info->methods)[n] = *method;
  __atomic_store_n(&info->num_methods, n + 1, __ATOMIC_RELEASE);
  return ADDED;
}

/* Methods of one name are all kept: overloads differ in their metadata. */
int TVMFFITypeRegisterMethod(int32_t type_index, const TVMFFIMethodInfo* info) {
  const char* op = "register method";
  tvmgo_type* t = check(op, type_index, info, info == NULL ? NULL : &info->name);
  if (t == NULL) return -1;
  if (missing_text(&info->doc) || missing_text(&info->metadata))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s %.*s: a text pointer is NULL", op,
                       tvmgo_quoted(info->name.size), info->name.data);
  TVMFFIMethodInfo method = *info;
  if (TVMFFIAnyViewToOwnedAny(&info->method, &method.method) != 0)
    return tvmgo_raise_context("%s %.*s", op, tvmgo_quoted(info->name.size), info->name.data);
  char* texts = malloc(info->name.size + info->doc.size + info->metadata.size + 3);
  if (texts == NULL) {
    tvmgo_any_clear(&method.method);
    return tvmgo_raise_oom();
  }
  char* at = texts;
  method.name = copy_text(&at, &info->name);
  method.doc = copy_text(&at, &info->doc);
  method.metadata = copy_text(&at, &info->metadata);

  pthread_mutex_lock(&tvmgo_type_lock);
  enum outcome outcome = add_method(t, &method);
  pthread_mutex_unlock(&tvmgo_type_lock);
  if (outcome == ADDED) return 0;
  tvmgo_any_clear(&method.method);
  free(texts);
  return tvmgo_raise_oom();
}

int TVMFFITypeRegisterMetadata(int32_t type_index, const TVMFFITypeMetadata* metadata) {
  const char* op = "register metadata";
  tvmgo_type* t = check(op, type_index, metadata, NULL);
  if (t == NULL) return -1;
  if (missing_text(&metadata->doc))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the doc pointer is NULL", op);
  TVMFFITypeMetadata* copy = malloc(sizeof *copy + metadata->doc.size + 1);
  if (copy == NULL) return tvmgo_raise_oom();
  *copy = *metadata;
  char* at = (char*)(copy + 1);
  copy->doc = copy_text(&at, &metadata->doc);

  pthread_mutex_lock(&tvmgo_type_lock);
  int taken = t->info.metadata != NULL;
  if (!taken)
    __atomic_store_n(&t->info.metadata, (const TVMFFITypeMetadata*)copy, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&tvmgo_type_lock);
  if (!taken) return 0;
  free(copy);
  return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                     "%s: type %.*s has some already: two types share this key, or one is "
                     "described twice",
                     op, tvmgo_quoted(t->info.type_key.size), t->info.type_key.data);
}

/* ---- Attributes ---------------------------------------------------------------------------- */

/* Columns that exist from the start: C++ code caches the result of TVMFFIGetTypeAttrColumn, even NULL. The two with
 * values of their own can be filled without memory. */
#define COLUMN(text, after) {.name = {text, sizeof text - 1}, .next = (after)}
static tvmgo_type_column empty_columns[] = {
    COLUMN("__ffi_new__", &empty_columns[1]),
    COLUMN("__ffi_init__", &empty_columns[2]),
    COLUMN("__ffi_convert__", &empty_columns[3]),
    COLUMN("__ffi_shallow_copy__", &empty_columns[4]),
    COLUMN("__ffi_type_final__", &empty_columns[5]),
    COLUMN("__ffi_repr__", &empty_columns[6]),
    COLUMN("__ffi_hash__", &empty_columns[7]),
    COLUMN("__ffi_eq__", &empty_columns[8]),
    COLUMN("__ffi_compare__", &empty_columns[9]),
    COLUMN("__ffi_enum__", &empty_columns[10]),
    COLUMN("__s_equal__", &empty_columns[11]),
    COLUMN("__s_hash__", &empty_columns[12]),
    COLUMN("__s_visit__", &empty_columns[13]),
    COLUMN("__s_mutate__", &empty_columns[14]),
    COLUMN("__s_maybe_inplace_mutate__", &empty_columns[15]),
    COLUMN("__data_to_json__", &empty_columns[16]),
    COLUMN("__data_from_json__", NULL),
};
static TVMFFIAny hash_values[kTVMFFIDynObjectBegin], equal_values[kTVMFFIDynObjectBegin];
tvmgo_type_column tvmgo_column_any_equal = {.name = {"__any_equal__", 13},
                                            .next = empty_columns,
                                            .column = {.data = equal_values},
                                            .capacity = kTVMFFIDynObjectBegin};
tvmgo_type_column tvmgo_column_any_hash = {.name = {"__any_hash__", 12},
                                           .next = &tvmgo_column_any_equal,
                                           .column = {.data = hash_values},
                                           .capacity = kTVMFFIDynObjectBegin};
static _Atomic(tvmgo_type_column*) columns = &tvmgo_column_any_hash;

static tvmgo_type_column* find_column(const TVMFFIByteArray* name) {
  tvmgo_type_column* c = atomic_load_explicit(&columns, memory_order_acquire);
  while (c != NULL && !same_text(&c->name, name)) c = c->next;
  return c;
}

static tvmgo_type_column* add_column(const TVMFFIByteArray* name) {
  tvmgo_type_column* c = calloc(1, sizeof *c + name->size + 1);
  if (c == NULL) return NULL;
  char* at = (char*)(c + 1);
  c->name = copy_text(&at, name);
  c->next = atomic_load_explicit(&columns, memory_order_relaxed);
  atomic_store_explicit(&columns, c, memory_order_release);
  return c;
}

/* Stores an owned value; None only creates the column. Under the lock. */
static enum outcome add_attr(int32_t type_index, const TVMFFIByteArray* name,
                             const TVMFFIAny* value) {
  tvmgo_type_column* c = find_column(name);
  if (c == NULL && (c = add_column(name)) == NULL) return NO_MEMORY;
  if (value->type_index == kTVMFFINone) return ADDED;
  int32_t n = c->column.size;
  if (type_index < n && c->column.data[type_index].type_index != kTVMFFINone) return TAKEN;
  if (type_index >= c->capacity) {
    int32_t capacity = type_index < 64 ? 128 : 2 * type_index;
    block* b = block_grow(c->block, c->column.data, n, (uint32_t)capacity, sizeof *value);
    if (b == NULL) return NO_MEMORY;
    c->block = b;
    c->capacity = capacity;
    __atomic_store_n(&c->column.data, (const TVMFFIAny*)b->items, __ATOMIC_RELEASE);
  }
  TVMFFIAny* at = (TVMFFIAny*)c->column.data + type_index;
  at->zero_padding = value->zero_padding;
  at->v_uint64 = value->v_uint64;
  __atomic_store_n(&at->type_index, value->type_index, __ATOMIC_RELEASE);
  if (type_index >= n) __atomic_store_n(&c->column.size, type_index + 1, __ATOMIC_RELEASE);
  return ADDED;
}

int TVMFFITypeRegisterAttr(int32_t type_index, const TVMFFIByteArray* attr_name,
                           const TVMFFIAny* attr_value) {
  const char* op = "register type attribute";
  if (tvmgo_check_name(op, "the name", attr_name) != 0) return -1;
  if (attr_value == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s %.*s: the value is NULL: None makes an empty column", op,
                       tvmgo_quoted(attr_name->size), attr_name->data);
  int creates_only = attr_value->type_index == kTVMFFINone;
  tvmgo_type* t =
      check(op, creates_only ? (int32_t)kTVMFFINone : type_index, attr_value, attr_name);
  if (t == NULL) return -1;
  TVMFFIAny owned;
  if (TVMFFIAnyViewToOwnedAny(attr_value, &owned) != 0)
    return tvmgo_raise_context("%s %.*s", op, tvmgo_quoted(attr_name->size), attr_name->data);
  pthread_mutex_lock(&tvmgo_type_lock);
  enum outcome outcome = add_attr(type_index, attr_name, &owned);
  pthread_mutex_unlock(&tvmgo_type_lock);
  if (outcome == ADDED) return 0;
  tvmgo_any_clear(&owned);
  if (outcome == NO_MEMORY) return tvmgo_raise_oom();
  return tvmgo_raise(TVMGO_RUNTIME_ERROR, "%s %.*s: type %.*s has a value already", op,
                     tvmgo_quoted(attr_name->size), attr_name->data, tvmgo_quoted(t->info.type_key.size),
                     t->info.type_key.data);
}

const TVMFFITypeAttrColumn* TVMFFIGetTypeAttrColumn(const TVMFFIByteArray* attr_name) {
  if (attr_name == NULL || missing_text(attr_name)) return NULL;
  tvmgo_type_column* c = find_column(attr_name);
  return c == NULL ? NULL : &c->column;
}

/* ---- Attributes of built-in types ------------------------------------------------------------- */

void tvmgo_type_reflect_builtin(int32_t type_index, const TVMFFIFieldInfo* fields, int32_t num_fields,
                                const TVMFFITypeMetadata* metadata) {
  tvmgo_type* t = tvmgo_type_at(type_index);
  t->info.fields = fields;
  t->info.num_fields = t->cap_fields = num_fields;
  t->info.metadata = metadata;
}
