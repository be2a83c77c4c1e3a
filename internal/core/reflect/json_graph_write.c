#include "reflect/enum.h"
#include "reflect/json_graph.h"
#include "container/list.h"
#include "container/map_internal.h"
#include "reflect/text_python.h"

#include <string.h>

typedef struct {
  const char* op;
  TVMFFIObject* indices; /* Dict: value to the index of its node */
  TVMFFIObject* nodes;   /* List */
  tvmgo_visited around;     /* the objects whose parts are written */
  int level;
} writer;

static int write_node(writer* w, const TVMFFIAny* v, int64_t* index);

/* ---- Building JSON ------------------------------------------------------------------------- */

static int append(TVMFFIObject* list, const TVMFFIAny* v) {
  int64_t n = tvmgo_seq_cell(list)->size;
  return tvmgo_list_replace(list, n, n, v, 1);
}

/* Converts the list, which is released, to an Array. */
static int give_array(TVMFFIObject* list, int rc, TVMFFIAny* out) {
  const TVMFFISeqCell* cell = tvmgo_seq_cell(list);
  TVMFFIObject* array = rc == 0 ? tvmgo_array_new(cell->data, cell->size) : NULL;
  tvmgo_object_release(list);
  if (array == NULL) return -1;
  *out = tvmgo_any_object(array);
  return 0;
}

static int set(TVMFFIObject** map, const char* name, size_t size, const TVMFFIAny* value) {
  TVMFFIAny key;
  if (tvmgo_string_make(name, size, &key) != 0) return -1;
  int rc = tvmgo_map_set(map, &key, value);
  tvmgo_any_clear(&key);
  return rc;
}

static int set_text(TVMFFIObject** map, const char* name, const char* text) {
  TVMFFIAny value;
  if (tvmgo_string_make(text, strlen(text), &value) != 0) return -1;
  int rc = set(map, name, strlen(name), &value);
  tvmgo_any_clear(&value);
  return rc;
}

static int dtype_text(DLDataType t, TVMFFIAny* out) {
  char buf[64];
  if (tvmgo_dtype_print(t, buf, sizeof buf) != 0) return -1;
  return tvmgo_string_make(buf, strlen(buf), out);
}

/* ---- Data of nodes ------------------------------------------------------------------------- */

static int append_node(writer* w, TVMFFIObject* list, const TVMFFIAny* v) {
  int64_t index;
  if (write_node(w, v, &index) != 0) return -1;
  TVMFFIAny number = tvmgo_any_int(index);
  return append(list, &number);
}

static int seq_data(writer* w, TVMFFIObject* seq, TVMFFIAny* data) {
  TVMFFIObject* list = tvmgo_list_new(NULL, 0);
  TVMFFIAny item;
  int rc = 0;
  if (list == NULL) return -1;
  for (int64_t i = 0; rc == 0 && tvmgo_seq_step(seq, i, &item); i++) {
    rc = append_node(w, list, &item);
    tvmgo_any_clear(&item);
  }
  return give_array(list, rc, data);
}

static int map_data(writer* w, TVMFFIObject* map, TVMFFIAny* data) {
  TVMFFIObject* list = tvmgo_list_new(NULL, 0);
  TVMFFIAny key, value;
  uint64_t place = 0;
  int rc = 0;
  if (list == NULL) return -1;
  while (rc == 0 && tvmgo_map_step(map, &place, &key, &value)) {
    rc = append_node(w, list, &key);
    if (rc == 0) rc = append_node(w, list, &value);
    tvmgo_any_clear(&key);
    tvmgo_any_clear(&value);
  }
  return give_array(list, rc, data);
}

static int number_data(const int64_t* numbers, size_t n, TVMFFIAny* data) {
  TVMFFIObject* list = tvmgo_list_new(NULL, 0);
  int rc = 0;
  if (list == NULL) return -1;
  for (size_t i = 0; rc == 0 && i < n; i++) {
    TVMFFIAny number = tvmgo_any_int(numbers[i]);
    rc = append(list, &number);
  }
  return give_array(list, rc, data);
}

