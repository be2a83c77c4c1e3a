/* Array, Map and shapes of tvmgo.hpp. */
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hpp_test.h"

static void test_array() {
  Tensor t = Tensor::from({1.f, 2.f});
  Array a = Array::of(1, 2.5, "three", t, Shape{4, 5}, nullptr, Array::of(6));
  CHECK(a.size() == 7 && !a.empty() && Array().empty() && a.type_key() == "Array");
  CHECK(a[0].as<int>() == 1 && a[1].as<double>() == 2.5 && a[2].as<std::string>() == "three" && a[5].is_none());
  CHECK(a[3].as<Tensor>() == t && (a[4].as<Shape>() == Shape{4, 5}) && a[6].as<Array>()[0].as<int>() == 6);
  fails(__LINE__, "IndexError", "7", [&] { a[7]; });

  Array numbers = Array::from(std::vector<int>{3, 1, 2});
  int sum = 0;
  for (const Value& x : numbers) sum += x.as<int>();
  CHECK(sum == 6 && (numbers.to_vector<std::int64_t>() == std::vector<std::int64_t>{3, 1, 2}));
  CHECK(std::count_if(numbers.begin(), numbers.end(), [](const Value& x) { return x.as<int>() > 1; }) == 2);
  fails(__LINE__, "TypeError", "an int is needed", [&] { a.to_vector<int>(); });

  auto identity = Function::from([](Array x) { return x; });
  CHECK(identity.call<Array>(numbers) == numbers && identity.call<Object>(numbers).type_key() == "Array");
  fails(__LINE__, "TypeError", "an array is needed, not an object of type Map", [&] { identity(Map()); });
  fails(__LINE__, "TypeError", "an object is needed, not an int", [&] { identity(1); });
  fails(__LINE__, "ValueError", "the Object is empty", [] { Array{Object()}; });
  Array gone = std::move(a);
  fails(__LINE__, "ValueError", "an object that is empty", [&] { a.size(); });
  CHECK(gone.size() == 7);
}

static void test_map() {
  Map m = Map::of("one", 1, "two", Array::of(2), 3, "three");
  CHECK(m.size() == 3 && !m.empty() && Map().empty() && m.type_key() == "Map");
  CHECK(m["one"].as<int>() == 1 && m[std::string("two")].as<Array>()[0].as<int>() == 2);
  CHECK(m[3].as<std::string>() == "three" && m.contains("one") && !m.contains("four") && !m.find("four"));
  CHECK(m.find("one")->as<int>() == 1);
  fails(__LINE__, "KeyError", "four", [&] { m["four"]; });
  std::string keys;
  for (const auto& [key, value] : m)
    keys += key.code() == kTVMStr ? key.as<std::string>() : std::to_string(key.as<int>()) + value.as<std::string>();
  CHECK(keys == "onetwo3three");

  std::map<std::string, Tensor> tensors{{"a", Tensor::from({1.f})}, {"b", Tensor::from({2.f, 3.f})}};
  Map both = Map::from(tensors);
  CHECK(both.size() == 2 && both["b"].as<Tensor>() == tensors["b"]);
  CHECK(Function::from([](const Map& x) { return x.size(); }).call<int>(both) == 2);
  fails(__LINE__, "TypeError", "a map is needed, not an object of type Array", [] { Value::of(Array()).as<Map>(); });
}

static void test_shape() {
  Shape big{1, std::int64_t{1} << 40, 0};
  Value v = Value::of(big);
  CHECK(v.as<Shape>() == big && v.as<Object>().type_key() == "runtime.ShapeTuple" && Value(v).as<Shape>() == big);
  CHECK(Value::of(Shape{}).as<Shape>().empty());
  auto elements = Function::from([](Shape s) { return s.empty() ? 0 : s[0] * s[1]; });
  CHECK(elements.call<int>(Shape{6, 7}) == 42 && elements.call<int>(Shape()) == 0);
  CHECK((Function::from([] { return Shape{8, 9}; }).call<Shape>() == Shape{8, 9}));
  fails(__LINE__, "TypeError", "a shape is needed, not an object of type Array", [&] { elements(Array()); });
}

static void test_apply() {
  auto describe = Function::from([](const Args& args) {
    std::string text = std::to_string(args.size());
    for (int i = 0; i < args.size(); i++) text += " " + std::to_string(args[i].code());
    return text;
  });
  CHECK(describe.apply({}).as<std::string>() == "0");
  std::vector<Value> args{Value::of(1), Value::of("text"), Value::of(Bytes{1, 2}), Value(), Value::of(Array())};
  CHECK(describe.apply(args).as<std::string>() == describe.call<std::string>(1, "text", Bytes{1, 2}, nullptr, Array()));
  fails(__LINE__, "ValueError", "the Function is empty", [] { Function().apply({}); });
}

void test_containers() {
  test_array();
  test_map();
  test_shape();
  test_apply();
}
