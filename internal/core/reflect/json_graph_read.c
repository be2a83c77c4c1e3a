#include "reflect/enum.h"
#include "reflect/json_graph.h"
#include "container/list.h"
#include "container/map_internal.h"

#include <stdlib.h>

typedef struct {
  const char* op;
  TVMFFIObject* nodes; /* Array, borrowed */
  struct {
    TVMFFIAny value; /* owned */
    enum { UNREAD, BEGUN, DONE } state;
  }* read; /* by node */
  int level;
} reader;

static int read_node(reader* r, int64_t index, TVMFFIAny* v);

static int bad(const reader* r, const char* what, const TVMFFIAny* got) {
  tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %s, got %s", r->op, what,
              got == NULL ? "nothing" : tvmgo_type_name(got->type_index));
  return -1; /* returned here, so that the compiler sees that the result is set when 0 is returned */
}

/* The value of a name in a JSON object, borrowed; NULL if it is absent or v is not an object. */
static const TVMFFIAny* member(const TVMFFIAny* v, const char* name, size_t size) {
  TVMFFIByteArray text = {name, size};
  TVMFFIAny key = tvmgo_any_none();
  const TVMFFIAny* value = NULL;
  if (v->type_index != kTVMFFIMap && v->type_index != kTVMFFIDict) return NULL;
  if (tvmgo_string_make(text.data, text.size, &key) != 0) return NULL;
  int found = tvmgo_map_find(v->v_obj, &key, &value);
  tvmgo_any_clear(&key);
  return found == 1 ? value : NULL;
}

/* ---- Checks of the data of a node ------------------------------------------------------- */

static int want_int(const reader* r, const TVMFFIAny* data, int64_t* out) {
  if (data == NULL || (data->type_index != kTVMFFIInt && data->type_index != kTVMFFIBool))
    return bad(r, "expected an integer", data);
  *out = data->v_int64;
  return 0;
}

static int want_text(const reader* r, const TVMFFIAny* data, TVMFFIByteArray* out) {
  if (data == NULL || (data->type_index != kTVMFFIStr && data->type_index != kTVMFFISmallStr))
    return bad(r, "expected a string", data);
  return tvmgo_any_text(data, out) ? 0 : -1;
}

static int want_seq(const reader* r, const TVMFFIAny* data, const TVMFFISeqCell** out) {
  if (data == NULL || (data->type_index != kTVMFFIArray && data->type_index != kTVMFFIList))
    return bad(r, "expected an array", data);
  *out = tvmgo_seq_cell(data->v_obj);
  return 0;
}

static int want_ints(const reader* r, const TVMFFIAny* data, int64_t** out, size_t* n) {
  const TVMFFISeqCell* cell;
  if (want_seq(r, data, &cell) != 0) return -1;
  *n = (size_t)cell->size;
  *out = malloc((*n + 1) * sizeof **out);
  if (*out == NULL) return tvmgo_raise_oom();
  for (size_t i = 0; i < *n; i++)
    if (want_int(r, (const TVMFFIAny*)cell->data + i, *out + i) != 0) {
      free(*out);
      return -1;
    }
  return 0;
}

static int read_dtype(const reader* r, const TVMFFIAny* data, TVMFFIAny* v) {
  TVMFFIByteArray text;
  DLDataType t;
  if (want_text(r, data, &text) != 0 || tvmgo_dtype_parse(text.data, text.size, &t) != 0) return -1;
  v->type_index = kTVMFFIDataType;
  v->v_dtype = t;
  return 0;
}

static int read_float(const reader* r, const TVMFFIAny* data, TVMFFIAny* v) {
  int64_t i;
  if (data != NULL && data->type_index == kTVMFFIFloat) {
    *v = *data;
    return 0;
  }
  if (want_int(r, data, &i) != 0) return -1;
  v->type_index = kTVMFFIFloat;
  v->v_float64 = (double)i;
  return 0;
}

static int read_numbers(const reader* r, int32_t type, const TVMFFIAny* data, TVMFFIAny* v) {
  int64_t* numbers;
  size_t n;
  int rc = 0;
  if (want_ints(r, data, &numbers, &n) != 0) return -1;
  if (type == kTVMFFIShape) {
    TVMFFIObject* shape = tvmgo_shape_new(numbers, n);
    rc = shape == NULL ? -1 : 0;
    if (rc == 0) *v = tvmgo_any_object(shape);
  } else if (n != 2 || numbers[0] < INT32_MIN || numbers[0] > INT32_MAX || numbers[1] < INT32_MIN ||
             numbers[1] > INT32_MAX) {
    rc = tvmgo_raise(TVMGO_VALUE_ERROR, "%s: a device is an array of its type and its number",
                     r->op);
  } else {
    v->type_index = kTVMFFIDevice;
    v->v_device = (DLDevice){(DLDeviceType)numbers[0], (int32_t)numbers[1]};
  }
  free(numbers);
  return rc;
}

