// What the lanes of a warp compute together.
#include "engine.h"

namespace cudarun {

template <class T>
static T *argument(const collective *c, int lane) {
  return static_cast<T *>(c->arguments[lane]);
}

template <class T, class F>
static void each(const collective *c, F f) {
  for (int l = 0; l < kLanes; l++) {
    if (c->mask >> l & 1) f(l, argument<T>(c, l));
  }
}

void shuffle(collective *c) {
  each<shuffled>(c, [&](int l, shuffled *s) {
    if (s->source < 0 || s->source >= kLanes || !(c->mask >> s->source & 1)) {
      current = &threads[current->warp * kLanes + l];
      fail_line(kLaunchFailed, c->line, "%s reads lane %d, which does not take part", c->doing, s->source);
    }
    s->result = argument<shuffled>(c, s->source)->value;
  });
}

void ballot(collective *c) {
  unsigned result = 0;
  each<vote>(c, [&](int l, vote *v) { result |= static_cast<unsigned>(v->predicate) << l; });
  each<vote>(c, [&](int, vote *v) { v->result = result; });
}

void match_any(collective *c) {
  each<matched>(c, [&](int, matched *m) {
    each<matched>(c, [&](int other, matched *o) { m->result |= m->value == o->value ? 1u << other : 0u; });
  });
}

void match_all(collective *c) {
  bool all = true;
  const matched *first = argument<matched>(c, __builtin_ctz(c->mask));
  each<matched>(c, [&](int, matched *m) { all &= m->value == first->value; });
  each<matched>(c, [&](int, matched *m) {
    m->all = all;
    m->result = all ? c->mask : 0;
  });
}

template <class F>
static void reduce_by(collective *c, F f) {
  long long result = argument<reduced>(c, __builtin_ctz(c->mask))->value;
  unsigned rest = c->mask & (c->mask - 1);
  for (; rest; rest &= rest - 1) result = f(result, argument<reduced>(c, __builtin_ctz(rest))->value);
  each<reduced>(c, [&](int, reduced *r) { r->result = result; });
}

void reduce_add(collective *c) { reduce_by(c, [](long long a, long long b) { return a + b; }); }
void reduce_min(collective *c) { reduce_by(c, [](long long a, long long b) { return a < b ? a : b; }); }
void reduce_max(collective *c) { reduce_by(c, [](long long a, long long b) { return a > b ? a : b; }); }
void reduce_and(collective *c) { reduce_by(c, [](long long a, long long b) { return a & b; }); }
void reduce_or(collective *c) { reduce_by(c, [](long long a, long long b) { return a | b; }); }
void reduce_xor(collective *c) { reduce_by(c, [](long long a, long long b) { return a ^ b; }); }

void fence(void) { memory_fence(); }

} // namespace cudarun
