//go:build cgo && !cuda

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDoctor_CUDANotBuiltIn(t *testing.T) {
	f := doctor(t)["cuda"]
	require.False(t, f.Usable)
	require.Contains(t, f.Verdict, "CUDA is not built in: build with")
}
