// Atomic operations on global and shared memory. Threads of a block run one at a time, so plain code is atomic; the
// engine checks the address, and that no other thread accesses it in another way meanwhile.
#pragma once

namespace cudarun {

CUDARUN_API void atomic_access(void *p, size_t n);

template <class T, class F>
__attribute__((no_sanitize("thread"))) static inline T atomically(T *p, F f) {
  atomic_access(p, sizeof *p);
  T old = *p;
  *p = f(old);
  return old;
}

} // namespace cudarun

#define CUDARUN_ATOMIC(name, T, expression)                                                                            \
  static inline T name(T *p, T v) {                                                                                    \
    return cudarun::atomically(p, [v](T old) -> T { (void)old; return expression; });                                  \
  }
#define CUDARUN_ATOMICS(T)                                                                                             \
  CUDARUN_ATOMIC(atomicAdd, T, static_cast<T>(old + v))                                                                \
  CUDARUN_ATOMIC(atomicExch, T, v)
#define CUDARUN_INTEGER_ATOMICS(T)                                                                                     \
  CUDARUN_ATOMICS(T)                                                                                                   \
  CUDARUN_ATOMIC(atomicSub, T, static_cast<T>(old - v))                                                                \
  CUDARUN_ATOMIC(atomicMin, T, old < v ? old : v)                                                                      \
  CUDARUN_ATOMIC(atomicMax, T, old > v ? old : v)                                                                      \
  CUDARUN_ATOMIC(atomicAnd, T, old & v)                                                                                \
  CUDARUN_ATOMIC(atomicOr, T, old | v)                                                                                 \
  CUDARUN_ATOMIC(atomicXor, T, old ^ v)                                                                                \
  static inline T atomicCAS(T *p, T expected, T v) {                                                                   \
    return cudarun::atomically(p, [=](T old) -> T { return old == expected ? v : old; });                              \
  }
CUDARUN_INTEGER_ATOMICS(int)
CUDARUN_INTEGER_ATOMICS(unsigned int)
CUDARUN_INTEGER_ATOMICS(unsigned long long)
CUDARUN_INTEGER_ATOMICS(long long)
CUDARUN_ATOMICS(float)
CUDARUN_ATOMICS(double)
CUDARUN_ATOMIC(atomicInc, unsigned int, old >= v ? 0 : old + 1)
CUDARUN_ATOMIC(atomicDec, unsigned int, old == 0 || old > v ? v : old - 1)
#undef CUDARUN_INTEGER_ATOMICS
#undef CUDARUN_ATOMICS
#undef CUDARUN_ATOMIC
static inline unsigned short atomicCAS(unsigned short *p, unsigned short expected, unsigned short v) {
  return cudarun::atomically(p, [=](unsigned short old) { return old == expected ? v : old; });
}
