/* The global functions vm.builtin.* that need no machine. */
#include "ctest/call.h"
#include "vm/vm.h"

#define B(name, result, ...) CALL("vm.builtin." name, result, __VA_ARGS__)

static TVMFFIAny i(int64_t v) { return tvmgo_any_int(v); }
static TVMFFIAny none(void) { return tvmgo_any_none(); }
static TVMFFIAny dtype(const char* name) {
  TVMFFIAny v = {.type_index = kTVMFFIDataType};
  CHECK_OK(tvmgo_dtype_parse(name, strlen(name), &v.v_dtype));
  return v;
}
static TVMFFIAny shape(int32_t n, const int64_t* dims) { return tvmgo_any_object(tvmgo_shape_new(dims, (size_t)n)); }
#define SHAPE(...) \
  shape((int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__})
static TVMFFIAny tensor(int32_t ndim, const int64_t* dims, const char* type) {
  return tvmgo_any_object(tvmgo_tensor_new(dims, ndim, dtype(type).v_dtype, (DLDevice){kDLCPU, 0}, NULL));
}
#define TENSOR(type, ...) \
  tensor((int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__}, type)
static TVMFFIAny heap_of(int64_t slots) {
  TVMFFIAny h;
  CHECK_OK(B("alloc_shape_heap", &h, none(), i(slots)));
  return h;
}
static int64_t* slots(TVMFFIAny heap) { return tvmgo_tensor_dl(heap.v_obj)->data; }

