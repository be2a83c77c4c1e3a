/* Calls every global function with every kind of value, valid and invalid, for every argument. It returns, or fails
 * with an error that names the argument, and nothing leaks. */
#include "ctest/check.h"

#include <pthread.h>

/* Only one thread calls, so under TSan, which is slow, a part of the calls is enough. */
enum { EVERY = CHECK_TSAN ? 8 : 1 };
enum { MAX_VALUES = 80, MAX_ARGS = 4, SAMPLES = 3000, LONG_TEXT = 1 << 20 };

static TVMFFIAny values[MAX_VALUES];
static int num_values;
static TVMFFIObject* owned[24]; /* what the values above are views of */
static int num_owned;
static TVMFFIObject* mutable[2];
static int num_mutable;
static char long_text[LONG_TEXT + 1], buffer[64];
static int64_t dims[2] = {2, 3};
static DLTensor bare = {
    .data = buffer, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = dims};
static TVMFFIByteArray no_data = {NULL, 3}, no_bytes = {NULL, 0}, not_utf8 = {"\xff\xfe\0\x80", 4};
static TVMFFIObject* empty_slot;

static TVMFFIAny of(int32_t type_index, uint64_t payload) {
  TVMFFIAny v = {0};
  v.type_index = type_index;
  v.v_uint64 = payload;
  return v;
}
static void add(TVMFFIAny v) { values[num_values++] = v; }
static void add_pointer(int32_t type_index, const void* p) { add(of(type_index, (uintptr_t)p)); }

/* A view of an object, which is kept until the end. */
static void add_owned(void* obj) {
  if (obj == NULL) return;
  owned[num_owned++] = obj;
  add(tvmgo_any_object(obj));
}

/* The result of the global function of this name; NULL if there is none. */
static void* made_by(const char* name, const TVMFFIAny* args, int32_t n) {
  TVMFFIAny result = tvmgo_any_none();
  TVMFFIObject* f = tvmgo_global_get(name, strlen(name));
  if (f == NULL) return NULL;
  CHECK_OK(TVMFFIFunctionCall(f, (TVMFFIAny*)args, n, &result));
  tvmgo_object_release(f);
  return tvmgo_any_is_object(&result) ? result.v_obj : NULL;
}

static int nothing(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n, (void)result;
  return 0;
}

static void make_values(void) {
  static const int64_t ints[] = {-5, 0, 1, 24, INT64_C(1) << 40, INT64_MIN, INT64_MAX};
  memset(long_text, 'x', LONG_TEXT);
  add(of(kTVMFFINone, 0));
  for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) add(of(kTVMFFIInt, (uint64_t)ints[i]));
  add(of(kTVMFFIBool, 7));
  add(of(kTVMFFIFloat, UINT64_C(0x7ff8000000000001)));
  add(of(kTVMFFIOpaquePtr, 0));
  add_pointer(kTVMFFIOpaquePtr, buffer);
  add(of(kTVMFFIDataType, 0));
  add(of(kTVMFFIDataType, 0));
  values[num_values - 1].v_dtype = (DLDataType){kDLFloat, 32, 1};
  add(of(kTVMFFIDevice, 0));
  values[num_values - 1].v_device = (DLDevice){77, -1};
  add(of(kTVMFFIDevice, 0));
  values[num_values - 1].v_device = (DLDevice){kDLCPU, 0};
  add(of(kTVMFFIDLTensorPtr, 0));
  add_pointer(kTVMFFIDLTensorPtr, &bare);
  add_pointer(kTVMFFIRawStr, "text");
  add_pointer(kTVMFFIRawStr, "");
  add_pointer(kTVMFFIRawStr, "./no/such/folder/");
  add_pointer(kTVMFFIRawStr, long_text);
  add(of(kTVMFFIRawStr, 0));
  add(of(kTVMFFIByteArrayPtr, 0));
  add_pointer(kTVMFFIByteArrayPtr, &no_data);
  add_pointer(kTVMFFIByteArrayPtr, &no_bytes);
  add_pointer(kTVMFFIByteArrayPtr, &not_utf8);
  add(of(kTVMFFIObjectRValueRef, 0));
  add_pointer(kTVMFFIObjectRValueRef, &empty_slot);
  for (int32_t kind = kTVMFFISmallStr; kind <= kTVMFFISmallBytes; kind++) {
    add(of(kind, 0)), values[num_values - 1].small_str_len = 200;
    add(of(kind, UINT64_MAX)), values[num_values - 1].small_str_len = 3;
  }
  add(of(kTVMFFIUnchanged, 0));
  add(of(63, 0));
  add(of(-1, 0));
  for (int32_t kind = kTVMFFIObject; kind < kTVMFFIStaticObjectEnd; kind++) add(of(kind, 0));

  TVMFFIAny one = of(kTVMFFIInt, 1), pair[2] = {one, one};
  TVMFFIObjectHandle f = NULL;
  TVMFFIByteArray words = {"0123456789abcdef", 16};
  TVMFFIAny big = tvmgo_any_none();
  CHECK_OK(TVMFFIFunctionCreate(NULL, nothing, NULL, &f));
  add_owned(f);
  add_owned(tvmgo_error_new("ValueError", 10, "an error", 8, NULL, 0));
  add_owned(tvmgo_shape_new(dims, 2));
  add_owned(tvmgo_shape_new(NULL, 0));
  add_owned(tvmgo_tensor_new(dims, 2, (DLDataType){kDLFloat, 32, 1}, (DLDevice){kDLCPU, 0}, NULL));
  add_owned(tvmgo_array_new(pair, 2));
  add_owned(made_by("ffi.Map", pair, 2));
  add_owned(made_by("ffi.SystemLib", NULL, 0));
  CHECK_OK(TVMFFIBigIntFromByteArray(&words, &big));
  add_owned(big.v_obj);
  TVMFFIAny text = of(kTVMFFIRawStr, (uintptr_t)"a text on the heap");
  add_owned(made_by("ffi.String", &text, 1));
  mutable[num_mutable++] = made_by("ffi.Dict", pair, 2);
  add_owned(mutable[0]);
  mutable[1] = made_by("ffi.List", pair, 2);
  if (mutable[1] != NULL) num_mutable++;
  add_owned(mutable[1]);
  for (int i = 0; i < num_owned; i++) /* each under the index of another type */
    add_pointer(owned[i]->type_index == kTVMFFIModule ? kTVMFFIArray : kTVMFFIModule, owned[i]);
  add_pointer(kTVMFFITensor, owned[0]);
  add_pointer(kTVMFFIFunction, (void*)5);
  REQUIRE(num_values <= MAX_VALUES);
}

