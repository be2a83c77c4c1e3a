// Runs the tests of one area, or of all, and ends with "ok"; or lists the areas.
#include <cstring>

#include "cpp_test.h"

namespace cpp_test {
std::atomic<int> failures{0};
std::vector<Case>& Cases() {
  static std::vector<Case> cases;
  return cases;
}
}  // namespace cpp_test

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "areas") == 0) {
    for (const cpp_test::Case& c : cpp_test::Cases()) std::cout << c.area << '\n';
    return 0;
  }
  int ran = 0;
  for (const cpp_test::Case& c : cpp_test::Cases()) {
    if (argc > 1 && std::strcmp(argv[1], c.area) != 0) continue;
    ran++;
    try {
      c.run();
    } catch (const std::exception& e) {
      cpp_test::Fail(c.area, 0, std::string(c.name) + " ended with: " + e.what());
    }
  }
  if (ran == 0) cpp_test::Fail("main", 0, "no such area");
  if (cpp_test::failures == 0) std::cout << "ok" << std::endl;
  return cpp_test::failures != 0;
}