static void test_shapes(void) {
  TVMFFIAny r, h = heap_of(3), s = SHAPE(2, 3), t = TENSOR("float32", 2, 3);
  CHECK_EQ_INT(slots(h)[2], 0);
  CHECK_OK(B("match_shape", &r, s, h, i(2), i(1), i(1), i(0), i(3), raw("x")));
  CHECK_EQ_INT(slots(h)[1], 2);
  CHECK_OK(B("match_shape", &r, t, h, i(2), i(3), i(1), i(2), i(-7), none()));
  CHECK_OK(B("match_shape", &r, t, none(), i(2), i(0), i(2), i(2), i(0)));
  CHECK_FAILS(B("match_shape", &r, s, h, i(2), i(0), i(4), i(0), i(3), raw("main, x")), TVMGO_RUNTIME_ERROR,
              "vm.builtin.match_shape: main, x: dimension 0 of the shape (2, 3) is 2, expected 4");
  CHECK_FAILS(B("match_shape", &r, s, h, i(2), i(2), i(4), i(3), i(1), raw("main, x")), TVMGO_RUNTIME_ERROR,
              "dimension 1 of the shape (2, 3) is 3, expected 2, the value that it had where it was met first");
  CHECK_FAILS(B("match_shape", &r, t, h, i(1), i(0), i(2), raw("main, x")), TVMGO_RUNTIME_ERROR,
              "main, x: the shape (2, 3) has 2 dimensions, expected 1");
  CHECK_FAILS(B("match_shape", &r, s, h, i(2), i(1), i(3), i(0), i(3), raw("")), TVMGO_INDEX_ERROR, "no slot 3");
  CHECK_FAILS(B("match_shape", &r, s, h, i(2), i(3), i(-1), i(0), i(3)), TVMGO_INDEX_ERROR, "no slot -1");
  CHECK_FAILS(B("match_shape", &r, s, none(), i(2), i(1), i(0), i(0), i(3)), TVMGO_INDEX_ERROR, "only 0 slots");
  CHECK_FAILS(B("match_shape", &r, s, h, i(2), i(4), i(0), i(0), i(3)), TVMGO_VALUE_ERROR, "is 4, expected 0");
  CHECK_FAILS(B("match_shape", &r, s, h, i(3), i(0), i(2), i(0), i(3)), TVMGO_VALUE_ERROR, "3 pairs");
  CHECK_FAILS(B("match_shape", &r, s, h, i(-1), i(0), i(2)), TVMGO_VALUE_ERROR, "-1 pairs");
  CHECK_FAILS(B("match_shape", &r, i(2), h, i(1), i(0), i(2)), TVMGO_TYPE_ERROR, "argument 0 must be a Shape, got int");
  CHECK_FAILS(B("match_shape", &r, s, t, i(2), i(0), i(2), i(0), i(3)), TVMGO_TYPE_ERROR, "must be a shape heap");

  CHECK_OK(B("make_shape", &r, h, i(3), i(1), i(1), i(0), i(-5), i(0), i(7)));
  CHECK_STR(repr(r), "Shape(2, -5, 7)");
  tvmgo_any_clear(&r);
  CHECK_OK(B("make_shape", &r, none(), i(0)));
  CHECK_STR(repr(r), "Shape()");
  tvmgo_any_clear(&r);
  CHECK_FAILS(B("make_shape", &r, h, i(1), i(2), i(1)), TVMGO_VALUE_ERROR, "a code is 2");
  CHECK_FAILS(B("make_shape", &r, h, i(1), i(1), i(9)), TVMGO_INDEX_ERROR, "no slot 9, only 3 slots");
  CHECK_FAILS(B("make_shape", &r, h, i(2), i(0), i(1)), TVMGO_VALUE_ERROR, "2 pairs");

  CHECK_OK(B("match_prim_value", &r, i(11), h, i(1), i(0), none()));
  CHECK_OK(B("match_prim_value", &r, i(11), h, i(3), i(0), none()));
  CHECK_FAILS(B("match_prim_value", &r, i(12), h, i(3), i(0), raw("n")), TVMGO_RUNTIME_ERROR,
              "vm.builtin.match_prim_value: n: the value is 12, expected 11, the value");
  CHECK_FAILS(B("match_prim_value", &r, i(12), h, i(0), i(13), raw("n")), TVMGO_RUNTIME_ERROR, "is 12, expected 13");
  CHECK_FAILS(B("match_prim_value", &r, real(1), h, i(0), i(1), none()), TVMGO_TYPE_ERROR, "int");
  CHECK_FAILS(B("match_prim_value", &r, i(12), h, i(0), i(13)), TVMGO_TYPE_ERROR, "");
  CHECK_OK(B("make_prim_value", &r, h, i(1), i(0)));
  CHECK_EQ_INT(r.v_int64, 11);
  CHECK_OK(B("make_prim_value", &r, h, i(0), i(-3)));
  CHECK_EQ_INT(r.v_int64, -3);
  CHECK_OK(B("shape_of", &r, t));
  CHECK_STR(repr(r), "Shape(2, 3)");
  tvmgo_any_clear(&r);
  CHECK_FAILS(B("shape_of", &r, s), TVMGO_TYPE_ERROR, "must be a Tensor, got Shape");
  CHECK_FAILS(B("alloc_shape_heap", &r, none(), i(-1)), TVMGO_VALUE_ERROR, "negative");
  CHECK_FAILS(B("alloc_shape_heap", &r, none(), i(INT64_MAX)), TVMGO_VALUE_ERROR, "vm.builtin.alloc_shape_heap");
  CHECK_FAILS(B("alloc_shape_heap", &r, none(), i(INT64_C(1) << 31)), TVMGO_VALUE_ERROR,
              "vm.builtin.alloc_shape_heap: a heap of 2147483648 slots: ");
  tvmgo_any_clear(&h), tvmgo_any_clear(&s), tvmgo_any_clear(&t);
}