static int big_int_data(const TVMFFIAny* v, TVMFFIAny* data) {
  tvmgo_text t = {0};
  int rc = tvmgo_text_big_int(&t, v);
  if (rc == 0) rc = tvmgo_text_string(&t, 0, data);
  tvmgo_text_free(&t);
  return rc;
}

/* Sets *value to the representation of a field in its object's data. */
static int field_data(writer* w, int32_t static_type, TVMFFIAny* value) {
  int64_t index;
  TVMFFIAny text;
  if (static_type == kTVMFFINone || (static_type == value->type_index &&
                                     (static_type == kTVMFFIBool || static_type == kTVMFFIInt ||
                                      static_type == kTVMFFIFloat)))
    return 0;
  if (static_type == kTVMFFIDataType && value->type_index == kTVMFFIDataType) {
    if (dtype_text(value->v_dtype, &text) != 0) return -1;
    *value = text;
    return 0;
  }
  if (write_node(w, value, &index) != 0) return -1;
  tvmgo_any_clear(value);
  *value = tvmgo_any_int(index);
  return 0;
}

static int fields_data(writer* w, TVMFFIObject* obj, TVMFFIAny* data) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(obj->type_index);
  TVMFFIAny hook;
  int has_creator = info != NULL && info->metadata != NULL && info->metadata->creator != NULL;
  if (info == NULL || (!has_creator && !tvmgo_hook_find("__ffi_new__", obj->type_index, &hook)))
    return tvmgo_raise(TVMGO_TYPE_ERROR,
                       "%s: objects of type %s can't be written: they could not be made again, "
                       "since the type has neither a creator nor __ffi_new__",
                       w->op, info == NULL ? "?" : info->type_key.data);
  TVMFFIObject* map = tvmgo_map_new(kTVMFFIMap);
  if (map == NULL) return -1;
  int rc = 0;
  tvmgo_field_walk walk = tvmgo_fields(obj->type_index, 0);
  for (const TVMFFIFieldInfo* f; rc == 0 && (f = tvmgo_field_next(&walk)) != NULL;) {
    TVMFFIAny value;
    rc = tvmgo_field_get(w->op, obj, f, &value);
    if (rc != 0) break;
    rc = field_data(w, f->field_static_type_index, &value);
    if (rc == 0) rc = set(&map, f->name.data, f->name.size, &value);
    tvmgo_any_clear(&value);
  }
  if (rc == 0)
    *data = tvmgo_any_object(map);
  else
    tvmgo_object_release(map);
  return rc;
}

static int object_data(writer* w, TVMFFIObject* obj, TVMFFIAny* data) {
  TVMFFIAny hook, view = tvmgo_any_object(obj);
  switch (obj->type_index) {
    case kTVMFFIArray:
    case kTVMFFIList: return seq_data(w, obj, data);
    case kTVMFFIMap:
    case kTVMFFIDict: return map_data(w, obj, data);
    default: break;
  }
  if (tvmgo_is_int_enum(obj->type_index)) {
    *data = tvmgo_any_int(((const tvmgo_enum*)obj)->number);
    return 0;
  }
  if (tvmgo_is_enum(obj->type_index))
    return TVMFFIAnyViewToOwnedAny(&((const tvmgo_enum*)obj)->text, data);
  if (!tvmgo_hook_find("__data_to_json__", obj->type_index, &hook))
    return fields_data(w, obj, data);
  if (hook.type_index != kTVMFFIFunction)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: __data_to_json__ must be a Function, got %s", w->op,
                       tvmgo_type_name(hook.type_index));
  return tvmgo_function_call(hook.v_obj, &view, 1, data);
}

/* Parts precede the object, so an object that contains itself cannot be written. */
static int around_object(writer* w, TVMFFIObject* obj, TVMFFIAny* data) {
  if (tvmgo_visited_find(&w->around, obj, NULL) != NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: a %s contains itself", w->op,
                       tvmgo_type_name(obj->type_index));
  uint32_t mark = w->around.size;
  if (tvmgo_level_enter(w->op, &w->level) != 0 || tvmgo_visited_add(&w->around, obj, NULL) == NULL)
    return -1;
  int rc = object_data(w, obj, data);
  tvmgo_visited_forget(&w->around, mark);
  w->level--;
  return rc;
}

