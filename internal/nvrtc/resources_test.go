package nvrtc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/cudaimage"
)

// Spills are read from the reports of all versions of the assembler, which begin their lines differently.
func TestSpillsIn(t *testing.T) {
	require.Equal(t, map[string]cudaimage.Spills{"f": {Stores: 244, Loads: 250}, "g": {}, "h": {Stores: 1, Loads: 2}},
		spillsIn(`ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'f' for 'sm_90'
ptxas info    : Function properties for f
ptxas         .     240 bytes stack frame, 244 bytes spill stores, 250 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 240 bytes cumulative stack size, 4096 bytes smem
ptxas info    : Function properties for g
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for h
8 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads
`))
	require.Empty(t, spillsIn("8 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads\n"), "of no function")
}
