package pack_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// ctypes are kernels and signatures. failure is the compiler's error, "" if they agree.
var ctypes = []struct{ code, signature, failure string }{
	{"void f(int32_t n) { (void)n; }", "f(n: int64)", "f: argument 0 (n) is int64 in the signature, and int32_t in the " +
		"kernel f: change one of the two"},
	{"void f(int32_t n) { (void)n; }", "f(float64)", "f: argument 0 is float64 in the signature, and int32_t in the " +
		"kernel f"},
	{"void f(int64_t n) { (void)n; }", "f(n: int32)", "f: argument 0 (n) is int32 in the signature, and int64_t in the " +
		"kernel f"},
	{"void f(double x) { (void)x; }", "f(float32)",
		"f: argument 0 is float32 in the signature, and double in the kernel f"},
	{"void f(float x) { (void)x; }", "f(float64)", "f: argument 0 is float64 in the signature, and float in the kernel f"},
	{"void f(float x) { (void)x; }", "f(x: int32)", "f: argument 0 (x) is int32 in the signature, and float in the " +
		"kernel f"},
	{"void f(unsigned x) { (void)x; }", "f(int32)",
		"f: argument 0 is int32 in the signature, and uint32_t in the kernel f"},
	{"void f(int x) { (void)x; }", "f(uint32)", "f: argument 0 is uint32 in the signature, and int32_t in the kernel f"},
	{"void f(size_t x) { (void)x; }", "f(int64)", "f: argument 0 is int64 in the signature, and uint64_t in the kernel f"},
	{"void f(short x) { (void)x; }", "f(int32)", "f: argument 0 is int32 in the signature, and int16_t in the kernel f"},
	{"void f(int x) { (void)x; }", "f(bool)", "f: argument 0 is bool in the signature, and int32_t in the kernel f"},
	{"void f(float* a, int32_t n) { (void)a, (void)n; }", "f(a: float32[n], n: int64)",
		"f: argument 1 (n) is int64 in the signature, and int32_t in the kernel f"},
	{"void f(unsigned char* a) { (void)a; }", "f(int8[n])", "f: argument 0 is int8[n] in the signature, and uint8_t* in " +
		"the kernel f"},
	{"void f(const signed char* a) { (void)a; }", "f(a: const uint8[n])",
		"f: argument 0 (a) is uint8[n] in the signature, and const int8_t* in the kernel f"},
	{"void f(unsigned* a) { (void)a; }", "f(int32[n])", "uint32_t* in the kernel f"},
	{"void f(float* a) { (void)a; }", "f(bool[n])",
		"f: argument 0 is bool[n] in the signature, and float* in the kernel f"},
	{"void f(float* a) { (void)a; }", "f(float16[n])", "f: argument 0 is float16[n] in the signature, and float* in the " +
		"kernel f"},
	{"void f(double* a) { (void)a; }", "f(float32[n])", "f: argument 0 is float32[n] in the signature, and double* in " +
		"the kernel f"},
	{"void f(float* a) { (void)a; }", "f(int32)", "f: argument 0 is int32 in the signature, and float* in the kernel f"},
	{"void f(int a) { (void)a; }", "f(float32[n])", "f: argument 0 is float32[n] in the signature, and int32_t in the " +
		"kernel f"},
	{"int f(int a) { return a; }", "f(int32)", "f: the kernel f returns int32_t, which would be dropped: declare it void"},
	{"float* f(float* a) { return a; }", "g=f(float32[n])", "g: the kernel f returns float*, which would be dropped"},
	{"struct two { int a, b; } f(void) { return (struct two){1, 2}; }", "f()",
		"f: the kernel f returns a value, which would be dropped"},
	{"static int f(int a) { return a; }", "f(int32)", "f: the kernel f returns int32_t"},
	{"struct two { int a, b; }; void f(struct two* a) { (void)a; }", "f(float32[n])",
		"f: the kernel f does not take what the signature says: (float*)"},
	{"void f(int* a, double b) { (void)a, (void)b; }", "f(float32[n], int32)",
		"f: the kernel f does not take what the signature says: (float*, int32_t)"},
	{"void f(void* a, int32_t n) { (void)a, (void)n; }", "f(handle, n: int64)",
		"f: argument 1 (n) is int64 in the signature, and int32_t in the kernel f"},
	{"struct half { uint16_t bits; }; void f(struct half* a, int32_t n) { (void)a, (void)n; }", "f(float16[n], n: int64)",
		"int32_t"},
	// a macro: the compiler checks only the arguments
	{"static void own(int32_t n) { (void)n; }\n#define f(n) own(n)", "f(n: int64)", "signature of f:1:"},
	{"static void own(unsigned char* a) { (void)a; }\n#define f(a) own(a)", "f(int8[n])", "signature of f:1:"},
	{"void f(int n, ...) { (void)n; }", "f(int32)", "does not take what the signature says"},

	{"void f(const float* restrict a, const float *const b, float* c, const int32_t n) { (void)a, (void)b, (void)c, " +
		"(void)n; }",
		"f(a: const float32[n], float32[n], out float32[n], n: int32)", ""},
	{"void f(float a[], const float b[4], volatile float* c, const void* d) { (void)a, (void)b, (void)c, (void)d; }",
		"f(float32[n], float32[4], float32[n], float32[n])", ""},
	{"void f(long a, long long b, ptrdiff_t c, intptr_t d, int64_t e) { (void)a, (void)b, (void)c, (void)d, (void)e; }",
		"f(int64, int64, int64, int64, int64)", ""},
	{"void f(size_t a, unsigned long long b, uintptr_t c, unsigned long d) { (void)a, (void)b, (void)c, (void)d; }",
		"f(uint64, uint64, uint64, uint64)", ""},
	{"void f(long* a, long long* b, const long long* c, size_t* d, unsigned long long* e) { (void)a, (void)b, (void)c, " +
		"(void)d, (void)e; }",
		"f(int64[n], int64[n], int64[n], uint64[n], uint64[n])", ""},
	{"void f(char a, char b, char* c, const char* d, signed char* e, unsigned char* g) { (void)a, (void)b, (void)c, " +
		"(void)d, (void)e, (void)g; }",
		"f(int8, uint8, int8[n], uint8[n], int8[n], uint8[n])", ""},
	{"#include <stdbool.h>\nvoid f(bool a, bool* b, uint8_t* c, const unsigned char* d, char* e) { (void)a, (void)b, " +
		"(void)c, (void)d, (void)e; }",
		"f(bool, bool[n], bool[n], bool[n], bool[n])", ""},
	{"enum mode { fast, slow }; typedef enum { low = -1, high } level; void f(enum mode a, level b, enum mode c, level " +
		"d) { (void)a, (void)b, (void)c, (void)d; }",
		"f(int32, int32, uint32, uint32)", ""},
	{"typedef float real; typedef real* vector; void f(vector a, real x, const real* b) { (void)a, (void)x, (void)b; }",
		"f(float32[n], float32, float32[n])", ""},
	{"struct half { uint16_t bits; }; void f(struct half* a, uint16_t* b, const void* c, const short* d, int32_t n) { " +
		"(void)a, (void)b, (void)c, (void)d, (void)n; }",
		"f(float16[n], bfloat16[n], float16[n], float16[n], n: int32)", ""},
	{"typedef float four __attribute__((vector_size(16))); struct any { int x; }; void f(four* a, float* b, struct any* " +
		"c, const struct any* d) { (void)a, (void)b, (void)c, (void)d; }",
		"f(float32x4[n], float32x4[n], handle, handle)", ""},
	{"#define REAL float\n#define KERNEL(name) void name(REAL* a, int n)\nKERNEL(f) { a[0] = (REAL)n; }",
		"f(float32[n], int32)", ""},
	{"static void own(float* a, int n) { a[0] = (float)n; }\n#define f(a, n) own(a, n)", "f(float32[n], int32)", ""},
	{"void f_float(float* a) { (void)a; }\n#define f f_float", "g=f(float32[n])", ""},
	{"static inline void f(float* a) { a[0] = 1; }", "f(float32[n])", ""},
	{"void f(float* a, int n); void f(a, n) float* a; int n; { a[0] = (float)n; }", "f(float32[n], int32)", ""},
	{"void f() {}", "f()", ""},
	{"void f(uint8_t a, int16_t b, uint16_t c, float d, double e) { (void)a, (void)b, (void)c, (void)d, (void)e; }",
		"f(uint8, int16, uint16, float32, float64)", ""},
	{"void f(float*, int32_t);\nvoid f(float* a, int32_t n) { a[n] = 1; }\nfloat bool_ = 1;\n#define bool 3\n#define T " +
		"int\n#define text 5", "f(float32[n], int32)", ""},
}

