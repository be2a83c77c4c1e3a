/* Loads a whole model with its parameters, lists its functions, and runs one from two threads with different batch
 * sizes.
 *
 *   deploy_model MODEL.so PARAMS IN.npy OUT.npy [FUNCTION]
 *
 * IN and OUT are float32: the first input of the function and what it must return. The first dimension is the batch.
 * The program needs one header and the library (-ltvmgo). Functions that fail throw tvmgo::Error, and destructors free
 * everything. */
#include <tvmgo/tvmgo.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <future>
#include <sstream>

namespace {

constexpr int kCalls = 100;

/* ---- arrays in NumPy's format ---- */

struct Array {
  std::vector<float> data;
  tvmgo::Shape shape;

  /* The first rows. */
  tvmgo::Tensor first(std::int64_t rows) const {
    tvmgo::Shape part = shape;
    part[0] = rows;
    return tvmgo::Tensor::from_pointer(data.data(), part);
  }
};

/* Reads float32 in C order. */
Array read_npy(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  std::string magic(10, '\0'), header;
  const auto number = [&](std::size_t at) -> std::size_t { return static_cast<unsigned char>(magic[at]); };
  if (f.read(magic.data(), 10)) header.resize(number(8) + 256 * number(9));
  f.read(header.data(), static_cast<std::streamsize>(header.size()));
  const auto has = [&](const char* text) { return header.find(text) != header.npos; };
  const char shape[] = "'shape': (";
  if (!f || magic.compare(0, 7, "\x93NUMPY\1") != 0 || !has("'<f4'") || !has("'fortran_order': False") || !has(shape))
    throw tvmgo::Error("ValueError", path + ": a NumPy file with float32 in C order is needed");
  Array a;
  std::istringstream dims(header.substr(header.find(shape) + std::strlen(shape)));
  std::size_t n = 1;
  for (std::int64_t extent; dims >> extent; dims.ignore(1)) {
    a.shape.push_back(extent);
    n *= static_cast<std::size_t>(extent);
  }
  a.data.resize(n);
  auto* bytes = reinterpret_cast<char*>(a.data.data());
  if (a.shape.empty() || !f.read(bytes, static_cast<std::streamsize>(n * sizeof(float))))
    throw tvmgo::Error("ValueError", path + ": it has no dimension, or it is cut short");
  return a;
}

/* ---- calls ---- */

void run(int argc, char** argv) {
  const auto model = tvmgo::Model::load(argv[1], {}, argv[2]);
  const Array in = read_npy(argv[3]), out = read_npy(argv[4]);
  const std::string function = argc > 5 ? argv[5] : "forward";

  std::string input;
  for (const auto& f : model.functions()) {
    std::printf("%s\n", f.text.c_str());
    for (const auto& param : f.params)
      if (f.name == function && input.empty() && !param.bound) input = param.name;
  }
  if (input.empty()) throw tvmgo::Error("ValueError", "the model has no function \"" + function + "\" with an input");

  /* Both threads use the same model. */
  const auto calls = [&](std::int64_t rows) {
    for (int i = 0; i < kCalls; i++) {
      const auto y = model.run(function, {{input, in.first(rows)}}).as<tvmgo::Tensor>().to_vector<float>();
      for (std::size_t k = 0; k < y.size(); k++)
        if (!(std::fabs(y[k] - out.data.at(k)) <= 1e-5f))
          throw tvmgo::Error("ValueError", "wrong result: element " + std::to_string(k) + " is " +
                                               std::to_string(y[k]) + ", not " + std::to_string(out.data[k]));
    }
  };
  const std::int64_t rows[2] = {1, in.shape[0]};
  auto first = std::async(std::launch::async, calls, rows[0]);
  auto second = std::async(std::launch::async, calls, rows[1]);
  first.get(); /* throws what the thread threw */
  second.get();
  for (int i = 0; i < 2; i++)
    std::printf("thread %d: %d calls with a batch of %lld, and all are right\n", i + 1, kCalls,
        static_cast<long long>(rows[i]));
  std::printf("memory: %lld bytes of weights for both threads\n", static_cast<long long>(model.memory().weights));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc > 6) {
    std::fprintf(stderr, "usage: %s MODEL.so PARAMS IN.npy OUT.npy [FUNCTION]\n", argv[0]);
    return 2;
  }
  try {
    run(argc, argv);
  } catch (const std::exception& e) { /* including tvmgo::Error */
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
