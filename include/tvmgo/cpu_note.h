/* Notes in an object the instructions that the compiler may have used, beyond those that every CPU of the architecture
 * has (x86-64, arm64). The runtime reads the notes of a library before it opens it, and refuses one with instructions
 * that this CPU lacks, which would otherwise end the process with SIGILL.
 *
 * Generated code is compiled with this header (-include). Other code can include it in any one of its files. Each note
 * has the owner "tvmgo", the type 1, and the name of a feature. */
#pragma once

#if defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(__CUDACC__)

#define TVMGO_CPU_NOTE(feature)                     \
  __asm__(".pushsection .note.tvmgo.cpu,\"a\",@note\n" \
          ".balign 4\n"                             \
          ".long 6, 91f-90f, 1\n"                   \
          ".asciz \"tvmgo\"\n"                      \
          ".balign 4\n"                             \
          "90: .asciz \"" feature "\"\n"            \
          "91: .balign 4\n"                         \
          ".popsection\n");

#ifdef __SSE3__
TVMGO_CPU_NOTE("sse3")
#endif
#ifdef __SSSE3__
TVMGO_CPU_NOTE("ssse3")
#endif
#ifdef __SSE4_1__
TVMGO_CPU_NOTE("sse4.1")
#endif
#ifdef __SSE4_2__
TVMGO_CPU_NOTE("sse4.2")
#endif
#ifdef __POPCNT__
TVMGO_CPU_NOTE("popcnt")
#endif
#ifdef __AVX__
TVMGO_CPU_NOTE("avx")
#endif
#ifdef __AVX2__
TVMGO_CPU_NOTE("avx2")
#endif
#ifdef __FMA__
TVMGO_CPU_NOTE("fma")
#endif
#ifdef __F16C__
TVMGO_CPU_NOTE("f16c")
#endif
#ifdef __BMI__
TVMGO_CPU_NOTE("bmi")
#endif
#ifdef __BMI2__
TVMGO_CPU_NOTE("bmi2")
#endif
#ifdef __LZCNT__
TVMGO_CPU_NOTE("lzcnt")
#endif
#ifdef __MOVBE__
TVMGO_CPU_NOTE("movbe")
#endif
#ifdef __FMA4__
TVMGO_CPU_NOTE("fma4")
#endif
#ifdef __XOP__
TVMGO_CPU_NOTE("xop")
#endif
#ifdef __AVXVNNI__
TVMGO_CPU_NOTE("avxvnni")
#endif
#ifdef __AVX512F__
TVMGO_CPU_NOTE("avx512f")
#endif
#ifdef __AVX512CD__
TVMGO_CPU_NOTE("avx512cd")
#endif
#ifdef __AVX512BW__
TVMGO_CPU_NOTE("avx512bw")
#endif
#ifdef __AVX512DQ__
TVMGO_CPU_NOTE("avx512dq")
#endif
#ifdef __AVX512VL__
TVMGO_CPU_NOTE("avx512vl")
#endif
#ifdef __AVX512VNNI__
TVMGO_CPU_NOTE("avx512vnni")
#endif
#ifdef __AVX512VBMI__
TVMGO_CPU_NOTE("avx512vbmi")
#endif
#ifdef __AVX512VBMI2__
TVMGO_CPU_NOTE("avx512vbmi2")
#endif
#ifdef __AVX512VPOPCNTDQ__
TVMGO_CPU_NOTE("avx512vpopcntdq")
#endif
#ifdef __AVX512BF16__
TVMGO_CPU_NOTE("avx512bf16")
#endif
#ifdef __AVX512FP16__
TVMGO_CPU_NOTE("avx512fp16")
#endif

#ifdef __ARM_FEATURE_ATOMICS
TVMGO_CPU_NOTE("lse")
#endif
#ifdef __ARM_FEATURE_QRDMX
TVMGO_CPU_NOTE("rdm")
#endif
#ifdef __ARM_FEATURE_RCPC
TVMGO_CPU_NOTE("rcpc")
#endif
#ifdef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC
TVMGO_CPU_NOTE("fullfp16")
#endif
#ifdef __ARM_FEATURE_COMPLEX
TVMGO_CPU_NOTE("complxnum")
#endif
#ifdef __ARM_FEATURE_DOTPROD
TVMGO_CPU_NOTE("dotprod")
#endif
#ifdef __ARM_FEATURE_MATMUL_INT8
TVMGO_CPU_NOTE("i8mm")
#endif
#ifdef __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
TVMGO_CPU_NOTE("bf16")
#endif
#ifdef __ARM_FEATURE_SVE
TVMGO_CPU_NOTE("sve")
#endif
#ifdef __ARM_FEATURE_SVE2
TVMGO_CPU_NOTE("sve2")
#endif

/* Code for vectors of one length (-msve-vector-bits) is wrong with any other. */
#if __ARM_FEATURE_SVE_BITS == 128
TVMGO_CPU_NOTE("sve of 128 bits")
#elif __ARM_FEATURE_SVE_BITS == 256
TVMGO_CPU_NOTE("sve of 256 bits")
#elif __ARM_FEATURE_SVE_BITS == 512
TVMGO_CPU_NOTE("sve of 512 bits")
#elif __ARM_FEATURE_SVE_BITS == 1024
TVMGO_CPU_NOTE("sve of 1024 bits")
#elif __ARM_FEATURE_SVE_BITS == 2048
TVMGO_CPU_NOTE("sve of 2048 bits")
#endif

#undef TVMGO_CPU_NOTE
#endif
