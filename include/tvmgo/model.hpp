/* Part of tvmgo/tvmgo.hpp: Model, a whole model. */
#ifndef TVMGO_MODEL_HPP_
#define TVMGO_MODEL_HPP_

#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/call.hpp>
#include <tvmgo/container.hpp>
#include <tvmgo/data_type.hpp>
#include <tvmgo/device.hpp>
#include <tvmgo/error.hpp>
#include <tvmgo/function.hpp>
#include <tvmgo/model.h>
#include <tvmgo/module.hpp>
#include <tvmgo/tensor.hpp>
#include <tvmgo/value.hpp>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tvmgo {

enum class ValueKind {
  kTensor = kTVMGOValueTensor,
  kShape = kTVMGOValueShape,
  kTuple = kTVMGOValueTuple,
  kNumber = kTVMGOValueNumber,
  kFunction = kTVMGOValueFunction,
  kAny = kTVMGOValueAny, /* anything, or the file does not say */
};

/* A parameter or a result of a function of a model. */
struct ValueInfo {
  std::string name; /* "" if the file has none */
  ValueKind kind = ValueKind::kAny;
  std::optional<DataType> dtype; /* of a tensor or a number, if it is known */
  int ndim = -1;                 /* of a tensor or a shape; -1: unknown */
  Shape shape;                   /* ndim extents; -1: not fixed */
  std::vector<std::string> dims; /* the same as texts: "16", "n", "n * 2" */
  std::vector<ValueInfo> fields; /* of a tuple */
  int device = 0;                /* that the value lies on: its index in the model's list of devices */
  bool bound = false;            /* a parameter has been bound */
  std::string text;              /* the annotation in the notation of the model's compiler; "": unknown */
};

struct FunctionInfo {
  std::string name;
  std::vector<ValueInfo> params;
  ValueInfo result;
  std::string text; /* "main(x: float32[n, 16], w: float32[16, 8] (bound)) -> float32[n, 8]" */
};

using ModelMemory = TVMGOModelMemory; /* bytes and numbers of storages: see tvmgo/model.h */

/* An input of a model: anything that can be an argument of a function. */
struct Input {
  template <class T>
  Input(const T& x) : value(Value::of(x)) {}
  Value value;
};

/* The inputs of a call: {x, y} in the order of the parameters, or {{"x", x}, {"y", y}} by name. */
class Inputs {
 public:
  Inputs() = default;
  Inputs(std::initializer_list<Input> in_order) {
    for (const Input& x : in_order) values_.push_back(x.value);
  }
  Inputs(std::initializer_list<std::pair<std::string, Input>> by_name) : by_name_(true) {
    for (const auto& [name, x] : by_name) add(name, x.value);
  }
  template <class T>
  Inputs(const std::vector<T>& in_order) {
    for (const T& x : in_order) values_.push_back(Value::of(x));
  }
  template <class T>
  Inputs(const std::map<std::string, T>& by_name) : by_name_(true) {
    for (const auto& [name, x] : by_name) add(name, Value::of(x));
  }

  bool by_name() const noexcept { return by_name_; }
  const std::vector<std::string>& names() const noexcept { return names_; } /* empty if they are in order */
  const std::vector<Value>& values() const noexcept { return values_; }

 private:
  void add(const std::string& name, const Value& value) {
    detail::c_text(name, "an input's name");
    names_.push_back(name);
    values_.push_back(value);
  }
  bool by_name_ = false;
  std::vector<std::string> names_;
  std::vector<Value> values_;
};

namespace detail {

inline ValueInfo value_info(const TVMGOValueInfo& from) {
  ValueInfo v;
  v.name = from.name;
  v.kind = static_cast<ValueKind>(from.kind);
  if (from.dtype.bits != 0) v.dtype = from.dtype;
  v.ndim = from.ndim;
  for (int i = 0; i < from.ndim; i++) {
    v.shape.push_back(from.shape[i]);
    v.dims.push_back(from.dims[i]);
  }
  for (int i = 0; i < from.num_fields; i++) v.fields.push_back(value_info(from.fields[i]));
  v.device = from.device;
  v.bound = from.bound != 0;
  v.text = from.text;
  return v;
}

/* A model module, and its signatures, which by-name calls use. */
class ModelState {
 public:
  using Info = std::shared_ptr<const TVMGOModelInfo>;

