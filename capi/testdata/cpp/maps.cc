// Maps and dicts of every size, made by C++ and read by the library's functions, and the reverse.
#include <random>
#include <unordered_map>

#include "cpp_test.h"
#include <tvm/ffi/container/dict.h>

using namespace tvm::ffi;

static const int sizes[] = {0, 1, 2, 3, 4, 5, 8, 9, 100, 1000, 100000};

static Function Global(const char* name) { return Function::GetGlobalRequired(name); }

// Keys of all kinds that have the same text or number on both sides.
static Any Key(int i) {
  switch (i % 4) {
    case 0: return i;
    case 1: return String("k" + std::to_string(i));
    case 2: return String("a key on the heap, number " + std::to_string(i));
    default: return i + 0.5;
  }
}

// The library's iterator of a map: f(0) is the key, f(1) the value, f(2) advances and returns whether there are more
// entries.
static std::vector<std::pair<Any, Any>> Walk(const Function& walker, int64_t n) {
  std::vector<std::pair<Any, Any>> out;
  for (int64_t i = 0; i < n; i++) {
    out.emplace_back(walker(0), walker(1));
    if (walker(2).cast<bool>() != (i + 1 < n)) CHECK(false);
  }
  return out;
}

// Made in C++, read through prefix + Size, Count, GetItem and ForwardIterFunctor.
template <typename M>
static void ReadByLibrary(const M& m, int n, const std::string& prefix) {
  SAME(Global((prefix + "Size").c_str())(m).template cast<int>(), n);
  Function count = Global((prefix + "Count").c_str()), get = Global((prefix + "GetItem").c_str());
  for (int i = 0; i < n; i++)
    if (count(m, Key(i)).template cast<int>() != 1 || get(m, Key(i)).template cast<int>() != i) SAME(i, -1);
  SAME(count(m, Key(n)).template cast<int>(), 0);
  THROWS("KeyError", "", get(m, Key(n)));
  auto entries = Walk(Global((prefix + "ForwardIterFunctor").c_str())(m).template cast<Function>(), n);
  for (int i = 0; i < n; i++)
    if (!AnyEqual()(entries[i].first, Key(i)) || entries[i].second.template cast<int>() != i) SAME(i, -1);
}

// Read in C++, whichever side made it.
template <typename M>
static void ReadByCpp(const M& m, int n) {
  SAME(m.size(), n);
  int i = 0;
  for (const auto& [key, value] : m) {
    if (!AnyEqual()(key, Key(i)) || value.template cast<int>() != i) SAME(i, -1);
    i++;
  }
  SAME(i, n);
  for (i = 0; i < n; i++)
    if (m.count(Key(i)) != 1 || m.at(Key(i)).template cast<int>() != i) SAME(i, -1);
  CHECK(m.find(Key(n)) == m.end() && !m.Get(Key(n)).has_value() && m.count(Key(n)) == 0);
}

// Erases every third key, puts half of them back at the end, and replaces a value.
template <typename M>
static void Churn(M m, int n) {
  size_t left = m.size();
  for (int i = 0; i < n; i += 3) {
    m.erase(Key(i));
    left--;
  }
  SAME(m.size(), left);
  m.erase(Key(0));
  SAME(m.size(), left);
  int last = -1;
  for (const auto& [key, value] : m) {
    int v = value.template cast<int>();
    if (v <= last || v % 3 == 0) SAME(v, -1);
    last = v;
  }
  for (int i = 0; i < n; i += 6) m.Set(Key(i), i);
  for (int i = 0; i < n; i++)
    if (m.count(Key(i)) != (i % 3 != 0 || i % 6 == 0 ? 1 : 0)) SAME(i, -1);
  m.clear();
  SAME(m.size(), 0u);
  m.Set("after", 1);
  SAME(m.size(), 1u);
}

TEST(maps, made_by_cpp) {
  for (int n : sizes) {
    Map<Any, Any> m;
    for (int i = 0; i < n; i++) m.Set(Key(i), i);
    ReadByLibrary(m, n, "ffi.Map");
    ReadByCpp(m, n);
    Map<Any, Any> copy = m;
    copy.Set("another", 0);
    SAME(m.count("another"), 0u);
    SAME(copy.size(), n + 1);
    Churn(m, n);
    ReadByCpp(m, n);
    std::vector<std::pair<Any, Any>> pairs(m.begin(), m.end());
    Map<Any, Any> from_range(pairs.begin(), pairs.end());
    ReadByLibrary(from_range, n, "ffi.Map");
  }
}

TEST(maps, made_by_library) {
  for (int n : sizes) {
    std::vector<Any> items;
    for (int i = 0; i < n; i++) {
      items.push_back(Key(i));
      items.push_back(i);
    }
    std::vector<AnyView> args(items.begin(), items.end());
    for (const char* name : {"ffi.Map", "runtime.Map"}) {
      Any made;
      Global(name).CallPacked(args.data(), static_cast<int32_t>(args.size()), &made);
      auto m = made.cast<Map<Any, Any>>();
      made.reset();
      ReadByCpp(m, n);
      ReadByLibrary(m, n, "ffi.Map");
      Map<Any, Any> shared = m;
      Churn(m, n);  // on a copy
      ReadByCpp(shared, n);
      CHECK(shared.same_as(m));
      shared = Map<Any, Any>();
      m.Set(Key(n), n);  // in place
      ReadByCpp(m, n + 1);
      Churn(std::move(m), n + 1);
    }
  }
}

