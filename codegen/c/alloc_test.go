package c_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/internal/testing/must"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// allocation is a program with a buffer of a few elements.
func allocation(t *testing.T, buffer string) *tir.IRModule {
	t.Helper()
	m := must.Get(text.Parse(fmt.Sprintf(`func f(n: int32) {
  alloc b: %s, data p: handle
  extern keep(p)
}`, buffer)))(t)
	require.NoError(t, tir.Check(m))
	return m
}

// An allocation on the stack is large enough for the last element, whose position depends on the strides.
func TestEmit_SizeOfAllocations(t *testing.T) {
	for buffer, want := range map[string]string{
		"float32[3, 5]":                 "float v_p[15];",
		"float32[3, 5], strides [8, 1]": "float v_p[21];",
		"float32[1, 5], strides [8, 1]": "float v_p[5];",
		"float32[3, 1], strides [8, 1]": "float v_p[17];",
		"float32[0, 5]":                 "float v_p[1];",
		"float32[0, 5], strides [8, 1]": "float v_p[1];",
		"float32[1, 1], strides [8, 1]": "float v_p[1];",
		"float32[3, 5], align 4096":     "float v_p[15] __attribute__((aligned(4096)));",
		"float32[3, 5], align 4":        "float v_p[15];",
		"float32[3, 5], strides [0, 1]": "float v_p[5];",
	} {
		require.Contains(t, emit(t, c.Emitter{}, allocation(t, buffer)), want, buffer)
	}
	_, err := (&c.Emitter{}).Emit(allocation(t, "float32[3, 5], align 8192"), nil)
	require.ErrorContains(t, err, "allocation of buffer b: alignment 8192: want a power of two up to 4096")
}