  explicit ModelState(Module loaded) : module(std::move(loaded)) {}

  Info info(bool again) {
    std::lock_guard<std::mutex> guard(lock_);
    if (info_ == nullptr || again) {
      TVMGOModelInfo* out = nullptr;
      check(TVMGOModelGetInfo(module.handle(), &out));
      info_ = Info(out, [](const TVMGOModelInfo* i) { TVMGOModelFreeInfo(const_cast<TVMGOModelInfo*>(i)); });
    }
    return info_;
  }

  /* The arguments in the order of the parameters. Fails if the names are not those of the parameters. */
  std::vector<Value> in_order(const std::string& function, const Inputs& inputs) {
    if (!inputs.by_name()) return inputs.values();
    std::vector<const char*> names;
    for (const std::string& name : inputs.names()) names.push_back(name.c_str());
    std::vector<int> order(names.size());
    for (bool again : {false, true}) { /* parameters may have been bound since the signatures were read */
      Info all = info(again);
      for (int i = 0; i < all->num_functions; i++) {
        const TVMGOFunctionInfo& f = all->functions[i];
        if (function != f.name) continue;
        int rc = tvmgo_order_(&f, names.data(), static_cast<int>(names.size()), order.data());
        if (rc != 0 && again) check(rc);
        if (rc != 0) break;
        std::vector<Value> values;
        for (int k : order) values.push_back(inputs.values()[static_cast<std::size_t>(k)]);
        return values;
      }
    }
    throw Error("NotFoundError", "the model has no function \"" + function + "\" whose parameters have names");
  }

  Function get(const std::string& function) const {
    if (auto f = module.find(function)) return *std::move(f);
    module.get("tvmgo.signature")(function); /* the error says what there is */
    return module.get(function);
  }

  const Module module;

 private:
  std::mutex lock_;
  Info info_;
};

/* What a Model or a Session refers to. Fails if it was moved from. */
inline ModelState& need_state(const std::shared_ptr<ModelState>& state, const char* what) {
  if (state == nullptr) throw Error("ValueError", std::string("the ") + what + " is empty: it was moved from");
  return *state;
}

}  // namespace detail

/* A session of a Relax executable for calls in steps: it has inputs and outputs of its own, and shares code and weights
 * with its model. Threads must not use one session at a time; each can have its own. */
class Session {
 public:
  /* Sets the inputs of a function, as for Model::run; they are copied to the devices where it wants them. */
  void set_input(const std::string& function, const Inputs& inputs) const {
    std::vector<Value> args{Value::of(function)};
    for (const Value& x : state().in_order(function, inputs)) args.push_back(x);
    module().get("set_input").apply(args);
  }
  /* Runs a function with the inputs that were set. */
  void invoke_stateful(const std::string& function) const { module().get("invoke_stateful")(function); }
  /* The result of the last run, or, with indices, its field, that field's field, … */
  template <class... I>
  Value get_output(const std::string& function, I... indices) const {
    return module().get("get_output")(function, indices...);
  }
  /* The number of fields of the same; -1 if it is no tuple. */
  template <class... I>
  int get_output_arity(const std::string& function, I... indices) const {
    return module().get("get_output_arity").template call<int>(function, indices...);
  }

  ModelMemory memory() const {
    ModelMemory out{};
    detail::check(TVMGOSessionGetMemory(module().handle(), &out));
    return out;
  }
  /* Calls that need more bytes at a time fail with a MemoryError. 0: no limit. */
  void set_memory_limit(std::int64_t bytes) const {
    detail::check(TVMGOSessionSetMemoryLimit(module().handle(), bytes));
  }

  /* Fails if the Session was moved from. */
  const Module& module() const { return state().module; }

 private:
  friend class Model;
  explicit Session(Module module) : state_(std::make_shared<detail::ModelState>(std::move(module))) {}
  detail::ModelState& state() const { return detail::need_state(state_, "Session"); }
  std::shared_ptr<detail::ModelState> state_;
};

/* A loaded model. Copies refer to the same model; any number of threads may use it at a time, and all share one copy of
 * its weights. */
