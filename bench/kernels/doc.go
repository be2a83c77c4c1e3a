// Package kernels measures kernels that package te/ops schedules for a device, compared with kernels that are written
// by hand and run by the same driver. One row alone, on PoCL (opencl) or lavapipe (vulkan):
//
//	go run -tags cuda,opencl ./bench/kernels/measure -on opencl -only '^matmul-512$' -rounds 21
//
// With -cpu it measures the CPU time of the process, which other programs on the machine disturb less. The hand-written
// kernels are in hand/, one file for a case and a language; the comment at its start is the signature for package
// export/pack. OpenCL's need nothing else, Vulkan's are GLSL and need glslangValidator (build/scripts/deps.sh).
//
// Each kernel is a library, generated or packed, with one function. [Write] makes the libraries of a case, and [Open]
// loads them, so that a machine without Go or a compiler measures them too (make gpu-bundle).
package kernels