static void test_checks(void) {
  TVMFFIAny r, s = SHAPE(2, 3), t = TENSOR("float32", 2, 3), tuple;
  CHECK_OK(B("make_tuple", &tuple, i(1), s));
  CHECK_OK(B("check_tensor_info", &r, t, i(2), dtype("float32"), raw("c")));
  CHECK_OK(B("check_tensor_info", &r, t, i(-1), raw("c")));
  CHECK_OK(B("check_tensor_info", &r, t, i(2), raw("float32"), none()));
  CHECK_OK(B("check_tensor_info", &r, t, i(2), none(), none()));
  CHECK_FAILS(B("check_tensor_info", &r, t, i(3), raw("main, x")), TVMGO_VALUE_ERROR,
              "vm.builtin.check_tensor_info: main, x: expected a Tensor with 3 dimensions, got 2: (2, 3)");
  CHECK_FAILS(B("check_tensor_info", &r, t, i(2), dtype("int8"), raw("x")), TVMGO_VALUE_ERROR,
              "x: expected a Tensor with dtype int8, got float32");
  CHECK_FAILS(B("check_tensor_info", &r, s, i(2), raw("x")), TVMGO_TYPE_ERROR, "x: expected a Tensor, got Shape");
  CHECK_FAILS(B("check_tensor_info", &r, none(), i(2), raw("x")), TVMGO_TYPE_ERROR, "expected a Tensor, got None");
  CHECK_FAILS(B("check_tensor_info", &r, t, i(2)), TVMGO_TYPE_ERROR, "");
  CHECK_FAILS(B("check_tensor_info", &r, t, i(2), i(4)), TVMGO_TYPE_ERROR, "the text for errors");
  CHECK_OK(B("check_shape_info", &r, s, i(2), none()));
  CHECK_OK(B("check_shape_info", &r, s, i(-1), none()));
  CHECK_FAILS(B("check_shape_info", &r, s, i(1), raw("x")), TVMGO_VALUE_ERROR,
              "x: expected a Shape with 1 dimensions, got 2: (2, 3)");
  CHECK_FAILS(B("check_shape_info", &r, t, i(2), raw("x")), TVMGO_TYPE_ERROR, "expected a Shape, got Tensor");
  CHECK_OK(B("check_prim_value_info", &r, i(1), dtype("int64"), none()));
  CHECK_OK(B("check_prim_value_info", &r, i(1), dtype("float16"), none()));
  CHECK_OK(B("check_prim_value_info", &r, tvmgo_any_bool(1), dtype("bool"), none()));
  CHECK_OK(B("check_prim_value_info", &r, tvmgo_any_ptr(&r), dtype("handle"), none()));
  CHECK_FAILS(B("check_prim_value_info", &r, real(1), dtype("int64"), raw("n")), TVMGO_TYPE_ERROR,
              "n: expected a value of dtype int64, got float");
  CHECK_FAILS(B("check_prim_value_info", &r, none(), dtype("bool"), raw("n")), TVMGO_TYPE_ERROR, "got None");
  CHECK_FAILS(B("check_prim_value_info", &r, real(1), dtype("bfloat16"), raw("n")), TVMGO_TYPE_ERROR, "\"bfloat16\"");
  CHECK_OK(B("check_string_info", &r, raw("a"), none()));
  CHECK_FAILS(B("check_string_info", &r, i(1), raw("x")), TVMGO_TYPE_ERROR, "x: expected a str, got int");
  CHECK_OK(B("check_tuple_info", &r, tuple, i(2), none()));
  CHECK_FAILS(B("check_tuple_info", &r, tuple, i(3), raw("x")), TVMGO_VALUE_ERROR,
              "x: expected a tuple with 3 elements, got one with 2");
  CHECK_FAILS(B("check_tuple_info", &r, s, i(3), raw("x")), TVMGO_TYPE_ERROR, "expected a tuple (an Array), got");
  TVMFFIAny f = tvmgo_any_object(tvmgo_global_get("vm.builtin.copy", 15));
  CHECK_OK(B("check_func_info", &r, f, none()));
  CHECK_FAILS(B("check_func_info", &r, t, raw("x")), TVMGO_TYPE_ERROR, "x: expected a function, got Tensor");
  tvmgo_any_clear(&f), tvmgo_any_clear(&s), tvmgo_any_clear(&t), tvmgo_any_clear(&tuple);
}

