// Describes the kernels of a translated source to the fake CUDA driver (fakecuda_kernel.h). Translate appends
// CUDARUN_KERNEL(name, threads of __launch_bounds__) for each kernel.
#pragma once

#include "../fakecuda_kernel.h"

extern "C" {
// The linker sets these to the bounds of the section of static shared memory.
extern char __start_cudarun_shared[] __attribute__((visibility("hidden")));
extern char __stop_cudarun_shared[] __attribute__((visibility("hidden")));
}
CUDARUN_SHARED static char cudarun_red_last[64] __attribute__((used));

namespace cudarun {

struct library;
// Describes the library at path, whose static shared memory has these bounds.
CUDARUN_API library *add_library(char *shared, char *shared_end);
CUDARUN_API int launch(library *of, const fakecuda_launch *l, const fakecuda_kernel *k, void (*body)(void));
CUDARUN_API const void *parameter(int i);
CUDARUN_API size_t static_shared(const library *l, const char *kernel); // bytes

static library *here() {
  static library *of = add_library(__start_cudarun_shared, __stop_cudarun_shared);
  return of;
}

template <class T>
struct type_of {
  static fakecuda_param param() { return {sizeof(T), FAKECUDA_VALUE, nullptr, 0}; }
};
template <class T>
constexpr unsigned element_size() { return sizeof(T) < 4 ? sizeof(T) : 4; }
template <>
constexpr unsigned element_size<void>() { return 1; }
template <>
constexpr unsigned element_size<const void>() { return 1; }
template <class T>
struct type_of<T *> {
  static fakecuda_param param() { return {sizeof(T *), FAKECUDA_BOTH, nullptr, element_size<T>()}; }
};
template <class T>
struct type_of<const T *> {
  static fakecuda_param param() { return {sizeof(T *), FAKECUDA_READS, nullptr, element_size<const T>()}; }
};
template <class T>
struct type_of<T *__restrict__> : type_of<T *> {};

template <int... I>
struct indices {};
template <int N, int... I>
struct count_to : count_to<N - 1, N - 1, I...> {};
template <int... I>
struct count_to<0, I...> { typedef indices<I...> type; };

template <class T>
__attribute__((no_sanitize("thread", "alignment"), noinline)) static T argument(int i) {
  return *static_cast<const T *>(parameter(i));
}

template <class F, F *K>
struct entry;
template <class... A, void (*K)(A...)>
struct entry<void(A...), K> {
  static fakecuda_kernel kernel;
  static fakecuda_node node;

  template <int... I>
  __attribute__((no_sanitize("thread"))) static void call(indices<I...>) { K(argument<A>(I)...); }
  __attribute__((no_sanitize("thread"))) static void body() { call(typename count_to<sizeof...(A)>::type()); }
  static int run(const fakecuda_launch *l) { return launch(here(), l, &kernel, body); }
  static void add(const char *name, unsigned threads) {
    static_assert(sizeof...(A) <= FAKECUDA_MAX_PARAMS, "the kernel has too many parameters");
    const fakecuda_param params[] = {type_of<A>::param()..., fakecuda_param()};
    kernel.name = name;
    kernel.run = run;
    kernel.nparams = sizeof...(A);
    for (size_t i = 0; i < sizeof...(A); i++) kernel.params[i] = params[i];
    kernel.static_shared = static_cast<uint32_t>(static_shared(here(), name));
    kernel.max_threads = threads;
    node.kernel = &kernel;
    node.next = fakecuda_kernel_list;
    fakecuda_kernel_list = &node;
  }
};
template <class... A, void (*K)(A...)>
fakecuda_kernel entry<void(A...), K>::kernel;
template <class... A, void (*K)(A...)>
fakecuda_node entry<void(A...), K>::node;

} // namespace cudarun

#define CUDARUN_KERNEL(name, threads)                                                                                  \
  __attribute__((constructor)) static void cudarun_add_##name() {                                                      \
    cudarun::entry<decltype(name), name>::add(#name, threads);                                                         \
  }
