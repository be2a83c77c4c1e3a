// Errors: kinds, messages, backtraces, causes and context, across the language boundary in both directions.
#include <thread>

#include "cpp_test.h"

using namespace tvm::ffi;
using cpp_test::ThroughC;

TEST(errors, kinds_and_messages) {
  Function thrower = ThroughC(Function::FromTyped([](String kind, String message) {
    throw Error(kind, message, "");
  }));
  for (const char* kind : {"ValueError", "TypeError", "IndexError", "KeyError", "RuntimeError", "InternalError",
                           "AttributeError", "MemoryError", "MyOwnKind", ""}) {
    for (const std::string& message : {std::string(), std::string("short"), std::string(100000, 'm')}) {
      std::string got;
      SAME(cpp_test::Thrown([&] { thrower(kind, message); }, &got), kind);
      SAME(got, message);
    }
  }
  Function macro = ThroughC(
      Function::FromTyped([](int x) { TVM_FFI_THROW(IndexError) << "index " << x << " of " << 3; }));
  THROWS("IndexError", "index 7 of 3", macro(7));
  THROWS("InternalError", "x == y (1 vs. 2) ", [](int x, int y) { TVM_FFI_ICHECK_EQ(x, y) << "why"; }(1, 2));
  THROWS("ValueError", "why", [](int x) { TVM_FFI_CHECK(x > 1, ValueError) << "why"; }(1));
  void* null = nullptr;
  THROWS("TypeError", "Check not null", TVM_FFI_CHECK_NOTNULL(null, TypeError));
}

TEST(errors, backtrace) {
  std::string trace;
  Function inner = ThroughC(Function::FromTyped([] { TVM_FFI_THROW(ValueError) << "deep"; }, "inner"));
  Function outer = ThroughC(Function::FromTyped([inner] { inner(); }, "outer"));
  std::string message;
  SAME(cpp_test::Thrown([&] { outer(); }, &message, &trace), "ValueError");
  SAME(message, "deep");
  CHECK(trace.find("errors.cc") != std::string::npos);
  CHECK(trace.find("line ") != std::string::npos);
  try {
    outer();
  } catch (const Error& e) {
    std::string full = e.FullMessage();
    CHECK(full.find("Traceback (most recent call last):") == 0);
    CHECK(full.find("ValueError: deep") != std::string::npos);
    SAME(std::string(e.what()), "deep");
    std::string last = e.TracebackMostRecentCallLast();
    CHECK(!last.empty() && last.back() == '\n');
  }
  const TVMFFIByteArray* here = TVMFFIBacktrace("file.cc", 12, "a_function", 0);
  std::string text(here->data, here->size);
  CHECK(text.find("file.cc") != std::string::npos && text.find("12") != std::string::npos);
  CHECK(text.find("a_function") != std::string::npos);
  CHECK(text.find('\n') + 1 < text.size()); // its callers follow
  CHECK(TVMFFIBacktrace(nullptr, 0, nullptr, 1) != nullptr);
}

TEST(errors, backtrace_is_updated) {
  Error mine("KeyError", "k", "one\n");
  TVMFFIByteArray more{"two\n", 4};
  mine.UpdateBacktrace(&more, kTVMFFIBacktraceUpdateModeAppend);
  SAME(mine.backtrace(), "one\ntwo\n");
  SAME(mine.TracebackMostRecentCallLast(), "two\none\n");
  mine.UpdateBacktrace(&more, kTVMFFIBacktraceUpdateModeReplace);
  SAME(mine.backtrace(), "two\n");
  TVMFFIErrorSetRaisedFromCStr("ValueError", "from the library");
  Error theirs = detail::MoveFromSafeCallRaised();
  SAME(theirs.kind(), "ValueError");
  SAME(theirs.message(), "from the library");
  theirs.UpdateBacktrace(&more, kTVMFFIBacktraceUpdateModeReplace);
  SAME(theirs.backtrace(), "two\n");
  for (int i = 0; i < 100; i++) theirs.UpdateBacktrace(&more, kTVMFFIBacktraceUpdateModeAppend);
  SAME(theirs.backtrace().size(), 404u);
}

