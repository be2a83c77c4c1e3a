/* Compiles models from C, by tvmgo.compile, which runs the program tvmgo: compile_test FOLDER. The folder has
 * model.graph and wrong.graph. With a second argument, TVMGO_COMPILER names a program that is stopped by a front end's
 * signal. "compile_test run FILE" runs a compiled model alone. */
#include "ffi_abi_test.h"

int failures;

static char path[6][1000];

/* Runs relu on a tensor by the compiled model. */
static void check_model(const char* file) {
  TVMFFIAny model, f, out = any_of(kTVMFFINone), yes = any_of(kTVMFFIBool);
  float data[3] = {-1, 0, 2};
  int64_t shape[1] = {3};
  DLTensor x = {data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0};
  yes.v_int64 = 1;
  OK(CALL("ffi.ModuleLoadFromFile", &model, text_view(file)));
  OK(CALL("ffi.ModuleGetFunction", &f, model, text_view("vm_load_executable"), yes));
  NEED(f.type_index == kTVMFFIFunction);
  TVMFFIAny vm, init, run, arg = ptr_view(kTVMFFIDLTensorPtr, &x), cpu[3] = {int_view(1), int_view(0), int_view(2)};
  OK(TVMFFIFunctionCall(f.v_obj, NULL, 0, &vm));
  OK(CALL("ffi.ModuleGetFunction", &init, vm, text_view("vm_initialization"), yes));
  NEED(init.type_index == kTVMFFIFunction);
  OK(TVMFFIFunctionCall(init.v_obj, cpu, 3, &out));
  OK(CALL("ffi.ModuleGetFunction", &run, vm, text_view("main"), yes));
  NEED(run.type_index == kTVMFFIFunction);
  OK(TVMFFIFunctionCall(run.v_obj, &arg, 1, &out));
  NEED(out.type_index == kTVMFFITensor);
  DLTensor* y = TVMFFITensorGetDLTensorPtr(out.v_obj);
  float* got = (float*)((char*)y->data + y->byte_offset);
  CHECK(y->ndim == 1 && y->shape[0] == 3 && got[0] == 0 && got[1] == 0 && got[2] == 2);
  drop(&out);
  drop(&run);
  drop(&init);
  drop(&vm);
  drop(&f);
  drop(&model);
}

static int signals;
static int check_signals(void) { return ++signals > 3 ? -1 : 0; }

int main(int argc, char** argv) {
  static const char* const names[] = {"model.graph", "wrong.graph", "a.so", "b.so", "absent.onnx", "c.so"};
  TVMFFIAny out, list, map;
  if (argc > 2 && strcmp(argv[1], "run") == 0) {
    check_model(argv[2]);
    return report();
  }
  for (int i = 0; i < 6; i++) snprintf(path[i], sizeof path[i], "%s/%s", argv[1], names[i]);
  if (argc > 2) {
    OK(TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", (void*)check_signals));
    FAILS(CALL("tvmgo.compile", &out, text_view(path[0]), text_view(path[2])), "RuntimeError", "interrupted");
    CHECK(signals == 4);
    return report();
  }
  OK(CALL("tvmgo.compile", &out, text_view(path[0]), text_view(path[2])));
  CHECK(is_text(text_of(&out), path[2]));
  drop(&out);
  check_model(path[2]);
  OK(CALL("ffi.Array", &list, text_view("-O1"), text_view("-fno-math-errno")));
  OK(CALL("ffi.Map", &map, text_view("flag"), list, text_view("verbose"), any_of(kTVMFFIBool)));
  OK(CALL("tvmgo.compile", &out, text_view(path[0]), text_view(path[3]), map, text_view("--target=c")));
  drop(&out);
  check_model(path[3]);
  FAILS(CALL("tvmgo.compile", &out, text_view(path[1]), text_view(path[5])), "RuntimeError",
      "wrong.graph: graph: parse: line 2, column 3: operator \"relo\" does not exist: did you mean relu?");
  FAILS(CALL("tvmgo.compile", &out, text_view(path[4]), text_view(path[5])), "RuntimeError", "no such file");
  FAILS(CALL("tvmgo.compile", &out, text_view(path[0]), text_view(path[5]), text_view("--nothing")), "RuntimeError",
      "unknown flag: --nothing");
  FAILS(CALL("tvmgo.compile", &out, text_view(path[0])), "ValueError", "got 1 arguments");
  FAILS(CALL("tvmgo.compile", &out, int_view(1), text_view("x.so")), "ValueError", "expected text");
  FAILS(CALL("tvmgo.compile", &out, text_view(path[0]), text_view(path[5]), int_view(1)), "ValueError",
      "argument 2: expected a flag such as");
  drop(&map);
  drop(&list);
  return report();
}
