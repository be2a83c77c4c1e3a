/* A graph executor's model, graph_mlp, through Model of tvmgo.hpp and through tvmgo/model.h. */
#include <thread>

#include "hpp_test.h"
#include "npy.h"

static bool right(const Tensor& got, const npy& want) {
  if (got.ndim() != 2 || got.shape()[0] != want.shape[0] || got.shape()[1] != want.shape[1]) return false;
  std::vector<float> v = got.to_vector<float>();
  for (std::size_t i = 0; i < v.size(); i++)
    if (!(v[i] - want.data[i] <= 1e-5f && want.data[i] - v[i] <= 1e-5f)) return false;
  return true;
}

static Tensor input(const npy& in) { return Tensor::from_pointer(in.data, {in.shape[0], in.shape[1]}); }

static void test_classes(const Model& model, const npy& in, const npy& want) {
  std::vector<FunctionInfo> all = model.functions();
  NEED(all.size() == 1);
  CHECK(all[0].text == "default(data: float32[4, 16], p0: float32[2, 16, 16] (bound), p1: float32[1, 32] (bound), "
                       "p2: float32[1, 32, 10] (bound), p3: float32[1, 10] (bound)) -> "
                       "tvmgen_default_fused_nn_softmax: float32[4, 10]");
  CHECK(right(model.run("default", {input(in)}).as<Tensor>(), want));
  CHECK(right(model.run("default", {{"data", input(in)}}).as<Tensor>(), want));
  fails(__LINE__, "ValueError", "no parameter \"dta\", do you mean \"data\"?",
        [&] { model.run("default", {{"dta", input(in)}}); });
  Tensor turned = Tensor::from_pointer(in.data, {in.shape[1], in.shape[0]});
  fails(__LINE__, "ValueError", "\"data\" is float32[4, 16]", [&] { model.run("default", {turned}); });
  CHECK(model.memory().weights == 3496 && model.memory().live == 672); /* the storages of one call are kept */
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; i++)
    threads.emplace_back([&] {
      for (int k = 0; k < 20; k++) CHECK(right(model.run("default", {input(in)}).as<Tensor>(), want));
    });
  for (std::thread& t : threads) t.join();
}

static void test_header(const std::string& file, const npy& in, const npy& want) {
  TVMModuleHandle model = nullptr, session = nullptr;
  NEED(TVMGOModelLoad(file.c_str(), nullptr, 0, nullptr, &model) == 0);
  TVMGOModelInfo* info = nullptr;
  NEED(TVMGOModelGetInfo(model, &info) == 0);
  NEED(info->num_functions == 1 && info->functions[0].num_params == 5);
  CHECK(std::string(info->functions[0].params[1].name) == "p0" && info->functions[0].params[1].bound == 1);
  Tensor x = input(in);
  TVMArrayHandle inputs[] = {x.handle()}, out = nullptr;
  int num = 1;
  const char* const names[] = {"data"};
  NEED(TVMGOModelRunNamed(model, &info->functions[0], names, inputs, 1, &out, &num) == 0);
  CHECK(num == 1 && right(Tensor::take(out), want));
  TVMGOModelFreeInfo(info);
  NEED(TVMGOModelNewSession(model, &session) == 0);
  TVMGOModelMemory use{};
  CHECK(TVMGOSessionGetMemory(session, &use) == 0 && use.live > 0 && use.weights == 3496);
  CHECK(TVMGOSessionSetMemoryLimit(session, use.live) == 0);
  CHECK(TVMGOSessionSetMemoryLimit(session, use.live - 1) == -1);
  Module executor = Module::take(session);
  executor.get("set_input")("data", x);
  executor.get("run")();
  CHECK(right(executor.get("get_output")(0).as<Tensor>(), want));
  TVMModFree(model);
  executor.get("run")(); /* the session keeps the model */
}

void test_graph(const std::string& file, const std::string& in_file, const std::string& out_file) {
  npy in{}, want{};
  NEED(npy_read(in_file.c_str(), &in) && npy_read(out_file.c_str(), &want));
  test_classes(Model::load(file), in, want);
  test_header(file, in, want);
  free(in.data);
  free(want.data);
}