static void test_tuples(void) {
  TVMFFIAny r, tuple, inner = SHAPE(4);
  CHECK_OK(B("make_tuple", &tuple, i(1), inner, raw("a long text of a tuple"), none()));
  tvmgo_any_clear(&inner);
  CHECK_OK(B("tuple_getitem", &r, tuple, i(1)));
  CHECK_STR(repr(r), "Shape(4)");
  CHECK_OK(B("tuple_reset_item", &inner, tuple, i(1)));
  CHECK_STR(repr(tuple), "(1, None, \"a long text of a tuple\", None)");
  CHECK_STR(repr(r), "Shape(4)");
  tvmgo_any_clear(&r);
  CHECK_FAILS(B("tuple_getitem", &r, tuple, i(4)), TVMGO_INDEX_ERROR, "index 4 is out of range for a tuple with 4");
  CHECK_FAILS(B("tuple_getitem", &r, tuple, i(-1)), TVMGO_INDEX_ERROR, "index -1");
  CHECK_FAILS(B("tuple_reset_item", &r, tuple, i(4)), TVMGO_INDEX_ERROR, "index 4");
  CHECK_FAILS(B("tuple_getitem", &r, none(), i(0)), TVMGO_TYPE_ERROR, "None");
  CHECK_OK(B("copy", &r, tuple));
  CHECK_EQ_PTR(r.v_obj, tuple.v_obj);
  tvmgo_any_clear(&r), tvmgo_any_clear(&tuple);
  CHECK_OK(call("vm.builtin.null_value", NULL, 0, &r));
  CHECK_EQ_INT(r.type_index, kTVMFFINone);
  CHECK_OK(call("vm.builtin.make_tuple", NULL, 0, &r));
  CHECK_STR(repr(r), "()");
  tvmgo_any_clear(&r);
}

static void test_conditions(void) {
  TVMFFIAny r;
  CHECK_OK(B("read_if_cond", &r, i(-1)));
  CHECK(r.type_index == kTVMFFIBool && r.v_int64 == 1);
  static const struct {
    const char* type;
    size_t bytes;
  } types[] = {{"bool", 1}, {"int8", 1}, {"uint8", 1}, {"int16", 2}, {"uint32", 4}, {"int64", 8}};
  for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
    TVMFFIAny t = TENSOR(types[k].type, 2);
    char* data = tvmgo_tensor_dl(t.v_obj)->data;
    memset(data, 0, 2 * types[k].bytes);
    data[types[k].bytes] = 1; /* of the second element */
    CHECK_OK(B("read_if_cond", &r, t));
    CHECK_EQ_INT(r.v_int64, 0);
    data[types[k].bytes - 1] = 1; /* the highest byte of the first element */
    CHECK_OK(B("read_if_cond", &r, t));
    CHECK_EQ_INT(r.v_int64, 1);
    tvmgo_tensor_dl(t.v_obj)->byte_offset = types[k].bytes, tvmgo_tensor_dl(t.v_obj)->shape[0] = 1;
    data[types[k].bytes] = 0;
    CHECK_OK(B("read_if_cond", &r, t));
    CHECK_EQ_INT(r.v_int64, 0);
    tvmgo_any_clear(&t);
  }
  TVMFFIAny f = TENSOR("float32", 1), empty = TENSOR("int32", 0);
  CHECK_FAILS(B("read_if_cond", &r, f), TVMGO_TYPE_ERROR, "a tensor of float32, expected one of bool");
  CHECK_FAILS(B("read_if_cond", &r, empty), TVMGO_VALUE_ERROR, "without elements");
  CHECK_FAILS(B("read_if_cond", &r, none()), TVMGO_TYPE_ERROR, "must be a Tensor, got None");
  CHECK_FAILS(B("read_if_cond", &r, real(1)), TVMGO_TYPE_ERROR, "got float");
  tvmgo_any_clear(&f), tvmgo_any_clear(&empty);
}

