// Package custom makes cases of package bench from your own kernels: functions of libraries (.so), kernels in OpenCL C
// (.cl), CUDA C++ (.cu, .ptx, .cubin, .fatbin), SPIR-V (.spv) and C (.c, .o), and programs of package tir (.tir,
// .json).
//
//	k, err := custom.Case([]string{"add.cl", "add.spv"}, custom.Options{Sizes: map[string]int64{"n": 1 << 20}})
//	report, err := bench.Run(ctx, bench.Config{}, []*bench.Case{k}, devices)
//
// Several files are one case: each device runs the file with code for it. A device that no file has code for is a row
// that was not measured. The program imports the devices' packages, as tvmgo/runtime/all.
//
// # Signatures
//
// The signature of a kernel has the syntax of package export/pack. It is Options.Signature, or the comment at the
// beginning of the file:
//
//	// add(x: const float32[n], y: const float32[n], z: out float32[n])
//	// launch blockIdx.x=ceildiv(n, 256), threadIdx.x=256
//
// A file without such a comment, as a .spv file, has the signature of the case's other files; if it has only one
// kernel, the kernel's name need not be that of the signature. Programs and libraries of Apache TVM have signatures
// themselves.
//
// # Arguments
//
// Arguments are Options.In, and then the arrays of Options.Out. If both are empty, or the last arrays are missing, they
// follow from the signature and Options.Sizes. Arrays without data are filled with numbers from 1/1024 to 1, with a
// fixed seed, and those of Out with zeros. Each device gets copies of the same arrays.
//
// # Verification
//
// Before a row is timed, the function is called once, and the contents of all arrays, and the function's result, are
// compared: with Options.Expect; else with what the function computes on the CPU, if one of the files can run there;
// else with the first device of the run, whose own result is then not verified. Row.Checked says which. Integers must
// be equal, and other numbers within [Options.Tolerance].
//
// Timed calls use the same arrays again and again. A function whose second call computes something else, because it
// accumulates in an array, gets its arrays restored between calls, outside of the measured time: as often as needed for
// values to stay finite.
//
// # Amounts
//
// Amount.Bytes is the size of all arrays, each counted once: a lower bound of what moves. Amount.Ops is Options.Ops, or
// what codegen.Explain counts in a program.
package custom
