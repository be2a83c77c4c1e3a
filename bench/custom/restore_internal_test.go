package custom

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// Timed calls never see values that have overflowed, in however many samples.
func TestRun_Restores(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.c")
	require.NoError(t, os.WriteFile(file, []byte("// f(x: inout float32[n], n: int32)\nvoid f(float* x, int n) {\n"+
		"  for (int i = 0; i < n; ++i) x[i] *= 1e6f;\n}\n"), 0o666))
	k, err := Case([]string{file}, Options{In: []any{&Array{DType: dlpack.Float32, Shape: []int64{3}}, int64(3)}})
	require.NoError(t, err)
	opened, err := k.Variants[0].Open(t.Context(), &bench.Device{Name: "cpu:0", Handle: runtime.CPU})
	require.NoError(t, err)
	defer opened.Close()
	_, err = opened.Check(t.Context())
	require.NoError(t, err)
	w := opened.(*work)
	for n, power := range map[int]int{1: 1, 4: 4, 6: 2, 103: 3} { // n modulo 4, the calls between restores
		for range 3 {
			_, err = w.Run(t.Context(), n)
			require.NoError(t, err)
			arrays, err := contents(w.args)
			require.NoError(t, err)
			got := firstFloat(arrays[0])
			require.InEpsilon(t, float64(random(0))/1024*math.Pow(1e6, float64(power)), got, 1e-5)
		}
	}
}

func firstFloat(b []byte) float64 {
	return float64(math.Float32frombits(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24))
}