static void test_tensor_to_shape(void) {
  TVMFFIAny r, t = TENSOR("int16", 4);
  memcpy(tvmgo_tensor_dl(t.v_obj)->data, (int16_t[]){1, -2, 3, 4}, 8);
  CHECK_OK(B("tensor_to_shape", &r, t));
  CHECK_STR(repr(r), "Shape(1, -2, 3, 4)");
  tvmgo_any_clear(&r);
  tvmgo_tensor_dl(t.v_obj)->shape[0] = 2, tvmgo_tensor_dl(t.v_obj)->strides[0] = 2;
  CHECK_OK(B("tensor_to_shape", &r, t));
  CHECK_STR(repr(r), "Shape(1, 3)");
  tvmgo_any_clear(&r), tvmgo_any_clear(&t);
  TVMFFIAny wrong[] = {TENSOR("uint32", 2), TENSOR("int8", 2), TENSOR("int64", 1, 1), TENSOR("float32", 2)};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    CHECK_FAILS(B("tensor_to_shape", &r, wrong[k]), TVMGO_TYPE_ERROR, "of one dimension of int16, int32 or int64");
    tvmgo_any_clear(&wrong[k]);
  }
}

static void test_reshape(void) {
  TVMFFIAny r, t = TENSOR("int32", 2, 3), s = SHAPE(3, 2), less = SHAPE(5), more = SHAPE(7);
  TVMFFIAny negative = SHAPE(-2, -3), huge = SHAPE(INT64_C(1) << 33, INT64_C(1) << 33), view;
  int32_t* data = tvmgo_tensor_dl(t.v_obj)->data;
  CHECK_OK(B("reshape", &view, t, s));
  DLTensor* dl = tvmgo_tensor_dl(view.v_obj);
  CHECK(dl->data == data && dl->ndim == 2 && dl->shape[0] == 3 && dl->shape[1] == 2 && dl->strides[0] == 2);
  CHECK_OK(B("reshape", &r, view, less));
  CHECK_EQ_INT(tvmgo_tensor_dl(r.v_obj)->shape[0], 5);
  tvmgo_any_clear(&r);
  CHECK_FAILS(B("reshape", &r, t, more), TVMGO_VALUE_ERROR, "vm.builtin.reshape: view tensor: 28 bytes");
  CHECK_FAILS(B("reshape", &r, t, negative), TVMGO_VALUE_ERROR, "dimension 0 of the shape is negative: -2");
  CHECK_FAILS(B("reshape", &r, t, huge), TVMGO_VALUE_ERROR, "more than 2^63 elements");
  CHECK_FAILS(B("reshape", &r, s, s), TVMGO_TYPE_ERROR, "must be a Tensor, got Shape");
  CHECK_FAILS(B("reshape", &r, t, t), TVMGO_TYPE_ERROR, "must be a Shape, got Tensor");
  /* A caller's DLTensor may be gone when the result is used: it is copied. */
  for (int k = 0; k < 6; k++) data[k] = k;
  TVMFFIAny bare = {.type_index = kTVMFFIDLTensorPtr};
  bare.v_ptr = tvmgo_tensor_dl(t.v_obj);
  CHECK_OK(B("reshape", &r, bare, s));
  CHECK(tvmgo_tensor_dl(r.v_obj)->data != data && ((int32_t*)tvmgo_tensor_dl(r.v_obj)->data)[5] == 5);
  tvmgo_any_clear(&r);
  tvmgo_tensor_dl(t.v_obj)->strides[0] = 1, tvmgo_tensor_dl(t.v_obj)->strides[1] = 2;
  CHECK_FAILS(B("reshape", &r, t, s), TVMGO_VALUE_ERROR, "not contiguous");
  tvmgo_any_clear(&t), tvmgo_any_clear(&view); /* the view keeps the memory */
  tvmgo_any_clear(&s), tvmgo_any_clear(&less), tvmgo_any_clear(&more), tvmgo_any_clear(&negative);
  tvmgo_any_clear(&huge);
}

