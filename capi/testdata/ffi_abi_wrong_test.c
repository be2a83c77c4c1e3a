/* The tvm-ffi C ABI: every built-in global function with every kind of value at every position. Each call returns an
 * error or a result. */
#include "ffi_abi_test.h"

enum { KINDS = 15, MAX_ARGS = 4 };

static TVMFFIByteArray bytes = {"abc", 3};

static void fill(TVMFFIAny* v, TVMFFIObjectHandle function) {
  v[0] = any_of(kTVMFFINone);
  v[1] = int_view(-5);
  v[2] = int_view((int64_t)1 << 40);
  v[3] = any_of(kTVMFFIBool);
  v[4] = any_of(kTVMFFIFloat);
  v[5] = any_of(kTVMFFIDataType);
  v[6] = any_of(kTVMFFIDevice);
  v[6].v_device = TVMFFIDLDeviceFromIntPair(77, -1);
  v[7] = text_view("text");
  v[8] = ptr_view(kTVMFFIByteArrayPtr, &bytes);
  v[9] = any_of(kTVMFFISmallStr);
  v[10] = object_view(function);
  v[11] = any_of(63);             /* no such type */
  v[12] = any_of(kTVMFFIRawStr);  /* NULL instead of an address */
  v[13] = any_of(kTVMFFIModule);
  v[14] = any_of(kTVMFFIShape);
}

static void call_wrongly(const char* name, TVMFFIObjectHandle f, const TVMFFIAny* values) {
  for (int n = 0; n <= MAX_ARGS; n++) {
    for (int x = 0; x < (n > 0 ? KINDS : 1); x++) {
      for (int y = 0; y < (n > 1 ? KINDS : 1); y++) {
        TVMFFIAny args[MAX_ARGS] = {values[x], values[y], values[(x + y) % KINDS], values[x]},
            result = any_of(kTVMFFINone);
        int rc = TVMFFIFunctionCall(f, args, n, &result);
        taken_error e = take_error();
        if (rc == 0) CHECK(e.kind[0] == 0);
        if (rc != 0 && (rc != -1 || e.kind[0] == 0 || e.message[0] == 0))
          FAIL("%s with %d arguments (%d, %d): %d, \"%s: %s\"", name, n, x, y, rc, e.kind, e.message);
        if (rc != 0) CHECK(result.type_index == kTVMFFINone);
        drop(&result);
      }
    }
  }
}

void test_wrong_arguments(void) {
  TVMFFIAny list, name, index = int_view(-1), values[KINDS], out;
  TVMFFIByteArray any = bytes_of("runtime.NumThreads");
  TVMFFIObjectHandle function = NULL;
  OK(call_global("ffi.FunctionListGlobalNamesFunctor", NULL, 0, &list));
  OK(TVMFFIFunctionGetGlobal(&any, &function));
  NEED(function != NULL);
  OK(call_global("runtime.NumThreads", NULL, 0, &out));
  int64_t threads = out.v_int64;
  fill(values, function);
  OK(TVMFFIFunctionCall(list.v_obj, &index, 1, &out));
  for (int64_t i = 0, count = out.v_int64; i < count; i++) {
    TVMFFIObjectHandle f = NULL;
    index = int_view(i), name = any_of(kTVMFFINone);
    OK(TVMFFIFunctionCall(list.v_obj, &index, 1, &name));
    TVMFFIByteArray text = text_of(&name);
    /* this function accepts any address */
    if (!is_text(text, "ffi.FunctionFromExternC")) OK(TVMFFIFunctionGetGlobal(&text, &f));
    if (f != NULL) {
      call_wrongly(text.data, f, values);
      TVMFFIObjectDecRef(f);
    }
    drop(&name);
  }
  OK(CALL("runtime.config_threadpool", &out, int_view(0), int_view(threads)));
  TVMFFIObjectDecRef(function);
  drop(&list);
}
