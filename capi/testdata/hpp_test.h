/* Harness of the program that tests tvmgo.hpp. */
#ifndef HPP_TEST_H_
#define HPP_TEST_H_

#include <tvmgo/tvmgo.hpp>

#include "check.h"

using namespace tvmgo;

/* Runs f, which must fail with an error of this kind ("": any) that contains these words. */
template <class F>
static void fails(int line, const char* kind, const char* words, F f) {
  try {
    f();
    FAIL("line %d: no error, want %s: %s", line, kind, words);
  } catch (const Error& e) {
    if ((*kind != 0 && e.kind() != kind) || e.message().find(words) == e.message().npos)
      FAIL("line %d: %s, want %s: %s", line, e.what(), kind, words);
    if (std::string(e.what()) != e.kind() + ": " + e.message()) FAIL("line %d: what() is %s", line, e.what());
  }
}

void test_containers(); /* hpp_container_test.cc */
void test_model(const std::string& file, const std::string& params, const std::string& in, const std::string& out);
void test_graph(const std::string& file, const std::string& in, const std::string& out);

#endif