/* A loop that reshapes its state gives views of views. They keep the first tensor alive, not each other. */
static void test_reshape_in_a_loop(void) {
  TVMFFIAny s = SHAPE(3, 2), state = TENSOR("float32", 6);
  int64_t before = check_live(TVMGO_LIVE_TENSORS);
  for (int k = 0; k < 200000; k++) {
    TVMFFIAny next;
    CHECK_OK(B("reshape", &next, state, s));
    tvmgo_any_clear(&state);
    state = next;
  }
  CHECK_EQ_INT(check_live(TVMGO_LIVE_TENSORS), before + 1);
  tvmgo_any_clear(&state), tvmgo_any_clear(&s);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_TENSORS), before - 1);
}

static void test_offsets(void) {
  TVMFFIAny r, t = TENSOR("uint8", 256);
  DLTensor* dl = tvmgo_tensor_dl(t.v_obj);
  char* data = dl->data;
  for (int k = 0; k < 256; k++) data[k] = (char)k;
  CHECK_OK(B("ensure_zero_offset", &r, t));
  CHECK_EQ_PTR(r.v_obj, t.v_obj);
  tvmgo_any_clear(&r);
  dl->byte_offset = 64, dl->shape[0] = 64;
  CHECK_OK(B("ensure_zero_offset", &r, t));
  CHECK(tvmgo_tensor_dl(r.v_obj)->data == data + 64 && tvmgo_tensor_dl(r.v_obj)->byte_offset == 0);
  tvmgo_any_clear(&r);
  dl->byte_offset = 7;
  CHECK_OK(B("ensure_zero_offset", &r, t));
  DLTensor* moved = tvmgo_tensor_dl(r.v_obj);
  CHECK(moved->byte_offset == 0 && (uintptr_t)moved->data % 64 == 0 && ((char*)moved->data)[63] == 70);
  tvmgo_any_clear(&r), tvmgo_any_clear(&t);
}

static void test_to_device(void) {
  TVMFFIAny r, t = TENSOR("int32", 2, 2);
  DLTensor* dl = tvmgo_tensor_dl(t.v_obj);
  memcpy(dl->data, (int32_t[]){1, 2, 3, 4}, 16);
  dl->strides[0] = 1, dl->strides[1] = 2; /* transposed */
  CHECK_OK(B("to_device", &r, t, i(kDLCPU), i(0), raw("global")));
  int32_t* copied = tvmgo_tensor_dl(r.v_obj)->data;
  CHECK(copied != dl->data && copied[1] == 3 && copied[2] == 2 && copied[3] == 4);
  tvmgo_any_clear(&r);
  CHECK_FAILS(B("to_device", &r, t, i(77), i(0)), TVMGO_VALUE_ERROR,
              "vm.builtin.to_device: allocate tensor: device type 77");
  CHECK_FAILS(B("to_device", &r, t, i(kDLCPU), i(-1)), TVMGO_VALUE_ERROR, "negative");
  CHECK_FAILS(B("to_device", &r, t, i(kDLCPU), i(0), raw("texture")), TVMGO_NOT_SUPPORTED_ERROR, "\"texture\"");
  CHECK_FAILS(B("to_device", &r, t, i(kDLCPU)), TVMGO_TYPE_ERROR, "");
  CHECK_FAILS(B("to_device", &r, none(), i(kDLCPU), i(0)), TVMGO_TYPE_ERROR, "got None");
  tvmgo_any_clear(&t);
}

