// Inline PTX: asm statements become calls of the engine's interpreter (engine/ptx.cpp). Translate in translate.go
// writes, for asm volatile("TEXT" : "=f"(x) : "r"(y)),
//
//	{ static const cudarun::ptx code("TEXT", LINE); cudarun::operand o[] = {cudarun::output("=f", x),
//	  cudarun::input("r", y)}; code.run(o); }
#pragma once

namespace cudarun {

struct operand {
  unsigned long long bits; // of an input
  void *to;                // of an output
  unsigned size;           // bytes
  char kind;               // r, l, h, f, d or n
};

template <class T>
static inline operand input(const char *constraint, T x) {
  operand o = {0, nullptr, sizeof x, constraint[0]};
  static_assert(sizeof x <= 8, "operands have up to 8 bytes");
  __builtin_memcpy(&o.bits, &x, sizeof x);
  if (o.kind == 'n' || (T(-1) < T(0) && sizeof x < 8 && o.kind != 'f' && o.kind != 'd')) {
    o.bits = static_cast<unsigned long long>(static_cast<long long>(x));
  }
  return o;
}
template <class T>
static inline operand input(const char *constraint, T *x) {
  return {reinterpret_cast<unsigned long long>(x), nullptr, 8, constraint[0]};
}
template <class T>
static inline operand output(const char *constraint, T &x) {
  operand o = {0, &x, sizeof x, constraint[1]};
  if (constraint[0] == '+') __builtin_memcpy(&o.bits, &x, sizeof x);
  return o;
}

struct instruction;
class CUDARUN_API ptx {
 public:
  ptx(const char *text, int line);
  void run(operand *operands) const;

 private:
  instruction *code;
  int count, line;
};

CUDARUN_API size_t shared_window(const void *p);

} // namespace cudarun

static inline size_t __cvta_generic_to_shared(const void *p) { return cudarun::shared_window(p); }
static inline size_t __cvta_generic_to_global(const void *p) { return reinterpret_cast<size_t>(p); }
