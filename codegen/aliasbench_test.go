package codegen_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export"
)

// entryDriver calls the entry of a function of two tensors of one element from two libraries, alternately, and prints
// how many nanoseconds a call takes in the fastest round of each.
const entryDriver = `
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tvm/ffi/c_api.h>
typedef int (*entry)(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);
void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message) {
  fprintf(stderr, "%s: %s\n", kind, message), exit(1);
}
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
int main(int argc, char** argv) {
  entry f[2];
  double best[2] = {1e30, 1e30};
  for (int k = 0; k < 2; k++) {
    void* lib = dlopen(argv[1 + k], RTLD_LAZY | RTLD_LOCAL);
    if (lib == NULL || (f[k] = (entry)dlsym(lib, argv[3])) == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  }
  float data[2] = {1, 2};
  int64_t shape[1] = {1};
  DLTensor a = {&data[0], {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0}, b = a;
  b.data = &data[1];
  TVMFFIAny args[2], result;
  memset(args, 0, sizeof args);
  memset(&result, 0, sizeof result);
  args[0].type_index = args[1].type_index = kTVMFFIDLTensorPtr;
  args[0].v_ptr = &a, args[1].v_ptr = &b;
  const int calls = 100000;
  for (int round = 0; round < atoi(argv[4]); round++) {
    for (int k = 0; k < 2; k++) {
      const double start = now();
      for (int i = 0; i < calls; i++)
        if (f[k](NULL, args, 2, &result) != 0) return 1;
      const double each = (now() - start) / calls;
      if (each < best[k]) best[k] = each;
    }
  }
  (void)argc;
  printf("%.3f %.3f\n", best[0], best[1]);
  return 0;
}
`

// BenchmarkEntry_AliasCheck measures the entry of a function of two tensors with and without the comparison of their
// memory, in the same run: for a constant shape, and for a variable one.
func BenchmarkEntry_AliasCheck(b *testing.B) {
	m := parsed(b, `
func fixed(A: handle, B: handle) {
  buffer A: float32[1], param A
  buffer B: float32[1], param B
  B[0] = A[0]
}
func sized(A: handle, B: handle) {
  var n: int64
  buffer A: float32[n], param A
  buffer B: float32[n], param B
  for i: int64 in range(n) { B[i] = A[i] }
}
`)
	dir := b.TempDir()
	driver := filepath.Join(dir, "driver")
	require.NoError(b, os.WriteFile(driver+".c", []byte(entryDriver), 0o600))
	out, err := exec.Command("cc", "-O2", "-rdynamic", "-I../include", driver+".c", "-o", driver, "-ldl").CombinedOutput()
	require.NoError(b, err, string(out))
	libraries := []string{filepath.Join(dir, "off.so"), filepath.Join(dir, "on.so")}
	for i, to := range []string{"c -alias-check=0", "c"} {
		require.NoError(b, export.Library(context.Background(), built(b, m, kind(b, to)), libraries[i], export.Flags("-O2")))
	}
	for _, name := range []string{"fixed", "sized"} {
		b.Run(name, func(b *testing.B) {
			out, err := exec.Command(driver, libraries[0], libraries[1], "__tvm_ffi_"+name,
				strconv.Itoa(20+b.N)).CombinedOutput()
			require.NoError(b, err, string(out))
			var ns [2]float64
			for i, text := range strings.Fields(string(out)) {
				ns[i], err = strconv.ParseFloat(text, 64)
				require.NoError(b, err)
			}
			b.ReportMetric(ns[0], "ns/call-without")
			b.ReportMetric(ns[1], "ns/call-with")
			b.ReportMetric(ns[1]-ns[0], "ns/check")
			b.ReportMetric(0, "ns/op")
		})
	}
}
