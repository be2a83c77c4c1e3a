/* Loads a compiled module and calls a function f(A, B, C) that adds two float32 vectors; checks the result and measures
 * a call.
 *
 *   deploy_cpp MODULE [FUNCTION] [LENGTH]
 *
 * A C++ application needs only this header and the library (-ltvmgo). Functions that fail throw tvmgo::Error, and
 * destructors free everything. */
#include <tvmgo/tvmgo.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace {

constexpr int kSamples = 101;
constexpr std::int64_t kMaxLength = 1 << 28;

using Clock = std::chrono::steady_clock;

double micros(Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

/* The median time of a call in µs. A sample has so many calls that the time to read the clock is negligible. */
template <class F>
double measure(F call, int* calls) {
  auto begin = Clock::now();
  call();
  double once = micros(Clock::now() - begin);
  *calls = once >= 200 ? 1 : once < 0.02 ? 10000 : static_cast<int>(200 / once);
  std::vector<double> samples(kSamples);
  for (double& sample : samples) {
    begin = Clock::now();
    for (int i = 0; i < *calls; i++) call();
    sample = micros(Clock::now() - begin) / *calls;
  }
  std::nth_element(samples.begin(), samples.begin() + kSamples / 2, samples.end());
  return samples[kSamples / 2];
}

void run(const std::string& path, const std::string& name, std::int64_t n) {
  std::vector<float> a(static_cast<std::size_t>(n)), b(a.size());
  for (std::size_t i = 0; i < a.size(); i++) {
    a[i] = static_cast<float>(i % 1000);
    b[i] = 0.5f * static_cast<float>(i % 100);
  }

  tvmgo::Function add = tvmgo::Module::load(path).get(name); /* the function keeps its module */
  tvmgo::Tensor ta = tvmgo::Tensor::from(a), tb = tvmgo::Tensor::from(b), tc = tvmgo::Tensor::empty<float>({n});
  add(ta, tb, tc); /* the output is the last argument */

  std::vector<float> c = tc.to_vector<float>();
  for (std::size_t i = 0; i < c.size(); i++)
    if (!(std::fabs(c[i] - (a[i] + b[i])) <= 1e-5f))
      throw tvmgo::Error("ValueError", "wrong result: element " + std::to_string(i) + " is " + std::to_string(c[i]) +
                                           ", not " + std::to_string(a[i] + b[i]));

  int calls = 0;
  double us = measure([&] { add(ta, tb, tc); }, &calls);
  std::printf("%s of %s added %lld elements, and all are right\n", name.c_str(), path.c_str(),
      static_cast<long long>(n));
  std::printf("time of a call: %.3f us (median of %d samples of %d calls)\n", us, kSamples, calls);
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t n = 1024;
  bool good = argc >= 2 && argc <= 4;
  if (argc == 4) {
    const char* end = argv[3] + std::strlen(argv[3]);
    auto [rest, error] = std::from_chars(argv[3], end, n);
    good = error == std::errc() && rest == end && n >= 1 && n <= kMaxLength;
  }
  if (!good) {
    std::fprintf(stderr, "usage: %s MODULE [FUNCTION] [LENGTH from 1 to %lld]\n", argv[0],
        static_cast<long long>(kMaxLength));
    return 2;
  }
  try {
    run(argv[1], argc > 2 ? argv[2] : "add", n);
  } catch (const std::exception& e) { /* including tvmgo::Error */
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