/* The type's key and the data, owned; data stays None for None. */
static int describe(writer* w, const TVMFFIAny* v, const char** type, TVMFFIAny* data) {
  TVMFFIByteArray text;
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(v->type_index);
  *type = info == NULL ? "?" : info->type_key.data;
  switch (v->type_index) {
    case kTVMFFINone: return 0;
    case kTVMFFIBool: *data = tvmgo_any_bool(v->v_int64 != 0); return 0;
    case kTVMFFIInt:
    case kTVMFFIFloat: *data = *v; return 0;
    case kTVMFFIDataType: return dtype_text(v->v_dtype, data);
    case kTVMFFIDevice: {
      int64_t numbers[2] = {v->v_device.device_type, v->v_device.device_id};
      return number_data(numbers, 2, data);
    }
    case kTVMFFIShape: {
      const TVMFFIShapeCell* s = TVMFFIShapeGetCellPtr(v->v_obj);
      return number_data(s->data, s->size, data);
    }
    case kTVMFFIBigInt: return big_int_data(v, data);
    default: break;
  }
  if (tvmgo_any_text(v, &text)) {
    int is_bytes = v->type_index == kTVMFFIBytes || v->type_index == kTVMFFISmallBytes;
    *type = is_bytes ? "ffi.Bytes" : "ffi.String";
    return is_bytes ? tvmgo_base64_write(text, data) : TVMFFIAnyViewToOwnedAny(v, data);
  }
  if (tvmgo_any_is_object(v)) return around_object(w, v->v_obj, data);
  return tvmgo_raise(TVMGO_RUNTIME_ERROR, "%s: values of type %s can't be written", w->op, *type);
}

static int write_node(writer* w, const TVMFFIAny* v, int64_t* index) {
  const TVMFFIAny* known;
  int found = tvmgo_map_find(w->indices, v, &known);
  if (found != 0) {
    if (found == 1) *index = known->v_int64;
    return found == 1 ? 0 : -1;
  }
  const char* type;
  TVMFFIAny data = tvmgo_any_none();
  int rc = describe(w, v, &type, &data);
  if (rc != 0) return rc;
  TVMFFIObject* node = tvmgo_map_new(kTVMFFIMap);
  rc = node == NULL ? -1 : set_text(&node, "type", type);
  if (rc == 0 && v->type_index != kTVMFFINone) rc = set(&node, "data", 4, &data);
  *index = tvmgo_seq_cell(w->nodes)->size;
  TVMFFIAny node_value = tvmgo_any_object(node), number = tvmgo_any_int(*index);
  if (rc == 0) rc = append(w->nodes, &node_value);
  if (rc == 0) rc = tvmgo_map_set(&w->indices, v, &number);
  tvmgo_object_release(node);
  tvmgo_any_clear(&data);
  return rc;
}

int tvmgo_json_graph_write(const char* op, const TVMFFIAny* v, const TVMFFIAny* metadata,
                           TVMFFIAny* graph) {
  writer w = {.op = op, .indices = tvmgo_map_new(kTVMFFIDict), .nodes = tvmgo_list_new(NULL, 0)};
  TVMFFIObject* map = tvmgo_map_new(kTVMFFIMap);
  TVMFFIAny nodes = tvmgo_any_none();
  int64_t root = 0;
  int rc = w.indices == NULL || w.nodes == NULL || map == NULL ? -1 : write_node(&w, v, &root);
  TVMFFIAny root_index = tvmgo_any_int(root);
  if (rc == 0) rc = set(&map, "root_index", 10, &root_index);
  if (rc == 0) {
    rc = give_array(w.nodes, 0, &nodes);
    w.nodes = NULL;
  }
  if (rc == 0) rc = set(&map, "nodes", 5, &nodes);
  if (rc == 0 && metadata->type_index != kTVMFFINone) rc = set(&map, "metadata", 8, metadata);
  tvmgo_any_clear(&nodes);
  tvmgo_visited_free(&w.around);
  tvmgo_object_release(w.nodes);
  tvmgo_object_release(w.indices);
  if (rc == 0)
    *graph = tvmgo_any_object(map);
  else
    tvmgo_object_release(map);
  return rc;
}
