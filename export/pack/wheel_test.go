package pack_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/wheel"
)

// wheelLines runs testdata/wheel.py and returns the lines that it prints.
func wheelLines(t *testing.T, args ...string) []string {
	t.Helper()
	wheel.NeedSameMachine(t)
	out := wheel.Run(t, nil, append([]string{"testdata/wheel.py"}, args...)...)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func TestWheel_CallsPackedKernels(t *testing.T) {
	k := kernelsOf([]string{"testdata/k.c"}, addSignature, scaleSignature)
	k.Functions[0].Doc, k.Functions[0].Vectors = "adds", addVectors()
	lines := wheelLines(t, "call", packed(t, k))
	require.Greater(t, len(lines), 8)
	require.Equal(t, []string{
		"library",
		"TypeError: add: argument 1 (b): expected float32, got int8",
		"ValueError: add: argument 0 (a): shape[0] is 1000, expected n = 999 (argument 3 (n))",
		"TypeError: add: expected 4 arguments, got 3: add(a: const float32[n], b: const float32[n], c: out float32[n], n: " +
			"int32)",
		"Callable[[Tensor, Tensor, Tensor, int], None]",
		addSignature,
		"adds",
	}, lines[:7])
	require.Contains(t, lines[8], "AttributeError")
}

// The wheel has no loader for device code and reports that; the file itself is valid for it.
func TestWheel_ReadsVariants(t *testing.T) {
	k := kernelsOf(variants(t), addSignature)
	k.Inputs = k.Inputs[:2]
	require.Contains(t, wheelLines(t, "refuse", packed(t, k))[0], "Library binary was created using {opencl} but a "+
		"loader of that name is not registered")
}
