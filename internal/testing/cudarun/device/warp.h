// Operations of a warp. Each is executed by all lanes of its mask together; a value comes only from a lane that takes
// part.
#pragma once

namespace cudarun {

struct shuffled {
  unsigned long long value, result;
  int source; // a lane
};

CUDARUN_API void shuffle(collective *);
CUDARUN_API void ballot(collective *);
CUDARUN_API void match_any(collective *);
CUDARUN_API void match_all(collective *);

static inline int lane() {
  return static_cast<int>((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32);
}

template <class T>
static T exchange(unsigned mask, T value, int source, int line, const char *doing) {
  static_assert(sizeof(T) <= 8, "shuffles take values of up to 8 bytes");
  shuffled s = {};
  __builtin_memcpy(&s.value, &value, sizeof value);
  s.source = source;
  together(mask, &s, shuffle, line, doing);
  __builtin_memcpy(&value, &s.result, sizeof value);
  return value;
}

template <class T>
static T shfl(int line, unsigned mask, T v, int source, int width = 32) {
  return exchange(mask, v, (lane() & ~(width - 1)) | (source & (width - 1)), line, "__shfl_sync");
}
template <class T>
static T shfl_up(int line, unsigned mask, T v, unsigned delta, int width = 32) {
  int from = lane() - static_cast<int>(delta);
  return exchange(mask, v, from < (lane() & ~(width - 1)) ? lane() : from, line, "__shfl_up_sync");
}
template <class T>
static T shfl_down(int line, unsigned mask, T v, unsigned delta, int width = 32) {
  int from = lane() + static_cast<int>(delta);
  return exchange(mask, v, from > (lane() | (width - 1)) ? lane() : from, line, "__shfl_down_sync");
}
template <class T>
static T shfl_xor(int line, unsigned mask, T v, int bits, int width = 32) {
  int from = lane() ^ bits;
  return exchange(mask, v, from > (lane() | (width - 1)) ? lane() : from, line, "__shfl_xor_sync");
}

struct vote {
  unsigned mask, result;
  int predicate;
};
static inline unsigned votes(int line, unsigned mask, int predicate, const char *doing) {
  vote v = {mask, 0, predicate};
  together(mask, &v, ballot, line, doing);
  return v.result;
}

struct matched {
  unsigned long long value;
  unsigned result;
  int size, all;
};
template <class T>
static unsigned match(int line, unsigned mask, T value, int *all) {
  matched m = {0, 0, sizeof value, 0};
  __builtin_memcpy(&m.value, &value, sizeof value);
  together(mask, &m, all ? match_all : match_any, line, all ? "__match_all_sync" : "__match_any_sync");
  if (all) *all = m.all;
  return m.result;
}

struct reduced {
  long long value, result;
};
CUDARUN_API void reduce_add(collective *);
CUDARUN_API void reduce_min(collective *);
CUDARUN_API void reduce_max(collective *);
CUDARUN_API void reduce_and(collective *);
CUDARUN_API void reduce_or(collective *);
CUDARUN_API void reduce_xor(collective *);
template <class T>
static T reduce(int line, unsigned mask, T value, void (*how)(collective *), const char *doing) {
  static_assert(sizeof(T) == 4, "reductions of a warp take 32-bit integers");
  reduced r = {value, 0};
  together(mask, &r, how, line, doing);
  return static_cast<T>(r.result);
}

} // namespace cudarun

#define __shfl_sync(...) cudarun::shfl(__LINE__, __VA_ARGS__)
#define __shfl_up_sync(...) cudarun::shfl_up(__LINE__, __VA_ARGS__)
#define __shfl_down_sync(...) cudarun::shfl_down(__LINE__, __VA_ARGS__)
#define __shfl_xor_sync(...) cudarun::shfl_xor(__LINE__, __VA_ARGS__)
#define __ballot_sync(mask, p) cudarun::votes(__LINE__, mask, (p) != 0, "__ballot_sync")
#define __any_sync(mask, p) (cudarun::votes(__LINE__, mask, (p) != 0, "__any_sync") != 0)
#define __all_sync(mask, p) (cudarun::votes(__LINE__, mask, (p) == 0, "__all_sync") == 0)
#define __match_any_sync(mask, v) cudarun::match(__LINE__, mask, v, nullptr)
#define __match_all_sync(mask, v, all) cudarun::match(__LINE__, mask, v, all)
#define __reduce_add_sync(mask, v) cudarun::reduce(__LINE__, mask, v, cudarun::reduce_add, "__reduce_add_sync")
#define __reduce_min_sync(mask, v) cudarun::reduce(__LINE__, mask, v, cudarun::reduce_min, "__reduce_min_sync")
#define __reduce_max_sync(mask, v) cudarun::reduce(__LINE__, mask, v, cudarun::reduce_max, "__reduce_max_sync")
#define __reduce_and_sync(mask, v) cudarun::reduce(__LINE__, mask, v, cudarun::reduce_and, "__reduce_and_sync")
#define __reduce_or_sync(mask, v) cudarun::reduce(__LINE__, mask, v, cudarun::reduce_or, "__reduce_or_sync")
#define __reduce_xor_sync(mask, v) cudarun::reduce(__LINE__, mask, v, cudarun::reduce_xor, "__reduce_xor_sync")
#define __activemask() cudarun::active_mask(__LINE__)
#define CUDARUN_PICK(a, b, ...) b
#define __syncwarp(...)                                                                                                \
  cudarun::together(CUDARUN_PICK(0, ##__VA_ARGS__, 0xFFFFFFFFu), nullptr, nullptr, __LINE__, "__syncwarp")