// TestKernelTypes compares kernels and signatures with every installed compiler, under the strictest flags that users
// have.
func TestKernelTypes(t *testing.T) {
	dir := t.TempDir()
	for _, c := range ctypes {
		code := "#include <stddef.h>\n#include <stdint.h>\n" + c.code + "\n"
		k := kernelsOf([]string{write(t, "k.c", code)}, c.signature)
		source := filepath.Join(dir, "k.c")
		require.NoError(t, os.WriteFile(source, []byte(sources(t, k)[1]), 0o666))
		for _, compiler := range []string{"gcc", "clang"} {
			if _, err := exec.LookPath(compiler); err != nil {
				require.Equal(t, "clang", compiler, "gcc is needed")
				continue
			}
			flags := []string{"-c", "-fsyntax-only", "-std=gnu99", "-Wall", "-Wextra", "-Wno-strict-prototypes"}
			out, err := exec.Command(compiler, append(flags, source)...).CombinedOutput()
			if c.failure == "" {
				require.NoError(t, err, "%s %s\n%s", c.code, c.signature, out)
				require.Empty(t, string(out), "%s: %s\n%s", compiler, c.code, c.signature)
				out, err = exec.Command(compiler, "-c", "-fsyntax-only", "-std=c99", "-Werror", "-pedantic-errors",
					"-Wno-strict-prototypes", source).CombinedOutput()
				require.NoError(t, err, "%s %s\n%s", c.code, c.signature, out)
				continue
			}
			require.Error(t, err, "%s: %s\n%s", compiler, c.code, c.signature)
			require.Contains(t, string(out), c.failure, "%s: %s\n%s", compiler, c.code, c.signature)
			require.Contains(t, string(out), "signature of ", "%s", out)
		}
	}
}
