static inline int tvmgo_clz(uint64_t x, int bits) { return x == 0 ? bits : __builtin_clzll(x) - (64 - bits); }