TEST(maps, dict_made_by_cpp) {
  for (int n : sizes) {
    Dict<Any, Any> d, alias = d;
    for (int i = 0; i < n; i++) d.Set(Key(i), i);
    CHECK(alias.same_as(d));
    ReadByLibrary(d, n, "ffi.Dict");
    ReadByCpp(alias, n);
    // The library changes and grows the dict while C++ holds it.
    Function set = Global("ffi.DictSetItem"), erase = Global("ffi.DictErase");
    for (int i = n; i < 2 * n + 3; i++) set(d, Key(i), i);
    ReadByCpp(alias, 2 * n + 3);
    for (int i = 2 * n + 2; i >= n; i--) erase(d, Key(i));
    ReadByCpp(alias, n);
    Churn(d, n);
    SAME(alias.size(), 1u);
    Global("ffi.DictClear")(d);
    SAME(alias.size(), 0u);
    alias.Set(1, 2);
    SAME(d.at(1).cast<int>(), 2);
  }
}

TEST(maps, dict_made_by_library) {
  for (int n : sizes) {
    std::vector<Any> items;
    for (int i = 0; i < n; i++) {
      items.push_back(Key(i));
      items.push_back(i);
    }
    std::vector<AnyView> args(items.begin(), items.end());
    Any made;
    Global("ffi.Dict").CallPacked(args.data(), static_cast<int32_t>(args.size()), &made);
    auto d = made.cast<Dict<Any, Any>>();
    ReadByCpp(d, n);
    ReadByLibrary(d, n, "ffi.Dict");
    for (int i = n; i < 2 * n + 3; i++) d.Set(Key(i), i);
    ReadByLibrary(made.cast<Dict<Any, Any>>(), 2 * n + 3, "ffi.Dict");
    Churn(d, 2 * n + 3);
  }
}

// Both sides change one dict alternately; a map of the standard library has the expected contents.
TEST(maps, dict_changed_by_both) {
  std::mt19937 random(7);
  Dict<Any, Any> d;
  std::unordered_map<int, int> want;
  Function set = Global("ffi.DictSetItem"), erase = Global("ffi.DictErase"), get = Global("ffi.DictGetItem");
  for (int step = 0; step < 60000; step++) {
    int k = static_cast<int>(random() % (step % 10000 + 3));
    bool library = random() % 2;
    if (random() % 3 != 0) {
      library ? (void)set(d, Key(k), step) : d.Set(Key(k), step);
      want[k] = step;
    } else {
      if (want.count(k) != 0 && (library ? d.at(Key(k)) : get(d, Key(k))).cast<int>() != want[k]) SAME(k, -1);
      if (library)
        d.erase(Key(k));
      else if (want.count(k) != 0)
        erase(d, Key(k));
      want.erase(k);
    }
  }
  SAME(d.size(), want.size());
  for (const auto& [k, v] : want)
    if (d.at(Key(k)).cast<int>() != v || get(d, Key(k)).cast<int>() != v) SAME(k, -1);
}

TEST(maps, typed) {
  Map<String, Array<int>> m{{"a", {1, 2}}, {"b", {}}};
  SAME(m["a"].size(), 2u);
  SAME(m.at("b").size(), 0u);
  THROWS("KeyError", "", m.at("c"));
  CHECK(m.Get("a").has_value() && !m.Get("z").has_value());
  std::unordered_map<String, int> table{{"x", 1}, {"y", 2}};
  Map<String, int> from_table(table);
  SAME(from_table.at("y"), 2);
  Map<String, int> merged = Merge(Map<String, int>{{"a", 1}, {"x", 5}}, from_table);
  SAME(merged.size(), 3u);
  SAME(merged.at("x"), 1);
  Map<Any, Any> wide = m;
  CHECK(wide.same_as(m));
  SAME((Any(wide).cast<Map<String, Array<int>>>().size()), 2u);
  THROWS("TypeError", "Map", Any(Map<Any, Any>{{"a", "b"}}).cast<Map<String, int>>());
  Map<int, double> converted = Any(Map<Any, Any>{{1, 2}}).cast<Map<int, double>>();
  SAME(converted.at(1), 2.0);
  Map<String, int> moved = std::move(merged);
  SAME(moved.size(), 3u);
  Function size = Function::FromTyped([](Map<String, int> m) { return static_cast<int>(m.size()); });
  SAME(size(moved).cast<int>(), 3);
  THROWS("TypeError", "#0", size(Array<int>{}));
  Map<String, Map<String, int>> nested{{"in", moved}};
  SAME(nested.at("in").at("a"), 1);
  Map<ObjectRef, int> by_address{{m, 1}, {nested, 2}};
  SAME(by_address.at(m) + by_address.at(nested), 3);
  Dict<String, int> d{{"one", 1}};
  Dict<String, int> e = d;
  e.Set("two", 2);
  SAME(d.size(), 2u);
  SAME((Any(d).cast<Map<String, int>>().size()), 2u);
}

TEST(maps, values_are_released) {
  Array<int> value{1};
  for (int n : {1, 4, 5, 1000}) {
    Map<Any, Any> m;
    Dict<Any, Any> d;
    for (int i = 0; i < n; i++) {
      m.Set(i, value);
      Global("ffi.DictSetItem")(d, i, value);
    }
    SAME(value.use_count(), 2 * n + 1);
    Map<Any, Any> copy = m;
    copy.erase(0);
    SAME(value.use_count(), 3 * n);
    m.Set(0, 1);
    SAME(value.use_count(), 3 * n - 1);
    Global("ffi.DictErase")(d, 0);
    SAME(value.use_count(), 3 * n - 2);
  }
  SAME(value.use_count(), 1);
}
