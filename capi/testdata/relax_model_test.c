/* Relax executables through tvmgo/model.h, and in steps (set_input, invoke_stateful, get_output) through the classic
 * ABI. The other files pass values of any kind; here, inputs are arrays, as results and the fields of tuples are. */
#include <tvmgo/model.h>

#include "relax_test.h"

enum { CAPACITY = 16 };

static TVMArrayHandle array(const value* v) {
  TVMArrayHandle a = NULL;
  if (TVMArrayAlloc(v->dims, (int)v->n, v->dtype.code, v->dtype.bits, v->dtype.lanes, kDLCPU, 0, &a) != 0 ||
      TVMArrayCopyFromBytes(a, (void*)v->bytes, v->nbytes) != 0)
    FAIL("%s", TVMGetLastError());
  return a;
}

static void compare(const value* want, TVMArrayHandle a, const char* what) {
  char* bytes = malloc(want->nbytes + 1);
  if (TVMArrayCopyToBytes(a, bytes, want->nbytes) != 0)
    FAIL("%s: %s", what, TVMGetLastError());
  else
    same_tensor(want, a, bytes, what);
  free(bytes);
}

/* Stores the arrays of a result in order, and returns how many; -1 if it has another value. */
static int leaves(const value* v, const value** out, int n) {
  if (v->kind == V_TENSOR && n < CAPACITY) {
    out[n] = v;
    return n + 1;
  }
  if (v->kind != V_TUPLE) return -1;
  for (int64_t i = 0; i < v->n && n >= 0; i++) n = leaves(&v->items[i], out, n);
  return n;
}

static void make_inputs(const call_case* c, TVMArrayHandle* inputs) {
  for (int64_t i = 0; i < c->num_inputs; i++) inputs[i] = array(&c->inputs[i]);
}

static void free_inputs(const call_case* c, TVMArrayHandle* inputs) {
  for (int64_t i = 0; i < c->num_inputs; i++) TVMArrayFree(inputs[i]);
}

static void run_header(TVMModuleHandle model, const call_case* c) {
  const value* want[CAPACITY];
  TVMArrayHandle inputs[16], outputs[CAPACITY];
  char what[256];
  int num = CAPACITY, count = c->fails ? -1 : leaves(&c->output, want, 0);
  snprintf(what, sizeof what, "%s through tvmgo/model.h", c->function);
  make_inputs(c, inputs);
  int rc = TVMGOModelRun(model, c->function, inputs, (int)c->num_inputs, outputs, &num);
  if ((rc == 0) != (count >= 0)) FAIL("%s: %s", what, rc == 0 ? "the call does not fail" : TVMGetLastError());
  if (rc != 0 && !c->fails && strstr(TVMGetLastError(), "no array") == NULL) FAIL("%s: %s", what, TVMGetLastError());
  if (rc == 0 && num != count) FAIL("%s: %d results, want %d", what, num, count);
  for (int i = 0; rc == 0 && i < num; i++) {
    if (i < count) compare(want[i], outputs[i], what);
    TVMArrayFree(outputs[i]);
  }
  for (int64_t i = 0; i < c->num_inputs; i++)
    if (c->after[i].kind == V_TENSOR) compare(&c->after[i], inputs[i], what);
  free_inputs(c, inputs);
}

/* Compares the field at a path of indices: get_output(function, i, j, …). */
static void compare_output(TVMModuleHandle session, const char* function, int64_t* path, int depth, const value* want) {
  TVMValue args[8], result;
  int codes[8], code;
  NEED(depth < 7);
  args[0].v_str = function, codes[0] = kTVMStr;
  for (int i = 0; i < depth; i++) args[i + 1].v_int64 = path[i], codes[i + 1] = kTVMArgInt;
  if (tvmgo_method_(session, "get_output_arity", args, codes, depth + 1, &result, &code) != 0 ||
      result.v_int64 != (want->kind == V_TUPLE ? want->n : -1)) {
    FAIL("%s in steps: the arity differs: %s", function, TVMGetLastError());
    return;
  }
  for (int64_t i = 0; want->kind == V_TUPLE && i < want->n; i++) {
    path[depth] = i;
    compare_output(session, function, path, depth + 1, &want->items[i]);
  }
  if (want->kind == V_TUPLE) return;
  if (tvmgo_method_(session, "get_output", args, codes, depth + 1, &result, &code) != 0 || code != kTVMNDArrayHandle) {
    FAIL("%s in steps: %s", function, TVMGetLastError());
    return;
  }
  compare(want, result.v_handle, function);
  TVMArrayFree(result.v_handle);
}

static void run_steps(TVMModuleHandle session, const call_case* c) {
  const value* want[CAPACITY];
  TVMArrayHandle inputs[16];
  TVMValue args[17], result;
  int codes[17], code, n = (int)c->num_inputs + 1, rc;
  int64_t path[8];
  make_inputs(c, inputs);
  args[0].v_str = c->function, codes[0] = kTVMStr;
  for (int i = 1; i < n; i++) args[i].v_handle = inputs[i - 1], codes[i] = kTVMNDArrayHandle;
  rc = tvmgo_method_(session, "set_input", args, codes, n, &result, &code);
  if (rc == 0) rc = tvmgo_method_(session, "invoke_stateful", args, codes, 1, &result, &code);
  if (rc != (c->fails ? -1 : 0)) FAIL("%s in steps: %s", c->function, rc == 0 ? "it does not fail" : TVMGetLastError());
  if (rc == 0 && leaves(&c->output, want, 0) >= 0) compare_output(session, c->function, path, 0, &c->output);
  free_inputs(c, inputs);
}

static void run_case(void* model, const call_case* c) {
  for (int64_t i = 0; i < c->num_inputs; i++)
    if (c->inputs[i].kind != V_TENSOR) return;
  run_header(model, c);
}

void run_model(const char* library, const call_case* cases, int64_t n, int threads) {
  TVMModuleHandle model = NULL, session = NULL;
  TVMGOModelMemory memory = {0};
  if (TVMGOModelLoad(library, NULL, 0, NULL, &model) != 0) FAIL("%s", TVMGetLastError());
  NEED(model != NULL);
  run_cases(model, cases, n, threads, run_case);
  CHECK(TVMGOModelNewSession(model, &session) == 0);
  for (int64_t i = 0; i < n; i++) {
    int64_t arrays = 0;
    while (arrays < cases[i].num_inputs && cases[i].inputs[arrays].kind == V_TENSOR) arrays++;
    if (arrays == cases[i].num_inputs) run_steps(session, &cases[i]);
  }
  TVMModFree(session);
  CHECK(TVMGOModelGetMemory(model, &memory) == 0);
  CHECK(memory.live == 0 && memory.storages == 0); /* also after calls that failed */
  TVMModFree(model);
}
