package custom_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/nvrtc"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/nvrtctest"
)

// NVIDIA's compiler and assembler accept the example's CUDA C++.
func TestExample_NVRTC(t *testing.T) {
	c := nvrtctest.Need(t)
	code := must.Get(os.ReadFile("../../examples/bench/triad.cu"))(t)
	for _, arch := range []int{75, 80, 90} {
		r, err := c.Compile(t.Context(), nvrtc.Source{Name: "triad.cu", Code: string(code), Arch: fmt.Sprint("sm_", arch),
			Want: nvrtc.PTX})
		require.NoError(t, err)
		require.Contains(t, string(r.Image), ".visible .entry triad(")
		require.NotEmpty(t, nvrtctest.Ptxas(t, r.Image, fmt.Sprint("sm_", arch)))
	}
}
