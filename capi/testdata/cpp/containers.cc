// Arrays, lists, tuples, variants, optionals and shapes, made by C++ and by the library.
#include <numeric>

#include "cpp_test.h"

using namespace tvm::ffi;

static Function Global(const char* name) { return Function::GetGlobalRequired(name); }

TEST(arrays, made_by_either_side) {
  for (int n : {0, 1, 4, 5, 1000, 100000}) {
    Array<int> a;
    for (int i = 0; i < n; i++) a.push_back(i);
    SAME(Global("ffi.ArraySize")(a).cast<int>(), n);
    SAME(Global("runtime.ArraySize")(a).cast<int>(), n);
    if (n > 0) SAME(Global("ffi.ArrayGetItem")(a, n - 1).cast<int>(), n - 1);
    SAME(Global("ffi.ArrayContains")(a, n - 1).cast<bool>(), n > 0);
    std::vector<AnyView> args(n);
    for (int i = 0; i < n; i++) args[i] = i;
    Any made;
    Global("ffi.Array").CallPacked(args.data(), n, &made);
    auto b = made.cast<Array<int>>();
    SAME(b.size(), n);
    SAME(std::accumulate(b.begin(), b.end(), int64_t{0}), int64_t{n} * (n - 1) / 2);
    Array<int> shared = b;
    b.push_back(-1);  // on a copy
    SAME(shared.size(), n);
    SAME(b.back(), -1);
    made.reset();
    for (int i = 0; i < 10; i++) shared.push_back(i);  // in place, past the capacity
    SAME(shared.size(), n + 10);
    SAME(shared.back(), 9);
    shared.resize(n);
    shared.insert(shared.begin(), 7);
    SAME(shared.front(), 7);
    shared.erase(shared.begin());
    SAME(shared.size(), n);
    shared.clear();
    CHECK(shared.empty());
  }
}

TEST(arrays, operations) {
  Array<String> a{"a", "b", "c"};
  a.Set(1, "B");
  SAME(a[1], String("B"));
  THROWS("IndexError", "", a[3]);
  THROWS("IndexError", "", a[-1]);
  THROWS("IndexError", "", Array<int>().back());
  THROWS("IndexError", "", Array<int>().pop_back());
  a.pop_back();
  SAME(a.size(), 2u);
  std::vector<String> more{"x", "y"};
  a.insert(a.begin() + 1, more.begin(), more.end());
  std::string all;
  for (const String& s : a) all += s;
  for (auto it = a.rbegin(); it != a.rend(); ++it) all += *it;
  SAME(all, "axyBByxa");
  Array<int> sizes = a.Map([](String s) { return static_cast<int>(s.size()); });
  SAME(sizes.size(), 4u);
  a.MutateByApply([](String s) { return s + s; });
  SAME(a[0], String("aa"));
  Array<int> repeated(size_t{3}, 9);
  SAME(repeated[2], 9);
  Array<int> joined = Concat(repeated, {1, 2});
  SAME(joined.size(), 5u);
  SAME(repeated.size(), 3u);
  Array<Any> anything = joined;
  CHECK(anything.same_as(joined));
  SAME(Any(Array<Any>{1, true, 2.0}).cast<Array<double>>()[1], 1.0);
  Array<Array<int>> nested{{1}, {1, 2}};
  SAME(nested[1][1], 2);
  a.reserve(100);
  CHECK(a.capacity() >= 100);
  a.Assign(more.begin(), more.end());
  SAME(a.size(), 2u);
  Array<Optional<int>> holes{1, std::nullopt};
  CHECK(!holes[1].has_value());
}

TEST(arrays, values_are_released) {
  Array<int> value{1};
  {
    Array<Any> a{value, value};
    Any made = Global("ffi.Array")(value, value, value);
    SAME(value.use_count(), 6);
    Array<Any> copy = a;
    copy.push_back(value);
    SAME(value.use_count(), 9);
    auto theirs = made.cast<Array<Any>>();
    theirs.erase(theirs.begin());
    SAME(value.use_count(), 11);
  }
  SAME(value.use_count(), 1);
}

TEST(lists, operations) {
  List<int> l{1, 2, 3}, alias = l;
  l.push_back(4);
  SAME(alias.size(), 4u);
  alias.Set(0, 10);
  SAME(l[0], 10);
  l.insert(l.begin(), 0);
  l.erase(l.begin() + 1);
  SAME(l.front() + l.back(), 4);
  THROWS("IndexError", "", l[99]);
  for (int i = 0; i < 100000; i++) l.push_back(i);
  SAME(alias.size(), 100004u);
  l.resize(2);
  l.pop_back();
  SAME(alias.size(), 1u);
  l.clear();
  CHECK(alias.empty());
  Any any = l;
  SAME(any.GetTypeKey(), "ffi.List");
  List<int> same = any.cast<List<int>>();
  same.push_back(5);
  SAME(l.size(), 1u);
  Function append = cpp_test::ThroughC(Function::FromTyped([](List<int> x, int v) { x.push_back(v); }));
  append(l, 6);
  SAME(l.back(), 6);
  SAME(Any(l).cast<Array<int>>().size(), 2u);
  THROWS("TypeError", "List", Any(List<Any>{"a"}).cast<List<int>>());
  Array<int> value{1};
  {
    List<Any> held{value, value};
    held.reserve(100);
    SAME(value.use_count(), 3);
  }
  SAME(value.use_count(), 1);
}

