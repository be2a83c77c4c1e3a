package tirrun_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	. "tvmgo/internal/testing/tirrun"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// multiplied is a product of a 16x32 and a 32x16 matrix by a warp, through shared memory.
const multiplied = `
func product(a: handle, b: handle, c: handle) {
  buffer A: OPERAND[16, 32], param a
  buffer B: OPERAND[16, 32], param b
  buffer C: SUM[16, 16], param c
  thread x in range(32), thread "threadIdx.x" {
    alloc S: OPERAND[16, 32], scope "shared"
    alloc T: SUM[16, 20], scope "shared"
    alloc FA: OPERAND[256], scope "fragment.a"
    alloc FB: OPERAND[256], scope "fragment.b"
    alloc F: SUM[2, 256], scope "fragment.acc"
    for i in range(16) {
      S[i, x] = A[i, x]
    }
    storage_sync[void]("shared")
    fragment_fill[void](address_of[handle](F[1, 0]), 16, 16, 16, SUM(1))
    for k in range(2) {
      fragment_load[void](address_of[handle](FA[0]), 16, 16, 16, address_of[handle](S[0, k * 16]), 32, "row_major")
      fragment_load[void](address_of[handle](FB[0]), 16, 16, 16, address_of[handle](B[0, k * 16]), 32, "col_major")
      fragment_mma[void](address_of[handle](F[1, 0]), 16, 16, 16, address_of[handle](FA[0]), address_of[handle](FB[0]))
    }
    fragment_store[void](address_of[handle](F[1, 0]), 16, 16, 16, address_of[handle](T[0, 0]), 20, "row_major")
    storage_sync[void]("shared")
    for i in range(8) {
      C[i * 2 + floordiv(x, 16), floormod(x, 16)] = T[i * 2 + floordiv(x, 16), floormod(x, 16)]
    }
  }
}
`

func fragmentProgram(operand, sum string, changes ...string) string {
	one := map[string]string{"int32": "1", "float32": "1.0", "float16": "float16(1.0)"}[sum]
	code := strings.NewReplacer("OPERAND", operand, "SUM(1)", one, "SUM", sum).Replace(multiplied)
	return strings.NewReplacer(changes...).Replace(code)
}

// runFragments runs a product of matrices of small numbers, and returns it with the expected one.
func runFragments(t *testing.T, code string, operand, sum tir.Type, seed uint64) (got, want []float64, err error) {
	t.Helper()
	p := must.Get(Compile(must.Get(text.Parse(code))(t), Options{Seed: seed}))(t)
	x, y := make([]float64, 16*32), make([]float64, 16*32)
	for i := range x {
		x[i], y[i] = float64(i*7%11), float64(i*5%13)
	}
	a, b := must.Get(From(operand, x, 16, 32))(t), must.Get(From(operand, y, 16, 32))(t)
	c := must.Get(New(sum, 16, 16))(t)
	if _, err = p.Call("product", a, b, c); err != nil {
		return nil, nil, err
	}
	for i := range 16 {
		for j := range 16 {
			total := 1.0
			for k := range 32 {
				total += x[i*32+k] * y[j*32+k]
			}
			want = append(want, total)
		}
	}
	return must.Get(Values[float64](c))(t), want, nil
}

func TestFragments_Products(t *testing.T) {
	for _, c := range []struct{ operand, sum tir.Type }{{tir.Float16, tir.Float32}, {tir.Float16, tir.Float16},
		{tir.BFloat16, tir.Float32}, {tir.Float32, tir.Float32}, {tir.Int8, tir.Int32}, {tir.UInt8, tir.Int32}} {
		for seed := range uint64(3) {
			got, want, err := runFragments(t, fragmentProgram(c.operand.String(), c.sum.String()), c.operand, c.sum, seed)
			require.NoError(t, err)
			for i := range want {
				require.InDelta(t, want[i], got[i], map[bool]float64{true: 1, false: 0}[c.sum == tir.Float16], fmt.Sprint(c))
			}
		}
	}
}

// A float32 operand is rounded to 10 bits of fraction, ties away from zero.
func TestFragments_TensorFloat(t *testing.T) {
	code := fragmentProgram("float32", "float32", "1.0", "0.0")
	p := must.Get(Compile(must.Get(text.Parse(code))(t), Options{}))(t)
	x, y := make([]float64, 16*32), make([]float64, 16*32)
	for i, v := range []float64{1 + 0x1p-11, 1 + 0x1p-12, -1 - 0x1p-11, 3, 65536 + 31, math.Inf(1)} {
		x[i*32] = v
	}
	for j := range 16 {
		y[j*32] = 1
	}
	c := must.Get(New(tir.Float32, 16, 16))(t)
	must.Get(p.Call("product", must.Get(From(tir.Float32, x, 16, 32))(t), must.Get(From(tir.Float32, y, 16, 32))(t), c))(t)
	got := must.Get(Values[float64](c))(t)
	for i, want := range []float64{1 + 0x1p-10, 1, -1 - 0x1p-10, 3, 65536, math.Inf(1)} {
		require.Equal(t, want, got[i*16])
	}
}

func TestFragments_Mistakes(t *testing.T) {
	const sync = "storage_sync[void](\"shared\")\n"
	for _, c := range [][]string{
		{"wrote: threads between barriers must not access the same element", sync + "    fragment_fill", "fragment_fill"},
		{"what", sync + "    for i in range(8)", "for i in range(8)"},
		{"has not been written", "fragment_fill[void](address_of[handle](F[1, 0])",
			"fragment_fill[void](address_of[handle](F[0, 0])"},
		{"row 1, column 0 of the matrix at T[15, 0] is outside of the 1280 bytes of T", "address_of[handle](T[0, 0])",
			"address_of[handle](T[15, 0])"},
		{"is not the first one of a fragment", "store[void](address_of[handle](F[1, 0])",
			"store[void](address_of[handle](F[1, 16])"},
		{"the threads of a warp pass different arguments", "address_of[handle](T[0, 0])",
			"address_of[handle](T[0, floordiv(x, 31)])"},
		{"in a warp that has only 16 threads", "x in range(32)", "x in range(48)", "S[i, x] = A[i, x]",
			"if x < 32 {\n S[i, x] = A[i, x]\n}"},
		{"threads of a warp are at different calls, fragment_fill and fragment_load", "fragment_fill",
			"if x < 31 {\n fragment_fill", "16, 1.0)", "16, 1.0)\n}"},
		{"matrix at S[0, 0] has not been written", "for i in range(16)", "for i in range(3)"},
		{"fragment_store: fragment 0 of buffer F has not been", "store[void](address_of[handle](F[1, 0])",
			"store[void](address_of[handle](F[0, 0])"},
	} {
		code := fragmentProgram("float32", "float32", c[1:]...)
		require.NotEqual(t, fragmentProgram("float32", "float32"), code, c)
		for seed := range uint64(3) {
			_, _, err := runFragments(t, code, tir.Float32, tir.Float32, seed)
			require.ErrorContains(t, err, c[0])
		}
	}
}