/* A container that holds itself would never be freed, and the later functions would traverse it. */
static void empty_mutable(void) {
  for (int i = 0; i < num_mutable; i++) {
    TVMFFIAny v = tvmgo_any_object(mutable[i]);
    made_by(mutable[i]->type_index == kTVMFFIDict ? "ffi.DictClear" : "ffi.ListClear", &v, 1);
  }
}

static const char* joined(TVMFFIByteArray text, char* buf, size_t cap) {
  snprintf(buf, cap, "%.*s", (int)(text.size < cap ? text.size : cap), text.data);
  return buf;
}

/* Calls, and checks the outcome. 0 if the call succeeded. */
static int call(const char* name, TVMFFIObject* f, TVMFFIAny* args, int32_t n) {
  char kind[64], message[4096], which[160] = "";
  TVMFFIAny result = tvmgo_any_none();
  for (int32_t i = 0; i < n && i < MAX_ARGS; i++)
    snprintf(which + strlen(which), 24, " %d", (int)args[i].type_index);
  int rc = TVMFFIFunctionCall(f, args, n, &result);
  TVMFFIObject* e = tvmgo_error_take();
  if (rc == 0) {
    if (e != NULL) check_fail(__FILE__, __LINE__, "%s(%s) succeeds and leaves an error", name, which);
    if (result.type_index > kTVMFFIDLTensorPtr && result.type_index <= kTVMFFIObjectRValueRef)
      check_fail(__FILE__, __LINE__, "%s(%s) answers a view", name, which);
    tvmgo_any_clear(&result);
  } else if (rc != -1 || e == NULL) {
    check_fail(__FILE__, __LINE__, "%s(%s) is %d without an error", name, which, rc);
  } else {
    joined(tvmgo_error_cell(e)->kind, kind, sizeof kind);
    joined(tvmgo_error_cell(e)->message, message, sizeof message);
    if (message[0] == 0 || tvmgo_any_is_object(&result))
      check_fail(__FILE__, __LINE__, "%s(%s): %s: \"%s\", and a result", name, which, kind, message);
    /* The error for a wrong argument names the called function and the argument, the error for an operation that a type
     * does not support names the type, and the error for a missing order names both types. */
    if (strcmp(kind, "TypeError") == 0 &&
        (strstr(message, name) == NULL ||
         (strstr(message, "argument") == NULL && strstr(message, "no order") == NULL &&
          strstr(message, " type ffi.") == NULL)))
      check_fail(__FILE__, __LINE__, "%s(%s): %s: %s", name, which, kind, message);
  }
  tvmgo_object_release(e);
  return rc;
}

