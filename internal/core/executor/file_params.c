/* Parameters in a loaded file: tensors on the CPU, made once. */
#include "executor/executor.h"
#include "loader/constants.h"
#include "object/check.h"

#include <stdlib.h>

typedef struct {
  tvmgo_constants* constants;
  TVMFFIObject* owner;
} file_params;

static void free_params(void* self) {
  file_params* p = self;
  tvmgo_constants_release(p->constants);
  tvmgo_object_release(p->owner);
  free(p);
}

/* (index, type, shape, device) -> tensor */
static int get_param(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  static const char op[] = "get parameter";
  const file_params* p = self;
  if (tvmgo_check_count(op, n, 4, 4) != 0) return -1;
  if (args[0].type_index != kTVMFFIInt || args[0].v_int64 < 0 || args[0].v_int64 >= p->constants->n ||
      args[1].type_index != kTVMFFIDataType || args[2].type_index != kTVMFFIShape ||
      args[3].type_index != kTVMFFIDevice)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: expected an index, a type, a shape and a device", op);
  const TVMFFIShapeCell* shape = TVMFFIShapeGetCellPtr(args[2].v_obj);
  DLTensor like = {.device = args[3].v_device, .dtype = args[1].v_dtype, .ndim = (int32_t)shape->size,
                   .shape = (int64_t*)shape->data};
  TVMFFIObject* t = tvmgo_constants_tensor(p->constants, args[0].v_int64, &like, p->owner);
  if (t == NULL) return -1;
  tvmgo_constants_fill_one(p->constants, args[0].v_int64);
  *result = tvmgo_any_object(t);
  return 0;
}

TVMFFIObject* tvmgo_executor_file_params(const void* const* data, const size_t* nbytes, int64_t n, void* owner) {
  file_params* p = calloc(1, sizeof *p);
  tvmgo_constant_bytes* list = calloc((size_t)n + 1, sizeof *list);
  TVMFFIObjectHandle f = NULL;
  if (p == NULL || list == NULL) {
    free(list);
    free(p);
    tvmgo_raise_oom();
    return NULL;
  }
  for (int64_t i = 0; i < n; i++) list[i] = (tvmgo_constant_bytes){data[i], nbytes[i]};
  p->constants = tvmgo_constants_new(list, n, 1);
  free(list);
  p->owner = owner;
  tvmgo_object_retain(owner);
  if (p->constants != NULL && TVMFFIFunctionCreate(p, get_param, free_params, &f) == 0) return f;
  free_params(p);
  return NULL;
}
