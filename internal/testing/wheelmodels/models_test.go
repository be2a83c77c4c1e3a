package wheelmodels

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
)

// families are the groups of builtins that no compiler pass emits: models name them as packed functions.
var families = []string{
	"vm.builtin.attention_kv_cache", "vm.builtin.kv_", "vm.builtin.paged_attention_kv_cache", "vm.builtin.rnn_state",
	"vm.builtin.tensor_cache.", "vm.builtin.param_", "vm.builtin.apply_", "vm.builtin.sample_",
	"vm.builtin.multinomial_from_uniform",
}

// unused are the other builtins that no model uses, with the reason.
var unused = map[string]string{
	"vm.builtin.call_py_func":           "calls functions of a Python interpreter",
	"vm.builtin.register_py_func":       "the same",
	"vm.builtin.get_py_func":            "the same",
	"vm.builtin.clear_py_func_registry": "the same",
	"vm.builtin.memory_manager.clear":   "is called by programs, not by models",
	"vm.builtin.debug_print":            "prints to the standard output",
}

func TestNeed_EveryModelIsThere(t *testing.T) {
	names, programs := map[string]bool{}, map[string]bool{}
	for _, m := range Need(t) {
		require.False(t, names[m.Name], m.Name)
		names[m.Name], programs[m.Program] = true, true
		require.FileExists(t, m.Path)
		require.NotEmpty(t, m.Devices, m.Name)
		if m.Error != "" {
			require.Empty(t, m.Cases, m.Name)
			continue
		}
		require.NotEmpty(t, m.Functions, m.Name)
		require.NotEmpty(t, m.Cases, m.Name)
		var known []string
		for _, f := range m.Functions {
			known = append(known, f.Name)
		}
		results := 0
		for _, c := range m.Cases {
			require.Contains(t, known, c.Function, m.Name)
			f := m.Functions[slices.Index(known, c.Function)]
			require.Len(t, f.Parameters, f.Arity, "%s %s", m.Name, c.Function)
			require.Len(t, c.Inputs, f.Arity, "%s %s", m.Name, c.Function)
			if c.Error == "" {
				results++
			}
		}
		require.NotZero(t, results, "%s has only calls that fail", m.Name)
		for _, g := range m.Globals {
			require.True(t, !strings.HasPrefix(g, "wheelmodels.") || slices.Contains(Globals, g), "%s needs %s", m.Name, g)
		}
	}
	require.Greater(t, len(programs), 25)
}

// graphs are builtins that the wheel only has if it was built for CUDA.
var graphs = []string{"vm.builtin.cuda_graph.get_cached_alloc", "vm.builtin.cuda_graph.run_or_capture"}

func TestNeed_NoBuiltinIsForgotten(t *testing.T) {
	used := map[string]bool{}
	for _, m := range Need(t) {
		for _, b := range m.Builtins {
			used[b] = true
		}
	}
	for _, b := range graphs {
		require.True(t, used[b], b)
	}
	for _, b := range Registered(t) {
		family := slices.ContainsFunc(families, func(f string) bool { return strings.HasPrefix(b, f) })
		_, excused := unused[b]
		require.Equal(t, !family && !excused, used[b], b)
	}
}

func TestNeed_EveryInstructionAndKindOfOperandIsUsed(t *testing.T) {
	instructions, operands, ways := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, m := range Need(t) {
		ways[m.Way] = true
		for _, i := range m.Instructions {
			instructions[i] = true
		}
		for _, o := range m.Operands {
			operands[o] = true
		}
	}
	for _, i := range []string{"call", "ret", "goto", "if"} {
		require.True(t, instructions[i], i)
	}
	for _, o := range []string{"register", "context", "void", "immediate", "constant", "function"} {
		require.True(t, operands[o], o)
	}
	for _, w := range []string{"llvm", "llvm_unplanned", "llvm_compiled", "c", "builder", "opencl", "cuda"} {
		require.True(t, ways[w], w)
	}
}

// TestNeed_WaysAgree compares what a program returned when it was compiled in different ways.
func TestNeed_WaysAgree(t *testing.T) {
	first := map[string]Model{}
	compared := 0
	for _, m := range Need(t) {
		other, ok := first[m.Program]
		if !ok {
			first[m.Program] = m
			continue
		}
		require.Len(t, m.Cases, len(other.Cases), m.Name)
		for i, c := range m.Cases {
			requireClose(t, other.Cases[i].Output, c.Output, "%s and %s, case %d, %s: %s", other.Name, m.Name, i,
				c.Function, c.Error)
			require.Equal(t, other.Cases[i].Error == "", c.Error == "", "%s, case %d", m.Name, i)
			require.Equal(t, len(other.Cases[i].After), len(c.After), "%s, case %d", m.Name, i)
			compared++
		}
	}
	require.Greater(t, compared, 100)
}

// requireClose compares values; numbers of floating point may differ a little.
func requireClose(t *testing.T, want, got Value, message string, args ...any) {
	t.Helper()
	require.Equal(t, want.Tensor == nil, got.Tensor == nil, append([]any{message}, args...)...)
	require.Len(t, got.Tuple, len(want.Tuple), append([]any{message}, args...)...)
	for i := range want.Tuple {
		requireClose(t, want.Tuple[i], got.Tuple[i], message, args...)
	}
	if want.Tensor != nil {
		require.Equal(t, want.Tensor.DType, got.Tensor.DType, append([]any{message}, args...)...)
		require.Equal(t, want.Tensor.Shape, got.Tensor.Shape, append([]any{message}, args...)...)
		a, b := want.Tensor, got.Tensor
		if a.DType != dlpack.Float32 {
			require.Equal(t, a.Data, b.Data, append([]any{message}, args...)...)
			return
		}
		for i := 0; i < len(a.Data); i += 4 {
			x := math.Float32frombits(binary.LittleEndian.Uint32(a.Data[i:]))
			y := math.Float32frombits(binary.LittleEndian.Uint32(b.Data[i:]))
			require.InDelta(t, x, y, 1e-4, append([]any{message}, args...)...)
		}
		return
	}
	want.Tuple, got.Tuple = nil, nil
	require.Equal(t, want, got, append([]any{message}, args...)...)
}
