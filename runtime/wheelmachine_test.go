//go:build cgo

package runtime_test

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/cpufeatures"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
	"tvmgo/runtime"
)

// Libraries that Apache TVM exports for the machine of this process load and run, also where TVM itself does not run:
// build/scripts/test-arm64.sh runs this test for arm64. Their code can be loaded twice, as a private copy.
func TestWheelMachine(t *testing.T) {
	dir := t.TempDir()
	arch, _, _ := strings.Cut(cpufeatures.HostTriple(), "-")
	wheel.Run(t, nil, "testdata/export_machine.py", dir, arch+"-linux-gnu")
	for _, name := range []string{"llvm.so", "c.so"} {
		for range 2 {
			m := must.Open(runtime.Load(context.Background(), filepath.Join(dir, name)))(t)
			a := must.Open(runtime.FromSlice([]float32{0, 1, -2, 3.5, -0.25}, 5))(t)
			c := must.Open(runtime.FromSlice(make([]float32, 5), 5))(t)
			must.Get(must.Get(m.Function("scale"))(t).Call(a, 2.0, c))(t)
			for i, x := range []float64{0, 1, -2, 3.5, -0.25} {
				require.InEpsilon(t, 2*math.Exp(x)+1, must.Get(runtime.ToSlice[float32](c))(t)[i], 1e-6, name)
			}
			const n, k = 37, 11
			x, y, want := make([]int32, n*k), make([]int32, k*n), make([]int32, n*n)
			for i := range x {
				x[i], y[i] = int32(i%13)-6, int32(i*i%17)-8
			}
			for i := range want {
				for j := range k {
					want[i] += x[i/n*k+j] * y[j*n+i%n]
				}
			}
			left, right := must.Open(runtime.FromSlice(x, n, k))(t), must.Open(runtime.FromSlice(y, k, n))(t)
			out := must.Open(runtime.FromSlice(make([]int32, n*n), n, n))(t)
			must.Get(must.Get(m.Function("product"))(t).Call(left, right, out))(t)
			require.Equal(t, want, must.Get(runtime.ToSlice[int32](out))(t), name)

			_, err := m.Function("absent")
			require.ErrorIs(t, err, runtime.ErrNotFound)
			_, err = must.Get(m.Function("product"))(t).Call(left, a, out)
			require.ErrorContains(t, err, "product", "an error that the library raises")
		}
	}
}
