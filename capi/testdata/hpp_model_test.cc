/* Model of tvmgo.hpp with relax_mlp, whose batch is dynamic. */
#include <fstream>
#include <iterator>
#include <thread>

#include "hpp_test.h"
#include "npy.h"

static Tensor rows_of(const npy& a, std::int64_t n) { return Tensor::from_pointer(a.data, {n, a.shape[1]}); }

static bool right(const Value& got, const npy& want, std::int64_t rows) {
  Tensor t = got.as<Tensor>();
  if (t.ndim() != 2 || t.shape()[0] != rows || t.shape()[1] != want.shape[1]) return false;
  std::vector<float> v = t.to_vector<float>();
  for (std::size_t i = 0; i < v.size(); i++)
    if (!(v[i] - want.data[i] <= 1e-5f && want.data[i] - v[i] <= 1e-5f)) return false;
  return true;
}

static void test_functions(const Model& model) {
  std::vector<FunctionInfo> all = model.functions();
  NEED(all.size() == 1);
  const FunctionInfo& f = all[0];
  NEED(f.name == "forward" && f.params.size() == 5);
  const ValueInfo& x = f.params[0];
  CHECK(x.name == "x" && x.kind == ValueKind::kTensor && x.dtype == DataType::of<float>() && x.ndim == 2);
  CHECK((x.shape == Shape{-1, 16}) && x.dims.size() == 2 && x.dims[0] == "batch" && x.dims[1] == "16");
  CHECK(x.device == 0 && !x.bound && x.fields.empty() && x.text.find("Tensor") != x.text.npos);
  CHECK(f.params[1].name == "fc1.weight" && f.params[1].kind == ValueKind::kAny && f.params[1].ndim == -1);
  CHECK(f.text == "forward(x: float32[batch, 16], fc1.weight: any, fc1.bias: any, fc2.weight: any, fc2.bias: any) -> "
                  "float32[batch, 10]");
  CHECK(model.devices().size() == 1 && model.devices()[0] == Device::cpu());
  CHECK(f.result.kind == ValueKind::kTensor && (f.result.shape == Shape{-1, 10}) && f.result.dims[0] == "batch");
}

static void test_run(const Model& bare, const Model& model, const std::map<std::string, Tensor>& weights, const npy& in,
                     const npy& want) {
  Tensor x = rows_of(in, 4), one = rows_of(in, 1);
  const Tensor &w1 = weights.at("fc1.weight"), &b1 = weights.at("fc1.bias"), &w2 = weights.at("fc2.weight"),
               &b2 = weights.at("fc2.bias");
  CHECK(right(bare.run("forward", {x, w1, b1, w2, b2}), want, 4));
  CHECK(right(bare.run("forward", {{"fc2.bias", b2}, {"x", one}, {"fc1.bias", b1}, {"fc2.weight", w2},
                                   {"fc1.weight", w1}}), want, 1));
  CHECK(right(bare.run("forward", std::vector<Tensor>{x, w1, b1, w2, b2}), want, 4));
  std::map<std::string, Tensor> named = weights;
  named["x"] = x;
  CHECK(right(bare.run("forward", named), want, 4));
  CHECK(right(bare.function("forward")(x, w1, b1, w2, b2), want, 4));

  CHECK(right(model.run("forward", {x}), want, 4) && right(model.run("forward", {{"x", one}}), want, 1));
  CHECK(right(model.function("forward")(one), want, 1));
  CHECK(right(model.run("forward", named), want, 4)); /* all of them, though they are bound */

  fails(__LINE__, "ValueError", "no parameter \"fc1.wieght\", do you mean \"fc1.weight\"?",
        [&] { bare.run("forward", {{"x", x}, {"fc1.wieght", w1}}); });
  fails(__LINE__, "ValueError", "no parameter \"zzzzzzzzz\": its first one is \"x\"",
        [&] { model.run("forward", {{"zzzzzzzzz", x}}); });
  fails(__LINE__, "ValueError", "needs 5 inputs, not 3: \"fc1.bias\", \"fc2.bias\" are missing",
        [&] { bare.run("forward", {{"x", x}, {"fc1.weight", w1}, {"fc2.weight", w2}}); });
  fails(__LINE__, "ValueError", "\"fc2.bias\" are missing (an input for a bound parameter needs all of them)",
        [&] { model.run("forward", {{"x", x}, {"fc1.weight", w1}}); });
  fails(__LINE__, "ValueError", "the input \"x\" is given twice",
        [&] { model.run("forward", {{"x", x}, {"x", x}}); });
  fails(__LINE__, "TypeError", "forward", [&] { model.run("forward"); });
  fails(__LINE__, "TypeError", "forward", [&] { model.run("forward", {x, x}); });
  fails(__LINE__, "ValueError", "value: a tensor that is empty (moved from", [&] { model.run("forward", {Tensor()}); });
  fails(__LINE__, "ValueError", "forward", [&] { model.run("forwrad", {x}); });
  fails(__LINE__, "ValueError", "forward", [&] { model.run("forwrad", {{"x", x}}); });
  CHECK(right(model.run("forward", {x}), want, 4));
}

