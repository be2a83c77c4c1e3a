#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "vadd.h"

// A constructor of the program runs before main, and may use the library.
static const int at_start = [] {
  TVMFunctionHandle f = nullptr;
  return TVMFuncGetGlobal("runtime.NumThreads", &f) == 0 && f != nullptr ? TVMFuncFree(f) : -1;
}();

int main(int argc, char** argv) try {
  if (at_start != 0) throw std::runtime_error("runtime.NumThreads is not there before main");
  if (add_and_enter(argc, argv) != 0) return 1;
  std::cout << "ok" << std::endl;
  return 0;
} catch (const std::exception& e) {
  std::cout << e.what() << std::endl;
  return 1;
}
