package cuda_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// vectorized is a kernel of 5 threads, each with a vector: X and Y stand for its elements of A and B.
func vectorized(t testing.TB, value string, typ, result tir.Type, lanes int) *tir.IRModule {
	t.Helper()
	n := 5 * lanes
	value = strings.ReplaceAll(value, "X", "A[t * L + i]")
	value = strings.ReplaceAll(value, "Y", "B[t * L + i]")
	value = strings.ReplaceAll(value, "C(", typ.String()+"(")
	text := fmt.Sprintf(`
func v(a: handle, b: handle, c: handle) {
  buffer A: %[1]s[%[2]d], param a
  buffer B: %[1]s[%[2]d], param b
  buffer C: %[5]s[%[2]d], param c
  thread t in range(5), thread "threadIdx.x" {
    vectorized i in range(%[3]d) {
      C[t * L + i] = %[4]s
    }
  }
}
`, typ, n, lanes, value, result)
	return parsed(t, strings.ReplaceAll(text, "L", fmt.Sprint(lanes)))
}

// Vectors of up to 16 bytes are loaded and stored as a whole.
func TestEmit_Vectors(t *testing.T) {
	for _, c := range []struct {
		typ, result tir.Type
		lanes       int
		value       string
		want        []string
	}{
		{tir.Float32, tir.Float32, 4, "exp(X) + Y", []string{"const float4 A_1 = *(const float4*)&A[t * 4];",
			"*(float4*)&C[t * 4] = make_float4(expf(A_1.x) + B_1.x, "}},
		{tir.Float32, tir.Float32, 16, "X / Y", []string{"*(float4*)&C[t * 16 + 12] = "}},
		{tir.Float64, tir.Float64, 2, "X + C(1.5)", []string{"make_double2(A_1.x + 1.5, A_1.y + 1.5)"}},
		{tir.Int8, tir.Int8, 16, "max(X, Y)", []string{"char16{*(const uint4*)&A[t * 16]}", ".lane[15]"}},
		{tir.UInt16, tir.UInt16, 8, "X + Y", []string{"ushort8{*(const uint4*)&A[t * 8]}"}},
		{tir.Float16, tir.Float16, 8, "X * Y + X", []string{"half8{*(const uint4*)&A[t * 8]} * "}},
		{tir.BFloat16, tir.Float32, 4, "cast(float32, X) + cast(float32, Y)", []string{"make_float4("}},
		{tir.Float32, tir.Float16, 4, "cast(float16, X)", []string{"tvmgo_to<half4>(A_1.x, A_1.y, A_1.z, A_1.w)"}},
		{dlpack.Float8E4M3FN, dlpack.Float8E4M3FN, 16, "X + Y", []string{"float8_e4m3_16{*(const uint4*)&A[t * 16]}"}},
		{dlpack.Float8E5M2, tir.Float16, 4, "cast(float16, X)", []string{"float8_e5m2_4{*(const unsigned int*)"}},
		{tir.Bool, tir.Bool, 16, "!X", []string{"uchar16{*(const uint4*)&A[t * 16]}"}},
		{tir.Int64, tir.Int32, 4, "cast(int32, X)", []string{"longlong2"}},
		{tir.Float32, tir.Float32, 3, "X + Y", []string{"C[t * 3 + 2] = "}},
		{tir.Int8, tir.Float32, 16, "cast(float32, X) * 2.0", []string{"*(float4*)&C[t * 16 + 12] = "}},
	} {
		code := source(t, vectorized(t, c.value, c.typ, c.result, c.lanes))
		for _, want := range c.want {
			require.Contains(t, code, want)
		}
		for _, arch := range archs {
			compiled(t, code, arch)
		}
	}
}
