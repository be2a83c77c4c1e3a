/* Relax executables through tvmgo::Model: the inputs in order and, where parameters have names, by name. */
#include <tvmgo/tvmgo.hpp>

#include <set>

#include "relax_test.h"

using namespace tvmgo;

static Value from(const value& v) {
  switch (v.kind) {
    case V_TENSOR: {
      Tensor t = Tensor::empty(Shape(v.dims, v.dims + v.n), v.dtype);
      t.copy_from_bytes(v.bytes, v.nbytes);
      return Value::of(t);
    }
    case V_TUPLE: {
      std::vector<Value> items;
      for (int64_t i = 0; i < v.n; i++) items.push_back(from(v.items[i]));
      return Value::of(Array::from(items));
    }
    case V_SHAPE: return Value::of(Shape(v.dims, v.dims + v.n));
    case V_INT: return Value::of(v.i);
    case V_BOOL: return Value::of(v.i != 0);
    case V_FLOAT: return Value::of(v.f);
    case V_TEXT: return Value::of(v.bytes);
    case V_DTYPE: return Value::of(DataType(v.dtype));
    default: return Value();
  }
}

static void compare_tensor(const value& want, const Tensor& got, const char* what) {
  std::vector<char> bytes(want.nbytes + 1);
  if (got.nbytes() == want.nbytes) got.copy_to_bytes(bytes.data(), want.nbytes);
  same_tensor(&want, got.handle(), bytes.data(), what);
}

static void compare(const value& want, const Value& got, const char* what) {
  bool good = false;
  switch (want.kind) {
    case V_NONE: good = got.is_none(); break;
    case V_TENSOR: return compare_tensor(want, got.as<Tensor>(), what);
    case V_TUPLE: {
      Array items = got.as<Array>();
      good = static_cast<int64_t>(items.size()) == want.n;
      for (int64_t i = 0; good && i < want.n; i++) compare(want.items[i], items[static_cast<std::size_t>(i)], what);
      break;
    }
    case V_SHAPE: good = got.as<Shape>() == Shape(want.dims, want.dims + want.n); break;
    case V_INT:
    case V_BOOL: good = got.as<std::int64_t>() == want.i; break;
    case V_FLOAT: good = got.as<double>() == want.f; break;
    case V_TEXT: good = got.as<std::string>() == want.bytes; break;
    case V_DTYPE: good = got.as<DataType>() == DataType(want.dtype); break;
    default: good = got.code() == kTVMObjectHandle || got.code() == kTVMPackedFuncHandle; break;
  }
  if (!good) FAIL("%s: a result of code %d differs from one of kind %d", what, got.code(), static_cast<int>(want.kind));
}

static void call(const call_case& c, const std::vector<Value>& values, const Model& model, const Inputs& inputs,
                 const std::string& what) {
  try {
    Value result = model.run(c.function, inputs);
    if (c.fails) FAIL("%s: the call does not fail", what.c_str());
    if (!c.fails) compare(c.output, result, what.c_str());
  } catch (const Error& e) {
    if (!c.fails || e.message().size() < 20) FAIL("%s: %s", what.c_str(), e.what());
  }
  for (int64_t i = 0; i < c.num_inputs; i++)
    if (c.after[i].kind == V_TENSOR)
      compare_tensor(c.after[i], values[static_cast<std::size_t>(i)].as<Tensor>(), what.c_str());
}

struct subject {
  Model model;
  std::map<std::string, std::vector<std::string>> names; /* of the parameters; of functions where all differ */
};

static void run_case(void* arg, const call_case* c) {
  const auto& s = *static_cast<const subject*>(arg);
  std::vector<Value> values;
  for (int64_t i = 0; i < c->num_inputs; i++) values.push_back(from(c->inputs[i]));
  call(*c, values, s.model, values, c->function + std::string(" through tvmgo::Model"));
  auto names = s.names.find(c->function);
  if (names == s.names.end() || names->second.size() != values.size()) return;
  std::map<std::string, Value> by_name;
  values.clear();
  for (int64_t i = 0; i < c->num_inputs; i++) {
    values.push_back(from(c->inputs[i])); /* anew: the first call may have changed them */
    by_name[names->second[static_cast<std::size_t>(i)]] = values.back();
  }
  call(*c, values, s.model, by_name, c->function + std::string(" through tvmgo::Model by name"));
}

extern "C" void run_hpp(const char* library, const call_case* cases, int64_t n, int threads) try {
  subject s{Model::load(library), {}};
  for (const FunctionInfo& f : s.model.functions()) {
    std::set<std::string> different;
    std::vector<std::string> names;
    for (const ValueInfo& p : f.params) {
      names.push_back(p.name);
      if (!p.name.empty()) different.insert(p.name);
    }
    if (different.size() == names.size()) s.names[f.name] = names;
  }
  run_cases(&s, cases, n, threads, run_case);
} catch (const std::exception& e) {
  FAIL("%s: %s", library, e.what());
}
