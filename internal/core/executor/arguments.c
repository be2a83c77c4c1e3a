/* The arguments of an executor's functions. */
#include "executor/arguments.h"
#include "object/check.h"

#include <stdio.h>
#include <string.h>

int tvmgo_executor_count(const executor_call* c, int32_t min, int32_t max) {
  return tvmgo_check_count(c->f, c->n, min, max);
}

int tvmgo_executor_index(const executor_call* c, int32_t i, int32_t n, const char* what, int32_t* out) {
  int64_t v;
  if (tvmgo_arg_int(c->f, c->args, i, &v) != 0) return -1;
  if (v < 0 || v >= n)
    return tvmgo_raise(TVMGO_INDEX_ERROR, "%s: there is no %s %lld: the graph has %d", c->f, what, (long long)v, n);
  *out = (int32_t)v;
  return 0;
}

static int unknown_name(const executor_call* c, const TVMFFIByteArray* name, int32_t what) {
  TVMFFIAny args[2] = {tvmgo_any_none(), tvmgo_any_int(what)}, result = {0};
  if (tvmgo_string_make(name->data, name->size, &args[0]) != 0) return -1;
  if (tvmgo_function_call(c->e->unknown, args, 2, &result) == 0) {
    tvmgo_any_clear(&result);
    tvmgo_raise(TVMGO_KEY_ERROR, "%.*s", tvmgo_quoted(name->size), name->data);
  }
  tvmgo_any_clear(&args[0]);
  return tvmgo_raise_context("%s", c->f);
}

int32_t tvmgo_executor_find_output(tvmgo_executor* e, const TVMFFIByteArray* name) {
  for (int32_t i = 0; i < e->sizes.outputs; i++) {
    const char* at = e->nodes[e->outputs[i].node].name;
    if (strlen(at) == name->size && memcmp(at, name->data, name->size) == 0) return i;
  }
  return -1;
}

static int32_t find_node(tvmgo_executor* e, const TVMFFIByteArray* name) {
  for (int32_t i = 0; i < e->sizes.nodes; i++)
    if (strlen(e->nodes[i].name) == name->size && memcmp(e->nodes[i].name, name->data, name->size) == 0) return i;
  return -1;
}

int tvmgo_executor_item(const executor_call* c, int32_t i, int32_t what, int32_t* out) {
  static const char* const words[] = {"input", "output", "node"};
  const int32_t sizes[] = {c->e->sizes.inputs, c->e->sizes.outputs, c->e->sizes.nodes};
  TVMFFIByteArray name;
  if (c->args[i].type_index == kTVMFFIInt) return tvmgo_executor_index(c, i, sizes[what], words[what], out);
  if (tvmgo_arg_text(c->f, c->args, i, &name) != 0) return -1;
  *out = what == AN_INPUT    ? tvmgo_executor_find_input(c->e, name.data, name.size)
         : what == AN_OUTPUT ? tvmgo_executor_find_output(c->e, &name)
                             : find_node(c->e, &name);
  return *out >= 0 ? 0 : unknown_name(c, &name, what);
}

int tvmgo_executor_tensor(const executor_call* c, int32_t i, const DLTensor** out, TVMFFIObject** owner) {
  const TVMFFIAny* v = &c->args[i];
  *owner = NULL;
  if (v->type_index == kTVMFFITensor) {
    *owner = v->v_obj;
    *out = tvmgo_tensor_dl(v->v_obj);
  } else if (v->type_index == kTVMFFIDLTensorPtr) {
    *out = v->v_ptr;
  } else {
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument %d: expected a tensor, got %s", c->f, i,
                       tvmgo_type_name(v->type_index));
  }
  char what[64];
  snprintf(what, sizeof what, "%.32s: argument %d", c->f, i);
  return tvmgo_dl_check(*out, what) != 0 ? -1 : tvmgo_dl_check_place(*out, what);
}

/* ---- checks ---- */

