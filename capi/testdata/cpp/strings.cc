// Strings and bytes: small and on the heap, made by C++ and by the library.
#include <unordered_map>

#include "cpp_test.h"

using namespace tvm::ffi;

static const size_t lengths[] = {0, 1, 6, 7, 8, 9, 15, 16, 1000, 100000};

TEST(strings, boundaries) {
  Function make = Function::GetGlobalRequired("ffi.String");
  for (size_t n : lengths) {
    std::string text;
    for (size_t i = 0; i < n; i++) text += static_cast<char>('a' + i % 26);
    String a(text.data(), n), b = make(text).cast<String>(), c(std::string{text}), d(text.c_str());
    TVMFFIByteArray array{text.data(), n};
    TVMFFIAny raw;
    TVM_FFI_CHECK_SAFE_CALL(TVMFFIStringFromByteArray(&array, &raw));
    SAME(raw.type_index, static_cast<int>(n <= 7 ? kTVMFFISmallStr : kTVMFFIStr));
    String e = detail::AnyUnsafe::MoveTVMFFIAnyToAny(&raw).cast<String>();
    for (const String& s : {a, b, c, d, e}) {
      SAME(s.size(), n);
      SAME(std::string(s), text);
      SAME(s.c_str()[n], '\0');
      CHECK(s == a && a == text && text == s && s == text.c_str());
      SAME(s.compare(text), 0);
      SAME(std::hash<String>()(s), std::hash<String>()(a));
      SAME(AnyHash()(s), AnyHash()(a));
      CHECK(AnyEqual()(s, a));
      SAME(s.empty(), n == 0);
      CHECK(s != a + "x" && a + "x" > s && s < a + "x");
      SAME((s + s).size(), 2 * n);
      SAME(std::string(s + text), text + text);
      SAME(std::string("<" + s + ">"), "<" + text + ">");
    }
  }
}

TEST(strings, text) {
  String s = "the quick brown fox";
  SAME(s.find("quick"), 4u);
  CHECK(s.find("slow") == String::npos);
  SAME(s.substr(4, 5), String("quick"));
  SAME(s.substr(16), String("fox"));
  CHECK(s.starts_with("the") && s.ends_with("fox") && !s.starts_with("fox"));
  SAME(s.Split(' ').size(), 4u);
  SAME(s.at(4), 'q');
  try {
    s.at(19);
    CHECK(false);
  } catch (const std::out_of_range&) {
  }
  CHECK(String("abc") < String("abd") && String("ab") < String("abc") && String("b") > String("abc"));
  CHECK(String("abc") <= String("abc") && String("abc") >= "abc");
  String zeros("a\0b\0c", 5);
  SAME(zeros.size(), 5u);
  CHECK(zeros != String("a") && zeros == std::string("a\0b\0c", 5));
  SAME(EscapeStringJSON("a\"b\n").size(), 8u);
  std::unordered_map<String, int> table{{"a", 1}, {"a longer key", 2}};
  SAME(table[String("a longer key")], 2);
  std::ostringstream out;
  out << s;
  SAME(out.str(), "the quick brown fox");
  s = "changed";
  s = std::string("changed to something long");
  String t = std::move(s);
  SAME(t, String("changed to something long"));
  t.swap(zeros);
  SAME(t.size(), 5u);
}

TEST(strings, across_the_border) {
  Function repeat = Function::FromTyped([](String s, int n) {
    String out;
    for (int i = 0; i < n; i++) out = out + s;
    return out;
  });
  SAME(repeat("ab", 3).cast<String>(), String("ababab"));
  SAME(repeat("ab", 3).type_index(), static_cast<int>(kTVMFFISmallStr));
  SAME(repeat("ab", 4).type_index(), static_cast<int>(kTVMFFIStr));
  Function pointer = Function::FromTyped([](const char* s) { return static_cast<int>(strlen(s)); });
  SAME(pointer("raw").cast<int>(), 3);
  Function standard = Function::FromTyped([](std::string s) { return s + "!"; });
  SAME(standard(String("x")).cast<std::string>(), "x!");
  SAME(standard(Bytes("y", 1)).cast<std::string>(), "y!");
  Optional<String> none, some = String("some");
  CHECK(!none.has_value() && some == String("some"));
}

TEST(bytes, boundaries) {
  Function make = Function::GetGlobalRequired("ffi.Bytes");
  for (size_t n : lengths) {
    std::string data(n, '\0');
    for (size_t i = 0; i < n; i++) data[i] = static_cast<char>(i * 7);
    TVMFFIByteArray array{data.data(), n};
    TVMFFIAny raw;
    TVM_FFI_CHECK_SAFE_CALL(TVMFFIBytesFromByteArray(&array, &raw));
    SAME(raw.type_index, static_cast<int>(n <= 7 ? kTVMFFISmallBytes : kTVMFFIBytes));
    Bytes library = detail::AnyUnsafe::MoveTVMFFIAnyToAny(&raw).cast<Bytes>();
    Bytes view = make(&array).cast<Bytes>();
    for (const Bytes& b : {Bytes(data.data(), n), Bytes(data), Bytes(std::string{data}), library, view, Bytes(array)}) {
      SAME(b.size(), n);
      SAME(std::string(b), data);
      CHECK(Bytes::memequal(b.data(), data.data(), b.size(), n));
      CHECK(AnyEqual()(b, library));
      SAME(AnyHash()(b), AnyHash()(library));
    }
  }
}