TEST(tuples, operations) {
  Tuple<int, String, double> t(1, "two", 3.0);
  SAME(t.get<0>() + static_cast<int>(t.get<2>()), 4);
  auto [i, s, d] = t;
  SAME(s, String("two"));
  SAME(i + d, 4.0);
  Tuple<int, String, double> copy = t;
  copy.Set<0>(5);
  SAME(t.get<0>(), 1);
  SAME(copy.get<0>(), 5);
  SAME(Any(t).GetTypeKey(), "ffi.Array");
  SAME((Any(Array<Any>{1, "x"}).cast<Tuple<int, String>>().get<1>()), String("x"));
  SAME((Global("ffi.Array")(7, "from the library").cast<Tuple<double, String>>().get<0>()), 7.0);
  THROWS("TypeError", "Array", Any(Array<Any>{1}).cast<Tuple<int, String>>());
  THROWS("TypeError", "index 1", Any(Array<Any>{1, 2}).cast<Tuple<int, String>>());
  Function swap = cpp_test::ThroughC(Function::FromTyped([](Tuple<int, String> x) { return Tuple<String,
      int>(x.get<1>(), x.get<0>()); }));
  SAME((swap(Tuple<int, String>(1, "a")).cast<Tuple<String, int>>().get<1>()), 1);
}

TEST(variants, operations) {
  using V = Variant<int, String, Array<int>>;
  V v = 1;
  SAME(v.get<int>(), 1);
  SAME(v.GetTypeKey(), "int");
  v = String("now text");
  SAME(*v.as<String>(), String("now text"));
  CHECK(!v.as<int>().has_value());
  THROWS("TypeError", "", v.get<int>());
  v = Array<int>{1, 2};
  SAME(v.get<Array<int>>().size(), 2u);
  Function kind = cpp_test::ThroughC(Function::FromTyped([](V x) { return x.GetTypeKey(); }));
  SAME(kind(3).cast<std::string>(), "int");
  SAME(kind("abc").cast<std::string>(), "ffi.SmallStr");
  SAME(kind(Array<int>{1}).cast<std::string>(), "ffi.Array");
  THROWS("TypeError", "Variant<int, str, Array<int>>", kind(Map<int, int>{}));
  Array<Variant<int, String>> mixed{1, String("b")};
  SAME(mixed[1].get<String>(), String("b"));
  Map<String, Variant<int, double>> map{{"a", 1}, {"b", 2.5}};
  SAME(map.at("b").get<double>(), 2.5);
}

TEST(optionals, operations) {
  Optional<int> none, one = 1;
  CHECK(!none && one && one == 1 && none == std::nullopt && one != none);
  SAME(none.value_or(5) + *one, 6);
  THROWS("RuntimeError", "", none.value());
  Optional<Array<int>> a = Array<int>{1};
  SAME(a.value().size(), 1u);
  a = std::nullopt;
  CHECK(!a.has_value());
  Optional<String> s = String("text that is long");
  Optional<String> t = s;
  CHECK(t == s && t.value() == "text that is long");
  Function f = cpp_test::ThroughC(Function::FromTyped(
      [](Optional<String> x, Optional<Function> g) -> Optional<int> {
        if (!x.has_value() || g.has_value()) return std::nullopt;
        return static_cast<int>(x.value().size());
      }));
  CHECK(f(nullptr, nullptr) == nullptr);
  CHECK(f("x", f) == nullptr);
  SAME(f("four", nullptr).cast<Optional<int>>().value(), 4);
  THROWS("TypeError", "Optional<str>", f(1, nullptr));
  SAME(sizeof(Optional<Array<int>>), sizeof(void*));
}

TEST(shapes, operations) {
  Shape empty, s{2, 3, 4}, v(std::vector<int64_t>{5, 6});
  SAME(empty.size() + s.size() + v.size(), 5u);
  SAME(empty.Product() * s.Product() * v.Product(), 720);
  SAME(s[1] + s.at(2) + s.front() + s.back(), 13);
  THROWS("IndexError", "", s.at(3));
  SAME(cpp_test::Show(s), "[2, 3, 4]");
  auto library = Global("ffi.Shape")(2, 3, 4).cast<Shape>();
  CHECK(std::equal(s.begin(), s.end(), library.begin(), library.end()));
  CHECK(Global("runtime.ShapeTuple")().cast<Shape>().empty());
  SAME(Global("runtime.GetShapeTupleSize")(v).cast<int>(), 2);
  SAME(Global("runtime.GetShapeTupleElem")(v, 1).cast<int>(), 6);
  Shape strides = Shape::StridesFromShape(s);
  SAME(strides[0], 12);
  ShapeView view = s;
  SAME(view.Product(), 24);
  SAME(Any(Array<int64_t>{7, 8}).cast<Shape>()[1], 8);
  Function product = cpp_test::ThroughC(Function::FromTyped([](Shape x) { return x.Product(); }));
  SAME(product(s).cast<int>(), 24);
  SAME(product(Array<int64_t>{7, 8}).cast<int>(), 56);
  THROWS("TypeError", "ffi.Shape", product("x"));
  SAME(Any(s).GetTypeKey(), "ffi.Shape");
}
