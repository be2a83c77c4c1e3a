#include "object/object.h"
#include "object/usable.h"

const char* tvmgo_unusable;

int tvmgo_raise_unusable(const char* op) {
  return tvmgo_raise(TVMGO_RUNTIME_ERROR, "%s: %s", op, tvmgo_unusable);
}
