// Package pack makes a deployable library out of hand-written kernels:
//
//	err := pack.Library(ctx, pack.Kernels{
//		Inputs:    []pack.Input{{Path: "k.c"}, {Path: "k.cl"}},
//		Functions: []pack.Function{{Signature: "add(a: const float32[n], b: const float32[n], c: out float32[n], n: int32) " +
//			"launch blockIdx.x=ceildiv(n, 64), threadIdx.x=64"}},
//	}, "k.so")
//
// The file has one packed function for each signature. It checks its arguments, and calls the kernel for the device that the tensors
// are on: a C function (.c, .o), or a kernel of OpenCL (.cl), Vulkan (.spv) or CUDA (.ptx, .cubin, .fatbin, .cu), one of each at most. This
// runtime and Apache TVM's load the file.
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
// A handle is a tensor of any type and shape; a dtype with dimensions, even none, as in float32[], is a tensor of these; a dtype alone
// is a scalar: bool, int8 to int64, uint8 to uint64, float32 or float64. A dimension is a number, _ for any, or a name. A name takes
// the size that it meets first, or the value of the integer parameter of that name, and the others must be the same.
//
// Tensors must be compact unless they are marked strided, and may begin anywhere unless they are marked aligned: to 64 bytes. The marks
// const, out and inout are documentation, and tell test vectors which tensors are written.
//
// # Kernels
//
// A kernel gets its parameters in the order of the signature. On the CPU it is a function of C without a result: a tensor is a
// pointer to its first element, a scalar a value (int32_t, float, …).
// Of a C source the compiler compares the kernel's type with the signature: scalars must be of the same size, signedness and sort; tensors are
// pointers to elements that are so, const or not, or to void. char is as good as int8_t and uint8_t, long long as a long of its size, an
// enumeration as int32 and uint32; elements that C has no type for may be of a type of the source's own. A kernel that is a macro has no type:
// no argument may lose its value then. Of an object file nobody can tell.
//
// Device kernels are launched as the tags say, which are blockIdx.x to blockIdx.z, threadIdx.x to threadIdx.z and, at the end, shared
// (the bytes of dynamic shared memory, also written tirx.use_dyn_shared_memory). A tag without an expression is a further integer
// argument of the function, behind those of the signature. One with an expression is computed from integer parameters and the names of
// dimensions: integers of 64 bits, the operators + - * / %, and the functions ceildiv, min and max. Division rounds towards zero, and
// ceildiv up. What does not fit is an error of the call, what never fits one of the signature; a computed extent of 0 means that there is nothing to do, and nothing is
// launched. An extent of 0 that is an argument counts as 1, as everywhere in TVM. Kernels of devices take int32, int64, uint32, float32
// and float64; those of Vulkan take all tensors before the scalars. A tensor may begin inside of its buffer. Kernels for OpenCL and
// Vulkan then get a part of the buffer, which must begin at a multiple of the device's alignment; an error names it. Apache TVM's runtime gives
// such kernels whole buffers only: there it is an error of the call.
//
// # Names in device modules
//
// A host function finds its kernel by a key among all device modules of the file, so that each key is there once. FunctionInfo.Name is
// always the kernel's own name. The key is the same for the first of opencl, vulkan and cuda that the file has; in the modules after
// it, "_" and the module's kind follow. Apache TVM finds kernels of OpenCL and Vulkan by their key, those of CUDA by the name: of a file
// for OpenCL and Vulkan it can run the former only.
//
// # What a function tells of itself
//
// Its metadata (runtime.Module.Metadata, tvm_ffi's get_function_metadata, tvmgo inspect --load) are JSON: see [Metadata]. Test vectors lie
// in the library as the result of the function _tvmgo_vectors; [Verify] runs them.
package pack
