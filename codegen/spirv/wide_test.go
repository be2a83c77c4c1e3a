package spirv_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/spirvtest"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/tir"
)

// Elements of 8 and 16 bits are accessed by 16 bytes if their position is proved to be aligned, as vectors of words,
// by 8 or 4 if only these are, and otherwise one at a time. Words need no capability for small elements in memory.
func TestRun_WideAccesses(t *testing.T) {
	const threads = 6
	all := append([]tir.Type{dlpack.Float8E4M3FN, dlpack.Float8E5M2}, smallTypes...)
	wordsAt := func(lanes int) map[int]int { // of one access of B, which begins at an element
		return map[int]int{0: 4, lanes / 2: 2, lanes / 4: 1, 1: 0}
	}
	source := ""
	for n, typ := range all {
		lanes := 16 * 8 / int(typ.Bits)
		value := "max(X, Y)"
		if tir.IsBool(typ) {
			value = "X != Y"
		}
		for from := range wordsAt(lanes) {
			value := strings.NewReplacer("X", "A[(T - 1 - t) * L + i]", "Y", fmt.Sprintf("B[t * L + i + %d]", from)).
				Replace(value)
			source += strings.NewReplacer("L", fmt.Sprint(lanes), "T", fmt.Sprint(threads), "D", typ.String()).
				Replace(fmt.Sprintf(`
func f%d_%d(a: handle, b: handle, c: handle) {
  buffer A: D[T * L], param a
  buffer B: D[T * L + L], param b
  buffer C: D[T * L], param c
  thread t in range(T), thread "threadIdx.x" { vectorized i in range(L) { C[t * L + i] = %s } }
}
`, n, from, value))
		}
	}
	m := gpuprograms.Parsed(t, source)
	for _, options := range []string{features, halves, `"max_storage_buffer_range": 134217728`} {
		to := device(t, `{"kind": "vulkan", "host": "c", `+options+"}")
		text := map[string]string{}
		for _, s := range shaders(t, m, to) {
			text[s.Key] = spirvtest.Disassemble(t, s.Code)
		}
		lib := harness.LibraryFor(t, m, to)
		for n, typ := range all {
			lanes := 16 * 8 / int(typ.Bits)
			for from, words := range wordsAt(lanes) {
				name := fmt.Sprintf("f%d_%d", n, from)
				text := text[name+"_kernel"]
				about := fmt.Sprintf("%s from %d for %s\n%s", typ, from, options, text)
				count := func(of string) int { return strings.Count(text, of) }
				wide := 1
				if words == 4 {
					wide = 2
				}
				require.Equal(t, wide, count("OpLoad %v4uint"), about)
				require.Equal(t, 1, count("OpStore"), about)
				require.Regexp(t, `OpAccessChain %_ptr_StorageBuffer_v4uint %C\w*_x4 `, text, about)
				switch words {
				case 2:
					require.Equal(t, 2, count("OpLoad %v2uint"), about)
				case 1:
					require.Equal(t, 4, count("OpLoad %uint"), about)
				}
				if words > 0 {
					require.NotRegexp(t, "8BitAccess|16BitAccess|OpAtomic", text, about)
				}
				r := gpuprograms.Random()
				n := int64(threads * lanes)
				harness.CompareIn(t, lib, m, name, 0, gpuprograms.Array(t, r, typ, n),
					gpuprograms.Array(t, r, typ, n+int64(lanes)), must.Get(tirrun.New(typ, n))(t))
			}
		}
	}
}

// A vectorized access under a condition that is the same for all lanes is one access under one branch.
func TestEmit_WideUnderCondition(t *testing.T) {
	m := gpuprograms.Parsed(t, `
func f(a: handle, c: handle, n: int32) {
  buffer A: int8[96], param a
  buffer C: int8[96], param c
  thread t in range(6), thread "threadIdx.x" {
    vectorized i in range(16) { C[t * 16 + i] = if_then_else(t < n, A[t * 16 + i], cast(int8, 7)) }
  }
}
`)
	text := spirvtest.Disassemble(t, shaders(t, m, vkTarget(t))[0].Code)
	require.Equal(t, 1, strings.Count(text, "OpLoad %v4uint"), text)
	require.Equal(t, 1, strings.Count(text, "OpBranchConditional"), text)
	harness.Compare(t, m, "f", 0, gpuprograms.Array(t, gpuprograms.Random(), tir.Int8, 96),
		must.Get(tirrun.New(tir.Int8, 96))(t), 4)
}
