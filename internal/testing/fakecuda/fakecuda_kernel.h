// A kernel of the fake CUDA driver is a host function with a description of its parameters. C sources define kernels
// with FAKECUDA_KERNEL; fakecuda.Kernels compiles them into the library that FAKECUDA_KERNELS names.
#ifndef FAKECUDA_KERNEL_H
#define FAKECUDA_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define FAKECUDA_MAX_PARAMS 24

// The allocation that contains the pointer of a parameter.
typedef struct fakecuda_extent {
  void *base;
  size_t bytes;
} fakecuda_extent;

// The arguments of a launch. params[i] points to the value of parameter i; pointer values are host addresses.
typedef struct fakecuda_launch {
  uint32_t grid[3], block[3], cluster[3];
  uint32_t shared; // dynamic, bytes
  int device;
  const void *const *params;
  const fakecuda_extent *extents; // of each parameter; {NULL, 0} for values
  void (*wait_released)(void); // returns when fakecuda_release was called
  void (*report)(const char *text); // adds a report of misuse
} fakecuda_launch;

enum { FAKECUDA_VALUE = 0, FAKECUDA_READS = 1, FAKECUDA_WRITES = 2, FAKECUDA_BOTH = 3 };

typedef struct fakecuda_param {
  uint32_t size; // bytes
  int access;    // FAKECUDA_VALUE unless it is a pointer
  // The number of bytes that the kernel accesses from the pointer on; if NULL, all up to the end of the allocation. It
  // must not dereference pointers, which are not host addresses yet.
  size_t (*bytes)(const fakecuda_launch *launch);
  uint32_t element; // bytes of an element of a pointer's memory; 0 for unknown
} fakecuda_param;

typedef struct fakecuda_kernel {
  const char *name;
  int (*run)(const fakecuda_launch *launch); // returns 0 or a CUresult, such as 700 for an illegal address
  uint32_t nparams;
  fakecuda_param params[FAKECUDA_MAX_PARAMS];
  uint32_t static_shared; // bytes
  uint32_t max_threads;   // per block; 0 for 1024
  uint32_t registers;     // per thread; 0 for 32
  uint32_t arch;          // 90 for sm_90; 0 for any
} fakecuda_kernel;

// Kernels whose parameters differ in size can have the same name: the image determines which one is used.
typedef struct fakecuda_node {
  const fakecuda_kernel *kernel;
  struct fakecuda_node *next;
} fakecuda_node;

#ifndef FAKE_H // the driver has no list: it reads that of the kernels' library
__attribute__((weak, visibility("default"))) fakecuda_node *fakecuda_kernel_list;
#endif

#define FAKECUDA_KERNEL(ident, ...)                                                                                    \
  static const fakecuda_kernel ident = {__VA_ARGS__};                                                                  \
  __attribute__((constructor)) static void ident##_add(void) {                                                         \
    static fakecuda_node node = {&ident, NULL};                                                                        \
    node.next = fakecuda_kernel_list;                                                                                  \
    fakecuda_kernel_list = &node;                                                                                      \
  }

#define FAKECUDA_ARG(launch, i, type) (*(__typeof__(type) const *)(launch)->params[i])

#endif
