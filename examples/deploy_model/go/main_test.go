package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
)

const mlp = "../../../testdata/artifacts/modern/relax_mlp"

func TestRun(t *testing.T) {
	machine.Need(t, mlp+".so")
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, mlp+".so", mlp+".params", mlp+"_in0.npy", mlp+"_out.npy", "forward"))
	require.Contains(t, out.String(), "forward(x: float32[batch, 16], fc1.weight: float32[32, 16] (bound), ")
	require.Contains(t, out.String(), "thread 1: 100 calls with a batch of 1, and all are right\n")
	require.Contains(t, out.String(), "thread 2: 100 calls with a batch of 4, and all are right\n")
	require.Contains(t, out.String(), "memory: 3496 bytes of weights for both threads\n")

	require.ErrorContains(t, run(t.Context(), &out, mlp+".so", mlp+".params", mlp+"_in0.npy", mlp+"_in0.npy", "forward"),
		"wrong result")
	require.ErrorContains(t, run(t.Context(), &out, mlp+".so", mlp+".params", mlp+"_in0.npy", mlp+"_out.npy", "backward"),
		"backward")
}