static void test_call_tir_dyn(void) {
  TVMFFIAny r, s = SHAPE(7, 8), none_at_all = shape(0, NULL);
  TVMFFIAny f = tvmgo_any_object(tvmgo_global_get("ffi.Array", 9));
  int64_t many[40] = {[39] = 5};
  TVMFFIAny long_shape = shape(40, many);
  CHECK_OK(B("call_tir_dyn", &r, f, i(1), raw("x"), s));
  CHECK_STR(repr(r), "(1, \"x\", 7, 8)");
  tvmgo_any_clear(&r);
  CHECK_OK(B("call_tir_dyn", &r, f, none_at_all));
  CHECK_STR(repr(r), "()");
  tvmgo_any_clear(&r);
  CHECK_OK(B("call_tir_dyn", &r, f, i(1), long_shape));
  CHECK_EQ_INT(tvmgo_seq_cell(r.v_obj)->size, 41);
  tvmgo_any_clear(&r);
  CHECK_FAILS(B("call_tir_dyn", &r, f, i(1)), TVMGO_TYPE_ERROR, "argument 1 must be a Shape, got int");
  CHECK_FAILS(B("call_tir_dyn", &r, f), TVMGO_TYPE_ERROR, "");
  CHECK_FAILS(B("call_tir_dyn", &r, none(), s), TVMGO_TYPE_ERROR, "None");
  tvmgo_any_clear(&s), tvmgo_any_clear(&none_at_all), tvmgo_any_clear(&f), tvmgo_any_clear(&long_shape);
}

static void test_alloc_tensor(void) {
  TVMFFIAny r, dims = SHAPE(2, 3), negative = SHAPE(-1, 3), huge = SHAPE(INT64_MAX, 2), scalar = (TVMFFIAny){0};
  tvmgo_vm_account* a = tvmgo_vm_account_new(NULL, 0);
  TVMFFIAny s = tvmgo_any_object(tvmgo_vm_storage_new(a, (DLDevice){kDLCPU, 0}, 4096, dtype("uint8").v_dtype, NULL));
  REQUIRE(s.v_obj != NULL);
  CHECK_OK(B("alloc_tensor", &r, s, i(64), dims, dtype("float32")));
  DLTensor* t = tvmgo_tensor_dl(r.v_obj);
  CHECK(t->ndim == 2 && t->shape[1] == 3 && t->byte_offset == 64 && t->dtype.code == kDLFloat);
  tvmgo_any_clear(&r);
  scalar = tvmgo_any_object(tvmgo_shape_new(NULL, 0));
  CHECK_OK(B("alloc_tensor", &r, s, i(4092), scalar, raw("float32"), raw("global")));
  CHECK_EQ_INT(tvmgo_tensor_dl(r.v_obj)->ndim, 0);
  tvmgo_any_clear(&r);
  CHECK_FAILS(B("alloc_tensor", &r, s, i(4080), dims, dtype("float32")), TVMGO_VALUE_ERROR,
              "vm.builtin.alloc_tensor: allocate tensor: 24 bytes at offset 4080 do not fit");
  CHECK_FAILS(B("alloc_tensor", &r, s, i(-8), dims, dtype("float32")), TVMGO_VALUE_ERROR, "negative: -8");
  CHECK_FAILS(B("alloc_tensor", &r, s, i(INT64_MAX), dims, dtype("float32")), TVMGO_VALUE_ERROR, "do not fit");
  CHECK_FAILS(B("alloc_tensor", &r, s, i(0), negative, dtype("float32")), TVMGO_VALUE_ERROR, "negative");
  CHECK_FAILS(B("alloc_tensor", &r, s, i(0), huge, dtype("float32")), TVMGO_VALUE_ERROR, "2^63");
  CHECK_FAILS(B("alloc_tensor", &r, s, i(0), dims, i(3)), TVMGO_TYPE_ERROR, "argument 3 must be a dtype");
  CHECK_FAILS(B("alloc_tensor", &r, s, i(0), dims, raw("floot")), TVMGO_VALUE_ERROR, "argument 3");
  CHECK_FAILS(B("alloc_tensor", &r, dims, i(0), dims, dtype("float32")), TVMGO_TYPE_ERROR, "vm.Storage");
  CHECK_FAILS(B("alloc_tensor", &r, s, i(0), dims), TVMGO_TYPE_ERROR, "");
  tvmgo_any_clear(&s), tvmgo_any_clear(&dims), tvmgo_any_clear(&negative), tvmgo_any_clear(&huge);
  tvmgo_any_clear(&scalar);
  tvmgo_vm_account_release(a);
}

