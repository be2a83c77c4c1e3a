// Package fakecuda builds a fake of NVIDIA's driver library, for tests on machines without a GPU. It has the
// properties of an H200 and real streams, on their own threads over host memory. It reports misuse that a real driver
// does not detect, and that occasionally gives wrong data: unordered work, memory used after it was freed, handles of
// another context.
//
//	library := fakecuda.Build(t)                      // in place of libcuda.so.1
//	t.Setenv("FAKECUDA_KERNELS", fakecuda.Kernels(t)) // host functions in place of device code
//	t.Setenv("TVMGO_CUDA_LIBRARY", library)
//
// A process opens a driver only once, so tests of different settings use package control (fakecuda.h for C), which
// also reads the reports, counts what was not released, fails the k-th call, and restores the initial state.
//
// These environment variables are read when the library is opened and at every reset: FAKECUDA_DEVICES (default 2),
// FAKECUDA_MEMORY (bytes of memory of each device, default 256 MiB), FAKECUDA_VERSION (default 13000),
// FAKECUDA_DELAY_US (delay before each operation of a stream, default 0), FAKECUDA_KERNELS, FAKECUDA_LOG (file for
// reports, default stderr), and FAKECUDA_LEAKS (1: a C program reports at exit what it did not release).
//
// A device address is only a number to the host: if the host reads or writes it, the process faults, as with a real
// device.
package fakecuda