/* A malformed value is rejected before it is used: the message has its position. */
static void check_refused(const char* name, TVMFFIObject* f, int place) {
  TVMFFIAny args[MAX_ARGS] = {{0}}, result = tvmgo_any_none();
  char want[160], message[4096];
  snprintf(want, sizeof want, "%s: argument %d: ", name, place);
  for (int i = 0; i < num_values; i++) {
    if (tvmgo_check_value(&values[i]) == 0) continue;
    tvmgo_object_release(tvmgo_error_take());
    args[place] = values[i];
    CHECK_EQ_INT(TVMFFIFunctionCall(f, args, MAX_ARGS, &result), -1);
    TVMFFIObject* e = tvmgo_error_take();
    REQUIRE(e != NULL);
    joined(tvmgo_error_cell(e)->message, message, sizeof message);
    if (strncmp(message, want, strlen(want)) != 0)
      check_fail(__FILE__, __LINE__, "\"%s\", want \"%s...\"", message, want);
    tvmgo_object_release(e);
  }
}

static uint32_t dice = 2463534242u;
static uint32_t roll(uint32_t n) {
  dice ^= dice << 13, dice ^= dice >> 17, dice ^= dice << 5;
  return dice % n;
}

static void sweep(const char* name, TVMFFIObject* f) {
  TVMFFIAny args[16] = {{0}}, result = tvmgo_any_none();
  int any_address = strcmp(name, "ffi.FunctionFromExternC") == 0; /* it calls its arguments */
  call(name, f, NULL, 0);
  for (int x = 0; x < num_values; x++) {
    args[0] = values[x];
    call(name, f, args, 1);
    for (int y = x % EVERY; y < num_values; y += EVERY) {
      args[0] = values[x], args[1] = values[y];
      call(name, f, args, 2);
    }
  }
  for (int i = 0; i < SAMPLES / EVERY && !any_address; i++) {
    for (int k = 0; k < MAX_ARGS; k++) args[k] = values[roll((uint32_t)num_values)];
    call(name, f, args, 3);
    call(name, f, args, 4);
  }
  for (int k = 0; k < 16; k++) args[k] = of(kTVMFFIOpaquePtr, 0);
  args[0] = of(kTVMFFINone, 0);
  call(name, f, args, 15); /* too many for all functions that count arguments */
  CHECK_FAILS(TVMFFIFunctionCall(f, args, -1, &result), "ValueError", "negative");
  CHECK_FAILS(TVMFFIFunctionCall(f, NULL, 1, &result), "ValueError", "NULL");
  for (int place = 0; place < MAX_ARGS; place++) check_refused(name, f, place);
  empty_mutable();
}

static void test_every_global(void) {
  int64_t before[TVMGO_LIVE_KINDS], after[TVMGO_LIVE_KINDS], held[TVMGO_LIVE_KINDS];
  int threads = tvmgo_parallel_threads();
  TVMFFIObject* names = tvmgo_global_names();
  REQUIRE(names != NULL);
  make_values();
  tvmgo_live_snapshot(before);
  const TVMFFISeqCell* seq = tvmgo_seq_cell(names);
  CHECK(seq->size > 80);
  for (int64_t i = 0; i < seq->size; i++) {
    TVMFFIByteArray name = {NULL, 0};
    CHECK(tvmgo_any_text((TVMFFIAny*)seq->data + i, &name));
    TVMFFIObject* f = tvmgo_global_get(name.data, name.size);
    REQUIRE(f != NULL);
    tvmgo_live_snapshot(held);
    sweep(name.data, f);
    tvmgo_live_snapshot(after);
    if (strstr(name.data, "Register") != NULL) /* a type keeps its attributes */
      before[TVMGO_LIVE_FUNCTIONS] += after[TVMGO_LIVE_FUNCTIONS] - held[TVMGO_LIVE_FUNCTIONS];
    tvmgo_object_release(f);
  }
  tvmgo_live_snapshot(after);
  CHECK_EQ_INT(after[TVMGO_LIVE_TENSORS], before[TVMGO_LIVE_TENSORS]);
  CHECK_EQ_INT(after[TVMGO_LIVE_TENSOR_BYTES], before[TVMGO_LIVE_TENSOR_BYTES]);
  CHECK_EQ_INT(after[TVMGO_LIVE_FUNCTIONS], before[TVMGO_LIVE_FUNCTIONS]);
  CHECK_EQ_INT(after[TVMGO_LIVE_MAPPINGS], before[TVMGO_LIVE_MAPPINGS]);
  for (int i = 0; i < num_owned; i++) tvmgo_object_release(owned[i]);
  tvmgo_object_release(names);
  tvmgo_parallel_configure(threads);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_every_global);
  return check_end();
}