/* ---- Containers ---------------------------------------------------------------------------- */

/* The nodes with the indices in an array, in a new List. */
static int read_nodes(reader* r, const TVMFFIAny* data, TVMFFIObject** out) {
  const TVMFFISeqCell* cell;
  if (want_seq(r, data, &cell) != 0) return -1;
  TVMFFIObject* list = tvmgo_list_new(NULL, 0);
  int rc = list == NULL ? -1 : 0;
  for (int64_t i = 0; rc == 0 && i < cell->size; i++) {
    int64_t index;
    TVMFFIAny v;
    rc = want_int(r, (const TVMFFIAny*)cell->data + i, &index);
    if (rc == 0) rc = read_node(r, index, &v);
    if (rc != 0) break;
    rc = tvmgo_list_replace(list, i, i, &v, 1);
    tvmgo_any_clear(&v);
  }
  if (rc != 0) {
    tvmgo_object_release(list);
    return rc;
  }
  *out = list;
  return 0;
}

static int read_container(reader* r, int32_t type, const TVMFFIAny* data, TVMFFIAny* v) {
  TVMFFIObject *list, *made = NULL;
  int rc = read_nodes(r, data, &list);
  if (rc != 0) return rc;
  const TVMFFISeqCell* cell = tvmgo_seq_cell(list);
  const TVMFFIAny* items = cell->data;
  if (type == kTVMFFIList) {
    *v = tvmgo_any_object(list);
    return 0;
  }
  if (type == kTVMFFIArray) {
    made = tvmgo_array_new(items, cell->size);
  } else if (cell->size % 2 != 0) {
    tvmgo_raise(TVMGO_VALUE_ERROR, "%s: keys and values of a map must alternate, got %lld of them",
                r->op, (long long)cell->size);
  } else {
    made = tvmgo_map_new(type);
    for (int64_t i = 0; made != NULL && i < cell->size; i += 2)
      if (tvmgo_map_set(&made, &items[i], &items[i + 1]) != 0) {
        tvmgo_object_release(made);
        made = NULL;
      }
  }
  tvmgo_object_release(list);
  if (made == NULL) return -1;
  *v = tvmgo_any_object(made);
  return 0;
}

/* ---- Objects ------------------------------------------------------------------------------- */

static int read_field(reader* r, int32_t static_type, const TVMFFIAny* data, TVMFFIAny* v) {
  int64_t i;
  switch (static_type) {
    case kTVMFFINone: return 0;
    case kTVMFFIFloat: return read_float(r, data, v);
    case kTVMFFIDataType: return read_dtype(r, data, v);
    default: break;
  }
  if (want_int(r, data, &i) != 0) return -1;
  if (static_type == kTVMFFIInt || static_type == kTVMFFIBool) {
    *v = static_type == kTVMFFIInt ? tvmgo_any_int(i) : tvmgo_any_bool(i != 0);
    return 0;
  }
  return read_node(r, i, v);
}

static int read_fields(reader* r, TVMFFIObject* obj, const TVMFFIAny* data) {
  tvmgo_field_walk w = tvmgo_fields(obj->type_index, 0);
  for (const TVMFFIFieldInfo* f; (f = tvmgo_field_next(&w)) != NULL;) {
    const TVMFFIAny* given = member(data, f->name.data, f->name.size);
    TVMFFIAny v = tvmgo_any_none();
    int rc;
    if (given != NULL) {
      rc = read_field(r, f->field_static_type_index, given, &v);
      if (rc == 0) rc = tvmgo_field_set(r->op, obj, f, &v);
      tvmgo_any_clear(&v);
    } else if (f->flags & kTVMFFIFieldFlagBitMaskHasDefault) {
      rc = tvmgo_field_set_default(r->op, obj, f);
    } else {
      rc = tvmgo_raise(TVMGO_TYPE_ERROR, "%s: field %.*s of type %s needs a value", r->op,
                       (int)f->name.size, f->name.data,
                       TVMFFIGetTypeInfo(obj->type_index)->type_key.data);
    }
    if (rc != 0) return rc;
  }
  return 0;
}

