// Package cuda generates code for target kinds "cuda" and "nvptx": CUDA C, by the emitter of package codegen/c, which
// NVRTC compiles. Importing it enables the kinds:
//
//	import _ "tvmgo/codegen/cuda"
//
//	m, err := codegen.Build(program, target) // of "cuda", with kind c or llvm as its host
//
// A function whose loops are bound to blockIdx and threadIdx (te's Bind) becomes kernels, and a host function that
// checks its arguments and launches them. The passes of transform.ForDevice do this; [Language] describes CUDA C to
// them. The host's module imports the one with the kernels, so that both are exported as one library.
//
// # The code
//
// The code includes no header, so that NVRTC alone compiles it. Memory of scope "shared" is __shared__, "shared.dyn" is
// the dynamic shared memory of a launch, and "local" belongs to a thread. Pointers to memory that a kernel only reads
// are const. Constant block sizes are launch bounds.
//
// float16 and bfloat16 are classes of 16 bits (half, bfloat16) that the code defines. Sums, differences and products
// are instructions of these types where the architecture has them, otherwise they are computed as float; both round
// once. Values of warps are exchanged by the shuffle instructions with all 32 threads.
//
// Vectors of up to 16 bytes are loaded and stored as a whole if their position is known to be aligned; the host
// function then rejects a tensor whose address is not. Loads that a schedule marks (te's PipelineAsync) are cp.async
// from sm_80 on. Shared memory of more than 48 KiB is dynamic.
//
// Fragments of matrices (tir.ScopeFragmentA, …) are registers in the layout of mma.sync, whose products have 16 rows,
// 8 or 16 columns, and k 16 (float16, bfloat16), 8 (float32, as TensorFloat-32), or 16 and 32 (int8, uint8). sm_75
// has those of float16, sm_80 all. Rows in shared memory that begin at multiples of 16 bytes are loaded by ldmatrix.
//
// # Compiled code
//
// For kind cuda the module has a cubin for the target's arch if NVRTC is found (internal/nvrtc), otherwise the code
// itself. Option code-format requests either; a cubin without NVRTC is then an error. The code also stays as it is if
// no arch is given, and if the global function tvm_callback_cuda_compile is registered, which compiles it when it is
// loaded. For kind nvptx the module has PTX for the target's mcpu. Module.GetSource("cuda") returns the code in all
// forms until the module is saved.
//
// Registers, spills and memory of each kernel, as the assembler reports them, are stored behind the image, where the
// driver does not look (cudaimage.Record).
//
// # Assembly
//
// PTX is inline assembly, each instruction in a function of its own with the prefix tvmgo_.
//
// Generating code needs no device. To run the kernels, a program also imports runtime/cuda.
package cuda