static void test_bind(const std::string& file, const std::map<std::string, Tensor>& weights, const npy& in,
                      const npy& want) {
  Model model = Model::load(file);
  Tensor x = rows_of(in, 4);
  std::map<std::string, Tensor> wrong = weights;
  wrong["fc1.wieght"] = wrong["fc1.weight"];
  fails(__LINE__, "ValueError", "\"fc1.weight\"", [&] { model.bind(wrong); });
  CHECK(!model.functions()[0].params[1].bound); /* nothing is bound */
  model.run("forward", {{"x", x}, {"fc1.weight", weights.at("fc1.weight")}, {"fc1.bias", weights.at("fc1.bias")},
                        {"fc2.weight", weights.at("fc2.weight")}, {"fc2.bias", weights.at("fc2.bias")}});
  model.bind(weights);
  CHECK(model.functions()[0].params[1].bound && !model.functions()[0].params[0].bound);
  CHECK(right(model.run("forward", {{"x", x}}), want, 4)); /* the signatures were read before */
  std::map<std::string, Tensor> zero = weights;
  zero["fc2.bias"] = Tensor::from(std::vector<float>(10, 5.f));
  zero["fc2.weight"] = Tensor::from(std::vector<float>(320, 0.f), {10, 32});
  model.bind(zero);
  CHECK(std::abs(model.run("forward", {x}).as<Tensor>().to_vector<float>()[0] - 0.1f) < 1e-6f); /* a softmax */
}

static void test_sources(const std::string& file, const std::string& params, const npy& in, const npy& want) {
  std::ifstream f(file, std::ios::binary);
  Bytes bytes{std::istreambuf_iterator<char>(f), std::istreambuf_iterator<char>()};
  Tensor x = rows_of(in, 4);
  CHECK(right(Model::load(bytes, {}, params).run("forward", {x}), want, 4));
  Module library = Module::load(file);
  Model first = Model::load(library, {Device::cpu()}, params), second = Model::load(library, {}, params);
  library.reset();
  CHECK(right(first.run("forward", {x}), want, 4) && right(second.run("forward", {x}), want, 4));
  fails(__LINE__, "", "no_such_file", [] { Model::load("/no_such_file.so"); });
  fails(__LINE__, "", "no_such.params", [&] { Model::load(file, {}, "/no_such.params"); });
  bytes.resize(bytes.size() / 2);
  fails(__LINE__, "", "", [&] { Model::load(bytes); });
}

static void test_session(const Model& model, const npy& in, const npy& want) {
  Session a = model.session(), b = model.session();
  a.set_input("forward", {rows_of(in, 4)});
  b.set_input("forward", {{"x", rows_of(in, 1)}});
  a.invoke_stateful("forward");
  b.invoke_stateful("forward");
  CHECK(right(a.get_output("forward"), want, 4) && right(b.get_output("forward"), want, 1));
  CHECK(a.get_output_arity("forward") == -1);
  fails(__LINE__, "", "", [&] { model.session().invoke_stateful("forward"); });
}

/* A moved-from variable is empty, as those of the other classes. */
static void test_moves(const Model& model, const npy& in, const npy& want) {
  Model first = model, second = std::move(first);
  CHECK(right(second.run("forward", {rows_of(in, 4)}), want, 4));
  fails(__LINE__, "ValueError", "the Model is empty: it was moved from",
        [&] { first.run("forward", {rows_of(in, 4)}); });
  fails(__LINE__, "ValueError", "the Model is empty", [&] { first.functions(); });
  fails(__LINE__, "ValueError", "the Model is empty", [&] { first.session(); });
  Session a = second.session(), b = std::move(a);
  b.set_input("forward", {rows_of(in, 4)});
  fails(__LINE__, "ValueError", "the Session is empty: it was moved from", [&] { a.invoke_stateful("forward"); });
  fails(__LINE__, "ValueError", "the Session is empty", [&] { a.set_input("forward", {{"x", rows_of(in, 4)}}); });
  first = second;
  a = b;
  CHECK(right(first.run("forward", {rows_of(in, 1)}), want, 1));
  a.invoke_stateful("forward");
  CHECK(right(b.get_output("forward"), want, 4)); /* the same session */
}

static void test_memory(const Model& model, const npy& in) {
  ModelMemory before = model.memory();
  CHECK(before.weights >= 3496 && before.live == 0 && before.limit == 0);
  model.set_memory_limit(1);
  fails(__LINE__, "MemoryError", "limit", [&] { model.run("forward", {rows_of(in, 4)}); });
  CHECK(model.memory().limit == 1);
  model.set_memory_limit(0);
  {
    Value y = model.run("forward", {rows_of(in, 4)});
    CHECK(model.memory().live > 0);
  }
  CHECK(model.memory().live == 0 && model.memory().peak > 0 && model.memory().taken > before.taken);
}

static void test_many_threads(const Model& model, const npy& in, const npy& want) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; i++)
    threads.emplace_back([&, i] {
      std::int64_t rows = 1 + i % 4;
      for (int k = 0; k < 20; k++) {
        Tensor x = rows_of(in, rows);
        CHECK(right(i % 2 ? model.run("forward", {x}) : model.run("forward", {{"x", x}}), want, rows));
        if (k % 10 == 0) CHECK(model.functions().size() == 1);
      }
    });
  for (std::thread& t : threads) t.join();
}

void test_model(const std::string& file, const std::string& params, const std::string& in_file,
                const std::string& out_file) {
  npy in{}, want{};
  NEED(npy_read(in_file.c_str(), &in) && npy_read(out_file.c_str(), &want));
  {
    std::map<std::string, Tensor> weights;
    Map loaded = Function::get_global("runtime.LoadParamsFromFile").call<Map>(params);
    for (const auto& [name, tensor] : loaded) weights[name.as<std::string>()] = tensor.as<Tensor>();
    Model bare = Model::load(file), model = Model::load(file, {}, params);
    test_functions(bare);
    test_run(bare, model, weights, in, want);
    test_bind(file, weights, in, want);
    test_sources(file, params, in, want);
    test_session(model, in, want);
    test_moves(model, in, want);
    test_memory(model, in);
    test_many_threads(model, in, want);
  }
  free(in.data);
  free(want.data);
}