class Model {
 public:
  /* Loads a model from a library that Apache TVM or tvmgo exported. `devices` is the model's list; the default is what
   * the kernels of the file run on. The host is added if it is missing. `params` is the name of a file (.params,
   * .safetensors, .npz) or of a folder (a tensor cache) whose tensors become the parameters of the same names; calls
   * then take the other inputs. */
  static Model load(const std::string& path, const std::vector<Device>& devices = {}, const std::string& params = "") {
    detail::c_text(path, "a file's name");
    return load_from(path, devices, params);
  }
  /* The same for a library in memory, which is copied. */
  static Model load(const Bytes& library, const std::vector<Device>& devices = {}, const std::string& params = "") {
    return load_from(library, devices, params);
  }
  /* The same for a loaded library. */
  static Model load(const Module& library, const std::vector<Device>& devices = {}, const std::string& params = "") {
    return load_from(library, devices, params);
  }

  /* The functions in the file's order, as they are now: `bound` is that of this moment. */
  std::vector<FunctionInfo> functions() const {
    std::vector<FunctionInfo> out;
    auto info = state().info(true);
    for (int i = 0; i < info->num_functions; i++) {
      const TVMGOFunctionInfo& f = info->functions[i];
      FunctionInfo copy;
      copy.name = f.name;
      for (int k = 0; k < f.num_params; k++) copy.params.push_back(detail::value_info(f.params[k]));
      copy.result = detail::value_info(f.result);
      copy.text.resize(TVMGOFunctionInfoText(&f, nullptr, 0) + 1);
      copy.text.resize(TVMGOFunctionInfoText(&f, copy.text.data(), copy.text.size()));
      out.push_back(std::move(copy));
    }
    return out;
  }

  /* The devices of the model, to which ValueInfo::device refers; the host is the last one. */
  std::vector<Device> devices() const { return module().get("tvmgo.devices").call<Array>().to_vector<Device>(); }

  /* Calls a function: run("main", {x, y}) with the inputs in order, run("main", {{"x", x}, {"y", y}}) by name. If
   * parameters are bound, the inputs are all others, or all. A tuple is returned as an Array. Tensors are not copied.
   * Fails if there is no such function, and for unknown, missing or surplus names. */
  Value run(const std::string& function, const Inputs& inputs = {}) const {
    Function f = state().get(function);
    return f.apply(state().in_order(function, inputs));
  }

  /* A function, for many calls: it takes the inputs in order, and keeps the model. Fails if there is none. */
  Function function(const std::string& name) const { return state().get(name); }

  /* Binds tensors to the parameters of the same names in every function that has one. Calls then take the other inputs.
   * Types and shapes are checked as far as the file tells them; each tensor is copied to the device where the function
   * wants it. A name without a parameter is an error, and then nothing is bound. */
  void bind(const std::map<std::string, Tensor>& params) const { module().get("tvmgo.bind")(Map::from(params)); }

  Session session() const {
    TVMModuleHandle out = nullptr;
    detail::check(TVMGOModelNewSession(module().handle(), &out));
    return Session(Module::take(out));
  }

  /* The memory of all calls of the model and of its sessions. */
  ModelMemory memory() const {
    ModelMemory out{};
    detail::check(TVMGOModelGetMemory(module().handle(), &out));
    return out;
  }
  /* Calls that need more bytes at a time fail with a MemoryError. 0: no limit. */
  void set_memory_limit(std::int64_t bytes) const {
    detail::check(TVMGOModelSetMemoryLimit(module().handle(), bytes));
  }

  /* Fails if the Model was moved from. */
  const Module& module() const { return state().module; }

 private:
  explicit Model(Module loaded) : state_(std::make_shared<detail::ModelState>(std::move(loaded))) {}

  template <class S>
  static Model load_from(const S& source, const std::vector<Device>& devices, const std::string& params) {
    std::optional<Array> list;
    if (!devices.empty()) list = Array::from(devices);
    std::optional<std::string> weights;
    if (!params.empty()) weights = params;
    return Model(Function::get_global("tvmgo.load_model").call<Module>(source, list, weights));
  }

  detail::ModelState& state() const { return detail::need_state(state_, "Model"); }
  std::shared_ptr<detail::ModelState> state_;
};

}  // namespace tvmgo

#endif  // TVMGO_MODEL_HPP_
