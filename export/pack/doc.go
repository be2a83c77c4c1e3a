// Package pack makes a deployable library out of hand-written kernels:
//
//	err := pack.Library(ctx, pack.Kernels{
//		Inputs:    []pack.Input{{Path: "k.c"}, {Path: "k.cl"}},
//		Functions: []pack.Function{{Signature: "add(a: const float32[n], b: const float32[n], c: out float32[n], " +
//			"n: int32) launch blockIdx.x=ceildiv(n, 64), threadIdx.x=64"}},
//	}, "k.so")
//
// The file has one packed function for each signature. It checks its arguments and calls the kernel for the device of
// the tensors: a C function (.c, .o), or a kernel of OpenCL (.cl), Vulkan (.spv) or CUDA (.ptx, .cubin, .fatbin, .cu),
// at most one of each. This runtime and Apache TVM's load the file.
//
// # Signatures
//
//	signature = name ["=" kernel] "(" [ param { "," param } ] ")" [ "launch" tag { "," tag } ]
//	param     = [ name ":" ] { marker } type
//	type      = "handle" | dtype "[" [ dim { "," dim } ] "]" | dtype
//	dim       = number | name | "_"
//	marker    = "const" | "out" | "inout" | "strided" | "aligned"
//	tag       = which [ "=" expr ]
//	expr      = number | name | "(" expr ")" | expr op expr | fn "(" expr "," expr ")"
//
// The kernel's name is that of the function unless another follows it, as in add=add_f32(…).
//
// A handle is a tensor of any type and shape; a dtype with dimensions, even none, as in float32[], is a tensor of
// these; a dtype alone is a scalar: bool, int8 to int64, uint8 to uint64, float32 or float64. A dimension is a number,
// _ for any size, or a name. The integer parameter of the same name, or else the first dimension with it, sets its
// value; all others must be equal.
//
// Tensors must be contiguous unless they are marked strided, and may start at any address unless they are marked
// aligned (to 64 bytes). The markers const, out and inout are documentation, and select the tensors that test vectors
// compare.
//
// # Kernels
//
// A kernel gets its parameters in the order of the signature. On the CPU it is a C function without a result: a tensor
// is a pointer to its first element, a scalar is a value (int32_t, float, …).
//
// For C source, the compiler compares the kernel's type with the signature: scalars must agree in size, signedness and
// class; tensors are pointers to such elements, const or not, or to void. char counts as int8_t and uint8_t, long long
// as a long of the same size, an enumeration as int32 and uint32; elements without a type in C may have a type that the
// source defines. A kernel that is a macro has no type: then no argument may lose its value. Object files cannot be
// compared.
//
// Device kernels are launched with the given tags: blockIdx.x to blockIdx.z, threadIdx.x to threadIdx.z and, at the
// end, shared (the bytes of dynamic shared memory, also written tirx.use_dyn_shared_memory). A tag without an
// expression is a further integer argument of the function, after those of the signature. An expression is computed
// from integer parameters and names of dimensions, with 64-bit integers, the operators + - * / %, and the functions
// ceildiv, min and max. Division rounds towards zero, and ceildiv up. Overflow is an error of the call or, if it
// happens in every call, of the signature. If a computed extent is 0 there is nothing to do, and nothing is launched.
// An extent of 0 that is an argument counts as 1, as everywhere in TVM. Kernels of devices take int32, int64, uint32,
// float32 and float64; those of Vulkan take all tensors before the scalars.
//
// A tensor may start within its buffer. Kernels for OpenCL and Vulkan then get a part of the buffer, which must start
// at a multiple of the device's alignment; the error names it. Apache TVM's runtime passes such kernels whole buffers
// only: there it is an error of the call.
//
// # Names in device modules
//
// A host function finds its kernel by a key among all device modules of the file, so each key exists once.
// FunctionInfo.Name is always the kernel's own name. So is the key in the first of opencl, vulkan and cuda that the
// file has; in the others, "_" and the module's kind follow. Apache TVM finds kernels of OpenCL and Vulkan by their
// key, those of CUDA by the name: in a file for OpenCL and Vulkan it can run those of OpenCL only.
//
// # Metadata
//
// The metadata of a function (runtime.Module.Metadata, tvm_ffi's get_function_metadata, tvmgo inspect --load) are JSON:
// see [Metadata]. The function _tvmgo_vectors of the library returns the test vectors; [Verify] runs them.
package pack