static int keep_last(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  *(int64_t*)self = n * 100 + (n > 0 && args[n - 1].type_index == kTVMFFIInt ? args[n - 1].v_int64 : 0);
  *result = tvmgo_any_int(1);
  return 0;
}

static void test_debug_func(void) {
  TVMFFIAny r;
  int64_t seen = 0;
  TVMFFIObjectHandle f;
  CHECK_OK(TVMFFIFunctionCreate(&seen, keep_last, NULL, &f));
  CHECK_OK(tvmgo_global_set("test.debug", 10, f, 0));
  CHECK_OK(B("invoke_debug_func", &r, none(), raw("test.debug"), raw("line 3"), i(4)));
  CHECK_EQ_INT(r.type_index, kTVMFFINone);
  CHECK_EQ_INT(seen, 204);
  CHECK_FAILS(B("invoke_debug_func", &r, none(), raw("test.none"), raw("line 3"), i(4)), TVMGO_NOT_FOUND_ERROR,
              "\"test.none\" at line 3");
  CHECK_FAILS(B("invoke_debug_func", &r, i(1), raw("test.debug"), raw("line 3")), TVMGO_VALUE_ERROR, "must be None");
  CHECK_EQ_INT(tvmgo_global_remove("test.debug", 10), 1);
  tvmgo_object_release(f);
}

/* Another function of the name takes the place of a builtin only if that is asked for. */
static void test_override(void) {
  TVMFFIAny r;
  int64_t seen = 0;
  TVMFFIObjectHandle f;
  const TVMFFIByteArray name = {"vm.builtin.copy", 15};
  TVMFFIObject* original = tvmgo_global_get(name.data, name.size);
  CHECK_OK(TVMFFIFunctionCreate(&seen, keep_last, NULL, &f));
  CHECK_FAILS(TVMFFIFunctionSetGlobal(&name, f, 0), TVMGO_RUNTIME_ERROR, "register with override");
  CHECK_OK(TVMFFIFunctionSetGlobal(&name, f, 1));
  CHECK_OK(B("copy", &r, i(5)));
  CHECK_EQ_INT(seen, 105);
  CHECK_OK(TVMFFIFunctionSetGlobal(&name, original, 1));
  CHECK_OK(B("copy", &r, i(5)));
  CHECK_EQ_INT(r.v_int64, 5);
  tvmgo_object_release(original), tvmgo_object_release(f);
}

/* The builtins of a step of a loop allocate the objects that they return, and nothing else. */
static void test_allocations(void) {
  TVMFFIAny r, h = heap_of(3), t = TENSOR("float32", 2, 3), tuple;
  CHECK_OK(B("make_tuple", &tuple, t, i(1)));
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  CHECK_OK(B("match_shape", &r, t, h, i(2), i(1), i(0), i(1), i(1), raw("x")));
  CHECK_OK(B("read_if_cond", &r, i(1)));
  CHECK_OK(B("tuple_getitem", &r, tuple, i(1)));
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
  CHECK_OK(B("make_shape", &r, h, i(2), i(1), i(0), i(1), i(1)));
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before + 1);
  TVMFFIAny view;
  CHECK_OK(B("reshape", &view, t, r));
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before + 2);
  tvmgo_any_clear(&view), tvmgo_any_clear(&r), tvmgo_any_clear(&tuple), tvmgo_any_clear(&h), tvmgo_any_clear(&t);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_shapes);
  RUN(test_checks);
  RUN(test_tuples);
  RUN(test_conditions);
  RUN(test_tensor_to_shape);
  RUN(test_reshape);
  RUN(test_reshape_in_a_loop);
  RUN(test_offsets);
  RUN(test_to_device);
  RUN(test_call_tir_dyn);
  RUN(test_alloc_tensor);
  RUN(test_debug_func);
  RUN(test_override);
  RUN(test_allocations);
  return check_end();
}
