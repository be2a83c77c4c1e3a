/* tvmgo/model.h with relax_mlp, whose batch is dynamic: model_test MODEL.so PARAMS IN.npy OUT.npy */
#include <pthread.h>
#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/model.h>

#include "check.h"
#include "npy.h"

int failures;

#define OK(call)                                                        \
  do {                                                                  \
    if ((call) != 0) FAIL("%s: %s", #call, TVMGetLastError());          \
  } while (0)

#define FAILS(call, text)                                                                              \
  do {                                                                                                 \
    if ((call) != -1 || strstr(TVMGetLastError(), text) == NULL)                                       \
      FAIL("%s: the error is \"%s\", want \"%s\"", #call, TVMGetLastError(), text);                    \
  } while (0)

static npy in, want;
static const char *file, *params_file;
static const char* const names[] = {"x", "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"};

static TVMArrayHandle rows_of(int64_t n) {
  int64_t shape[2] = {n, in.shape[1]};
  TVMArrayHandle a = NULL;
  OK(TVMArrayAlloc(shape, 2, kDLFloat, 32, 1, kDLCPU, 0, &a));
  OK(TVMArrayCopyFromBytes(a, in.data, (size_t)(n * in.shape[1]) * sizeof(float)));
  return a;
}

/* Frees y. */
static void right(TVMArrayHandle y, int64_t rows, const char* what) {
  NEED(y != NULL);
  npy got = want;
  got.count = rows * want.shape[1];
  got.data = malloc((size_t)got.count * sizeof(float));
  OK(TVMArrayCopyToBytes(y, got.data, (size_t)got.count * sizeof(float)));
  for (int64_t i = 0; i < got.count; i++)
    if (!(got.data[i] - want.data[i] <= 1e-5f && want.data[i] - got.data[i] <= 1e-5f)) {
      FAIL("%s: element %d is %g, want %g", what, (int)i, got.data[i], want.data[i]);
      break;
    }
  free(got.data);
  TVMArrayFree(y);
}

/* By name, or in order if by_name is NULL. */
static int forward(TVMModuleHandle model, const char* const* by_name, const TVMArrayHandle* inputs, int n,
                   TVMArrayHandle* outputs, int* num) {
  TVMGOModelInfo* info = NULL;
  if (by_name == NULL) return TVMGOModelRun(model, "forward", inputs, n, outputs, num);
  if (TVMGOModelGetInfo(model, &info) != 0) return -1;
  int rc = TVMGOModelRunNamed(model, &info->functions[0], by_name, inputs, n, outputs, num);
  TVMGOModelFreeInfo(info);
  return rc;
}

static void run(TVMModuleHandle model, const char* const* by_name, const TVMArrayHandle* inputs, int n, int64_t rows,
                const char* what) {
  TVMArrayHandle y = NULL;
  int num = 1;
  OK(forward(model, by_name, inputs, n, &y, &num));
  CHECK(num == 1);
  right(y, rows, what);
}

static void test_info(TVMModuleHandle model, int bound) {
  TVMGOModelInfo* info = NULL;
  OK(TVMGOModelGetInfo(model, &info));
  NEED(info != NULL && info->num_functions == 1 && info->num_devices == 1);
  CHECK(info->devices[0].device_type == kDLCPU && info->devices[0].device_id == 0);
  const TVMGOFunctionInfo* f = &info->functions[0];
  SAME_TEXT(f->name, "forward");
  NEED(f->num_params == 5);
  for (int i = 0; i < 5; i++) {
    SAME_TEXT(f->params[i].name, names[i]);
    CHECK(f->params[i].bound == (bound && i > 0));
  }
  const TVMGOValueInfo *x = &f->params[0], *w = &f->params[1], *y = &f->result;
  NEED(x->kind == kTVMGOValueTensor && x->ndim == 2 && y->kind == kTVMGOValueTensor && y->ndim == 2);
  CHECK(x->dtype.code == kDLFloat && x->dtype.bits == 32 && x->dtype.lanes == 1);
  CHECK(x->shape[0] == -1 && x->shape[1] == 16 && y->shape[0] == -1 && y->shape[1] == 10);
  if (bound) { /* as the weights tell it */
    NEED(w->kind == kTVMGOValueTensor && w->ndim == 2);
    CHECK(w->shape[0] == 32 && w->shape[1] == 16 && w->dtype.bits == 32);
    SAME_TEXT(w->dtype_name, "float32");
  } else { /* the file does not say */
    CHECK(w->kind == kTVMGOValueAny && w->ndim == -1 && w->dtype.bits == 0);
  }
  SAME_TEXT(x->dtype_name, "float32");
  char text[256], cut[8];
  const char* expected = bound ? "forward(x: float32[batch, 16], fc1.weight: float32[32, 16] (bound), "
                                 "fc1.bias: float32[32] (bound), fc2.weight: float32[10, 32] (bound), "
                                 "fc2.bias: float32[10] (bound)) -> float32[batch, 10]"
                               : "forward(x: float32[batch, 16], fc1.weight: any, fc1.bias: any, fc2.weight: any, "
                                 "fc2.bias: any) -> float32[batch, 10]";
  CHECK(TVMGOFunctionInfoText(f, text, sizeof text) == strlen(expected));
  SAME_TEXT(text, expected);
  CHECK(TVMGOFunctionInfoText(f, cut, sizeof cut) == strlen(expected));
  SAME_TEXT(cut, "forward");
  SAME_TEXT(x->dims[0], "batch");
  SAME_TEXT(x->dims[1], "16");
  SAME_TEXT(y->dims[0], "batch");
  CHECK(x->device == 0 && x->num_fields == 0 && strstr(x->text, "Tensor") != NULL);
  TVMGOModelFreeInfo(info);
  TVMGOModelFreeInfo(NULL);
}

static void test_calls(TVMModuleHandle bare, TVMModuleHandle model, const TVMArrayHandle* inputs) {
  run(bare, NULL, inputs, 5, 4, "in order");
  const char* const mixed[] = {"fc2.bias", "x", "fc1.bias", "fc2.weight", "fc1.weight"};
  TVMArrayHandle arrays[] = {inputs[4], inputs[0], inputs[2], inputs[3], inputs[1]}, one = rows_of(1), y = NULL;
  run(bare, mixed, arrays, 5, 4, "by name");
  run(model, NULL, inputs, 1, 4, "in order, bound");
  run(model, names, &one, 1, 1, "by name, bound");
  run(model, names, inputs, 5, 4, "by name, all");

  int num = 1;
  const char* const wrong[] = {"x", "fc1.wieght"};
  FAILS(forward(bare, wrong, inputs, 2, &y, &num), "\"fc1.wieght\", do you mean \"fc1.weight\"?");
  FAILS(forward(bare, names, inputs, 4, &y, &num), "needs 5 inputs, not 4: \"fc2.bias\" is missing");
  FAILS(forward(model, names, inputs, 2, &y, &num), "are missing (an input for a bound parameter");
  const char* const twice[] = {"x", "x"};
  FAILS(forward(model, twice, inputs, 2, &y, &num), "\"x\" is given twice");
  FAILS(forward(model, NULL, inputs, 2, &y, &num), "forward");
  FAILS(TVMGOModelRun(model, "forwrad", inputs, 1, &y, &num), "forward");
  CHECK(y == NULL && num == 1);
  num = 0;
  FAILS(forward(model, NULL, inputs, 1, &y, &num), "more than 0 arrays");
  TVMArrayFree(one);
}

static void test_bind(const TVMArrayHandle* inputs) {
  TVMModuleHandle model = NULL;
  DLDevice cpu = {kDLCPU, 0};
  OK(TVMGOModelLoad(file, &cpu, 1, NULL, &model));
  NEED(model != NULL);
  const char* const wrong[] = {"fc1.weight", "fc1.bais"};
  FAILS(TVMGOModelBind(model, wrong, inputs + 1, 2), "\"fc1.bias\"");
  test_info(model, 0); /* nothing is bound */
  OK(TVMGOModelBind(model, names + 1, inputs + 1, 4));
  test_info(model, 1);
  run(model, NULL, inputs, 1, 4, "bound arrays");
  TVMModFree(model);
}

static void test_sources(const TVMArrayHandle* inputs) {
  FILE* f = fopen(file, "rb");
  NEED(f != NULL);
  fseek(f, 0, SEEK_END);
  size_t size = (size_t)ftell(f);
  rewind(f);
  char* bytes = malloc(size);
  CHECK(fread(bytes, 1, size, f) == size);
  fclose(f);
  TVMModuleHandle model = NULL, library = NULL;
  OK(TVMGOModelLoadBytes(bytes, size, NULL, 0, params_file, &model));
  memset(bytes, 0, size); /* it was copied */
  run(model, NULL, inputs, 1, 4, "from bytes");
  TVMModFree(model);
  FAILS(TVMGOModelLoadBytes(bytes, size, NULL, 0, NULL, &model), "");
  free(bytes);
  OK(TVMModLoadFromFile(file, "so", &library));
  OK(TVMGOModelFromModule(library, NULL, 0, params_file, &model));
  run(model, NULL, inputs, 1, 4, "from a module");
  TVMModFree(model);
  FAILS(TVMGOModelRun(library, "forwrad", inputs, 1, NULL, NULL), "is no model");
  TVMGOModelInfo* info;
  FAILS(TVMGOModelGetInfo(library, &info), "is no model");
  TVMModFree(library);
  FAILS(TVMGOModelLoad("/no_such_file.so", NULL, 0, NULL, &model), "no_such_file");
  FAILS(TVMGOModelLoad("/etc", NULL, 0, NULL, &model), "the file has no suffix: rename it, as in model.so");
  FAILS(TVMGOModelLoad(file, NULL, 0, "/no_such.params", &model), "no_such.params");
  CHECK(model == NULL);
}

static void test_memory(TVMModuleHandle model, const TVMArrayHandle* inputs) {
  TVMGOModelMemory m;
  TVMArrayHandle y = NULL;
  int num = 1;
  OK(TVMGOModelGetMemory(model, &m));
  CHECK(m.weights >= 3496 && m.live == 0 && m.limit == 0);
  OK(TVMGOModelSetMemoryLimit(model, 1));
  FAILS(forward(model, NULL, inputs, 1, &y, &num), "MemoryError");
  OK(TVMGOModelSetMemoryLimit(model, 0));
  OK(forward(model, NULL, inputs, 1, &y, &num));
  OK(TVMGOModelGetMemory(model, &m));
  CHECK(m.live > 0 && m.peak >= m.live && m.storages > 0);
  TVMArrayFree(y);
  OK(TVMGOModelGetMemory(model, &m));
  CHECK(m.live == 0 && m.storages == 0 && m.taken > 0);
}

/* Calls in steps: each session has inputs and outputs of its own. */
static void test_sessions(TVMModuleHandle model) {
  TVMModuleHandle sessions[2] = {NULL, NULL};
  TVMValue args[2], result;
  int codes[2] = {kTVMStr, kTVMNDArrayHandle}, code;
  args[0].v_str = "forward";
  for (int i = 0; i < 2; i++) {
    OK(TVMGOModelNewSession(model, &sessions[i]));
    NEED(sessions[i] != NULL);
    TVMArrayHandle x = rows_of(i + 1);
    args[1].v_handle = x;
    OK(tvmgo_method_(sessions[i], "set_input", args, codes, 2, &result, &code));
    TVMArrayFree(x);
    OK(tvmgo_method_(sessions[i], "invoke_stateful", args, codes, 1, &result, &code));
  }
  for (int i = 0; i < 2; i++) {
    TVMGOModelMemory m;
    OK(TVMGOSessionGetMemory(sessions[i], &m));
    CHECK(m.live > 0 && m.weights >= 3496);
    OK(tvmgo_method_(sessions[i], "get_output", args, codes, 1, &result, &code));
    right(result.v_handle, i + 1, "a session");
    OK(TVMGOSessionSetMemoryLimit(sessions[i], 1));
    CHECK(tvmgo_method_(sessions[i], "invoke_stateful", args, codes, 1, &result, &code) == -1);
    TVMModFree(sessions[i]);
  }
}

typedef struct {
  TVMModuleHandle model;
  int64_t rows;
} work;

static void* run_thread(void* arg) {
  const work* w = arg;
  TVMArrayHandle x = rows_of(w->rows);
  for (int i = 0; i < 20; i++) run(w->model, i % 2 ? names : NULL, &x, 1, w->rows, "a thread");
  test_info(w->model, 1);
  TVMArrayFree(x);
  return NULL;
}

static void test_threads(TVMModuleHandle model) {
  pthread_t threads[64];
  work works[64];
  for (int i = 0; i < 64; i++) {
    works[i] = (work){model, 1 + i % 4};
    if (pthread_create(&threads[i], NULL, run_thread, &works[i]) != 0) abort();
  }
  for (int i = 0; i < 64; i++) pthread_join(threads[i], NULL);
}

/* The parameters of relax_mlp, which are the inputs 1 to 4. */
static void load_params(TVMArrayHandle* inputs) {
  TVMValue arg = {.v_str = params_file}, map, item[2], out;
  int code = kTVMStr, codes[2] = {kTVMObjectHandle, kTVMStr};
  OK(tvmgo_global_("runtime.LoadParamsFromFile", &arg, &code, 1, &map, &code));
  for (int i = 1; i < 5; i++) {
    item[0] = map;
    item[1].v_str = names[i];
    OK(tvmgo_global_("ffi.MapGetItem", item, codes, 2, &out, &code));
    CHECK(code == kTVMNDArrayHandle);
    inputs[i] = out.v_handle;
  }
  TVMObjectFree(map.v_handle);
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc != 5) return 2;
  file = argv[1], params_file = argv[2];
  if (!npy_read(argv[3], &in) || !npy_read(argv[4], &want)) return 2;
  TVMModuleHandle bare = NULL, model = NULL;
  TVMArrayHandle inputs[5] = {rows_of(4)};
  load_params(inputs);
  OK(TVMGOModelLoad(file, NULL, 0, NULL, &bare));
  OK(TVMGOModelLoad(file, NULL, 0, params_file, &model));
  if (bare == NULL || model == NULL) return 1;
  test_info(bare, 0);
  test_info(model, 1);
  test_calls(bare, model, inputs);
  test_bind(inputs);
  test_sources(inputs);
  test_memory(model, inputs);
  test_sessions(model);
  test_threads(model);
  for (int i = 0; i < 5; i++) TVMArrayFree(inputs[i]);
  TVMModFree(bare);
  TVMModFree(model);
  free(in.data);
  free(want.data);
  return report();
}
