#include "vadd.h"

int main(int argc, char** argv) {
  if (add_and_enter(argc, argv) != 0) return 1;
  puts("ok");
  return 0;
}