static int read_object(reader* r, int32_t type, const TVMFFIAny* data, TVMFFIAny* v) {
  TVMFFIAny hook;
  TVMFFIByteArray text;
  int64_t number;
  if (tvmgo_is_enum(type)) {
    if (tvmgo_is_int_enum(type) ? want_int(r, data, &number) : want_text(r, data, &text)) return -1;
    return tvmgo_enum_find(r->op, type, data, v);
  }
  if (tvmgo_hook_find("__data_from_json__", type, &hook)) {
    if (hook.type_index != kTVMFFIFunction || data == NULL)
      return bad(r, "__data_from_json__ must be a Function, called with data", data);
    return tvmgo_function_call(hook.v_obj, data, 1, v);
  }
  if (data == NULL || (data->type_index != kTVMFFIMap && data->type_index != kTVMFFIDict))
    return bad(r, "expected the fields of an object", data);
  int rc = tvmgo_reflected_new(r->op, type, v);
  if (rc == 0) rc = read_fields(r, v->v_obj, data);
  return rc;
}

/* ---- Nodes --------------------------------------------------------------------------------- */

/* *v is unchanged or an owned value, even on failure. */
static int decode(reader* r, const TVMFFIAny* node, TVMFFIAny* v) {
  const TVMFFIAny *type = member(node, "type", 4), *data = member(node, "data", 4);
  TVMFFIByteArray text;
  int32_t index;
  int64_t number;
  if (want_text(r, type, &text) != 0 || TVMFFITypeKeyToIndex(&text, &index) != 0) return -1;
  switch (index) {
    case kTVMFFINone: return 0;
    case kTVMFFIBool:
    case kTVMFFIInt:
      if (want_int(r, data, &number) != 0) return -1;
      *v = index == kTVMFFIInt ? tvmgo_any_int(number) : tvmgo_any_bool(number != 0);
      return 0;
    case kTVMFFIFloat: return read_float(r, data, v);
    case kTVMFFIDataType: return read_dtype(r, data, v);
    case kTVMFFIDevice:
    case kTVMFFIShape: return read_numbers(r, index, data, v);
    case kTVMFFIStr:
      if (want_text(r, data, &text) != 0) return -1;
      return TVMFFIAnyViewToOwnedAny(data, v);
    case kTVMFFIBytes:
      if (want_text(r, data, &text) != 0) return -1;
      return tvmgo_base64_read(r->op, text, v);
    case kTVMFFIBigInt:
      if (want_text(r, data, &text) != 0) return -1;
      return tvmgo_big_int_parse(r->op, text, v);
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap:
    case kTVMFFIDict: return read_container(r, index, data, v);
    default: return read_object(r, index, data, v);
  }
}

static int read_node(reader* r, int64_t index, TVMFFIAny* v) {
  const TVMFFISeqCell* nodes = tvmgo_seq_cell(r->nodes);
  if (index < 0 || index >= nodes->size)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: there is no node %lld", r->op, (long long)index);
  if (r->read[index].state == BEGUN)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: node %lld contains itself", r->op, (long long)index);
  if (r->read[index].state == UNREAD) {
    if (tvmgo_level_enter(r->op, &r->level) != 0) return -1;
    r->read[index].state = BEGUN;
    int rc = decode(r, (const TVMFFIAny*)nodes->data + index, &r->read[index].value);
    r->level--;
    if (rc != 0) return rc;
    r->read[index].state = DONE;
  }
  return TVMFFIAnyViewToOwnedAny(&r->read[index].value, v);
}

int tvmgo_json_graph_read(const char* op, const TVMFFIAny* graph, TVMFFIAny* v) {
  reader r = {.op = op};
  const TVMFFIAny *root = member(graph, "root_index", 10), *nodes = member(graph, "nodes", 5);
  int64_t index;
  if (graph->type_index != kTVMFFIMap && graph->type_index != kTVMFFIDict)
    return bad(&r, "expected an object with \"root_index\" and \"nodes\"", graph);
  if (root == NULL || root->type_index != kTVMFFIInt)
    return bad(&r, "\"root_index\" must be an integer", root);
  if (nodes == NULL || nodes->type_index != kTVMFFIArray)
    return bad(&r, "\"nodes\" must be an array", nodes);
  index = root->v_int64;
  r.nodes = nodes->v_obj;
  size_t n = (size_t)tvmgo_seq_cell(r.nodes)->size;
  r.read = calloc(n + 1, sizeof *r.read);
  if (r.read == NULL) return tvmgo_raise_oom();
  tvmgo_object_retain(r.nodes); /* a hook may change a Dict that holds it */
  int rc = read_node(&r, index, v);
  for (size_t i = 0; i < n; i++) tvmgo_any_clear(&r.read[i].value);
  free(r.read);
  tvmgo_object_release(r.nodes);
  return rc;
}
