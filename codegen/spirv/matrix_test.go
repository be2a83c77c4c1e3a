package spirv_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	spv "tvmgo/internal/spirv"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/spirvtest"
	"tvmgo/runtime"
	"tvmgo/tir"
)

// matrixOptions are those of a target with cooperative matrices.
const matrixOptions = `"supports_cooperative_matrix": true, "supports_bfloat16": true, "thread_warp_size": 32, ` +
	halves

// matrixProgram is the product of two matrices by fragments: of operands in memory of a scope, with two fragments of
// the left one.
func matrixProgram(t testing.TB, operand, sum tir.Type, shared bool, layout string) *tir.IRModule {
	t.Helper()
	in, load, alloc := "A", "", ""
	if shared {
		in, alloc = "SA", "alloc SA: "+operand.String()+"[32, 16], scope \"shared\"\n"
		load = "for i in range(16) { SA[i * 2 + floordiv(x, 16), floormod(x, 16)] = A[i * 2 + floordiv(x, 16), " +
			"floormod(x, 16)] }\nstorage_sync[void](\"shared\")\n"
	}
	return gpuprograms.Parsed(t, strings.NewReplacer("OPERAND", operand.String(), "SUM", sum.String(), "SHAPE",
		"16, 16, 16", "IN", in, "LOAD", load, "LAYOUT", layout, "ALLOC", alloc).Replace(`
func f(a: handle, b: handle, c: handle) {
  buffer A: OPERAND[32, 16], param a
  buffer B: OPERAND[16, 16], param b
  buffer C: SUM[32, 16], param c
  thread bx in range(1), thread "blockIdx.x" {
    ALLOC
    thread x in range(32), thread "threadIdx.x" {
      alloc FA: OPERAND[2, 256], scope "fragment.a"
      alloc FB: OPERAND[256], scope "fragment.b"
      alloc F: SUM[2, 256], scope "fragment.acc"
      LOAD
      fragment_load[void](address_of[handle](FB[0]), SHAPE, address_of[handle](B[0, 0]), 16, "LAYOUT")
      for i in range(2) {
        fragment_fill[void](address_of[handle](F[i, 0]), SHAPE, cast(SUM, 1))
        fragment_load[void](address_of[handle](FA[i, 0]), SHAPE, address_of[handle](IN[i * 16, 0]), 16, "row_major")
        fragment_mma[void](address_of[handle](F[i, 0]), SHAPE, address_of[handle](FA[i, 0]), address_of[handle](FB[0]))
        fragment_store[void](address_of[handle](F[i, 0]), SHAPE, address_of[handle](C[i * 16, 0]), 16, "row_major")
      }
    }
  }
}
`))
}

// Fragments are cooperative matrices. No device here executes them: they are validated, and the runtime's own reader
// and disassembler know them.
func TestEmit_CooperativeMatrices(t *testing.T) {
	to := device(t, `{"kind": "vulkan", "host": "c", "max_spirv_version": 67072, `+matrixOptions+`}`)
	for _, c := range []struct {
		operand, sum tir.Type
		want         []string
	}{
		{tir.Float16, tir.Float32, []string{"OpTypeCooperativeMatrixKHR %half %uint_3 %uint_16 %uint_16 %uint_0"}},
		{tir.Float16, tir.Float16, []string{"OpTypeCooperativeMatrixKHR %half %uint_3 %uint_16 %uint_16 %uint_2"}},
		{tir.BFloat16, tir.Float32, []string{`OpExtension "SPV_KHR_bfloat16"`, "OpCapability BFloat16TypeKHR",
			"OpCapability BFloat16CooperativeMatrixKHR", "OpTypeFloat 16 BFloat16KHR"}},
		{tir.Int8, tir.Int32, []string{"MatrixASignedComponentsKHR|MatrixBSignedComponentsKHR|" +
			"MatrixCSignedComponentsKHR|MatrixResultSignedComponentsKHR"}},
		{tir.UInt8, tir.Int32, []string{"MatrixCSignedComponentsKHR|MatrixResultSignedComponentsKHR"}},
	} {
		for _, shared := range []bool{false, true} {
			for _, layout := range []string{tir.RowMajor, tir.ColMajor} {
				name := fmt.Sprintf("%s, %s, %v, %s", c.operand, c.sum, shared, layout)
				code := shaders(t, matrixProgram(t, c.operand, c.sum, shared, layout), to)[0].Code
				text := must.Get(spv.Disassemble(code, spv.TextOptions{}))(t)
				for _, part := range append(c.want, "OpCapability CooperativeMatrixKHR", `OpExtension "SPV_KHR_cooperative_matrix"`,
					"OpCooperativeMatrixLoadKHR", "OpCooperativeMatrixMulAddKHR", "OpCooperativeMatrixStoreKHR") {
					require.Contains(t, text, part, name)
				}
				if theirs := spirvtest.Disassemble(t, code); theirs != "" {
					require.Equal(t, theirs, text, name)
				}
				m := must.Get(spv.Parse(code))(t)
				require.NoError(t, m.Check(), name)
			}
		}
	}
}

// A target without cooperative matrices, or without the types of their components, is an error that names the option.
func TestBuild_MatricesLacking(t *testing.T) {
	for operand, option := range map[tir.Type]string{tir.Float16: "supports_float16", tir.BFloat16: "supports_bfloat16",
		tir.Int8: "supports_int8"} {
		sum := tir.Float32
		if operand == tir.Int8 {
			sum = tir.Int32
		}
		m := matrixProgram(t, operand, sum, false, tir.RowMajor)
		_, err := codegen.Build(m, device(t, "vulkan"))
		require.ErrorContains(t, err, "needs the option supports_cooperative_matrix of target vulkan")
		require.ErrorIs(t, err, runtime.ErrInvalidArgument)
		_, err = codegen.Build(m, device(t, `{"kind": "vulkan", "supports_cooperative_matrix": true}`))
		require.ErrorContains(t, err, "needs the option "+option+" of target vulkan")
	}
	_, err := codegen.Build(matrixProgram(t, tir.Float32, tir.Float32, false, tir.RowMajor),
		device(t, `{"kind": "vulkan", `+matrixOptions+`}`))
	require.ErrorContains(t, err, "operands of type float32 (TensorFloat-32) are not part of Vulkan")
}

// A device without cooperative matrices rejects a kernel that has them.
func TestRun_MatricesLacking(t *testing.T) {
	need(t)
	lib := harness.LibraryFor(t, matrixProgram(t, tir.Float16, tir.Float32, false, tir.RowMajor),
		device(t, `{"kind": "vulkan", "host": "c", `+matrixOptions+`}`))
	r := gpuprograms.Random()
	var args []any
	for _, x := range []struct {
		t    tir.Type
		rows int64
	}{{tir.Float16, 32}, {tir.Float16, 16}, {tir.Float32, 32}} {
		args = append(args, gpuprograms.OnDevice(t, gpuprograms.Array(t, r, x.t, x.rows, 16), devices[0]))
	}
	f := must.Open(lib.Function("f"))(t)
	_, err := f.Call(args...)
	if err == nil {
		t.Skip("this device has cooperative matrices")
	}
	require.ErrorContains(t, err, "needs cooperativeMatrix (VK_KHR_cooperative_matrix)")
	require.ErrorIs(t, err, runtime.ErrNotSupported)
}
