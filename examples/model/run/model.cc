/* The same as model.c with the classes of tvmgo/tvmgo.hpp:
 *
 *   model_cpp MODEL.so */
#include <tvmgo/tvmgo.hpp>

#include <cmath>
#include <cstdio>

namespace {

constexpr int kRows = 30, kInner = 32, kClasses = 10;

template <class F>
std::vector<float> fill(int n, F value) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (int i = 0; i < n; i++) v[static_cast<std::size_t>(i)] = value(i);
  return v;
}

void print_row(const char* name, const std::vector<float>& values) {
  std::printf("row 0 of %-8s", name);
  for (int j = 0; j < kClasses; j++) std::printf(" %.6f", values[static_cast<std::size_t>(j)]);
  std::printf("\n");
}

void run(const char* path) {
  const auto a = fill(kRows * kInner,
      [](int i) { return float((7 * (i / kInner) + 3 * (i % kInner)) % 11 - 5) * 0.25f; });
  const auto b = fill(kInner * kClasses,
      [](int i) { return float((5 * (i / kClasses) + 2 * (i % kClasses)) % 7 - 3) * 0.125f; });
  const auto bias = fill(kClasses, [](int i) { return float(i - 4) * 0.5f; });

  auto model = tvmgo::Module::load(path);
  auto x = tvmgo::Tensor::empty<float>({kRows, kClasses}), y = tvmgo::Tensor::empty<float>({kRows, kClasses});
  model.get("dense")(tvmgo::Tensor::from(a, {kRows, kInner}), tvmgo::Tensor::from(b, {kInner, kClasses}),
      tvmgo::Tensor::from(bias), x);
  model.get("softmax")(x, y);

  const auto dense = x.to_vector<float>(), softmax = y.to_vector<float>();
  for (int i = 0; i < kRows; i++) {
    float row[kClasses];
    double sum = 0;
    for (int j = 0; j < kClasses; j++) {
      row[j] = bias[std::size_t(j)];
      for (int k = 0; k < kInner; k++) row[j] += a[std::size_t(i * kInner + k)] * b[std::size_t(k * kClasses + j)];
      row[j] = std::fmax(row[j], 0.0f);
      sum += std::exp(double(row[j]));
    }
    for (int j = 0; j < kClasses; j++) {
      const auto at = std::size_t(i * kClasses + j);
      if (dense[at] != row[j] || !(std::fabs(softmax[at] - std::exp(double(row[j])) / sum) <= 1e-6))
        throw tvmgo::Error("ValueError", "wrong result: row " + std::to_string(i) + ", column " + std::to_string(j));
    }
  }
  print_row("dense:", dense);
  print_row("softmax:", softmax);
  std::printf("all %d rows are as plain loops in C++ have them\n", kRows);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s MODEL.so\n", argv[0]);
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