TEST(errors, causes_and_context) {
  Array<int> context{1, 2, 3};
  Error cause("ValueError", "the cause", "");
  Error chained("RuntimeError", "the effect", "", cause, ObjectRef(context));
  Function thrower = ThroughC(Function::FromTyped([chained] { throw chained; }));
  try {
    thrower();
    CHECK(false);
  } catch (const Error& e) {
    CHECK(e.cause_chain().has_value() && e.extra_context().has_value());
    SAME(e.cause_chain()->message(), "the cause");
    CHECK(!e.cause_chain()->cause_chain().has_value());
    CHECK(e.extra_context()->same_as(context));
  }
  TVMFFIByteArray kind{"TypeError", 9}, message{"made by the library", 19}, trace{"", 0};
  TVMFFIObjectHandle out;
  {
    Error held("KeyError", "held", "");
    TVM_FFI_CHECK_SAFE_CALL(TVMFFIErrorCreateWithCauseAndExtraContext(
        &kind, &message, &trace, detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(held),
        detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(context), &out));
    SAME(held.use_count(), 2u);
  }
  SAME(context.use_count(), 3u);
  {
    Error e = detail::ObjectUnsafe::ObjectRefFromObjectPtr<Error>(
        detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(static_cast<TVMFFIObject*>(out)));
    SAME(e.message(), "made by the library");
    SAME(e.cause_chain()->kind(), "KeyError");
    CHECK(e.extra_context()->same_as(context));
  }
  SAME(context.use_count(), 2u);
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIErrorCreate(&kind, &message, &trace, &out));
  Error plain = detail::ObjectUnsafe::ObjectRefFromObjectPtr<Error>(
      detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(static_cast<TVMFFIObject*>(out)));
  CHECK(!plain.cause_chain().has_value() && !plain.extra_context().has_value());
}

TEST(errors, raised_by_the_library) {
  Function set = Function::GetGlobalRequired("ffi.MapGetItem");
  THROWS("KeyError", "", set(Map<String, int>{{"a", 1}}, "b"));
  THROWS("IndexError", "", Function::GetGlobalRequired("ffi.ArrayGetItem")(Array<int>{1}, 5));
  THROWS("TypeError", "", Function::GetGlobalRequired("ffi.ArrayGetItem")(1, 5));
  const char* parts[] = {"one ", nullptr, "two ", "three"};
  TVMFFIErrorSetRaisedFromCStrParts("IndexError", parts, 4);
  Error e = detail::MoveFromSafeCallRaised();
  SAME(e.kind() + ": " + e.message(), "IndexError: one two three");
  TVMFFIObjectHandle none = &e;
  TVMFFIErrorMoveFromRaised(&none);
  CHECK(none == nullptr);
}

TEST(errors, an_error_is_a_value) {
  Function make = Function::FromTyped([](String m) { return Error("ValueError", m, ""); });
  Error e = make("as a value").cast<Error>();
  SAME(e.message(), "as a value");
  Any any = e;
  SAME(any.type_index(), static_cast<int>(kTVMFFIError));
  SAME(any.GetTypeKey(), "ffi.Error");
  Function message_of = Function::FromTyped([](Error e) { return e.kind() + "/" + e.message(); });
  SAME(message_of(e).cast<std::string>(), "ValueError/as a value");
  Error copy = e;
  CHECK(copy.same_as(e));
  std::exception_ptr thrown;
  try {
    throw e;
  } catch (...) {
    thrown = std::current_exception();
  }
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& caught) {
    SAME(std::string(caught.what()), "as a value");
  }
}

TEST(errors, other_exceptions) {
  Function plain = Function::FromTyped([] { throw std::runtime_error("a plain one"); });
  THROWS("InternalError", "a plain one", ThroughC(plain)());
  Function signals = ThroughC(Function::FromTyped([] { throw EnvErrorAlreadySet(); }));
  SAME(cpp_test::Thrown([&] { signals(); }), "EnvErrorAlreadySet");
}

TEST(errors, nesting_rethrows_the_same_object) {
  Function f = Function::FromTyped([] { TVM_FFI_THROW(KeyError) << "bottom"; });
  const ErrorObj* first = nullptr;
  for (int depth = 0; depth < 20; depth++) {
    f = ThroughC(Function::FromTyped([f, &first] {
      try {
        f();
      } catch (const Error& e) {
        if (first == nullptr) first = e.get();
        throw;
      }
    }));
  }
  try {
    f();
  } catch (const Error& e) {
    CHECK(e.get() == first);
    SAME(e.use_count(), 1u);
  }
}

TEST(errors, belong_to_their_thread) {
  TVMFFIErrorSetRaisedFromCStr("ValueError", "main");
  std::thread([] {
    TVMFFIObjectHandle none = nullptr;
    TVMFFIErrorMoveFromRaised(&none);
    CHECK(none == nullptr);
    TVMFFIErrorSetRaisedFromCStr("ValueError", "left behind by a thread that ends");
  }).join();
  SAME(detail::MoveFromSafeCallRaised().message(), "main");
}
