// Package fakecuda builds a fake of NVIDIA's driver library, for tests on machines without a GPU. It has the
// properties of an H200 and real streams, on their own threads over host memory. It reports misuse that a real driver
// would answer with occasionally wrong data: unordered work, memory used after it was freed, handles of another
// context.
//
//	library := fakecuda.Build(t)                      // in place of libcuda.so.1
//	t.Setenv("FAKECUDA_KERNELS", fakecuda.Kernels(t)) // host functions in place of device code
//	t.Setenv("TVMGO_CUDA_LIBRARY", library)
//
// A process opens a driver once, so tests of different settings use package control (fakecuda.h for C), which
// also reads the reports, counts what is left, fails the k-th call, and sets everything back.
//
// The environment sets FAKECUDA_DEVICES (2), FAKECUDA_MEMORY (bytes a device can give, 256 MiB), FAKECUDA_VERSION
// (13000), FAKECUDA_DELAY_US (0, before each operation of a stream), FAKECUDA_KERNELS and FAKECUDA_LOG (a file for
// reports, stderr without it), FAKECUDA_LEAKS (1: a C program that exits reports what it left). They are read when the
// library is opened, and again by a reset.
//
// An address of a device is a number to the host: reading or writing it there is a fault, as with a real device.
package fakecuda
