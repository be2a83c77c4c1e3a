package opencl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/gpuprograms"
)

// A loop that fetches for the next iterations ends with the iterations that fetch nothing, without a condition. A loop
// whose condition fails earlier stays as it is.
func TestEmit_PeelsLastIterations(t *testing.T) {
	for name, row := range map[string]struct{ ahead, iterations, loop string }{
		"the last one":    {"6", "7", "k < 6"},
		"the last three":  {"4", "7", "k < 4"},
		"more than three": {"3", "7", "k < 7"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _ := kernelsOf(t, gpuprograms.Parsed(t, strings.NewReplacer("AHEAD", row.ahead, "ITERATIONS",
				row.iterations).Replace(`
func f(a: handle, b: handle) {
  buffer A: float32[64], param a
  buffer B: float32[8], param b
  thread x in range(8), thread "threadIdx.x" {
    alloc S: float32[16], scope "shared"
    alloc sum: float32[1], scope "local"
    sum[0] = 0.0
    S[x] = A[x]
    for k in range(ITERATIONS) {
      storage_sync[void]("shared")
      sum[0] = sum[0] + S[floormod(k, 2) * 8 + x]
      if (k < AHEAD) { S[floormod(k + 1, 2) * 8 + x] = A[k * 8 + x + 8] }
    }
    B[x] = sum[0]
  }
}`)))
			require.Contains(t, code, "; "+row.loop+";")
			peeled := !strings.HasSuffix(row.loop, "7")
			require.Equal(t, !peeled, strings.Contains(code, "if (k <"), code)
		})
	}
}