static void print_shape(char* buf, size_t cap, const DLTensor* t) {
  size_t at = (size_t)snprintf(buf, cap, "[");
  for (int32_t i = 0; i < t->ndim && at < cap; i++)
    at += (size_t)snprintf(buf + at, cap - at, "%s%lld", i > 0 ? ", " : "", (long long)t->shape[i]);
  if (at < cap) snprintf(buf + at, cap - at, "]");
}

static int is_bool(DLDataType t) {
  return t.lanes == 1 && ((t.code == kDLUInt && t.bits == 1) || (t.code == kDLBool && t.bits == 8));
}

int tvmgo_executor_same_form(const executor_call* c, const DLTensor* t, const DLTensor* want, const char* what,
                         const char* name) {
  DLDataType a = t->dtype, b = want->dtype;
  int same = t->ndim == want->ndim;
  for (int32_t i = 0; same && i < t->ndim; i++) same = t->shape[i] == want->shape[i];
  if (same && ((is_bool(a) && is_bool(b)) || (a.code == b.code && a.bits == b.bits && a.lanes == b.lanes))) return 0;
  char have_shape[200], want_shape[200], have_type[64], want_type[64];
  print_shape(have_shape, sizeof have_shape, t);
  print_shape(want_shape, sizeof want_shape, want);
  if (tvmgo_dtype_print(a, have_type, sizeof have_type) != 0 || tvmgo_dtype_print(b, want_type, sizeof want_type) != 0)
    return -1;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %s \"%.200s\" is %s%s, the tensor is %s%s", c->f, what, name, want_type,
                     want_shape, have_type, have_shape);
}

int tvmgo_executor_fit(const DLTensor* t, const data_entry* d) {
  DLDevice a = t->device, b = d->dl.device;
  if (d->scoped) return NOT_IN_SCOPE;
  if (a.device_type != b.device_type || (a.device_id != b.device_id && a.device_type != kDLCPU)) return OTHER_DEVICE;
  if (!tvmgo_dl_contiguous(t)) return NOT_CONTIGUOUS;
  if (a.device_type == kDLCPU && ((uintptr_t)t->data + t->byte_offset) % 64 != 0 && t->data != NULL)
    return NOT_ALIGNED;
  return 0;
}

int tvmgo_executor_usable(const executor_call* c, const DLTensor* t, const data_entry* d, const char* what,
                          const char* name) {
  if (tvmgo_executor_same_form(c, t, &d->dl, what, name) != 0) return -1;
  DLDevice a = t->device, b = d->dl.device;
  switch (tvmgo_executor_fit(t, d)) {
    case NOT_IN_SCOPE:
      return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %s \"%.200s\" is in a storage scope: tensors can only be copied there",
                         c->f, what, name);
    case OTHER_DEVICE: {
      const char *have = tvmgo_device_type_name(a.device_type), *need = tvmgo_device_type_name(b.device_type);
      return tvmgo_raise(TVMGO_VALUE_ERROR,
                         "%s: %s \"%.200s\" is on %s:%d, the tensor on %s:%d: without a copy they must be on one "
                         "device", c->f, what, name, need ? need : "?", b.device_id, have ? have : "?", a.device_id);
    }
    case NOT_CONTIGUOUS:
      return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the tensor for %s \"%.200s\" is not contiguous", c->f, what, name);
    case NOT_ALIGNED:
      return tvmgo_raise(TVMGO_VALUE_ERROR,
                         "%s: the memory for %s \"%.200s\" is not aligned to 64 bytes, as generated code needs it",
                         c->f, what, name);
  }
  return 0;
}

void tvmgo_executor_use(tvmgo_executor* e, data_entry* d, const DLTensor* t, TVMFFIObject* owner) {
  void* data = t->data;
  uint64_t offset = t->byte_offset;
  if (t->device.device_type == kDLCPU || tvmgo_device_family(t->device.device_type) == kDLCUDA) {
    data = (char*)data + offset; /* an address; functions may rely on an offset of 0 */
    offset = 0;
  }
  tvmgo_executor_move(e, d, owner, data, offset);
}
